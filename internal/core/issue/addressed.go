package issue

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Work is what was begun to address an issue: a merge request, or a branch alone.
type Work struct {
	Branch string // its name; "" where there is a merge request
	Commit string // hash of its tip

	RequestID, RequestIID int64 // zero for a branch alone
}

// Addressed is published when work on an issue began.
type Addressed struct {
	Fact
	Work Work
}

// Address says that work on an issue began. It requires ReadIssue: the actor has made the branch
// or the merge request already.
func (s *Service) Address(ctx context.Context, as authz.Actor, p *project.Project, iid IID, w Work) error {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		return s.Bus.Publish(ctx, Addressed{s.changed(as, p, i, i), w})
	})
}
