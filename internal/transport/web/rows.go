package web

import (
	"github.com/a-h/templ"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// issueRow is a line of a list of issues.
type issueRow struct {
	*issue.View
	URL  string // below this server, whatever its name
	Name string // how the page refers to it
}

// requestRow is a line of a list of merge requests.
type requestRow struct {
	*mergerequest.View
	URL  string
	Name string
}

// issueRows lists a page of the issues of a place. Below a group it names their projects.
func (x *visit) issueRows(in authz.Place, f issue.Filter) (templ.Component, error) {
	list, err := x.Issues.List(x.r.Context(), x.as, in, f)
	if err != nil {
		return nil, err
	}
	return x.issuesOf(in, list)
}

// issuesOf lists issues that were read in a place.
func (x *visit) issuesOf(in authz.Place, list page.Page[issue.Issue]) (templ.Component, error) {
	var want issue.ViewOptions
	if p := project.Of(in); p != nil {
		want.Projects = map[project.ID]*project.Project{p.ID: p}
	}
	views, err := x.Issues.Views(x.r.Context(), x.as, list.Items, want)
	if err != nil {
		return nil, err
	}
	rows := make([]issueRow, len(views))
	for n := range views {
		v := &views[n]
		rows[n] = issueRow{v, v.Type.URL(&at, v.Project.FullPath, v.IID), v.IID.Reference()}
		if !in.IsProject() {
			rows[n].Name = v.Project.FullPath + rows[n].Name
		}
	}
	older, newer := around(x, &list)
	return issueList(rows, older, newer), nil
}

// requestRows lists a page of the merge requests of a place. Below a group it names their
// projects.
func (x *visit) requestRows(in authz.Place, f mergerequest.Filter) (templ.Component, error) {
	ctx := x.r.Context()
	list, err := x.MergeRequests.List(ctx, x.as, in, f)
	if err != nil {
		return nil, err
	}
	views, err := x.MergeRequests.Views(ctx, x.as, list.Items, mergerequest.ViewOptions{})
	if err != nil {
		return nil, err
	}
	rows := make([]requestRow, len(views))
	for n := range views {
		v := &views[n]
		rows[n] = requestRow{v, at.MergeRequest(v.Project.FullPath, int64(v.IID)), v.IID.Reference()}
		if !in.IsProject() {
			rows[n].Name = v.Project.FullPath + rows[n].Name
		}
	}
	older, newer := around(x, &list)
	return requestList(rows, older, newer), nil
}
