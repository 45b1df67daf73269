package deploy

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/project"
)

// refs is where the references of environments are. Clients do not see them.
const refs = "refs/environments/"

// reference is the name of the reference that keeps the commit of a deployment.
func reference(e *Environment, d *Deployment) gitstore.RefName {
	return gitstore.RefName(refs + e.Slug + "/deployments/" + strconv.FormatInt(d.IID, 10))
}

// keepCommit is the job that keeps the commit of a deployment.
type keepCommit struct {
	ID ID `json:"id"`
}

// Kind names the job.
func (keepCommit) Kind() string { return "keep_deployment_ref" }

func (s *Service) keepCommit(ctx context.Context, args keepCommit) error {
	list, err := db.Select[Deployment](ctx, s.DB, "SELECT "+columns+" FROM deployments d WHERE d.id = ? ORDER BY d.id", args.ID)
	if err != nil || len(list) == 0 {
		return err
	}
	d := &list[0]
	p, err := s.load(ctx, d.ProjectID)
	if err != nil || p == nil {
		return err
	}
	e, err := s.findEnvironment(ctx, p, d.EnvironmentID)
	if err != nil {
		return public(err)
	}
	id, err := gitstore.ParseObjectID(d.SHA)
	if err != nil {
		return fmt.Errorf("commit of deployment: %w", err)
	}
	g, err := s.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	if _, err := g.Peel(ctx, id); errors.Is(err, gitstore.ErrNotFound) {
		return nil
	}
	if err := g.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: reference(e, d), New: id, AnyOld: true}}); err != nil {
		return fmt.Errorf("keep commit of deployment: %w", err)
	}
	return nil
}

// dropCommit is the job that deletes the reference of a deployment, or all of an environment.
type dropCommit struct {
	ProjectID project.ID       `json:"project_id"`
	Ref       gitstore.RefName `json:"ref,omitempty"`
	Prefix    string           `json:"prefix,omitempty"` // of all references
}

// Kind names the job.
func (dropCommit) Kind() string { return "drop_deployment_refs" }

// maxDropped is how many references one transaction of git deletes.
const maxDropped = 1000

func (s *Service) dropCommit(ctx context.Context, args dropCommit) error {
	p, err := s.load(ctx, args.ProjectID)
	if err != nil || p == nil {
		return err
	}
	g, err := s.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	names := []gitstore.RefName{args.Ref}
	if args.Prefix != "" {
		found, err := g.Refs(ctx, args.Prefix)
		if err != nil {
			return fmt.Errorf("references of environment: %w", err)
		}
		names = nil
		for _, r := range found {
			names = append(names, r.Name)
		}
	}
	var drop []gitstore.RefUpdate
	for _, name := range names[:min(len(names), maxDropped)] {
		if _, err := g.Ref(ctx, name); err == nil {
			drop = append(drop, gitstore.RefUpdate{Ref: name, AnyOld: true})
		}
	}
	if len(drop) == 0 {
		return nil
	}
	if err := g.UpdateRefs(ctx, drop); err != nil {
		return fmt.Errorf("delete references of deployments: %w", err)
	}
	if len(names) > maxDropped {
		return s.Jobs.Enqueue(ctx, args)
	}
	return nil
}
