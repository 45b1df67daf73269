package protection

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Defaults is how the first branch of a project is protected.
type Defaults struct {
	Push  []grade `json:"allowed_to_push"`
	Merge []grade `json:"allowed_to_merge"`
	Force bool    `json:"allow_force_push"`
	// Initial lets developers push the first commits although they may push no others.
	Initial bool `json:"developer_can_initial_push"`
}

type grade struct {
	Level authz.Level `json:"access_level"`
}

// protectionOf returns what a number of default_branch_protection stands for.
func protectionOf(number int64) Defaults {
	developers, maintainers := []grade{{authz.Developer}}, []grade{{authz.Maintainer}}
	switch number {
	case 0:
		return Defaults{Push: developers, Merge: developers, Force: true}
	case 1:
		return Defaults{Push: developers, Merge: maintainers}
	case 3:
		return Defaults{Push: maintainers, Merge: developers}
	case 4:
		return Defaults{Push: maintainers, Merge: maintainers, Initial: true}
	}
	return Defaults{Push: maintainers, Merge: maintainers}
}

// none reports whether a rule would forbid developers nothing.
func (d *Defaults) none() bool {
	developers := func(list []grade) bool { return slices.Contains(list, grade{authz.Developer}) }
	return d.Force && developers(d.Push) && developers(d.Merge)
}

// AdmitsFirst reports whether a level is enough to push the first commits.
func (d *Defaults) AdmitsFirst(level authz.Level) bool {
	if level >= authz.Maintainer || d.Initial {
		return true
	}
	return slices.ContainsFunc(d.Push, func(g grade) bool { return g.Level != authz.NoAccess && level >= g.Level })
}

// rule returns the rule for a branch. An action that no user is named for is for no user.
func (d *Defaults) rule(branch string) *Rule {
	out := &Rule{Name: branch, AllowForcePush: d.Force}
	for _, a := range []struct {
		action string
		grades []grade
	}{{ActionPush, d.Push}, {ActionMerge, d.Merge}} {
		if len(a.grades) == 0 {
			a.grades = []grade{{authz.NoAccess}}
		}
		for _, g := range a.grades {
			level := g.Level
			out.Levels = append(out.Levels, RuleLevel{Action: a.action, Level: &level})
		}
	}
	return out
}

// ProtectFirst gives the project's first branch the protection that its group, or else
// the instance, asks for. It runs inside the caller's transaction.
func (s *Service) ProtectFirst(ctx context.Context, id project.ID, branch string) error {
	protection, err := s.Defaults(ctx, id)
	if err != nil || protection.none() {
		return err
	}
	taken, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM protected_branches WHERE project_id = ? AND name = ?)", id, branch)
	if err != nil {
		return fmt.Errorf("look for protection: %w", err)
	}
	if taken {
		return nil
	}
	_, err = s.insertRule(ctx, branchTables, id, protection.rule(branch))
	return err
}

// Defaults reads how first branches are protected: the details of a group go before
// its number, and both before those of the instance.
func (s *Service) Defaults(ctx context.Context, id project.ID) (*Defaults, error) {
	type row struct {
		Number   *int64  `db:"default_branch_protection"`
		Settings *string `db:"settings"`
	}
	r, err := db.Get[row](ctx, s.DB, `SELECT g.default_branch_protection, g.settings FROM projects p
		LEFT JOIN groups g ON g.namespace_id = p.parent_id WHERE p.id = ?`, id)
	if err != nil {
		return nil, fmt.Errorf("read default protection: %w", err)
	}
	var words struct {
		Defaults *Defaults `json:"default_branch_protection_defaults"`
	}
	if r.Settings != nil && *r.Settings != "" {
		if err := json.Unmarshal([]byte(*r.Settings), &words); err != nil {
			return nil, fmt.Errorf("read default protection: %w", err)
		}
	}
	set := s.Settings.Current()
	number := int64(set.DefaultBranchProtection)
	switch {
	case words.Defaults.given():
		return words.Defaults, nil
	case r.Number != nil:
		number = *r.Number
	default:
		instance, err := defaultsOf(set.DefaultBranchProtectionDefaults)
		if err != nil || instance.given() {
			return instance, err
		}
	}
	out := protectionOf(number)
	return &out, nil
}

// given reports whether d says how a branch is protected.
func (d *Defaults) given() bool { return d != nil && (d.Push != nil || d.Merge != nil) }

// defaultsOf reads the setting of the instance.
func defaultsOf(setting map[string]any) (*Defaults, error) {
	if len(setting) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(setting)
	if err != nil {
		return nil, fmt.Errorf("read default protection: %w", err)
	}
	var out Defaults
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("read default protection: %w", err)
	}
	return &out, nil
}
