// Package web answers in browsers: people sign on, look after their tokens, keys and sessions,
// and see what they may see. It works without scripts.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/base/ratelimit"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/broadcast"
	"tenon/internal/core/limit"
	"tenon/internal/core/setting"
	"tenon/internal/transport/httpkit"
)

// Deps are what the pages are made from.
type Deps struct {
	*core.Services
	Gate   *httpkit.Gate
	SignOn *httpkit.SignOn
	Log    *slog.Logger
}

// Handler answers pages.
type Handler struct {
	Deps
	routes []route
	assets assets
}

// New builds the handler.
func New(d Deps) *Handler { return &Handler{Deps: d, routes: routes(), assets: newAssets()} }

// ServeHTTP answers one page.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Gate.Serve(w, r, h.servePage, func(w http.ResponseWriter, r *http.Request) {
		h.failed(&visit{Handler: h, w: w, r: r}, http.StatusInternalServerError, titleFailed)
	})
}

// titleFailed is the title of a page that could not be made.
const titleFailed = "Something went wrong"

// actor returns who asks; its throttle may have answered already. With basic, the credentials of HTTP Basic count as well
// and are refused with an error. Other errors are that the caller cannot be found out.
func (h *Handler) actor(w http.ResponseWriter, r *http.Request, traffic limit.Traffic, basic bool) (as authz.Actor, ok bool, err error) {
	if user, password, given := r.BasicAuth(); given && basic {
		if as, _, err = h.SignOn.Git(r, user, password); err == nil && !as.Scopes.Permit(nil, true) && !goGets(r) {
			err = errs.New(errs.Unauthorized, "") // it reads repositories with git alone
		}
	} else {
		as, err = h.SignOn.Reader(r)
	}
	as.Visitor = !as.Known()
	httpkit.Of(r.Context()).As = as
	return as, !h.SignOn.Throttled(w, traffic, as), err
}

// contentPolicy is the Content-Security-Policy of pages. Pictures, videos and sounds may come from the asset proxy as well, and frames from
// the sites that the settings allow.
func contentPolicy(assetProxy string, frames []string) string {
	from := "'self'"
	if u, err := url.Parse(assetProxy); err == nil && u.Host != "" {
		from += " " + u.Scheme + "://" + u.Host
	}
	framed := ""
	if len(frames) > 0 {
		framed = "; frame-src https://" + strings.Join(frames, " https://")
	}
	return "default-src 'none'; style-src 'self'; img-src " + from + "; media-src " + from + "; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'" + framed
}

func (h *Handler) servePage(w http.ResponseWriter, r *http.Request) {
	if h.serveBrand(w, r) || h.assets.serve(w, r) {
		return
	}
	httpkit.Of(r.Context()).Route = "page"
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "private, no-store") // tokens come in headers that caches do not know
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Content-Security-Policy", contentPolicy(h.References.AssetRoot(), h.References.FrameSites()))
	found, args, allowed := h.find(r.Method, r.URL.Path)
	traffic := limit.Web
	if found != nil && found.protected {
		traffic = limit.ProtectedPath
	}
	as, ok, err := h.actor(w, r, traffic, goGets(r) || found != nil && found.programs)
	if !ok {
		return
	}
	x := &visit{Handler: h, w: w, r: r, as: as}
	switch {
	case errs.Is(err, errs.Unauthorized):
		httpkit.Challenge(header)
		h.failed(x, http.StatusUnauthorized, "The credentials are not good")
		return
	case err != nil:
		h.refuse(x, err)
		return
	}
	if as.Session != 0 {
		x.secret = h.SignOn.Sessions.Cookie(r, httpkit.SessionCookie)
	} else {
		x.secret = h.SignOn.Sessions.Cookie(r, httpkit.VisitCookie)
	}
	if goGets(r) {
		found, args = &route{method: http.MethodGet, path: "go-get", serve: (*visit).getModule}, nil
	}
	if found == nil || textOf(r.URL.Path) != r.URL.Path {
		if found == nil && len(allowed) > 0 {
			header.Set("Allow", strings.Join(allowed, ", "))
			h.failed(x, http.StatusMethodNotAllowed, "Method not allowed")
			return
		}
		h.refuse(x, errs.Missing(""))
		return
	}
	httpkit.Of(r.Context()).Route = "page " + found.path
	x.args = args
	body, err := h.answer(x, found)
	if err != nil {
		err = x.moved(err)
	}
	switch {
	case err != nil:
		h.refuse(x, err)
	case !x.sent:
		h.show(x, body)
	}
}

// answer makes the body of a page, after what all routes of its kind have in common.
func (h *Handler) answer(x *visit, route *route) (templ.Component, error) {
	if route.signedIn && x.as.Session == 0 {
		if route.method == http.MethodGet {
			return x.goTo(at.SignIn(x.here()))
		}
		return x.goTo(at.SignIn(""))
	}
	if route.method != http.MethodGet {
		if err := h.Settings.Writable(); err != nil && !route.always {
			return nil, err
		}
		most := route.maxForm
		if most == 0 {
			most = maxForm
		}
		x.r.Body = http.MaxBytesReader(x.w, x.r.Body, most)
		if err := x.form(route); err != nil {
			return nil, err
		}
	}
	x.sheet.Notice = notices[x.r.URL.Query().Get("notice")]
	return route.serve(x)
}

