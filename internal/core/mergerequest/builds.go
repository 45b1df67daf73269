package mergerequest

import (
	"context"
	"errors"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// BuildView is what is shown of the pipelines of a merge request.
type BuildView struct {
	Pipelines bool             // whether the caller may read pipelines of the target project
	Source    *project.Project // of the source branch; nil where it is gone or hidden
	Deployed  *db.Time         // when it came to production first; nil where it did not
	Head      *ci.InProject    // the newest of the request for its head, or else of the source branch; nil where there is none, or it is hidden
}

// Builds returns what the caller may see of the pipelines of a request of p, which must have
// been read for the caller. It is nil where CI of the project is not for the caller.
func (s *Service) Builds(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (*BuildView, error) {
	may, err := s.Policy.Can(ctx, as, authz.ReadPipeline, p.Subject())
	if err != nil || !may {
		return nil, err
	}
	v := &BuildView{}
	if v.Pipelines, err = s.CI.MayRead(ctx, as, p); err != nil || m.HeadSHA == "" {
		return v, err
	}
	if v.Source, err = s.SourceFor(ctx, as, p, m); err != nil {
		return v, err
	}
	found, err := db.Get[struct {
		ID       ci.PipelineID `db:"id"`
		Deployed *db.Time      `db:"deployed_at"`
	}](ctx, s.DB, "SELECT COALESCE("+newestPipeline+`, 0) AS id, f.deployed_at FROM merge_requests m
		LEFT JOIN first_deployments f ON f.merge_request_id = m.id WHERE m.id = ?`, m.ID)
	v.Deployed = found.Deployed
	if err != nil || found.ID == 0 {
		return v, ignoreGone(err)
	}
	v.Head, err = s.CI.Visible(ctx, as, found.ID, p, v.Source)
	return v, err
}

// Pipelines lists the pipelines of a request and those of its source branch for the commits that it brings or brought, as far as the filter selects
// them, the newest first. It requires ReadMergeRequest; pipelines that the actor may not read are left out.
func (s *Service) Pipelines(ctx context.Context, as authz.Actor, p *project.Project, iid IID, f ci.PipelineFilter) (page.Page[ci.InProject], error) {
	m, err := s.Read(ctx, as, p, iid)
	if err != nil {
		return page.Page[ci.InProject]{}, err
	}
	source, err := s.SourceFor(ctx, as, p, m)
	if err != nil {
		return page.Page[ci.InProject]{}, err
	}
	commits, err := s.everyCommit(ctx, p, m)
	if err != nil {
		return page.Page[ci.InProject]{}, err
	}
	return s.CI.OfRequest(ctx, as, ci.Requested{ID: int64(m.ID), Target: p, Source: source, Branch: m.SourceBranch, Commits: commits}, f)
}

// ignoreGone takes a request that was deleted just now for one without a pipeline.
func ignoreGone(err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	return err
}

// SourceFor returns the project that a request comes from, nil where it is gone or hidden from
// the caller.
func (s *Service) SourceFor(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (*project.Project, error) {
	if m.SourceProjectID == nil {
		return nil, nil
	}
	if *m.SourceProjectID == p.ID {
		return p, nil
	}
	source, err := s.Projects.FindByID(ctx, as, *m.SourceProjectID)
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	return source, err
}
