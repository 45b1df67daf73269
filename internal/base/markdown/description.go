package markdown

import (
	"bytes"
	"html"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
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
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(safeLinks{}, 100))),
	)
})

// Description turns the description of a project or group into HTML for any page: no markup of its
// own, no pictures, and links to nothing but addresses. Resolve is asked for links alone.
func Description(source string, resolve Resolve) string {
	if strings.TrimSpace(source) == "" {
		return ""
	}
	lines := strings.Split(source, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, " \t") // indented lines are no code here
	}
	raw := []byte(strings.Join(lines, "\n"))
	if marks(raw) > maxMarks {
		return "<p>" + html.EscapeString(source) + "</p>"
	}
	tree := description().Parser().Parse(text.NewReader(raw))
	redirect(tree, raw, func(address string, picture bool) string {
		if picture {
			return ""
		}
		return resolve(address, false)
	})
	var b bytes.Buffer
	if description().Renderer().Render(&b, raw, tree) != nil {
		return "<p>" + html.EscapeString(source) + "</p>"
	}
	return strings.TrimRight(b.String(), "\n")
}
