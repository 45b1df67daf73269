package rest

import (
	"context"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/mergerequest"
	"tenon/internal/transport/rest/api"
)

// requestFilterParams are the parameters of every list of merge requests.
type requestFilterParams struct {
	State          string       `param:"state" values:"opened,closed,locked,merged,all" default:"all" doc:"State"`
	AuthorID       *int64       `param:"author_id" doc:"ID of the author"`
	AuthorUsername string       `param:"author_username" doc:"Return items by this author"`
	_              struct{}     `exclusive:"author_id,author_username"`
	AssigneeID     api.IDOrWord `param:"assignee_id" doc:"Return items assigned to this user ID, None or Any"`
	AssigneeNames  api.Strings  `param:"assignee_username" doc:"Return items assigned to this username"`
	_              struct{}     `exclusive:"assignee_id,assignee_username"`
	ReviewerID     api.IDOrWord `param:"reviewer_id" doc:"Return merge requests with this reviewer ID, None or Any"`
	ReviewerName   string       `param:"reviewer_username" doc:"Return merge requests with this reviewer, None or Any"`
	_              struct{}     `exclusive:"reviewer_id,reviewer_username"`
	MergeUserID    *int64       `param:"merge_user_id" doc:"Return merge requests merged by this user ID"`
	MergeUserName  string       `param:"merge_user_username" doc:"Return merge requests merged by this username"`
	_              struct{}     `exclusive:"merge_user_id,merge_user_username"`
	Labels         api.Strings  `param:"labels" doc:"Return items with all of these labels, separated by commas; None or Any"`
	Milestone      string       `param:"milestone" doc:"Title of the milestone, None or Any"`
	mergerequest.Selection
	In  string `param:"in" doc:"Search scope: title, description, or both separated by a comma"`
	WIP string `param:"wip" values:"yes,no" doc:"yes returns drafts, no returns merge requests that are not drafts"`
	filter.Times
	DeployedAfter  *time.Time  `param:"deployed_after" doc:"Return merge requests deployed after this time"`
	DeployedBefore *time.Time  `param:"deployed_before" doc:"Return merge requests deployed before this time"`
	Environment    string      `param:"environment" doc:"Return merge requests deployed to this environment"`
	ApprovedByIDs  api.Strings `param:"approved_by_ids" doc:"Return merge requests approved by all these user IDs, None or Any"`
	ApprovedNames  api.Strings `param:"approved_by_usernames" doc:"Return merge requests approved by all these usernames, None or Any"`
	_              struct{}    `exclusive:"approved_by_ids,approved_by_usernames"`
	ApproverIDs    api.Strings `param:"approver_ids" doc:"Return merge requests with all these user IDs as approvers, None or Any"`
	Not            requestNot  `param:"not" doc:"Return items that do not match these filters"`
	WithDetails    bool        `param:"with_labels_details" default:"false" doc:"Return labels with their details"`
	Recheck        bool        `param:"with_merge_status_recheck" default:"false" doc:"Request an asynchronous recalculation of the merge status"`
	View           string      `param:"view" values:"simple" doc:"simple returns only limited fields"`
	OrderBy        string      `param:"order_by" values:"created_at,label_priority,milestone_due,popularity,priority,title,updated_at,merged_at" default:"created_at" doc:"Column to order by"`
	Sort           string      `param:"sort" values:"asc,desc" default:"desc" doc:"asc or desc"`
	api.Page
}

