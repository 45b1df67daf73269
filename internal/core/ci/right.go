package ci

import (
	"context"
	"encoding/json"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
)

// rights decides for which branches and tags of a project an actor may run and change pipelines: those that are not protected, and protected ones
// that the actor may push to, merge into or create. It reads the rules of branches and of tags once.
type rights struct {
	s              *Service
	as             authz.Actor
	p              *project.Project
	branches, tags *protection.Standing
}

// run reports whether the actor may run pipelines of a branch or tag.
func (r *rights) run(ctx context.Context, ref string, tag bool) (bool, error) {
	var err error
	if tag {
		if r.tags == nil {
			if r.tags, err = r.s.Protections.Tags(ctx, r.as, r.p); err != nil {
				return false, err
			}
		}
		_, may := r.tags.MayCreateTag(ref)
		return may, nil
	}
	if r.branches == nil {
		if r.branches, err = r.s.Protections.Branches(ctx, r.as, r.p); err != nil {
			return false, err
		}
	}
	at := r.branches.Access(ref)
	return at.Push || at.Merge, nil
}

// change is run for a pipeline that is there. One of a merge request belongs to both branches where these are protected.
func (r *rights) change(ctx context.Context, of *Pipeline, m *MergeRequest) (bool, error) {
	switch {
	case !of.OfMergeRequest():
		return r.run(ctx, of.Ref, of.Tag)
	case !of.Protected:
		return true, nil
	case m == nil:
		return false, nil
	}
	may, err := r.run(ctx, m.Source.Branch, false)
	if err != nil || !may {
		return false, err
	}
	return r.run(ctx, m.Target.Branch, false)
}

// mayRun refuses to run pipelines of a protected branch or tag for an actor who may neither push to it nor merge into it.
func (s *Service) mayRun(ctx context.Context, as authz.Actor, p *project.Project, ref string, tag bool) error {
	may, err := (&rights{s: s, as: as, p: p}).run(ctx, ref, tag)
	if err == nil && !may {
		return errs.Denied("")
	}
	return err
}

// mayChange is mayRun for a pipeline that is there, its jobs and statuses.
func (s *Service) mayChange(ctx context.Context, as authz.Actor, p *project.Project, of *Pipeline) error {
	may, err := s.changeableOf(ctx, as, map[project.ID]*project.Project{p.ID: p}, []*Pipeline{of})
	if err == nil && !may[of.ID] {
		return errs.Denied("")
	}
	return err
}

// changeableOf is mayChange for pipelines of several projects: it tells which of them the actor may change.
func (s *Service) changeableOf(ctx context.Context, as authz.Actor, in map[project.ID]*project.Project, list []*Pipeline) (map[PipelineID]bool, error) {
	requests, err := s.mergeRequestsOf(ctx, list)
	if err != nil {
		return nil, err
	}
	out, known := make(map[PipelineID]bool, len(list)), map[project.ID]*rights{}
	for _, of := range list {
		p := in[of.ProjectID]
		if p == nil {
			continue
		}
		r := known[p.ID]
		if r == nil {
			r = &rights{s: s, as: as, p: p}
			known[p.ID] = r
		}
		if out[of.ID], err = r.change(ctx, of, requests[of.ID]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mergeRequestsOf reads what the pipelines of merge requests know of these that get protected variables and runners.
func (s *Service) mergeRequestsOf(ctx context.Context, list []*Pipeline) (map[PipelineID]*MergeRequest, error) {
	var ids []PipelineID
	for _, of := range list {
		if of.OfMergeRequest() && of.Protected {
			ids = append(ids, of.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	type row struct {
		ID      PipelineID `db:"pipeline_id"`
		Content string     `db:"content"`
	}
	var w db.Where
	w.In("r.pipeline_id", ids)
	rows, err := db.Select[row](ctx, s.DB, "SELECT r.pipeline_id, r.content FROM pipeline_merge_requests r"+w.SQL()+" ORDER BY r.pipeline_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read merge requests of pipelines: %w", err)
	}
	out := make(map[PipelineID]*MergeRequest, len(rows))
	for _, r := range rows {
		m := &MergeRequest{}
		if err := json.Unmarshal([]byte(r.Content), m); err != nil {
			return nil, fmt.Errorf("read merge request of pipeline: %w", err)
		}
		out[r.ID] = m
	}
	return out, nil
}
