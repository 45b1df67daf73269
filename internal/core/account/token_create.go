package account

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
)

// Lives of tokens in days, where nobody says otherwise.
const (
	tokenLife   = 365
	rotatedLife = 7
)

// TokenInput is what an access token is made of.
type TokenInput struct {
	Name        string
	Description *string
	Scopes      authz.Scopes
	ExpiresOn   *string // YYYY-MM-DD; nil is the longest life there is
}

// CreateToken makes a personal access token for a user. Only administrators may. The
// second result is the secret: it is shown once and not kept.
func (s *Service) CreateToken(ctx context.Context, as authz.Actor, user authz.UserID, in TokenInput) (*Token, string, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminUsers, authz.Subject{}); err != nil {
		return nil, "", err
	}
	if _, err := s.load(ctx, "u.id = ?", user); err != nil {
		return nil, "", err
	}
	in.Name = strings.TrimSpace(in.Name)
	if err := s.checkToken(&in); err != nil {
		return nil, "", err
	}
	t := s.token(PersonalToken, user, in.Name, in.Scopes)
	t.Description, t.ExpiresOn = in.Description, in.ExpiresOn
	if t.ExpiresOn == nil {
		t.ExpiresOn = s.lastDay(tokenLife)
	}
	key := s.newSecret()
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		kept, err := s.keep(ctx, as, t, key)
		t.ID = kept.ID
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("create token: %w", err)
	}
	return &t, key, nil
}

func (s *Service) newSecret() string {
	return secret.NewToken(s.Settings.Current().PersonalAccessTokenPrefix)
}

// checkToken refuses what cannot be a token, in one sentence.
func (s *Service) checkToken(in *TokenInput) error {
	var wrong []string
	if in.Name == "" {
		wrong = append(wrong, "Name can't be blank")
	}
	if utf8.RuneCountInString(in.Name) > maxName {
		wrong = append(wrong, "Name is too long (maximum is 255 characters)")
	}
	if in.Description != nil && utf8.RuneCountInString(*in.Description) > maxName {
		wrong = append(wrong, "Description is too long (maximum is 255 characters)")
	}
	if len(in.Scopes) == 0 {
		wrong = append(wrong, "Scopes can't be blank")
	}
	all := authz.AllScopes()
	if slices.ContainsFunc(in.Scopes, func(scope authz.Scope) bool { return !slices.Contains(all, scope) }) {
		wrong = append(wrong, "Scopes can only contain available scopes")
	}
	if problem := s.checkExpiry(in.ExpiresOn); problem != "" {
		wrong = append(wrong, problem)
	}
	if len(wrong) == 0 {
		return nil
	}
	return errs.New(errs.Unprocessable, sentence(wrong))
}

// checkExpiry says what is wrong with a last day, "" where nothing is.
func (s *Service) checkExpiry(day *string) string {
	if day == nil {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, *day); err != nil {
		return "Expires at is invalid"
	}
	if last := s.lastDay(tokenLife); *day > *last {
		return "Expires at must be before " + *last
	}
	return ""
}

// lastDay is the day so many days from now, or earlier where the settings allow tokens
// a shorter life.
func (s *Service) lastDay(days int) *string {
	if most := s.Settings.Current().MaxPersonalAccessTokenLifetime; most != nil && *most > 0 {
		days = min(days, *most)
	}
	day := s.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly)
	return &day
}

// sentence joins parts as English does.
func sentence(parts []string) string {
	switch n := len(parts); n {
	case 1:
		return parts[0]
	case 2:
		return parts[0] + " and " + parts[1]
	default:
		return strings.Join(parts[:n-1], ", ") + ", and " + parts[n-1]
	}
}

// RotateToken replaces a token by a new one with the same rights and gives the new
// secret. day is its last day, nil for a week. A token that was revoked is a
// BadRequest; where it had been rotated before, somebody else holds it as well, and so
// all of its successors are revoked.
func (s *Service) RotateToken(ctx context.Context, as authz.Actor, id TokenID, day *string) (*Token, string, error) {
	old, err := s.FindToken(ctx, as, id)
	if err != nil {
		return nil, "", err
	}
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
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		n, err := s.revoke(ctx, as, old)
		if err != nil {
			return err
		}
		if lost = n == 0; lost {
			return nil
		}
		kept, err := s.keep(ctx, as, next, key)
		next.ID = kept.ID
		return err
	})
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("rotate token: %w", err)
	case lost: // somebody else rotated it just now
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
// transport calls it when somebody signs on with such a token in order to rotate it.
func (s *Service) RevokeReused(ctx context.Context, key string) error {
	if key == "" || len(key) > maxSecret {
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
func (s *Service) revokeFamily(ctx context.Context, as authz.Actor, family, after TokenID) error {
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
func (s *Service) revoke(ctx context.Context, as authz.Actor, t *Token) (int64, error) {
	n, err := s.DB.Exec(ctx, "UPDATE access_tokens SET revoked = ?, updated_at = ? WHERE id = ? AND NOT revoked", true, s.Now(), t.ID)
	if err != nil || n == 0 {
		return n, err
	}
	s.DB.AfterCommit(ctx, func() { s.cache.evictToken(t.ID) })
	return n, s.Bus.Publish(ctx, TokenRevoked{TokenID: t.ID, Kind: t.Kind, Name: t.Name, UserID: t.UserID, By: as})
}
