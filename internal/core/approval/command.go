package approval

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/quickaction"
)

// Commands are the quick actions of approvals.
func (s *Service) Commands() []quickaction.Action {
	merges := []noteable.Kind{noteable.MergeRequest}
	return []quickaction.Action{
		{Names: []string{"approve"}, Kinds: merges, Merge: authz.ApproveMergeRequest, Run: s.approveCommand},
		{Names: []string{"unapprove"}, Kinds: merges, Run: s.unapproveCommand},
	}
}

// approveCommand does nothing where a password is demanded, which no text should have.
func (s *Service) approveCommand(ctx context.Context, c *quickaction.Call) error {
	st, err := s.stateOf(ctx, c.Project, c.WasRequest)
	if err != nil || st.Settings.RequirePassword.On {
		return err
	}
	may, err := s.MayApprove(ctx, c.As, c.Project, st)
	if err != nil || !may {
		return err
	}
	c.After(func(ctx context.Context) error {
		_, err := s.Approve(ctx, c.As, c.Project, c.WasRequest.IID, Input{SHA: c.HeadSHA})
		return err
	})
	c.Say("Approved the current merge request.")
	return nil
}

func (s *Service) unapproveCommand(ctx context.Context, c *quickaction.Call) error {
	st, err := s.stateOf(ctx, c.Project, c.WasRequest)
	if err != nil || st.Approver(c.As.UserID) == nil {
		return err
	}
	c.After(func(ctx context.Context) error {
		_, err := s.Unapprove(ctx, c.As, c.Project, c.WasRequest.IID)
		return err
	})
	c.Say("Unapproved the current merge request.")
	return nil
}
