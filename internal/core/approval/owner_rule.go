package approval

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/codeowner"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// ownerKey identifies a rule of code owners in its merge request.
type ownerKey struct{ section, pattern string }

func keyOf(e *codeowner.Entry) ownerKey { return ownerKey{e.Section, e.Pattern} }

// ownerRules makes the rules of entries, with those of their owners who can approve in the
// project and the groups that have to do with it. Others are left out.
func (s *Service) ownerRules(ctx context.Context, p *project.Project, m *mergerequest.MergeRequest, entries []*codeowner.Entry) ([]*Rule, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	names, emails := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		for _, o := range e.Owners {
			if o.Name != "" {
				names[db.Fold(o.Name)] = true
			} else {
				emails[db.Fold(o.Email)] = true
			}
		}
	}
	users, err := s.ownersNamed(ctx, p, slices.Sorted(maps.Keys(names)), slices.Sorted(maps.Keys(emails)))
	if err != nil {
		return nil, err
	}
	groups, err := s.groupsNamed(ctx, p, slices.Sorted(maps.Keys(names)))
	if err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	out := make([]*Rule, len(entries))
	for i, e := range entries {
		r := &Rule{RequestID: &m.ID, Name: e.Pattern, Type: CodeOwner, Section: e.Section, Required: e.Required, CreatedAt: now, UpdatedAt: now}
		for _, o := range e.Owners {
			name := db.Fold(o.Name + o.Email)
			if id, ok := users[name]; ok {
				r.Users = append(r.Users, id)
			}
			if id, ok := groups[name]; ok {
				r.Groups = append(r.Groups, id)
			}
		}
		slices.Sort(r.Users)
		slices.Sort(r.Groups)
		r.Users, r.Groups = slices.Compact(r.Users), slices.Compact(r.Groups)
		out[i] = r
	}
	return out, nil
}

// ownersNamed finds users by folded names and addresses, as far as they can approve in a project.
func (s *Service) ownersNamed(ctx context.Context, p *project.Project, names, emails []string) (map[string]authz.UserID, error) {
	type row struct {
		ID   authz.UserID `db:"id"`
		Name string       `db:"username_fold"`
	}
	found, err := s.Accounts.AddressOwners(ctx, emails)
	if err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(names, db.MaxArgs) {
		var w db.Where
		w.In("username_fold", chunk)
		rows, err := db.Select[row](ctx, s.DB, "SELECT id, username_fold FROM users"+w.SQL()+" ORDER BY id", w.Args()...)
		if err != nil {
			return nil, fmt.Errorf("find code owners: %w", err)
		}
		for _, r := range rows {
			found[r.Name] = r.ID
		}
	}
	subject := p.Subject()
	subject.Known, subject.Closed = false, false
	ids := slices.Compact(slices.Sorted(maps.Values(found)))
	able := map[authz.UserID]bool{}
	for chunk := range slices.Chunk(ids, db.MaxArgs) {
		some, err := s.Policy.Able(ctx, authz.ApproveMergeRequest, subject, chunk, nil)
		if err != nil {
			return nil, err
		}
		for _, id := range some {
			able[id] = true
		}
	}
	maps.DeleteFunc(found, func(_ string, id authz.UserID) bool { return !able[id] })
	return found, nil
}

// groupsNamed finds groups by folded paths: those that a project is in, and those that it or
// one of these is shared with.
func (s *Service) groupsNamed(ctx context.Context, p *project.Project, names []string) (map[string]authz.NamespaceID, error) {
	type row struct {
		ID   authz.NamespaceID `db:"namespace_id"`
		Path string            `db:"path_fold"`
	}
	out := map[string]authz.NamespaceID{}
	for chunk := range slices.Chunk(names, db.MaxArgs) {
		var w db.Where
		w.In("r.path_fold", chunk)
		w.And(`EXISTS (SELECT 1 FROM namespace_ancestors a LEFT JOIN shares x ON x.namespace_id = a.ancestor_id AND (x.expires_on IS NULL OR x.expires_on > ?)
			WHERE a.namespace_id = ? AND (a.ancestor_id = g.namespace_id OR x.group_id = g.namespace_id))`, s.today(), p.NamespaceID)
		rows, err := db.Select[row](ctx, s.DB, "SELECT g.namespace_id, r.path_fold FROM groups g JOIN routes r ON r.namespace_id = g.namespace_id"+
			w.SQL()+" ORDER BY g.namespace_id", w.Args()...)
		if err != nil {
			return nil, fmt.Errorf("find groups of code owners: %w", err)
		}
		for _, r := range rows {
			out[r.Path] = r.ID
		}
	}
	return out, nil
}

// storeOwners makes the rules of code owners of a merge request those that are wanted, in the
// caller's transaction, which has locked the request. Before are those that it has.
func (s *Service) storeOwners(ctx context.Context, before, want []*Rule) error {
	has := make(map[ownerKey]*Rule, len(before))
	for _, r := range before {
		has[ownerKey{r.Section, r.Name}] = r
	}
	var fresh []*Rule
	for _, r := range want {
		key := ownerKey{r.Section, r.Name}
		old := has[key]
		delete(has, key)
		switch {
		case old == nil:
			one := *r // the transaction may run twice
			fresh = append(fresh, &one)
			continue
		case old.Required == r.Required && slices.Equal(old.Users, r.Users) && slices.Equal(old.Groups, r.Groups):
			continue
		}
		_, err := db.Update(ctx, s.DB, db.Row{Table: "approval_rules", ID: old.ID}, func(_ context.Context, row *Rule) error {
			row.Required, row.UpdatedAt = r.Required, r.UpdatedAt
			return nil
		})
		if err != nil {
			return fmt.Errorf("update rule of code owners: %w", err)
		}
		if err := s.storeParts(ctx, &Rule{ID: old.ID, Users: r.Users, Groups: r.Groups}); err != nil {
			return err
		}
	}
	var gone []RuleID
	for _, r := range has {
		gone = append(gone, r.ID)
	}
	slices.Sort(gone)
	if len(gone) > 0 {
		var w db.Where
		w.In("id", gone)
		if _, err := s.DB.Exec(ctx, "DELETE FROM approval_rules"+w.SQL(), w.Args()...); err != nil {
			return fmt.Errorf("delete rules of code owners: %w", err)
		}
	}
	return s.insertOwners(ctx, fresh)
}

// insertOwners writes new rules with their users and groups.
func (s *Service) insertOwners(ctx context.Context, rules []*Rule) error {
	var users, groups []any
	for _, r := range rules {
		if err := db.Create(ctx, s.DB, "approval_rules", r); err != nil {
			return fmt.Errorf("insert rule of code owners: %w", err)
		}
		for _, user := range r.Users {
			users = append(users, r.ID, user)
		}
		for _, group := range r.Groups {
			groups = append(groups, r.ID, group)
		}
	}
	for table, args := range map[string][]any{"approval_rule_users (rule_id, user_id)": users, "approval_rule_groups (rule_id, group_id)": groups} {
		for chunk := range slices.Chunk(args, 2*1000) {
			_, err := s.DB.Exec(ctx, "INSERT INTO "+table+" VALUES "+strings.Repeat("(?, ?), ", len(chunk)/2-1)+"(?, ?)", chunk...)
			if err != nil {
				return fmt.Errorf("insert code owners: %w", err)
			}
		}
	}
	return nil
}
