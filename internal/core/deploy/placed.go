package deploy

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Placed is an environment with its project.
type Placed struct {
	*Environment

	Project *project.Project // with the actor's level
}

// EnvironmentsByIDs returns those of the environments with these ids that the actor may read, in two statements.
func (s *Service) EnvironmentsByIDs(ctx context.Context, as authz.Actor, ids []EnvironmentID) (map[EnvironmentID]*Placed, error) {
	found, err := s.environmentsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	rows := make([]Environment, 0, len(found))
	for _, e := range found {
		rows = append(rows, *e)
	}
	readable, err := project.Readable(ctx, s.Projects, as, rows, project.Rule[Environment]{
		Project: func(e *Environment) project.ID { return e.ProjectID },
		Needs: func(_ *Environment, p *project.Project) (authz.Ability, authz.Subject) {
			return reading(p), subject(p)
		},
	})
	out := make(map[EnvironmentID]*Placed, len(readable))
	for _, found := range readable {
		out[found.Row.ID] = &Placed{found.Row, found.Project}
	}
	return out, err
}

// FindByIID returns a deployment of a project by its number within the project.
func (s *Service) FindByIID(ctx context.Context, as authz.Actor, p *project.Project, iid int64) (*Deployment, error) {
	if err := s.readable(ctx, as, p); err != nil {
		return nil, err
	}
	list, err := db.Select[Deployment](ctx, s.DB, "SELECT "+columns+" FROM deployments d WHERE d.project_id = ? AND d.iid = ? ORDER BY d.id", p.ID, iid)
	if err != nil {
		return nil, fmt.Errorf("find deployment: %w", err)
	}
	if len(list) == 0 {
		return nil, errNoDeployment
	}
	return &list[0], nil
}

// LastOf returns the newest successful deployment to each of some environments of a project, in one statement.
func (s *Service) LastOf(ctx context.Context, as authz.Actor, p *project.Project, list []Environment) ([]Deployment, error) {
	if err := s.readable(ctx, as, p); err != nil || len(list) == 0 {
		return nil, err
	}
	ids := make([]EnvironmentID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	var w db.Where
	w.In("l.environment_id", ids)
	w.And("l.project_id = ?", p.ID)
	w.And("l.status = ?", Success)
	out, err := db.Select[Deployment](ctx, s.DB, "SELECT "+columns+" FROM deployments d WHERE d.id IN (SELECT MAX(l.id) FROM deployments l"+w.SQL()+
		" GROUP BY l.environment_id) ORDER BY d.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("last deployments: %w", err)
	}
	return out, nil
}

// Permissions is what an actor may do with deployments of a project, as far as the rules of their environments allow it.
type Permissions struct {
	Update, Destroy, Approve bool
}

// Permissions says what the actor may do with the deployments of a project.
func (s *Service) Permissions(ctx context.Context, as authz.Actor, p *project.Project) (Permissions, error) {
	var may Permissions
	for to, ability := range map[*bool]authz.Ability{&may.Update: authz.UpdateDeployment, &may.Destroy: authz.DestroyDeployment, &may.Approve: authz.ApproveDeployment} {
		var err error
		if *to, err = s.Policy.Can(ctx, as, ability, subject(p)); err != nil {
			return Permissions{}, err
		}
	}
	return may, nil
}
