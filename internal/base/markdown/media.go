package markdown

import (
	"html"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

var kindMedia = ast.NewNodeKind("Media")

// media is a video or a sound that a text shows as it shows pictures.
type media struct {
	ast.BaseInline

	element, address, title string
}

// Kind is a kind of its own.
func (*media) Kind() ast.NodeKind { return kindMedia }

// Dump does nothing.
func (*media) Dump([]byte, int) {}

// elements are the elements for files by the endings of their names; all others are pictures.
var elements = map[string]string{
	".mp4": "video", ".m4v": "video", ".mov": "video", ".webm": "video", ".ogv": "video",
	".mp3": "audio", ".oga": "audio", ".ogg": "audio", ".spx": "audio", ".wav": "audio",
}

// Element is the HTML element that shows the file at an address: "img", "video" or "audio".
func Element(address string) string {
	address, _, _ = strings.Cut(address, "#")
	address, _, _ = strings.Cut(address, "?")
	if element := elements[strings.ToLower(path.Ext(address))]; element != "" {
		return element
	}
	return "img"
}

// played puts a video or a sound in place of a picture whose address is that of one.
func played(n *ast.Image, source []byte) {
	address := string(n.Destination)
	if element := Element(address); element != "img" {
		n.Parent().ReplaceChild(n.Parent(), n, &media{element: element, address: address, title: html.UnescapeString(wordsOf(n, source))})
	}
}

// mediaRenderer renders videos and sounds, with a link for programs that play none.
type mediaRenderer struct{}

// RegisterFuncs takes videos and sounds.
func (mediaRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindMedia, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		m, ok := n.(*media)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		address, title := html.EscapeString(string(util.URLEscape([]byte(m.address), true))), html.EscapeString(m.title)
		_, err := w.WriteString(`<` + m.element + ` src="` + address + `" title="` + title + `" controls preload="metadata"><a href="` + address + `">` + title + `</a></` + m.element + `>`)
		return ast.WalkContinue, err
	})
}
