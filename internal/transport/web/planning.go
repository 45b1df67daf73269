package web

import (
	"maps"
	"time"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// talk is what was said about a thing, in order.
type talk struct {
	Hidden       bool // from people who are not signed on
	Lines        []noteView
	Older, Newer string
}

// noteView is one comment or line of history.
type noteView struct {
	System, Internal       bool
	AuthorID               userID
	Body, HTML, Anchor, On string
	CreatedAt              time.Time
}

// choose marks the state that a list shows. The other parameters of its address stay.
func (x *visit) choose(base, current string, states ...string) []tab {
	query := maps.Clone(x.r.URL.Query())
	for name := range query {
		if name != "label_name" && name != "show" {
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
	return x.issues(issue.Place{Project: p}, at.Issues(p.FullPath))
}

func (x *visit) getGroupIssues() (templ.Component, error) {
	g, err := x.group("Issues")
	if err != nil {
		return nil, err
	}
	return x.issues(issue.Place{Group: g.Subject()}, at.GroupIssues(g.FullPath))
}

// issues lists the issues of a project, or below a group.
func (x *visit) issues(in issue.Place, base string) (templ.Component, error) {
	all := []string{"opened", "closed", "all"}
	state := x.state(all...)
	f := issue.Filter{State: issue.State(state), Range: x.part()}
	if state == "all" {
		f.State = ""
	}
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
	return templ.Join(states(x.choose(base, state, all...)), labelledWith(labelled), rows), nil
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
	talk, ids, err := x.talk(p, noteable.Issue, iid)
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
	return issuePage(i, who, x.words(p, i.Description), talk), nil
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
	x.title("Merge requests")
	x.sheet.API += "/merge_requests"
	rows, err := x.requestRows(mergerequest.Place{Project: p}, f)
	if err != nil {
		return nil, err
	}
	return templ.Join(states(x.choose(at.MergeRequests(p.FullPath), state, all...)), rows), nil
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
	x.sheet.Badge = string(m.State)
	if m.State == "opened" || m.State == "merged" {
		x.sheet.BadgeKind = "good"
	}
	x.sheet.API += "/merge_requests/" + x.args["iid"]
	return p, m, nil
}

// about are the pages of one merge request.
func about(path string, iid int64, current string) []tab {
	return tabs(current, link{"Overview", at.MergeRequest(path, iid)}, link{"Commits", at.MergeRequestCommits(path, iid)}, link{"Changes", at.MergeRequestChanges(path, iid)})
}

func (x *visit) getRequest() (templ.Component, error) {
	p, m, err := x.request()
	if err != nil {
		return nil, err
	}
	talk, ids, err := x.talk(p, noteable.MergeRequest, int64(m.IID))
	if err != nil {
		return nil, err
	}
	who, err := x.people(x.r.Context(), append(ids, m.AuthorID)...)
	if err != nil {
		return nil, err
	}
	return templ.Join(states(about(p.FullPath, int64(m.IID), "Overview")), requestPage(p.FullPath, m, who, x.words(p, m.Description), talk)), nil
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
	d := shownDiff(nil)
	if m.VersionID != nil {
		list, err := x.MergeRequests.Diffs(x.r.Context(), x.as, p, m, x.part())
		if err != nil {
			return nil, err
		}
		d = shownDiff(list.Items)
		d.Older, d.Newer = around(x, &list)
	}
	return templ.Join(states(about(p.FullPath, int64(m.IID), "Changes")), diff(d)), nil
}

// words formats the text of a thing in a project.
func (x *visit) words(p *project.Project, text *string) string {
	if text == nil {
		return ""
	}
	return x.text(int64(p.ID), p.FullPath, branchOf(p), *text)
}

// talk reads the notes of a thing in a project, and who wrote them.
func (x *visit) talk(p *project.Project, kind noteable.Kind, number int64) (*talk, []userID, error) {
	on := note.On{Project: p, Kind: kind, Key: noteable.Key{Number: number}}
	return x.said(on, func(text *string) string { return x.words(p, text) })
}

// said reads the notes of a thing, and who wrote them; words formats their texts. Those of what
// is public are for people who are signed on.
func (x *visit) said(on note.On, words func(text *string) string) (*talk, []userID, error) {
	part := page.Range{Limit: perPage, Offset: (x.number() - 1) * perPage, Uncounted: true}
	list, _, err := x.Notes.List(x.r.Context(), x.as, on, note.Filter{Asc: true, Range: part})
	if errs.Is(err, errs.Unauthorized) && x.as.Session == 0 {
		return &talk{Hidden: true}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	out := &talk{}
	var ids []userID
	for _, n := range list.Items {
		ids = append(ids, n.AuthorID)
		v := noteView{System: n.System, Internal: n.Internal, AuthorID: n.AuthorID, Anchor: "note_" + itoa(int64(n.ID)), CreatedAt: n.CreatedAt.Time}
		if n.System {
			v.Body = n.Body
		} else {
			v.HTML = words(&n.Body)
		}
		if n.Position != nil {
			v.On = textOf(n.Position.NewPath)
		}
		out.Lines = append(out.Lines, v)
	}
	out.Older, out.Newer = around(x, &list)
	return out, ids, nil
}

// requestForm is what stands in the form of a merge request.
type requestForm struct {
	Source, Target, Title, Description string
	Remove                             bool
}

func (x *visit) getNewRequest() (templ.Component, error) {
	p, err := x.project("Merge requests")
	if err != nil {
		return nil, err
	}
	f := requestForm{
		Source: x.query("merge_request[source_branch]"), Target: x.query("merge_request[target_branch]"), Title: x.query("merge_request[title]"),
	}
	if f.Target == "" {
		f.Target = branchOf(p)
	}
	if f.Title == "" {
		f.Title = f.Source
	}
	return x.newRequestPage(p, f)
}

func (x *visit) newRequestPage(p *project.Project, f requestForm) (templ.Component, error) {
	x.title("New merge request")
	x.sheet.API += "/merge_requests"
	if x.as.Session == 0 {
		return signFirst(&x.sheet, x.here()), nil
	}
	return newRequest(&x.sheet, p.FullPath, f), nil
}

func (x *visit) postRequest() (templ.Component, error) {
	p, err := x.project("Merge requests")
	if err != nil {
		return nil, err
	}
	f := requestForm{
		Source: x.field("merge_request[source_branch]"), Target: x.field("merge_request[target_branch]"),
		Title: x.field("merge_request[title]"), Description: x.field("merge_request[description]"),
		Remove: x.field("merge_request[force_remove_source_branch]") == "1",
	}
	m, target, err := x.MergeRequests.Create(x.r.Context(), x.as, p, mergerequest.Input{
		SourceBranch: f.Source, TargetBranch: f.Target, Title: f.Title, Description: &f.Description, RemoveSource: &f.Remove,
	})
	switch {
	case err == nil:
		return x.goTo(at.MergeRequest(target.FullPath, int64(m.IID)))
	case x.wrong(err):
		return x.newRequestPage(p, f)
	}
	return nil, err
}
