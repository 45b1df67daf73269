// Package accesstoken keeps the access tokens of projects and groups: each acts as a
// bot of its own, which is a member there.
package accesstoken

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
	"tenon/internal/core/setting"
	"tenon/internal/core/token"
)

// Token is the access token of a place.
type Token struct {
	token.Token
	Level authz.Level `db:"access_level"` // of its bot there
}

// Input is what a token is made of. A day of expiry is needed unless the settings say
// otherwise.
type Input struct {
	token.Input
	Level authz.Level
}

// Created says that a place has a new token.
type Created struct{ change.Of[token.Token] }

// Revoked says that a place's token is of no use any more.
type Revoked struct{ change.Of[token.Token] }

// Deps is what a Service is made of.
type Deps struct {
	DB         *db.DB
	Policy     *authz.Policy
	Bus        *event.Bus
	Accounts   *account.Service
	Tokens     *token.Service
	Namespaces *namespace.Service
	Settings   *setting.Store
	Now        func() time.Time
}

// Service makes and ends the tokens of projects and groups.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

func kind(p authz.Place) token.Kind {
	if p.Group {
		return token.Group
	}
	return token.Project
}

// prefix begins the usernames of a place's bots.
func prefix(p authz.Place) string { return fmt.Sprintf("%s_%d_bot_", kind(p), p.ID) }

// Kind is the word for the place that a token is for, as messages have it.
func Kind(p authz.Place) string { return string(kind(p)) }

func missing(p authz.Place) error { return errs.Missing(Kind(p) + " Access Token") }

// requireRead checks that the actor may see tokens. Others learn with Unauthorized
// nothing, as the contract says for these calls.
func (s *Service) requireRead(ctx context.Context, as authz.Actor, p authz.Place) error {
	ability := authz.ReadProjectTokens
	if p.Group {
		ability = authz.ReadGroupTokens
	}
	return unauthorized(s.Policy.Require(ctx, as, ability, p.Subject))
}

func (s *Service) requireWrite(ctx context.Context, as authz.Actor, p authz.Place) error {
	ability := authz.AdminProjectTokens
	if p.Group {
		ability = authz.AdminGroupTokens
	}
	return s.Policy.Require(ctx, as, ability, p.Subject)
}

func unauthorized(err error) error {
	if errs.Is(err, errs.Forbidden) {
		return errs.New(errs.Unauthorized, "")
	}
	return err
}

const tables = "access_tokens t JOIN users u ON u.id = t.user_id JOIN members m ON m.user_id = t.user_id"

func columns() string { return db.Columns[token.Token]("t") + ", m.access_level" }

// where selects the tokens of a place: those of its bots that are members still.
func where(p authz.Place) db.Where {
	var w db.Where
	w.And("m.namespace_id = ?", p.Namespace)
	w.And("t.kind = ?", kind(p))
	w.And(`u.username LIKE ? ESCAPE '\'`, db.LikePattern(prefix(p))+"%")
	return w
}

// List returns the tokens of a place that a filter selects.
func (s *Service) List(ctx context.Context, as authz.Actor, p authz.Place, f token.Filter) (page.Page[Token], error) {
	if err := s.requireRead(ctx, as, p); err != nil {
		return page.Page[Token]{}, err
	}
	w := where(p)
	f.Select(&w, s.Now())
	list, err := page.Select[Token](ctx, s.DB, page.Query{Columns: columns(), From: tables, Where: w, Order: f.Order()}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list access tokens: %w", err)
	}
	for i := range list.Items {
		s.Tokens.Refresh(&list.Items[i].Token)
	}
	return list, nil
}

// Find returns one token of a place.
func (s *Service) Find(ctx context.Context, as authz.Actor, p authz.Place, id token.ID) (*Token, error) {
	if err := s.requireRead(ctx, as, p); err != nil {
		return nil, err
	}
	return s.find(ctx, p, id)
}

func (s *Service) find(ctx context.Context, p authz.Place, id token.ID) (*Token, error) {
	w := where(p)
	w.And("t.id = ?", id)
	t, err := db.Get[Token](ctx, s.DB, "SELECT "+columns()+" FROM "+tables+w.SQL(), w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, missing(p)
	}
	if err != nil {
		return nil, fmt.Errorf("find access token: %w", err)
	}
	s.Tokens.Refresh(&t.Token)
	return &t, nil
}

