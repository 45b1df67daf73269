package httpkit

import (
	"net/url"
	"strings"
)

// Hotlinked reports whether a request for a download comes from a page that embeds it, by its
// headers Accept and Sec-Fetch-Mode, rather than from a caller who downloads it.
func Hotlinked(accept, mode string) bool {
	first, _, _ := strings.Cut(accept, ",")
	first, _, _ = strings.Cut(first, ";")
	first = strings.ToLower(strings.TrimSpace(first))
	for _, embedded := range []string{"image/", "audio/", "video/", "text/css"} {
		if strings.HasPrefix(first, embedded) {
			return true
		}
	}
	switch strings.ToLower(mode) {
	case "cors", "no-cors", "websocket":
		return true
	}
	return false
}

// Attachment is the header that makes browsers save a file under its name.
func Attachment(name string) string {
	plain := strings.Map(func(c rune) rune {
		if c == '"' || c == '\\' || c < ' ' || c > '~' {
			return '_'
		}
		return c
	}, name)
	header := `attachment; filename="` + plain + `"`
	if plain != name {
		header += "; filename*=UTF-8''" + url.PathEscape(name)
	}
	return header
}
