package protection

import (
	"tenon/internal/base/page"
	"tenon/internal/core/change"
)

// BranchProtected is published when branches get a rule.
type BranchProtected struct{ change.Of[Rule] }

// BranchProtectionUpdated is published when the rule of branches changes.
type BranchProtectionUpdated struct{ change.Of[Rule] }

// BranchUnprotected is published when the rule of branches is taken away.
type BranchUnprotected struct{ change.Of[Rule] }

// TagProtected is published when tags get a rule.
type TagProtected struct{ TagEvent }

// TagUnprotected is published when the rule of tags is taken away.
type TagUnprotected struct{ TagEvent }

// byName is the order of rules.
var byName = page.Order{page.Text("name", ""), page.ID("")}

// About names it for events.
func (r Rule) About() change.Subject {
	return change.Subject{Type: "ProtectedBranch", ID: int64(r.ID), Title: r.Name}
}

// TagEvent says what happened to a rule of tags.
type TagEvent struct{ change.Of[Rule] }

// Changed is the event in its generic form.
func (e TagEvent) Changed() change.Fact {
	f := e.Of.Changed()
	f.Subject.Type = "ProtectedTag"
	return f
}
