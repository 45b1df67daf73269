package approval

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Value is one setting as it holds in a place.
type Value struct {
	On     bool
	Locked bool
	From   string // instance or group, where that locks it; "" otherwise
}

// Settings are how approvals work in a place.
type Settings struct {
	AuthorApproval    Value `change:"allow_author_approval"`                              // authors of merge requests may approve them
	CommitterApproval Value `change:"allow_committer_approval"`                           // authors and committers of commits may approve
	Overrides         Value `change:"allow_overrides_to_approver_list_per_merge_request"` // merge requests may have rules of their own
	RetainOnPush      Value `change:"retain_approvals_on_push"`                           // approvals stay when commits are added
	SelectiveRemovals Value `change:"selective_code_owner_removals"`                      // as far as code owners of changed files gave them, they do not
	RequirePassword   Value `change:"require_password_to_approve"`
}

// Changes are those of UpdateSettings; nil leaves alone.
type Changes struct {
	AuthorApproval    *bool
	CommitterApproval *bool
	Overrides         *bool
	RetainOnPush      *bool
	SelectiveRemovals *bool
	RequirePassword   *bool
}

// SettingsChanged is published when a group or project changed how approvals work.
type SettingsChanged struct{ change.Of[Settings] }

// settingRow is what a place itself says.
type settingRow struct {
	ID                int64             `db:"id"`
	Namespace         authz.NamespaceID `db:"namespace_id"`
	AuthorApproval    bool              `db:"author_approval"`
	CommitterApproval bool              `db:"committer_approval"`
	Overrides         bool              `db:"overrides"`
	RetainOnPush      bool              `db:"retain_on_push"`
	SelectiveRemovals bool              `db:"selective_removals"`
	RequirePassword   bool              `db:"require_password"`
	CreatedAt         db.Time           `db:"created_at"`
	UpdatedAt         db.Time           `db:"updated_at"`
}

// initial is what a place says that said nothing.
func initial(at authz.NamespaceID) settingRow {
	return settingRow{Namespace: at, CommitterApproval: true, Overrides: true}
}

// SettingsOf returns how approvals work in a project or a group. It requires the right to change
// that there.
func (s *Service) SettingsOf(ctx context.Context, as authz.Actor, at authz.Place) (*Settings, error) {
	if err := s.Policy.Require(ctx, as, at.Ability(authz.ReadApprovalSettings, authz.ReadGroupApprovalSettings), at.Subject); err != nil {
		return nil, err
	}
	return s.settingsAt(ctx, at.Subject.Namespace)
}

// Configuration is SettingsOf a project for who may open merge requests there.
func (s *Service) Configuration(ctx context.Context, as authz.Actor, at authz.Place) (*Settings, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadApprovalRules, at.Subject); err != nil {
		return nil, err
	}
	return s.settingsAt(ctx, at.Subject.Namespace)
}

// UpdateSettings changes how approvals work in a project or a group and returns that. What the
// instance or a group above locks stays as it is. It requires AdminApprovalSettings or
// AdminGroupApprovalSettings.
func (s *Service) UpdateSettings(ctx context.Context, as authz.Actor, at authz.Place, c Changes) (*Settings, error) {
	if err := s.Policy.Require(ctx, as, at.Ability(authz.AdminApprovalSettings, authz.AdminGroupApprovalSettings), at.Subject); err != nil {
		return nil, err
	}
	place := at.Subject.Namespace
	var after *Settings
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		before, err := s.settingsAt(ctx, place)
		if err != nil {
			return err
		}
		row := db.Row{Table: "approval_settings", Key: "namespace_id", ID: place, Now: s.Now}
		apply := func(_ context.Context, r *settingRow) error { r.apply(c, before); return nil }
		_, err = db.Update(ctx, s.DB, row, apply)
		if errors.Is(err, db.ErrNotFound) {
			first := initial(place)
			first.CreatedAt = db.At(s.Now())
			first.UpdatedAt = first.CreatedAt
			first.apply(c, before)
			// Another call may make the row at the same time.
			if _, err = db.InsertRow(ctx, s.DB, "approval_settings", first, "ON CONFLICT DO NOTHING"); err == nil {
				_, err = db.Update(ctx, s.DB, row, apply)
			}
		}
		if err != nil {
			return err
		}
		if after, err = s.settingsAt(ctx, place); err != nil || *after == *before {
			return err
		}
		return s.Bus.Publish(ctx, SettingsChanged{change.Between(as, s.Now(), at, before, after)})
	})
	var known *errs.Error
	if err != nil && !errors.As(err, &known) {
		return nil, fmt.Errorf("update approval settings: %w", err)
	}
	return after, err
}

