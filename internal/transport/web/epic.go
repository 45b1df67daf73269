package web

import (
	"github.com/a-h/templ"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// epics begins a page about epics of the group that the path names.
func (x *visit) epics() (*namespace.Group, error) {
	g, err := x.group("Epics")
	x.sheet.API += "/epics"
	return g, err
}

func (x *visit) getEpics() (templ.Component, error) {
	g, err := x.epics()
	if err != nil {
		return nil, err
	}
	all := []string{"opened", "closed", "all"}
	state := x.state(all...)
	f := epic.Filter{State: epic.State(state), Selection: epic.Selection{Descendants: true}, Range: x.part()}
	if state == "all" {
		f.State = ""
	}
	list, err := x.Epics.List(x.r.Context(), x.as, g, f)
	if err != nil {
		return nil, err
	}
	var authors []userID
	for i := range list.Items {
		authors = append(authors, list.Items[i].AuthorID)
	}
	who, err := x.people(x.r.Context(), authors...)
	if err != nil {
		return nil, err
	}
	x.title("Epics")
	older, newer := around(x, &list)
	return templ.Join(states(x.choose(at.Epics(g.FullPath), state, all...)), epicList(list.Items, who, older, newer)), nil
}

// epic finds the epic that the path names.
func (x *visit) epic() (*namespace.Group, *epic.Epic, error) {
	g, err := x.epics()
	if err != nil {
		return nil, nil, err
	}
	iid, err := x.arg("iid")
	if err != nil {
		return nil, nil, err
	}
	e, err := x.Epics.Find(x.r.Context(), x.as, g, epic.IID(iid))
	return g, e, err
}

// The three lists on the page of an epic.
const (
	showNotes    = "Activity"
	showChildren = "Child epics"
)

func (x *visit) getEpic() (templ.Component, error) {
	g, e, err := x.epic()
	if err != nil {
		return nil, err
	}
	x.title(e.Title)
	x.sheet.Badge = string(e.State)
	if e.State == epic.StateOpened {
		x.sheet.BadgeKind = "good"
	}
	x.sheet.API += "/" + itoa(int64(e.IID))
	here := at.Epic(g.FullPath, int64(e.IID))
	shown := map[string]string{"issues": showIssues, "epics": showChildren}[x.query("show")]
	if shown == "" {
		shown = showNotes
	}
	rows, err := x.inEpic(g, e, shown)
	if err != nil {
		return nil, err
	}
	who, err := x.people(x.r.Context(), e.AuthorID)
	if err != nil {
		return nil, err
	}
	lists := tabs(shown, link{showNotes, here}, link{showIssues, here + "?show=issues"}, link{showChildren, here + "?show=epics"})
	text, err := x.text(ofGroup(g), e.Description)
	if err != nil {
		return nil, err
	}
	return templ.Join(epicPage(e, who, text), states(lists), rows), nil
}

// inEpic lists the comments, issues or children of an epic.
func (x *visit) inEpic(g *namespace.Group, e *epic.Epic, shown string) (templ.Component, error) {
	ctx := x.r.Context()
	switch shown {
	case showIssues:
		list, err := x.Epics.Issues(ctx, x.as, g, e.IID, x.part())
		if err != nil {
			return nil, err
		}
		return x.issuesOf(authz.Place{}, list)
	case showChildren:
		list, err := x.Epics.Children(ctx, x.as, g, e.IID)
		if err != nil {
			return nil, err
		}
		var authors []userID
		for i := range list {
			authors = append(authors, list[i].AuthorID)
		}
		who, err := x.people(ctx, authors...)
		if err != nil {
			return nil, err
		}
		return epicList(list, who, "", ""), nil
	}
	on := note.On{Place: g.Place(), Kind: noteable.Epic, Key: noteable.Key{IID: int64(e.IID)}}
	_, talk, ids, err := x.said(on, ofGroup(g), nil)
	if err != nil {
		return nil, err
	}
	who, err := x.people(ctx, ids...)
	if err != nil {
		return nil, err
	}
	return notes(talk, who), nil
}

// getEpicForm leads to the epic: there is no form.
func (x *visit) getEpicForm() (templ.Component, error) {
	g, e, err := x.epic()
	if err != nil {
		return nil, err
	}
	return x.goTo(at.Epic(g.FullPath, int64(e.IID)))
}
