package markdown

import (
	"html"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"tenon/internal/base/highlight"
)

var kindCode = ast.NewNodeKind("Code")

// code is a block of code of a document whose language is known.
type code struct {
	ast.BaseBlock
	language, html string
}

// Kind is a kind of its own.
func (*code) Kind() ast.NodeKind { return kindCode }

// Dump does nothing.
func (*code) Dump([]byte, int) {}

// showCode replaces blocks of code in known languages by their HTML.
func showCode(tree ast.Node, source []byte) {
	var blocks []*ast.FencedCodeBlock
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if block, ok := n.(*ast.FencedCodeBlock); ok && entering && block.Info != nil {
			blocks = append(blocks, block)
		}
		return ast.WalkContinue, nil
	})
	budget := highlight.NewBudget(highlight.Document)
	for _, block := range blocks {
		language := string(block.Language(source))
		if shown, ok := budget.HTML(language, string(block.Lines().Value(source))); ok {
			block.Parent().ReplaceChild(block.Parent(), block, &code{language: language, html: shown})
		}
	}
}

// shownCode renders blocks of code that have their HTML.
type shownCode struct{}

// RegisterFuncs takes these blocks.
func (shownCode) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindCode, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if block, ok := n.(*code); ok && entering {
			_, _ = w.WriteString(`<pre><code class="language-` + html.EscapeString(block.language) + `">` + block.html + "</code></pre>\n") // Render reports it
		}
		return ast.WalkContinue, nil
	})
}
