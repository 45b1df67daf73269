package approval

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// Approvers tells who can give approvals that a merge request lacks: users that rules name, and
// members of their groups that the actor may see. It asks for no permission: its callers in core
// have.
func (s *Service) Approvers(ctx context.Context, as authz.Actor, p *project.Project, m *mergerequest.MergeRequest) (mergerequest.Approvers, error) {
	var out mergerequest.Approvers
	st, err := s.stateOf(ctx, p, m)
	if err != nil {
		return out, err
	}
	may, err := s.MayApprove(ctx, as, p, st)
	if err != nil {
		return out, err
	}
	var shown []authz.UserID
	var groups []authz.NamespaceID
	for i := range st.Rules {
		r := &st.Rules[i]
		if r.Approved {
			continue
		}
		out.Any = out.Any || r.Type == AnyApprover
		shown, groups = append(shown, r.Users...), append(groups, r.Groups...)
	}
	members, err := s.membersSeen(ctx, as, groups)
	if err != nil {
		return out, err
	}
	shown = append(shown, members...)
	all := st.Suggested()
	for _, id := range all {
		if slices.Contains(shown, id) {
			out.Users = append(out.Users, id)
		}
	}
	out.Hidden = len(out.Users) < len(all)
	out.CanChange = may && (out.Any || slices.Contains(all, as.UserID))
	return out, nil
}

// Asked returns the users that the user-defined approval rules of a merge request name, sorted by id, without its author
// and those who approved it. Rules of code owners do not count. It asks for no permission and is for core.
func (s *Service) Asked(ctx context.Context, p *project.Project, m *mergerequest.MergeRequest) ([]authz.UserID, error) {
	page := []*mergerequest.MergeRequest{m}
	rules, err := s.rulesOf(ctx, page, false)
	if err != nil || !slices.ContainsFunc(rules, func(r *Rule) bool { return r.Type == Regular }) {
		return nil, err
	}
	all, err := s.states(ctx, page, map[project.ID]*project.Project{p.ID: p}, rules)
	if err != nil {
		return nil, err
	}
	st := all[m.ID]
	var out []authz.UserID
	for i := range st.Rules {
		if r := &st.Rules[i]; r.userDefined() {
			out = append(out, r.Approvers...)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(id authz.UserID) bool { return id == m.AuthorID || st.Approver(id) != nil }), nil
}

// ApprovedBy returns the users who approved the present head of a merge request, the first first. It
// asks for no permission: its callers in core have.
func (s *Service) ApprovedBy(ctx context.Context, m *mergerequest.MergeRequest) ([]authz.UserID, error) {
	all, err := s.approvalsOf(ctx, m.ID)
	var out []authz.UserID
	for _, a := range all {
		if a.HeadSHA == m.HeadSHA {
			out = append(out, a.UserID)
		}
	}
	return out, err
}

// membersSeen returns the direct members of those of some groups that the actor may see.
func (s *Service) membersSeen(ctx context.Context, as authz.Actor, groups []authz.NamespaceID) ([]authz.UserID, error) {
	slices.Sort(groups)
	seen, err := s.groupsSeen(ctx, as, slices.Compact(groups))
	if err != nil || len(seen) == 0 {
		return nil, err
	}
	var w db.Where
	w.In("m.namespace_id", seen)
	out, err := db.Select[authz.UserID](ctx, s.DB, "SELECT DISTINCT m.user_id FROM members m"+w.SQL()+" ORDER BY m.user_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read members of groups of approvers: %w", err)
	}
	return out, nil
}

// groupsSeen keeps those of some groups that are there and that the actor may see, by id.
func (s *Service) groupsSeen(ctx context.Context, as authz.Actor, ids []authz.NamespaceID) ([]authz.NamespaceID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	type row struct {
		ID         authz.NamespaceID `db:"namespace_id"`
		Visibility authz.Visibility  `db:"visibility"`
	}
	var w db.Where
	w.In("g.namespace_id", ids)
	rows, err := db.Select[row](ctx, s.DB, "SELECT g.namespace_id, n.visibility FROM groups g JOIN namespaces n ON n.id = g.namespace_id"+w.SQL()+" ORDER BY g.namespace_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("find groups of approvers: %w", err)
	}
	var out []authz.NamespaceID
	for _, g := range rows {
		seen, err := s.Policy.Can(ctx, as, authz.ReadGroup, authz.Subject{Noun: "Group", Namespace: g.ID, Visibility: g.Visibility})
		if err != nil {
			return nil, err
		}
		if seen {
			out = append(out, g.ID)
		}
	}
	return out, nil
}
