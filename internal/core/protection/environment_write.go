package protection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
)

const (
	maxEnvironments      = 100 // protected ones of a project or group
	maxEnvironmentLevels = 50  // of one
	maxApprovals         = 5   // that one rule requires
)

// EnvironmentLevelInput is one level that a protected environment is to have. With an ID it changes the level that has it, or takes it away.
type EnvironmentLevelInput struct {
	ID          *int64
	Destroy     bool
	Level       *authz.Level
	UserID      *authz.UserID
	GroupID     *authz.NamespaceID
	Inheritance *int64
	Approvals   *int64 // of an approval rule; nil is 1
}

// EnvironmentChanges are what a call sets of a protected environment; nil leaves alone.
type EnvironmentChanges struct {
	RequiredApprovals *int64
	Deploy, Approvals []EnvironmentLevelInput
}

func environmentAbility(at authz.Place, write bool) authz.Ability {
	if write {
		return at.Ability(authz.AdminProtectedEnvironment, authz.AdminGroupProtectedEnvironment)
	}
	return at.Ability(authz.ReadProtectedEnvironment, authz.ReadGroupProtectedEnvironment)
}

// inPlace selects the protected environments of a project or group.
func inPlace(at authz.Place, alias string) db.Where {
	var w db.Where
	if at.Group {
		w.And(alias+"group_id = ?", at.Namespace)
	} else {
		w.And(alias+"project_id = ?", at.ID)
	}
	return w
}

// ProtectedEnvironments returns a page of the protected environments of a project, or of the protected tiers of a group, by name.
func (s *Service) ProtectedEnvironments(ctx context.Context, as authz.Actor, at authz.Place, r page.Range) (page.Page[ProtectedEnvironment], error) {
	if err := s.Policy.Require(ctx, as, environmentAbility(at, false), at.Subject); err != nil {
		return page.Page[ProtectedEnvironment]{}, err
	}
	order := page.Order{page.Text("name", "e.name"), page.ID("e.id")}
	list, err := page.Select[ProtectedEnvironment](ctx, s.DB, page.Query{Columns: environmentColumns, From: "protected_environments e", Where: inPlace(at, "e."), Order: order}, r)
	if err != nil {
		return list, fmt.Errorf("list protected environments: %w", err)
	}
	return list, s.fillEnvironments(ctx, list.Items)
}

// ProtectedEnvironment returns the protected environment of a name.
func (s *Service) ProtectedEnvironment(ctx context.Context, as authz.Actor, at authz.Place, name string) (*ProtectedEnvironment, error) {
	if err := s.Policy.Require(ctx, as, environmentAbility(at, false), at.Subject); err != nil {
		return nil, err
	}
	return s.environment(ctx, at, name)
}

func (s *Service) environment(ctx context.Context, at authz.Place, name string) (*ProtectedEnvironment, error) {
	w := inPlace(at, "e.")
	w.And("e.name = ?", name)
	list, err := db.Select[ProtectedEnvironment](ctx, s.DB, "SELECT "+environmentColumns+" FROM protected_environments e"+w.SQL()+" ORDER BY e.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("find protected environment: %w", err)
	}
	if len(list) == 0 {
		return nil, errs.Missing("")
	}
	return &list[0], s.fillEnvironments(ctx, list)
}

// ProtectEnvironment protects an environment of a project, or a tier below a group. A second one of the same name is a Conflict.
func (s *Service) ProtectEnvironment(ctx context.Context, as authz.Actor, at authz.Place, name string, c EnvironmentChanges) (*ProtectedEnvironment, error) {
	if err := s.Policy.Require(ctx, as, environmentAbility(at, true), at.Subject); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	e := &ProtectedEnvironment{Name: name, CreatedAt: now, UpdatedAt: now}
	if at.Group {
		e.GroupID = &at.Namespace
	} else {
		e.ProjectID = new(project.ID(at.ID))
	}
	if err := s.apply(ctx, at, e, c); err != nil {
		return nil, err
	}
	bound := db.Bound{
		Table: "protected_environments", Of: inPlace(at, ""), Most: maxEnvironments,
		Full: errs.Sentences(errs.Unprocessable, fmt.Sprintf("Maximum number of protected environments (%d) exceeded", maxEnvironments)),
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "protected_environments", e, bound); err != nil {
			return err
		}
		if _, err := s.storeEnvironmentLevels(ctx, e, nil); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, EnvironmentProtected{change.Created(as, s.Now(), at, e)})
	})
	if db.Duplicate(err, "protected_environments") {
		return nil, errs.New(errs.Conflict, "Protected environment '"+name+"' already exists")
	}
	if err != nil {
		return nil, errs.Wrap(err, "protect environment")
	}
	return s.environment(ctx, at, name)
}

