// Package codeowner reads CODEOWNERS files and finds the entries that speak of changed files.
package codeowner

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a file. One that exceeds them is ErrTooLarge.
const (
	MaxBytes   = 512 << 10
	MaxEntries = 4000
	MaxPattern = 1024 // bytes of a pattern, or of the name of a section; a longer one is ignored
	MaxOwners  = 200  // of an entry or of a section; the rest is ignored
	maxParts   = 64   // folders of a pattern
	maxCount   = 100  // approvals that a section asks for
)

// DefaultSection is the name of the section of entries before the first heading.
const DefaultSection = "codeowners"

// ErrTooLarge is the error of a file that exceeds the bounds, or whose patterns take too long to match.
var ErrTooLarge = errors.New("CODEOWNERS exceeds the limits")

// Paths returns where a file may stand in a repository; the first that is there counts.
func Paths() []string { return []string{"CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"} }

// File is a CODEOWNERS file. It is not changed once parsed, and safe for concurrent use.
type File struct {
	sections []*section
	nodes    int // of the tries of all sections
}

// section is a part of a file in which the last entry that matches a path counts.
type section struct {
	name     string
	optional bool
	count    int64
	entries  []*Entry
	root     *node
}

// Entry says who owns the files that a pattern matches.
type Entry struct {
	Section  string // as its first heading has it, DefaultSection before all headings
	Pattern  string // as it is in the file
	Required int64  // approvals; 0 where the section is optional
	Owners   []Owner
}

// Owner is a user or a group by name, or a user by email address.
type Owner struct {
	Name  string // full path without the @, "" for an address
	Email string
}

// Parse reads a file. Lines that are not UTF-8 and entries whose patterns cannot match
// anything are left out.
func Parse(text []byte) (*File, error) {
	if len(text) > MaxBytes {
		return nil, ErrTooLarge
	}
	p := parser{file: &File{}, byName: map[string]*section{}}
	p.enter(heading{name: DefaultSection, count: 1})
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		line = strings.TrimFunc(line, unicode.IsSpace)
		if line == "" || line[0] == '#' || !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) {
			continue
		}
		if h, ok := parseHeading(line); ok {
			p.enter(h)
			continue
		}
		if p.entry(line); p.entries > MaxEntries {
			return nil, ErrTooLarge
		}
	}
	p.finish()
	return p.file, nil
}

type parser struct {
	file    *File
	byName  map[string]*section
	now     *section
	owners  []Owner // of entries of the present heading without owners of their own
	entries int
}

// heading is the first line of a section.
type heading struct {
	name     string
	optional bool
	count    int64
	owners   []Owner
}

// parseHeading reads ^[name][count] @owner. What is not of this form is an entry.
func parseHeading(line string) (heading, bool) {
	h := heading{count: 1}
	line, h.optional = strings.CutPrefix(line, "^")
	line, ok := strings.CutPrefix(line, "[")
	if !ok {
		return h, false
	}
	name, rest, ok := strings.Cut(line, "]")
	h.name = strings.TrimSpace(name)
	if !ok || h.name == "" || len(h.name) > MaxPattern || strings.Contains(h.name, "[") {
		return h, false
	}
	if digits, ok := strings.CutPrefix(rest, "["); ok {
		if digits, rest, ok = strings.Cut(digits, "]"); !ok {
			return h, false
		}
		n, err := strconv.ParseUint(digits, 10, 31)
		if err != nil {
			return h, false
		}
		h.count = min(max(int64(n), 1), maxCount)
	}
	if first, _ := utf8.DecodeRuneInString(rest); rest != "" && first != '@' && !unicode.IsSpace(first) {
		return h, false
	}
	h.owners = parseOwners(rest)
	return h, true
}

// enter begins a section, or goes on with one of the same name: it is optional where all its
// headings say so, and asks for the highest of their counts.
func (p *parser) enter(h heading) {
	key := strings.ToLower(h.name)
	s := p.byName[key]
	if s == nil {
		s = &section{name: h.name, optional: h.optional}
		p.byName[key] = s
		p.file.sections = append(p.file.sections, s)
	}
	s.optional, s.count = s.optional && h.optional, max(s.count, h.count)
	p.now, p.owners = s, h.owners
}

// entry reads a line of a pattern and its owners.
func (p *parser) entry(line string) {
	pattern, rest := cutPattern(line)
	if len(pattern) > MaxPattern {
		return
	}
	e := &Entry{Section: p.now.name, Pattern: pattern, Owners: parseOwners(rest)}
	if len(e.Owners) == 0 {
		e.Owners = p.owners
	}
	p.now.entries = append(p.now.entries, e)
	p.entries++
}

// cutPattern splits a line behind its pattern: at the first white space without a backslash.
func cutPattern(line string) (pattern, rest string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case ' ', '\t':
			return line[:i], line[i:]
		}
	}
	return line, ""
}

// parseOwners reads names and addresses; what is neither is left out.
func parseOwners(text string) []Owner {
	var out []Owner
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) || r == ',' }) {
		o, ok := parseOwner(strings.TrimRight(word, ".;:"))
		if ok && !slices.Contains(out, o) {
			out = append(out, o)
		}
		if len(out) == MaxOwners {
			break
		}
	}
	return out
}

func parseOwner(word string) (Owner, bool) {
	before, after, ok := strings.Cut(word, "@")
	switch {
	case !ok || after == "" || len(word) > 255 || strings.Contains(after, "@"):
		return Owner{}, false
	case before != "":
		return Owner{Email: word}, true
	}
	named := !strings.ContainsFunc(after, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./", r)
	})
	return Owner{Name: after}, named
}

// finish drops entries that another one of the section with the same pattern follows, and builds the tries.
func (p *parser) finish() {
	for _, s := range p.file.sections {
		seen := map[string]bool{}
		var last []*Entry
		for _, e := range slices.Backward(s.entries) {
			if !seen[e.Pattern] {
				seen[e.Pattern] = true
				last = append(last, e)
			}
		}
		slices.Reverse(last)
		s.entries = s.entries[:0]
		s.root = p.file.node()
		for _, e := range last {
			if !s.optional {
				e.Required = s.count
			}
			if parts, ok := split(e.Pattern); ok {
				s.entries = append(s.entries, e)
				p.file.insert(s.root, parts, len(s.entries))
			}
		}
	}
	p.file.sections = slices.DeleteFunc(p.file.sections, func(s *section) bool { return len(s.entries) == 0 })
}

// split returns the parts of a pattern that stand for one folder or file each, ** for any number
// of folders. It is not ok for a pattern that matches nothing.
func split(pattern string) (parts []string, ok bool) {
	rest, rooted := strings.CutPrefix(pattern, "/")
	if !rooted {
		parts = append(parts, "**")
	}
	for part := range strings.SplitSeq(rest, "/") {
		switch {
		case part == "**" && len(parts) > 0 && parts[len(parts)-1] == "**":
			continue
		case part == "":
			part = "**" // at the end: everything in the folder
			if len(parts) > 0 && parts[len(parts)-1] == "**" {
				continue
			}
		case part != "**":
			part = strings.ReplaceAll(part, "[!", "[^")
			if _, err := path.Match(part, ""); err != nil {
				return nil, false
			}
		}
		parts = append(parts, part)
	}
	if parts[len(parts)-1] == "**" {
		parts = append(parts, "*")
	}
	return parts, len(parts) <= maxParts
}
