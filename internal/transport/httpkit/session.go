package httpkit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/session"
)

// CSRFHeader is the header in which a client with a session sends the token that a page gave it.
const CSRFHeader = "X-Csrf-Token"

// Sessions finds the sessions of browsers in their cookies. A session is good for reading
// anywhere but in git; it writes only with a token that a page of the same session has, from
// a page of this server.
type Sessions struct {
	core   *session.Service
	secure bool
	origin *http.CrossOriginProtection
}

// NewSessions is for a server that is reached at a URL; only under https do cookies say that
// they are secure.
func NewSessions(core *session.Service, external string) (*Sessions, error) {
	u, err := url.Parse(external)
	if err != nil {
		return nil, fmt.Errorf("external URL %q: %w", external, err)
	}
	s := &Sessions{core: core, secure: u.Scheme == "https", origin: http.NewCrossOriginProtection()}
	if err := s.origin.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
		return nil, fmt.Errorf("external URL %q: %w", external, err)
	}
	return s, nil
}

// The cookies: of a session, and of a browser before the sign-on.
const (
	SessionCookie = "tenon_session"
	VisitCookie   = "tenon_visit"
)

// name is a cookie's whole name: with the prefix, browsers keep others from setting it.
func (s *Sessions) name(cookie string) string {
	if s.secure {
		return "__Host-" + cookie
	}
	return cookie
}

// Cookie returns the value of a cookie, "" where the request has none. Of several with the name
// the first counts, as browsers send the one for the longest path first.
func (s *Sessions) Cookie(r *http.Request, cookie string) string {
	c, err := r.Cookie(s.name(cookie))
	if err != nil {
		return ""
	}
	return c.Value
}

// Set gives the browser a cookie until it is closed; "" takes it away.
func (s *Sessions) Set(w http.ResponseWriter, cookie, value string) {
	c := &http.Cookie{Name: s.name(cookie), Value: value, Path: "/", HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// Of returns the actor of the session in a request's cookie, and its secret. ok is false where
// there is none that is good. A nil Sessions has none. The error is that the session cannot
// be looked up, such as [errs.ErrAway].
func (s *Sessions) Of(r *http.Request) (as authz.Actor, key string, ok bool, err error) {
	if s == nil {
		return authz.Actor{}, "", false, nil
	}
	key = s.Cookie(r, SessionCookie)
	if key == "" {
		return authz.Actor{}, "", false, nil
	}
	as, err = s.core.Authenticate(r.Context(), key)
	switch {
	case refused(err):
		return authz.Actor{}, "", false, nil
	case err != nil:
		return authz.Actor{}, "", false, err
	}
	as.Address = Address(r)
	return as, key, true, nil
}

// refused reports whether an error says that a credential is not good, and not that it could
// not be looked up.
func refused(err error) bool {
	_, once := errors.AsType[TokenError](err)
	return once || errs.Is(err, errs.Unauthorized) || errs.Is(err, errs.Forbidden)
}

// Acting returns the actor of the session in a request to the API: a request that reads needs
// the cookie alone, one that writes the header as well. The error is that of Of.
func (s *Sessions) Acting(r *http.Request) (as authz.Actor, ok bool, err error) {
	as, key, ok, err := s.Of(r)
	if !ok || !reads(r) && !s.Own(r, key, r.Header.Get(CSRFHeader)) {
		return authz.Actor{}, false, err
	}
	return as, true, nil
}

// Own reports whether a request comes from a page of this server and carries the token of
// that page, whose cookie has the secret.
func (s *Sessions) Own(r *http.Request, secret, token string) bool {
	return s.origin.Check(r) == nil && validToken(secret, token)
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// A token is a digest of the secret in the cookie, masked by as many random bytes, so that no
// two pages show the same one and compression tells nothing about it.

// CSRFToken makes a token for a page from the secret in the browser's cookie.
func CSRFToken(secret string) string {
	var out [2 * sha256.Size]byte
	pad := out[:sha256.Size]
	rand.Read(pad) // never fails
	subtle.XORBytes(out[sha256.Size:], pad, tokenSum(secret))
	return base64.RawURLEncoding.EncodeToString(out[:])
}

func validToken(secret, token string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if secret == "" || err != nil || len(raw) != 2*sha256.Size {
		return false
	}
	var sum [sha256.Size]byte
	subtle.XORBytes(sum[:], raw[:sha256.Size], raw[sha256.Size:])
	return hmac.Equal(sum[:], tokenSum(secret))
}

func tokenSum(secret string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte("csrf")) // a hash takes everything
	return mac.Sum(nil)
}
