package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
)

// Fence is a block of code between fences.
type Fence struct {
	Info    string // what is behind the opening fence, trimmed
	Content string // its lines, each with its end
}

// Fences returns the fenced blocks of a text, in their order, at most so many.
func (t *Text) Fences(most int) []Fence {
	var out []Fence
	if t.tree == nil {
		return nil
	}
	_ = ast.Walk(t.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		block, ok := n.(*ast.FencedCodeBlock)
		if !entering || !ok {
			return ast.WalkContinue, nil
		}
		if len(out) == most {
			return ast.WalkStop, nil
		}
		f := Fence{}
		if block.Info != nil {
			f.Info = strings.TrimSpace(string(block.Info.Segment.Value(t.source)))
		}
		var b strings.Builder
		for i := range block.Lines().Len() {
			line := block.Lines().At(i)
			b.Write(line.Value(t.source))
		}
		f.Content = b.String()
		out = append(out, f)
		return ast.WalkSkipChildren, nil
	})
	return out
}
