package mergerequest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
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
	if err := s.policy.Require(ctx, as, authz.AdminTimelog, e.Subject(as, p)); err != nil {
		return nil, err
	}
	if err := s.store(ctx, as, p, m, Changes{Time: timelog.Change{Delete: e.ID}}); err != nil {
		return nil, err
	}
	return s.Find(ctx, as, p, iid)
}

// track applies a change of time, names what changed and notes in diff how.
func (s *Service) track(ctx context.Context, as authz.Actor, m *MergeRequest, c timelog.Change, diff *Diff) (fields []string, err error) {
	diff.Time, err = s.times.Apply(ctx, as, noteable.Ref{Kind: noteable.MergeRequest, ID: int64(m.ID)}, &m.Totals, c)
	if diff.Time.OldEstimate != nil {
		fields = append(fields, "time_estimate")
	}
	if diff.Time.Reset || diff.Time.Spent != 0 || diff.Time.Deleted != nil {
		fields = append(fields, "total_time_spent")
	}
	return fields, err
}
