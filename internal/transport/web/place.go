package web

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// short is what a short page says.
type short struct {
	Kind  string // "Issue", "Project", ...
	Title string
	Lines []string
	API   string // absolute URL of the API form, "" for none
	Up    *link  // the thing this one belongs to
}

func (x *visit) getPlace() (templ.Component, error) {
	out, err := x.summary(x.r.Context(), x.as, strings.Trim(x.r.URL.Path, "/"))
	if err != nil {
		return nil, err
	}
	x.title(out.Title)
	x.sheet.API = out.API
	if out.Up != nil {
		x.sheet.Crumbs = []link{*out.Up}
	}
	return words(out.Lines...), nil
}

// summary makes the page of a path.
func (h *Handler) summary(ctx context.Context, as authz.Actor, path string) (short, error) {
	if path == "" {
		return short{
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
		return short{}, err
	}
	out, err := h.inside(ctx, as, p, rest)
	out.Up = &link{Title: p.FullName, URL: h.URLs.Project(p.FullPath)}
	return out, err
}

// place is the page of a project, a group or a user.
func (h *Handler) place(ctx context.Context, as authz.Actor, path string) (short, error) {
	path, group := strings.CutPrefix(path, "groups/") // how groups name themselves
	if strings.Contains(path, "/") && !group {
		p, err := h.Projects.Find(ctx, as, path)
		if err == nil {
			out := short{Kind: "Project", Title: p.FullName, API: h.URLs.API("projects", strconv.FormatInt(int64(p.ID), 10))}
			if p.Description != nil && *p.Description != "" {
				out.Lines = append(out.Lines, *p.Description)
			}
			out.Lines = append(out.Lines, "git clone "+h.URLs.HTTPRepository(p.FullPath))
			return out, nil
		}
		if !errs.Is(err, errs.NotFound) {
			return short{}, err
		}
	}
	g, err := h.Namespaces.Find(ctx, as, path)
	if err == nil {
		return short{Kind: "Group", Title: g.FullName, API: h.URLs.API("groups", strconv.FormatInt(int64(g.ID), 10))}, nil
	}
	if group || !errs.Is(err, errs.NotFound) {
		return short{}, err
	}
	u, err := h.Accounts.ByUsername(ctx, as, path)
	if err != nil {
		return short{}, err
	}
	return short{
		Kind: "User", Title: u.Name, Lines: []string{"@" + u.Username},
		API: h.URLs.API("users", strconv.FormatInt(int64(u.ID), 10)),
	}, nil
}

// inside is the page of something in a project.
func (h *Handler) inside(ctx context.Context, as authz.Actor, p *project.Project, path string) (short, error) {
	kind, name, _ := strings.Cut(path, "/")
	base := h.URLs.API("projects", strconv.FormatInt(int64(p.ID), 10))
	switch kind {
	case "issues", "work_items":
		iid, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return short{}, errs.Missing("")
		}
		i, err := h.Issues.Find(ctx, as, p, issue.IID(iid))
		if err != nil {
			return short{}, err
		}
		return short{Kind: "Issue #" + name, Title: i.Title, Lines: []string{string(i.State)}, API: base + "/issues/" + name}, nil
	case "merge_requests":
		if name == "new" { // where git sends people after a push
			return short{
				Kind: "Project", Title: "New merge request", API: base + "/merge_requests",
				Lines: []string{"Merge requests are made through the API until this page has a form."},
			}, nil
		}
		iid, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return short{}, errs.Missing("")
		}
		m, err := h.Requests.Find(ctx, as, p, mergerequest.IID(iid))
		if err != nil {
			return short{}, err
		}
		return short{
			Kind: "Merge request !" + name, Title: m.Title, API: base + "/merge_requests/" + name,
			Lines: []string{string(m.State), m.SourceBranch + " into " + m.TargetBranch},
		}, nil
	case "commit":
		c, err := h.Repos.FindCommit(ctx, as, p, name)
		if err != nil {
			return short{}, err
		}
		return short{
			Kind: "Commit " + c.ID.Short(), Title: c.Title(), API: base + "/repository/commits/" + c.ID.String(),
			Lines: []string{c.Author.Name, c.Committer.When.Format("2 January 2006 15:04 -0700")},
		}, nil
	case "tree":
		b, err := h.Repos.FindBranch(ctx, as, p, name)
		if err != nil {
			return short{}, err
		}
		return short{
			Kind: "Branch", Title: b.Name, Lines: []string{b.Tip.ID.Short() + " " + b.Tip.Title()},
			API: base + "/repository/branches/" + url.PathEscape(b.Name),
		}, nil
	case "compare":
		from, to, ok := strings.Cut(name, "...")
		if !ok {
			from, to, ok = strings.Cut(name, "..")
		}
		if !ok {
			return short{}, errs.Missing("")
		}
		if _, err := h.Repos.MergeBase(ctx, as, p, []string{from, to}); err != nil {
			return short{}, errs.Missing("")
		}
		query := url.Values{"from": {from}, "to": {to}}
		return short{Kind: "Comparison", Title: from + " and " + to, API: base + "/repository/compare?" + query.Encode()}, nil
	default:
		return short{}, errs.Missing("")
	}
}
