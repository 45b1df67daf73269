package featureflag

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
	"tenon/internal/core/project"
)

// The strategies.
const (
	ForAll     = "default"
	ForUsers   = "userWithId"
	Gradual    = "gradualRolloutUserId"
	Flexible   = "flexibleRollout"
	ForList    = "gitlabUserList"
	everywhere = "*"
)

// StrategyInput is a strategy of a call: a new one, or one that the flag has by its id. Nil leaves an attribute alone.
type StrategyInput struct {
	ID         *StrategyID
	Destroy    bool
	Name       *string
	Parameters map[string]any
	UserListID *ListID
	Scopes     []ScopeInput
}

// ScopeInput is a scope of a call, as StrategyInput.
type ScopeInput struct {
	ID          *ScopeID
	Destroy     bool
	Environment *string
}

// parameters are those that each strategy has.
var parameters = map[string][]string{
	ForAll:   {},
	ForUsers: {"userIds"},
	Gradual:  {"groupId", "percentage"},
	Flexible: {"groupId", "rollout", "stickiness"},
	ForList:  {},
}

var (
	groupID  = pattern.New(`\A[a-z]{1,32}\z`)
	stickies = []string{"default", "userId", "sessionId", "random"}
)

// check returns what is wrong with a strategy, in sentences.
func (t *Strategy) check(given map[string]any, p *project.Project) []string {
	var out []string
	names, known := parameters[t.Name]
	if !known {
		return []string{"Strategies name strategy name is invalid"}
	}
	bad := func(text string) { out = append(out, "Strategies parameters "+text) }
	values := map[string]string{}
	for name, value := range given {
		if text, ok := value.(string); ok {
			values[name] = text
		}
	}
	if len(values) != len(given) || !slices.Equal(slices.Sorted(maps.Keys(values)), names) {
		bad("parameters are invalid")
	} else {
		percent := func(name string) {
			if n, err := strconv.Atoi(values[name]); err != nil || n < 0 || n > 100 || strconv.Itoa(n) != values[name] {
				bad(name + " must be a string between 0 and 100 inclusive")
			}
		}
		for _, name := range names {
			switch name {
			case "userIds":
				if !userIDs(values[name]) {
					bad(wrongIDs(name))
				}
			case "percentage", "rollout":
				percent(name)
			case "groupId":
				if !groupID().MatchString(values[name]) {
					bad("groupId parameter is invalid")
				}
			case "stickiness":
				if !slices.Contains(stickies, values[name]) {
					bad("stickiness parameter must be default, userId, sessionId, or random")
				}
			}
		}
	}
	switch {
	case t.Name == ForList && t.UserList == nil && t.UserListID == nil:
		out = append(out, "Strategies user list can't be blank")
	case t.UserListID != nil && (t.UserList == nil || t.UserList.ProjectID != p.ID):
		out = append(out, "Strategies user list must belong to the same project")
	case t.Name != ForList && t.UserListID != nil:
		out = append(out, "Strategies user list must be blank")
	}
	seen := map[string]bool{}
	for _, c := range t.Scopes {
		switch {
		case c.Environment == "":
			out = append(out, "Strategies scopes environment scope can't be blank")
		case len([]rune(c.Environment)) > 255 || !scope().MatchString(c.Environment):
			out = append(out, "Strategies scopes environment scope can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', '*' and spaces")
		case seen[c.Environment]:
			out = append(out, "Strategies scopes environment scope has already been taken")
		}
		seen[c.Environment] = true
	}
	if len(t.Scopes) > maxScopes {
		out = append(out, fmt.Sprintf("Strategies scopes are too many (maximum is %d)", maxScopes))
	}
	return out
}

// scope holds what scopes consist of.
var scope = pattern.New(`\A[a-zA-Z0-9_/\\$ {}.*-]+\z`)

