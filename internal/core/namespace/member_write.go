package namespace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/limit"
)

// MemberInput names a user and what the membership gives.
type MemberInput struct {
	UserID    authz.UserID // or
	Username  string
	Level     authz.Level
	ExpiresOn *string // YYYY-MM-DD, nil never
}

// MemberChanges are the attributes of a membership that a call sets.
type MemberChanges struct {
	Level     authz.Level
	ExpiresOn **string // nil leaves alone, a nil inside takes the date away
}

const messageNotListed = "is not included in the list"

// TooHigh reports that the actor may not give the role. The contract wraps it in the
// envelope of a service's result.
type TooHigh struct{ Username string }

// Error is the text for the client.
func (e *TooHigh) Error() string {
	return e.Username + ": the member access level can't be higher than the current user's one"
}

type person struct {
	ID       authz.UserID `db:"id"`
	Username string       `db:"username"`
}

// Add makes a user a member of a place. Where one is already, it is a Conflict; a role
// that the actor may not give is an Invalid error caused by *TooHigh.
func (s *Service) Add(ctx context.Context, as authz.Actor, p authz.Place, in MemberInput) (*Member, error) {
	if err := s.Policy.Require(ctx, as, adminAbility(p), p.Subject); err != nil {
		return nil, err
	}
	if err := s.mayInvite(as); err != nil {
		return nil, err
	}
	own, err := s.Policy.Level(ctx, as, p.Subject)
	if err != nil {
		return nil, err
	}
	user, err := s.person(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := s.checkMember(ctx, p, user.ID, in.Level, in.ExpiresOn); err != nil {
		return nil, err
	}
	if !mayGive(as, own, in.Level) {
		cause := &TooHigh{Username: user.Username}
		return nil, &errs.Error{Kind: errs.Invalid, Message: cause.Error(), Err: cause}
	}
	if err := s.admits(ctx, p, user); err != nil {
		return nil, err
	}
	if p.Personal { // its owner is a member by the place alone
		switch _, err := s.direct(ctx, p, user.ID); {
		case err == nil:
			return nil, errs.New(errs.Conflict, "Member already exists")
		case !errs.Is(err, errs.NotFound):
			return nil, err
		}
	}
	m, err := s.join(ctx, as, p, joining{user.ID, in.Level, in.ExpiresOn})
	if db.Duplicate(err, "members") {
		return nil, errs.New(errs.Conflict, "Member already exists")
	}
	if err != nil {
		return nil, fmt.Errorf("add member: %w", err)
	}
	return m, nil
}

// joining is a membership that is to begin.
type joining struct {
	user    authz.UserID
	level   authz.Level
	expires *string
}

// join writes a membership, which ends the user's request for it. It validates
// nothing; db.ErrDuplicate where there is one.
func (s *Service) join(ctx context.Context, as authz.Actor, p authz.Place, j joining) (*Member, error) {
	now := db.At(s.Now())
	row := Member{NamespaceID: p.Namespace, UserID: j.user, Level: j.level, ExpiresOn: j.expires, CreatedAt: now, UpdatedAt: now}
	if as.SignedIn() {
		row.CreatedByID = &as.UserID
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		// Mostly there is none; who approves one has the condition on it.
		_, err := db.Delete[accessRequestRow](ctx, s.DB, s.requestRow(as, p, j.user), nil)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return err
		}
		// A membership that ran out makes room.
		if _, err := s.DB.Exec(ctx, "DELETE FROM members WHERE namespace_id = ? AND user_id = ? AND expires_on <= ?",
			p.Namespace, j.user, s.today()); err != nil {
			return err
		}
		if err := db.Create(ctx, s.DB, "members", &row); err != nil {
			return err
		}
		u, err := s.memberUser(ctx, j.user)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, MemberAdded{change.Created(as, s.Now(), p, &row), u})
	})
	if err != nil {
		return nil, err
	}
	return &row, nil
}

