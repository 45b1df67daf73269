package protection

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// EnvironmentID identifies a protected environment.
type EnvironmentID int64

// The members of a group that a level of a protected environment names.
const (
	DirectMembers    = 0
	InheritedMembers = 1 // and those of the groups above it
)

// Tiers are what environments are for; those of groups are protected by them.
var Tiers = []string{"production", "staging", "testing", "development", "other"}

// EnvironmentLevel is who may deploy to a protected environment, or an approval rule: a role, a user or a group.
type EnvironmentLevel struct {
	ID            int64              `db:"id"`
	EnvironmentID EnvironmentID      `db:"protected_environment_id"`
	Approvals     *int64             `db:"required_approvals"` // of an approval rule, else nil
	Level         *authz.Level       `db:"access_level"`
	UserID        *authz.UserID      `db:"user_id"`
	GroupID       *authz.NamespaceID `db:"group_id"`
	Inheritance   int64              `db:"group_inheritance_type"`
}

// Role is the role of a level that lets deploy. Beside a user or group it is the default one, and has no effect.
func (l *EnvironmentLevel) Role() authz.Level {
	if l.Level == nil {
		return authz.Maintainer
	}
	return *l.Level
}

// ProtectedEnvironment is an environment of a project, or a tier of environments below a group, and who may deploy to it.
type ProtectedEnvironment struct {
	ID                EnvironmentID      `db:"id"`
	ProjectID         *project.ID        `db:"project_id"`
	GroupID           *authz.NamespaceID `db:"group_id"`
	Name              string             `db:"name"` // of an environment, or a tier
	RequiredApprovals int64              `db:"required_approval_count"`
	CreatedAt         db.Time            `db:"created_at"`
	UpdatedAt         db.Time            `db:"updated_at"`

	Deploy    []EnvironmentLevel `db:"-" change:"deploy_access_levels"`
	Approvals []EnvironmentLevel `db:"-" change:"approval_rules"`
}

// About names it for events.
func (e ProtectedEnvironment) About() change.Subject {
	return change.Subject{Type: "ProtectedEnvironment", ID: int64(e.ID), Title: e.Name}
}

// EnvironmentProtected is published when an environment or a tier gets a rule.
type EnvironmentProtected struct {
	change.Of[ProtectedEnvironment]
}

// EnvironmentProtectionUpdated is published when the rule of an environment or a tier changes.
type EnvironmentProtectionUpdated struct {
	change.Of[ProtectedEnvironment]
}

// EnvironmentUnprotected is published when the rule of an environment or a tier is deleted.
type EnvironmentUnprotected struct {
	change.Of[ProtectedEnvironment]
}

// Audit is what the audit trail records of it.
func (e EnvironmentProtected) Audit() []change.Entry {
	return change.Record("environment_protected", "Protected environment {title}", "deploy_access_levels", e.After.words())
}

// Audit is what the audit trail records of it.
func (e EnvironmentProtectionUpdated) Audit() []change.Entry {
	return change.Record("protected_environment_updated", "Changed protected environment {title}", "deploy_access_levels", e.After.words(), "from", e.Before.words())
}

// Audit is what the audit trail records of it.
func (EnvironmentUnprotected) Audit() []change.Entry {
	return change.Record("environment_unprotected", "Unprotected environment {title}")
}

// words are who may deploy, and the approvals that are required.
func (e *ProtectedEnvironment) words() []string {
	out := []string{}
	for _, l := range slices.Concat(e.Deploy, e.Approvals) {
		who := ""
		switch {
		case l.UserID != nil:
			who = fmt.Sprintf("user %d", *l.UserID)
		case l.GroupID != nil:
			who = fmt.Sprintf("group %d", *l.GroupID)
		case l.Level != nil:
			who = LevelWords(*l.Level)
		}
		if l.Approvals != nil {
			who = fmt.Sprintf("%d approvals by %s", *l.Approvals, who)
		}
		out = append(out, who)
	}
	if e.RequiredApprovals > 0 {
		out = append(out, fmt.Sprintf("%d approvals", e.RequiredApprovals))
	}
	return out
}

var (
	environmentColumns = db.Columns[ProtectedEnvironment]("e")
	levelColumns       = db.Columns[EnvironmentLevel]("l")
)

// fillEnvironments reads the levels of protected environments.
func (s *Service) fillEnvironments(ctx context.Context, list []ProtectedEnvironment) error {
	if len(list) == 0 {
		return nil
	}
	byID := make(map[EnvironmentID]*ProtectedEnvironment, len(list))
	ids := make([]EnvironmentID, len(list))
	for i := range list {
		list[i].Deploy, list[i].Approvals = nil, nil
		ids[i], byID[list[i].ID] = list[i].ID, &list[i]
	}
	var w db.Where
	w.In("l.protected_environment_id", ids)
	levels, err := db.Select[EnvironmentLevel](ctx, s.DB, "SELECT "+levelColumns+" FROM protected_environment_levels l"+w.SQL()+" ORDER BY l.id", w.Args()...)
	if err != nil {
		return fmt.Errorf("levels of protected environments: %w", err)
	}
	for _, l := range levels {
		e := byID[l.EnvironmentID]
		if l.Approvals == nil {
			e.Deploy = append(e.Deploy, l)
		} else {
			e.Approvals = append(e.Approvals, l)
		}
	}
	return nil
}

