package token

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Rotate replaces a token by a new one with the same rights and returns the new
// secret. day is its last day, nil for a week. A token that was revoked is a
// BadRequest; where it had been rotated before, another client holds it as well, and so
// all of its successors are revoked.
func (s *Service) Rotate(ctx context.Context, as authz.Actor, id ID, day *string) (*Token, string, error) {
	old, err := s.Find(ctx, as, id)
	if err != nil {
		return nil, "", err
	}
	return s.rotate(ctx, as, old, day)
}

// RotateOwn is Rotate for the token that the actor signed on with.
func (s *Service) RotateOwn(ctx context.Context, as authz.Actor, day *string) (*Token, string, error) {
	old, err := s.Own(ctx, as)
	if err != nil {
		return nil, "", err
	}
	return s.rotate(ctx, as, old, day)
}

func (s *Service) rotate(ctx context.Context, as authz.Actor, old *Token, day *string) (*Token, string, error) {
	if problem := s.checkExpiry(day); problem != "" {
		return nil, "", errs.Bad(problem)
	}
	if old.Revoked {
		return nil, "", s.reused(ctx, as, old)
	}
	next := s.token(old.Kind, old.UserID, old.Name, old.Scopes())
	family := old.family()
	next.Description, next.ExpiresOn, next.FamilyID = old.Description, day, &family
	if day == nil {
		next.ExpiresOn = s.lastDay(rotatedLife)
	}
	key := s.newSecret()
	lost := false
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		revoked, err := s.revoke(ctx, as, old)
		if err != nil {
			return err
		}
		if lost = !revoked; lost {
			return nil
		}
		kept, err := s.keep(ctx, as, next, key)
		next.ID = kept.ID
		return err
	})
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("rotate token: %w", err)
	case lost: // another request rotated it just now
		return nil, "", s.reused(ctx, as, old)
	}
	return &next, key, nil
}

var errAlreadyRevoked = errs.Bad("Token already revoked")

// reused answers a rotation of a revoked token.
func (s *Service) reused(ctx context.Context, as authz.Actor, t *Token) error {
	if err := s.revokeFamily(ctx, as, t.family(), t.ID); err != nil {
		return err
	}
	return errAlreadyRevoked
}

// RevokeReused revokes all successors of the revoked token with this secret. The
// transport calls it when a user signs on with such a token in order to rotate it.
func (s *Service) RevokeReused(ctx context.Context, key string) error {
	if key == "" || len(key) > secret.MaxToken {
		return nil
	}
	b, err := s.bearer(ctx, secret.Digest(key))
	if errs.Is(err, errs.Unauthorized) {
		return nil
	}
	if err != nil {
		return err
	}
	if !b.Revoked {
		return nil
	}
	as := authz.Actor{UserID: b.UserID, Username: b.user.Username, TokenID: int64(b.ID)}
	return s.revokeFamily(ctx, as, b.family(), b.ID)
}

// revokeFamily revokes what a token was rotated into: all younger tokens of its chain.
func (s *Service) revokeFamily(ctx context.Context, as authz.Actor, family, after ID) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		younger, err := db.Select[Token](ctx, s.DB, "SELECT "+db.Columns[Token]("t")+` FROM access_tokens t
			WHERE t.family_id = ? AND t.id > ? AND NOT t.revoked ORDER BY t.id`, family, after)
		if err != nil {
			return err
		}
		for i := range younger {
			if _, err := s.revoke(ctx, as, &younger[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("revoke token family: %w", err)
	}
	return nil
}

// revoke makes a token useless, in the caller's transaction, and says whether it was of
// use until now.
func (s *Service) revoke(ctx context.Context, as authz.Actor, t *Token) (bool, error) {
	row := db.Row{Table: "access_tokens", ID: t.ID, Now: s.Now, If: as.UnmodifiedAt}
	out, err := db.Update(ctx, s.DB, row, func(_ context.Context, t *Token) error {
		t.Revoked = true
		return nil
	})
	if errors.Is(err, db.ErrNotFound) || err == nil && !out.Any() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.DB.AfterCommit(ctx, func() { s.cache.evictToken(t.ID) })
	return true, s.Bus.Publish(ctx, Revoked{change.Updated(as, s.Now(), authz.Place{}, &out)})
}
