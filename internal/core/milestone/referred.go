package milestone

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
)

// Refers names the references that lead to what the package has.
func (s *Service) Refers() reference.Kind { return reference.Milestone }

// Referred returns the milestones that texts refer to which the actor may read: by IID those of
// the project or group itself, by title those of groups above it as well. It takes one
// statement.
func (s *Service) Referred(ctx context.Context, as authz.Actor, sought reference.Query) (map[reference.Key]*reference.Target, error) {
	may, err := s.Policy.Can(ctx, as, authz.ReadMilestone, authz.Subject{})
	if err != nil || !may {
		return nil, err
	}
	places := make(map[reference.Key]authz.NamespaceID, len(sought.Keys))
	var namespaces []authz.NamespaceID
	var titles []string
	iids := []int64{0}
	for _, key := range sought.Keys {
		place := key.Group
		if p := sought.Projects[key.Project]; p != nil {
			place = p.NamespaceID
		}
		places[key] = place
		namespaces, titles, iids = append(namespaces, place), append(titles, key.Name), append(iids, key.Number)
	}
	type row struct {
		Place     authz.NamespaceID `db:"place"`
		Depth     int64             `db:"depth"`
		ID        int64             `db:"id"`
		IID       int64             `db:"iid"`
		Title     string            `db:"title"`
		State     string            `db:"state"`
		Path      string            `db:"path"`
		ProjectID project.ID        `db:"project_id"` // 0 for one of a group
		GroupID   authz.NamespaceID `db:"namespace_id"`
	}
	var w db.Where
	w.In("d.namespace_id", namespaces)
	titleMarks, args := db.Marks(titles)
	iidMarks, more := db.Marks(iids)
	w.And("(m.title IN ("+titleMarks+") OR d.depth = 0 AND m.iid IN ("+iidMarks+"))", append(args, more...)...)
	rows, err := db.Select[row](ctx, s.DB, `SELECT d.namespace_id AS place, d.depth, m.id, m.iid, m.title, m.state, r.path,
			COALESCE(p.id, 0) AS project_id, m.namespace_id
		FROM namespace_ancestors d JOIN milestones m ON m.namespace_id = d.ancestor_id
		JOIN routes r ON r.namespace_id = m.namespace_id LEFT JOIN projects p ON p.namespace_id = m.namespace_id`+
		w.SQL()+" ORDER BY d.depth DESC, m.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("milestones that texts refer to: %w", err)
	}
	out := make(map[reference.Key]*reference.Target, len(rows))
	for _, byIID := range []bool{false, true} { // numbers come before titles of digits
		for _, key := range sought.Keys {
			for _, r := range rows { // the nearest comes last
				if r.Place != places[key] || byIID && (r.Depth != 0 || key.Number == 0 || r.IID != key.Number) || !byIID && r.Title != key.Name {
					continue
				}
				t := &reference.Target{
					Kind: reference.Milestone, ID: r.ID, ProjectID: r.ProjectID, Path: r.Path, Number: r.IID, Title: r.Title, State: r.State,
					URL: s.URLs.ProjectMilestone(r.Path, r.IID),
				}
				if r.ProjectID == 0 {
					t.GroupID, t.URL = r.GroupID, s.URLs.GroupMilestone(r.Path, r.IID)
				}
				out[key] = t
			}
		}
	}
	return out, nil
}
