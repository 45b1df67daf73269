package api

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

// headers sets what every answer carries.
func (x *exchange) headers() {
	h := x.w.Header()
	h["X-Frame-Options"] = []string{"SAMEORIGIN"}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["Vary"] = []string{"Origin"}
	h["X-Request-Id"] = []string{x.ID}
	h["X-Gitlab-Meta"] = []string{`{"correlation_id":"` + x.ID + `","version":"1"}`}
	if x.r.Header.Get("Origin") == "" {
		return
	}
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Expose-Headers", exposed)
	h.Set("Access-Control-Max-Age", "7200")
}

// preflight answers a browser that asks before it sends a request from another site.
func (x *exchange) preflight() bool {
	r := x.r
	if r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	if wanted := r.Header.Get("Access-Control-Request-Headers"); wanted != "" {
		x.w.Header().Set("Access-Control-Allow-Headers", wanted)
	}
	x.w.Header().Set("Content-Length", "0")
	x.begin(http.StatusOK)
	return true
}
