package protection

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// checkLevels lists what is wrong with the levels of a rule, each problem once.
func (s *Service) checkLevels(ctx context.Context, p *project.Project, rule *Rule) ([]string, error) {
	var found []string
	seen := map[string]bool{}
	for i := range rule.Levels {
		l := &rule.Levels[i]
		problem, err := s.checkLevel(ctx, p, l)
		if err != nil {
			return nil, err
		}
		key := l.Action + levelKey(l)
		if problem == "" && seen[key] {
			problem = levelNoun(l) + " has already been taken"
		}
		seen[key] = true
		if problem != "" {
			problem = strings.ToUpper(l.Action[:1]) + l.Action[1:] + " access levels " + problem
			if !slices.Contains(found, problem) {
				found = append(found, problem)
			}
		}
	}
	return found, nil
}

// roleInRules reports whether a rule may name a role.
func roleInRules(l authz.Level) bool {
	return slices.Contains([]authz.Level{authz.NoAccess, authz.Developer, authz.Maintainer, authz.AdminLevel}, l)
}

func levelNoun(l *RuleLevel) string {
	switch {
	case l.UserID != nil:
		return "user"
	case l.GroupID != nil:
		return "group"
	case l.DeployKeyID != nil:
		return "deploy key"
	}
	return "access level"
}

func levelKey(l *RuleLevel) string {
	switch {
	case l.UserID != nil:
		return fmt.Sprintf(" user %d", *l.UserID)
	case l.GroupID != nil:
		return fmt.Sprintf(" group %d", *l.GroupID)
	case l.DeployKeyID != nil:
		return fmt.Sprintf(" key %d", *l.DeployKeyID)
	case l.Level != nil:
		return fmt.Sprintf(" level %d", *l.Level)
	}
	return ""
}

// checkLevel says what is wrong with one level, "" for nothing. A user who names a user or
// group sees no more of it than that it has something to do with the project.
func (s *Service) checkLevel(ctx context.Context, p *project.Project, l *RuleLevel) (string, error) {
	named := 0
	for _, set := range []bool{l.UserID != nil, l.GroupID != nil, l.DeployKeyID != nil} {
		if set {
			named++
		}
	}
	switch {
	case named > 1:
		return "must name one of user, group and deploy key", nil
	case l.UserID != nil:
		subject := p.Subject()
		subject.Known = false
		level, err := s.Policy.Level(ctx, authz.Actor{UserID: *l.UserID}, subject)
		if err != nil {
			return "", fmt.Errorf("read access of user: %w", err)
		}
		if level < authz.Guest {
			return "user is not a member of the project", nil
		}
	case l.GroupID != nil:
		known, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM namespace_ancestors a
			LEFT JOIN shares s ON s.namespace_id = a.ancestor_id
			JOIN namespaces g ON g.id = ? AND g.kind = 'group' AND (g.id = a.ancestor_id OR g.id = s.group_id)
			WHERE a.namespace_id = ?)`, *l.GroupID, p.NamespaceID)
		if err != nil {
			return "", fmt.Errorf("look for group: %w", err)
		}
		if !known {
			return "group does not have access to the project", nil
		}
	case l.DeployKeyID != nil:
		known, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM deploy_key_projects WHERE key_id = ? AND project_id = ?)", *l.DeployKeyID, p.ID)
		if err != nil {
			return "", fmt.Errorf("look for deploy key: %w", err)
		}
		if !known || l.Action != ActionPush && l.Action != ActionCreateTag { // keys do nothing but push
			return "deploy key is not enabled for this project", nil
		}
	case l.Level == nil:
		return "access level is not included in the list", nil
	default:
		if !roleInRules(*l.Level) {
			return "access level is not included in the list", nil
		}
		return "", nil
	}
	l.Level = nil // a user who is named needs no role
	return "", nil
}
