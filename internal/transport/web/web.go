// Package web answers the addresses that people follow: each page names the thing it
// stands for and links to the thing's form in the API.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
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
type Handler struct{ Deps }

// New builds the handler.
func New(d Deps) *Handler { return &Handler{Deps: d} }

// ServeHTTP answers one page.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Gate.Serve(w, r, h.servePage, func(w http.ResponseWriter, _ *http.Request) {
		h.render(w, http.StatusInternalServerError, page{Kind: "Error", Title: titleFailed})
	})
}

// titleFailed is the title of a page that could not be made.
const titleFailed = "Something went wrong"

// actor gives who asks; its throttle may have answered already.
func (h *Handler) actor(w http.ResponseWriter, r *http.Request) (as authz.Actor, ok bool) {
	as = h.SignOn.Reader(r)
	httpkit.Of(r.Context()).As = as
	return as, !h.SignOn.Throttled(w, limit.Web, as)
}

func (h *Handler) servePage(w http.ResponseWriter, r *http.Request) {
	httpkit.Of(r.Context()).Route = "page"
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "private, no-store") // tokens come in headers that caches do not know
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		h.render(w, http.StatusMethodNotAllowed, page{Kind: "Error", Title: "Method not allowed"})
		return
	}
	as, ok := h.actor(w, r)
	if !ok {
		return
	}
	out, err := h.find(r.Context(), as, strings.Trim(r.URL.Path, "/"))
	switch {
	case err == nil:
		h.render(w, http.StatusOK, out)
	case errs.Is(err, errs.NotFound), errs.Is(err, errs.Unauthorized), errs.Is(err, errs.Forbidden):
		// Hidden and absent look alike.
		h.render(w, http.StatusNotFound, page{
			Kind: "Error", Title: "Page not found",
			Lines: []string{"There is nothing here, or nothing that you may see."},
		})
	default:
		h.Log.Error("page failed", "request_id", httpkit.Of(r.Context()).ID, "path", r.URL.Path, "error", err)
		title := titleFailed
		if errors.Is(err, errs.ErrAway) {
			title = "The server is not available at the moment"
		}
		h.render(w, failure(w, err), page{Kind: "Error", Title: title})
	}
}

// failure gives the status of an error that is no refusal, and says when to try again
// where that may help.
func failure(w http.ResponseWriter, err error) int {
	if !errors.Is(err, errs.ErrAway) {
		return http.StatusInternalServerError
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(errs.RetryAfter.Seconds())))
	return http.StatusServiceUnavailable
}

func (h *Handler) render(w http.ResponseWriter, status int, p page) {
	w.WriteHeader(status)
	if _, err := w.Write(p.html()); err != nil {
		h.Log.Debug("page not sent", "error", err)
	}
}

// find makes the page of a path.
func (h *Handler) find(ctx context.Context, as authz.Actor, path string) (page, error) {
	if path == "" {
		return page{
			Kind: "Tenon", Title: "Tenon", API: h.URLs.API("openapi.json"),
			Lines: []string{"This server speaks GitLab's REST interface, version 4, and git over HTTP."},
		}, nil
	}
	place, rest, _ := strings.Cut(path, "/-/")
	place = strings.TrimSuffix(place, "/-")
	if rest == "" {
		return h.place(ctx, as, place)
	}
	if rest == "group_members" || rest == "project_members" {
		out, err := h.place(ctx, as, place)
		out.API += "/members"
		return out, err
	}
	p, err := h.Projects.Find(ctx, as, place)
	if err != nil {
		return page{}, err
	}
	out, err := h.inside(ctx, as, p, rest)
	out.Up = &link{Title: p.FullName, URL: h.URLs.Project(p.FullPath)}
	return out, err
}

