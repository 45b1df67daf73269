package graphql

import (
	"context"
	"path"
	"strings"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/core/timelog"
	"tenon/internal/transport/graphql/exec"
)

// issueRef names an issue by its project and its number: the input of a mutation embeds it.
type issueRef struct{ ProjectPath, IID string }

func (r issueRef) ref() issueRef { return r }

// issued is the payload of a mutation of an issue.
type issued struct{ Issue *issue.View }

// issueOf finds the issue that an input names.
func (b *binder) issueOf(ctx context.Context, as authz.Actor, in issueRef) (*project.Project, *issue.Issue, error) {
	p, err := b.project(ctx, as, in.ProjectPath)
	if err != nil {
		return nil, nil, err
	}
	i, err := b.Issues.Find(ctx, as, p, issue.IID(number(in.IID)))
	return p, i, err
}

// issued returns the payload of a mutation that wrote an issue, or its error.
func (b *binder) issued(ctx context.Context, as authz.Actor, i *issue.Issue, err error) (issued, error) {
	if err != nil || i == nil {
		return issued{}, err
	}
	views, err := b.issueViews(as)(ctx, []issue.Issue{*i})
	if err != nil {
		return issued{}, err
	}
	return issued{views[0]}, nil
}

// issueFields are what inputs of issues have in common; null takes away.
type issueFields struct {
	issue.Attributes

	DueDate             exec.Opt[string]
	EpicID, MilestoneID exec.Opt[globalID]
	HealthStatus        exec.Opt[string]
	Type                *string
	Weight              exec.Opt[int64]
}

// attributes are those of core: the type is an enum.
func (f *issueFields) attributes() issue.Attributes {
	out := f.Attributes
	if f.Type != nil {
		out.Type = new(issue.Type(strings.ToLower(*f.Type)))
	}
	return out
}

// issueMutations binds what is done with issues.
func (b *binder) issueMutations() {
	exec.Mutation(b.Schema, "createIssue", b.createIssue)
	exec.Mutation(b.Schema, "updateIssue", b.updateIssue)
	exec.Mutation(b.Schema, "issueMove", func(ctx context.Context, c *exec.Call[struct {
		issueRef
		TargetProjectPath string
	}],
	) (issued, error) {
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return issued{}, err
		}
		to, err := b.project(ctx, c.As, c.Args.TargetProjectPath)
		if err != nil {
			return issued{}, err
		}
		i, _, err := b.Issues.Move(ctx, c.As, p, issue.IID(number(c.Args.IID)), to.ID)
		return b.issued(ctx, c.As, i, err)
	})
	type promoted struct {
		Epic  *epic.Epic
		Issue *issue.View
	}
	exec.Mutation(b.Schema, "promoteToEpic", func(ctx context.Context, c *exec.Call[struct {
		issueRef
		GroupPath *string
	}],
	) (promoted, error) {
		p, i, err := b.issueOf(ctx, c.As, c.Args.issueRef)
		if err != nil {
			return promoted{}, err
		}
		if group := zeroOr(c.Args.GroupPath); group != "" && !strings.EqualFold(group, path.Dir(p.FullPath)) {
			return promoted{}, errOtherGroup
		}
		e, err := b.Epics.Promote(ctx, c.As, p, i.IID)
		if err != nil {
			return promoted{}, err
		}
		i, err = b.Issues.Find(ctx, c.As, p, i.IID)
		out, err := b.issued(ctx, c.As, i, err)
		return promoted{e, out.Issue}, err
	})
	b.issueSetters()
}

const errOtherGroup argumentError = "an issue becomes an epic of the group of its project"

// createIssueInput is what a new issue is made of.
type createIssueInput struct {
	ProjectPath, Title                 string
	AssigneeIDs                        []globalID
	Labels, LabelIDs                   []string
	CreatedAt                          *time.Time
	DiscussionToResolve                string
	IID                                int64
	IterationID                        *globalID
	MergeRequestToResolveDiscussionsOf *globalID
	MoveAfterID, MoveBeforeID          *globalID
	issueFields
}

func (b *binder) createIssue(ctx context.Context, c *exec.Call[createIssueInput]) (issued, error) {
	p, err := b.project(ctx, c.As, c.Args.ProjectPath)
	if err != nil {
		return issued{}, err
	}
	in, err := b.newIssue(ctx, c.As, p, c.Args)
	if err != nil {
		return issued{}, err
	}
	move := between(c.Args.MoveBeforeID, c.Args.MoveAfterID)
	if err := b.neighbours(ctx, c.As, move); err != nil {
		return issued{}, err
	}
	i, err := b.Issues.Create(ctx, c.As, p, in)
	if err == nil && move != (issue.Move{}) {
		i, err = b.Issues.Reorder(ctx, c.As, p, i.IID, move)
	}
	return b.issued(ctx, c.As, i, err)
}

