package namespace

import (
	"context"
	"fmt"
)

// SetAvatar writes down the name of a group's picture, "" for none, in the transaction of
// ctx. It asks for no permission.
func (s *Service) SetAvatar(ctx context.Context, id ID, name string) error {
	if _, err := s.db.Exec(ctx, "UPDATE groups SET avatar = ? WHERE namespace_id = ?", name, id); err != nil {
		return fmt.Errorf("set avatar of group: %w", err)
	}
	return nil
}
