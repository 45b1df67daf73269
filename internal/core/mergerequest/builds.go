package mergerequest

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// BuildView is what is shown of the pipelines of a merge request.
type BuildView struct {
	Pipelines bool             // whether the caller may read pipelines of the target project
	Source    *project.Project // where the pipelines run; nil where it is gone or hidden
	Head      *ci.Pipeline     // the newest that ran on the source branch for its head; nil where there is none, or it is hidden
	Course    ci.Course        // of Head
}

// Builds gives what the caller may see of the pipelines of a request of p, which must have
// been read for the caller. It is nil where CI of the project is not for the caller.
func (s *Service) Builds(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (*BuildView, error) {
	may, err := s.policy.Can(ctx, as, authz.ReadPipeline, p.Subject())
	if err != nil || !may {
		return nil, err
	}
	v := &BuildView{}
	if v.Pipelines, err = s.checks.MayRead(ctx, as, p); err != nil || m.HeadSHA == "" {
		return v, err
	}
	if v.Source, err = s.SourceFor(ctx, as, p, m); err != nil || v.Source == nil {
		return v, err
	}
	list, err := s.checks.OfBranch(ctx, as, v.Source, m.SourceBranch, []string{m.HeadSHA}, page.Range{Limit: 1, Uncounted: true})
	if err != nil || len(list.Items) == 0 {
		return v, err
	}
	v.Head = &list.Items[0]
	v.Course, err = s.checks.Course(ctx, v.Head)
	return v, err
}

// SourceFor gives the project that a request comes from, nil where it is gone or hidden from
// the caller.
func (s *Service) SourceFor(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (*project.Project, error) {
	if m.SourceProjectID == nil {
		return nil, nil
	}
	if *m.SourceProjectID == p.ID {
		return p, nil
	}
	source, err := s.projects.FindByID(ctx, as, *m.SourceProjectID)
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	return source, err
}
