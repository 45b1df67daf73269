package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"tenon/internal/base/pattern"
)

// Mention is a name in a text with an @ before it.
type Mention struct {
	Name   string // of a user or the path of a group, as it was written
	Direct bool   // a paragraph begins with it: the text addresses whoever it names
}

// MaxMentions is how many names of a text are taken for mentions.
const MaxMentions = 100

var (
	mention = pattern.New(`(?:^|[^\w@/.+-])@([A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*)`)
	address = pattern.New(`^(?:[\s,]*@[A-Za-z0-9_][A-Za-z0-9_./-]*)+`)
)

// Mentions lists the names that a text mentions, each once: what stands in code, in quotes
// and in links mentions no user. A text that Document does not format mentions none.
func Mentions(source string) []Mention {
	if !strings.Contains(source, "@") || len(source) > MaxDocument || costly([]byte(source)) {
		return nil
	}
	raw := []byte(source)
	var out []Mention
	places := map[string]int{}
	add := func(part string, direct bool) {
		for _, m := range mention().FindAllStringSubmatch(part, -1) {
			name := strings.TrimRight(m[1], ".")
			at, known := places[strings.ToLower(name)]
			switch {
			case known:
				out[at].Direct = out[at].Direct || direct
			case len(out) < MaxMentions:
				places[strings.ToLower(name)] = len(out)
				out = append(out, Mention{name, direct})
			}
		}
	}
	tree := document().Parser().Parse(text.NewReader(raw))
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n.Kind() {
		case ast.KindBlockquote, ast.KindCodeBlock, ast.KindFencedCodeBlock, ast.KindHTMLBlock:
			return ast.WalkSkipChildren, nil
		}
		if n.Type() != ast.TypeBlock || n.FirstChild() == nil || n.FirstChild().Type() != ast.TypeInline {
			return ast.WalkContinue, nil
		}
		line := plainText(n, raw)
		if n.Kind() == ast.KindParagraph && n.Parent().Kind() == ast.KindDocument {
			begin := address().FindString(line)
			add(begin, true)
		}
		add(line, false)
		return ast.WalkSkipChildren, nil
	})
	return out
}

// plainText is the text of a block, with a bar for each link and piece of code in it.
func plainText(block ast.Node, raw []byte) string {
	var b strings.Builder
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(raw))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.CodeSpan, *ast.Link, *ast.AutoLink, *ast.Image, *ast.RawHTML:
			b.WriteByte('|')
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
