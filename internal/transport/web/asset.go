package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // the stylesheet and the icon
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"tenon/internal/core/weburl"
	"tenon/internal/transport/httpkit"
)

//go:embed style.css
var styleText []byte

//go:embed icon.svg
var iconText []byte

const typeCSS = "text/css; charset=utf-8"

// asset is a file that pages refer to. Its name changes with its content, so that browsers
// may keep it for ever.
type asset struct {
	name    string
	kind    string
	content []byte
	packed  bool // content is compressed by gzip
}

func newAsset(name, kind string, content []byte) asset {
	sum := sha256.Sum256(content)
	stem, ext, _ := strings.Cut(name, ".")
	return asset{name: stem + "-" + hex.EncodeToString(sum[:8]) + "." + ext, kind: kind, content: content}
}

// assets are all files that pages refer to.
type assets struct {
	style, icon asset
	explorer    func() explorer          // read when it is first asked for
	favicons    map[string]func() []byte // of states, by path
}

func newAssets() assets {
	return assets{
		style: newAsset("style.css", typeCSS, styleText),
		icon:  newAsset("icon.svg", "image/svg+xml", iconText),

		explorer: sync.OnceValue(newExplorer),
		favicons: newFavicons(),
	}
}

// serve answers with an asset, and reports whether the path is that of one.
func (a assets) serve(w http.ResponseWriter, r *http.Request) bool {
	one, ok := a.find(r.URL.Path)
	if !ok {
		return a.serveFavicon(w, r)
	}
	content := one.content
	if one.packed {
		w.Header().Set("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			w.Header().Set("Content-Encoding", "gzip")
		} else {
			content = unpacked(content)
		}
	}
	serveFile(w, r, one.kind, "public, max-age=31536000, immutable", content)
	return true
}

// find returns the asset at a path.
func (a assets) find(path string) (asset, bool) {
	name, ok := strings.CutPrefix(path, (&weburl.Site{}).Asset(""))
	switch {
	case !ok:
		return asset{}, false
	case name == a.style.name:
		return a.style, true
	case name == a.icon.name:
		return a.icon, true
	}
	for _, one := range a.explorer().all() {
		if name == one.name {
			return one, true
		}
	}
	return asset{}, false
}

// serveFile answers with a file of the program, which a browser may keep as cache says.
func serveFile(w http.ResponseWriter, r *http.Request, kind, cache string, content []byte) {
	httpkit.Of(r.Context()).Route = "asset"
	header := w.Header()
	header.Set("Content-Type", kind)
	header.Set("Cache-Control", cache)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

func acceptsGzip(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

// unpacked returns what was compressed.
func unpacked(content []byte) []byte {
	from, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(from)
	if err != nil {
		return nil
	}
	return text
}
