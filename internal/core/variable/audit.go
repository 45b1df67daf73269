package variable

import "tenon/internal/core/change"

// Audit is what the audit trail records of it.
func (Created) Audit() []change.Entry {
	return change.Record("ci_{scope}variable_created", "Added ci variable", "add", "ci_variable")
}

// Audit has an entry for each attribute that changed, and no value.
func (e Updated) Audit() []change.Entry {
	const event = "ci_{scope}variable_updated"
	out := change.RecordColumns(e.Changed(), event,
		[2]string{"protected", "variable protection"}, [2]string{"masked", "variable masking"},
		[2]string{"environment_scope", "environment scope"}, [2]string{"variable_type", "variable type"})
	if e.ValueChanged {
		out = append(out, change.Record(event, "Changed variable value", "change", "variable value")...)
	}
	return out
}

// Audit is what the audit trail records of it.
func (Deleted) Audit() []change.Entry {
	return change.Record("ci_{scope}variable_deleted", "Removed ci variable", "remove", "ci_variable")
}
