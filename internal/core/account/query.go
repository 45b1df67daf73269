package account

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

const (
	summaryColumns = `u.id, u.username, u.name, u.state, u.user_type, u.admin, u.avatar, u.public_email, u.commit_email,
		COALESCE(e.email, '') AS email, u.created_at`

	derivedColumns = `COALESCE(e.email, '') AS email, e.confirmed_at,
		(SELECT COUNT(*) FROM projects p WHERE p.parent_id = u.namespace_id) AS personal_projects`

	usersTables = `users u LEFT JOIN emails e ON e.user_id = u.id AND e.is_primary`
	fromUsers   = " FROM " + usersTables
)

// userColumns lists all of User, of users u joined with its primary address e.
func userColumns() string { return db.Columns[User]("u") + ", " + derivedColumns }

// mayRead asks for the right to read users at all. A user who is not signed in is told so
// with the words of the contract, not asked to sign on.
func (s *Service) mayRead(ctx context.Context, as authz.Actor) error {
	err := s.Policy.Require(ctx, as, authz.ReadUser, authz.Subject{})
	if errs.Is(err, errs.Unauthorized) {
		return errs.Denied("Not authorized!")
	}
	return err
}

// Hidden reports whether users do not exist for the actor: no user who is not signed in may
// find out who there is where the settings forbid public things.
func (s *Service) Hidden(as authz.Actor) bool {
	return !as.SignedIn() && !as.Admin && slices.Contains(s.Settings.Current().RestrictedVisibilityLevels, authz.Public.String())
}

// load reads one user or answers that there is none.
func (s *Service) load(ctx context.Context, condition string, args ...any) (*User, error) {
	u, err := db.Get[User](ctx, s.DB, "SELECT "+userColumns()+fromUsers+" WHERE "+condition, args...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("User")
	}
	if err != nil {
		return nil, fmt.Errorf("read user: %w", err)
	}
	return &u, nil
}

func (s *Service) summaries(ctx context.Context, ids []authz.UserID) ([]User, error) {
	var out []User
	for chunk := range slices.Chunk(ids, db.MaxArgs) {
		marks, args := db.Marks(chunk)
		rows, err := db.Select[User](ctx, s.DB, "SELECT "+summaryColumns+fromUsers+" WHERE u.id IN ("+marks+")", args...)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// Identities returns the users' accounts with other providers, for administrators and
// each user's own answers.
func (s *Service) Identities(ctx context.Context, ids []authz.UserID) (map[authz.UserID][]Identity, error) {
	out := make(map[authz.UserID][]Identity, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	marks, args := db.Marks(ids)
	rows, err := db.Select[Identity](ctx, s.DB,
		"SELECT user_id, provider, extern_uid FROM identities WHERE user_id IN ("+marks+") ORDER BY id", args...)
	if err != nil {
		return nil, fmt.Errorf("read identities: %w", err)
	}
	for _, r := range rows {
		out[r.UserID] = append(out[r.UserID], r)
	}
	return out, nil
}

// PassedIdentities returns a user's accounts with other providers where the user lets ID tokens of jobs tell them. It asks for no permission and is
// for core.
func (s *Service) PassedIdentities(ctx context.Context, id authz.UserID) ([]Identity, error) {
	rows, err := db.Select[Identity](ctx, s.DB, `SELECT i.user_id, i.provider, i.extern_uid FROM identities i JOIN users u ON u.id = i.user_id
		WHERE u.id = ? AND u.pass_user_identities_to_ci_jwt ORDER BY i.id`, id)
	if err != nil {
		return nil, fmt.Errorf("read identities: %w", err)
	}
	return rows, nil
}
