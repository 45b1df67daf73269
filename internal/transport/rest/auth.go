package rest

import (
	"context"
	"errors"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

// Authenticate turns what a caller presented into an actor. It is the kit's Authenticator.
func (s *Server) Authenticate(ctx context.Context, c api.Credential) (authz.Actor, error) {
	if c.How != api.PrivateToken && c.How != api.Bearer {
		return authz.Actor{}, errs.New(errs.Unauthorized, "")
	}
	as, _, err := s.Accounts.Authenticate(ctx, c.Secret)
	switch {
	case errors.Is(err, account.ErrTokenExpired):
		return authz.Actor{}, api.TokenExpired
	case errors.Is(err, account.ErrTokenImpersonation):
		return authz.Actor{}, api.ImpersonationOff
	case errors.Is(err, account.ErrTokenRevoked):
		if strings.HasSuffix(c.Route.Info().Path, "/rotate") {
			if err := s.Accounts.RevokeReused(ctx, c.Secret); err != nil {
				return authz.Actor{}, err
			}
		}
		return authz.Actor{}, api.TokenRevoked
	}
	return as, err
}

// FindUser finds whom an administrator wants to act for, by number or username.
func (s *Server) FindUser(ctx context.Context, idOrName string) (authz.Actor, error) {
	return s.Accounts.StandIn(ctx, idOrName)
}
