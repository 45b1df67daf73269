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
)

// Share is a group invited into a group or project.
type Share struct {
	ID          int64       `db:"id"`
	NamespaceID ID          `db:"namespace_id"` // where it is invited to
	GroupID     ID          `db:"group_id"`
	Name        string      `db:"name"`
	FullPath    string      `db:"full_path"`
	Level       authz.Level `db:"access_level"` // the most its members get
	ExpiresOn   *string     `db:"expires_on"`   // YYYY-MM-DD
}

// ShareInput names a group to invite and what its members get at most.
type ShareInput struct {
	GroupID   ID
	Level     authz.Level
	ExpiresOn *string // YYYY-MM-DD, nil never
}

// GroupShared says that a group was invited into a place.
type GroupShared struct {
	authz.Stamp

	Place     authz.Place
	GroupID   ID
	GroupName string
	Level     authz.Level
	Expiry    *string
}

// GroupUnshared says that a group is invited into a place no more.
type GroupUnshared struct {
	authz.Stamp

	Place     authz.Place
	GroupID   ID
	GroupName string
	Level     authz.Level
}

type shareRow struct {
	ID          int64       `db:"id"`
	NamespaceID ID          `db:"namespace_id"`
	GroupID     ID          `db:"group_id"`
	Level       authz.Level `db:"access_level"`
	ExpiresOn   *string     `db:"expires_on"`
	CreatedAt   db.Time     `db:"created_at"`
	UpdatedAt   db.Time     `db:"updated_at"`
}

const (
	messageSharingOff    = "The project sharing with group is disabled"
	messageOwnAncestor   = "Project cannot be shared with the group it is in or one of its ancestors."
	messageProjectShared = "Project already shared with this group"
	messageGroupShared   = "Shared group The group has already been shared with this group"
)

// CodeNotInvitable is a group that is missing, or that the actor may not invite.
const CodeNotInvitable errs.Code = "group_not_invitable"

func notFound() error { return errs.Coded(errs.NotFound, CodeNotInvitable, "") }

// requireShare checks that the actor may invite groups. Maintainers of a project pass
// the first gate and are then told what hidden says.
func (s *Service) requireShare(ctx context.Context, as authz.Actor, p authz.Place, hidden error) error {
	if p.Group {
		return s.Policy.Require(ctx, as, authz.ShareGroup, p.Subject)
	}
	if err := s.Policy.Require(ctx, as, authz.AdminProject, p.Subject); err != nil {
		return err
	}
	err := s.Policy.Require(ctx, as, authz.ShareProject, p.Subject)
	if errs.Is(err, errs.Forbidden) {
		return hidden
	}
	return err
}

// Share invites a group into a group or project: its members get their own role there,
// at most the level. A group that the actor may not invite is a bare NotFound, one that
// is invited already a Conflict.
func (s *Service) Share(ctx context.Context, as authz.Actor, p authz.Place, in ShareInput) (*Share, error) {
	if err := s.requireShare(ctx, as, p, notFound()); err != nil {
		return nil, err
	}
	var f errs.Fields
	f.Check(in.Level.Assignable() && in.Level >= authz.Guest, "group_access", messageNotListed)
	if err := s.checkExpiry(&f, in.ExpiresOn); err != nil {
		return nil, err
	}
	group, err := s.invitable(ctx, as, p, in.GroupID)
	if err != nil {
		return nil, err
	}
	if outside, err := s.outsiders(ctx, p, group.ID); err != nil {
		return nil, err
	} else if outside {
		return nil, errs.New(errs.Unprocessable, group.FullPath+" has members without a confirmed email address of a domain that the group allows ("+settingEmailDomains+")")
	}
	now := db.At(s.Now())
	out := &Share{NamespaceID: p.Namespace, GroupID: group.ID, Name: group.Name, FullPath: group.FullPath, Level: in.Level, ExpiresOn: in.ExpiresOn}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		// An invitation that ran out makes room.
		if _, err := s.DB.Exec(ctx, "DELETE FROM shares WHERE namespace_id = ? AND group_id = ? AND expires_on <= ?",
			p.Namespace, group.ID, s.today()); err != nil {
			return err
		}
		row := shareRow{0, p.Namespace, group.ID, in.Level, in.ExpiresOn, now, now}
		if err := db.Create(ctx, s.DB, "shares", &row); err != nil {
			return err
		}
		out.ID = row.ID
		return s.Bus.Publish(ctx, GroupShared{Place: p, GroupID: group.ID, GroupName: group.Name, Level: in.Level, Expiry: in.ExpiresOn, Stamp: as.Stamp(s.Now())})
	})
	switch {
	case db.Duplicate(err, "shares") && p.Group:
		return nil, errs.New(errs.Conflict, messageGroupShared)
	case db.Duplicate(err, "shares"):
		return nil, errs.New(errs.Conflict, messageProjectShared)
	case err != nil:
		return nil, fmt.Errorf("share with group: %w", err)
	}
	return out, nil
}

