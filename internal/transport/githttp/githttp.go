// Package githttp serves git over HTTP: clone, fetch and push, protocol versions 0
// and 2, and the large objects of Git LFS.
package githttp

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/token"
	"tenon/internal/transport/httpkit"
)

// Deps are what the handler is built on.
type Deps struct {
	*core.Services
	Gate   *httpkit.Gate
	SignOn *httpkit.SignOn
	Log    *slog.Logger
}

// Handler answers requests that Match accepts.
type Handler struct{ Deps }

// New builds the handler.
func New(d Deps) *Handler { return &Handler{Deps: d} }

// The services that git asks for by name.
const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// target is what a request's path names.
type target struct {
	project string // path of the repository without .git: a project's full path, or as core.Services.Remote takes them
	service string // what is asked for: info/refs, git-upload-pack, git-receive-pack
	bare    bool   // the path came without .git
}

// Match reports whether a path is git's.
func Match(path string) bool {
	if _, ok := parseLFS(path); ok {
		return true
	}
	_, ok := parse(path)
	return ok
}

func parse(path string) (target, bool) {
	path = strings.TrimPrefix(path, "/")
	for _, service := range []string{"info/refs", uploadPack, receivePack} {
		place, ok := strings.CutSuffix(path, "/"+service)
		if !ok || place == "" {
			continue
		}
		name, dotted := strings.CutSuffix(place, ".git")
		if !strings.Contains(name, "/") && !strings.HasSuffix(name, ".wiki") || strings.Contains(name, "/-/") || strings.HasPrefix(name, "api/v4/") {
			return target{}, false
		}
		return target{project: name, service: service, bare: !dotted}, true
	}
	return target{}, false
}

