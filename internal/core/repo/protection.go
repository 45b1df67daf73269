package repo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// RuleID identifies a protected branch rule.
type RuleID int64

// Actions that a protection rule speaks of.
const (
	actionPush      = "push"
	actionMerge     = "merge"
	actionUnprotect = "unprotect"
)

// Rule protects the branches whose names match it (facts-3 §14).
type Rule struct {
	ID             RuleID
	Name           string // a branch name, or a pattern in which * stands for anything
	AllowForcePush bool
	CodeOwners     bool
	Levels         []RuleLevel
}

// RuleLevel lets somebody do one action on the branches of its rule: whoever has the
// access level, or one user, or a group.
type RuleLevel struct {
	ID          int64
	Action      string
	Level       *authz.Level
	UserID      *authz.UserID
	GroupID     *authz.NamespaceID
	DeployKeyID *int64
}

// Matches reports whether the rule speaks of the branch.
func (r *Rule) Matches(branch string) bool { return matchWildcard(r.Name, branch) }

// matchWildcard matches a name against a pattern in which * stands for any run of
// characters, the empty one and slashes included.
func matchWildcard(pattern, name string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, head)
	if !ok {
		return false
	}
	for {
		part, next, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], next
	}
}

type ruleRow struct {
	ID          RuleID             `db:"id"`
	Name        string             `db:"name"`
	Force       bool               `db:"allow_force_push"`
	CodeOwners  bool               `db:"code_owner_approval_required"`
	LevelID     *int64             `db:"level_id"`
	Action      *string            `db:"action"`
	Level       *authz.Level       `db:"access_level"`
	UserID      *authz.UserID      `db:"user_id"`
	GroupID     *authz.NamespaceID `db:"group_id"`
	DeployKeyID *int64             `db:"deploy_key_id"`
}

// Rules reads the protected branch rules of a project, by name, in one statement.
func (s *Service) Rules(ctx context.Context, id project.ID) ([]*Rule, error) {
	rows, err := db.Select[ruleRow](ctx, s.db, `SELECT r.id, r.name, r.allow_force_push, r.code_owner_approval_required,
			l.id AS level_id, l.action, l.access_level, l.user_id, l.group_id, l.deploy_key_id
		FROM protected_branches r
		LEFT JOIN protected_branch_levels l ON l.protected_branch_id = r.id
		WHERE r.project_id = ?
		ORDER BY r.name, r.id, l.id`, id)
	if err != nil {
		return nil, fmt.Errorf("read protected branches: %w", err)
	}
	var out []*Rule
	for _, row := range rows {
		if len(out) == 0 || out[len(out)-1].ID != row.ID {
			out = append(out, &Rule{ID: row.ID, Name: row.Name, AllowForcePush: row.Force, CodeOwners: row.CodeOwners})
		}
		if row.LevelID != nil {
			rule := out[len(out)-1]
			rule.Levels = append(rule.Levels, RuleLevel{
				ID: *row.LevelID, Action: *row.Action, Level: row.Level,
				UserID: row.UserID, GroupID: row.GroupID, DeployKeyID: row.DeployKeyID,
			})
		}
	}
	return out, nil
}

// Access is what an actor may do with one branch.
type Access struct {
	Protected bool
	Push      bool // move it forward, or create it
	Merge     bool // accept a merge request into it
	ForcePush bool // move it to a commit that does not descend from it
	Delete    bool // through the API; nobody deletes a protected branch by git push
	// DevelopersPush and DevelopersMerge say whether the role of Developer is enough.
	DevelopersPush  bool
	DevelopersMerge bool
}

// BranchAccess says what the actor may do with the branch: developers anything with an
// unprotected one; of a protected one its rules decide, the most permissive of those
// that match (facts-3 §14).
func (s *Service) BranchAccess(ctx context.Context, as authz.Actor, p *project.Project, branch string) (Access, error) {
	rules, err := s.Rules(ctx, p.ID)
	if err != nil {
		return Access{}, err
	}
	return s.access(ctx, as, p, rules, branch)
}

