package token

import (
	"tenon/internal/core/change"
)

// Created is published when an access token was created, by rotation too.
type Created struct{ change.Of[Token] }

// Revoked is published when an access token was revoked.
type Revoked struct{ change.Of[Token] }

// About names it for events.
func (t Token) About() change.Subject {
	return change.Subject{Type: "PersonalAccessToken", ID: int64(t.ID)}
}

// About names it for events.
func (t DeployToken) About() change.Subject {
	return change.Subject{Type: "DeployToken", ID: int64(t.ID), Title: t.Name}
}
