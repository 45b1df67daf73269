package todo

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
)

// askApprovers creates a to-do item for each user that approval rules name, if the merge request is open and no
// draft. Users with another pending item for it get none.
func (s *Service) askApprovers(ctx context.Context, f mergerequest.Fact, by authz.UserID) error {
	r := f.Row()
	if r.Draft || r.State != mergerequest.StateOpened {
		return nil
	}
	users, err := s.Approvals.Asked(ctx, f.Project, r)
	if err != nil || len(users) == 0 {
		return err
	}
	m := ofRequest(f).with(ApprovalRequired)
	m.by = by
	return s.create(ctx, m, users[:min(len(users), maxMentioned)])
}

// approvalsLost asks again for approvals of a merge request that no longer count.
func (s *Service) approvalsLost(ctx context.Context, f mergerequest.Fact) error {
	return s.askApprovers(ctx, f, f.Row().AuthorID)
}

// placeOf names a project or group as the target of a to-do item.
func placeOf(p authz.Place) noteable.Ref {
	if p.Group {
		return noteable.Ref{Kind: OfGroup, ID: p.ID}
	}
	return noteable.Ref{Kind: OfProject, ID: p.ID}
}

// accessRequested tells those who decide of a request for access.
func (s *Service) accessRequested(ctx context.Context, e namespace.AccessRequested) error {
	users, err := s.Namespaces.Deciders(ctx, e.Place)
	if err != nil {
		return err
	}
	t := noteable.Target{Ref: placeOf(e.Place), Subject: e.Place.Subject}
	if e.Place.Group {
		t.GroupID = e.Place.Namespace
	} else {
		t.ProjectID = e.Place.ID
	}
	_, err = s.insert(ctx, making{target: t, by: e.By.UserID, action: AccessRequested, at: e.At}, users)
	return err
}

// decided marks the to-do items about a user's request for access as done: it was granted, denied
// or taken back.
func (s *Service) decided(ctx context.Context, p authz.Place, user authz.UserID, at time.Time) error {
	on := placeOf(p)
	_, err := s.DB.Exec(ctx, `UPDATE todos SET state = 'done', updated_at = ? WHERE target_type = ? AND target_id = ? AND action = ? AND author_id = ?
		AND state = 'pending'`, db.At(at), on.Kind, on.ID, AccessRequested, user)
	if err != nil {
		return fmt.Errorf("resolve to-do items of an access request: %w", err)
	}
	return nil
}