// access is BranchAccess over rules that were read before.
func (s *Service) access(ctx context.Context, as authz.Actor, p *project.Project, rules []*Rule, branch string) (Access, error) {
	may, err := s.policy.Can(ctx, as, authz.PushCode, p.Subject())
	if err != nil {
		return Access{}, err
	}
	level, err := s.policy.Level(ctx, as, p.Subject())
	if err != nil {
		return Access{}, err
	}
	var out Access
	for _, rule := range rules {
		if !rule.Matches(branch) {
			continue
		}
		out.Protected = true
		out.ForcePush = out.ForcePush || rule.AllowForcePush
		for _, l := range rule.Levels {
			granted, err := s.granted(ctx, as, level, l)
			if err != nil {
				return Access{}, err
			}
			developers := l.Level != nil && *l.Level != authz.NoAccess && *l.Level <= authz.Developer
			switch l.Action {
			case actionPush:
				out.Push = out.Push || granted
				out.DevelopersPush = out.DevelopersPush || developers
			case actionMerge:
				out.Merge = out.Merge || granted
				out.DevelopersMerge = out.DevelopersMerge || developers
			}
		}
	}
	if !out.Protected {
		return Access{Push: may, Merge: may, ForcePush: may, Delete: may}, nil
	}
	out.Push = out.Push && may
	out.Merge = (out.Merge || out.Push) && may
	out.ForcePush = out.ForcePush && out.Push
	out.Delete = may && level >= authz.Maintainer
	return out, nil
}

// granted reports whether a rule's level is the actor's.
func (s *Service) granted(ctx context.Context, as authz.Actor, level authz.Level, l RuleLevel) (bool, error) {
	switch {
	case l.UserID != nil:
		return *l.UserID == as.UserID, nil
	case l.GroupID != nil:
		in, err := s.policy.Level(ctx, authz.Actor{UserID: as.UserID}, authz.Subject{Namespace: *l.GroupID})
		return in >= authz.Guest, err
	case l.Level == nil || *l.Level == authz.NoAccess:
		return false, nil
	case as.Admin:
		return true, nil
	}
	return level >= *l.Level, nil
}

// protect creates a rule with one level for pushing and one for merging, unless the
// project has a rule of that name. It runs inside the caller's transaction.
func (s *Service) protect(ctx context.Context, id project.ID, name string, push, merge authz.Level) error {
	now := s.now()
	taken, err := db.Get[bool](ctx, s.db, "SELECT EXISTS (SELECT 1 FROM protected_branches WHERE project_id = ? AND name = ?)", id, name)
	if err != nil {
		return fmt.Errorf("look for protection: %w", err)
	}
	if taken {
		return nil
	}
	type row struct {
		ID         int64      `db:"id"`
		ProjectID  project.ID `db:"project_id"`
		Name       string     `db:"name"`
		Force      bool       `db:"allow_force_push"`
		CodeOwners bool       `db:"code_owner_approval_required"`
		CreatedAt  db.Time    `db:"created_at"`
		UpdatedAt  db.Time    `db:"updated_at"`
	}
	rule, err := db.Insert(ctx, s.db, "protected_branches", row{
		ProjectID: id, Name: name, CreatedAt: db.At(now), UpdatedAt: db.At(now),
	})
	if err != nil {
		return fmt.Errorf("protect branch: %w", err)
	}
	for action, level := range map[string]authz.Level{actionPush: push, actionMerge: merge} {
		if _, err := s.db.Exec(ctx, `INSERT INTO protected_branch_levels (protected_branch_id, action, access_level)
			VALUES (?, ?, ?)`, rule, action, level); err != nil {
			return fmt.Errorf("protect branch: %w", err)
		}
	}
	return nil
}

// protectDefault gives the project's first branch the protection that the instance or
// its group asks for (facts-3 §7.6). It runs inside the caller's transaction.
func (s *Service) protectDefault(ctx context.Context, id project.ID, branch string) error {
	push, merge := authz.Maintainer, authz.Maintainer
	switch s.settings.Current().DefaultBranchProtection {
	case 0:
		return nil
	case 1:
		push, merge = authz.Developer, authz.Developer
	case 3:
		merge = authz.Developer
	}
	return s.protect(ctx, id, branch, push, merge)
}

// Protected reports which of the branches a rule speaks of.
func Protected(rules []*Rule, branch string) bool {
	return slices.ContainsFunc(rules, func(r *Rule) bool { return r.Matches(branch) })
}
