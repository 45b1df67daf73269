package graphql

import (
	"context"

	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/transport/graphql/exec"
)

// requestAbilities is what the caller may do with a merge request.
type requestAbilities struct {
	mergerequest.Permissions
	Approve bool
}

// requestReview binds what comes before a merge: approvals, who takes part, what the caller may do.
func (b *binder) requestReview() {
	b.approvalFields()
	commentersOf(b, "MergeRequest", requestRef)
	usersIn(b, "MergeRequest.committers", func(ctx context.Context, _ authz.Actor, of []*mergerequest.View) ([][]authz.UserID, error) {
		ids := make([]mergerequest.ID, len(of))
		for i, m := range of {
			ids[i] = m.ID
		}
		found, err := b.MergeRequests.Contributors(ctx, ids)
		out := make([][]authz.UserID, len(of))
		for i, id := range ids {
			out[i] = found[id]
		}
		return out, err
	})
	exec.Batch(b.Schema, "MergeRequest.userPermissions", func(ctx context.Context, c *exec.Call[exec.None], of []*mergerequest.View) ([]*requestAbilities, error) {
		states, err := approvals(ctx, b, c, of)
		if err != nil {
			return nil, err
		}
		out := make([]*requestAbilities, len(of))
		err = b.Together(ctx, len(of), func(ctx context.Context, i int) error {
			may, err := b.MergeRequests.Permissions(ctx, c.As, of[i])
			if err != nil {
				return err
			}
			approve, err := b.Approvals.MayApprove(ctx, c.As, of[i].Project, states[i])
			out[i] = &requestAbilities{may, approve}
			return err
		})
		return out, err
	})
	for field, of := range map[string]func(p *requestAbilities) bool{
		"readMergeRequest": func(*requestAbilities) bool { return true }, // or it is not shown
		"canApprove":       func(p *requestAbilities) bool { return p.Approve }, "canMerge": func(p *requestAbilities) bool { return p.Merge },
		"updateMergeRequest": func(p *requestAbilities) bool { return p.Update }, "adminMergeRequest": func(p *requestAbilities) bool { return p.Administer },
		"createNote": func(p *requestAbilities) bool { return p.Comment }, "pushToSourceBranch": func(p *requestAbilities) bool { return p.PushToSource },
		"removeSourceBranch":              func(p *requestAbilities) bool { return p.RemoveSource },
		"cherryPickOnCurrentMergeRequest": func(p *requestAbilities) bool { return p.Pick },
		"revertOnCurrentMergeRequest":     func(p *requestAbilities) bool { return p.Pick },
	} {
		value(b, "MergeRequestPermissions."+field, of)
	}
	exec.Mutation(b.Schema, "mergeRequestUpdateApprovalRule", func(ctx context.Context, c *exec.Call[struct {
		requestPath
		ApprovalRuleID     approval.RuleID
		ApprovalsRequired  int64
		Name               string
		GroupIDs, UserIDs  []string
		RemoveHiddenGroups []bool
	}],
	) (requestPayload, error) {
		p, m, err := b.requestNamed(ctx, c.As, c.Args)
		if err != nil {
			return requestPayload{}, err
		}
		in := c.Args
		users, groups := iids[authz.UserID](in.UserIDs), iids[namespace.ID](in.GroupIDs)
		change := approval.Ruling{Name: &in.Name, Required: &in.ApprovalsRequired, Users: &users, Groups: &groups}
		change.RemoveHidden = len(in.RemoveHiddenGroups) > 0 && in.RemoveHiddenGroups[0]
		_, err = b.Approvals.UpdateRequestRule(ctx, c.As, p, m.IID, in.ApprovalRuleID, change)
		return b.requestPayload(ctx, c.As, m, err)
	})
}
