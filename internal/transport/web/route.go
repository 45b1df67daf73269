package web

import (
	"net/http"
	"strings"

	"github.com/a-h/templ"
)

// route is the address of a page, or of what a form does.
type route struct {
	method string // GET is for HEAD as well
	// path has parameters in braces: one segment, or with "..." all that is left of the path
	// or, before "/-/", all that stands there.
	path  string
	serve func(x *visit) (templ.Component, error)
	// signedIn says that the page is about the caller: others are sent to the sign-on.
	signedIn bool
	maxForm  int64 // bytes of the form, 0 for maxForm
	programs bool  // programs ask for it too, which sign on with HTTP Basic
	// signed says that the address itself proves that the caller may: its form needs no token of
	// a browser, and programs send it, too.
	signed bool
	always bool // its form is taken in maintenance mode, too
	// protected says that sign-ins, passwords or confirmations go there: throttle_protected_paths bounds it.
	protected bool
}

// maxForm is the longest form in bytes that is read, unless a route says otherwise.
const maxForm = 64 << 10

// protected marks a route as one of sign-ins, passwords or confirmations.
func protected(r route) route {
	r.protected = true
	return r
}

// get, post and own make routes.
func get(path string, serve func(x *visit) (templ.Component, error)) route {
	return route{method: http.MethodGet, path: path, serve: serve}
}

func post(path string, serve func(x *visit) (templ.Component, error)) route {
	return route{method: http.MethodPost, path: path, serve: serve}
}

func own(r route) route {
	r.signedIn = true
	return r
}

func programs(r route) route {
	r.programs = true
	return r
}

func signed(r route) route {
	r.signed = true
	return r
}

func always(r route) route {
	r.always = true
	return r
}

// long lets a form have a text as long as the API takes.
func long(r route) route {
	r.maxForm = 4 << 20
	return r
}

// Routes lists the method and path of every page.
func Routes() []string {
	var out []string
	for _, r := range routes() {
		out = append(out, r.method+" "+r.path)
	}
	return out
}

// match finds what the path has for the parameters of a route.
func (r *route) match(path string) (map[string]string, bool) {
	args := map[string]string{}
	pattern := strings.TrimPrefix(r.path, "/")
	if place, rest, inside := strings.Cut(pattern, "/-/"); inside && strings.Contains(place, "...") {
		before, after, ok := strings.Cut(path, "/-/")
		if !ok || !fits(place, before, args) {
			return nil, false
		}
		pattern, path = rest, after
	} else if strings.Contains(path, "/-/") && strings.Contains(pattern, "...") && !inside {
		return nil, false // what is in a place has routes of its own
	}
	return args, fits(pattern, path, args)
}

// fits matches segments.
func fits(pattern, path string, args map[string]string) bool {
	for {
		want, more, _ := strings.Cut(pattern, "/")
		if name, ok := strings.CutSuffix(want, "...}"); ok {
			args[name[1:]] = path
			return path != ""
		}
		got, rest, slash := strings.Cut(path, "/")
		switch {
		case strings.HasPrefix(want, "{"):
			if got == "" {
				return false
			}
			args[strings.Trim(want, "{}")] = got
		case got != want:
			return false
		}
		if more == "" || !slash {
			return more == "" && !slash
		}
		pattern, path = more, rest
	}
}

// find returns the route of a request. allowed has the methods of the path where only the
// method is wrong.
func (h *Handler) find(method, path string) (found *route, args map[string]string, allowed []string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if strings.Contains(path, "//") {
		return nil, nil, nil // a page's links would lead to another server
	}
	path = withPages(strings.Trim(path, "/"))
	for i := range h.routes {
		r := &h.routes[i]
		args, ok := r.match(path)
		if !ok {
			continue
		}
		if r.method == method {
			return r, args, nil
		}
		allowed = append(allowed, r.method)
	}
	return nil, nil, allowed
}

// withPages returns the path of a badge, and of the download of an export, the form that the paths of pages have; they are known without it as well.
func withPages(path string) string {
	if project, ok := strings.CutSuffix(path, "/download_export"); ok && strings.Contains(project, "/") && !strings.Contains(project, "/-") {
		return strings.Replace(path, "/download_export", "/-/download_export", 1)
	}
	_, rest, ok := strings.Cut(path, "/badges/")
	if !ok || strings.Contains(path, "/-/") || !strings.HasSuffix(rest, "/pipeline.svg") && !strings.HasSuffix(rest, "/coverage.svg") {
		return path
	}
	return strings.Replace(path, "/badges/", "/-/badges/", 1)
}
