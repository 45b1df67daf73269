package ci

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Suggests reports whether the actor is to be told how a project gets its first pipeline: it has none, the actor may make one, and the
// settings suggest it.
func (s *Service) Suggests(ctx context.Context, as authz.Actor, p *project.Project) (bool, error) {
	may, err := s.Policy.Can(ctx, as, authz.CreatePipeline, p.Subject())
	if err != nil || !may || !s.Settings.Current().SuggestPipelineEnabled {
		return false, err
	}
	some, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM pipelines WHERE project_id = ?)", p.ID)
	if err != nil {
		return false, fmt.Errorf("look for pipelines: %w", err)
	}
	return !some, nil
}
