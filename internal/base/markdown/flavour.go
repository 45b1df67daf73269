package markdown

import (
	"bytes"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
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
// stand behind the box, with a blank between. [~] is the box of a task that does not apply.
type checkBoxes struct{}

// Extend adds what extension.TaskList does.
func (checkBoxes) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(
		parser.WithInlineParsers(util.Prioritized(checkBox{extension.NewTaskCheckBoxParser()}, 0)),
		parser.WithASTTransformers(util.Prioritized(checkBoxes{}, 500)),
	)
	m.Renderer().AddOptions(renderer.WithNodeRenderers(
		util.Prioritized(extension.NewTaskCheckBoxHTMLRenderer(), 500), util.Prioritized(checkBoxes{}, 500),
	))
}

// RegisterFuncs takes the boxes of tasks that do not apply.
func (checkBoxes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindInapplicable, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		_, err := w.WriteString(`<input type="checkbox" disabled> `)
		return ast.WalkContinue, err
	})
}

// Transform strikes the words of tasks out that do not apply.
func (checkBoxes) Transform(document *ast.Document, _ text.Reader, _ parser.Context) {
	var boxes []ast.Node
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if entering && n.Kind() == kindInapplicable {
			boxes = append(boxes, n)
		}
		return ast.WalkContinue, nil
	})
	for _, box := range boxes {
		struck := extast.NewStrikethrough()
		for n := box.NextSibling(); n != nil; {
			next := n.NextSibling()
			struck.AppendChild(struck, n)
			n = next
		}
		box.Parent().AppendChild(box.Parent(), struck)
	}
}

var kindInapplicable = ast.NewNodeKind("Inapplicable")

// inapplicable is the box of a task that does not apply.
type inapplicable struct{ ast.BaseInline }

// Kind is a kind of its own.
func (*inapplicable) Kind() ast.NodeKind { return kindInapplicable }

// Dump does nothing.
func (*inapplicable) Dump([]byte, int) {}

type checkBox struct{ parser.InlineParser }

// Parse reads a box at the beginning of an item.
func (c checkBox) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	const box = len("[x]")
	line, _ := block.PeekLine()
	if len(line) <= box || line[box] != ' ' && line[box] != '\t' || len(bytes.TrimSpace(line[box:])) == 0 {
		return nil
	}
	if !bytes.HasPrefix(line, []byte("[~]")) {
		return c.InlineParser.Parse(parent, block, pc)
	}
	item, ok := parent.Parent().(*ast.ListItem)
	if !ok || item.FirstChild() != parent || parent.HasChildren() {
		return nil
	}
	block.Advance(box + len(line[box:]) - len(bytes.TrimLeft(line[box:], " \t")))
	return &inapplicable{}
}
