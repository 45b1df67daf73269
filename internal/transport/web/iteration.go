package web

import (
	"github.com/a-h/templ"

	"tenon/internal/core/filter"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/namespace"
)

// iterations begins a page about iterations of the group that the path names.
func (x *visit) iterations() (*namespace.Group, error) {
	g, err := x.group("Iterations")
	x.sheet.API += "/iterations"
	return g, err
}

func (x *visit) getIterations() (templ.Component, error) {
	g, err := x.iterations()
	if err != nil {
		return nil, err
	}
	all := []string{"opened", "closed", "all"}
	state := x.state(all...)
	f := iteration.Filter{State: iteration.State(state), Range: x.part()}
	if state == "all" {
		f.State = ""
	}
	list, err := x.Iterations.List(x.r.Context(), x.as, g.Place(), f)
	if err != nil {
		return nil, err
	}
	x.title("Iterations")
	older, newer := around(x, &list)
	return templ.Join(states(x.choose(at.Iterations(g.FullPath), state, all...)), iterationList(list.Items, older, newer)), nil
}

func (x *visit) getIteration() (templ.Component, error) {
	g, err := x.iterations()
	if err != nil {
		return nil, err
	}
	iid, err := x.arg("iid")
	if err != nil {
		return nil, err
	}
	i, err := x.Iterations.FindByIID(x.r.Context(), x.as, g.Place(), iteration.IID(iid))
	if err != nil {
		return nil, err
	}
	x.title(iterationTitle(i))
	rows, err := x.issueRows(g.Place(), issue.Filter{Iteration: filter.Iteration{IDs: []iteration.ID{i.ID}}, Range: x.part()})
	if err != nil {
		return nil, err
	}
	text, err := x.text(ofGroup(g), i.Description)
	if err != nil {
		return nil, err
	}
	return templ.Join(iterationPage(i, text), rows), nil
}

// iterationTitle names an iteration, by its days where it has no title.
func iterationTitle(i *iteration.Iteration) string {
	if i.Title != nil && *i.Title != "" {
		return *i.Title
	}
	return i.StartDate + " to " + i.DueDate
}
