package authz

import (
	"context"
	"slices"

	"tenon/internal/base/db"
)

// External decides, beside the rules, which actors reach which projects, by the classification labels of the projects.
type External interface {
	// Asks reports whether the actor's access to projects is decided here.
	Asks(as Actor) bool
	// Grants reports whether the actor may reach a project with these settings.
	Grants(ctx context.Context, as Actor, settings string) bool
	// Refuses says why the actor may not give a project this label, "" where it may. "" is the label of projects without one.
	Refuses(ctx context.Context, as Actor, label string) string
	// Granted returns the labels that the actor is known to reach, and the label of projects without one.
	Granted(as Actor) (labels []string, fallback string)
}

// LabelSetting is the name of a project's classification label in its settings.
const LabelSetting = "external_authorization_classification_label"

// decides reports whether External decides about the actor.
func (p *Policy) decides(as Actor) bool { return p.External != nil && p.External.Asks(as) }

// RefusesLabel says why External does not let the actor give a project a label, "" where it does.
func (p *Policy) RefusesLabel(ctx context.Context, as Actor, label *string) string {
	if p.External == nil {
		return ""
	}
	if label == nil {
		label = new("")
	}
	return p.External.Refuses(ctx, as, *label)
}

// Listing is the policy for lists of projects: they have those too to which External denies access.
func (p *Policy) Listing() *Policy {
	if p.External == nil {
		return p
	}
	return &Policy{db: p.db, now: p.now, addresses: p.addresses, OnCheck: p.OnCheck, CloseProjects: p.CloseProjects, Everywhere: p.Everywhere}
}

// deniedSQL returns a condition that holds for the namespace in column where it is of a project that External is not known to grant to the
// actor: a statement cannot ask.
func (p *Policy) deniedSQL(as Actor, column string) (cond string, args []any) {
	labels, fallback := p.External.Granted(as)
	cond = "EXISTS (SELECT 1 FROM projects xp WHERE xp.namespace_id = " + column
	if len(labels) > 0 {
		marks, list := db.Marks(labels)
		cond += " AND COALESCE(NULLIF(" + p.db.Dialect().JSONText("xp.settings", LabelSetting) + ", ''), ?) NOT IN (" + marks + ")"
		args = slices.Concat([]any{fallback}, list)
	}
	return cond + ")", args
}