// ServeHTTP answers one request of a git client.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Gate.Serve(w, r, h.serve, func(w http.ResponseWriter, _ *http.Request) {
		plain(w, http.StatusInternalServerError, "Internal Server Error")
	})
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	if t, ok := parseLFS(r.URL.Path); ok {
		h.serveLFS(w, r, t)
		return
	}
	t, ok := parse(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	x := httpkit.Of(r.Context())
	x.Route, x.Project = "git/"+t.service, t.project
	body := joinBody(w, r)
	defer body.join() // before the server reads the next request
	w.Header().Set("Cache-Control", "no-cache, max-age=0, must-revalidate")
	w.Header().Set("Pragma", "no-cache")
	w.Header().Set("Expires", "Fri, 01 Jan 1980 00:00:00 GMT")
	if t.bare {
		h.redirect(w, r, h.URLs.Service(t.project, t.service))
		return
	}
	service, ok := wanted(w, r, t)
	if !ok {
		return
	}
	x.Service = service
	as, access, ok := h.signIn(w, r)
	if !ok {
		return
	}
	if err := h.Settings.Writable(); err != nil && service == receivePack {
		plain(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	at, err := h.find(r, t, service, as, access)
	if err != nil {
		h.refuseProject(w, r, t, as, err)
		return
	}
	if at.Project != nil {
		x.Project = at.Project.FullPath
	}
	if t.service == "info/refs" && r.Method != http.MethodGet {
		plain(w, http.StatusForbidden, "Forbidden")
		return
	}
	switch {
	case service == receivePack && access.Write:
		h.push(w, r, t, as, at)
		body.join()
		body.drain()
	case service == uploadPack && access.Read:
		h.fetch(w, r, t, as, at)
	default:
		h.challenge(w)
	}
}

// find finds the repository. A project that is not there is made for users who are about to
// push to it and may create it.
func (h *Handler) find(r *http.Request, t target, service string, as authz.Actor, access token.GitAccess) (*repo.Remote, error) {
	ctx := r.Context()
	at, err := h.Remote(ctx, as, t.project)
	if !errs.Is(err, errs.NotFound) || service != receivePack || !access.Write || t.service != "info/refs" || r.Method != http.MethodGet {
		return at, err
	}
	if moved, was := errors.AsType[*project.Moved](err); was {
		if p, found := h.Projects.FindByID(ctx, as, project.ID(moved.MovedTo())); found == nil {
			h.Repos.Notify(as, p, repo.MovedNotice(t.project, p, h.remote(p)))
		}
		return nil, err
	}
	p, err := h.Projects.CreateByPush(ctx, as, t.project, namespace.HTTP)
	if err != nil {
		return nil, err
	}
	h.Repos.Notify(as, p, h.Repos.CreatedNotice(p, h.remote(p)))
	return h.Repos.Remote(p), nil
}

// remote is where a project is reached over HTTP.
func (h *Handler) remote(p *project.Project) string { return h.URLs.HTTPRepository(p.FullPath) }

// wanted returns the service that a request is about and refuses what is not git's smart
// protocol.
func wanted(w http.ResponseWriter, r *http.Request, t target) (string, bool) {
	if t.service != "info/refs" {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", "POST")
			plain(w, http.StatusMethodNotAllowed, "Method Not Allowed")
			return "", false
		}
		if r.Header.Get("Content-Type") != "application/x-"+t.service+"-request" {
			plain(w, http.StatusUnsupportedMediaType, "Unsupported Media Type")
			return "", false
		}
		return t.service, true
	}
	switch service := r.URL.Query().Get("service"); service {
	case uploadPack, receivePack:
		return service, true
	default:
		plain(w, http.StatusForbidden, "The dumb HTTP protocol is not served; use a git client of version 1.6.6 or newer.")
		return "", false
	}
}

// signIn reads HTTP Basic. Without credentials the caller is anonymous; wrong ones are
// answered here.
func (h *Handler) signIn(w http.ResponseWriter, r *http.Request) (authz.Actor, token.GitAccess, bool) {
	as, access, err := authz.Actor{Address: httpkit.Address(r)}, token.GitAccess{Read: true}, error(nil)
	if user, password, given := r.BasicAuth(); given {
		as, access, err = h.SignOn.Git(r, user, password)
	}
	httpkit.Of(r.Context()).As = as
	if h.SignOn.Throttled(w, limit.GitHTTP, as) {
		return authz.Actor{}, token.GitAccess{}, false
	}
	switch {
	case err == nil:
		return as, access, true
	case errs.Is(err, errs.Unauthorized):
		h.challenge(w)
	case errs.Is(err, errs.Forbidden):
		plain(w, http.StatusForbidden, err.Error())
	case errs.Is(err, errs.Unavailable):
		unavailable(w, 1, err.Error())
	default:
		h.fail(w, r, err)
	}
	return authz.Actor{}, token.GitAccess{}, false
}

// challenge asks for credentials.
func (h *Handler) challenge(w http.ResponseWriter) {
	httpkit.Challenge(w.Header())
	plain(w, http.StatusUnauthorized, "HTTP Basic: Access denied. If a password was provided for Git authentication, "+
		"the password was incorrect or you're required to use a token instead of a password. If a token was provided, "+
		"it was either incorrect, expired, or improperly scoped. See "+
		h.URLs.Help("topics/git/troubleshooting_git.md#error-on-git-fetch-http-basic-access-denied"))
}

// refuseProject answers for a project that the caller does not find: an anonymous caller is
// asked for credentials, also where there is nothing, so that absent and hidden look alike.
func (h *Handler) refuseProject(w http.ResponseWriter, r *http.Request, t target, as authz.Actor, err error) {
	moved, was := errors.AsType[*project.Moved](err)
	switch {
	case was:
		h.redirect(w, r, h.URLs.Service(moved.Path, t.service))
	case errs.Is(err, errs.Forbidden):
		h.refuse(w, r, as, err)
	case !errs.Is(err, errs.NotFound):
		h.fail(w, r, err)
	case !as.Known():
		h.challenge(w)
	default:
		plain(w, http.StatusNotFound, "The project you were looking for could not be found or you don't have permission to view it.")
	}
}

func (h *Handler) redirect(w http.ResponseWriter, r *http.Request, to string) {
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	http.Redirect(w, r, to, http.StatusMovedPermanently)
}

// refuse answers for something the actor may not do with a project it sees.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, as authz.Actor, err error) {
	switch {
	case !as.Known() && (errs.Is(err, errs.Forbidden) || errs.Is(err, errs.Unauthorized)):
		h.challenge(w)
	case errs.Is(err, errs.Forbidden):
		text := err.Error()
		if text == errs.Forbidden.String() {
			text = "You are not allowed to download code from this project."
		}
		plain(w, http.StatusForbidden, text)
	case errs.Is(err, errs.NotFound):
		plain(w, http.StatusNotFound, "The project you were looking for could not be found or you don't have permission to view it.")
	default:
		h.fail(w, r, err)
	}
}

// fail logs what went wrong and tells the client nothing of it.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client went away
	}
	h.Log.Error("git request failed", "request_id", httpkit.Of(r.Context()).ID, "path", r.URL.Path, "error", err)
	if errors.Is(err, errs.ErrAway) {
		unavailable(w, int(errs.RetryAfter.Seconds()), textAway)
		return
	}
	plain(w, http.StatusInternalServerError, "Internal Server Error")
}

// textAway is for callers who come while the database is not available.
const textAway = "The server's database is not available. Please try again in a moment."

// unavailable tells a client to come again after some seconds.
func unavailable(w http.ResponseWriter, seconds int, text string) {
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	plain(w, http.StatusServiceUnavailable, text)
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

var (
	errBodyTooLarge = errors.New("request body exceeds the limit")
	errBadBody      = errors.New("request body cannot be unpacked")
)
