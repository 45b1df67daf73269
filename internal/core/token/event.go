package token

import "tenon/internal/core/authz"

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
