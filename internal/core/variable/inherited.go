package variable

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Inherited lists the variables that a project has from the groups above it, without their values. It requires the ability to read the
// variables of the project.
func (s *Service) Inherited(ctx context.Context, as authz.Actor, p *project.Project, f ListFilter) (page.Page[Variable], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadProjectVariables, p.Subject()); err != nil {
		return page.Page[Variable]{}, err
	}
	var w db.Where
	w.And("a.namespace_id = ?", p.NamespaceID)
	w.Raw("a.depth > 0")
	list, err := page.Select[Variable](ctx, s.DB, page.Query{
		Columns: columns, From: "namespace_ancestors a JOIN ci_variables v ON v.namespace_id = a.ancestor_id", Where: w, Order: f.order(),
	}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list inherited variables: %w", err)
	}
	for i := range list.Items {
		list.Items[i] = *unvalued(&list.Items[i])
	}
	return list, nil
}
