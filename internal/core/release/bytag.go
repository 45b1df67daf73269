package release

import (
	"context"
	"fmt"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// ByTags returns the releases of some tags of a project by the tags, none to those who may not read them. Long descriptions are cut.
func (s *Service) ByTags(ctx context.Context, as authz.Actor, p *project.Project, tags ...string) (map[string]*Release, error) {
	out := map[string]*Release{}
	may, err := s.admitted(ctx, as, p)
	if err != nil || !may || len(tags) == 0 {
		return out, err
	}
	var w db.Where
	w.And("r.project_id = ?", p.ID)
	w.In("r.tag_name", tags)
	w.Raw(there)
	list, err := db.Select[Release](ctx, s.DB, "SELECT "+columns+" FROM releases r"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("releases of tags: %w", err)
	}
	for i := range list {
		if len(tags) > 1 {
			list[i].Description = budget.CutAt(list[i].Description)
		}
		out[list[i].Tag] = &list[i]
	}
	return out, nil
}
