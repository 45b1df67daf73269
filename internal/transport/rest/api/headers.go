package api

import (
	"net/http"

	"tenon/internal/transport/httpkit"
)

// headers sets what every answer carries.
func (x *exchange) headers() {
	h := x.w.Header()
	h["X-Frame-Options"] = []string{"SAMEORIGIN"}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["X-Request-Id"] = []string{x.ID}
	h["X-Gitlab-Meta"] = []string{`{"correlation_id":"` + x.ID + `","version":"1"}`}
	httpkit.AllowOrigins(h, x.r)
}

// preflight answers a browser that asks before it sends a request from another site.
func (x *exchange) preflight() bool {
	if !httpkit.Preflight(x.w.Header(), x.r) {
		return false
	}
	x.begin(http.StatusOK)
	return true
}
