package graphql

import (
	"cmp"
	"strings"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/filter"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
)

// issueFilter is the arguments of lists of issues, but for the page.
type issueFilter struct {
	issueChoice
	Sort, State *string
}

// issueChoice is the arguments that select issues in every state.
type issueChoice struct {
	AssigneeID, AssigneeUsername, AssigneeWildcardID *string
	AssigneeUsernames                                []string
	AuthorUsername                                   *string
	ClosedAfter, ClosedBefore                        *time.Time
	EpicID, EpicWildcardID                           *string
	HealthStatusFilter                               *string
	IID                                              *string
	IIDs                                             []string
	In                                               []string
	IterationCadenceID                               []globalID
	IterationID                                      []*globalID
	IterationTitle, IterationWildcardID              *string
	LabelName                                        []*string
	MilestoneTitle                                   []*string
	MilestoneWildcardID                              *string
	Not                                              *issueNot
	Or                                               *union
	Search                                           *string
	Types                                            []string
	Weight, WeightWildcardID                         *string

	issue.Selection `exec:"some"`
}

// issueNot is what issues are left out for.
type issueNot struct {
	AssigneeID, AuthorUsername, EpicID, HealthStatusFilter *string
	AssigneeUsernames, IIDs, MilestoneTitle                []string
	IterationID                                            []globalID
	IterationTitle                                         *string
	LabelName                                              []*string
	MilestoneWildcardID, MyReactionEmoji, Weight           *string
	Types                                                  []string
}

// filter makes the filter of core.
func (f *issueFilter) filter() (issue.Filter, error) {
	out := issue.Filter{
		Author: filter.Person{Username: zeroOr(f.AuthorUsername)}, AssigneeUsernames: f.AssigneeUsernames,
		Search: zeroOr(f.Search), Selection: f.Selection, Labels: present(f.LabelName), IIDs: iids[issue.IID](f.IIDs),
		ClosedAfter: f.ClosedAfter, ClosedBefore: f.ClosedBefore, Or: f.Or.filter(),
		Assignee:  personOr(zeroOr(f.AssigneeID), zeroOr(f.AssigneeWildcardID)),
		Milestone: milestoneOf(present(f.MilestoneTitle), f.MilestoneWildcardID),
		Iteration: filter.Iteration{Title: zeroOr(f.IterationTitle), Which: filter.Wildcard(strings.ToLower(zeroOr(f.IterationWildcardID)))},
		Epic:      issue.EpicFilter{ID: numberOr(f.EpicID), Which: filter.Word(zeroOr(f.EpicWildcardID))},
	}
	if err := f.conflict(); err != nil {
		return out, err
	}
	var err error
	if out.Weight, out.WeightWildcard, err = weight(f.Weight); err != nil {
		return out, err
	}
	out.WeightWildcard = cmp.Or(filter.Word(zeroOr(f.WeightWildcardID)), out.WeightWildcard)
	if name := zeroOr(f.AssigneeUsername); name != "" {
		out.AssigneeUsernames = []string{name}
	}
	if f.IID != nil {
		out.IIDs = append(out.IIDs, iids[issue.IID]([]string{*f.IID})...)
	}
	for _, id := range f.IterationCadenceID {
		out.Iteration.Cadences = append(out.Iteration.Cadences, iteration.CadenceID(id.ID))
	}
	for _, id := range f.IterationID {
		if id != nil {
			out.Iteration.IDs = append(out.Iteration.IDs, iteration.ID(id.ID))
		}
	}
	if state := zeroOr(f.State); state != "all" {
		out.State = issue.State(state)
	}
	out.Types, out.In = lower[issue.Type](f.Types), lower[string](f.In)
	if out.HealthWildcard = filter.Word(zeroOr(f.HealthStatusFilter)); out.HealthWildcard == "" {
		out.Health = healths[zeroOr(f.HealthStatusFilter)]
	}
	out.OrderBy, out.Asc = page.Sorted(zeroOr(f.Sort))
	if f.Not == nil {
		return out, nil
	}
	out.Not = f.Not.exclusion()
	var word filter.Wildcard
	if out.Not.Weight, word, err = weight(f.Not.Weight); word != "" {
		out.WeightWildcard = map[filter.Wildcard]filter.Wildcard{filter.None: filter.Any, filter.Any: filter.None}[word]
	}
	return out, err
}

// conflict refuses arguments that say different things of one property, and such as make no sense.
func (f *issueFilter) conflict() error {
	switch {
	case zeroOr(f.State) == "locked":
		return argumentError("locked is not a valid state filter for issues.")
	case len(f.In) > 0 && zeroOr(f.Search) == "":
		return argumentError("`search` should be present when including the `in` argument")
	}
	for _, group := range []map[string]bool{
		{"assigneeUsernames": f.AssigneeUsernames != nil, "assigneeUsername": f.AssigneeUsername != nil, "assigneeWildcardId": f.AssigneeWildcardID != nil},
		{"milestoneTitle": f.MilestoneTitle != nil, "milestoneWildcardId": f.MilestoneWildcardID != nil},
	} {
		if err := oneOf(group); err != nil {
			return err
		}
	}
	return nil
}

// exclusion makes that of core.
func (n *issueNot) exclusion() issue.Exclusion {
	out := issue.Exclusion{
		Not: filter.Not{
			Author: filter.Person{Username: zeroOr(n.AuthorUsername)}, Assignee: personOr(zeroOr(n.AssigneeID), ""), Labels: present(n.LabelName),
			Milestone: milestoneOf(n.MilestoneTitle, n.MilestoneWildcardID),
			Reaction:  zeroOr(n.MyReactionEmoji),
		},
		IIDs: iids[issue.IID](n.IIDs), AssigneeUsernames: n.AssigneeUsernames, Epic: numberOr(n.EpicID),
		Types: lower[issue.Type](n.Types), Health: healths[zeroOr(n.HealthStatusFilter)],
	}
	out.Iteration.Title = zeroOr(n.IterationTitle)
	for _, id := range n.IterationID {
		out.Iteration.IDs = append(out.Iteration.IDs, iteration.ID(id.ID))
	}
	return out
}
