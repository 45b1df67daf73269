package markdown

import (
	"bytes"
	"html"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	goldhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// description knows paragraphs, emphasis, code and links, and nothing else: a description
// is a line or two beside other things. What people write as HTML is shown as text.
// Made when the first one is shown.
var description = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)),
			parser.WithInlineParsers(
				util.Prioritized(parser.NewCodeSpanParser(), 100),
				util.Prioritized(parser.NewLinkParser(), 200),
				util.Prioritized(parser.NewAutoLinkParser(), 300),
				util.Prioritized(parser.NewEmphasisParser(), 500),
			),
		)),
		goldmark.WithExtensions(links(), extension.Strikethrough),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(noImages{}, 100))),
	)
})

// noImages shows what a picture is called, so that nothing is fetched from elsewhere.
type noImages struct{}

// RegisterFuncs takes pictures over.
func (noImages) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
		return ast.WalkContinue, nil
	})
	link := goldhtml.NewRenderer()
	link.RegisterFuncs(onlyLinks{r})
}

// onlyLinks registers links with what search engines and pages behind them are to know.
type onlyLinks struct {
	renderer.NodeRendererFuncRegisterer
}

// Register takes links and leaves everything else.
func (o onlyLinks) Register(kind ast.NodeKind, render renderer.NodeRendererFunc) {
	if kind != ast.KindLink && kind != ast.KindAutoLink {
		return
	}
	o.NodeRendererFuncRegisterer.Register(kind, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			n.SetAttributeString("rel", []byte("nofollow noreferrer noopener"))
		}
		return render(w, source, n, entering)
	})
}

// Description turns the description of a thing into HTML that may stand in any page: no
// markup of its own, no pictures, and links to nothing but addresses.
func Description(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, " \t") // indented lines are no code here
	}
	var b bytes.Buffer
	source := []byte(strings.Join(lines, "\n"))
	if marks(source) > maxMarks || description().Convert(source, &b) != nil {
		return "<p>" + html.EscapeString(text) + "</p>"
	}
	return strings.TrimRight(b.String(), "\n")
}
