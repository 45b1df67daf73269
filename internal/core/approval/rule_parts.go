package approval

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// apply validates what is wanted and puts it into the rule.
func (s *Service) apply(ctx context.Context, as authz.Actor, o scope, r *Rule, in Ruling) error {
	var bad errs.Fields
	if in.Name != nil {
		r.Name = strings.TrimSpace(*in.Name)
	}
	if in.Required != nil {
		r.Required = *in.Required
	}
	if in.AllProtected != nil {
		r.AllProtected = *in.AllProtected
	}
	bad.Check(r.Name != "", "name", "can't be blank")
	bad.Check(r.Type != ReportApprover || r.ReportType != nil, "report_type", "can't be blank")
	bad.Check(utf8.RuneCountInString(r.Name) <= maxName, "name", "is too long (maximum is 255 characters)")
	bad.Check(r.Required >= 0, "approvals_required", "must be greater than or equal to 0")
	bad.Check(r.Required <= maxRequired, "approvals_required", "must be less than or equal to 100")
	for name, n := range map[string]int{"users": size(in.Users) + size(in.Usernames), "groups": size(in.Groups), "protected_branches": size(in.Branches)} {
		bad.Check(n <= maxPeople, name, fmt.Sprintf("total must be less than or equal to %d", maxPeople))
	}
	if err := bad.Err(); err != nil {
		return err
	}
	if in.Users != nil || in.Usernames != nil {
		var err error
		if r.Users, err = s.members(ctx, o.p, in); err != nil {
			return err
		}
	}
	if in.Groups != nil || in.RemoveHidden {
		kept, err := s.groups(ctx, as, r.Groups, in)
		if err != nil {
			return err
		}
		r.Groups = kept
	}
	if in.Branches != nil {
		rules, err := s.Protections.Own(ctx, o.p.ID)
		if err != nil {
			return err
		}
		r.Branches = nil
		for _, b := range rules {
			if slices.Contains(*in.Branches, b.ID) {
				r.Branches = append(r.Branches, b.ID)
			}
		}
		slices.Sort(r.Branches)
	}
	if r.Type == AnyApprover && len(r.Users)+len(r.Groups) > 0 {
		return errs.Broken("", "rule_type", "any_approver can't have users or groups")
	}
	return nil
}

func size[T any](list *[]T) int {
	if list == nil {
		return 0
	}
	return len(*list)
}

// members keeps those of the wanted users who could approve in the project, by id.
func (s *Service) members(ctx context.Context, p *project.Project, in Ruling) ([]authz.UserID, error) {
	var ids []authz.UserID
	if in.Users != nil {
		ids = append(ids, *in.Users...)
	}
	if in.Usernames != nil && len(*in.Usernames) > 0 {
		names := make([]string, len(*in.Usernames))
		for i, name := range *in.Usernames {
			names[i] = db.Fold(strings.TrimPrefix(name, "@"))
		}
		var w db.Where
		w.In("username_fold", names)
		more, err := db.Select[authz.UserID](ctx, s.DB, "SELECT id FROM users"+w.SQL()+" ORDER BY id", w.Args()...)
		if err != nil {
			return nil, fmt.Errorf("find approvers: %w", err)
		}
		ids = append(ids, more...)
	}
	slices.Sort(ids)
	subject := p.Subject()
	subject.Known = false // that is the level of the actor
	subject.Closed = false
	return s.Policy.Able(ctx, authz.ApproveMergeRequest, subject, slices.Compact(ids), nil)
}

// groups keeps those of the wanted groups that the actor may see, and those of before that it may
// not, unless they are to go, by id.
func (s *Service) groups(ctx context.Context, as authz.Actor, before []authz.NamespaceID, in Ruling) ([]authz.NamespaceID, error) {
	want := before
	if in.Groups != nil {
		want = *in.Groups
	}
	all := slices.Concat(want, before)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 {
		return nil, nil
	}
	visible, err := s.groupsSeen(ctx, as, all)
	if err != nil {
		return nil, err
	}
	var out []authz.NamespaceID
	for _, id := range all {
		seen := slices.Contains(visible, id)
		if seen && slices.Contains(want, id) || !seen && !in.RemoveHidden && slices.Contains(before, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// storeParts writes users, groups and branches of a rule in place of those it had.
func (s *Service) storeParts(ctx context.Context, r *Rule) error {
	for _, part := range []struct {
		table, column string
		ids           []int64
	}{
		{"approval_rule_users", "user_id", numbers(r.Users)},
		{"approval_rule_groups", "group_id", numbers(r.Groups)},
		{"approval_rule_branches", "protected_branch_id", numbers(r.Branches)},
	} {
		if _, err := s.DB.Exec(ctx, "DELETE FROM "+part.table+" WHERE rule_id = ?", r.ID); err != nil {
			return fmt.Errorf("store approvers: %w", err)
		}
		for chunk := range slices.Chunk(part.ids, 200) {
			args := make([]any, 0, 2*len(chunk))
			for _, id := range chunk {
				args = append(args, r.ID, id)
			}
			_, err := s.DB.Exec(ctx, "INSERT INTO "+part.table+" (rule_id, "+part.column+") VALUES "+
				strings.Repeat("(?, ?), ", len(chunk)-1)+"(?, ?)", args...)
			if err != nil {
				return fmt.Errorf("store approvers: %w", err)
			}
		}
	}
	return nil
}

func numbers[T ~int64](ids []T) []int64 {
	out := make([]int64, len(ids))
	for i, id := range ids {
		out[i] = int64(id)
	}
	return out
}
