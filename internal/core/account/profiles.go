package account

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// Profiles returns users with their profiles as the caller may see them, their own private part
// included, with as many statements for many as for one. Unknown ids are missing, and all are for
// callers who may not read users.
func (s *Service) Profiles(ctx context.Context, as authz.Actor, ids []authz.UserID) (map[authz.UserID]*View, error) {
	out := make(map[authz.UserID]*View, len(ids))
	switch err := s.mayRead(ctx, as); {
	case errs.Is(err, errs.Forbidden), errs.Is(err, errs.NotFound):
		return out, nil
	case err != nil:
		return nil, err
	}
	var users []*User
	for chunk := range slices.Chunk(ids, db.MaxArgs) {
		marks, args := db.Marks(chunk)
		rows, err := db.Select[User](ctx, s.DB, "SELECT "+userColumns()+fromUsers+" WHERE u.id IN ("+marks+")", args...)
		if err != nil {
			return nil, fmt.Errorf("read users: %w", err)
		}
		for i := range rows {
			users = append(users, &rows[i])
		}
	}
	views, err := s.Views(ctx, as, users, ViewOptions{Own: true})
	if err != nil {
		return nil, err
	}
	for i := range views {
		out[views[i].ID] = &views[i]
	}
	return out, nil
}

// Statuses returns what users say of the moment, in one statement. Those who say nothing are missing.
func (s *Service) Statuses(ctx context.Context, as authz.Actor, ids []authz.UserID) (map[authz.UserID]*Status, error) {
	out := make(map[authz.UserID]*Status, len(ids))
	if err := s.Policy.Require(ctx, as, authz.ReadUserStatus, authz.Subject{}); err != nil {
		return nil, err
	}
	if s.Hidden(as) {
		return out, nil
	}
	for chunk := range slices.Chunk(ids, db.MaxArgs) {
		marks, args := db.Marks(chunk)
		rows, err := db.Select[Status](ctx, s.DB, "SELECT "+db.Columns[Status]("t")+` FROM user_statuses t
			WHERE (t.clear_at IS NULL OR t.clear_at > ?) AND t.user_id IN (`+marks+")", append([]any{s.Now()}, args...)...)
		if err != nil {
			return nil, fmt.Errorf("read statuses: %w", err)
		}
		for i := range rows {
			out[rows[i].UserID] = &rows[i]
		}
	}
	return out, nil
}
