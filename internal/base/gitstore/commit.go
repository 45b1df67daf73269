package gitstore

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/charset"
)

// Signature says who wrote or committed, and when, with the offset from UTC they had.
type Signature struct {
	Name  string
	Email string
	When  time.Time
}

// Commit is a parsed commit. It is shared between callers: do not change it.
type Commit struct {
	ID        ObjectID
	Tree      ObjectID
	Parents   []ObjectID
	Author    Signature
	Committer Signature
	Message   string // valid UTF-8, whatever the encoding
	Raw       []byte // the message as stored
	Encoding  string // as the commit names it, "" for UTF-8
	Signed    string // the armoured signature, "" where unsigned

	// AuthorLine is the author as stored: name, address, seconds and zone.
	AuthorLine string
}

// Title returns the first line of the message with text, and "" for an empty message.
func (c *Commit) Title() string { return firstLine(c.Message) }

// Description returns the message after its title, trimmed.
func (c *Commit) Description() string {
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(c.Message, " \t\r\n"), strings.TrimLeft(c.Title(), " \t")))
}

// firstLine returns the first line of a message with text.
func firstLine(message string) string {
	for line := range strings.Lines(message) {
		if strings.TrimSpace(line) != "" {
			return strings.TrimRight(line, "\r\n")
		}
	}
	return ""
}

// Again describes a commit with author and message of c, byte for byte.
func (c *Commit) Again() CommitInput {
	return CommitInput{Author: c.Author, AuthorLine: c.AuthorLine, Message: string(c.Raw), Encoding: c.Encoding}
}

// AgainWith describes a commit with the author of c and another message, in UTF-8. The bytes of an author in
// an encoding that c does not name stay.
func (c *Commit) AgainWith(message string) CommitInput {
	return CommitInput{Author: c.Author, AuthorLine: c.quoted(c.AuthorLine), Message: message}
}

// Quote returns the message as other commits quote it: in UTF-8 if c names its encoding, else as it is stored.
func (c *Commit) Quote() string { return c.quoted(string(c.Raw)) }

// QuoteTitle returns the title as other commits quote it.
func (c *Commit) QuoteTitle() string { return firstLine(c.Quote()) }

// QuoteAuthor returns name and address of the author as other commits quote them.
func (c *Commit) QuoteAuthor() string {
	if end := strings.LastIndexByte(c.AuthorLine, '>'); end >= 0 {
		return c.quoted(c.AuthorLine[:end+1])
	}
	return c.Author.Name + " <" + c.Author.Email + ">"
}

// quoted returns a part of c in UTF-8 if c names its encoding, else as it is stored.
func (c *Commit) quoted(part string) string {
	if c.Encoding == "" {
		return part
	}
	if found := charset.Of([]byte(part), c.Encoding); found == charset.Name(c.Encoding) {
		return found.Text([]byte(part))
	}
	return part
}

// Tag is a parsed annotated tag. It is shared between callers: do not change it.
type Tag struct {
	ID      ObjectID
	Target  ObjectID
	Kind    Kind // of the target
	Name    string
	Tagger  Signature // zero where the tag has none
	Message string    // without a signature block
	Signed  string    // the armoured signature, "" where unsigned
}

// ParseCommit reads the content of a commit object.
func ParseCommit(id ObjectID, content []byte) (*Commit, error) {
	headers, message, err := splitHeaders(content)
	if err != nil {
		return nil, fmt.Errorf("parse commit %s: %w", id, err)
	}
	c := &Commit{ID: id, Raw: bytes.Clone(message)}
	var author, committer string
	trees := 0
	for _, h := range headers {
		switch h.name {
		case "tree":
			c.Tree, err = ParseObjectID(h.value)
			trees++
		case "parent":
			var parent ObjectID
			parent, err = ParseObjectID(h.value)
			c.Parents = append(c.Parents, parent)
		case "author":
			author = h.value
		case "committer":
			committer = h.value
		case "encoding":
			c.Encoding = h.value
		case "gpgsig", "gpgsig-sha256":
			if c.Signed == "" {
				c.Signed = h.value
			}
		}
		if err != nil {
			return nil, fmt.Errorf("parse commit %s: %w", id, err)
		}
	}
	if trees != 1 {
		return nil, fmt.Errorf("parse commit %s: %d trees: %w", id, trees, ErrMalformed)
	}
	c.AuthorLine = author
	decode := decoder(c.Encoding, author, committer, string(message))
	c.Author = parseSignature(author, decode)
	c.Committer = parseSignature(committer, decode)
	c.Message = decode(string(message))
	return c, nil
}

// ParseTag reads the content of a tag object.
func ParseTag(id ObjectID, content []byte) (*Tag, error) {
	headers, message, err := splitHeaders(content)
	if err != nil {
		return nil, fmt.Errorf("parse tag %s: %w", id, err)
	}
	t := &Tag{ID: id}
	decode := decoder("", string(content))
	for _, h := range headers {
		switch h.name {
		case "object":
			if t.Target, err = ParseObjectID(h.value); err != nil {
				return nil, fmt.Errorf("parse tag %s: %w", id, err)
			}
		case "type":
			t.Kind = Kind(h.value)
		case "tag":
			t.Name = decode(h.value)
		case "tagger":
			t.Tagger = parseSignature(h.value, decode)
		}
	}
	if t.Target.IsZero() {
		return nil, fmt.Errorf("parse tag %s: no object: %w", id, ErrMalformed)
	}
	t.Message = decode(string(message))
	for _, kind := range []string{"-----BEGIN PGP ", "-----BEGIN SSH ", "-----BEGIN SIGNED "} {
		if i := strings.Index(t.Message, kind); i == 0 || i > 0 && t.Message[i-1] == '\n' {
			t.Message, t.Signed = t.Message[:i], t.Message[i:]
			break
		}
	}
	return t, nil
}

// parseSignature reads "Name <mail> seconds zone"; what is missing stays zero.
func parseSignature(s string, decode func(string) string) Signature {
	var sig Signature
	open, end := strings.IndexByte(s, '<'), strings.LastIndexByte(s, '>')
	if open < 0 || end < open {
		sig.Name = decode(strings.TrimSpace(s))
		return sig
	}
	sig.Name = decode(strings.TrimSpace(s[:open]))
	sig.Email = decode(s[open+1 : end])
	fields := strings.Fields(s[end+1:])
	sig.When = time.Unix(0, 0).UTC()
	if len(fields) == 0 {
		return sig
	}
	seconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || seconds < 0 || seconds > 1<<40 {
		seconds = 0
	}
	zone := time.UTC
	if len(fields) > 1 {
		zone = parseZone(fields[1])
	}
	sig.When = time.Unix(seconds, 0).In(zone)
	return sig
}

// parseZone reads "+0530"; anything absurd counts as UTC.
func parseZone(s string) *time.Location {
	n, err := strconv.Atoi(s)
	if err != nil || n == 0 || n > 2400 || n < -2400 {
		return time.UTC
	}
	return time.FixedZone("", (n/100*60+n%100)*60)
}

// decoder returns a function that turns parts of an object into valid UTF-8. The parts together say what
// their encoding is. A part that is valid UTF-8 stays, unless the object names another encoding that all of them are in.
func decoder(named string, parts ...string) func(string) string {
	all := strings.Join(parts, "\n")
	if named == "" && utf8.ValidString(all) {
		return func(s string) string { return s }
	}
	found := charset.Of([]byte(all), named)
	return func(s string) string {
		if found != charset.Name(named) && utf8.ValidString(s) {
			return s
		}
		return found.Text([]byte(s))
	}
}