// invitable finds the group to invite and checks that it may be invited there.
func (s *Service) invitable(ctx context.Context, as authz.Actor, p authz.Place, id ID) (*Group, error) {
	group, err := s.FindByID(ctx, as, id)
	if errs.Is(err, errs.NotFound) {
		return nil, notFound()
	}
	if err != nil {
		return nil, err
	}
	if p.Group {
		if group.ID == p.Namespace {
			return nil, notFound()
		}
		return group, s.checkHierarchy(ctx, p, group)
	}
	if group.Level == authz.NoAccess && !as.Admin {
		return nil, notFound() // a user who invites a group into a project belongs to it
	}
	type above struct {
		Inside bool `db:"inside"`
		Locked bool `db:"locked"`
	}
	at, err := db.Get[above](ctx, s.DB, `SELECT
		EXISTS (SELECT 1 FROM namespace_ancestors WHERE namespace_id = ? AND ancestor_id = ?) AS inside,
		EXISTS (SELECT 1 FROM namespace_ancestors a JOIN groups g ON g.namespace_id = a.ancestor_id
			WHERE a.namespace_id = ? AND g.share_with_group_lock) AS locked`, p.Namespace, group.ID, p.Namespace)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look above project: %w", err)
	case at.Locked:
		return nil, errs.Plain(messageSharingOff)
	case at.Inside:
		return nil, errs.New(errs.Conflict, messageOwnAncestor)
	}
	return group, s.checkHierarchy(ctx, p, group)
}

// Invitable narrows a filter to the groups that Share takes into a project, and reports
// whether there may be any.
func (s *Service) Invitable(ctx context.Context, project ID, f *GroupFilter) (bool, error) {
	f.NotInvited, f.NotAbove = &project, &project
	type root struct {
		ID       ID     `db:"id"`
		Settings string `db:"settings"`
		Locked   bool   `db:"locked"`
	}
	top, err := db.Get[root](ctx, s.DB, `SELECT g.namespace_id AS id, g.settings,
		EXISTS (SELECT 1 FROM namespace_ancestors l JOIN groups lg ON lg.namespace_id = l.ancestor_id
			WHERE l.namespace_id = a.namespace_id AND lg.share_with_group_lock) AS locked
		FROM namespace_ancestors a JOIN groups g ON g.namespace_id = a.ancestor_id
		WHERE a.namespace_id = ? ORDER BY a.depth DESC LIMIT 1`, project)
	if errors.Is(err, db.ErrNotFound) {
		return true, nil // it belongs to a person
	}
	if err != nil {
		return false, fmt.Errorf("top-level group: %w", err)
	}
	g := Group{SettingsJSON: top.Settings}
	if g.Settings().PreventSharingGroupsOutsideHierarchy {
		f.Ancestor = &top.ID
	}
	return !top.Locked, nil
}

// checkHierarchy refuses groups of another tree where the top-level group keeps
// invitations inside its own.
func (s *Service) checkHierarchy(ctx context.Context, p authz.Place, group *Group) error {
	top, inside, err := s.tree(ctx, p.Namespace, group.ID)
	if err != nil {
		return err
	}
	if top.PreventSharingGroupsOutsideHierarchy && !inside {
		return notFound()
	}
	return nil
}

// KeepsForks reports whether the top-level group that a place is in wants its forks
// inside, and the namespace is not.
func (s *Service) KeepsForks(ctx context.Context, place, namespace ID) (bool, error) {
	top, inside, err := s.tree(ctx, place, namespace)
	return err == nil && !inside && top.PreventForkingOutsideGroup != nil && *top.PreventForkingOutsideGroup, err
}