// requestNot is what not[...] leaves out.
type requestNot struct {
	Labels         api.Strings  `param:"labels" doc:"Return items without any of these labels, separated by commas"`
	Milestone      string       `param:"milestone" doc:"Title of the milestone"`
	AuthorID       *int64       `param:"author_id" doc:"ID of the author"`
	AuthorUsername string       `param:"author_username" doc:"Return items by this author"`
	_              struct{}     `exclusive:"author_id,author_username"`
	AssigneeID     api.IDOrWord `param:"assignee_id" doc:"Return items assigned to this user ID"`
	AssigneeNames  api.Strings  `param:"assignee_username" doc:"Return items assigned to this username"`
	_              struct{}     `exclusive:"assignee_id,assignee_username"`
	ReviewerID     api.IDOrWord `param:"reviewer_id" doc:"Return merge requests with this reviewer ID"`
	ReviewerName   string       `param:"reviewer_username" doc:"Return merge requests with this reviewer"`
	_              struct{}     `exclusive:"reviewer_id,reviewer_username"`
	Reaction       string       `param:"my_reaction_emoji" doc:"Return items the current user reacted to with this emoji"`
}

// filter turns the parameters into what core selects by.
func (r *requestFilterParams) filter() (mergerequest.Filter, error) {
	assignee, err := oneName(r.AssigneeNames)
	if err != nil {
		return mergerequest.Filter{}, err
	}
	notAssignee, err := oneName(r.Not.AssigneeNames)
	if err != nil {
		return mergerequest.Filter{}, err
	}
	f := mergerequest.Filter{
		Author:    userOrName(r.AuthorID, r.AuthorUsername),
		Assignee:  idOrName(r.AssigneeID, assignee),
		Reviewer:  idOrName(r.ReviewerID, r.ReviewerName),
		MergeUser: userOrName(r.MergeUserID, r.MergeUserName),
		Labels:    r.Labels, Milestone: milestoneOr(r.Milestone, ""),
		Selection: r.Selection, Times: r.Times, In: requestFields(r.In),
		Deployed:   mergerequest.Deployed{Environment: r.Environment, After: r.DeployedAfter, Before: r.DeployedBefore},
		ApprovedBy: append(idsOrWords(r.ApprovedByIDs), namesOrWords(r.ApprovedNames)...), Approvers: idsOrWords(r.ApproverIDs),
		Not: mergerequest.Exclusion{
			Not: filter.Not{
				Author: userOrName(r.Not.AuthorID, r.Not.AuthorUsername), Assignee: idOrName(r.Not.AssigneeID, notAssignee),
				Labels: r.Not.Labels, Milestone: milestoneOr(r.Not.Milestone, ""), Reaction: r.Not.Reaction,
			},
			Reviewer: idOrName(r.Not.ReviewerID, r.Not.ReviewerName),
		},
		OrderBy: r.OrderBy, Asc: r.Sort == "asc", Range: r.Range(),
	}
	if r.State != "all" {
		f.State = mergerequest.State(r.State)
	}
	if r.WIP != "" {
		drafts := r.WIP == "yes"
		f.Draft = &drafts
	}
	return f, nil
}

// requestFields are the fields to search; other words are ignored.
func requestFields(in string) []string {
	return slices.DeleteFunc(strings.Split(in, ","), func(field string) bool { return field != "title" && field != "description" })
}

// applyScope narrows a list to the merge requests that the caller has a part in.
func applyScope(f *mergerequest.Filter, scope string) {
	switch strings.ReplaceAll(scope, "-", "_") {
	case "created_by_me":
		f.CreatedByMe = true
	case "assigned_to_me":
		f.AssignedToMe = true
	case "reviews_for_me":
		f.ReviewsForMe = true
	}
}

type listAllRequestsParams struct {
	requestFilterParams
	Scope       string `param:"scope" values:"created-by-me,assigned-to-me,created_by_me,assigned_to_me,reviews_for_me,all" default:"created_by_me" doc:"created_by_me, assigned_to_me or all"`
	NonArchived bool   `param:"non_archived" doc:"Return only issues of projects that are not archived"`
}

func (s *Server) listAllRequests(ctx context.Context, as authz.Actor, in listAllRequestsParams) (api.List[requestForm], error) {
	f, err := in.filter()
	if err != nil {
		return api.List[requestForm]{}, err
	}
	f.NonArchived = in.NonArchived
	applyScope(&f, in.Scope)
	list, err := s.MergeRequests.List(ctx, as, authz.Place{}, f)
	if err != nil {
		return api.List[requestForm]{}, err
	}
	return s.requestPage(ctx, as, in.requestFilterParams, "", list)
}

