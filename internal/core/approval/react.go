package approval

import (
	"context"
	"fmt"

	"tenon/internal/base/event"
	"tenon/internal/core/mergerequest"
)

// Subscribe registers what takes approvals back.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "approvals", s.OnNewVersion)
	event.On(b, "approvals", s.OnUpdated)
}

// OnNewVersion removes the approvals of the version before, or makes them count for the new
// one where the project says so or the server's own rebase made it.
func (s *Service) OnNewVersion(ctx context.Context, e mergerequest.NewVersion) error {
	set, err := s.settingsAt(ctx, e.Project.NamespaceID)
	if err != nil {
		return err
	}
	switch {
	case e.Rebased: // the commits that were approved, in another place
	case !set.RetainOnPush.On:
		return s.reset(ctx, e.Fact, nil)
	case set.SelectiveRemovals.On && e.Row().OwnersKey != "":
		return nil // until it is known which files changed, none of them counts: see PlanOwners
	}
	_, err = s.DB.Exec(ctx, "UPDATE approvals SET head_sha = ? WHERE merge_request_id = ? AND head_sha = ?", e.NewSHA, e.Row().ID, e.OldSHA)
	if err != nil {
		return fmt.Errorf("keep approvals: %w", err)
	}
	return nil
}

// OnUpdated removes approvals of a merge request that goes to another branch now, unless the
// project keeps them.
func (s *Service) OnUpdated(ctx context.Context, e mergerequest.Updated) error {
	if !e.Has("target_branch") {
		return nil
	}
	set, err := s.settingsAt(ctx, e.Project.NamespaceID)
	if err != nil || set.RetainOnPush.On {
		return err
	}
	return s.reset(ctx, e.Fact, nil)
}
