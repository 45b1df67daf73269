package token

import (
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Created is published when an access token was created, by rotation too.
type Created struct {
	authz.Stamp

	Token Token
}

// Revoked is published when an access token was revoked.
type Revoked struct {
	authz.Stamp

	Token, Before Token
}

// About names it for events.
func (t Token) About() change.Subject {
	return change.Subject{Type: "PersonalAccessToken", ID: int64(t.ID)}
}

// About names it for events.
func (t DeployToken) About() change.Subject {
	return change.Subject{Type: "DeployToken", ID: int64(t.ID), Title: t.Name}
}

// Changed is the event in its generic form.
func (e Created) Changed() change.Fact {
	return change.View(e.Stamp, authz.Place{}, nil, &e.Token)
}

// Changed is the event in its generic form.
func (e Revoked) Changed() change.Fact {
	return change.View(e.Stamp, authz.Place{}, &e.Before, &e.Token)
}