// Create makes a token with a bot. It may do no more than its maker: not a higher role,
// nor what only people may. The second result is the secret: it is shown once and not
// kept.
func (s *Service) Create(ctx context.Context, as authz.Actor, p authz.Place, in Input) (*Token, string, error) {
	err := s.requireWrite(ctx, as, p)
	if errs.Is(err, errs.Forbidden) && !p.Subject.Closed || err == nil && as.Bot {
		return nil, "", errs.Bad("User does not have permission to create " + Kind(p) + " access token")
	}
	if err != nil {
		return nil, "", err
	}
	own, err := s.Policy.Level(ctx, as, p.Subject)
	if err != nil {
		return nil, "", err
	}
	if !as.Admin && in.Level > own {
		return nil, "", errs.Bad("Access level of the token contains permissions not held by the creating user")
	}
	if !in.Level.Assignable() || in.Level < authz.Guest {
		return nil, "", errs.Bad("Access level is not included in the list")
	}
	if in.ExpiresOn == nil && s.Tokens.NeedsExpiry() {
		return nil, "", errs.Bad("expires_at is missing")
	}
	if in.Scopes.Has(authz.ScopeSudo, authz.ScopeAdminMode, authz.ScopeReadUser, authz.ScopeServicePing) {
		return nil, "", errs.Bad("Scopes can only contain available scopes")
	}
	if err := s.Tokens.CheckBotToken(&in.Input); err != nil {
		return nil, "", err
	}
	out, key := &Token{Level: in.Level}, ""
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		t, secret, err := s.Tokens.CreateBot(ctx, as, token.BotInput{Prefix: prefix(p), Kind: kind(p), Input: in.Input})
		if err != nil {
			return err
		}
		out.Token, key = *t, secret
		if err := s.Namespaces.AddBot(ctx, as, p, t.UserID, in.Level); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Created{change.About(as, s.Now(), p, t)})
	})
	if err != nil {
		return nil, "", fmt.Errorf("create access token: %w", err)
	}
	return out, key, nil
}

// Rotate replaces a token by a new one with the same rights and returns the new secret.
// day is its last day, nil for a week. No user rotates a token that may do more than they.
func (s *Service) Rotate(ctx context.Context, as authz.Actor, p authz.Place, id token.ID, day *string) (*Token, string, error) {
	old, err := s.mayChange(ctx, as, p, id)
	if err != nil {
		return nil, "", err
	}
	return s.rotate(ctx, as, p, old, day)
}

// RotateOwn is Rotate for the token that the actor signed on with.
func (s *Service) RotateOwn(ctx context.Context, as authz.Actor, p authz.Place, day *string) (*Token, string, error) {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnToken, authz.Subject{}); err != nil {
		return nil, "", err
	}
	old, err := s.find(ctx, p, token.ID(as.TokenID))
	if err != nil {
		return nil, "", err
	}
	return s.rotate(ctx, as, p, old, day)
}

func (s *Service) rotate(ctx context.Context, as authz.Actor, p authz.Place, old *Token, day *string) (*Token, string, error) {
	next, key, err := s.Tokens.RotateBotToken(ctx, as, &old.Token, day)
	if err != nil {
		return nil, "", err
	}
	// Not in one transaction with the rotation: where that finds a token used twice, it
	// revokes the whole family and fails.
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		return s.Bus.Publish(ctx, Created{change.About(as, s.Now(), p, next)})
	})
	if err != nil {
		return nil, "", fmt.Errorf("rotate access token: %w", err)
	}
	return &Token{Token: *next, Level: old.Level}, key, nil
}

// mayChange finds a token that the actor may end or replace.
func (s *Service) mayChange(ctx context.Context, as authz.Actor, p authz.Place, id token.ID) (*Token, error) {
	if err := s.requireWrite(ctx, as, p); err != nil {
		return nil, unauthorized(err)
	}
	own, err := s.Policy.Level(ctx, as, p.Subject)
	if err != nil {
		return nil, err
	}
	t, err := s.find(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if !as.Admin && t.Level > own {
		return nil, errs.New(errs.Unauthorized, "")
	}
	return t, nil
}

// Clear ends all tokens of a place that is deleted, with their bots, in the caller's
// transaction. It asks for no permission.
func (s *Service) Clear(ctx context.Context, as authz.Actor, p authz.Place) error {
	if err := s.Tokens.RetireBots(ctx, as, prefix(p)); err != nil {
		return fmt.Errorf("end access tokens: %w", err)
	}
	return nil
}

// Revoke ends a token together with its bot.
func (s *Service) Revoke(ctx context.Context, as authz.Actor, p authz.Place, id token.ID) error {
	t, err := s.mayChange(ctx, as, p, id)
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, s.DB, "SELECT updated_at FROM access_tokens WHERE id = ?", t.ID); err != nil {
			return err
		}
		as := as.Unconditional()
		if err := s.Tokens.RetireBot(ctx, as, t.UserID); err != nil {
			return err
		}
		if err := s.Namespaces.RemoveBot(ctx, as, p, t.UserID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Revoked{change.About(as, s.Now(), p, &t.Token)})
	})
	if err != nil {
		return fmt.Errorf("revoke access token: %w", err)
	}
	return nil
}
