package namespace

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// AccessRequest is a user who asks to become a member.
type AccessRequest struct {
	UserID authz.UserID `db:"user_id"`
	At     db.Time      `db:"created_at"`
}

// AccessRequested says that a user asks to become a member.
type AccessRequested struct {
	authz.Stamp

	Place authz.Place
}

// AccessDenied says that a request was turned down; By is the user where they took it
// back by themselves.
type AccessDenied struct {
	authz.Stamp

	Place  authz.Place
	UserID authz.UserID
}

type accessRequestRow struct {
	NamespaceID ID           `db:"namespace_id"`
	UserID      authz.UserID `db:"user_id"`
	CreatedAt   db.Time      `db:"created_at"`
}

// Requests lists who asks to become a member, by user id.
func (s *Service) Requests(ctx context.Context, as authz.Actor, p authz.Place, r page.Range) (page.Page[AccessRequest], error) {
	if err := s.Policy.Require(ctx, as, adminAbility(p), p.Subject.Reading()); err != nil {
		return page.Page[AccessRequest]{}, err
	}
	q := page.Query{Columns: "user_id, created_at", From: "access_requests", Order: page.Order{page.ID("user_id")}}
	q.Where.And("namespace_id = ?", p.Namespace)
	list, err := page.Select[AccessRequest](ctx, s.DB, q, r)
	if err != nil {
		return list, fmt.Errorf("list access requests: %w", err)
	}
	return list, nil
}

// Request asks for membership in the actor's name. Members, and strangers to a place
// that takes no requests, are Forbidden.
func (s *Service) Request(ctx context.Context, as authz.Actor, p authz.Place) (*AccessRequest, error) {
	ability := authz.RequestAccess
	if p.Group {
		ability = authz.RequestGroupAccess
	}
	if err := s.Policy.Require(ctx, as, ability, p.Subject); err != nil {
		return nil, err
	}
	level, err := s.Policy.Level(ctx, as, p.Subject)
	if err != nil {
		return nil, err
	}
	if level > authz.NoAccess || !p.Requests || as.Bot {
		return nil, errs.Denied("")
	}
	now := db.At(s.Now())
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := db.InsertRow(ctx, s.DB, "access_requests", accessRequestRow{p.Namespace, as.UserID, now}, ""); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, AccessRequested{Place: p, Stamp: as.Stamp(s.Now())})
	})
	if db.Duplicate(err, "access_requests") {
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
func (s *Service) Approve(ctx context.Context, as authz.Actor, p authz.Place, user authz.UserID, level authz.Level) (*Member, error) {
	if err := s.Policy.Require(ctx, as, adminAbility(p), p.Subject); err != nil {
		return nil, err
	}
	own, err := s.Policy.Level(ctx, as, p.Subject)
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
	if err := s.admits(ctx, p, person{ID: user, Username: "The user"}); err != nil {
		return nil, err
	}
	m, err := s.join(ctx, as, p, joining{user: user, level: level})
	if db.Duplicate(err, "members") {
		return nil, errs.Missing("") // another request was first
	}
	if err != nil {
		return nil, fmt.Errorf("approve access request: %w", err)
	}
	return m, nil
}

func (s *Service) requested(ctx context.Context, p authz.Place, user authz.UserID) error {
	asked, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM access_requests WHERE namespace_id = ? AND user_id = ?)", p.Namespace, user)
	if err != nil {
		return fmt.Errorf("find access request: %w", err)
	}
	if !asked {
		return errs.Missing("")
	}
	return nil
}

// requestRow is the request of a user for membership of a place.
func (s *Service) requestRow(as authz.Actor, p authz.Place, user authz.UserID) db.Row {
	row := db.Row{Table: "access_requests", Key: "namespace_id", ID: p.Namespace, If: as.UnmodifiedAt}
	row.And.And("user_id = ?", user)
	return row
}

// Deny turns a request down. Everybody may take their own back.
func (s *Service) Deny(ctx context.Context, as authz.Actor, p authz.Place, user authz.UserID) error {
	ability := adminAbility(p)
	if as.Is(user) {
		ability = readAbility(p)
	}
	if err := s.Policy.Require(ctx, as, ability, p.Subject); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		row := s.requestRow(as, p, user)
		row.Missing = errs.Missing("")
		if _, err := db.Delete[accessRequestRow](ctx, s.DB, row, nil); err != nil {
			return errs.Wrap(err, "deny access request")
		}
		return s.Bus.Publish(ctx, AccessDenied{Place: p, UserID: user, Stamp: as.Stamp(s.Now())})
	})
}

// maxDeciders is how many users are told of a request for membership: those who signed in last.
const maxDeciders = 10

// Deciders returns the users who are told of requests for membership of a place, by id: the owners of a group, or the
// maintainers and owners of a project. Where it has none they are the owners of the nearest group above that has some,
// or the user of a personal namespace. It asks for no permission and is for core.
func (s *Service) Deciders(ctx context.Context, p authz.Place) ([]authz.UserID, error) {
	least := authz.Maintainer
	if p.Group {
		least = authz.Owner
	}
	type row struct {
		UserID authz.UserID `db:"user_id"`
		Depth  int64        `db:"depth"`
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT m.user_id, a.depth FROM namespace_ancestors a JOIN members m ON m.namespace_id = a.ancestor_id
		JOIN users u ON u.id = m.user_id AND u.state = 'active' AND u.user_type = 'human'
		WHERE a.namespace_id = ? AND (m.access_level >= ? OR a.depth = 0 AND m.access_level >= ?) AND (m.expires_on IS NULL OR m.expires_on > ?)
		ORDER BY a.depth, u.last_sign_in_at IS NULL, u.last_sign_in_at DESC, m.user_id LIMIT ?`, p.Namespace, authz.Owner, least, s.today(), maxDeciders)
	if err != nil {
		return nil, fmt.Errorf("find who decides access requests: %w", err)
	}
	var out []authz.UserID
	for _, r := range rows {
		if r.Depth == rows[0].Depth {
			out = append(out, r.UserID)
		}
	}
	slices.Sort(out)
	return out, nil
}

// About names it for events.
func (r AccessRequest) About() change.Subject {
	return change.Subject{Type: "User", ID: int64(r.UserID)}
}

// Changed is the event in its generic form.
func (e AccessRequested) Changed() change.Fact {
	return change.View(e.Stamp, e.Place, nil, &AccessRequest{UserID: e.By.UserID, At: db.At(e.At)})
}

// Changed is the event in its generic form.
func (e AccessDenied) Changed() change.Fact {
	return change.View(e.Stamp, e.Place, &AccessRequest{UserID: e.UserID}, nil)
}
