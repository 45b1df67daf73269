package accesstoken

import (
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Audit is what the audit trail records of it.
func (e Created) Audit() []change.Entry {
	return change.RecordTarget("", "{kind}_access_token_created", "Created {kind} access token with token_id: {id} with scopes: "+list(e.Row().Scopes()))
}

// Audit is what the audit trail records of it.
func (Revoked) Audit() []change.Entry {
	return change.RecordTarget("", "{kind}_access_token_deleted", "Revoked {kind} access token with token_id: {id}")
}

// Audit is what the audit trail records of it.
func (e DeployCreated) Audit() []change.Entry {
	return change.Record("deploy_token_created",
		"Created {kind} deploy token with name: {title} with token_id: {id} with scopes: "+list(e.Row().Scopes()))
}

// Audit is what the audit trail records of it.
func (e DeployDestroyed) Audit() []change.Entry {
	return change.Record("deploy_token_destroyed",
		"Destroyed {kind} deploy token with name: {title} with token_id: {id} with scopes: "+list(e.Row().Scopes()))
}

// list is a list of scopes as messages have it.
func list(scopes authz.Scopes) string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = `"` + string(s) + `"`
	}
	return "[" + strings.Join(words, ", ") + "]"
}
