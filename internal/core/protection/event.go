package protection

import (
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// Event says what happened to a rule.
type Event struct {
	authz.Stamp

	ProjectID   project.ID
	ProjectName string
	FullPath    string
	Rule        Rule
}

// BranchProtected is published when branches get a rule.
type BranchProtected struct{ Event }

// BranchProtectionUpdated is published when the rule of branches changes.
type BranchProtectionUpdated struct {
	Event
	Before Rule
}

// BranchUnprotected is published when the rule of branches is taken away.
type BranchUnprotected struct{ Event }

// TagProtected is published when tags get a rule.
type TagProtected struct{ Event }

// TagUnprotected is published when the rule of tags is taken away.
type TagUnprotected struct{ Event }

func (s *Service) event(as authz.Actor, p *project.Project, rule *Rule) Event {
	return Event{ProjectID: p.ID, ProjectName: p.Name, FullPath: p.FullPath, Stamp: as.Stamp(s.Now()), Rule: *rule}
}

// byName is the order of rules.
var byName = page.Order{page.Text("name", ""), page.ID("")}

// About names it for events.
func (r Rule) About() change.Subject {
	return change.Subject{Type: "ProtectedBranch", ID: int64(r.ID), Title: r.Name}
}

func (e Event) place() authz.Place {
	return authz.Place{ID: int64(e.ProjectID), Name: e.ProjectName, Path: e.FullPath}
}

// Changed is the event in its generic form.
func (e BranchProtected) Changed() change.Fact {
	return change.View(e.Stamp, e.place(), nil, &e.Rule)
}

// Changed is the event in its generic form.
func (e BranchProtectionUpdated) Changed() change.Fact {
	return change.View(e.Stamp, e.place(), &e.Before, &e.Rule)
}

// Changed is the event in its generic form.
func (e BranchUnprotected) Changed() change.Fact {
	return change.View(e.Stamp, e.place(), &e.Rule, nil)
}

// Changed is the event in its generic form.
func (e TagProtected) Changed() change.Fact {
	f := change.View(e.Stamp, e.place(), nil, &e.Rule)
	f.Subject.Type = "ProtectedTag"
	return f
}

// Changed is the event in its generic form.
func (e TagUnprotected) Changed() change.Fact {
	f := change.View(e.Stamp, e.place(), &e.Rule, nil)
	f.Subject.Type = "ProtectedTag"
	return f
}
