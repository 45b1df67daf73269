package milestone

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/project"
)

// Alike returns the milestone that an issue of another project keeps when it comes to a project: the
// same where it is of a group that the project is in, otherwise the nearest one of that title.
// It is nil where there is none.
func (s *Service) Alike(ctx context.Context, p *project.Project, id *ID) (*ID, error) {
	if id == nil {
		return nil, nil
	}
	next, err := db.Get[ID](ctx, s.DB, `SELECT m.id FROM milestones o, milestones m JOIN namespace_ancestors a ON a.ancestor_id = m.namespace_id
		WHERE o.id = ? AND a.namespace_id = ? AND (m.id = o.id OR m.title = o.title)
		ORDER BY CASE WHEN m.id = o.id THEN 0 ELSE 1 END, a.depth LIMIT 1`, *id, p.NamespaceID)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("milestone of that title: %w", err)
	}
	return &next, nil
}
