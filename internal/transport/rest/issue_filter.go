package rest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/transport/rest/api"
)

// issueFilterParams are what lists and statistics of issues filter by.
type issueFilterParams struct {
	State            string       `param:"state" values:"opened,closed,all" default:"all" doc:"State"`
	Labels           api.Strings  `param:"labels" doc:"Titles of labels, all of which an issue has; None or Any"`
	Milestone        string       `param:"milestone" doc:"Title of the milestone; None or Any"`
	MilestoneID      string       `param:"milestone_id" values:"None,Any,Upcoming,Started" doc:"Kind of milestone"`
	IIDs             api.Ints     `param:"iids" doc:"Numbers in the project"`
	Search           string       `param:"search" doc:"Words in title or description"`
	In               string       `param:"in" doc:"Where to search: title, description, or both with a comma"`
	AuthorID         *int64       `param:"author_id" doc:"Author"`
	AuthorUsername   string       `param:"author_username" doc:"Author"`
	AssigneeID       api.IDOrWord `param:"assignee_id" doc:"Assignee; None or Any"`
	AssigneeUsername api.Strings  `param:"assignee_username" doc:"Assignee"`
	ClosedByID       *int64       `param:"closed_by_id" doc:"Who closed it"`
	CreatedAfter     *time.Time   `param:"created_after" doc:"Made at this time or later"`
	CreatedBefore    *time.Time   `param:"created_before" doc:"Made at this time or earlier"`
	UpdatedAfter     *time.Time   `param:"updated_after" doc:"Changed last at this time or later"`
	UpdatedBefore    *time.Time   `param:"updated_before" doc:"Changed last at this time or earlier"`
	DueDate          string       `param:"due_date" values:"0,any,today,tomorrow,overdue,week,month,next_month_and_previous_two_weeks," doc:"When it is due"`
	Confidential     *bool        `param:"confidential" doc:"Confidential or not"`
	Reaction         string       `param:"my_reaction_emoji" doc:"The caller's own reaction; None or Any"`
	IssueType        string       `param:"issue_type" values:"issue,incident,test_case,task" doc:"Type"`
	Weight           api.IDOrWord `param:"weight" doc:"Weight; None or Any"`
	Scope            string       `param:"scope" values:"created-by-me,assigned-to-me,created_by_me,assigned_to_me,all" doc:"Whose issues"`
	NonArchived      *bool        `param:"non_archived" doc:"Leave out archived projects"`
	Not              issueNot     `param:"not" doc:"Properties that issues do not have"`
	_                struct{}     `exclusive:"milestone_id,milestone"`
	_                struct{}     `exclusive:"author_id,author_username"`
	_                struct{}     `exclusive:"assignee_id,assignee_username"`
}

type issueNot struct {
	Labels           api.Strings `param:"labels" doc:"Titles of labels"`
	Milestone        string      `param:"milestone" doc:"Title of a milestone"`
	MilestoneID      string      `param:"milestone_id" values:"Upcoming,Started" doc:"Kind of milestone"`
	IIDs             api.Ints    `param:"iids" doc:"Numbers in the project"`
	AuthorID         *int64      `param:"author_id" doc:"Author"`
	AuthorUsername   string      `param:"author_username" doc:"Author"`
	AssigneeID       *int64      `param:"assignee_id" doc:"Assignee"`
	AssigneeUsername api.Strings `param:"assignee_username" doc:"Assignee"`
	_                struct{}    `exclusive:"milestone_id,milestone"`
	_                struct{}    `exclusive:"author_id,author_username"`
	_                struct{}    `exclusive:"assignee_id,assignee_username"`
}

// filter makes the core's filter. Lists of one project show all of it unless scope says
// otherwise; scope and nonArchived are the defaults elsewhere.
func (p *issueFilterParams) filter(scope string, nonArchived bool) (issue.Filter, error) {
	if len(p.AssigneeUsername) > 1 {
		return issue.Filter{}, api.BadParam("assignee_username allows one value, but found " +
			strconv.Itoa(len(p.AssigneeUsername)) + ": " + strings.Join(p.AssigneeUsername, ", "))
	}
	f := issue.Filter{
		IIDs: numbers[issue.IID](p.IIDs), Milestone: p.milestone(), NotMilestone: strings.ToLower(p.Not.Milestone),
		AuthorID: userID(p.AuthorID), AuthorUsername: p.AuthorUsername, AssigneeUsernames: p.AssigneeUsername,
		ClosedByID: userID(p.ClosedByID), Search: p.Search, CreatedAfter: p.CreatedAfter, CreatedBefore: p.CreatedBefore,
		UpdatedAfter: p.UpdatedAfter, UpdatedBefore: p.UpdatedBefore, DueDate: p.DueDate, Confidential: p.Confidential,
		Reaction: p.Reaction, NonArchived: nonArchived,
		Not: issue.Exclusion{
			Labels: p.Not.Labels, IIDs: numbers[issue.IID](p.Not.IIDs), AuthorID: userID(p.Not.AuthorID),
			AuthorUsername: p.Not.AuthorUsername, AssigneeID: userID(p.Not.AssigneeID), AssigneeUsernames: p.Not.AssigneeUsername,
		},
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
	if p.NonArchived != nil {
		f.NonArchived = *p.NonArchived
	}
	f.Labels, f.LabelWildcard = wildcardLabels(p.Labels)
	f.AssigneeID, f.AssigneeWildcard = idOrWord(p.AssigneeID)
	if !p.Weight.IsZero() && !p.Weight.None && !p.Weight.Any {
		f.Weight = &p.Weight.ID
	}
	_, f.WeightWildcard = idOrWord(p.Weight)
	if p.Scope != "" {
		scope = p.Scope
	}
	switch scope {
	case "created_by_me", "created-by-me":
		f.CreatedByMe = true
	case "assigned_to_me", "assigned-to-me":
		f.AssignedToMe = true
	}
	return f, nil
}

// milestone is the title asked for, or one of the wildcards in lower case.
func (p *issueFilterParams) milestone() string {
	for _, word := range []string{p.Milestone, p.MilestoneID} {
		switch strings.ToLower(word) {
		case "none", "any", "upcoming", "started":
			return strings.ToLower(word)
		}
	}
	return p.Milestone
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

func idOrWord(v api.IDOrWord) (*authz.UserID, issue.Wildcard) {
	switch {
	case v.None:
		return nil, issue.None
	case v.Any:
		return nil, issue.Any
	case v.IsZero():
		return nil, ""
	}
	return userID(&v.ID), ""
}

func userID(id *int64) *authz.UserID {
	if id == nil {
		return nil
	}
	u := authz.UserID(*id)
	return &u
}

// numbers turns plain numbers into ids of a type.
func numbers[T ~int64](list []int64) []T {
	out := make([]T, len(list))
	for i, n := range list {
		out[i] = T(n)
	}
	return out
}
