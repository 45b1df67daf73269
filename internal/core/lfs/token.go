package lfs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/token"
)

// TokenLife is how long a grant may be used.
const TokenLife = 30 * time.Minute

// Grant is what a token permits, and which user: one operation with the objects of one
// project, or with one of them.
type Grant struct {
	Actor     authz.Actor
	ProjectID project.ID
	Operation Operation
	OID       string    // "" for all of the project's objects
	KeyID     sshkey.ID // of a user or project, that the actor signed on with; zero for none
}

const tokenPurpose = "lfs.grant"

// Token makes the token of a grant. What the grant says is not a secret; only the server
// can have made it.
func (s *Service) Token(g Grant) (string, error) {
	text, err := json.Marshal(g)
	if err != nil {
		return "", fmt.Errorf("encode grant: %w", err)
	}
	return s.Signer.Sign(tokenPurpose, string(text), s.Now().Add(TokenLife)), nil
}

// Redeem returns the grant of a token, with the actor as it is now: a user who was blocked
// since is Forbidden, and one who lost rights has them no more. Whatever is no token, or
// an old one, is Unauthorized, and so is one that was given for an access or deploy token,
// or for an SSH key, which is of no use any more.
func (s *Service) Redeem(ctx context.Context, text string) (Grant, error) {
	opened, err := s.Signer.Open(tokenPurpose, text, s.Now())
	if err != nil {
		return Grant{}, &errs.Error{Kind: errs.Unauthorized, Err: err}
	}
	var g Grant
	if err := json.Unmarshal([]byte(opened), &g); err != nil {
		return Grant{}, fmt.Errorf("decode grant: %w", err)
	}
	for _, id := range []int64{g.Actor.TokenID, g.Actor.Deploy.TokenID} {
		if id == 0 {
			continue
		}
		if good, err := s.Tokens.Good(ctx, token.ID(id)); err != nil {
			return Grant{}, err
		} else if !good {
			return Grant{}, errs.New(errs.Unauthorized, "")
		}
	}
	if g.KeyID != 0 {
		if good, err := s.Keys.Good(ctx, g.KeyID); err != nil {
			return Grant{}, fmt.Errorf("key of grant: %w", err)
		} else if !good {
			return Grant{}, errs.New(errs.Unauthorized, "")
		}
	}
	if !g.Actor.SignedIn() {
		return g, nil
	}
	now, err := s.Accounts.Admit(ctx, g.Actor.UserID)
	if errs.Is(err, errs.NotFound) {
		return Grant{}, errs.New(errs.Unauthorized, "")
	}
	if err != nil {
		return Grant{}, err
	}
	g.Actor.Username, g.Actor.External = now.Username, now.External
	g.Actor.Admin = g.Actor.Admin && now.Admin
	g.Actor.Auditor = g.Actor.Auditor && now.Auditor
	return g, nil
}
