package protection

import (
	"context"
	"fmt"

	"tenon/internal/core/deploykey"
)

// DropDeployKey takes a deploy key out of the rules of a project that it is not enabled
// in any more, in the caller's transaction. An action that no user is left for is
// for no user.
func (s *Service) DropDeployKey(ctx context.Context, e deploykey.Removed) error {
	for _, t := range []ruleTables{branchTables, tagTables} {
		_, err := s.DB.Exec(ctx, "DELETE FROM "+t.levels+" WHERE deploy_key_id = ? AND "+t.key+
			" IN (SELECT r.id FROM "+t.rules+" r WHERE r.project_id = ?)", e.Row().ID, e.Place.ID)
		if err != nil {
			return fmt.Errorf("take deploy key out of rules: %w", err)
		}
	}
	return nil
}
