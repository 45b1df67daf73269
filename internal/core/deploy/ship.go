package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

const (
	maxCommits  = 100_000 // of one deployment that are looked at
	commitPiece = 500     // that are read, and asked for, together
	linkPiece   = 500     // merge requests that one transaction links
)

// ship is the job that follows a successful deployment: the environment gets the address that the job reported, and the merge requests that
// it shipped are linked with it.
type ship struct {
	ID ID `json:"id"`
}

// Kind names the job.
func (ship) Kind() string { return "link_deployment" }

func (s *Service) ship(ctx context.Context, args ship) error {
	list, err := db.Select[Deployment](ctx, s.DB, "SELECT "+columns+" FROM deployments d WHERE d.id = ? AND d.status = ? ORDER BY d.id", args.ID, Success)
	if err != nil || len(list) == 0 {
		return err
	}
	d := &list[0]
	behind, err := s.behind(ctx, d)
	if err != nil {
		return err
	}
	if behind {
		return s.Jobs.Enqueue(ctx, args, job.At(s.Now().Add(dueEvery)))
	}
	p, err := s.load(ctx, d.ProjectID)
	if err != nil || p == nil {
		return err
	}
	if err := s.address(ctx, p, d); err != nil {
		return err
	}
	e, err := s.findEnvironment(ctx, p, d.EnvironmentID)
	if err != nil {
		return public(err)
	}
	if e.Folder != nil {
		return nil
	}
	return s.link(ctx, p, e, d)
}

