package variable

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/project"
)

// Value is a variable as a job gets it.
type Value struct {
	Key       string
	Value     string
	File      bool // the value is in a file, whose path the job gets
	Masked    bool
	Protected bool
	Raw       bool
}

// level is a variable with how far above the project it stands.
type level struct {
	Variable
	Depth int64 `db:"depth,readonly"` // 0 is the project's own; of the instance more than any group's
}

// instanceDepth is more than the depth of any group.
const instanceDepth = 1 << 30

// Use says which of the variables of a project a job gets.
type Use struct {
	Environment string // "" for none
	Protected   bool   // the job runs for a protected branch or tag
}

// For returns the variables for a job of a project, in the
// order of their precedence: those of the instance, of the groups from the outermost inwards,
// of the project. A key stands once for each of these, with the value whose scope says the most
// of the environment; of two values of one key, the later holds. It takes two statements.
//
// It asks for no permission: it is for jobs, whose pipeline was let in.
func (s *Service) For(ctx context.Context, p *project.Project, use Use) ([]Value, error) {
	var w db.Where
	if !use.Protected {
		w.Raw("NOT v.protected")
	}
	rows, err := db.Select[level](ctx, s.DB, "SELECT "+columns+`, a.depth FROM namespace_ancestors a JOIN ci_variables v ON v.namespace_id = a.ancestor_id
		WHERE a.namespace_id = ?`+w.AndSQL()+" ORDER BY a.depth DESC, v.id", append([]any{p.NamespaceID}, w.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("variables of project: %w", err)
	}
	instance, err := db.Select[Variable](ctx, s.DB, "SELECT "+columns+" FROM ci_variables v WHERE v.namespace_id IS NULL"+w.AndSQL()+" ORDER BY v.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("variables of the instance: %w", err)
	}
	all := make([]level, 0, len(instance)+len(rows))
	for _, v := range instance {
		all = append(all, level{v, instanceDepth})
	}
	return s.values(best(append(all, rows...), use.Environment))
}

// best keeps, of each key at each depth, the variable whose scope says the most of the
// environment, in the order in which they come.
func best(all []level, environment string) []level {
	type at struct {
		depth int64
		key   string
	}
	chosen := map[at]*level{}
	for i := range all {
		v := &all[i]
		if !Matches(v.Scope, environment) {
			continue
		}
		k := at{v.Depth, v.Key}
		if was := chosen[k]; was == nil || rank(v.Scope, environment) > rank(was.Scope, environment) {
			chosen[k] = v
		}
	}
	return slices.DeleteFunc(all, func(v level) bool {
		c := chosen[at{v.Depth, v.Key}]
		return c == nil || c.ID != v.ID
	})
}

func (s *Service) values(all []level) ([]Value, error) {
	out := make([]Value, len(all))
	for i := range all {
		v := &all[i]
		value, err := s.open(&v.Variable)
		if err != nil {
			return nil, err
		}
		out[i] = Value{Key: v.Key, Value: value, File: v.Type == File, Masked: v.Masked, Protected: v.Protected, Raw: v.Raw}
	}
	return out, nil
}

// rank orders scopes that match one environment: its very name is more than any pattern, and a
// longer pattern is more than a shorter one.
func rank(scope, environment string) int {
	if scope == environment {
		return maxScope + 1
	}
	return len(scope)
}

// Matches reports whether an environment scope, in which each * stands for any text, holds for
// an environment. It takes time in proportion to the lengths of both.
func Matches(scope, environment string) bool {
	parts := strings.Split(scope, "*")
	if len(parts) == 1 {
		return scope == environment
	}
	rest, ok := strings.CutPrefix(environment, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, last)
}