// Change gives a direct member another role or date of expiry. The last owner of a
// group cannot be demoted.
func (s *Service) Change(ctx context.Context, as authz.Actor, p authz.Place, user authz.UserID, c MemberChanges) (*Member, error) {
	if err := s.Policy.Require(ctx, as, adminAbility(p), p.Subject); err != nil {
		return nil, err
	}
	own, err := s.Policy.Level(ctx, as, p.Subject)
	if err != nil {
		return nil, err
	}
	m, err := s.direct(ctx, p, user)
	if err != nil {
		return nil, err
	}
	out := db.Change[Member]{Before: *m, After: *m}
	if m.NamespaceID != p.Namespace { // the user of the personal namespace
		if err := s.checkChange(ctx, as, p, own, &out.After, c); err != nil {
			return nil, err
		}
		return nil, errs.Denied("")
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, s.memberRow(as, p, user), func(ctx context.Context, m *Member) error {
			was := *m
			if err := s.checkChange(ctx, as, p, own, m, c); err != nil {
				return err
			}
			return s.keepOwner(ctx, p, &was, m.Level < authz.Owner || m.ExpiresOn != nil)
		})
		if err != nil {
			return err
		}
		u, err := s.memberUser(ctx, user)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, MemberChanged{change.Updated(as, s.Now(), p, &out), u})
	})
	if err != nil {
		return nil, errs.Wrap(err, "change member")
	}
	out.After.Bot = m.Bot
	return &out.After, nil
}

// checkChange applies c to m and refuses what the caller, with the level own in the place,
// may not give or take.
func (s *Service) checkChange(ctx context.Context, as authz.Actor, p authz.Place, own authz.Level, m *Member, c MemberChanges) error {
	was := m.Level
	m.Level = c.Level
	if c.ExpiresOn != nil {
		m.ExpiresOn = *c.ExpiresOn
	}
	if err := s.checkMember(ctx, p, m.UserID, m.Level, m.ExpiresOn); err != nil {
		return err
	}
	if !as.Admin && (was > own || !mayGive(as, own, m.Level) && m.Level != was) {
		return errs.Denied("")
	}
	return nil
}

// Delete ends a direct membership. Everybody may end their own, but for the last owner
// of a group.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p authz.Place, user authz.UserID, o Removal) error {
	ability := adminAbility(p)
	if as.Is(user) {
		ability = readAbility(p)
	}
	if err := s.Policy.Require(ctx, as, ability, p.Subject); err != nil {
		return err
	}
	if !as.SignedIn() && !as.Admin {
		return errs.New(errs.Unauthorized, "")
	}
	if err := s.Limits.CheckAt(limit.MembersDelete, as, p); err != nil {
		return err
	}
	own, err := s.Policy.Level(ctx, as, p.Subject)
	if err != nil {
		return err
	}
	m, err := s.direct(ctx, p, user)
	if err != nil {
		return err
	}
	if !as.Is(user) && !as.Admin && m.Level > own {
		return errs.Denied("")
	}
	if m.NamespaceID != p.Namespace || m.Bot {
		return errs.Denied("")
	}
	return s.leave(ctx, as, p, m, o)
}

// leave ends a direct membership. The last owner of a group stays.
func (s *Service) leave(ctx context.Context, as authz.Actor, p authz.Place, m *Member, o Removal) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.keepOwner(ctx, p, m, true); err != nil {
			return err
		}
		row := s.memberRow(as, p, m.UserID)
		if o.Below && p.Group {
			if _, err := db.ForUpdate[Member](ctx, s.DB, row); err != nil {
				return errs.Wrap(err, "lock member")
			}
			return s.removeBelow(ctx, as, p, *m, o)
		}
		if _, err := db.Delete[Member](ctx, s.DB, row, nil); err != nil {
			return errs.Wrap(err, "remove member")
		}
		return s.removed(ctx, as, p, *m, o)
	})
}

// memberRow is a membership of the place itself.
func (s *Service) memberRow(as authz.Actor, p authz.Place, user authz.UserID) db.Row {
	row := db.Row{Table: "members", Key: "namespace_id", ID: p.Namespace, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}
	row.And.And("user_id = ?", user)
	return row
}

// removeBelow ends all memberships of a user in a group and inside it, in the transaction
// of ctx.
func (s *Service) removeBelow(ctx context.Context, as authz.Actor, p authz.Place, m Member, o Removal) error {
	if _, err := s.DB.Exec(ctx, `DELETE FROM members WHERE user_id = ? AND namespace_id IN
		(SELECT namespace_id FROM namespace_ancestors WHERE ancestor_id = ?)`, m.UserID, p.Namespace); err != nil {
		return fmt.Errorf("remove member: %w", err)
	}
	return s.removed(ctx, as, p, m, o)
}

