package markdown

import (
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// quoteFences are block quotes between two lines of at least three ">". A longer fence holds
// quotes of shorter ones; a quote without its second line ends where its container ends.
type quoteFences struct{}

// Extend adds the parser. The usual renderer shows these quotes.
func (quoteFences) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(parser.WithBlockParsers(util.Prioritized(quoteFences{}, 790))) // before quotes with a marker on each line
}

// fencedQuote is a block quote between fences.
type fencedQuote struct {
	ast.Blockquote

	fence int // its length
}

// fenceOf returns the length of the fence that a line is, 0 for other lines, and how many bytes
// stand before the end of the line.
func fenceOf(reader text.Reader) (fence, width int) {
	line, segment := reader.PeekLine()
	indent, at := util.IndentWidth(line, reader.LineOffset())
	if indent > 3 {
		return 0, 0
	}
	for ; at < len(line) && line[at] == '>'; at++ {
		fence++
	}
	if fence < 3 || !util.IsBlank(line[at:]) {
		return 0, 0
	}
	width = len(line) + segment.Padding
	if line[len(line)-1] == '\n' {
		width--
	}
	return fence, width
}

// Trigger is the character of fences.
func (quoteFences) Trigger() []byte { return []byte{'>'} }

// Open reads the first fence.
func (quoteFences) Open(_ ast.Node, reader text.Reader, _ parser.Context) (ast.Node, parser.State) {
	fence, width := fenceOf(reader)
	if fence == 0 {
		return nil, parser.NoChildren
	}
	reader.Advance(width)
	return &fencedQuote{fence: fence}, parser.HasChildren
}

// Continue looks for the second fence. Lines of code are none.
func (quoteFences) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	quote, ok := node.(*fencedQuote)
	if _, code := pc.LastOpenedBlock().Node.(*ast.FencedCodeBlock); ok && !code {
		if fence, width := fenceOf(reader); fence >= quote.fence {
			reader.Advance(width)
			return parser.Close
		}
	}
	return parser.Continue | parser.HasChildren
}

// Close does nothing.
func (quoteFences) Close(ast.Node, text.Reader, parser.Context) {}

// CanInterruptParagraph is true, as for other quotes.
func (quoteFences) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine is false: an indented fence is code.
func (quoteFences) CanAcceptIndentedLine() bool { return false }
