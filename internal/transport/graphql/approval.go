package graphql

import (
	"context"
	"slices"

	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// standing is how the approvals of a merge request stand.
type standing struct {
	*approval.State
	of *mergerequest.View
}

// ruling is a rule of a merge request with how it stands, or the rule of a project that it was made of,
// which nothing is judged by.
type ruling struct {
	approval.RuleState
	of     *mergerequest.View
	source bool
}

// approvals reads how the approvals of merge requests stand, once for each.
func approvals[A any](ctx context.Context, b *binder, c *exec.Call[A], of []*mergerequest.View) ([]*approval.State, error) {
	rows, projects := make(map[mergerequest.ID]*mergerequest.MergeRequest, len(of)), map[project.ID]*project.Project{}
	for _, m := range of {
		rows[m.ID], projects[m.ProjectID] = &m.MergeRequest, m.Project
	}
	return exec.LoadEach(ctx, c, "approvals", of, func(m *mergerequest.View) mergerequest.ID { return m.ID }, func(ctx context.Context, ids []mergerequest.ID) (map[mergerequest.ID]*approval.State, error) {
		page := make([]*mergerequest.MergeRequest, len(ids))
		for i, id := range ids {
			page[i] = rows[id]
		}
		return b.Approvals.States(ctx, page, projects)
	})
}

// rulings returns those of the rules of a merge request that people can see and want.
func rulings(m *mergerequest.View, st *approval.State, want func(r *approval.RuleState) bool) []*ruling {
	out := []*ruling{}
	for i := range st.Rules {
		if r := &st.Rules[i]; r.Named() && want(r) {
			out = append(out, &ruling{RuleState: *r, of: m})
		}
	}
	return out
}

// approvalFields binds the approvals of merge requests and the rules that ask for them.
func (b *binder) approvalFields() {
	exec.Batch(b.Schema, "MergeRequest.approvalState", func(ctx context.Context, c *exec.Call[exec.None], of []*mergerequest.View) ([]*standing, error) {
		states, err := approvals(ctx, b, c, of)
		out := make([]*standing, len(states))
		for i, st := range states {
			out[i] = &standing{st, of[i]}
		}
		return out, err
	})
	approved(b, "approved", func(st *approval.State) bool { return st.Approved })
	approved(b, "approvalsRequired", func(st *approval.State) int64 { return st.Required })
	approved(b, "approvalsLeft", func(st *approval.State) int64 { return st.Left })
	exec.Batch(b.Schema, "MergeRequest.approvedBy", func(ctx context.Context, c *exec.Call[paging], of []*mergerequest.View) ([]*exec.Page[*user], error) {
		states, err := approvals(ctx, b, c, of)
		if err != nil {
			return nil, err
		}
		ids := make([][]authz.UserID, len(states))
		for i, st := range states {
			ids[i] = st.Users()
		}
		return b.userPages(ctx, c.Args, ids)
	})
	value(b, "MergeRequestApprovalState.approvalRulesOverwritten", func(st *standing) bool { return st.Overwritten })
	value(b, "MergeRequestApprovalState.rules", func(st *standing) []*ruling {
		return rulings(st.of, st.State, func(*approval.RuleState) bool { return true })
	})
	usersOf(b, "MergeRequestApprovalState.suggestedApprovers", func(st *standing) []authz.UserID { return st.Suggested() })
	b.approvalRules()
}

// approved binds a field of merge requests that is in how their approvals stand.
func approved[R any](b *binder, field string, of func(st *approval.State) R) {
	exec.Batch(b.Schema, "MergeRequest."+field, func(ctx context.Context, c *exec.Call[exec.None], list []*mergerequest.View) ([]R, error) {
		states, err := approvals(ctx, b, c, list)
		out := make([]R, len(states))
		for i, st := range states {
			out[i] = of(st)
		}
		return out, err
	})
}

func (b *binder) approvalRules() {
	value(b, "ApprovalRule.id", func(r *ruling) string {
		if r.ProjectID != nil {
			return gid("ApprovalProjectRule", r.ID)
		}
		return gid("ApprovalMergeRequestRule", r.ID)
	})
	value(b, "ApprovalRule.name", func(r *ruling) string { return r.Name })
	value(b, "ApprovalRule.type", func(r *ruling) string { return string(r.Type) })
	value(b, "ApprovalRule.section", func(r *ruling) *string { return text(r.Section) })
	value(b, "ApprovalRule.approvalsRequired", func(r *ruling) int64 { return r.Required })
	value(b, "ApprovalRule.approved", func(r *ruling) *bool {
		if r.source {
			return nil
		}
		return &r.Approved
	})
	value(b, "ApprovalRule.overridden", func(r *ruling) bool { return r.Source != nil && r.Overrides(r.Source) })
	value(b, "ApprovalRule.sourceRule", func(r *ruling) *ruling {
		if r.Source == nil {
			return nil
		}
		return &ruling{RuleState: approval.RuleState{Rule: *r.Source, Approvers: r.Source.Members}, of: r.of, source: true}
	})
	exec.Batch(b.Schema, "ApprovalRule.eligibleApprovers", func(ctx context.Context, _ *exec.Call[exec.None], of []*ruling) ([][]*user, error) {
		ids := make([][]authz.UserID, len(of))
		for i, r := range of {
			ids[i] = r.Approvers
		}
		return b.peopleIn(ctx, ids)
	})
	usersOf(b, "ApprovalRule.users", func(r *ruling) []authz.UserID { return r.Users })
	usersOf(b, "ApprovalRule.approvedBy", func(r *ruling) []authz.UserID { return r.ApprovedBy })
	usersIn(b, "ApprovalRule.commentedBy", func(ctx context.Context, as authz.Actor, rules []*ruling) ([][]authz.UserID, error) {
		refs := make([]noteable.Ref, len(rules))
		for i, r := range rules {
			refs[i] = requestRef(r.of)
		}
		found, err := b.Notes.Commenters(ctx, as, refs)
		out := make([][]authz.UserID, len(rules))
		for i, r := range rules {
			out[i] = slices.DeleteFunc(slices.Clone(found[refs[i]]), func(id authz.UserID) bool { return !slices.Contains(r.Approvers, id) })
		}
		return out, err
	})
	exec.Batch(b.Schema, "ApprovalRule.containsHiddenGroups", func(ctx context.Context, c *exec.Call[exec.None], of []*ruling) ([]bool, error) {
		seen, err := ruleGroups(ctx, b, c, of)
		out := make([]bool, len(of))
		for i, r := range of {
			out[i] = len(seen[i]) < len(r.Groups)
		}
		return out, err
	})
	exec.Batch(b.Schema, "ApprovalRule.groups", func(ctx context.Context, c *exec.Call[paging], of []*ruling) ([]*exec.Page[*namespace.Group], error) {
		seen, err := ruleGroups(ctx, b, c, of)
		out := make([]*exec.Page[*namespace.Group], len(of))
		for i := range seen {
			if err == nil {
				out[i], err = listOf(c.Args, maxPage, seen[i])
			}
		}
		return out, err
	})
}

// ruleGroups returns the groups of rules that the caller may see.
func ruleGroups[A any](ctx context.Context, b *binder, c *exec.Call[A], of []*ruling) ([][]*namespace.Group, error) {
	var ids []namespace.ID
	for _, r := range of {
		ids = append(ids, r.Groups...)
	}
	found, err := exec.Load(ctx, c, "groups", ids, func(ctx context.Context, ids []namespace.ID) (map[namespace.ID]*namespace.Group, error) {
		return b.Namespaces.ByIDs(ctx, c.As, ids)
	})
	out := make([][]*namespace.Group, len(of))
	for i, r := range of {
		for _, id := range r.Groups {
			if g := found[id]; g != nil {
				out[i] = append(out[i], g)
			}
		}
	}
	return out, err
}
