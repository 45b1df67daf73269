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

// AccessRequest is a user who asks to become a member.
type AccessRequest struct {
	UserID authz.UserID `db:"user_id"`
	At     db.Time      `db:"created_at"`
}

// AccessRequested says that a user asks to become a member.
type AccessRequested struct {
	authz.Stamp

	Place Place
}

// AccessDenied says that a request was turned down; By is the user where they took it
// back by themselves.
type AccessDenied struct {
	authz.Stamp

	Place  Place
	UserID authz.UserID
}

type accessRequestRow struct {
	NamespaceID ID           `db:"namespace_id"`
	UserID      authz.UserID `db:"user_id"`
	CreatedAt   db.Time      `db:"created_at"`
}

// Requests lists who asks to become a member, by user id.
func (s *Service) Requests(ctx context.Context, as authz.Actor, p Place, r page.Range) (page.Page[AccessRequest], error) {
	if err := s.policy.Require(ctx, as, adminAbility(p), p.Subject); err != nil {
		return page.Page[AccessRequest]{}, err
	}
	q := page.Query{Columns: "user_id, created_at", From: "access_requests", Order: page.Order{page.ID("user_id")}}
	q.Where.And("namespace_id = ?", p.Namespace)
	list, err := page.Select[AccessRequest](ctx, s.db, q, r)
	if err != nil {
		return list, fmt.Errorf("list access requests: %w", err)
	}
	return list, nil
}

// Request asks for membership in the actor's name. Members, and strangers to a place
// that takes no requests, are Forbidden.
func (s *Service) Request(ctx context.Context, as authz.Actor, p Place) (*AccessRequest, error) {
	ability := authz.RequestAccess
	if p.Group {
		ability = authz.RequestGroupAccess
	}
	if err := s.policy.Require(ctx, as, ability, p.Subject); err != nil {
		return nil, err
	}
	level, err := s.policy.Level(ctx, as, p.Subject)
	if err != nil {
		return nil, err
	}
	if level > authz.NoAccess || !p.Requests || as.Bot {
		return nil, errs.Denied("")
	}
	now := db.At(s.now())
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		if _, err := db.Insert(ctx, s.db, "access_requests", accessRequestRow{p.Namespace, as.UserID, now}); err != nil {
			return err
		}
		return s.bus.Publish(ctx, AccessRequested{Place: p, Stamp: as.Stamp(s.now())})
	})
	if errors.Is(err, db.ErrDuplicate) {
		var f errs.Fields
		f.Add("user_id", "already exists in source")
		return nil, f.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("request access: %w", err)
	}
	return &AccessRequest{UserID: as.UserID, At: now}, nil
}

// Approve makes a user who asked for it a member. No user gives more than they have.
func (s *Service) Approve(ctx context.Context, as authz.Actor, p Place, user authz.UserID, level authz.Level) (*Member, error) {
	if err := s.policy.Require(ctx, as, adminAbility(p), p.Subject); err != nil {
		return nil, err
	}
	own, err := s.policy.Level(ctx, as, p.Subject)
	if err != nil {
		return nil, err
	}
	if err := s.requested(ctx, p, user); err != nil {
		return nil, err
	}
	if err := s.checkMember(ctx, p, user, level, nil); err != nil {
		return nil, err
	}
	if !mayGive(as, own, level) {
		return nil, errs.Denied("")
	}
	m, err := s.join(ctx, as, p, joining{user: user, level: level})
	if errors.Is(err, db.ErrDuplicate) {
		return nil, errs.Missing("") // another request was first
	}
	if err != nil {
		return nil, fmt.Errorf("approve access request: %w", err)
	}
	return m, nil
}

func (s *Service) requested(ctx context.Context, p Place, user authz.UserID) error {
	asked, err := db.Get[bool](ctx, s.db, "SELECT EXISTS (SELECT 1 FROM access_requests WHERE namespace_id = ? AND user_id = ?)", p.Namespace, user)
	if err != nil {
		return fmt.Errorf("find access request: %w", err)
	}
	if !asked {
		return errs.Missing("")
	}
	return nil
}

// Deny turns a request down. Everybody may take their own back.
func (s *Service) Deny(ctx context.Context, as authz.Actor, p Place, user authz.UserID) error {
	ability := adminAbility(p)
	if as.Is(user) {
		ability = readAbility(p)
	}
	if err := s.policy.Require(ctx, as, ability, p.Subject); err != nil {
		return err
	}
	return s.db.InTx(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, s.db, "SELECT created_at AS updated_at FROM access_requests WHERE namespace_id = ? AND user_id = ?", p.Namespace, user); err != nil {
			return err
		}
		gone, err := s.db.Exec(ctx, "DELETE FROM access_requests WHERE namespace_id = ? AND user_id = ?", p.Namespace, user)
		switch {
		case err != nil:
			return fmt.Errorf("deny access request: %w", err)
		case gone == 0:
			return errs.Missing("")
		}
		return s.bus.Publish(ctx, AccessDenied{Place: p, UserID: user, Stamp: as.Stamp(s.now())})
	})
}
