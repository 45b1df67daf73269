package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// GroupFact is what events say of a group's row. It has no access level of a user, and it keeps
// the former UpdatedAt and the former values that groups above decide: use At for the time.
// Handlers do not change what it points to.
type GroupFact = change.Of[Group]

// GroupCreated is published when a group was made.
type GroupCreated struct{ GroupFact }

// GroupUpdated is published when a group got other attributes.
type GroupUpdated struct {
	GroupFact
	Attributes []string // that changed, by their names in the API
}

// GroupMarked is published when a group was marked for deletion after its grace period, or,
// where Restored, when that was taken back.
type GroupMarked struct {
	GroupFact
	Restored bool
}

// GroupArchived is published when a group was made read-only with everything in it, or,
// where Undone, writable again.
type GroupArchived struct {
	GroupFact
	Undone bool
}

// GroupTransferred is published when a group was moved into another one or to the top level.
type GroupTransferred struct{ GroupFact }

// GroupRemoving is published when a group is about to be deleted, with what hangs on it.
type GroupRemoving struct{ GroupFact }

// GroupDeleted is published when a group is gone.
type GroupDeleted struct{ GroupFact }

// MemberAdded is published when a user became a member of a place.
type MemberAdded struct {
	change.Of[Member]

	User MemberUser
}

// MemberChanged is published when a membership got another level or date of expiry.
type MemberChanged struct {
	change.Of[Member]

	User MemberUser
}

// MemberUser is what events of a membership say of its user.
type MemberUser struct {
	ID          authz.UserID `db:"id"`
	Username    string       `db:"username"`
	Name        string       `db:"name"`
	PublicEmail string       `db:"public_email"` // "" where the user shows none
}

// MemberRemoved is published when a membership ended; By is the user where they left by
// themselves.
type MemberRemoved struct {
	change.Of[Member]

	User     MemberUser
	Unassign bool // the user is to be taken off the issues and merge requests of the place and of what is inside it
}

// groupFact is what events say of a change.
func (s *Service) groupFact(as authz.Actor, c *db.Change[Group]) GroupFact {
	return change.Updated(as, s.Now(), c.After.Place(), c)
}

// memberUser reads what events say of a user.
func (s *Service) memberUser(ctx context.Context, id authz.UserID) (MemberUser, error) {
	u, err := db.Get[MemberUser](ctx, s.DB, "SELECT id, username, name, public_email FROM users WHERE id = ?", id)
	if err != nil {
		return u, fmt.Errorf("read user of member: %w", err)
	}
	return u, nil
}

// removed publishes the end of a membership.
func (s *Service) removed(ctx context.Context, as authz.Actor, p authz.Place, m Member, o Removal) error {
	u, err := s.memberUser(ctx, m.UserID)
	if err != nil {
		return err
	}
	return s.Bus.Publish(ctx, MemberRemoved{Of: change.Deleted(as, s.Now(), p, &m), User: u, Unassign: o.Unassign})
}
