// Package debian reads what Debian packages consist of, all of it within bounds: paragraphs of control fields, and the control
// file of binary packages.
//
// pault.ag/go/debian would do both, but it reads all members of an archive before it looks at one, takes archives of any number of
// members, and reads fields into types that refuse what archives have.
package debian

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp/clearsign"

	"tenon/internal/base/pattern"
)

// The bounds of a paragraph.
const (
	MaxText   = 1 << 20 // bytes
	MaxFields = 1000
)

// Field is a field of a paragraph. Value has its lines joined by line feeds, without the blank or tab that continuation lines
// begin with; no other control characters than tabs are in it.
type Field struct{ Name, Value string }

// Paragraph is what a control file, a .dsc and a .changes consist of: fields in their order, each name once.
type Paragraph []Field

var fieldName = pattern.New(`\A[!"$-,.-9;-~][!-9;-~]*\z`)

// Parse reads a text that is one paragraph.
func Parse(text []byte) (Paragraph, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("more than %d bytes", MaxText)
	}
	r := reader{seen: map[string]bool{}}
	for line := range strings.SplitSeq(strings.ToValidUTF8(string(text), "\uFFFD"), "\n") {
		if err := r.line(line); err != nil {
			return nil, err
		}
	}
	r.end()
	if len(r.fields) == 0 {
		return nil, errors.New("no fields")
	}
	return r.fields, nil
}

// reader reads a paragraph line by line.
type reader struct {
	fields Paragraph
	seen   map[string]bool
	value  strings.Builder // of the last field
	ended  bool            // an empty line came after a field
}

func (r *reader) line(line string) error {
	if i := strings.IndexFunc(line, control); i >= 0 {
		return fmt.Errorf("control character %q", line[i])
	}
	switch {
	case strings.Trim(line, " \t") == "" && (line == "" || len(r.fields) == 0):
		r.ended = r.ended || len(r.fields) > 0
	case strings.HasPrefix(line, "#"):
	case r.ended:
		return errors.New("more than one paragraph")
	case line[0] == ' ' || line[0] == '\t':
		if len(r.fields) == 0 {
			return errors.New("continuation line before the first field")
		}
		r.value.WriteByte('\n')
		r.value.WriteString(strings.TrimRight(line[1:], " \t"))
	default:
		return r.field(line)
	}
	return nil
}

func (r *reader) field(line string) error {
	name, value, ok := strings.Cut(line, ":")
	fold := strings.ToLower(name)
	switch {
	case !ok || len(name) > 100 || !fieldName().MatchString(name):
		return fmt.Errorf("line that is no field: %.60q", line)
	case r.seen[fold]:
		return fmt.Errorf("field %s is there twice", name)
	case len(r.fields) == MaxFields:
		return fmt.Errorf("more than %d fields", MaxFields)
	}
	r.end()
	r.seen[fold] = true
	r.fields = append(r.fields, Field{Name: name})
	r.value.WriteString(strings.Trim(value, " \t"))
	return nil
}

// end completes the last field.
func (r *reader) end() {
	if len(r.fields) > 0 {
		r.fields[len(r.fields)-1].Value = r.value.String()
		r.value.Reset()
	}
}

// control reports whether a line may not have a character: one that some readers take as the end of the line is among them.
func control(c rune) bool {
	return c < ' ' && c != '\t' || c >= 0x7f && c <= 0x9f || c == '\u2028' || c == '\u2029'
}

// Get returns the value of a field, whatever the case of its name is written in; "" where there is none.
func (p Paragraph) Get(name string) string {
	for i := range p {
		if strings.EqualFold(p[i].Name, name) {
			return p[i].Value
		}
	}
	return ""
}

// Has reports whether there is a field.
func (p Paragraph) Has(name string) bool {
	for i := range p {
		if strings.EqualFold(p[i].Name, name) {
			return true
		}
	}
	return false
}

// Append writes a field, its value on as many lines as it has: none of them is empty or begins with anything but a blank, so that no value
// ends the paragraph or begins another field.
func Append(to []byte, name, value string) []byte {
	to = append(append(to, name...), ':')
	first, rest, more := strings.Cut(value, "\n")
	if first = plain(first); first != "" {
		to = append(append(to, ' '), first...)
	}
	to = append(to, '\n')
	for more {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		if line = strings.TrimRight(plain(line), " \t"); line == "" {
			line = "."
		}
		to = append(append(append(to, ' '), line...), '\n')
	}
	return to
}

// plain is a line without control characters.
func plain(line string) string {
	if strings.IndexFunc(line, control) < 0 {
		return line
	}
	return strings.Map(func(c rune) rune {
		if control(c) {
			return -1
		}
		return c
	}, line)
}

// Signed returns the text that a signature is around, or a text without one as it is. It does not check the signature.
func Signed(text []byte) ([]byte, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("more than %d bytes", MaxText)
	}
	if !strings.HasPrefix(strings.TrimLeft(string(text[:min(len(text), 1000)]), " \r\n\t"), "-----BEGIN PGP") {
		return text, nil
	}
	block, _ := clearsign.Decode(text)
	if block == nil {
		return nil, errors.New("signature that is incomplete")
	}
	return block.Plaintext, nil
}
