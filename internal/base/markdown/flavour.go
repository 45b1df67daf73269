package markdown

import (
	"bytes"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"tenon/internal/base/pattern"
)

// address is a URL in plain words. Its host may be a name without a dot, or a number.
var address = pattern.New(`^(?:https?|ftp)://[0-9A-Za-z][-0-9A-Za-z@:%._+~#=]{0,255}(?:[/#?][-0-9A-Za-z@:%_+.~#$!?&/=();,'">^{}\[\]` + "`" + `]*)?`)

// links are extension.Linkify with addresses inside of an organisation.
func links() goldmark.Extender {
	return extension.NewLinkify(extension.WithLinkifyURLRegexp(address()))
}

// checkBoxes are extension.TaskList as the specification of GitHub's flavour has it: words
// stand behind the box, with a blank between.
type checkBoxes struct{}

// Extend adds what extension.TaskList does.
func (checkBoxes) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(parser.WithInlineParsers(util.Prioritized(checkBox{extension.NewTaskCheckBoxParser()}, 0)))
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(extension.NewTaskCheckBoxHTMLRenderer(), 500)))
}

type checkBox struct{ parser.InlineParser }

// Parse reads a box at the beginning of an item.
func (c checkBox) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	const box = len("[x]")
	line, _ := block.PeekLine()
	if len(line) <= box || line[box] != ' ' && line[box] != '\t' || len(bytes.TrimSpace(line[box:])) == 0 {
		return nil
	}
	return c.InlineParser.Parse(parent, block, pc)
}
