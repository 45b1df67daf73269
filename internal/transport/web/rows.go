package web

import (
	"github.com/a-h/templ"

	"tenon/internal/base/page"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// issueRow is a line of a list of issues.
type issueRow struct {
	*issue.Issue
	URL  string
	Name string // how the page refers to it
}

// requestRow is a line of a list of merge requests.
type requestRow struct {
	*mergerequest.MergeRequest
	URL  string
	Name string
}

// issueRows lists a page of the issues of a place. Below a group it names their projects.
func (x *visit) issueRows(in issue.Place, f issue.Filter) (templ.Component, error) {
	list, err := x.Issues.List(x.r.Context(), x.as, in, f)
	if err != nil {
		return nil, err
	}
	return x.issuesOf(in.Project, list)
}

// issuesOf lists issues of a project, or of several where it is nil: then it names them.
func (x *visit) issuesOf(in *project.Project, list page.Page[issue.Issue]) (templ.Component, error) {
	ctx := x.r.Context()
	var of map[project.ID]*project.Project
	var err error
	if in == nil {
		ids := make([]project.ID, len(list.Items))
		for n := range list.Items {
			ids[n] = list.Items[n].ProjectID
		}
		if of, err = x.Projects.ByIDs(ctx, x.as, ids); err != nil {
			return nil, err
		}
	}
	var rows []issueRow
	var authors []userID
	for n := range list.Items {
		i := &list.Items[n]
		row := issueRow{i, "", i.IID.Reference()}
		switch p := of[i.ProjectID]; {
		case in != nil:
			row.URL = i.Type.URL(&at, in.FullPath, i.IID)
		case p != nil:
			row.URL, row.Name = i.Type.URL(&at, p.FullPath, i.IID), p.FullPath+row.Name
		default:
			continue // its project was removed meanwhile
		}
		rows, authors = append(rows, row), append(authors, i.AuthorID)
	}
	who, err := x.people(ctx, authors...)
	if err != nil {
		return nil, err
	}
	older, newer := around(x, &list)
	return issueList(rows, who, older, newer), nil
}

// requestRows lists a page of the merge requests of a project, or below a group where there is
// one.
func (x *visit) requestRows(p *project.Project, g *namespace.Group, f mergerequest.Filter) (templ.Component, error) {
	ctx := x.r.Context()
	var list *mergerequest.Page
	var err error
	if g != nil {
		list, err = x.Requests.ListInGroup(ctx, x.as, g.Subject(), f)
	} else {
		list, err = x.Requests.List(ctx, x.as, p, f)
	}
	if err != nil {
		return nil, err
	}
	var rows []requestRow
	var authors []userID
	for _, m := range list.Items {
		of := list.Projects[m.ProjectID]
		if of == nil {
			continue // it was removed meanwhile
		}
		row := requestRow{m, at.MergeRequest(of.FullPath, int64(m.IID)), "!" + itoa(int64(m.IID))}
		if g != nil {
			row.Name = of.FullPath + row.Name
		}
		rows, authors = append(rows, row), append(authors, m.AuthorID)
	}
	who, err := x.people(ctx, authors...)
	if err != nil {
		return nil, err
	}
	older, newer := around(x, &list.Page)
	return requestList(rows, who, older, newer), nil
}
