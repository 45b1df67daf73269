package markdown

import (
	"bytes"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// MaxText is the longest text in bytes that Parse takes apart; longer ones are shown as they
// are, and refer to nothing.
const MaxText = MaxDocument

// maxFootnotes is how many marks of footnotes a text may have: the parser looks for the note
// of each mark among all notes.
const maxFootnotes = 500

// Text is a text in the flavour of issues, notes and wikis, taken apart.
type Text struct {
	Formulas int  // how many formulas are marked for clients that typeset them, 0 for all; others stay code
	Unmarked bool // whether HTML left a formula unmarked for it

	source []byte // without front matter
	offset int    // bytes of front matter before it
	front  Front
	tree   ast.Node // nil where the text is shown as it is
}

// flavour is the parser of Text, made when the first text is parsed.
var flavour = sync.OnceValue(func() parser.Parser {
	return goldmark.New(
		goldmark.WithExtensions(smallTables{}, links(), struck{}, checkBoxes{}, quoteFences{}, extension.NewFootnote()),
		goldmark.WithParserOptions(
			parser.WithAutoHeadingID(),
			parser.WithParagraphTransformers(util.Prioritized(plainParagraphs{}, 900)),
		),
	).Parser()
})

// Parse takes a text apart. Its time grows with the length of the text and no faster: what
// would take longer is shown as it is.
func Parse(source string) *Text {
	t := &Text{}
	t.front, t.offset = frontMatter(source)
	t.source = []byte(free().Replace(source[t.offset:]))
	if len(t.source) > MaxText || costly(t.source) || bytes.Count(t.source, []byte("[^")) > maxFootnotes {
		return t
	}
	context := parser.NewContext(parser.WithIDs(&ids{used: map[string]bool{}, last: map[string]int{}}))
	t.tree = flavour().Parse(text.NewReader(t.source), parser.WithContext(context))
	return t
}

// free takes the runes out that stand around holes, and leaves as many bytes.
var free = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(openHole, "\ufffd", closeHole, "\ufffd") })

// Run is a piece of a line that people read as words, or the address of a link that stands
// for itself.
type Run struct {
	Start int    // its first byte in the source
	Text  string // as it is in the source
	Link  bool   // it is an address
	First bool   // it begins a line
}

// Runs calls do for each run of a text: what is in code, in HTML, in the words and the
// addresses of links or in front matter is left out.
func (t *Text) Runs(do func(Run)) {
	if t.tree == nil {
		return
	}
	_ = ast.Walk(t.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan, *ast.CodeBlock, *ast.FencedCodeBlock, *ast.HTMLBlock, *ast.RawHTML, *ast.Link, *ast.Image:
			return ast.WalkSkipChildren, nil
		case *ast.AutoLink:
			if start, label, ok := t.address(n); ok {
				do(Run{Start: start + t.offset, Text: label, Link: true, First: first(n)})
			}
		case *ast.Text:
			if last, ok := n.PreviousSibling().(*ast.Text); ok && joined(last, n) {
				break // the run began before
			}
			segment, _ := run(n)
			do(Run{Start: segment.Start + t.offset, Text: string(t.source[segment.Start:segment.Stop]), First: first(n)})
		}
		return ast.WalkContinue, nil
	})
}

// address returns the words of a link that stands for itself, and where they are.
func (t *Text) address(n *ast.AutoLink) (start int, label string, ok bool) {
	words := n.Label(t.source)
	start = cap(t.source) - cap(words) // a part of the source
	if start < 0 || !bytes.HasPrefix(t.source[min(start, len(t.source)):], words) {
		return 0, "", false
	}
	return start, string(words), true
}

// joined reports whether a text goes on in the next one.
func joined(a, b *ast.Text) bool {
	return a.Segment.Stop == b.Segment.Start && a.Segment.Padding == 0 && b.Segment.Padding == 0 &&
		!a.SoftLineBreak() && !a.HardLineBreak() && a.IsRaw() == b.IsRaw()
}

// run returns the segment of a text and of those that it goes on in, and the last of these.
func run(n *ast.Text) (text.Segment, *ast.Text) {
	segment, last := n.Segment, n
	for {
		next, ok := last.NextSibling().(*ast.Text)
		if !ok || !joined(last, next) {
			return segment, last
		}
		segment.Stop, last = next.Segment.Stop, next
	}
}

// first reports whether a part of a line begins it.
func first(n ast.Node) bool {
	before := n.PreviousSibling()
	if before == nil {
		return n.Parent().Type() == ast.TypeBlock
	}
	words, ok := before.(*ast.Text)
	return ok && (words.SoftLineBreak() || words.HardLineBreak())
}

// Visible is the text with spaces in place of what Runs leaves out but links, byte for byte.
// A text that is shown as it is has nothing else.
func (t *Text) Visible() string {
	out := append(bytes.Repeat([]byte(" "), t.offset), t.source...)
	if t.tree == nil {
		return string(bytes.Repeat([]byte(" "), len(out)))
	}
	hide := func(from, to int) {
		for i := from + t.offset; i < to+t.offset; i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = ' '
			}
		}
	}
	_ = ast.Walk(t.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeBlock, *ast.FencedCodeBlock, *ast.HTMLBlock:
			for i := range n.Lines().Len() {
				hide(n.Lines().At(i).Start, n.Lines().At(i).Stop)
			}
			if block, ok := n.(*ast.HTMLBlock); ok && block.HasClosure() {
				hide(block.ClosureLine.Start, block.ClosureLine.Stop)
			}
			return ast.WalkSkipChildren, nil
		case *ast.CodeSpan:
			for child := n.FirstChild(); child != nil; child = child.NextSibling() {
				if words, ok := child.(*ast.Text); ok {
					hide(words.Segment.Start, words.Segment.Stop)
				}
			}
			return ast.WalkSkipChildren, nil
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				hide(n.Segments.At(i).Start, n.Segments.At(i).Stop)
			}
		}
		return ast.WalkContinue, nil
	})
	return string(out)
}
