package namespace

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// Above is what is above groups.
type Above struct {
	Accounts Approver
}

// Approver approves users who wait for it. Administrators may; a user who does not wait is a Conflict.
type Approver interface {
	Approve(ctx context.Context, as authz.Actor, id authz.UserID) error
}

// Connect gives the service what is above it, once and before the first use.
func (s *Service) Connect(a Above) { s.above = a }

// awaits is a condition on a user u: their memberships do not count until an administrator approves the account.
const awaits = "u.state = 'blocked_pending_approval'"

// membersBelow are the memberships m that have not expired of a group and of what is inside it, each with its user u. Its arguments are
// the group and the day.
const membersBelow = `namespace_ancestors d JOIN members m ON m.namespace_id = d.namespace_id JOIN users u ON u.id = m.user_id
	WHERE d.ancestor_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)`

// Pending is an address or a user that is no member of a group, or of a place inside it, yet.
type Pending struct {
	ID     int64         `db:"id"`      // of the invitation, or of the membership
	UserID *authz.UserID `db:"user_id"` // nil for an address
	Email  string        `db:"email"`   // that is invited; "" for a user
}

// Invited reports whether it is an invited address, which needs no approval: its user becomes a member by confirming it.
func (p *Pending) Invited() bool { return p.UserID == nil }

// requirePending checks that the actor may decide about who becomes a member of a group, which must be a top-level group.
func (s *Service) requirePending(ctx context.Context, as authz.Actor, p authz.Place) error {
	if err := s.Policy.Require(ctx, as, authz.AdminGroupMembers, p.Subject); err != nil {
		return err
	}
	if p.Parent != nil {
		return errs.Bad("")
	}
	return nil
}

// Pending lists the users whose membership of a top-level group, or of a place inside it, awaits approval, then the invited
// addresses. Its owners may see it.
func (s *Service) Pending(ctx context.Context, as authz.Actor, p authz.Place, r page.Range) (page.Page[Pending], error) {
	if err := s.requirePending(ctx, as, p); err != nil {
		return page.Page[Pending]{}, err
	}
	list, err := page.Select[Pending](ctx, s.DB, page.Query{
		Columns: "x.id, x.user_id, x.email",
		From: `(SELECT 0 AS invited, MIN(m.id) AS id, m.user_id, '' AS email
			FROM ` + membersBelow + ` AND ` + awaits + ` GROUP BY m.user_id
			UNION ALL
			SELECT 1, MIN(i.id), CAST(NULL AS BIGINT), MIN(i.email)
			FROM namespace_ancestors d JOIN invitations i ON i.namespace_id = d.namespace_id
			WHERE d.ancestor_id = ? GROUP BY i.email_fold) x`,
		FromArgs: []any{p.Namespace, s.today(), p.Namespace},
		Order:    page.Order{page.Int("invited", "x.invited"), page.ID("x.id")},
	}, r)
	if err != nil {
		return list, fmt.Errorf("list pending members: %w", err)
	}
	return list, nil
}

// requireApproval checks that the actor may approve the accounts of pending members as well.
func (s *Service) requireApproval(ctx context.Context, as authz.Actor, p authz.Place) error {
	if err := s.requirePending(ctx, as, p); err != nil {
		return err
	}
	return s.Policy.Require(ctx, as, authz.AdminUsers, authz.Subject{})
}

// noPending is the refusal where nothing awaits approval.
func noPending() error { return errs.Plain("No memberships found") }

// ApprovePending approves the user of a membership of a top-level group, or of a place inside it, that awaits it. It is
// for owners of the group who are administrators.
func (s *Service) ApprovePending(ctx context.Context, as authz.Actor, p authz.Place, member int64) error {
	if err := s.requireApproval(ctx, as, p); err != nil {
		return err
	}
	type one struct {
		UserID authz.UserID `db:"user_id"`
		Awaits bool         `db:"awaits"`
	}
	m, err := db.Get[one](ctx, s.DB, `SELECT m.user_id, `+awaits+` AS awaits FROM `+membersBelow+` AND m.id = ?`, p.Namespace, s.today(), member)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return errs.Missing("")
	case err != nil:
		return fmt.Errorf("find pending member: %w", err)
	case !m.Awaits:
		return noPending()
	}
	if err := s.above.Accounts.Approve(ctx, as, m.UserID); errs.Is(err, errs.Conflict) {
		return noPending() // approved by another request meanwhile
	} else if err != nil {
		return err
	}
	return nil
}

// ApproveAllPending is ApprovePending for all that there are.
func (s *Service) ApproveAllPending(ctx context.Context, as authz.Actor, p authz.Place) error {
	if err := s.requireApproval(ctx, as, p); err != nil {
		return err
	}
	const many = 100
	for approved := 0; ; {
		users, err := db.Select[authz.UserID](ctx, s.DB, `SELECT DISTINCT m.user_id FROM `+membersBelow+` AND `+awaits+` ORDER BY m.user_id LIMIT ?`, p.Namespace, s.today(), many)
		if err != nil {
			return fmt.Errorf("list pending members: %w", err)
		}
		if len(users) == 0 && approved == 0 {
			return noPending()
		}
		for _, user := range users {
			if err := s.above.Accounts.Approve(ctx, as, user); err != nil && !errs.Is(err, errs.Conflict) {
				return err
			}
			approved++
		}
		if len(users) < many {
			return nil
		}
	}
}
