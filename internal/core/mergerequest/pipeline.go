package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// passed reports whether m's pipeline lets a merge into p through.
func passed(p *project.Project, m *MergeRequest) bool {
	return m.Pipeline == ci.Success || m.Pipeline == alsoPasses(p)
}

// alsoPasses is the state of a pipeline that p takes for a success.
func alsoPasses(p *project.Project) ci.State {
	if p.MergeTakesSkipped {
		return ci.Skipped
	}
	return ci.Success
}

// readPipelines fills Pipeline of the open requests that wait for theirs, or whose project
// lets nothing in before it has succeeded, in one statement.
func (s *Service) readPipelines(ctx context.Context, page []*MergeRequest, projects map[project.ID]*project.Project) error {
	var asked []*MergeRequest
	for _, m := range page {
		m.Pipeline = ""
		if p := projects[m.ProjectID]; p != nil && (p.MergeNeedsPipeline || m.MergeWhenPipelineSucceeds) && m.State == StateOpened && m.HeadSHA != "" {
			asked = append(asked, m)
		}
	}
	return s.pipelinesOf(ctx, asked)
}

// newestPipeline is the id of a request's (m) pipeline for the commit at its head: the newest of
// its own that no merge train made, or else the newest that ran on its source branch. What child
// pipelines do shows in their parents.
const newestPipeline = `COALESCE((SELECT MAX(n.id) FROM pipelines n WHERE n.merge_request_id = m.id AND n.source_sha = m.head_sha
		AND n.source = 'merge_request_event' AND n.ref <> 'refs/merge-requests/' || m.iid || '/train'),
	(SELECT MAX(n.id) FROM pipelines n WHERE n.project_id = m.source_project_id AND n.sha = m.head_sha AND n.ref = m.source_branch
		AND n.source_sha IS NULL AND n.source <> 'parent_pipeline'))`

// HeadPipeline is the newest pipeline for the head of a request, nil where there is none. It asks for no permission.
func (s *Service) HeadPipeline(ctx context.Context, id ID) (*ci.PipelineID, error) {
	out, err := db.Get[*ci.PipelineID](ctx, s.DB, "SELECT "+newestPipeline+" AS id FROM merge_requests m WHERE m.id = ?", id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find head pipeline: %w", err)
	}
	return out, nil
}

// pipelinesOf fills Pipeline of requests, "" where there is none.
func (s *Service) pipelinesOf(ctx context.Context, asked []*MergeRequest) error {
	if len(asked) == 0 {
		return nil
	}
	ids := make([]ID, len(asked))
	byID := make(map[ID]*MergeRequest, len(asked))
	for i, m := range asked {
		ids[i], byID[m.ID], m.Pipeline = m.ID, m, ""
	}
	var w db.Where
	w.In("m.id", ids)
	type row struct {
		ID     ID       `db:"id"`
		Status ci.State `db:"status"`
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT m.id, l.status FROM merge_requests m JOIN pipelines l ON l.id = `+newestPipeline+w.SQL()+" ORDER BY m.id", w.Args()...)
	if err != nil {
		return fmt.Errorf("read pipelines of requests: %w", err)
	}
	for _, r := range rows {
		byID[r.ID].Pipeline = r.Status
	}
	return nil
}

// maxEveryCommit bounds the commits of the newest version that everyCommit gives.
const maxEveryCommit = 1000

// everyCommit returns the ids of the commits that the request brings, and of those at which
// its source branch stood before.
func (s *Service) everyCommit(ctx context.Context, p *project.Project, m *MergeRequest) ([]string, error) {
	out, err := db.Select[string](ctx, s.DB, "SELECT DISTINCT v.head_sha FROM merge_request_versions v WHERE v.merge_request_id = ? ORDER BY v.head_sha", m.ID)
	if err != nil {
		return nil, fmt.Errorf("list heads of versions: %w", err)
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	commits, err := s.commitsOf(ctx, r, m, maxEveryCommit)
	if err != nil {
		return nil, err
	}
	for _, c := range commits {
		out = append(out, c.ID.String())
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
