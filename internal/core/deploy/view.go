package deploy

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// View is a deployment as a caller sees it who may read the deployments of its project.
type View struct {
	*Deployment

	Environment *Environment
	User        *account.Summary // who deployed; nil where the account was deleted
	Job         *ci.JobView      // nil where other systems deploy, and where the job was deleted
}

// Views returns deployments of a project that were read for the caller, with a fixed number of statements.
func (s *Service) Views(ctx context.Context, as authz.Actor, p *project.Project, list []Deployment) ([]View, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var environments []EnvironmentID
	var users []authz.UserID
	var jobs []ci.StatusID
	for i := range list {
		if list[i].in == nil {
			environments = append(environments, list[i].EnvironmentID)
		}
		if list[i].UserID != nil {
			users = append(users, *list[i].UserID)
		}
		if list[i].JobID != nil {
			jobs = append(jobs, *list[i].JobID)
		}
	}
	byID, err := s.environmentsByID(ctx, environments)
	if err != nil {
		return nil, err
	}
	deployables, err := s.CI.ViewsByIDs(ctx, as, p, jobs)
	if err != nil {
		return nil, err
	}
	people := map[authz.UserID]*account.Summary{}
	for _, v := range deployables {
		if v.AuthorID != nil && v.User != nil {
			people[*v.AuthorID] = v.User
		}
	}
	users = slices.DeleteFunc(users, func(id authz.UserID) bool { return people[id] != nil })
	if len(users) > 0 {
		others, err := s.Accounts.ByIDs(ctx, users)
		if err != nil {
			return nil, err
		}
		maps.Copy(people, others)
	}
	out := make([]View, len(list))
	for i := range list {
		d := &list[i]
		out[i] = View{Deployment: d, Environment: d.in}
		if d.in == nil {
			out[i].Environment = byID[d.EnvironmentID]
		}
		if d.UserID != nil {
			out[i].User = people[*d.UserID]
		}
		if d.JobID != nil {
			out[i].Job = deployables[*d.JobID]
		}
	}
	return out, nil
}

// environmentsByID reads environments, none without a statement.
func (s *Service) environmentsByID(ctx context.Context, ids []EnvironmentID) (map[EnvironmentID]*Environment, error) {
	out := make(map[EnvironmentID]*Environment, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("e.id", ids)
	rows, err := db.Select[Environment](ctx, s.DB, "SELECT "+environmentColumns+" FROM environments e"+w.SQL()+" ORDER BY e.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("environments of deployments: %w", err)
	}
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, nil
}
