package httpkit

import (
	"net/http"
	"strings"
)

// exposed are the headers a script from elsewhere may read.
var exposed = strings.Join([]string{
	"Link", "X-Total", "X-Total-Pages", "X-Per-Page", "X-Page", "X-Next-Page", "X-Prev-Page",
	"X-Gitlab-Blob-Id", "X-Gitlab-Commit-Id", "X-Gitlab-Content-Sha256", "X-Gitlab-Encoding", "X-Gitlab-File-Name",
	"X-Gitlab-File-Path", "X-Gitlab-Last-Commit-Id", "X-Gitlab-Ref", "X-Gitlab-Size", "X-Request-Id", "ETag",
}, ", ")

const corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

// AllowOrigins lets scripts of other sites read an answer of an API. They send no cookies with
// their requests.
func AllowOrigins(h http.Header, r *http.Request) {
	h["Vary"] = []string{"Origin"}
	if r.Header.Get("Origin") == "" {
		return
	}
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Expose-Headers", exposed)
	h.Set("Access-Control-Max-Age", "7200")
}

// Preflight reports whether a browser asks before it sends a request from another site, and
// writes the headers of the answer, which is 200 without a body.
func Preflight(h http.Header, r *http.Request) bool {
	if r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	if wanted := r.Header.Get("Access-Control-Request-Headers"); wanted != "" {
		h.Set("Access-Control-Allow-Headers", wanted)
	}
	h.Set("Content-Length", "0")
	return true
}
