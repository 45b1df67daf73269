package graphql

import (
	"slices"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/epic"
	"tenon/internal/core/filter"
	"tenon/internal/core/issue"
)

// workItemFilter is the arguments of lists of work items of namespaces, but for the page.
type workItemFilter struct {
	AssigneeUsernames                  []string
	AssigneeWildcardID, AuthorUsername *string
	Confidential                       *bool
	CreatedAfter, CreatedBefore        *time.Time
	HealthStatusFilter                 *string
	IDs, ParentIDs                     []globalID
	IIDs, In                           []string
	IncludeAncestors                   bool
	IncludeDescendants                 bool
	IterationID                        []*globalID
	IterationWildcardID                *string
	LabelName                          []string
	MilestoneTitle                     []string
	MilestoneWildcardID                *string
	MyReactionEmoji                    *string
	Search, Sort, State                *string
	Types                              []string
	UpdatedAfter, UpdatedBefore        *time.Time
	Weight, WeightWildcardID           *string
}

// items makes the filter of core for a part of the list.
func (f *workItemFilter) items(r page.Range) (epic.ItemFilter, error) {
	out := epic.ItemFilter{Range: r}
	out.OrderBy, out.Asc = page.Sorted(zeroOr(f.Sort))
	if f.ofIssues() {
		issues, err := f.issues().filter()
		if err != nil {
			return out, err
		}
		issues.IDs, issues.Epics = numbersOf[issue.ID](f.IDs, isIssue), numbersOf[int64](f.ParentIDs, isEpic)
		out.Issues = &issues
	}
	if f.ofEpics() {
		out.Epics = f.epics()
	}
	return out, nil
}

// ofIssues reports whether there can be issues among what is asked for.
func (f *workItemFilter) ofIssues() bool {
	return (f.Types == nil || slices.ContainsFunc(f.Types, func(t string) bool { return t != "EPIC" })) &&
		(f.IDs == nil || slices.ContainsFunc(f.IDs, isIssue)) && (f.ParentIDs == nil || slices.ContainsFunc(f.ParentIDs, isEpic))
}

// ofEpics reports whether there can be epics among what is asked for: they have no assignees, health
// status, iteration, milestone or weight.
func (f *workItemFilter) ofEpics() bool {
	none := func(value *string) bool { return value == nil || filter.Word(*value) == filter.None }
	return (f.Types == nil || slices.Contains(f.Types, "EPIC")) && (f.IDs == nil || slices.ContainsFunc(f.IDs, isEpic)) &&
		(f.ParentIDs == nil || slices.ContainsFunc(f.ParentIDs, isEpic)) && len(f.AssigneeUsernames) == 0 && none(f.AssigneeWildcardID) && none(f.HealthStatusFilter) &&
		len(f.IterationID) == 0 && none(f.IterationWildcardID) && len(f.MilestoneTitle) == 0 && none(f.MilestoneWildcardID) && f.Weight == nil && none(f.WeightWildcardID)
}

// issues are the arguments as a list of issues takes them.
func (f *workItemFilter) issues() *issueFilter {
	out := &issueFilter{State: f.State, issueChoice: issueChoice{
		AssigneeWildcardID: f.AssigneeWildcardID, AssigneeUsernames: f.AssigneeUsernames, AuthorUsername: f.AuthorUsername, Confidential: f.Confidential,
		CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore, HealthStatusFilter: f.HealthStatusFilter, IIDs: f.IIDs, In: f.In, IterationID: f.IterationID,
		IterationWildcardID: f.IterationWildcardID, MilestoneWildcardID: f.MilestoneWildcardID, MyReactionEmoji: f.MyReactionEmoji, Search: f.Search,
		Types: f.Types, UpdatedAfter: f.UpdatedAfter, UpdatedBefore: f.UpdatedBefore, Weight: f.Weight, WeightWildcardID: f.WeightWildcardID,
	}}
	for i := range f.LabelName {
		out.LabelName = append(out.LabelName, &f.LabelName[i])
	}
	for i := range f.MilestoneTitle {
		out.MilestoneTitle = append(out.MilestoneTitle, &f.MilestoneTitle[i])
	}
	return out
}

// epics are the arguments as a list of epics takes them.
func (f *workItemFilter) epics() *epic.Filter {
	out := &epic.Filter{
		Author: filter.Person{Username: zeroOr(f.AuthorUsername)}, Confidential: f.Confidential, IIDs: iids[epic.IID](f.IIDs), Labels: f.LabelName, Reaction: zeroOr(f.MyReactionEmoji),
		Search: zeroOr(f.Search), In: lower[string](f.In), Ancestors: f.IncludeAncestors, Descendants: f.IncludeDescendants,
		IDs: numbersOf[epic.ID](f.IDs, isEpic), Parents: numbersOf[epic.ID](f.ParentIDs, isEpic),
		Times: filter.Times{CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore, UpdatedAfter: f.UpdatedAfter, UpdatedBefore: f.UpdatedBefore},
	}
	if state := zeroOr(f.State); state != "all" {
		out.State = epic.State(state)
	}
	return out
}

func isEpic(id globalID) bool  { return id.Model == "Epic" }
func isIssue(id globalID) bool { return !isEpic(id) }

// numbersOf returns the numbers of those global ids that ok chooses.
func numbersOf[T ~int64](ids []globalID, ok func(id globalID) bool) []T {
	var out []T
	for _, id := range ids {
		if ok(id) {
			out = append(out, T(id.ID))
		}
	}
	return out
}
