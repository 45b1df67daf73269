package web

import (
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// requestForm is what is in the form of a merge request.
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
		return signFirst(x.here(), "to create a merge request"), nil
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
		Title: x.field("merge_request[title]"), Description: strings.ReplaceAll(x.field("merge_request[description]"), "\r\n", "\n"), // as browsers end lines
		Remove: x.field("merge_request[force_remove_source_branch]") == "1",
	}
	m, target, err := x.MergeRequests.Create(x.r.Context(), x.as, p, mergerequest.Input{
		SourceBranch: f.Source, TargetBranch: f.Target, Title: f.Title, Description: &f.Description, RemoveSource: &f.Remove, Existing: true,
	})
	switch {
	case err == nil:
		return x.goTo(at.MergeRequest(target.FullPath, int64(m.IID)))
	case x.wrong(err):
		return x.newRequestPage(p, f)
	}
	return nil, err
}
