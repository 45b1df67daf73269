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
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// MaxDocument is the longest text in bytes that Document formats; longer ones stay plain.
const MaxDocument = 256 << 10

// anchors is what the ids of headings begin with, so that none is one of the page around.
const anchors = "user-content-"

// Resolve gives the address that a link or a picture of a document leads to; it gets what
// has neither a host nor an anchor alone. "" drops the picture and leaves the link's text.
type Resolve func(address string, picture bool) string

var document = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Linkify, extension.Strikethrough, extension.TaskList,
		),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(safeLinks{}, 100))),
	)
})

// safeLinks says at each link to elsewhere what search engines and pages behind it are to know.
type safeLinks struct{}

// RegisterFuncs takes links over.
func (safeLinks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	noImages{}.RegisterFuncs(onlyPlainLinks{r})
}

// onlyPlainLinks leaves pictures to the usual renderer.
type onlyPlainLinks struct {
	renderer.NodeRendererFuncRegisterer
}

// Register takes everything but pictures.
func (o onlyPlainLinks) Register(kind ast.NodeKind, render renderer.NodeRendererFunc) {
	if kind != ast.KindImage {
		o.NodeRendererFuncRegisterer.Register(kind, render)
	}
}

// Document turns a text into HTML that may stand in any page: what people write as HTML is
// left out, links lead to addresses alone, and pictures come from where resolve says and from
// nowhere else.
func Document(source string, resolve Resolve) string {
	if len(source) > MaxDocument {
		return "<pre>" + html.EscapeString(source) + "</pre>"
	}
	raw := []byte(source)
	context := parser.NewContext(parser.WithIDs(&ids{used: map[string]bool{}}))
	tree := document().Parser().Parse(text.NewReader(raw), parser.WithContext(context))
	redirect(tree, resolve)
	var b bytes.Buffer
	if err := document().Renderer().Render(&b, raw, tree); err != nil {
		return "<pre>" + html.EscapeString(source) + "</pre>"
	}
	return b.String()
}

// redirect gives links and pictures the addresses that they lead to.
func redirect(tree ast.Node, resolve Resolve) {
	var gone []ast.Node
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
			}
		}
		return ast.WalkContinue, nil
	})
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
type ids struct{ used map[string]bool }

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
	for n := 1; i.used[out]; n++ {
		out = id + "-" + strconv.Itoa(n)
	}
	i.used[out] = true
	return []byte(anchors + out)
}

// Put is for ids that a text gives itself, which none can.
func (i *ids) Put([]byte) {}
