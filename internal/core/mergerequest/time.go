package mergerequest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/timelog"
)

// TrackTime changes the time that is estimated for a request and spent on it. It requires
// SetMergeRequestMetadata.
func (s *Service) TrackTime(ctx context.Context, as authz.Actor, p *project.Project, iid IID, c timelog.Change) (*MergeRequest, error) {
	m, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.requireOn(ctx, as, authz.SetMergeRequestMetadata, p, m); err != nil {
		return nil, err
	}
	if err := s.store(ctx, as, p, m, Changes{Time: c}); err != nil {
		return nil, err
	}
	return s.Find(ctx, as, p, iid)
}

// DeleteTime deletes an entry of time spent on a request. It requires AdminTimelog.
func (s *Service) DeleteTime(ctx context.Context, as authz.Actor, p *project.Project, iid IID, e *timelog.Entry) (*MergeRequest, error) {
	m, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.AdminTimelog, e.Subject(as, p)); err != nil {
		return nil, err
	}
	if err := s.store(ctx, as, p, m, Changes{Time: timelog.Change{Delete: e.ID}}); err != nil {
		return nil, err
	}
	return s.Find(ctx, as, p, iid)
}
