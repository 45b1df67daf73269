package graphql

import (
	"slices"

	"tenon/internal/base/page"
	"tenon/internal/core/epic"
	"tenon/internal/core/filter"
	"tenon/internal/core/issue"
)

// workItemFilter is the arguments of lists of work items of namespaces, but for the page.
type workItemFilter struct {
	issueFilter `exec:"some"`

	IDs, ParentIDs                       []globalID
	IncludeAncestors, IncludeDescendants bool
}

// items makes the filter of core for a part of the list.
func (f *workItemFilter) items(r page.Range) (epic.ItemFilter, error) {
	out := epic.ItemFilter{Range: r}
	out.OrderBy, out.Asc = page.Sorted(zeroOr(f.Sort))
	if f.ofIssues() {
		issues, err := f.filter()
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

// epics are the arguments as a list of epics takes them.
func (f *workItemFilter) epics() *epic.Filter {
	out := &epic.Filter{
		Author: filter.Person{Username: zeroOr(f.AuthorUsername)}, IIDs: iids[epic.IID](f.IIDs), Labels: present(f.LabelName), In: lower[string](f.In),
		IDs: numbersOf[epic.ID](f.IDs, isEpic), Parents: numbersOf[epic.ID](f.ParentIDs, isEpic),
		Selection: epic.Selection{
			Search: zeroOr(f.Search), Confidential: f.Confidential, Reaction: f.Reaction, Ancestors: f.IncludeAncestors, Descendants: f.IncludeDescendants, Times: f.Times,
		},
	}
	if f.IID != nil {
		out.IIDs = append(out.IIDs, epic.IID(number(*f.IID)))
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
