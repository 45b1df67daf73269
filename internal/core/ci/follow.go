package ci

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
)

// waits reports whether a bridge ends as the pipeline does that it has started.
func waits(t *ciconfig.Trigger) bool {
	return t != nil && (t.Strategy == "depend" || t.Strategy == "mirror")
}

// mirrors returns the project whose latest pipeline a bridge takes its state from, "" where it starts one instead.
func mirrors(c *ciconfig.Job) string {
	if c.Trigger != nil {
		return ""
	}
	for _, n := range c.Needs {
		if n.Mirrors() {
			return n.Pipeline
		}
	}
	return ""
}

// mirror lets a bridge that is pending follow the latest pipeline of another project's default branch. The bridge fails where there is none,
// or its user may not read it.
func (s *Service) mirror(ctx context.Context, as authz.Actor, p *project.Project, j *Job, c *ciconfig.Job) error {
	up, reason, err := s.upstreamOf(ctx, as, p, j, c)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		var of PipelineID
		if up != nil {
			of = up.ID
		}
		for _, id := range []PipelineID{min(of, j.PipelineID), max(of, j.PipelineID)} { // in one order, as pipelines may mirror each other
			if id == 0 {
				continue
			}
			if _, err := s.lock(ctx, id); err != nil {
				return err
			}
		}
		_, err := s.change(ctx, as, p, j.PipelineID, j.ID, func(_ context.Context, j *Job) error {
			switch {
			case j.State != Pending:
			case reason != "":
				j.fail(reason, s)
			default:
				j.UpstreamPipelineID = &of
				j.enter(Running, s.Now())
			}
			return nil
		})
		if err != nil || reason != "" {
			return err
		}
		return s.Deps.Jobs.Enqueue(ctx, endBridge{JobID: j.ID, PipelineID: of})
	})
}

// upstreamOf finds the pipeline that a bridge mirrors, or the reason why there is none.
func (s *Service) upstreamOf(ctx context.Context, as authz.Actor, p *project.Project, j *Job, c *ciconfig.Job) (up *Pipeline, reason string, err error) {
	known, err := s.needVariables(ctx, p, j, c)
	if err != nil {
		return nil, "", err
	}
	from, err := s.Projects.Find(ctx, as, ciconfig.Expand(mirrors(c), known.lookup()))
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		return nil, UpstreamNotFound, nil
	}
	if err != nil {
		return nil, "", err
	}
	may, err := s.MayRead(ctx, as, from)
	if err != nil {
		return nil, "", err
	}
	if !may {
		return nil, InsufficientUpstream, nil
	}
	up, err = s.Latest(ctx, as, from, "")
	if errs.Is(err, errs.NotFound) || err == nil && up.ID == j.PipelineID {
		return nil, UpstreamNotFound, nil
	}
	return up, "", err
}

// tellBridges lets the bridges that follow a pipeline know that it has ended, runs again or is gone.
func (s *Service) tellBridges(ctx context.Context, of *Pipeline) error {
	ids, err := db.Select[StatusID](ctx, s.DB, "SELECT j.job_id FROM jobs j WHERE j.upstream_pipeline_id = ? ORDER BY j.job_id", of.ID)
	if err != nil {
		return fmt.Errorf("find bridges that mirror a pipeline: %w", err)
	}
	if of.UpstreamJobID != nil {
		ids = append(ids, *of.UpstreamJobID)
	}
	return s.followUp(ctx, followUps{Ended: of.ID, Follow: ids})
}

// endBridge is the job that gives a bridge the state of the pipeline that it follows.
type endBridge struct {
	JobID      StatusID   `json:"job_id"`
	PipelineID PipelineID `json:"pipeline_id"`
}

// Kind names the job.
func (endBridge) Kind() string { return "end_bridge" }

func (s *Service) endBridge(ctx context.Context, args endBridge) error {
	state, err := db.Get[State](ctx, s.DB, "SELECT l.status FROM pipelines l WHERE l.id = ?", args.PipelineID)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("find pipeline of bridge: %w", err)
	}
	j, p, err := s.jobAndProject(ctx, args.JobID)
	if err != nil || j == nil || j.Kind != BridgeKind || j.Retried {
		return err
	}
	c, err := j.Config()
	if err != nil {
		return err
	}
	mirrored := j.UpstreamPipelineID != nil && *j.UpstreamPipelineID == args.PipelineID
	if !mirrored && !waits(c.Trigger) {
		return nil
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		of, err := s.lock(ctx, j.PipelineID)
		if err != nil {
			return err
		}
		was, now, err := s.changeState(ctx, actorOf(j), p, of, j.ID, func(_ context.Context, j *Job) error {
			j.follow(state, s)
			return nil
		})
		if err != nil || was == now.State {
			return err
		}
		if was.Complete() {
			if err := s.reopen(ctx, actorOf(j), p, of, now); err != nil {
				return err
			}
		}
		return s.advance(ctx, actorOf(j), p, of)
	})
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	return errs.Wrap(err, "end bridge")
}

// follow gives a bridge the state of its pipeline, which is "" where that is gone. A bridge that has ended runs again where its pipeline does.
func (j *Job) follow(pipeline State, s *Service) {
	if pipeline != "" && !pipeline.Complete() {
		if j.State.Complete() && (j.State != Skipped || j.StartedAt != nil) {
			j.enter(Running, s.Now())
			j.FinishedAt, j.FailureReason = nil, nil
		}
		return
	}
	if j.State != Running && j.State != Pending {
		return
	}
	if j.State == Pending { // the pipeline was faster than the job that started it
		j.enter(Running, s.Now())
	}
	switch {
	case pipeline == Success || pipeline == Skipped || pipeline == Canceled:
		j.enter(pipeline, s.Now())
	case j.UpstreamPipelineID != nil && pipeline == "":
		j.fail(UpstreamNotFound, s)
	case j.UpstreamPipelineID != nil:
		j.fail(UnknownFailure, s)
	default:
		j.fail(DownstreamFailed, s)
	}
}
