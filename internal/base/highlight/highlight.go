// Package highlight marks the keywords, strings and comments of code with classes, as the lexers of
// chroma tell them apart. What a text costs is counted in characters that are looked at, so that the
// same text is shown in the same way whatever the machine is doing.
package highlight

import (
	"errors"
	"html"
	"strings"
)

// Budget is what the highlighting of a document may still cost, counted in steps: trying a rule takes
// eight or more, a character that it looks at four. Usual code takes between 5 and 60 steps for a byte.
type Budget struct{ steps int }

const (
	// Document is a budget for a text with all its blocks of code, or for a page with one file.
	Document = 600_000

	// A single block may use so much of a budget, and more for longer code.
	perBlock = 60_000
	perByte  = 60
)

// NewBudget is a budget of so many steps.
func NewBudget(steps int) *Budget { return &Budget{steps: steps} }

// Steps are those that are left.
func (b *Budget) Steps() int { return b.steps }

// HTML is code in a language as HTML: words in elements "span" with the short classes of chroma.
// No element goes over the end of a line. It reports false for a language that it does not know
// and for code that costs more than is left, which the caller shows as it is.
func (b *Budget) HTML(language, code string) (string, bool) {
	if b.steps < len(code) {
		return "", false
	}
	known := find(language)
	if known == nil {
		return "", false
	}
	most := min(b.steps, perBlock+perByte*len(code))
	m := &marker{left: most}
	err := m.run(known, "root", code, 0)
	b.steps -= most - max(m.left, 0)
	if err != nil {
		return "", false
	}
	m.flush()
	return m.out.String(), true
}

// errCostly ends the highlighting of code that is too costly.
var errCostly = errors.New("the code is too costly to highlight")

// marker writes code with its classes.
type marker struct {
	out   strings.Builder
	class string
	words strings.Builder // of one class, not yet written
	left  int             // steps
}

// write adds words of a class.
func (m *marker) write(class, words string) {
	if class != m.class {
		m.flush()
		m.class = class
	}
	m.words.WriteString(words)
}

func (m *marker) flush() {
	words := m.words.String()
	m.words.Reset()
	if m.class == "" {
		m.out.WriteString(html.EscapeString(words))
		return
	}
	for line := range strings.Lines(words) {
		line, end := strings.CutSuffix(line, "\n")
		if line != "" {
			m.out.WriteString(`<span class="` + m.class + `">` + html.EscapeString(line) + `</span>`)
		}
		if end {
			m.out.WriteByte('\n')
		}
	}
}
