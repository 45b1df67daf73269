package markdown

import (
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// struck is struck out text between two tildes: a single one begins the name of a label.
type struck struct{}

// Extend adds the parser and the usual renderer.
func (struck) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(parser.WithInlineParsers(util.Prioritized(struck{}, 500)))
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500)))
}

// Trigger is the character that the text begins with.
func (struck) Trigger() []byte { return []byte{'~'} }

// Parse reads the tildes of a place.
func (struck) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 2, struck{})
	if node == nil || node.OriginalLength != 2 || before == '~' {
		return nil
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	pc.PushDelimiter(node)
	return node
}

// IsDelimiter reports whether a character is a tilde.
func (struck) IsDelimiter(b byte) bool { return b == '~' }

// CanOpenCloser reports whether two delimiters belong together.
func (struck) CanOpenCloser(opener, closer *parser.Delimiter) bool { return opener.Char == closer.Char }

// OnMatch makes the node between them.
func (struck) OnMatch(int) ast.Node { return extast.NewStrikethrough() }