// between is the place behind the issue that stands before, and in front of the one that stands after.
func between(before, after *globalID) issue.Move {
	return issue.Move{After: issue.ID(zeroOr(before).ID), Before: issue.ID(zeroOr(after).ID)}
}

// neighbours returns an error where the caller may not read the issues that another one shall stand beside.
func (b *binder) neighbours(ctx context.Context, as authz.Actor, m issue.Move) error {
	var ids []issue.ID
	for _, id := range []issue.ID{m.After, m.Before} {
		if id != 0 {
			ids = append(ids, id)
		}
	}
	found, err := b.Issues.ByIDs(ctx, as, ids)
	if err == nil && len(found) < len(ids) {
		err = errNoPlace
	}
	return err
}

func (b *binder) newIssue(ctx context.Context, as authz.Actor, p *project.Project, in createIssueInput) (issue.Input, error) {
	out := issue.Input{
		Title: in.Title, Attributes: in.attributes(), DueDate: in.DueDate.Value, Weight: in.Weight.Value, AssigneeIDs: numbers[authz.UserID](in.AssigneeIDs),
		IID: issue.IID(in.IID), CreatedAt: in.CreatedAt, Resolves: issue.Threads{Discussion: in.DiscussionToResolve},
		Epic: issue.EpicChoice{ID: zeroOr(in.EpicID.Value).ID},
	}
	if err := oneOf(map[string]bool{"labels": in.Labels != nil, "labelIds": in.LabelIDs != nil}); err != nil {
		return out, err
	}
	var err error
	if out.Labels, err = b.labelTitles(ctx, as, p.Place(), in.Labels, in.LabelIDs); err != nil {
		return out, err
	}
	if in.MilestoneID.Value != nil {
		out.MilestoneID = new(milestone.ID(in.MilestoneID.Value.ID))
	}
	if in.IterationID != nil {
		out.IterationID = new(iteration.ID(in.IterationID.ID))
	}
	if in.HealthStatus.Value != nil {
		out.Health = new(healths[*in.HealthStatus.Value])
	}
	if in.MergeRequestToResolveDiscussionsOf != nil {
		m, err := needed(ctx, as, *in.MergeRequestToResolveDiscussionsOf, b.MergeRequests.ByIDs)
		if err != nil {
			return out, err
		}
		out.Resolves.Request = int64(m.IID)
	}
	return out, nil
}

// updateIssueInput is what changes of an issue; nil leaves alone.
type updateIssueInput struct {
	issueRef
	Title, TimeEstimate                   *string
	AddLabelIDs, LabelIDs, RemoveLabelIDs []string
	StateEvent                            string
	issueFields
}

// changes makes those of core, without labels.
func (u *updateIssueInput) changes() issue.Changes {
	c := issue.Changes{
		Title: u.Title, StateEvent: strings.ToLower(u.StateEvent), Attributes: u.attributes(),
		Weight: u.Weight.Value, ClearWeight: u.Weight.Set && u.Weight.Value == nil, Time: timelog.Change{Estimate: u.TimeEstimate},
		DueDate: orZero(u.DueDate),
	}
	if u.MilestoneID.Set {
		c.MilestoneID = new(milestone.ID(zeroOr(u.MilestoneID.Value).ID))
	}
	if u.EpicID.Set {
		c.Epic = &issue.EpicChoice{ID: zeroOr(u.EpicID.Value).ID}
	}
	if u.HealthStatus.Set {
		c.Health = new(healths[zeroOr(u.HealthStatus.Value)])
	}
	return c
}

func (b *binder) updateIssue(ctx context.Context, c *exec.Call[updateIssueInput]) (issued, error) {
	p, err := b.project(ctx, c.As, c.Args.ProjectPath)
	if err != nil {
		return issued{}, err
	}
	change := c.Args.changes()
	if change.Labels.Add, err = b.labelTitles(ctx, c.As, p.Place(), nil, c.Args.AddLabelIDs); err != nil {
		return issued{}, err
	}
	if change.Labels.Remove, err = labelRefs(nil, c.Args.RemoveLabelIDs); err != nil {
		return issued{}, err
	}
	if c.Args.LabelIDs != nil {
		titles, err := b.labelTitles(ctx, c.As, p.Place(), []string{}, c.Args.LabelIDs)
		if err != nil {
			return issued{}, err
		}
		change.Labels.Set = &titles
	}
	i, err := b.Issues.Update(ctx, c.As, p, issue.IID(number(c.Args.IID)), change)
	return b.issued(ctx, c.As, i, err)
}
