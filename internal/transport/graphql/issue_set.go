package graphql

import (
	"context"
	"strings"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/noteable"
	"tenon/internal/core/subscription"
	"tenon/internal/transport/graphql/exec"
)

// issueSetters binds the mutations that set one property of an issue.
func (b *binder) issueSetters() {
	setIssue(b, "issueSetConfidential", func(_ context.Context, _ authz.Actor, in struct {
		issueRef
		Confidential bool
	}, _ *issue.Issue,
	) (issue.Changes, error) {
		return issue.Changes{Attributes: issue.Attributes{Confidential: &in.Confidential}}, nil
	})
	setIssue(b, "issueSetLocked", func(_ context.Context, _ authz.Actor, in struct {
		issueRef
		Locked bool
	}, _ *issue.Issue,
	) (issue.Changes, error) {
		return issue.Changes{Attributes: issue.Attributes{DiscussionLocked: &in.Locked}}, nil
	})
	setIssue(b, "issueSetSeverity", func(_ context.Context, _ authz.Actor, in struct {
		issueRef
		Severity string
	}, _ *issue.Issue,
	) (issue.Changes, error) {
		return issue.Changes{Attributes: issue.Attributes{Severity: new(issue.Severity(strings.ToLower(in.Severity)))}}, nil
	})
	setIssue(b, "issueSetDueDate", func(_ context.Context, _ authz.Actor, in struct {
		issueRef
		DueDate exec.Opt[time.Time]
	}, _ *issue.Issue,
	) (issue.Changes, error) {
		switch {
		case !in.DueDate.Set:
			return issue.Changes{}, errNoDueDate
		case in.DueDate.Value == nil:
			return issue.Changes{DueDate: new("")}, nil
		}
		return issue.Changes{DueDate: dayOf(in.DueDate.Value)}, nil
	})
	setIssue(b, "issueSetWeight", func(_ context.Context, _ authz.Actor, in struct {
		issueRef
		Weight *int64
	}, _ *issue.Issue,
	) (issue.Changes, error) {
		return issue.Changes{Weight: in.Weight, ClearWeight: in.Weight == nil}, nil
	})
	b.issuePlanners()
	exec.Mutation(b.Schema, "issueSetSubscription", func(ctx context.Context, c *exec.Call[struct {
		issueRef
		SubscribedState bool
	}],
	) (issued, error) {
		p, i, err := b.issueOf(ctx, c.As, c.Args.issueRef)
		if err != nil {
			return issued{}, err
		}
		on := subscription.On{Place: p.Place(), Kind: noteable.Issue, Key: noteable.Key{Number: int64(i.IID)}}
		return b.issued(ctx, c.As, i, b.Subscriptions.Set(ctx, c.As, on, c.Args.SubscribedState))
	})
}

// issuePlanners binds the mutations that set what an issue belongs to, and who works on it.
func (b *binder) issuePlanners() {
	setIssue(b, "issueSetEpic", func(ctx context.Context, as authz.Actor, in struct {
		issueRef
		EpicID *globalID
	}, _ *issue.Issue,
	) (issue.Changes, error) {
		if in.EpicID == nil {
			return issue.Changes{Epic: &issue.EpicChoice{}}, nil
		}
		e, err := needed[epic.ID](ctx, as, *in.EpicID, b.Epics.ByIDs)
		if err != nil {
			return issue.Changes{}, err
		}
		return issue.Changes{Epic: &issue.EpicChoice{ID: int64(e.ID)}}, nil
	})
	setIssue(b, "issueSetIteration", func(ctx context.Context, as authz.Actor, in struct {
		issueRef
		IterationID *globalID
	}, _ *issue.Issue,
	) (issue.Changes, error) {
		if in.IterationID == nil {
			return issue.Changes{IterationID: new(iteration.ID(0))}, nil
		}
		i, err := needed[iteration.ID](ctx, as, *in.IterationID, b.Iterations.ByIDs)
		if err != nil {
			return issue.Changes{}, err
		}
		return issue.Changes{IterationID: &i.ID}, nil
	})
	setIssue(b, "issueSetAssignees", func(ctx context.Context, as authz.Actor, in struct {
		issueRef
		AssigneeUsernames []string
		OperationMode     string
	}, i *issue.Issue,
	) (issue.Changes, error) {
		named, err := b.usersNamed(ctx, as, in.AssigneeUsernames)
		ids := combined(in.OperationMode, i.Assignees, named)
		return issue.Changes{AssigneeIDs: &ids}, err
	})
}

const errNoDueDate argumentError = "Argument dueDate must be provided (`null` accepted)"

// setIssue binds a mutation that changes an issue which its input names. What the caller may not
// change is refused.
func setIssue[I interface{ ref() issueRef }](b *binder, field string, changes func(ctx context.Context, as authz.Actor, in I, i *issue.Issue) (issue.Changes, error)) {
	exec.Mutation(b.Schema, field, func(ctx context.Context, c *exec.Call[I]) (issued, error) {
		p, i, err := b.issueOf(ctx, c.As, c.Args.ref())
		if err != nil {
			return issued{}, err
		}
		change, err := changes(ctx, c.As, c.Args, i)
		if err != nil {
			return issued{}, err
		}
		change.Strict = true
		i, err = b.Issues.Update(ctx, c.As, p, i.IID, change)
		return b.issued(ctx, c.As, i, err)
	})
}
