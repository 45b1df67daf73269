package mergerequest

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// ReadableSQL is a condition that holds where the actor may read the merge request whose id
// is in column. The names of tables in it must not hide the one in column: m, p, n.
func (s *Service) ReadableSQL(as authz.Actor, column string) (cond string, args []any) {
	if as.Nameless() {
		return "1 = 0", nil
	}
	var w db.Where
	w.Raw("p.id = m.target_project_id AND NOT p.pending_delete AND p.merge_requests_access > 0")
	from := across
	if !as.Admin && !as.Auditor {
		from += withPlace
		w.Raw("n.id = p.namespace_id")
	}
	s.readableSQL(as, &w)
	w.Raw("m.id = " + column)
	return "EXISTS (SELECT 1 FROM " + from + w.SQL() + ")", w.Args()
}

// ReadableInSQL is ReadableSQL for merge requests of a project that the actor has found.
func (s *Service) ReadableInSQL(ctx context.Context, as authz.Actor, p *project.Project, _ string) (cond string, args []any, err error) {
	may, err := s.Policy.Can(ctx, as, authz.ReadMergeRequest, p.Subject())
	if err != nil || !may {
		return "1 = 0", nil, err
	}
	return "1 = 1", nil, nil
}
