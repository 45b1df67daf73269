package upload

import (
	"mime"
	"net/http" //nolint:depguard // for telling what content is, no protocol
	"path"
	"slices"
	"strings"

	"tenon/internal/base/media"
	"tenon/internal/core/weburl"
)

// Alt is the text that stands for the file.
func (u *Upload) Alt() string {
	if media.Of(u.Name) == media.None {
		return u.Name
	}
	return strings.TrimSuffix(u.Name, path.Ext(u.Name))
}

// Markdown shows the file, or links to it.
func (u *Upload) Markdown() string {
	link := "[" + u.Alt() + "](" + u.URL() + ")"
	if media.Of(u.Name) == media.None {
		return link
	}
	return "!" + link
}

// URL is the file's address within its place.
func (u *Upload) URL() string { return weburl.Upload(u.Secret, u.Name) }

// shown are the types of content that a browser may show in its place. All of them are
// known by the content itself, and none can hold a script.
var shown = []string{
	"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "video/mp4", "video/webm", "audio/mpeg", "audio/wave",
	"application/ogg",
}

// active are the types that browsers run; a file of such a type is sent as mere bytes.
var active = []string{"text/html", "image/svg+xml", "text/xml", "application/xml", "application/xhtml+xml", "text/javascript", "text/css"}

// sniffed is how much of a file tells what it is, in bytes.
const sniffed = 512

// contentType says as what a file with this beginning and name is sent, and whether a
// browser may show it; everything else is to be saved.
func contentType(name string, head []byte) (kind string, inline bool) {
	if told := http.DetectContentType(head); slices.Contains(shown, told) {
		return told, true
	}
	if kind = media.Type(name); kind != "" && media.Of(name) != media.Image {
		return kind, true
	}
	kind = mime.TypeByExtension(strings.ToLower(path.Ext(name)))
	plain, _, err := mime.ParseMediaType(kind)
	if err != nil || slices.Contains(active, plain) || strings.HasSuffix(plain, "+xml") || slices.Contains(shown, plain) {
		return "application/octet-stream", false
	}
	return kind, false
}
