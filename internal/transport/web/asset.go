package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the stylesheet and the icon
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"tenon/internal/core/weburl"
	"tenon/internal/transport/httpkit"
)

//go:embed style.css
var styleText []byte

//go:embed icon.svg
var iconText []byte

// asset is a file that pages refer to. Its name changes with its content, so that browsers
// may keep it for ever.
type asset struct {
	name    string
	kind    string
	content []byte
}

func newAsset(name, kind string, content []byte) asset {
	sum := sha256.Sum256(content)
	stem, ext, _ := strings.Cut(name, ".")
	return asset{name: stem + "-" + hex.EncodeToString(sum[:8]) + "." + ext, kind: kind, content: content}
}

// assets are all files that pages refer to.
type assets struct{ style, icon asset }

func newAssets() assets {
	return assets{
		style: newAsset("style.css", "text/css; charset=utf-8", styleText),
		icon:  newAsset("icon.svg", "image/svg+xml", iconText),
	}
}

// serve answers with an asset, and reports whether the path is that of one.
func (a assets) serve(w http.ResponseWriter, r *http.Request) bool {
	for _, one := range []asset{a.style, a.icon} {
		if r.URL.Path != (&weburl.Site{}).Asset(one.name) {
			continue
		}
		httpkit.Of(r.Context()).Route = "asset"
		header := w.Header()
		header.Set("Content-Type", one.kind)
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(one.content))
		return true
	}
	return false
}
