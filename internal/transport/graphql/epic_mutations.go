package graphql

import (
	"context"
	"strconv"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/subscription"
	"tenon/internal/transport/graphql/exec"
)

// epicPayload is what mutations of epics give.
type epicPayload struct{ Epic *epic.Epic }

// epicInput is what inputs of epics have in common; nil leaves alone.
type epicInput struct {
	GroupPath                              string
	Title, Description, Color              *string
	Confidential                           *bool
	StartDateFixed, DueDateFixed           *string
	StartDateIsFixed, DueDateIsFixed       *bool
	AddLabels, AddLabelIDs, RemoveLabelIDs []string
}

func (b *binder) epicMutations() {
	exec.Mutation(b.Schema, "createEpic", func(ctx context.Context, c *exec.Call[epicInput]) (epicPayload, error) {
		g, err := b.group(ctx, c.As, c.Args.GroupPath)
		if err != nil {
			return epicPayload{}, err
		}
		in := c.Args
		made := epic.Input{Description: in.Description, StartFixed: in.StartDateFixed, DueFixed: in.DueDateFixed}
		put(&made.Title, in.Title)
		put(&made.Color, in.Color)
		put(&made.Confidential, in.Confidential)
		put(&made.StartIsFixed, in.StartDateIsFixed)
		put(&made.DueIsFixed, in.DueDateIsFixed)
		if made.Labels, err = b.labelTitles(ctx, c.As, g.Place(), in.AddLabels, in.AddLabelIDs); err != nil {
			return epicPayload{}, err
		}
		e, err := b.Epics.Create(ctx, c.As, g, made)
		return epicPayload{e}, err
	})
	exec.Mutation(b.Schema, "updateEpic", func(ctx context.Context, c *exec.Call[struct {
		epicInput
		IID, StateEvent string
		RemoveLabels    []string
	}],
	) (epicPayload, error) {
		g, err := b.group(ctx, c.As, c.Args.GroupPath)
		if err != nil {
			return epicPayload{}, err
		}
		in := c.Args
		change := epic.Changes{
			Title: in.Title, Description: in.Description, Color: in.Color, Confidential: in.Confidential, StateEvent: strings.ToLower(in.StateEvent),
			StartIsFixed: in.StartDateIsFixed, DueIsFixed: in.DueDateIsFixed, StartFixed: in.StartDateFixed, DueFixed: in.DueDateFixed,
		}
		add, err := b.labelTitles(ctx, c.As, g.Place(), in.AddLabels, in.AddLabelIDs)
		if err == nil {
			change.Labels.Add = add
			change.Labels.Remove, err = labelRefs(in.RemoveLabels, in.RemoveLabelIDs)
		}
		if err != nil {
			return epicPayload{}, err
		}
		e, err := b.Epics.Update(ctx, c.As, g, epic.IID(number(in.IID)), change)
		return epicPayload{e}, err
	})
	b.epicLinks()
	exec.Mutation(b.Schema, "epicTreeReorder", b.reorderEpic)
}

func (b *binder) epicLinks() {
	type added struct {
		Epic      *epic.Epic
		EpicIssue *issue.View
	}
	exec.Mutation(b.Schema, "epicAddIssue", func(ctx context.Context, c *exec.Call[struct{ GroupPath, IID, ProjectPath, IssueIID string }]) (added, error) {
		g, err := b.group(ctx, c.As, c.Args.GroupPath)
		if err != nil {
			return added{}, err
		}
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return added{}, err
		}
		i, err := b.Issues.Find(ctx, c.As, p, issue.IID(number(c.Args.IssueIID)))
		if err != nil {
			return added{}, err
		}
		m, err := b.Epics.AddIssue(ctx, c.As, g, epic.IID(number(c.Args.IID)), i.ID)
		if err != nil {
			return added{}, err
		}
		out, err := b.issued(ctx, c.As, m.Issue, nil)
		return added{m.Epic, out.Issue}, err
	})
	exec.Mutation(b.Schema, "epicSetSubscription", func(ctx context.Context, c *exec.Call[struct {
		GroupPath, IID  string
		SubscribedState bool
	}],
	) (epicPayload, error) {
		g, err := b.group(ctx, c.As, c.Args.GroupPath)
		if err != nil {
			return epicPayload{}, err
		}
		return b.subscribeEpic(ctx, c.As, g, epic.IID(number(c.Args.IID)), c.Args.SubscribedState)
	})
}

func (b *binder) subscribeEpic(ctx context.Context, as authz.Actor, g *namespace.Group, iid epic.IID, want bool) (epicPayload, error) {
	e, err := b.Epics.Find(ctx, as, g, iid)
	if err != nil {
		return epicPayload{}, err
	}
	on := subscription.On{Place: g.Place(), Kind: noteable.Epic, Key: noteable.Key{IID: int64(iid)}}
	return epicPayload{e}, b.Subscriptions.Set(ctx, as, on, want)
}

// labelTitles adds to titles those of the labels with these ids that a place may use.
func (b *binder) labelTitles(ctx context.Context, as authz.Actor, at authz.Place, titles, ids []string) ([]string, error) {
	refs, err := labelRefs(nil, ids)
	if err != nil || len(refs) == 0 {
		return titles, err
	}
	more, err := b.Labels.TitlesByIDs(ctx, as, at, iids[label.ID](refs))
	return append(titles, more...), err
}

// labelRefs returns titles, and ids as their digits.
func labelRefs(titles, ids []string) ([]string, error) {
	for _, text := range ids {
		id, err := readGID(text)
		if err != nil {
			return nil, argumentError(err.Error())
		}
		titles = append(titles, strconv.FormatInt(id.ID, 10))
	}
	return titles, nil
}

// put sets what was given.
func put[T any](to, of *T) {
	if of != nil {
		*to = *of
	}
}
