package markdown

import (
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"tenon/internal/base/media"
)

var kindMedia = ast.NewNodeKind("Media")

// player is a video or a sound that a text shows as it shows pictures.
type player struct {
	ast.BaseInline

	element, address, title string
}

// Kind is a kind of its own.
func (*player) Kind() ast.NodeKind { return kindMedia }

// Dump does nothing.
func (*player) Dump([]byte, int) {}

// Element is the HTML element that shows the file at an address: "img", "video" or "audio".
func Element(address string) string {
	address, _, _ = strings.Cut(address, "#")
	address, _, _ = strings.Cut(address, "?")
	switch media.Of(address) {
	case media.Video:
		return "video"
	case media.Audio:
		return "audio"
	}
	return "img"
}

// played puts a video or a sound in place of a picture whose address is that of one.
func played(n *ast.Image, source []byte) {
	address := string(n.Destination)
	if element := Element(address); element != "img" {
		n.Parent().ReplaceChild(n.Parent(), n, &player{element: element, address: address, title: html.UnescapeString(wordsOf(n, source))})
	}
}

// mediaRenderer renders videos and sounds, with a link for programs that play none.
type mediaRenderer struct{}

// RegisterFuncs takes videos and sounds.
func (mediaRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindMedia, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		m, ok := n.(*player)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		address, title := html.EscapeString(string(util.URLEscape([]byte(m.address), true))), html.EscapeString(m.title)
		_, err := w.WriteString(`<` + m.element + ` src="` + address + `" title="` + title + `" controls preload="metadata"><a href="` + address + `">` + title + `</a></` + m.element + `>`)
		return ast.WalkContinue, err
	})
}
