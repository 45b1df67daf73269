package featureflag

import (
	"slices"
	"strings"

	"tenon/internal/core/change"
)

// Audit is what the audit trail records of it.
func (e Created) Audit() []change.Entry {
	message := "Created feature flag {title}"
	var details []any
	if d := e.After.Description; d != nil && *d != "" {
		message, details = message+` with description "{description}"`, []any{"description", *d}
	}
	if words := e.After.words(nil); words != "" {
		message, details = message+". {strategies}", append(details, "strategies", words)
	}
	return change.Record("feature_flag_created", message, details...)
}

// Audit is what the audit trail records of it.
func (e Updated) Audit() []change.Entry {
	var changes []string
	add := func(label string, was, is any) {
		if from, to := change.Text(was), change.Text(is); from != to {
			changes = append(changes, "Updated "+label+` from "`+from+`" to "`+to+`".`)
		}
	}
	add("name", e.Before.Name, e.After.Name)
	add("description", e.Before.Description, e.After.Description)
	add("active", e.Before.Active, e.After.Active)
	for i := range e.Before.Strategies {
		if t := &e.Before.Strategies[i]; !slices.ContainsFunc(e.After.Strategies, func(a Strategy) bool { return a.ID == t.ID }) {
			changes = append(changes, `Deleted strategy "`+t.Name+`".`)
		}
	}
	if words := e.After.words(e.Before); words != "" {
		changes = append(changes, words)
	}
	return change.Record("feature_flag_updated", "Updated feature flag {title}. {changes}", "changes", strings.Join(changes, " "))
}

// Audit is what the audit trail records of it.
func (Deleted) Audit() []change.Entry {
	return change.Record("feature_flag_deleted", "Deleted feature flag {title}.")
}

// words are the strategies that a flag did not have like this before, in sentences.
func (f *Flag) words(before *Flag) string {
	var out []string
	for i := range f.Strategies {
		t := &f.Strategies[i]
		verb := "Created"
		if before != nil {
			if n := slices.IndexFunc(before.Strategies, func(b Strategy) bool { return b.ID == t.ID }); n >= 0 {
				if before.Strategies[n].text() == t.text() {
					continue
				}
				verb = "Updated"
			}
		}
		out = append(out, verb+` strategy `+t.text()+".")
	}
	return strings.Join(out, " ")
}

// text is a strategy in words.
func (t *Strategy) text() string {
	scopes := make([]string, len(t.Scopes))
	for i, c := range t.Scopes {
		scopes[i] = `"` + c.Environment + `"`
	}
	out := `"` + t.Name + `" with parameters ` + t.Parameters + ` and scopes ` + strings.Join(scopes, ", ")
	if t.UserList != nil {
		out += ` for user list "` + t.UserList.Name + `"`
	}
	return out
}
