package release

import "context"

// CollectDue runs the job that collects the evidence of a release.
func (s *Service) CollectDue(ctx context.Context, id ID) error {
	return s.collectDue(ctx, collecting{id})
}
