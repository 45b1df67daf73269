package web

import (
	"maps"
	"slices"

	"github.com/a-h/templ"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// choose marks the state that a list shows. The other parameters of its address stay.
func (x *visit) choose(base, current string, states ...string) []tab {
	query := maps.Clone(x.r.URL.Query())
	for name := range query {
		if !slices.Contains([]string{"label_name", "release_tag", "show"}, name) {
			query.Del(name)
		}
	}
	out := make([]tab, len(states))
	for i, s := range states {
		query.Set("state", s)
		out[i] = tab{link{s, base + "?" + query.Encode()}, s == current}
	}
	return out
}

// state is the one that the address asks for, the first of the list otherwise.
func (x *visit) state(states ...string) string {
	for _, s := range states {
		if x.query("state") == s {
			return s
		}
	}
	return states[0]
}

func (x *visit) getIssues() (templ.Component, error) {
	p, err := x.project("Issues")
	if err != nil {
		return nil, err
	}
	return x.issues(p.Place(), at.Issues(p.FullPath))
}

func (x *visit) getGroupIssues() (templ.Component, error) {
	g, err := x.group("Issues")
	if err != nil {
		return nil, err
	}
	return x.issues(g.Place(), at.GroupIssues(g.FullPath))
}

// issues lists the issues of a project, or below a group.
func (x *visit) issues(in authz.Place, base string) (templ.Component, error) {
	all := []string{"opened", "closed", "all"}
	state := x.state(all...)
	f := issue.Filter{State: issue.State(state), Range: x.part()}
	if state == "all" {
		f.State = ""
	}
	released := x.query("release_tag")
	f.Milestone.Release = released
	labelled := x.query("label_name")
	if labelled != "" {
		f.Labels = []string{labelled}
	}
	wants, err := x.preferences()
	if err != nil {
		return nil, err
	}
	f.OrderBy, f.Asc = page.Sorted(wants.IssuesSort)
	x.title("Issues")
	x.sheet.API += "/issues"
	rows, err := x.issueRows(in, f)
	if err != nil {
		return nil, err
	}
	return templ.Join(states(x.choose(base, state, all...)), labelledWith(labelled), releasedWith(released), rows), nil
}

func (x *visit) getIssue() (templ.Component, error) {
	p, err := x.project("Issues")
	if err != nil {
		return nil, err
	}
	iid, err := x.arg("iid")
	if err != nil {
		return nil, err
	}
	i, err := x.Issues.Find(x.r.Context(), x.as, p, issue.IID(iid))
	if err != nil {
		return nil, err
	}
	text, talk, ids, err := x.talk(p, noteable.Issue, iid, i.Description)
	if err != nil {
		return nil, err
	}
	who, err := x.people(x.r.Context(), append(append(ids, i.AuthorID), i.Assignees...)...)
	if err != nil {
		return nil, err
	}
	x.title(i.Title)
	x.sheet.Badge = string(i.State)
	if i.State == "opened" {
		x.sheet.BadgeKind = "good"
	}
	x.sheet.API += "/issues/" + x.args["iid"]
	return issuePage(i, who, text, talk), nil
}

func (x *visit) getRequests() (templ.Component, error) {
	p, err := x.project("Merge requests")
	if err != nil {
		return nil, err
	}
	all := []string{"opened", "merged", "closed", "all"}
	state := x.state(all...)
	f := mergerequest.Filter{State: mergerequest.State(state), Range: x.part()}
	if state == "all" {
		f.State = ""
	}
	released := x.query("release_tag")
	f.Milestone.Release = released
	x.title("Merge requests")
	x.sheet.API += "/merge_requests"
	rows, err := x.requestRows(p.Place(), f)
	if err != nil {
		return nil, err
	}
	return templ.Join(newRequestLink(p.FullPath, ""), states(x.choose(at.MergeRequests(p.FullPath), state, all...)), releasedWith(released), rows), nil
}

func (x *visit) request() (*project.Project, *mergerequest.MergeRequest, error) {
	p, err := x.project("Merge requests")
	if err != nil {
		return nil, nil, err
	}
	iid, err := x.arg("iid")
	if err != nil {
		return nil, nil, err
	}
	m, err := x.MergeRequests.Read(x.r.Context(), x.as, p, mergerequest.IID(iid))
	if err != nil {
		return nil, nil, err
	}
	x.title(m.Title)
	x.sheet.Badge, x.sheet.BadgeKind = string(m.State), requestKind(m.State)
	x.sheet.API += "/merge_requests/" + x.args["iid"]
	return p, m, nil
}

// requestKind says whether the state of a merge request is good, or neither good nor bad.
func requestKind(s mergerequest.State) string {
	if s == mergerequest.StateOpened || s == mergerequest.StateMerged {
		return "good"
	}
	return ""
}

// about are the pages of one merge request.
func about(path string, iid int64, current string) []tab {
	return tabs(current, link{"Overview", at.MergeRequest(path, iid)}, link{"Commits", at.MergeRequestCommits(path, iid)}, link{"Changes", at.MergeRequestChanges(path, iid)})
}

func (x *visit) getRequest() (templ.Component, error) {
	if of, form := textForm(x.args["iid"]); form != "" {
		return x.getRequestText(of, form)
	}
	p, m, err := x.request()
	if err != nil {
		return nil, err
	}
	text, talk, ids, err := x.talk(p, noteable.MergeRequest, int64(m.IID), m.Description)
	if err != nil {
		return nil, err
	}
	who, err := x.people(x.r.Context(), append(ids, m.AuthorID)...)
	if err != nil {
		return nil, err
	}
	var suggested templ.Component = templ.NopComponent
	if m.State == mergerequest.StateOpened {
		suggests, err := x.CI.Suggests(x.r.Context(), x.as, p)
		if err != nil {
			return nil, err
		}
		if suggests {
			suggested = suggestPipeline()
		}
	}
	return templ.Join(states(about(p.FullPath, int64(m.IID), "Overview")), suggested, requestPage(p.FullPath, m, who, text, talk)), nil
}

func (x *visit) getRequestCommits() (templ.Component, error) {
	p, m, err := x.request()
	if err != nil {
		return nil, err
	}
	body := commitList(p.FullPath, nil, "", "")
	if m.VersionID != nil {
		v, err := x.MergeRequests.Version(x.r.Context(), x.as, p, m, *m.VersionID)
		if err != nil {
			return nil, err
		}
		list, err := x.MergeRequests.Commits(x.r.Context(), x.as, p, m, v, x.part())
		if err != nil {
			return nil, err
		}
		older, newer := around(x, &list)
		body = commitList(p.FullPath, list.Items, older, newer)
	}
	return templ.Join(states(about(p.FullPath, int64(m.IID), "Commits")), body), nil
}

func (x *visit) getRequestChanges() (templ.Component, error) {
	p, m, err := x.request()
	if err != nil {
		return nil, err
	}
	d := shownDiff(nil, 0)
	if m.VersionID != nil {
		list, err := x.MergeRequests.Diffs(x.r.Context(), x.as, p, m, x.countedPart())
		if err != nil {
			return nil, err
		}
		d = shownDiff(list.Items, list.Total)
		d.Older, d.Newer = around(x, &list)
	}
	return templ.Join(states(about(p.FullPath, int64(m.IID), "Changes")), diff(d)), nil
}