// address gives an environment the address that the job of its last deployment reported.
func (s *Service) address(ctx context.Context, p *project.Project, d *Deployment) error {
	last, err := s.last(ctx, d.EnvironmentID)
	if err != nil || d.JobID == nil || last == nil || last.ID != d.ID {
		return err
	}
	at, err := s.CI.EnvironmentURL(ctx, p, *d.JobID)
	if errors.Is(err, db.ErrNotFound) || at == "" || len(at) > maxText || badURL(at) != "" {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.changeEnvironment(ctx, authz.System(), p, s.environmentRow(p, d.EnvironmentID), func(_ context.Context, e *Environment) error {
		e.ExternalURL = &at
		return nil
	})
	return public(err)
}

// link links a deployment with the merge requests that it shipped: those whose commits are new since the deployment before it, all that were merged
// into the deployed branch where there is none.
func (s *Service) link(ctx context.Context, p *project.Project, e *Environment, d *Deployment) error {
	before, err := db.Select[Deployment](ctx, s.DB, "SELECT "+columns+" FROM deployments d WHERE d.environment_id = ? AND d.status = ? AND d.id < ? ORDER BY d.id DESC LIMIT 1",
		d.EnvironmentID, Success, d.ID)
	if err != nil {
		return fmt.Errorf("deployment before: %w", err)
	}
	if len(before) == 0 {
		return s.linkAll(ctx, p, e, d)
	}
	shipped, err := s.shipped(ctx, p, before[0].SHA, d.SHA)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(shipped, commitPiece) {
		marks, args := db.Marks(chunk)
		query, values := "", []any{}
		for i, cond := range []string{"m.merge_commit_sha", "m.squash_commit_sha", "m.merge_commit_sha IS NULL AND m.squash_commit_sha IS NULL AND m.head_sha"} {
			if i > 0 {
				query += " UNION "
			}
			query += "SELECT m.id FROM merge_requests m WHERE m.target_project_id = ? AND m.state = 'merged' AND " + cond + " IN (" + marks + ")"
			values = append(append(values, p.ID), args...)
		}
		ids, err := db.Select[int64](ctx, s.DB, query+" ORDER BY 1", values...)
		if err != nil {
			return fmt.Errorf("shipped merge requests: %w", err)
		}
		if err := s.linkTo(ctx, e, d, ids); err != nil {
			return err
		}
	}
	return nil
}

// linkAll links the first deployment to an environment with all that was merged into its branch before.
func (s *Service) linkAll(ctx context.Context, p *project.Project, e *Environment, d *Deployment) error {
	if d.Tag {
		return nil
	}
	after := int64(0)
	for {
		ids, err := db.Select[int64](ctx, s.DB, `SELECT m.id FROM merge_requests m WHERE m.target_project_id = ? AND m.target_branch = ? AND m.state = 'merged'
			AND m.merged_at <= ? AND m.id > ? ORDER BY m.id LIMIT ?`, p.ID, d.Ref, d.FinishedAt, after, linkPiece)
		if err != nil {
			return fmt.Errorf("shipped merge requests: %w", err)
		}
		if err := s.linkTo(ctx, e, d, ids); err != nil || len(ids) < linkPiece {
			return err
		}
		after = ids[len(ids)-1]
	}
}

var picked = pattern.New(`\(cherry picked from commit ([0-9a-f]{40})\)`)

// shipped returns the commits that one commit has and another has not, and those that they are cherry-picks of.
func (s *Service) shipped(ctx context.Context, p *project.Project, from, to string) ([]string, error) {
	g, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	old, err := gitstore.ParseObjectID(from)
	if err != nil {
		return nil, fmt.Errorf("commit of deployment: %w", err)
	}
	now, err := gitstore.ParseObjectID(to)
	if err != nil {
		return nil, fmt.Errorf("commit of deployment: %w", err)
	}
	for _, id := range []gitstore.ObjectID{old, now} {
		if _, err := g.Peel(ctx, id); errors.Is(err, gitstore.ErrNotFound) {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("find commit of deployment: %w", err)
		}
	}
	ids, err := g.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{now}, Not: []gitstore.ObjectID{old}, Limit: maxCommits})
	if err != nil {
		return nil, fmt.Errorf("commits of deployment: %w", err)
	}
	var out []string
	for chunk := range slices.Chunk(ids, commitPiece) {
		commits, err := g.Commits(ctx, chunk)
		if err != nil {
			return nil, fmt.Errorf("read commits of deployment: %w", err)
		}
		for _, c := range commits {
			out = append(out, c.ID.String())
			for _, found := range picked().FindAllStringSubmatch(c.Message, 10) {
				out = append(out, found[1])
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// linkTo links merge requests with a deployment, and notes when those came to production that were not there yet.
func (s *Service) linkTo(ctx context.Context, e *Environment, d *Deployment, ids []int64) error {
	type link struct {
		DeploymentID   ID    `db:"deployment_id"`
		MergeRequestID int64 `db:"merge_request_id"`
	}
	for chunk := range slices.Chunk(ids, linkPiece) {
		rows := make([]link, len(chunk))
		for i, id := range chunk {
			rows[i] = link{d.ID, id}
		}
		err := s.DB.InTx(ctx, func(ctx context.Context) error {
			if err := db.InsertRows(ctx, s.DB, "deployment_merge_requests", rows, "ON CONFLICT (deployment_id, merge_request_id) DO NOTHING"); err != nil {
				return err
			}
			if err := s.Bus.Publish(ctx, Linked{authz.System().Stamp(s.Now()), d.ProjectID, *d.FinishedAt}); err != nil || e.Tier != Production {
				return err
			}
			type first struct {
				MergeRequestID int64   `db:"merge_request_id"`
				DeployedAt     db.Time `db:"deployed_at"`
			}
			marks, args := db.Marks(chunk)
			reached, err := db.Select[int64](ctx, s.DB, "SELECT m.id FROM merge_requests m WHERE m.merged_at <= ? AND m.id IN ("+marks+") ORDER BY m.id",
				append([]any{d.FinishedAt}, args...)...)
			if err != nil {
				return err
			}
			firsts := make([]first, len(reached))
			for i, id := range reached {
				firsts[i] = first{id, *d.FinishedAt}
			}
			return db.InsertRows(ctx, s.DB, "first_deployments", firsts, `ON CONFLICT (merge_request_id) DO UPDATE SET deployed_at = excluded.deployed_at
				WHERE excluded.deployed_at < first_deployments.deployed_at`)
		})
		if err != nil {
			return fmt.Errorf("link merge requests: %w", err)
		}
	}
	return nil
}
