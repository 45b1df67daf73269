// Package openid tells other systems how to verify the ID tokens of jobs: OpenID Connect Discovery 1.0
// and the public keys as JSON Web Key Set (RFC 7517). It answers everybody.
package openid

import (
	"encoding/json"
	"log/slog"
	"net/http"

	"tenon/internal/core"
	"tenon/internal/core/ci"
	"tenon/internal/core/idtoken"
)

// The paths.
const (
	configuration = "/.well-known/openid-configuration"
	keys          = "/oauth/discovery/keys"
	moreKeys      = "/-/jwks"
)

// Match reports whether a path is one of this transport.
func Match(path string) bool { return path == configuration || path == keys || path == moreKeys }

// Deps is what a Handler is made of.
type Deps struct {
	*core.Services
	Log *slog.Logger
}

// Handler answers the requests.
type Handler struct{ Deps }

// New builds the handler.
func New(d Deps) *Handler { return &Handler{d} }

// ServeHTTP answers GET and HEAD.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	var body any = h.discovery()
	if r.URL.Path != configuration {
		set, err := h.IDTokens.Keys(r.Context())
		if err != nil {
			h.Log.ErrorContext(r.Context(), "keys of ID tokens", "error", err)
			http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
			return
		}
		body = set
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "max-age=0, public, must-revalidate")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// document is what discovery tells. There is no authorization endpoint: the tokens come from jobs.
type document struct {
	Issuer        string   `json:"issuer"`
	KeysURI       string   `json:"jwks_uri"`
	ResponseTypes []string `json:"response_types_supported"`
	SubjectTypes  []string `json:"subject_types_supported"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
	ClaimTypes    []string `json:"claim_types_supported"`
	Claims        []string `json:"claims_supported"`
}

func (h *Handler) discovery() document {
	root := h.URLs.Root()
	return document{
		Issuer: root, KeysURI: root + keys, ResponseTypes: []string{"id_token"}, SubjectTypes: []string{"public"},
		Algorithms: []string{string(idtoken.Algorithm)}, ClaimTypes: []string{"normal"}, Claims: ci.TokenClaims(),
	}
}