type listGroupRequestsParams struct {
	ID string `param:"id,required" doc:"ID or URL-encoded path of the group"`
	requestFilterParams
	Scope       string `param:"scope" values:"created-by-me,assigned-to-me,created_by_me,assigned_to_me,reviews_for_me,all" default:"all" doc:"created_by_me, assigned_to_me or all"`
	NonArchived bool   `param:"non_archived" default:"true" doc:"Return only issues of projects that are not archived"`
}

func (s *Server) listGroupRequests(ctx context.Context, as authz.Actor, in listGroupRequestsParams) (api.List[requestForm], error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[requestForm]{}, err
	}
	f, err := in.filter()
	if err != nil {
		return api.List[requestForm]{}, err
	}
	f.NonArchived = in.NonArchived
	applyScope(&f, in.Scope)
	list, err := s.MergeRequests.List(ctx, as, g.Place(), f)
	if err != nil {
		return api.List[requestForm]{}, err
	}
	return s.requestPage(ctx, as, in.requestFilterParams, g.FullPath, list)
}

// placedRequestParams are the parameters of lists of merge requests in a project.
type placedRequestParams struct {
	requestFilterParams
	IIDs  api.Ints `param:"iids" doc:"Internal IDs"`
	Scope string   `param:"scope" values:"created-by-me,assigned-to-me,created_by_me,assigned_to_me,reviews_for_me,all" default:"all" doc:"created_by_me, assigned_to_me or all"`
}

// filter turns the parameters into what core selects by.
func (r *placedRequestParams) filter() (mergerequest.Filter, error) {
	f, err := r.requestFilterParams.filter()
	for _, iid := range r.IIDs {
		f.IIDs = append(f.IIDs, mergerequest.IID(iid))
	}
	applyScope(&f, r.Scope)
	return f, err
}

type listRequestsParams struct {
	projectPath
	placedRequestParams
}

func (s *Server) listRequests(ctx context.Context, as authz.Actor, in listRequestsParams) (api.List[requestForm], error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[requestForm]{}, err
	}
	f, err := in.filter()
	if err != nil {
		return api.List[requestForm]{}, err
	}
	list, err := s.MergeRequests.List(ctx, as, p.Place(), f)
	if err != nil {
		return api.List[requestForm]{}, err
	}
	return s.requestPage(ctx, as, in.requestFilterParams, p.FullPath, list)
}

// requestForm is a merge request in a list, in the form that view asks for.
type requestForm interface {
	OneOf(full *mergeRequestEntity, simple *simpleMergeRequest)
}

// OneOf names the forms of a merge request.
func (*mergeRequestEntity) OneOf(*mergeRequestEntity, *simpleMergeRequest) {}

// OneOf names the forms of a merge request.
func (*simpleMergeRequest) OneOf(*mergeRequestEntity, *simpleMergeRequest) {}

// requestPage renders a page of a list, seen from the project or group at path from.
func (s *Server) requestPage(ctx context.Context, as authz.Actor, in requestFilterParams, from string, list page.Page[*mergerequest.MergeRequest]) (api.List[requestForm], error) {
	if in.Recheck {
		if err := s.MergeRequests.Recheck(ctx, as, list.Items); err != nil {
			return api.List[requestForm]{}, err
		}
	}
	views, err := s.MergeRequests.Views(ctx, as, list.Items, mergerequest.ViewOptions{})
	if err != nil {
		return api.List[requestForm]{}, err
	}
	items := make([]requestForm, len(views))
	for i := range views {
		if in.View == "simple" {
			items[i] = new(newSimpleMergeRequest(&views[i]))
		} else {
			items[i] = new(s.requestEntity(&views[i], requestShape{from: from, details: in.WithDetails}))
		}
	}
	return api.Listed(list, items), nil
}
