package project

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
)

// SetAvatar writes down the name of a project's picture, "" for none, in the transaction
// of ctx. It asks for no permission.
func (s *Service) SetAvatar(ctx context.Context, id ID, name string) error {
	if _, err := s.db.Exec(ctx, "UPDATE projects SET avatar = ?, updated_at = ? WHERE id = ?", name, db.At(s.now()), id); err != nil {
		return fmt.Errorf("set avatar of project: %w", err)
	}
	return nil
}
