package account

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// ghostBio is what the profile of the ghost says.
const ghostBio = "Holds what users of deleted accounts left behind. This account cannot sign in."

// ghost returns the user who owns what deleted users leave, and makes it the first time:
// ghost, or ghost1 and so on where the name is a user's.
func (s *Service) ghost(ctx context.Context) (authz.UserID, error) {
	var id authz.UserID
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.DB.Lock(ctx, "ghost"); err != nil {
			return err
		}
		var err error
		id, err = db.Get[authz.UserID](ctx, s.DB, "SELECT id FROM users WHERE user_type = ? ORDER BY id LIMIT 1", Ghost)
		if err == nil || !errors.Is(err, db.ErrNotFound) {
			return err
		}
		name, err := s.ghostName(ctx)
		if err != nil {
			return err
		}
		no, none := false, int64(0)
		in := Input{
			Username: name, Name: "Ghost", Email: name + "@example.com", ProjectsLimit: &none, CanCreateGroup: &no,
			External: &no, PrivateProfile: &no, Details: Details{Bio: ghostBio},
		}
		row := s.row(authz.System(), &in)
		row.Type = Ghost
		id, err = s.insert(ctx, authz.System(), row, &in, true)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("ghost user: %w", err)
	}
	return id, nil
}

// ghostName finds a username whose path and address are free.
func (s *Service) ghostName(ctx context.Context) (string, error) {
	for n := 0; ; n++ {
		name := "ghost"
		if n > 0 {
			name += strconv.Itoa(n)
		}
		taken, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM users WHERE username_fold = ?)
			OR EXISTS (SELECT 1 FROM routes WHERE path_fold = ?) OR EXISTS (SELECT 1 FROM emails WHERE email_fold = ?)`,
			name, name, name+"@example.com")
		if err != nil || !taken {
			return name, err
		}
	}
}