// here is the path of the page, for after a sign-on, "" where there is no way back.
func (x *visit) here() string {
	path := x.r.URL.EscapedPath()
	if x.r.Method != http.MethodGet || !local(path) || path == at.Home() || strings.HasPrefix(path, "/users/") {
		return ""
	}
	values := x.r.URL.Query()
	for _, name := range httpkit.SecretParams { // a page does not repeat them
		values.Del(name)
	}
	if query := values.Encode(); query != "" && local(path+"?"+query) {
		return path + "?" + query
	}
	return path
}

// show sends a page.
func (h *Handler) show(x *visit, body templ.Component) {
	p := &x.sheet
	p.Brand = h.brand()
	p.Style, p.Icon = at.Asset(h.assets.style.name), cmp.Or(p.Brand.Icon, at.Asset(h.assets.icon.name))
	set := h.Settings.Current()
	p.Language, p.DarkCode = set.DefaultPreferredLanguage, "dark-code-"+itoa(int64(set.DefaultDarkSyntaxHighlightingTheme))
	if x.as.Session != 0 {
		p.User = x.as.Username
	}
	if p.Return == "" {
		p.Return = x.here()
	}
	if x.secret != "" {
		p.Token = httpkit.CSRFToken(x.secret)
	}
	if x.status == 0 {
		x.status = http.StatusOK
	}
	p.Messages = h.broadcasts(x)
	x.w.WriteHeader(x.status)
	if err := layout(p, body).Render(context.WithoutCancel(x.r.Context()), x.w); err != nil {
		h.Log.Debug("page not sent", "error", err)
	}
}

// broadcasts returns the messages of the administrators for the page.
func (h *Handler) broadcasts(x *visit) []broadcast.Message {
	shown, err := h.Broadcasts.Shown(x.r.Context(), x.as, x.r.URL.Path, x.in)
	if err != nil {
		h.Log.Warn("no broadcast messages on a page", "error", err)
	}
	return shown
}

// refuse answers what cannot be shown. Hidden and absent look alike.
func (h *Handler) refuse(x *visit, err error) {
	x.sheet = sheet{}
	switch {
	case errors.Is(err, errNotOurs):
		h.failed(x, http.StatusUnprocessableEntity, "This form is out of date",
			"It was not sent from a page of this server, or you signed in or out since. Go back, reload the page and try again.")
	case errs.Is(err, errs.NotFound), errs.Is(err, errs.Unauthorized), errs.Is(err, errs.Forbidden) && !x.as.SignedIn():
		x.status = http.StatusNotFound
		x.title("Page not found")
		h.show(x, missing(&x.sheet))
	case errs.Is(err, errs.Forbidden):
		h.failed(x, http.StatusForbidden, "You may not do this", sentenceOf(err))
	case errs.Is(err, errs.BadRequest), errs.Is(err, errs.Invalid), errs.Is(err, errs.Unprocessable), errs.Is(err, errs.Conflict):
		h.failed(x, http.StatusUnprocessableEntity, "This cannot be done", sentenceOf(err))
	case isMaintenance(err):
		h.failed(x, http.StatusServiceUnavailable, "The server is in maintenance mode", err.Error())
	case errs.Is(err, errs.TooMany):
		x.w.Header().Set("Retry-After", strconv.Itoa(int(errs.RetryAfter.Seconds())))
		if exceeded, ok := errors.AsType[*ratelimit.Exceeded](err); ok {
			exceeded.Headers(x.w.Header())
		}
		text := "This page has been requested too many times. Try again later."
		if e, ok := errors.AsType[*errs.Error](err); ok && e.Message != "" {
			text = e.Message
		}
		h.failed(x, http.StatusTooManyRequests, "Too many requests", text)
	case errs.Is(err, errs.Unavailable):
		x.w.Header().Set("Retry-After", strconv.Itoa(int(errs.RetryAfter.Seconds())))
		h.failed(x, http.StatusServiceUnavailable, "The server is busy", "Please try again in a moment.")
	default:
		if x.r.Context().Err() != nil {
			return // the client went away
		}
		h.Log.Error("page failed", "request_id", httpkit.Of(x.r.Context()).ID, "path", httpkit.Path(x.r), "error", err)
		status := failure(x.w, err)
		if status == http.StatusServiceUnavailable {
			h.failed(x, status, "The server is not available at the moment", "Please try again in a moment.")
			return
		}
		h.failed(x, status, titleFailed, fmt.Sprintf("The log of the server knows this as request %s.", httpkit.Of(x.r.Context()).ID))
	}
}

// sentenceOf is what a refusal says beyond its kind.
func sentenceOf(err error) string {
	if text := err.Error(); text != errs.KindOf(err).String() {
		return text
	}
	return "The server refused this."
}

// failed sends a page about what went wrong.
func (h *Handler) failed(x *visit, status int, title string, lines ...string) {
	x.sheet, x.status = sheet{}, status
	x.title(title)
	h.show(x, words(lines...))
}

// failure returns the status of an error that is no refusal, and says when to try again
// where that may help.
func failure(w http.ResponseWriter, err error) int {
	if !errors.Is(err, errs.ErrAway) {
		return http.StatusInternalServerError
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(errs.RetryAfter.Seconds())))
	return http.StatusServiceUnavailable
}

func isMaintenance(err error) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return ok && e.Code == setting.CodeMaintenance
}
