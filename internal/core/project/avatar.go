package project

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
)

// SetAvatar writes down the name of a project's picture, "" for none, in the transaction
// of ctx. It asks for no permission.
func (s *Service) SetAvatar(ctx context.Context, id ID, name string) error {
	_, err := db.Update(ctx, s.DB, s.lock(id), func(_ context.Context, p *Project) error {
		p.Avatar = name
		return nil
	})
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("set avatar of project: %w", err)
	}
	return nil
}