// apply changes what is not locked.
func (r *settingRow) apply(c Changes, now *Settings) {
	for _, f := range []struct {
		to   *bool
		want *bool
		now  Value
	}{
		{&r.AuthorApproval, c.AuthorApproval, now.AuthorApproval},
		{&r.CommitterApproval, c.CommitterApproval, now.CommitterApproval},
		{&r.Overrides, c.Overrides, now.Overrides},
		{&r.RetainOnPush, c.RetainOnPush, now.RetainOnPush},
		{&r.SelectiveRemovals, c.SelectiveRemovals, now.SelectiveRemovals},
		{&r.RequirePassword, c.RequirePassword, now.RequirePassword},
	} {
		if f.want != nil && !f.now.Locked {
			*f.to = *f.want
		}
	}
}

func (s *Service) settingsAt(ctx context.Context, at authz.NamespaceID) (*Settings, error) {
	all, err := s.settingsOf(ctx, []authz.NamespaceID{at})
	if err != nil {
		return nil, err
	}
	out := all[at]
	return &out, nil
}

// settingsOf returns how approvals work in some places: as each says itself, but for what the
// instance or a group above forbids. It takes one statement.
func (s *Service) settingsOf(ctx context.Context, places []authz.NamespaceID) (map[authz.NamespaceID]Settings, error) {
	type row struct {
		Place authz.NamespaceID `db:"place"`
		settingRow
	}
	var w db.Where
	w.In("a.namespace_id", places)
	rows, err := db.Select[row](ctx, s.DB, "SELECT a.namespace_id AS place, "+db.Columns[settingRow]("s")+` FROM namespace_ancestors a
		JOIN approval_settings s ON s.namespace_id = a.ancestor_id`+w.SQL()+" ORDER BY a.namespace_id, a.depth", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read approval settings: %w", err)
	}
	own, above := map[authz.NamespaceID]settingRow{}, map[authz.NamespaceID][]settingRow{}
	for _, r := range rows {
		if r.Namespace == r.Place {
			own[r.Place] = r.settingRow
		} else {
			above[r.Place] = append(above[r.Place], r.settingRow)
		}
	}
	out := make(map[authz.NamespaceID]Settings, len(places))
	for _, id := range places {
		said, ok := own[id]
		if !ok {
			said = initial(id)
		}
		out[id] = s.effective(said, above[id])
	}
	return out, nil
}

// effective combines what a place says with the instance and with the groups above it.
func (s *Service) effective(own settingRow, above []settingRow) Settings {
	set := s.Settings.Current()
	out := Settings{
		AuthorApproval: Value{On: own.AuthorApproval}, CommitterApproval: Value{On: own.CommitterApproval}, Overrides: Value{On: own.Overrides},
		RetainOnPush: Value{On: own.RetainOnPush}, SelectiveRemovals: Value{On: own.SelectiveRemovals}, RequirePassword: Value{On: own.RequirePassword},
	}
	lock := func(v *Value, on bool, from string, when bool) {
		if when && !v.Locked {
			*v = Value{On: on, Locked: true, From: from}
		}
	}
	lock(&out.AuthorApproval, false, "instance", set.PreventAuthorApproval)
	lock(&out.CommitterApproval, false, "instance", set.PreventCommittersApproval)
	lock(&out.Overrides, false, "instance", set.DisableOverridingApprovers)
	for _, g := range above {
		lock(&out.AuthorApproval, false, "group", !g.AuthorApproval)
		lock(&out.CommitterApproval, false, "group", !g.CommitterApproval)
		lock(&out.Overrides, false, "group", !g.Overrides)
		lock(&out.RetainOnPush, false, "group", !g.RetainOnPush)
		lock(&out.RequirePassword, true, "group", g.RequirePassword)
	}
	return out
}

// About names the settings, which have no id: they are those of their place.
func (Settings) About() change.Subject { return change.Subject{Type: "ApprovalSettings"} }
