package rest

import (
	"slices"
	"strconv"
	"strings"

	"tenon/internal/core/filter"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/transport/rest/api"
)

// issueFilterParams are what lists and statistics of issues filter by.
type issueFilterParams struct {
	State            string       `param:"state" values:"opened,closed,all" default:"all" doc:"State"`
	Labels           api.Strings  `param:"labels" doc:"Return issues with all of these labels, separated by commas; None or Any"`
	Milestone        string       `param:"milestone" doc:"Title of the milestone; None or Any"`
	MilestoneID      string       `param:"milestone_id" values:"None,Any,Upcoming,Started" doc:"Milestone timebox: None, Any, Upcoming or Started"`
	IIDs             api.Ints     `param:"iids" doc:"Internal IDs"`
	Search           string       `param:"search" doc:"Search in titles and descriptions"`
	In               string       `param:"in" doc:"Search scope: title, description, or both separated by a comma"`
	AuthorID         *int64       `param:"author_id" doc:"Author"`
	AuthorUsername   string       `param:"author_username" doc:"Author"`
	AssigneeID       api.IDOrWord `param:"assignee_id" doc:"Return items assigned to this user ID, None or Any"`
	AssigneeUsername api.Strings  `param:"assignee_username" doc:"Assignee"`
	ClosedByID       *int64       `param:"closed_by_id" doc:"Return issues closed by this user ID"`
	issue.Selection
	IssueType      string        `param:"issue_type" values:"issue,incident,test_case,task" doc:"Issue type"`
	IterationID    api.IDOrWord  `param:"iteration_id" doc:"Return issues in this iteration ID, None or Any"`
	IterationTitle string        `param:"iteration_title" doc:"Return issues in iterations of this title"`
	EpicID         api.IDOrWord  `param:"epic_id" doc:"Return issues of the epic with this ID, None or Any"`
	Weight         *api.IDOrWord `param:"weight" doc:"Return items with this weight, None or Any"`
	HealthStatus   string        `param:"health_status" values:"on_track,needs_attention,at_risk,none,any,None,Any" doc:"Health status: on_track, needs_attention, at_risk, none or any"`
	Not            issueNot      `param:"not" doc:"Return issues that do not match these filters"`
	_              struct{}      `exclusive:"milestone_id,milestone"`
	_              struct{}      `exclusive:"iteration_id,iteration_title"`
	_              struct{}      `exclusive:"author_id,author_username"`
	_              struct{}      `exclusive:"assignee_id,assignee_username"`
}

// issueScope narrows what is read of a project or group to the caller's issues; everywhere,
// ownIssueScope does.
type issueScope struct {
	Scope string `param:"scope" values:"created-by-me,assigned-to-me,created_by_me,assigned_to_me,all" doc:"created_by_me, assigned_to_me or all; defaults to all"`
}

type ownIssueScope struct {
	Scope string `param:"scope" default:"created_by_me" values:"created-by-me,assigned-to-me,created_by_me,assigned_to_me,all" doc:"created_by_me, assigned_to_me or all"`
}

// withoutArchived is for lists that leave out archived projects unless a parameter includes them.
type withoutArchived struct {
	NonArchived bool `param:"non_archived" default:"true" doc:"Return only issues of projects that are not archived"`
}

type withArchived struct {
	NonArchived bool `param:"non_archived" doc:"Return only issues of projects that are not archived"`
}

type issueNot struct {
	Labels           api.Strings `param:"labels" doc:"Label names, separated by commas"`
	Milestone        string      `param:"milestone" doc:"Title of the milestone"`
	MilestoneID      string      `param:"milestone_id" values:"None,Any,Upcoming,Started" doc:"Milestone timebox: None, Any, Upcoming or Started"`
	IterationID      *int64      `param:"iteration_id" doc:"Iteration"`
	IterationTitle   string      `param:"iteration_title" doc:"Title of the iteration"`
	IIDs             api.Ints    `param:"iids" doc:"Internal IDs"`
	AuthorID         *int64      `param:"author_id" doc:"Author"`
	AuthorUsername   string      `param:"author_username" doc:"Author"`
	AssigneeID       *int64      `param:"assignee_id" doc:"Assignee"`
	AssigneeUsername api.Strings `param:"assignee_username" doc:"Assignee"`
	EpicID           *int64      `param:"epic_id" doc:"ID of the epic"`
	Weight           *int64      `param:"weight" doc:"Weight"`
	_                struct{}    `exclusive:"milestone_id,milestone"`
	_                struct{}    `exclusive:"author_id,author_username"`
	_                struct{}    `exclusive:"assignee_id,assignee_username"`
}