// Removal says what else ends with a membership.
type Removal struct {
	Below    bool // the memberships of the user inside the group
	Unassign bool // the user is taken off the issues and merge requests of the place and of what is inside it
}

// keepOwner refuses to take the ownership of a group's last owner. It locks the
// group, so that two owners cannot remove each other.
func (s *Service) keepOwner(ctx context.Context, p authz.Place, m *Member, lost bool) error {
	if !p.Group || m.Level < authz.Owner || !lost {
		return nil
	}
	if _, err := db.Select[ID](ctx, s.DB, "SELECT id FROM namespaces WHERE id = ?"+s.DB.Dialect().ForUpdate(), p.Namespace); err != nil {
		return fmt.Errorf("lock group: %w", err)
	}
	last, err := s.lastOwner(ctx, p, m.UserID)
	if err != nil {
		return err
	}
	if last {
		return errs.Denied("")
	}
	return nil
}

// mayGive reports whether a user of the level own may give a role. Planner stands
// beside the ladder: only owners and planners give it.
func mayGive(as authz.Actor, own, role authz.Level) bool {
	switch {
	case as.Admin:
		return true
	case role == authz.Planner:
		return own >= authz.Owner || own == authz.Planner
	}
	return role <= own
}

func (s *Service) direct(ctx context.Context, p authz.Place, user authz.UserID) (*Member, error) {
	inner, args := s.membersSQL(authz.Actor{}, p, MemberFilter{})
	m, err := db.Get[Member](ctx, s.DB, `SELECT z.namespace_id, z.user_id, z.access_level, z.expires_on, z.created_by_id, z.created_at,
		z.depth, u.user_type = 'bot' AS bot FROM (`+inner+`) z JOIN users u ON u.id = z.user_id WHERE z.rank = 1 AND z.user_id = ?`,
		append(args, user)...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find member: %w", err)
	}
	return &m, nil
}

func (s *Service) person(ctx context.Context, in MemberInput) (person, error) {
	query, arg := "SELECT id, username FROM users WHERE id = ?", any(in.UserID)
	if in.UserID == 0 {
		query, arg = "SELECT id, username FROM users WHERE username_fold = ?", db.Fold(in.Username)
	}
	u, err := db.Get[person](ctx, s.DB, query, arg)
	if errors.Is(err, db.ErrNotFound) {
		return person{}, errs.Missing("User")
	}
	if err != nil {
		return person{}, fmt.Errorf("find user to add: %w", err)
	}
	return u, nil
}

// checkMember validates a role and a date at a place.
func (s *Service) checkMember(ctx context.Context, p authz.Place, user authz.UserID, level authz.Level, expires *string) error {
	var f errs.Fields
	if !level.Assignable() || level == authz.Minimal && (!p.Group || p.Parent != nil) {
		f.Add("access_level", messageNotListed)
		return f.Err()
	}
	if p.Parent != nil && !p.Personal {
		inherited, group, err := s.inheritedLevel(ctx, p, user)
		if err != nil {
			return err
		}
		if level < inherited {
			f.Add("access_level", fmt.Sprintf("should be greater than or equal to %s inherited membership from group %s", inherited.Name(), group))
		}
	}
	return s.checkExpiry(&f, expires)
}

// checkExpiry looks at the day on which a membership or an invitation of a group ends,
// and gives what was found so far with it.
func (s *Service) checkExpiry(f *errs.Fields, expires *string) error {
	if expires != nil {
		if _, err := time.Parse(time.DateOnly, *expires); err != nil {
			return fmt.Errorf("date of expiry: %w", err)
		}
		f.Check(*expires >= s.today(), "expires_at", "cannot be a date in the past")
	}
	return f.Err()
}

// mayInvite refuses new members where the settings leave them to administrators.
func (s *Service) mayInvite(as authz.Actor) error {
	if s.Settings.Current().DisableInviteMembers && !as.Admin {
		return errs.Denied("Only administrators invite members on this instance")
	}
	return nil
}
