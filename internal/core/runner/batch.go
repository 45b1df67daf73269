package runner

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Permissions is what an actor may do with a runner that it may read.
type Permissions struct{ Assign, Delete, Update bool }

// Permissions says what the actor may do with runners, in one statement.
func (s *Service) Permissions(ctx context.Context, as authz.Actor, ids []ID) (map[ID]Permissions, error) {
	type owned struct {
		ID       ID   `db:"id"`
		Type     Type `db:"runner_type"`
		Locked   bool `db:"locked"`
		Projects int  `db:"projects"`
	}
	if err := s.Policy.Require(ctx, as, authz.ReadRunner, authz.Subject{}); err != nil {
		return nil, err
	}
	var w db.Where
	w.In("r.id", ids)
	if !as.Admin {
		cond, args := s.ownedSQL(as, authz.Owner)
		w.And(cond, args...)
	}
	rows, err := db.Select[owned](ctx, s.DB, "SELECT r.id, r.runner_type, r.locked, (SELECT COUNT(*) FROM runner_projects x WHERE x.runner_id = r.id) AS projects FROM runners r"+
		w.SQL()+" ORDER BY r.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("permissions on runners: %w", err)
	}
	out := make(map[ID]Permissions, len(rows))
	for _, r := range rows {
		out[r.ID] = Permissions{Assign: r.Type == ProjectType && (as.Admin || !r.Locked), Delete: as.Admin || r.Projects <= 1, Update: true}
	}
	return out, nil
}

// OwnerProjects returns the first project of project runners, as far as the actor may read it, in two statements.
func (s *Service) OwnerProjects(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*project.Project, error) {
	type first struct {
		RunnerID  ID         `db:"runner_id"`
		ProjectID project.ID `db:"project_id"`
	}
	if err := s.Policy.Require(ctx, as, authz.ReadRunner, authz.Subject{}); err != nil {
		return nil, err
	}
	var w db.Where
	w.In("x.runner_id", ids)
	w.Raw("NOT EXISTS (SELECT 1 FROM runner_projects y WHERE y.runner_id = x.runner_id AND y.id < x.id)")
	rows, err := db.Select[first](ctx, s.DB, "SELECT x.runner_id, x.project_id FROM runner_projects x"+w.SQL()+" ORDER BY x.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("first projects of runners: %w", err)
	}
	in := make([]project.ID, len(rows))
	for i, row := range rows {
		in[i] = row.ProjectID
	}
	found, err := s.Deps.Projects.ByIDs(ctx, as, in)
	out := make(map[ID]*project.Project, len(rows))
	for _, row := range rows {
		if p := found[row.ProjectID]; p != nil {
			out[row.RunnerID] = p
		}
	}
	return out, err
}

// ManagersByIDs returns machines of runners whose details the actor may read.
func (s *Service) ManagersByIDs(ctx context.Context, as authz.Actor, ids []ManagerID) (map[ManagerID]*Manager, error) {
	var w db.Where
	w.In("m.id", ids)
	cond, args := s.readableSQL(as)
	w.And(cond, args...)
	rows, err := db.Select[Manager](ctx, s.DB, "SELECT "+db.Columns[Manager]("m")+" FROM runner_managers m JOIN runners r ON r.id = m.runner_id"+w.SQL()+" ORDER BY m.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read runner managers: %w", err)
	}
	out := make(map[ManagerID]*Manager, len(rows))
	for i := range rows {
		s.refreshManager(&rows[i])
		out[rows[i].ID] = &rows[i]
	}
	return out, nil
}