// EnvironmentRules returns what protects an environment of a project: the rule of its name, and those of its tier in the groups above. A project that
// does not have the environment yet says which tier it would be of. It asks for no permission.
func (s *Service) EnvironmentRules(ctx context.Context, p *project.Project, name, tier string) ([]ProtectedEnvironment, error) {
	list, err := db.Select[ProtectedEnvironment](ctx, s.DB, "SELECT "+environmentColumns+` FROM protected_environments e WHERE e.project_id = ? AND e.name = ?
		UNION ALL SELECT `+environmentColumns+` FROM protected_environments e JOIN namespace_ancestors a ON a.ancestor_id = e.group_id
		WHERE a.namespace_id = ? AND e.name = COALESCE((SELECT n.tier FROM environments n WHERE n.project_id = ? AND n.name = ?), ?) ORDER BY 1`,
		p.ID, name, p.NamespaceID, p.ID, name, tier)
	if err != nil {
		return nil, fmt.Errorf("protection of environment: %w", err)
	}
	return list, s.fillEnvironments(ctx, list)
}

// TierRules returns the rules of a tier in the groups above a project, which protect an environment once it is of that tier. It asks for no permission.
func (s *Service) TierRules(ctx context.Context, p *project.Project, tier string) ([]ProtectedEnvironment, error) {
	list, err := db.Select[ProtectedEnvironment](ctx, s.DB, "SELECT "+environmentColumns+` FROM protected_environments e JOIN namespace_ancestors a ON a.ancestor_id = e.group_id
		WHERE a.namespace_id = ? AND e.name = ? ORDER BY e.id`, p.NamespaceID, tier)
	if err != nil {
		return nil, fmt.Errorf("protection of tier: %w", err)
	}
	return list, s.fillEnvironments(ctx, list)
}

// MayDeploy reports whether an actor may deploy to an environment of a project: all rules that protect it have to let the actor. It asks for no
// other permission.
func (s *Service) MayDeploy(ctx context.Context, as authz.Actor, p *project.Project, name, tier string) (bool, error) {
	rules, err := s.EnvironmentRules(ctx, p, name, tier)
	if err != nil {
		return false, err
	}
	return s.Lets(ctx, as, p, rules)
}

// Lets reports whether all rules of an environment let an actor deploy to it. Administrators always may.
func (s *Service) Lets(ctx context.Context, as authz.Actor, p *project.Project, rules []ProtectedEnvironment) (bool, error) {
	if as.Admin {
		return true, nil
	}
	for i := range rules {
		matched, err := s.Matched(ctx, as, p, rules[i].Deploy)
		if err != nil || len(matched) == 0 {
			return false, err
		}
	}
	return true, nil
}

// Matched returns those of the levels that an actor has in a project.
func (s *Service) Matched(ctx context.Context, as authz.Actor, p *project.Project, levels []EnvironmentLevel) ([]EnvironmentLevel, error) {
	if !as.SignedIn() || len(levels) == 0 {
		return nil, nil
	}
	subject := p.Subject()
	subject.Known = false
	role, err := s.Policy.Level(ctx, as, subject)
	if err != nil {
		return nil, fmt.Errorf("read access: %w", err)
	}
	var out []EnvironmentLevel
	for _, l := range levels {
		has := false
		switch {
		case role < authz.Guest:
		case l.UserID != nil:
			has = *l.UserID == as.UserID
		case l.GroupID != nil:
			if has, err = s.memberOf(ctx, as.UserID, *l.GroupID, l.Inheritance); err != nil {
				return nil, err
			}
		case l.Level != nil:
			has = *l.Level == authz.AdminLevel && as.Admin || *l.Level != authz.AdminLevel && role >= *l.Level
		}
		if has {
			out = append(out, l)
		}
	}
	return out, nil
}

// memberOf reports whether a user is a member of a group: a direct one, or one of a group above it as well.
func (s *Service) memberOf(ctx context.Context, user authz.UserID, group authz.NamespaceID, inheritance int64) (bool, error) {
	if inheritance == InheritedMembers {
		level, err := s.Policy.Level(ctx, authz.Actor{UserID: user}, authz.Subject{Namespace: group})
		return level >= authz.Guest, err
	}
	return db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM members m WHERE m.namespace_id = ? AND m.user_id = ? AND m.access_level >= ?
		AND (m.expires_on IS NULL OR m.expires_on > ?))`, group, user, authz.Guest, s.Now().UTC().Format(time.DateOnly))
}

// NeedsApproval reports whether rules ask for approvals.
func NeedsApproval(rules []ProtectedEnvironment) bool {
	return slices.ContainsFunc(rules, func(e ProtectedEnvironment) bool {
		return e.RequiredApprovals > 0 && len(e.Approvals) == 0 || slices.ContainsFunc(e.Approvals, func(l EnvironmentLevel) bool { return *l.Approvals > 0 })
	})
}
