// Package protection keeps the rules that protect branches and tags, and judges what an
// actor may do with a branch or a tag under them.
package protection

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
)

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Settings *setting.Store
	Now      func() time.Time
}

// Service keeps and applies protection rules.
type Service struct {
	Deps

	above Above
}

// Collaborators knows who may push to a branch without being a member: merge requests do.
type Collaborators interface {
	// Collaborations returns the branches of a project that a signed-in actor may move
	// although not a member.
	Collaborations(ctx context.Context, as authz.Actor, p *project.Project) (map[string]bool, error)
}

// Above is what is above protections.
type Above struct {
	Collaborators Collaborators
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// Connect gives the service what is above it, once and before the first use.
func (s *Service) Connect(a Above) { s.above = a }

// RuleID identifies a rule among those of its kind.
type RuleID int64

// Actions that a protection rule speaks of.
const (
	ActionPush      = "push"
	ActionMerge     = "merge"
	ActionUnprotect = "unprotect"
	ActionCreateTag = "create"
)

// Rule protects the branches or tags whose names match it.
type Rule struct {
	ID             RuleID      `db:"id"`
	Name           string      `db:"name"` // a name, or a pattern in which * stands for anything
	AllowForcePush bool        `db:"allow_force_push"`
	CodeOwners     bool        `db:"code_owner_approval_required"`
	UpdatedAt      db.Time     `db:"updated_at"`
	Levels         []RuleLevel `db:"-" change:"access_levels"`

	Group authz.NamespaceID `db:"-" change:"-"` // the group of the rule, 0 where it is the project's own
}

// RuleLevel lets a user do one action on what its rule protects: a user who has the
// access level, or one user, or a group, or a deploy key.
type RuleLevel struct {
	ID          int64              `db:"id"`
	Action      string             `db:"action"`
	Level       *authz.Level       `db:"access_level"`
	UserID      *authz.UserID      `db:"user_id"`
	GroupID     *authz.NamespaceID `db:"group_id"`
	DeployKeyID *int64             `db:"deploy_key_id"`
}

// Matches reports whether the rule speaks of the name.
func (r *Rule) Matches(name string) bool { return MatchWildcard(r.Name, name) }

// MatchWildcard matches a name against a pattern in which * stands for any run of
// characters, the empty one and slashes included.
func MatchWildcard(name, text string) bool { return pattern.Wildcard(name, text) }

// ruleTables are where rules of one kind stand.
type ruleTables struct {
	rules, levels, key string
	flags              string // the columns of allow_force_push and code_owner_approval_required
}

var (
	branchTables = ruleTables{"protected_branches", "protected_branch_levels", "protected_branch_id", "r.allow_force_push, r.code_owner_approval_required"}
	tagTables    = ruleTables{"protected_tags", "protected_tag_levels", "protected_tag_id", "false AS allow_force_push, false AS code_owner_approval_required"}
)

// deleteRule deletes a rule, with its levels.
func (s *Service) deleteRule(ctx context.Context, as authz.Actor, t ruleTables, id RuleID) error {
	_, err := db.Delete[stamped](ctx, s.DB, db.Row{Table: t.rules, ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("")}, nil)
	return errs.Wrap(err, "delete rule")
}

// stamped is what the tables of rules have in common.
type stamped struct {
	UpdatedAt db.Time `db:"updated_at"`
}

type ruleRow struct {
	Rule
	Of          authz.NamespaceID  `db:"of_group"`
	LevelID     *int64             `db:"level_id"`
	Action      *string            `db:"action"`
	Level       *authz.Level       `db:"access_level"`
	UserID      *authz.UserID      `db:"user_id"`
	GroupID     *authz.NamespaceID `db:"group_id"`
	DeployKeyID *int64             `db:"deploy_key_id"`
}

const (
	branchRuleColumns = `r.id AS id, 0 AS of_group, r.name AS name, r.updated_at, r.allow_force_push, r.code_owner_approval_required,
		l.id AS level_id, l.action, l.access_level, l.user_id, l.group_id, l.deploy_key_id`
	groupRuleColumns = `r.id AS id, r.group_id AS of_group, r.name AS name, r.updated_at, r.allow_force_push, r.code_owner_approval_required,
		l.id AS level_id, l.action, l.access_level, CAST(NULL AS BIGINT) AS user_id, CAST(NULL AS BIGINT) AS group_id, CAST(NULL AS BIGINT) AS deploy_key_id`
	groupRuleTables = " FROM group_protected_branches r LEFT JOIN group_protected_branch_levels l ON l.rule_id = r.id"
)

// Rules reads the protected branch rules that hold in a project, by name, in one statement: its own, and those of the groups above it.
func (s *Service) Rules(ctx context.Context, id project.ID) ([]*Rule, error) {
	rows, err := db.Select[ruleRow](ctx, s.DB, "SELECT "+branchRuleColumns+` FROM protected_branches r
			LEFT JOIN protected_branch_levels l ON l.protected_branch_id = r.id WHERE r.project_id = ?
		UNION ALL SELECT `+groupRuleColumns+groupRuleTables+`
			WHERE r.group_id IN (SELECT a.ancestor_id FROM projects p JOIN namespace_ancestors a ON a.namespace_id = p.namespace_id WHERE p.id = ?)
		ORDER BY name, of_group, id, level_id`, id, id)
	if err != nil {
		return nil, fmt.Errorf("read protection rules: %w", err)
	}
	return gatherRules(rows), nil
}

// Own is Rules without those of groups.
func (s *Service) Own(ctx context.Context, id project.ID) ([]*Rule, error) {
	return s.readRules(ctx, branchTables, id)
}

// Readable returns the rules of a project's own protected branches that the actor may see: all or none.
func (s *Service) Readable(ctx context.Context, as authz.Actor, p *project.Project) ([]*Rule, error) {
	may, err := s.Policy.Can(ctx, as, authz.ReadProtectedBranch, p.Subject())
	if err != nil || !may {
		return nil, err
	}
	return s.Own(ctx, p.ID)
}

// TagRules reads the protected tag rules of a project, by name, in one statement.
func (s *Service) TagRules(ctx context.Context, id project.ID) ([]*Rule, error) {
	return s.readRules(ctx, tagTables, id)
}

func (s *Service) readRules(ctx context.Context, t ruleTables, id project.ID) ([]*Rule, error) {
	rows, err := db.Select[ruleRow](ctx, s.DB, "SELECT r.id, 0 AS of_group, r.name, r.updated_at, "+t.flags+`,
			l.id AS level_id, l.action, l.access_level, l.user_id, l.group_id, l.deploy_key_id
		FROM `+t.rules+" r LEFT JOIN "+t.levels+" l ON l."+t.key+` = r.id
		WHERE r.project_id = ?
		ORDER BY r.name, r.id, l.id`, id)
	if err != nil {
		return nil, fmt.Errorf("read protection rules: %w", err)
	}
	return gatherRules(rows), nil
}

// gatherRules puts rows of the same rule together.
func gatherRules(rows []ruleRow) []*Rule {
	var out []*Rule
	for _, row := range rows {
		if row.Group = row.Of; len(out) == 0 || out[len(out)-1].ID != row.ID || out[len(out)-1].Group != row.Of {
			out = append(out, &row.Rule)
		}
		if row.LevelID != nil {
			rule := out[len(out)-1]
			rule.Levels = append(rule.Levels, RuleLevel{
				ID: *row.LevelID, Action: *row.Action, Level: row.Level,
				UserID: row.UserID, GroupID: row.GroupID, DeployKeyID: row.DeployKeyID,
			})
		}
	}
	return out
}

// Access is what an actor may do with one branch.
type Access struct {
	Protected bool
	Push      bool // move it forward, or create it
	Merge     bool // accept a merge request into it
	ForcePush bool // move it to a commit that does not descend from it
	Delete    bool // through the API; no user deletes a protected branch by git push
	// DevelopersPush and DevelopersMerge say whether the role of Developer is enough.
	DevelopersPush  bool
	DevelopersMerge bool
}

// BranchAccess says what the actor may do with the branch: developers anything with an
// unprotected one; of a protected one its rules decide, the most permissive of those
// that match.
func (s *Service) BranchAccess(ctx context.Context, as authz.Actor, p *project.Project, branch string) (Access, error) {
	st, err := s.Branches(ctx, as, p)
	if err != nil {
		return Access{}, err
	}
	return st.Access(branch), nil
}

// Standing is what an actor is in a project, read once for all its branches or tags.
type Standing struct {
	Push  bool            // may push at all
	With  map[string]bool // branches that those may move who may not push at all
	Level authz.Level

	rules []*Rule
	admin bool
	user  authz.UserID
	key   int64                      // a deploy key, which has no role and is let in by name only
	in    map[authz.NamespaceID]bool // the groups that the rules name: is the actor a member?
}

// Branches returns the standing of an actor towards the branches of a project.
func (s *Service) Branches(ctx context.Context, as authz.Actor, p *project.Project) (*Standing, error) {
	rules, err := s.Rules(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	return s.standing(ctx, as, p, rules)
}

// Tags returns the standing of an actor towards the tags of a project.
func (s *Service) Tags(ctx context.Context, as authz.Actor, p *project.Project) (*Standing, error) {
	rules, err := s.TagRules(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	return s.standing(ctx, as, p, rules)
}

// Collaborates reports whether an actor who may not push may move any branch nevertheless. It
// asks for no permission itself: merge requests say where the actor may.
func (s *Service) Collaborates(ctx context.Context, as authz.Actor, p *project.Project) (bool, error) {
	with, err := s.above.Collaborators.Collaborations(ctx, as, p)
	if err != nil {
		return false, fmt.Errorf("read access: %w", err)
	}
	return len(with) > 0, nil
}

func (s *Service) standing(ctx context.Context, as authz.Actor, p *project.Project, rules []*Rule) (*Standing, error) {
	st := &Standing{rules: rules, admin: as.Admin, user: as.UserID, key: as.Deploy.KeyID, in: map[authz.NamespaceID]bool{}}
	var err error
	if st.Push, err = s.Policy.Can(ctx, as, authz.PushCode, p.Subject()); err != nil {
		return nil, fmt.Errorf("read access: %w", err)
	}
	if st.Level, err = s.Policy.Level(ctx, as, p.Subject()); err != nil {
		return nil, fmt.Errorf("read access: %w", err)
	}
	if !st.Push {
		if st.With, err = s.above.Collaborators.Collaborations(ctx, as, p); err != nil {
			return nil, fmt.Errorf("read access: %w", err)
		}
	}
	for _, rule := range rules {
		for _, l := range rule.Levels {
			if l.GroupID == nil || !as.SignedIn() {
				continue
			}
			if _, known := st.in[*l.GroupID]; known {
				continue
			}
			level, err := s.Policy.Level(ctx, authz.Actor{UserID: as.UserID}, authz.Subject{Namespace: *l.GroupID})
			if err != nil {
				return nil, fmt.Errorf("read access: %w", err)
			}
			st.in[*l.GroupID] = level >= authz.Guest
		}
	}
	return st, nil
}

// Access sums up the rules that match a branch: the most permissive of the project decides, and so the most permissive of each group
// above it. The actor may only do what all of them allow, so that no rule of a project takes back what a group protects.
func (s *Standing) Access(branch string) Access {
	var room [2]placeAccess
	places := room[:0]
	for _, rule := range s.rules {
		if !rule.Matches(branch) {
			continue
		}
		i := slices.IndexFunc(places, func(p placeAccess) bool { return p.group == rule.Group })
		if i < 0 {
			places, i = append(places, placeAccess{group: rule.Group}), len(places)
		}
		s.sum(&places[i].Access, rule)
	}
	if len(places) == 0 {
		push := s.Push || s.With[branch]
		return Access{Push: push, Merge: s.Push, ForcePush: push, Delete: s.Push}
	}
	out := Access{
		Protected: true, Push: s.Push, Merge: s.Push, ForcePush: true, Delete: s.Push && s.Level >= authz.Maintainer,
		DevelopersPush: true, DevelopersMerge: true,
	}
	for _, p := range places {
		out.Push = out.Push && p.Push
		out.Merge = out.Merge && (p.Merge || p.Push)
		out.ForcePush = out.ForcePush && p.ForcePush
		out.DevelopersPush = out.DevelopersPush && p.DevelopersPush
		out.DevelopersMerge = out.DevelopersMerge && p.DevelopersMerge
	}
	out.ForcePush = out.ForcePush && out.Push
	return out
}

// placeAccess is what the rules of a project, or of one group, allow.
type placeAccess struct {
	group authz.NamespaceID
	Access
}

// sum adds what a rule allows to what others of the same place do.
func (s *Standing) sum(out *Access, rule *Rule) {
	out.ForcePush = out.ForcePush || rule.AllowForcePush
	for _, l := range rule.Levels {
		developers := l.Level != nil && *l.Level != authz.NoAccess && *l.Level <= authz.Developer
		switch l.Action {
		case ActionPush:
			out.Push = out.Push || s.granted(l)
			out.DevelopersPush = out.DevelopersPush || developers
		case ActionMerge:
			out.Merge = out.Merge || s.granted(l)
			out.DevelopersMerge = out.DevelopersMerge || developers
		}
	}
}

// unprotects reports whether the rule's own levels let the actor change or delete it: any, where it has none.
func (s *Standing) unprotects(rule *Rule) bool {
	restricted := false
	for _, l := range rule.Levels {
		if l.Action == ActionUnprotect {
			if s.granted(l) {
				return true
			}
			restricted = true
		}
	}
	return !restricted
}

// granted reports whether a rule's level is the actor's.
func (s *Standing) granted(l RuleLevel) bool {
	switch {
	case l.UserID != nil:
		return *l.UserID == s.user
	case l.GroupID != nil:
		return s.in[*l.GroupID]
	case l.DeployKeyID != nil:
		return *l.DeployKeyID == s.key
	case l.Level == nil || *l.Level == authz.NoAccess || s.key != 0:
		return false
	}
	return s.admin || s.Level >= *l.Level
}

// Protects reports whether a rule speaks of the name.
func (s *Standing) Protects(name string) bool { return Protected(s.rules, name) }

// Protected reports whether a rule speaks of the name.
func Protected(rules []*Rule, name string) bool {
	return slices.ContainsFunc(rules, func(r *Rule) bool { return r.Matches(name) })
}