// place is the page of a project, a group or a user.
func (h *Handler) place(ctx context.Context, as authz.Actor, path string) (page, error) {
	path, group := strings.CutPrefix(path, "groups/") // how groups name themselves
	if strings.Contains(path, "/") && !group {
		p, err := h.Projects.Find(ctx, as, path)
		if err == nil {
			out := page{Kind: "Project", Title: p.FullName, API: h.URLs.API("projects", strconv.FormatInt(int64(p.ID), 10))}
			if p.Description != nil && *p.Description != "" {
				out.Lines = append(out.Lines, *p.Description)
			}
			out.Lines = append(out.Lines, "git clone "+h.URLs.HTTPRepository(p.FullPath))
			return out, nil
		}
		if !errs.Is(err, errs.NotFound) {
			return page{}, err
		}
	}
	g, err := h.Namespaces.Find(ctx, as, path)
	if err == nil {
		return page{Kind: "Group", Title: g.FullName, API: h.URLs.API("groups", strconv.FormatInt(int64(g.ID), 10))}, nil
	}
	if group || !errs.Is(err, errs.NotFound) {
		return page{}, err
	}
	u, err := h.Accounts.ByUsername(ctx, as, path)
	if err != nil {
		return page{}, err
	}
	return page{
		Kind: "User", Title: u.Name, Lines: []string{"@" + u.Username},
		API: h.URLs.API("users", strconv.FormatInt(int64(u.ID), 10)),
	}, nil
}

// inside is the page of something in a project.
func (h *Handler) inside(ctx context.Context, as authz.Actor, p *project.Project, path string) (page, error) {
	kind, name, _ := strings.Cut(path, "/")
	base := h.URLs.API("projects", strconv.FormatInt(int64(p.ID), 10))
	switch kind {
	case "issues", "work_items":
		iid, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return page{}, errs.Missing("")
		}
		i, err := h.Issues.Find(ctx, as, p, issue.IID(iid))
		if err != nil {
			return page{}, err
		}
		return page{Kind: "Issue #" + name, Title: i.Title, Lines: []string{string(i.State)}, API: base + "/issues/" + name}, nil
	case "merge_requests":
		if name == "new" { // where git sends people after a push
			return page{
				Kind: "Project", Title: "New merge request", API: base + "/merge_requests",
				Lines: []string{"Merge requests are made through the API until this page has a form."},
			}, nil
		}
		iid, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return page{}, errs.Missing("")
		}
		m, err := h.Requests.Find(ctx, as, p, mergerequest.IID(iid))
		if err != nil {
			return page{}, err
		}
		return page{
			Kind: "Merge request !" + name, Title: m.Title, API: base + "/merge_requests/" + name,
			Lines: []string{string(m.State), m.SourceBranch + " into " + m.TargetBranch},
		}, nil
	case "commit":
		c, err := h.Repos.FindCommit(ctx, as, p, name)
		if err != nil {
			return page{}, err
		}
		return page{
			Kind: "Commit " + c.ID.Short(), Title: c.Title(), API: base + "/repository/commits/" + c.ID.String(),
			Lines: []string{c.Author.Name, c.Committer.When.Format("2 January 2006 15:04 -0700")},
		}, nil
	case "tree":
		b, err := h.Repos.FindBranch(ctx, as, p, name)
		if err != nil {
			return page{}, err
		}
		return page{
			Kind: "Branch", Title: b.Name, Lines: []string{b.Tip.ID.Short() + " " + b.Tip.Title()},
			API: base + "/repository/branches/" + url.PathEscape(b.Name),
		}, nil
	case "compare":
		from, to, ok := strings.Cut(name, "...")
		if !ok {
			from, to, ok = strings.Cut(name, "..")
		}
		if !ok {
			return page{}, errs.Missing("")
		}
		if _, err := h.Repos.MergeBase(ctx, as, p, []string{from, to}); err != nil {
			return page{}, errs.Missing("")
		}
		query := url.Values{"from": {from}, "to": {to}}
		return page{Kind: "Comparison", Title: from + " and " + to, API: base + "/repository/compare?" + query.Encode()}, nil
	default:
		return page{}, errs.Missing("")
	}
}