// filter makes the core's filter, but for the archived projects.
func (p *issueFilterParams) filter(scope string) (issue.Filter, error) {
	if len(p.AssigneeUsername) > 1 {
		return issue.Filter{}, api.BadParam("assignee_username allows one value, but found " +
			strconv.Itoa(len(p.AssigneeUsername)) + ": " + strings.Join(p.AssigneeUsername, ", "))
	}
	f := issue.Filter{
		IIDs: numbers[issue.IID](p.IIDs), Milestone: milestoneOr(p.Milestone, p.MilestoneID),
		Author: userOrName(p.AuthorID, p.AuthorUsername), Assignee: idOrName(p.AssigneeID, ""), AssigneeUsernames: p.AssigneeUsername,
		ClosedBy: userOrName(p.ClosedByID, ""), Search: p.Search, Selection: p.Selection,
		Not: issue.Exclusion{
			Not: filter.Not{
				Author: userOrName(p.Not.AuthorID, p.Not.AuthorUsername), Assignee: userOrName(p.Not.AssigneeID, ""),
				Labels: p.Not.Labels, Milestone: milestoneOr(p.Not.Milestone, p.Not.MilestoneID),
			},
			IIDs: numbers[issue.IID](p.Not.IIDs), AssigneeUsernames: p.Not.AssigneeUsername, Weight: p.Not.Weight,
		},
	}
	if f.HealthWildcard = filter.Word(p.HealthStatus); f.HealthWildcard == "" {
		f.Health = issue.Health(p.HealthStatus)
	}
	if p.State != "all" {
		f.State = issue.State(p.State)
	}
	if p.In != "" {
		f.In = strings.Split(p.In, ",")
	}
	if p.IssueType != "" {
		f.Types = []issue.Type{issue.Type(p.IssueType)}
	}
	f.Iteration = filter.Iteration{Title: p.IterationTitle}
	switch {
	case p.IterationID.ID != 0:
		f.Iteration.IDs = []iteration.ID{iteration.ID(p.IterationID.ID)}
	case p.IterationID.None:
		f.Iteration.Which = issue.None
	case p.IterationID.Any:
		f.Iteration.Which = issue.Any
	}
	f.Not.Iteration.Title = p.Not.IterationTitle
	if p.Not.IterationID != nil {
		f.Not.Iteration.IDs = []iteration.ID{iteration.ID(*p.Not.IterationID)}
	}
	f.Labels, f.LabelWildcard = wildcardLabels(p.Labels)
	switch w := p.Weight; {
	case w == nil:
	case w.None:
		f.WeightWildcard = issue.None
	case w.Any:
		f.WeightWildcard = issue.Any
	default:
		f.Weight = &w.ID
	}
	switch {
	case p.EpicID.None:
		f.Epic.Which = issue.None
	case p.EpicID.Any:
		f.Epic.Which = issue.Any
	default:
		f.Epic.ID = p.EpicID.ID
	}
	if p.Not.EpicID != nil {
		f.Not.Epic = *p.Not.EpicID
	}
	switch scope {
	case "created_by_me", "created-by-me":
		f.CreatedByMe = true
	case "assigned_to_me", "assigned-to-me":
		f.AssignedToMe = true
	}
	return f, nil
}

// milestoneOr reads a title or wildcard, or, where there is none, the wildcard of
// milestone_id.
func milestoneOr(title, word string) filter.Milestone {
	if title == "" {
		title = word
	}
	if title == "" {
		return filter.Milestone{}
	}
	return filter.MilestoneNamed(title)
}

// wildcardLabels tells titles from the words None and Any.
func wildcardLabels(titles []string) ([]string, issue.Wildcard) {
	titles = slices.DeleteFunc(slices.Clone(titles), func(s string) bool { return s == "" })
	if len(titles) == 1 {
		switch strings.ToLower(titles[0]) {
		case "none", "no label":
			return nil, issue.None
		case "any":
			return nil, issue.Any
		}
	}
	return titles, ""
}

// numbers turns plain numbers into ids of a type.
func numbers[T ~int64](list []int64) []T {
	out := make([]T, len(list))
	for i, n := range list {
		out[i] = T(n)
	}
	return out
}
