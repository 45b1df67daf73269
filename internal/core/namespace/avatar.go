package namespace

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
)

// SetAvatar writes down the name of a group's picture, "" for none, in the transaction of
// ctx. It asks for no permission.
func (s *Service) SetAvatar(ctx context.Context, id ID, name string) error {
	_, err := db.Update(ctx, s.DB, groupRow(id), func(_ context.Context, g *Group) error {
		g.Avatar = name
		return nil
	})
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("set avatar of group: %w", err)
	}
	return nil
}
