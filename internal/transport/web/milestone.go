package web

import (
	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// planned is the project or group whose milestones a page is about.
type planned struct{ authz.Place }

func (p planned) texts() place {
	if of := project.Of(p.Place); of != nil {
		return ofProject(of)
	}
	return ofGroup(namespace.Of(p.Place))
}

// list is where the milestones are listed.
func (p planned) list() string {
	if p.Group {
		return at.GroupMilestones(p.Path)
	}
	return at.ProjectMilestones(p.Path)
}

// one is the page of a milestone.
func (p planned) one(m *milestone.Milestone) string {
	if p.Group {
		return at.GroupMilestone(p.Path, int64(m.IID))
	}
	return at.ProjectMilestone(p.Path, int64(m.IID))
}

// planned begins a page about milestones of what the path names.
func (x *visit) planned() (in planned, err error) {
	if x.args["group"] != "" {
		var g *namespace.Group
		if g, err = x.group("Milestones"); err == nil {
			in.Place = g.Place()
		}
	} else {
		var p *project.Project
		if p, err = x.project("Milestones"); err == nil {
			in.Place = p.Place()
		}
	}
	x.sheet.API += "/milestones"
	return in, err
}

func (x *visit) getMilestones() (templ.Component, error) {
	in, err := x.planned()
	if err != nil {
		return nil, err
	}
	all := []string{"active", "closed", "all"}
	state := x.state(all...)
	f := milestone.Filter{State: milestone.State(state), Range: x.part()}
	if state == "all" {
		f.State = ""
	}
	list, err := x.Milestones.List(x.r.Context(), x.as, in.Place, f)
	if err != nil {
		return nil, err
	}
	x.title("Milestones")
	older, newer := around(x, &list)
	return templ.Join(states(x.choose(in.list(), state, all...)), milestoneList(in, list.Items, older, newer)), nil
}

// The two lists on the page of a milestone.
const (
	showIssues   = "Issues"
	showRequests = "Merge requests"
)

func (x *visit) getMilestone() (templ.Component, error) {
	in, err := x.planned()
	if err != nil {
		return nil, err
	}
	iid, err := x.arg("iid")
	if err != nil {
		return nil, err
	}
	m, err := x.Milestones.FindByIID(x.r.Context(), x.as, in.Place, milestone.IID(iid))
	if err != nil {
		return nil, err
	}
	x.title(m.Title)
	x.sheet.Badge = string(m.State)
	if m.State == milestone.Active {
		x.sheet.BadgeKind = "good"
	}
	x.sheet.API += "/" + itoa(int64(m.ID))
	text, err := x.text(in.texts(), m.Description)
	if err != nil {
		return nil, err
	}
	page, shown := in.one(m), showIssues
	if x.query("show") == "merge_requests" {
		shown = showRequests
	}
	rows, err := x.inMilestone(in, m, shown)
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Unauthorized) || errs.Is(err, errs.Forbidden) {
		rows, err = notForYou(), nil // who sees a milestone need not see what it is of
	}
	if err != nil {
		return nil, err
	}
	lists := tabs(shown, link{showIssues, page}, link{showRequests, page + "?show=merge_requests"})
	return templ.Join(milestonePage(m, text), states(lists), rows), nil
}

// inMilestone lists the issues or merge requests of a milestone.
func (x *visit) inMilestone(in planned, m *milestone.Milestone, shown string) (templ.Component, error) {
	of := filter.Milestone{ID: m.ID}
	if shown == showRequests {
		return x.requestRows(in.Place, mergerequest.Filter{Milestone: of, Range: x.part()})
	}
	return x.issueRows(in.Place, issue.Filter{Milestone: of, Range: x.part()})
}
