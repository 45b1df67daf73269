package httpkit

import (
	"net/http"
	"net/url"
	"strings"
)

// SingleSlashes returns the request with doubled slashes of its path as one, where the path is
// below the prefix then. Escaped slashes stay as they are.
func SingleSlashes(r *http.Request, prefix string) *http.Request {
	raw := r.URL.EscapedPath()
	if !strings.Contains(raw, "//") {
		return r
	}
	var b strings.Builder
	for i := range len(raw) {
		if raw[i] != '/' || i == 0 || raw[i-1] != '/' {
			b.WriteByte(raw[i])
		}
	}
	path, err := url.PathUnescape(b.String())
	if err != nil || !strings.HasPrefix(path, prefix) {
		return r
	}
	out := *r
	at := *r.URL
	at.Path, at.RawPath = path, b.String()
	out.URL = &at
	return &out
}