// apply changes a strategy of a flag, or fills in a new one.
func (t *Strategy) apply(in StrategyInput) error {
	if in.Name != nil {
		if t.Name != *in.Name && *in.Name != ForList && in.UserListID == nil {
			t.UserListID, t.UserList = nil, nil
		}
		t.Name = *in.Name
	}
	if in.UserListID != nil {
		t.UserListID, t.UserList = in.UserListID, nil
	}
	for _, c := range in.Scopes {
		if c.ID == nil {
			if !c.Destroy {
				t.Scopes = append(t.Scopes, Scope{Environment: text(c.Environment)})
			}
			continue
		}
		n := slices.IndexFunc(t.Scopes, func(s Scope) bool { return s.ID == *c.ID })
		switch {
		case n < 0:
			return errs.Missing("")
		case c.Destroy:
			t.Scopes = slices.Delete(t.Scopes, n, n+1)
		case c.Environment != nil:
			t.Scopes[n].Environment = *c.Environment
		}
	}
	if len(t.Scopes) == 0 {
		t.Scopes = []Scope{{Environment: everywhere}}
	}
	return nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// strategies makes those of a flag what a call asks for, and returns what is wrong with them.
func (s *Service) strategies(ctx context.Context, p *project.Project, f *Flag, inputs []StrategyInput) ([]string, error) {
	out := make([]Strategy, len(f.Strategies))
	for i, t := range f.Strategies {
		t.Scopes = slices.Clone(t.Scopes)
		out[i] = t
	}
	given := map[int]map[string]any{}
	var gone []StrategyID
	for _, in := range inputs {
		n := len(out)
		switch {
		case in.ID != nil:
			if n = slices.IndexFunc(out, func(t Strategy) bool { return t.ID == *in.ID }); n < 0 {
				return nil, errs.Missing("")
			}
		case in.Destroy:
			continue
		default:
			out = append(out, Strategy{FlagID: f.ID, Parameters: "{}"})
		}
		if in.Destroy {
			gone = append(gone, out[n].ID)
			continue
		}
		if err := out[n].apply(in); err != nil {
			return nil, err
		}
		if in.Parameters != nil {
			given[n] = in.Parameters
		}
	}
	if err := s.readLists(ctx, out); err != nil {
		return nil, err
	}
	var problems []string
	for i := range out {
		t := &out[i]
		values, sent := given[i]
		if !sent {
			values = map[string]any{}
			for name, value := range t.Values() {
				values[name] = value
			}
		}
		wrong := t.check(values, p)
		for _, problem := range wrong {
			if !slices.Contains(problems, problem) {
				problems = append(problems, problem)
			}
		}
		if len(wrong) == 0 {
			encoded, err := json.Marshal(values)
			if err != nil {
				return nil, fmt.Errorf("parameters of strategy: %w", err)
			}
			t.Parameters = string(encoded)
		}
	}
	f.Strategies = slices.DeleteFunc(out, func(t Strategy) bool { return t.ID != 0 && slices.Contains(gone, t.ID) })
	if len(f.Strategies) > maxStrategies {
		problems = append(problems, fmt.Sprintf("Strategies are too many (maximum is %d)", maxStrategies))
	}
	return problems, nil
}

// readLists reads the user lists that strategies name.
func (s *Service) readLists(ctx context.Context, strategies []Strategy) error {
	var ids []ListID
	for i := range strategies {
		if t := &strategies[i]; t.UserListID != nil && t.UserList == nil {
			ids = append(ids, *t.UserListID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var w db.Where
	w.In("l.id", ids)
	read, err := db.Select[UserList](ctx, s.DB, "SELECT "+listColumns+" FROM feature_flag_user_lists l"+w.SQL(), w.Args()...)
	if err != nil {
		return fmt.Errorf("user lists of strategies: %w", err)
	}
	found := map[ListID]*UserList{}
	for i := range read {
		found[read[i].ID] = &read[i]
	}
	for i := range strategies {
		if t := &strategies[i]; t.UserListID != nil && t.UserList == nil {
			t.UserList = found[*t.UserListID]
		}
	}
	return nil
}

// write makes the rows of the strategies of a flag, which the caller has locked, those of after.
func (s *Service) write(ctx context.Context, before, after *Flag) error {
	for i := range before.Strategies {
		was := &before.Strategies[i]
		if !slices.ContainsFunc(after.Strategies, func(t Strategy) bool { return t.ID == was.ID }) {
			if _, err := db.Drop(ctx, s.DB, db.Row{Table: "feature_flag_strategies", ID: was.ID}); err != nil {
				return fmt.Errorf("delete strategy: %w", err)
			}
		}
	}
	for i := range after.Strategies {
		t := &after.Strategies[i]
		t.FlagID = after.ID
		n := slices.IndexFunc(before.Strategies, func(b Strategy) bool { return t.ID != 0 && b.ID == t.ID })
		if n < 0 {
			if err := db.Create(ctx, s.DB, "feature_flag_strategies", t); err != nil {
				return fmt.Errorf("create strategy: %w", err)
			}
			if err := s.writeScopes(ctx, nil, t); err != nil {
				return err
			}
			continue
		}
		was := &before.Strategies[n]
		if was.text() != t.text() || was.UserList != t.UserList {
			_, err := db.Update(ctx, s.DB, db.Row{Table: "feature_flag_strategies", ID: t.ID}, func(_ context.Context, row *Strategy) error {
				row.Name, row.Parameters, row.UserListID = t.Name, t.Parameters, t.UserListID
				return nil
			})
			if err != nil {
				return fmt.Errorf("update strategy: %w", err)
			}
		}
		if err := s.writeScopes(ctx, was.Scopes, t); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) writeScopes(ctx context.Context, before []Scope, t *Strategy) error {
	if slices.EqualFunc(before, t.Scopes, func(a, b Scope) bool { return a.ID == b.ID && a.Environment == b.Environment }) {
		return nil
	}
	for _, was := range before {
		if !slices.Contains(t.Scopes, was) {
			if _, err := db.Drop(ctx, s.DB, db.Row{Table: "feature_flag_scopes", ID: was.ID}); err != nil {
				return fmt.Errorf("delete scope: %w", err)
			}
		}
	}
	for i := range t.Scopes {
		c := &t.Scopes[i]
		if slices.Contains(before, *c) {
			continue
		}
		c.StrategyID = t.ID
		if err := db.Create(ctx, s.DB, "feature_flag_scopes", c); err != nil {
			return fmt.Errorf("create scope: %w", err)
		}
	}
	return nil
}