// UpdateProtectedEnvironment changes a protected environment. Levels without an id are added to those it has.
func (s *Service) UpdateProtectedEnvironment(ctx context.Context, as authz.Actor, at authz.Place, name string, c EnvironmentChanges) (*ProtectedEnvironment, error) {
	if err := s.Policy.Require(ctx, as, environmentAbility(at, true), at.Subject); err != nil {
		return nil, err
	}
	known, err := s.environment(ctx, at, name)
	if err != nil {
		return nil, err
	}
	row := db.Row{Table: "protected_environments", ID: known.ID, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		var old ProtectedEnvironment
		changed := false
		out, err := db.Update(ctx, s.DB, row, func(ctx context.Context, e *ProtectedEnvironment) error {
			list := []ProtectedEnvironment{*e}
			if err := s.fillEnvironments(ctx, list); err != nil {
				return err
			}
			old = list[0]
			e.Deploy, e.Approvals = slices.Clone(old.Deploy), slices.Clone(old.Approvals)
			if err := s.apply(ctx, at, e, c); err != nil {
				return err
			}
			var err error
			if changed, err = s.storeEnvironmentLevels(ctx, e, slices.Concat(old.Deploy, old.Approvals)); changed {
				e.UpdatedAt = db.At(s.Now())
			}
			return err
		})
		if err != nil || !out.Any() && !changed {
			return err
		}
		out.Before.Deploy, out.Before.Approvals = old.Deploy, old.Approvals
		return s.Bus.Publish(ctx, EnvironmentProtectionUpdated{change.Updated(as, s.Now(), at, &out)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "update protected environment")
	}
	return s.environment(ctx, at, name)
}

// UnprotectEnvironment deletes a protected environment. All who may deploy may deploy to it from then on.
func (s *Service) UnprotectEnvironment(ctx context.Context, as authz.Actor, at authz.Place, name string) error {
	if err := s.Policy.Require(ctx, as, environmentAbility(at, true), at.Subject); err != nil {
		return err
	}
	known, err := s.environment(ctx, at, name)
	if err != nil {
		return err
	}
	row := db.Row{Table: "protected_environments", ID: known.ID, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete[ProtectedEnvironment](ctx, s.DB, row, nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, EnvironmentUnprotected{change.Deleted(as, s.Now(), at, &was)})
	})
	return errs.Wrap(err, "unprotect environment")
}

// apply writes changes into a protected environment and checks it. Users and groups that the place does not know are left out.
func (s *Service) apply(ctx context.Context, at authz.Place, e *ProtectedEnvironment, c EnvironmentChanges) error {
	if c.RequiredApprovals != nil {
		e.RequiredApprovals = *c.RequiredApprovals
	}
	var err error
	if e.Deploy, err = s.mergeLevels(ctx, at, e.Deploy, c.Deploy, false); err != nil {
		return err
	}
	if e.Approvals, err = s.mergeLevels(ctx, at, e.Approvals, c.Approvals, true); err != nil {
		return err
	}
	var found []string
	add := func(broken bool, text string) {
		if broken {
			found = append(found, text)
		}
	}
	add(strings.TrimSpace(e.Name) == "", "Name can't be blank")
	add(utf8.RuneCountInString(e.Name) > 255, "Name is too long (maximum is 255 characters)")
	add(at.Group && e.Name != "" && !slices.Contains(Tiers, e.Name), "Name is not included in the list")
	add(e.ID == 0 && !at.Group && strings.TrimSpace(e.Name) != "" && !ciconfig.EnvironmentName(e.Name), "Name "+ciconfig.EnvironmentNameText)
	add(len(e.Deploy) == 0, "Deploy access levels can't be blank")
	add(len(e.Deploy) > maxEnvironmentLevels, fmt.Sprintf("Deploy access levels are too many (maximum is %d)", maxEnvironmentLevels))
	add(len(e.Approvals) > maxEnvironmentLevels, fmt.Sprintf("Approval rules are too many (maximum is %d)", maxEnvironmentLevels))
	add(e.RequiredApprovals < 0 || e.RequiredApprovals > maxApprovals, fmt.Sprintf("Required approval count must be between 0 and %d", maxApprovals))
	for _, l := range slices.Concat(e.Deploy, e.Approvals) {
		add(l.Level != nil && !slices.Contains([]authz.Level{authz.Developer, authz.Maintainer, authz.AdminLevel}, *l.Level), "Deploy access levels access level is not included in the list")
		add(l.Inheritance != DirectMembers && l.Inheritance != InheritedMembers, "Deploy access levels group inheritance type is not included in the list")
		add(l.Approvals != nil && (*l.Approvals < 1 || *l.Approvals > maxApprovals), fmt.Sprintf("Approval rules required approvals must be between 1 and %d", maxApprovals))
	}
	if len(found) > 0 {
		return errs.Sentences(errs.Unprocessable, slices.Compact(found)...)
	}
	return nil
}

