package packages

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// below finds a project of a group's repository whose packages the actor may read.
func (s *Service) below(ctx context.Context, as authz.Actor, ref string) (*project.Project, error) {
	if _, err := strconv.ParseInt(ref, 10, 64); err != nil {
		return nil, errs.Missing("Project")
	}
	p, err := s.Project(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	return p, s.MayRead(ctx, as, p.Place())
}

// fits reports whether what a group's distribution shows, of so many projects, is what its readers may see.
func (s *Service) fits(ctx context.Context, at authz.Place, id DistributionID, projects int64) (bool, error) {
	var w db.Where
	w.And("r.distribution_id = ?", id)
	s.eligible(&w, at.Namespace, at.Subject.Visibility)
	n, err := db.Get[int64](ctx, s.DB, "SELECT COUNT(*) FROM debian_release_projects r JOIN projects p ON p.id = r.project_id JOIN namespaces n ON n.id = p.namespace_id"+w.SQL(), w.Args()...)
	return n == projects, errs.Wrap(err, "look for projects of a distribution")
}

// eligible selects the projects, p and their namespaces n, whose packages all readers of a group with a visibility may read.
func (s *Service) eligible(w *db.Where, group authz.NamespaceID, v authz.Visibility) {
	w.And("p.namespace_id IN (SELECT a.namespace_id FROM namespace_ancestors a WHERE a.ancestor_id = ?)", group)
	w.Raw(`NOT p.pending_delete AND p.settings NOT LIKE '%"packages_enabled":false%' AND p.features NOT LIKE '%"package_registry":"disabled"%'`)
	if v == authz.Private {
		return // its reporters read all that is below it
	}
	open := `n.visibility >= ? AND p.features NOT LIKE '%"package_registry":"private"%'`
	if s.opens() {
		open += ` OR p.features LIKE '%"package_registry":"public"%'`
	}
	w.And("("+open+")", v)
}

// shown selects the stanzas that a distribution shows, of the tables t, f and k: those of a group are of the projects below it that have a
// distribution with its codename.
func (s *Service) shown(ctx context.Context, m *made) (db.Where, error) {
	var w db.Where
	w.And("k.status = ?", Default)
	of, err := db.Select[placeOf](ctx, s.DB, "SELECT n.kind, n.visibility FROM namespaces n WHERE n.id = ?", m.distribution.NamespaceID)
	if err != nil || len(of) == 0 {
		return w, errs.Wrap(cmp.Or[error](err, errNoDistribution), "find place of distribution")
	}
	m.group = of[0].Kind != "project"
	below := db.Where{}
	if m.group {
		below.And("d.codename = ?", m.distribution.Codename)
		s.eligible(&below, m.distribution.NamespaceID, of[0].Visibility)
	} else {
		below.And("d.id = ?", m.distribution.ID)
	}
	if m.counts, m.projects, err = s.countsOf(ctx, below); err != nil {
		return w, err
	}
	m.below = below
	if !m.group {
		m.same, m.safe, m.projects = true, true, nil
		w.And("t.distribution_id = ?", m.distribution.ID)
		return w, nil
	}
	before, err := db.Select[project.ID](ctx, s.DB, "SELECT r.project_id FROM debian_release_projects r WHERE r.distribution_id = ? ORDER BY r.project_id", m.distribution.ID)
	if err != nil {
		return w, fmt.Errorf("look for projects of distribution: %w", err)
	}
	m.same = m.before != nil && slices.Equal(before, m.projects) && int64(len(before)) == m.before.Projects
	m.safe = m.before != nil && int64(len(before)) == m.before.Projects && !slices.ContainsFunc(before, func(id project.ID) bool {
		_, there := slices.BinarySearch(m.projects, id)
		return !there
	})
	w.And("t.distribution_id IN (SELECT d.id"+memberFrom+below.SQL()+")", below.Args()...)
	return w, nil
}

// memberFrom are distributions of projects, with their projects and namespaces.
const memberFrom = " FROM debian_distributions d JOIN projects p ON p.namespace_id = d.namespace_id JOIN namespaces n ON n.id = p.namespace_id"

// counts are how often packages were published in a distribution, and deleted.
type counts struct {
	DistributionID DistributionID `db:"id"`
	ProjectID      project.ID     `db:"project_id"`
	Publications   int64          `db:"publications"`
	Deletions      int64          `db:"deletions"`
}

// countsOf returns the counts of selected distributions of projects, at one moment, and the projects.
func (s *Service) countsOf(ctx context.Context, below db.Where) (map[DistributionID]counts, []project.ID, error) {
	list, err := db.Select[counts](ctx, s.DB, "SELECT d.id, p.id AS project_id, d.publications, d.deletions"+memberFrom+below.SQL()+" ORDER BY p.id", below.Args()...)
	if err != nil {
		return nil, nil, fmt.Errorf("look for projects of distribution: %w", err)
	}
	out, projects := make(map[DistributionID]counts, len(list)), make([]project.ID, len(list))
	for i := range list {
		out[list[i].DistributionID], projects[i] = list[i], list[i].ProjectID
	}
	return out, projects, nil
}

// torn reports whether some of what a distribution shows was deleted while its stanzas were read in parts.
func (s *Service) torn(ctx context.Context, m *made) (bool, error) {
	if m.frozen {
		return false, nil
	}
	now, _, err := s.countsOf(ctx, m.below)
	for id, c := range m.counts {
		if now[id].Deletions != c.Deletions || now[id].DistributionID != id {
			return true, err
		}
	}
	return false, err
}

// placeOf is what a distribution belongs to.
type placeOf struct {
	Kind       string           `db:"kind"`
	Visibility authz.Visibility `db:"visibility"`
}

// keepProjects writes down which projects a distribution of a group shows.
func (s *Service) keepProjects(ctx context.Context, m *made) error {
	type row struct {
		DistributionID DistributionID `db:"distribution_id"`
		ProjectID      project.ID     `db:"project_id"`
	}
	if m.same {
		return nil
	}
	if _, err := db.Drop(ctx, s.DB, db.Row{Table: "debian_release_projects", Key: "distribution_id", ID: m.distribution.ID}); err != nil {
		return err
	}
	rows := make([]row, len(m.projects))
	for i, id := range m.projects {
		rows[i] = row{m.distribution.ID, id}
	}
	return db.InsertRows(ctx, s.DB, "debian_release_projects", rows, "")
}