// tree returns the settings of the top-level group that a place is in, none where it
// belongs to a person, and whether another namespace is in that group too.
func (s *Service) tree(ctx context.Context, place, other ID) (top GroupSettings, inside bool, err error) {
	type root struct {
		Settings string `db:"settings"`
		Inside   bool   `db:"inside"`
	}
	at, err := db.Get[root](ctx, s.DB, `SELECT g.settings,
		EXISTS (SELECT 1 FROM namespace_ancestors i WHERE i.namespace_id = ? AND i.ancestor_id = a.ancestor_id) AS inside
		FROM namespace_ancestors a JOIN groups g ON g.namespace_id = a.ancestor_id
		WHERE a.namespace_id = ? ORDER BY a.depth DESC LIMIT 1`, other, place)
	if errors.Is(err, db.ErrNotFound) {
		return GroupSettings{}, false, nil
	}
	if err != nil {
		return GroupSettings{}, false, fmt.Errorf("top-level group: %w", err)
	}
	return (&Group{SettingsJSON: at.Settings}).Settings(), at.Inside, nil
}

// Unshare takes the invitation of a group back.
func (s *Service) Unshare(ctx context.Context, as authz.Actor, p authz.Place, group ID) error {
	if err := s.requireShare(ctx, as, p, errs.Missing("Group Link")); err != nil {
		return err
	}
	old, err := db.Get[Share](ctx, s.DB, `SELECT s.id, s.namespace_id, s.group_id, n.name, r.path AS full_path, s.access_level, s.expires_on
		FROM shares s JOIN namespaces n ON n.id = s.group_id JOIN routes r ON r.namespace_id = n.id
		WHERE s.namespace_id = ? AND s.group_id = ?`, p.Namespace, group)
	if errors.Is(err, db.ErrNotFound) {
		return errs.Missing("Group Link")
	}
	if err != nil {
		return fmt.Errorf("find share: %w", err)
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		row := db.Row{Table: "shares", ID: old.ID, If: as.UnmodifiedAt, Missing: errs.Missing("Group Link")}
		if _, err := db.Delete[shareRow](ctx, s.DB, row, nil); err != nil {
			return errs.Wrap(err, "unshare")
		}
		return s.Bus.Publish(ctx, GroupUnshared{Place: p, GroupID: old.GroupID, GroupName: old.Name, Level: old.Level, Stamp: as.Stamp(s.Now())})
	})
}

// Shares lists the groups invited into some places that the actor may see, by place.
func (s *Service) Shares(ctx context.Context, as authz.Actor, ids []ID) (map[ID][]Share, error) {
	out := map[ID][]Share{}
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("s.namespace_id", ids)
	w.And("(s.expires_on IS NULL OR s.expires_on > ?)", s.today())
	seen, args := s.Policy.VisibleGroupsSQL(as, "n")
	w.And(seen, args...)
	rows, err := db.Select[Share](ctx, s.DB, `SELECT s.id, s.namespace_id, s.group_id, n.name, r.path AS full_path, s.access_level, s.expires_on
		FROM shares s JOIN namespaces n ON n.id = s.group_id JOIN routes r ON r.namespace_id = n.id`+w.SQL()+" ORDER BY s.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("invited groups: %w", err)
	}
	for _, share := range rows {
		out[share.NamespaceID] = append(out[share.NamespaceID], share)
	}
	return out, nil
}

func (s *Service) today() string { return s.Now().UTC().Format(time.DateOnly) }

// About names it for events.
func (r shareRow) About() change.Subject {
	return change.Subject{Type: "Group", ID: int64(r.GroupID)}
}

// Changed is the event in its generic form.
func (e GroupShared) Changed() change.Fact {
	row := shareRow{NamespaceID: e.Place.Namespace, GroupID: e.GroupID, Level: e.Level, ExpiresOn: e.Expiry}
	f := change.View(e.Stamp, e.Place, nil, &row)
	f.Subject.Title = e.GroupName
	return f
}

// Changed is the event in its generic form.
func (e GroupUnshared) Changed() change.Fact {
	f := change.View(e.Stamp, e.Place, &shareRow{NamespaceID: e.Place.Namespace, GroupID: e.GroupID, Level: e.Level}, nil)
	f.Subject.Title = e.GroupName
	return f
}
