package markdown

import (
	"bytes"
	"html"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	goldhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// MaxDocument is the longest text in bytes that Document formats; longer ones stay plain.
const MaxDocument = 256 << 10

// anchors is what the ids of headings begin with, so that none is one of the page around.
const anchors = "user-content-"

// Resolve returns the address that a link or a picture of a document leads to; it gets what
// has neither a host nor an anchor alone. "" drops the picture and leaves the link's text.
type Resolve func(address string, picture bool) string

var document = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			smallTables{}, links(), extension.Strikethrough, checkBoxes{}, quoteFences{},
		),
		goldmark.WithParserOptions(
			parser.WithAutoHeadingID(),
			parser.WithParagraphTransformers(util.Prioritized(plainParagraphs{}, 900)), // after links and tables were made
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(safeLinks{}, 100), util.Prioritized(shownCode{}, 100), util.Prioritized(mediaRenderer{}, 100))),
	)
})

// maxCells is how many cells a table may have; a larger one stays text. Every row gets as many
// cells as the delimiter row has, so that a short text could ask for billions.
const maxCells = 20_000

// smallTables are tables of at most maxCells cells.
type smallTables struct{}

// Extend adds what extension.NewTable does.
func (smallTables) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(
		parser.WithParagraphTransformers(util.Prioritized(boundedTable{extension.NewTableParagraphTransformer()}, 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
	align := extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(extension.NewTableHTMLRenderer(align), 500)))
}

type boundedTable struct{ parser.ParagraphTransformer }

// Transform makes a table of a paragraph whose rows are not too many or too wide.
func (t boundedTable) Transform(p *ast.Paragraph, reader text.Reader, pc parser.Context) {
	widest := 0 // delimiters of the widest row: the table is no wider
	for i := range p.Lines().Len() {
		line := p.Lines().At(i)
		widest = max(widest, bytes.Count(line.Value(reader.Source()), []byte("|"))+1)
	}
	if widest*p.Lines().Len() <= maxCells {
		t.ParagraphTransformer.Transform(p, reader, pc)
	}
}

// How much the parser is given to do: its work grows with the square of these.
const (
	maxNesting = 100  // markers of quotes and lists that open a line, each of them a level of the document
	maxMarks   = 500  // characters of a paragraph or a line that may be part of a link or of an emphasis
	maxTargets = 2000 // lines in a row that begin as the target of a link does
)

// marks counts the characters that may be part of a link or of an emphasis.
func marks(line []byte) int {
	n := 0
	for _, c := range line {
		switch c {
		case '[', ']', '(', '<', '*', '_', '~', '`':
			n++
		}
	}
	return n
}

// costly reports whether a line has too many levels or marks, or too many lines name targets.
func costly(source []byte) bool {
	targets := 0
	for line := range bytes.Lines(source) {
		if targets++; !bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("[")) {
			targets = 0
		}
		if targets > maxTargets {
			return true
		}
		if marks(line) > maxMarks {
			return true
		}
		level := 0
		for _, c := range line {
			if !bytes.ContainsRune([]byte(" \t>-+*.)0123456789"), rune(c)) {
				break
			}
			if bytes.ContainsRune([]byte(">-+*.)"), rune(c)) {
				level++
			}
		}
		if level > maxNesting && len(bytes.Trim(line, "-* \t\r\n")) > 0 { // a rule has no levels
			return true
		}
	}
	return false
}

// plainParagraphs keeps paragraphs with too many marks as they are.
type plainParagraphs struct{}

// Transform puts the lines of such a paragraph into a block of code.
func (plainParagraphs) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	n := 0
	for i := range p.Lines().Len() {
		line := p.Lines().At(i)
		n += marks(line.Value(reader.Source()))
	}
	if n > maxMarks {
		block := ast.NewCodeBlock()
		block.SetLines(p.Lines())
		p.Parent().ReplaceChild(p.Parent(), p, block)
	}
}

// safeLinks says at each link to elsewhere what search engines and pages behind it are to know.
type safeLinks struct{}

// RegisterFuncs takes links over.
func (safeLinks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	goldhtml.NewRenderer().RegisterFuncs(onlyLinks{r})
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

// Document turns a text into HTML that may stand in any page: what people write as HTML is
// left out, links lead to addresses alone, and pictures come from where resolve says and from
// nowhere else.
func Document(source string, resolve Resolve) string {
	if len(source) > MaxDocument || costly([]byte(source)) {
		return Plain(source)
	}
	raw := []byte(source)
	context := parser.NewContext(parser.WithIDs(&ids{used: map[string]bool{}, last: map[string]int{}}))
	tree := document().Parser().Parse(text.NewReader(raw), parser.WithContext(context))
	redirect(tree, raw, resolve)
	showCode(tree, raw)
	var b bytes.Buffer
	if err := document().Renderer().Render(&b, raw, tree); err != nil {
		return Plain(source)
	}
	return b.String()
}

// Plain shows a text as it is.
func Plain(source string) string { return "<pre>" + html.EscapeString(source) + "</pre>" }

// redirect gives links and pictures the addresses that they lead to.
func redirect(tree ast.Node, source []byte, resolve Resolve) {
	var gone []ast.Node
	var shown []*ast.Image
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(target(string(n.Destination), false, resolve))
		case *ast.Image:
			if n.Destination = []byte(target(string(n.Destination), true, resolve)); len(n.Destination) == 0 {
				gone = append(gone, n)
			} else {
				shown = append(shown, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range shown {
		played(n, source)
	}
	for _, n := range gone { // the words for it stay
		for child := n.FirstChild(); child != nil; {
			next := child.NextSibling()
			n.Parent().InsertBefore(n.Parent(), n, child)
			child = next
		}
		n.Parent().RemoveChild(n.Parent(), n)
	}
}

func target(address string, picture bool, resolve Resolve) string {
	if anchor, ok := strings.CutPrefix(address, "#"); ok && !picture {
		return "#" + anchors + anchor
	}
	scheme, _, has := strings.Cut(address, ":")
	if has && !strings.ContainsAny(scheme, "/?#") || strings.HasPrefix(address, "//") || strings.HasPrefix(address, `/\`) {
		if picture {
			return "" // nothing is fetched from elsewhere
		}
		return address
	}
	return resolve(address, picture)
}

// ids makes the ids of headings.
type ids struct {
	used map[string]bool
	last map[string]int // numbers that were given to the same words
}

// Generate makes one from the words of a heading.
func (i *ids) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case unicode.IsSpace(r):
			return '-'
		}
		return -1
	}, strings.TrimSpace(strings.ToValidUTF8(string(value), "")))
	out := id
	for i.used[out] {
		i.last[id]++
		out = id + "-" + strconv.Itoa(i.last[id])
	}
	i.used[out] = true
	return []byte(anchors + out)
}

// Put is for ids that a text gives itself, which none can.
func (i *ids) Put([]byte) {}