// mergeLevels puts wanted levels to those that there are.
func (s *Service) mergeLevels(ctx context.Context, at authz.Place, old []EnvironmentLevel, wanted []EnvironmentLevelInput, approval bool) ([]EnvironmentLevel, error) {
	out := slices.Clone(old)
	for _, in := range wanted {
		i := -1
		if in.ID != nil {
			if i = slices.IndexFunc(out, func(l EnvironmentLevel) bool { return l.ID == *in.ID }); i < 0 {
				return nil, errs.Missing("")
			}
			if in.Destroy {
				out = slices.Delete(out, i, i+1)
				continue
			}
		}
		next := EnvironmentLevel{}
		if i >= 0 {
			next = out[i]
		}
		if in.Level != nil || in.UserID != nil || in.GroupID != nil {
			next.Level, next.UserID, next.GroupID = in.Level, in.UserID, in.GroupID
			if in.UserID != nil || in.GroupID != nil {
				next.Level = nil // answers have a role beside a user or group, and clients send back what they were given
			}
		}
		if in.Inheritance != nil {
			next.Inheritance = *in.Inheritance
		}
		if approval && (in.Approvals != nil || next.Approvals == nil) {
			next.Approvals = new(int64(1))
			if in.Approvals != nil {
				next.Approvals = in.Approvals
			}
		}
		known, err := s.knows(ctx, at, &next)
		if err != nil {
			return nil, err
		}
		switch {
		case !known:
		case i >= 0:
			out[i] = next
		default:
			out = append(out, next)
		}
	}
	return out, nil
}

// knows reports whether a level names exactly one role, user or group, and the user or group has access to the place.
func (s *Service) knows(ctx context.Context, at authz.Place, l *EnvironmentLevel) (bool, error) {
	switch {
	case l.UserID != nil && l.GroupID == nil && l.Level == nil:
		subject := at.Subject
		subject.Known = false
		level, err := s.Policy.Level(ctx, authz.Actor{UserID: *l.UserID}, subject)
		return level >= authz.Guest, err
	case l.GroupID != nil && l.UserID == nil && l.Level == nil:
		// The group is above the place, below it where it is a group, or is invited.
		return db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM namespaces g WHERE g.id = ? AND g.kind = 'group' AND (
			EXISTS (SELECT 1 FROM namespace_ancestors a WHERE a.namespace_id = ? AND a.ancestor_id = g.id)
			OR EXISTS (SELECT 1 FROM namespace_ancestors a WHERE a.namespace_id = g.id AND a.ancestor_id = ?)
			OR EXISTS (SELECT 1 FROM namespace_ancestors a JOIN shares s ON s.namespace_id = a.ancestor_id AND s.group_id = g.id WHERE a.namespace_id = ?)))`,
			*l.GroupID, at.Namespace, at.Namespace, at.Namespace)
	}
	return l.Level != nil && l.UserID == nil && l.GroupID == nil, nil
}

// storeEnvironmentLevels writes the levels of a protected environment in place of those that it had, and reports whether any differs.
func (s *Service) storeEnvironmentLevels(ctx context.Context, e *ProtectedEnvironment, old []EnvironmentLevel) (changed bool, err error) {
	now := slices.Concat(e.Deploy, e.Approvals)
	for _, l := range old {
		if !slices.ContainsFunc(now, func(n EnvironmentLevel) bool { return n.ID == l.ID }) {
			if _, err := db.Drop(ctx, s.DB, db.Row{Table: "protected_environment_levels", ID: l.ID}); err != nil {
				return false, fmt.Errorf("drop level of protected environment: %w", err)
			}
			changed = true
		}
	}
	for i := range now {
		l := now[i]
		if l.EnvironmentID = e.ID; l.ID == 0 {
			if err := db.Create(ctx, s.DB, "protected_environment_levels", &l); err != nil {
				return false, fmt.Errorf("create level of protected environment: %w", err)
			}
			changed = true
			continue
		}
		out, err := db.Update(ctx, s.DB, db.Row{Table: "protected_environment_levels", ID: l.ID}, func(_ context.Context, row *EnvironmentLevel) error {
			*row = l
			return nil
		})
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return false, fmt.Errorf("update level of protected environment: %w", err)
		}
		changed = changed || out.Any()
	}
	return changed, nil
}
