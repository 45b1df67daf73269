package runner

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// TokenPrefix begins the authentication tokens of runners that were not registered.
const TokenPrefix = "glrt-"

// registrationPrefix begins registration tokens of projects and groups. That of the instance
// has no prefix.
const registrationPrefix = "GR1348941"

// registration is a token that registers runners.
type registration struct {
	ID          int64              `db:"id"`
	Type        Type               `db:"runner_type"`
	NamespaceID *authz.NamespaceID `db:"namespace_id"`
	Digest      string             `db:"digest"`
	Sealed      string             `db:"sealed"`
	CreatedAt   db.Time            `db:"created_at"`
	UpdatedAt   db.Time            `db:"updated_at"`
}

// place names the row for the seal.
func (r *registration) place() string {
	if r.NamespaceID == nil {
		return "registration_tokens.sealed:instance"
	}
	return fmt.Sprintf("registration_tokens.sealed:%d", *r.NamespaceID)
}

// newRegistration makes a token of a place that is not stored yet.
func (s *Service) newRegistration(kind Type, of *authz.NamespaceID) (*registration, string) {
	prefix, now := registrationPrefix, db.At(s.Now())
	if of == nil {
		prefix = ""
	}
	token := secret.NewToken(prefix)
	r := &registration{Type: kind, NamespaceID: of, Digest: secret.Digest(token), CreatedAt: now, UpdatedAt: now}
	r.Sealed = s.Box.Seal(r.place(), token)
	return r, token
}

// RegistrationTokens returns the registration tokens of those of the places, by namespace, that
// the actor administrates. It makes those that are missing.
func (s *Service) RegistrationTokens(ctx context.Context, as authz.Actor, places []authz.Place) (map[authz.NamespaceID]string, error) {
	var of []authz.NamespaceID
	kinds := map[authz.NamespaceID]Type{}
	for _, p := range places {
		ability, kind := authz.RegisterProjectRunner, ProjectType
		if p.Group {
			ability, kind = authz.RegisterGroupRunner, GroupType
		}
		may, err := s.Policy.Can(ctx, as, ability, p.Subject)
		if err != nil {
			return nil, err
		}
		// A token that only reads does not get one with which runners are made.
		if may && (as.Scopes == nil || as.Scopes.Has(authz.ScopeAPI)) {
			of, kinds[p.Namespace] = append(of, p.Namespace), kind
		}
	}
	out, err := s.registrations(ctx, of)
	if err != nil || len(out) == len(kinds) {
		return out, err
	}
	for _, id := range of {
		if out[id] != "" {
			continue
		}
		row, token := s.newRegistration(kinds[id], &id)
		n, err := db.InsertRow(ctx, s.DB, "registration_tokens", row, "ON CONFLICT DO NOTHING")
		if err != nil {
			return nil, fmt.Errorf("make registration token: %w", err)
		}
		if n == 1 {
			out[id] = token
		}
	}
	if len(out) == len(kinds) {
		return out, nil
	}
	return s.registrations(ctx, of) // another request was first
}

// registrations reads the tokens of namespaces that have one. One that was sealed with another
// key counts as missing until it is reset.
func (s *Service) registrations(ctx context.Context, of []authz.NamespaceID) (map[authz.NamespaceID]string, error) {
	out := make(map[authz.NamespaceID]string, len(of))
	if len(of) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("t.namespace_id", of)
	rows, err := db.Select[registration](ctx, s.DB, "SELECT "+db.Columns[registration]("t")+" FROM registration_tokens t"+w.SQL()+" ORDER BY t.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read registration tokens: %w", err)
	}
	for i := range rows {
		if token, ok := s.Box.Try(rows[i].place(), rows[i].Sealed); ok {
			out[*rows[i].NamespaceID] = token
		}
	}
	return out, nil
}

// RegistrationReset is published when the registration token of a group, a project or the instance was replaced.
type RegistrationReset struct {
	authz.Stamp

	Type  Type
	Place authz.Place
}

// ResetRegistration replaces the registration token of a group, a project or the instance.
func (s *Service) ResetRegistration(ctx context.Context, as authz.Actor, at authz.Place) (string, error) {
	kind := TypeIn(at)
	ability, of := at.Ability(authz.RegisterProjectRunner, authz.RegisterGroupRunner), &at.Namespace
	if at.IsInstance() {
		ability, of = authz.AdminInstanceRunners, nil
	}
	if err := s.Policy.Require(ctx, as, ability, at.Subject); err != nil {
		return "", err
	}
	var token string
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var row *registration
		row, token = s.newRegistration(kind, of)
		var w db.Where
		w.And("runner_type = ?", kind)
		if of == nil {
			w.Raw("namespace_id IS NULL")
		} else {
			w.And("namespace_id = ?", *of)
		}
		if _, err := s.DB.Exec(ctx, "DELETE FROM registration_tokens"+w.SQL(), w.Args()...); err != nil {
			return err
		}
		if _, err := db.InsertRow(ctx, s.DB, "registration_tokens", row, ""); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, RegistrationReset{Stamp: as.Stamp(s.Now()), Type: kind, Place: at})
	})
	if db.Duplicate(err, "registration_tokens") {
		return "", errs.New(errs.Conflict, "")
	}
	if err != nil {
		return "", fmt.Errorf("reset registration token: %w", err)
	}
	return token, nil
}

// renew gives a runner another authentication token.
func (s *Service) renew(r *Runner) string {
	prefix := s.Settings.Current().TokenPrefix(TokenPrefix)
	if r.Registered {
		prefix = ""
	}
	token := secret.NewToken(prefix)
	r.Digest, r.TokenExpiresAt = secret.Digest(token), s.expiry(r.Type)
	return token
}

// expiry is when a token that is made now ends, as the settings say; nil is never.
func (s *Service) expiry(kind Type) *db.Time {
	set := s.Settings.Current()
	seconds := map[Type]*int{
		InstanceType: set.RunnerTokenExpirationInterval, GroupType: set.GroupRunnerTokenExpirationInterval, ProjectType: set.ProjectRunnerTokenExpirationInterval,
	}[kind]
	if seconds == nil {
		return nil
	}
	at := db.At(s.Now().Add(secondsOf(*seconds)))
	return &at
}

// ResetToken gives a runner another authentication token. The second result is the secret: it
// is shown once and not kept.
func (s *Service) ResetToken(ctx context.Context, as authz.Actor, id ID) (*Runner, string, error) {
	if _, err := s.Owned(ctx, as, id); err != nil {
		return nil, "", err
	}
	return s.reset(ctx, as, id)
}

// ResetOwnToken is ResetToken for a program that has the token. It asks for no permission, which
// the token is; by is who asked, for events.
func (s *Service) ResetOwnToken(ctx context.Context, by authz.Actor, token string) (*Runner, string, error) {
	r, err := s.Authenticate(ctx, token)
	if err != nil {
		return nil, "", err
	}
	return s.reset(ctx, by, r.ID)
}

func (s *Service) reset(ctx context.Context, as authz.Actor, id ID) (*Runner, string, error) {
	var out db.Change[Runner]
	token := ""
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = s.update(ctx, as, id, func(r *Runner) error {
			token = s.renew(r)
			return nil
		})
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, TokenReset{change.Updated(as, s.Now(), out.After.place(), &out)})
	})
	if err != nil {
		return nil, "", errs.Wrap(err, "reset authentication token")
	}
	return &out.After, token, nil
}
