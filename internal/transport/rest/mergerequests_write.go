package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

type createRequestParams struct {
	projectPath
	Title                 string         `param:"title,required" doc:"Title; the prefix Draft: makes it a draft"`
	SourceBranch          string         `param:"source_branch,required" doc:"Source branch"`
	TargetBranch          string         `param:"target_branch,required" doc:"Target branch"`
	TargetProjectID       project.ID     `param:"target_project_id" doc:"ID of the target project; defaults to this project"`
	AssigneeID            *int64         `param:"assignee_id" doc:"ID of the assignee"`
	AssigneeIDs           api.Ints       `param:"assignee_ids" doc:"IDs of the assignees; 0 unassigns all"`
	ReviewerIDs           api.Ints       `param:"reviewer_ids" doc:"IDs of the reviewers; 0 removes all"`
	Description           *string        `param:"description" chars:"1048576" doc:"Description, in Markdown"`
	Labels                api.Strings    `param:"labels" doc:"Label names, separated by commas; missing labels are created"`
	MilestoneID           api.Opt[int64] `param:"milestone_id" doc:"ID of the milestone"`
	RemoveSourceBranch    *bool          `param:"remove_source_branch" doc:"Remove the source branch after merging"`
	AllowCollaboration    *bool          `param:"allow_collaboration" doc:"Allow commits from members who can merge to the target branch"`
	AllowMaintainerToPush *bool          `param:"allow_maintainer_to_push" doc:"Deprecated: use allow_collaboration"`
	Squash                *bool          `param:"squash" alias:"squash_on_merge" doc:"Squash commits into one when merging"`
	ApprovalsBeforeMerge  *int64         `param:"approvals_before_merge" doc:"Number of approvals required, if more than the project requires"`
}

func (s *Server) createRequest(ctx context.Context, as authz.Actor, in createRequestParams) (mergeRequestFull, error) {
	source, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return mergeRequestFull{}, err
	}
	input := mergerequest.Input{
		Target: in.TargetProjectID, SourceBranch: in.SourceBranch, TargetBranch: in.TargetBranch, Title: in.Title,
		Description: in.Description, Assignees: userIDs(in.AssigneeIDs), Reviewers: userIDs(in.ReviewerIDs), Labels: in.Labels, MilestoneID: milestoneID(in.MilestoneID),
		RemoveSource: in.RemoveSourceBranch, Squash: in.Squash, ApprovalsBeforeMerge: in.ApprovalsBeforeMerge,
		AllowCollaboration: first(in.AllowCollaboration, in.AllowMaintainerToPush),
	}
	if in.AssigneeID != nil {
		input.Assignees = userIDs(api.Ints{*in.AssigneeID})
	}
	m, p, err := s.MergeRequests.Create(ctx, as, source, input)
	if err != nil {
		return mergeRequestFull{}, err
	}
	return s.requestFull(ctx, as, p, m)
}

// userIDs takes ids as users, without the zero that stands for no user.
func userIDs(ids api.Ints) []authz.UserID {
	out := make([]authz.UserID, 0, len(ids))
	for _, id := range ids {
		if id != 0 {
			out = append(out, authz.UserID(id))
		}
	}
	return out
}

// first returns the first value that was sent, false where none was.
func first(values ...*bool) bool {
	for _, v := range values {
		if v != nil {
			return *v
		}
	}
	return false
}

type updateRequestParams struct {
	requestPath
	AssigneeID            api.Opt[int64]  `param:"assignee_id" doc:"ID of the assignee; 0 unassigns"`
	AssigneeIDs           api.Ints        `param:"assignee_ids" doc:"IDs of the assignees; 0 unassigns all"`
	ReviewerIDs           api.Ints        `param:"reviewer_ids" doc:"IDs of the reviewers; 0 removes all"`
	Description           api.Opt[string] `param:"description" chars:"1048576" doc:"Description, in Markdown"`
	Labels                api.Strings     `param:"labels" doc:"Label names, separated by commas; empty removes all"`
	AddLabels             api.Strings     `param:"add_labels" doc:"Label names to add, separated by commas"`
	RemoveLabels          api.Strings     `param:"remove_labels" doc:"Label names to remove, separated by commas"`
	MilestoneID           api.Opt[int64]  `param:"milestone_id" doc:"ID of the milestone; 0 removes it"`
	RemoveSourceBranch    *bool           `param:"remove_source_branch" doc:"Remove the source branch after merging"`
	AllowCollaboration    *bool           `param:"allow_collaboration" doc:"Allow commits from members who can merge to the target branch"`
	AllowMaintainerToPush *bool           `param:"allow_maintainer_to_push" doc:"Deprecated: use allow_collaboration"`
	Squash                *bool           `param:"squash" alias:"squash_on_merge" doc:"Squash commits into one when merging"`
	TargetBranch          *string         `param:"target_branch,nonempty" doc:"Target branch"`
	Title                 *string         `param:"title,nonempty" doc:"Title; the prefix Draft: makes it a draft"`
	StateEvent            string          `param:"state_event" values:"close,reopen" doc:"close or reopen"`
	DiscussionLocked      *bool           `param:"discussion_locked" doc:"Lock the discussion: only members may add or edit comments"`
	_                     struct{}        `atleastone:"assignee_id,assignee_ids,reviewer_ids,description,labels,add_labels,remove_labels,milestone_id,remove_source_branch,allow_collaboration,allow_maintainer_to_push,squash,target_branch,title,state_event,discussion_locked"`
}

func (s *Server) updateRequest(ctx context.Context, as authz.Actor, in updateRequestParams) (mergeRequestFull, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return mergeRequestFull{}, err
	}
	m, err := s.MergeRequests.Update(ctx, as, p, in.IID, in.changes())
	if err != nil {
		return mergeRequestFull{}, err
	}
	return s.requestFull(ctx, as, p, m)
}

func (u *updateRequestParams) changes() mergerequest.Changes {
	c := mergerequest.Changes{
		Title: u.Title, Description: u.Description.OrZero(), TargetBranch: u.TargetBranch,
		DiscussionLocked: u.DiscussionLocked, RemoveSource: u.RemoveSourceBranch, Squash: u.Squash,
		Event:  mergerequest.Event(u.StateEvent),
		Labels: label.Assignment{Add: u.AddLabels, Remove: u.RemoveLabels}, MilestoneID: milestoneID(u.MilestoneID),
	}
	if u.Labels != nil {
		titles := []string(u.Labels)
		c.Labels.Set = &titles
	}
	if u.AssigneeIDs != nil {
		ids := userIDs(u.AssigneeIDs)
		c.Assignees = &ids
	}
	if u.AssigneeID.Set {
		ids := userIDs(api.Ints{u.AssigneeID.Value})
		c.Assignees = &ids
	}
	if u.ReviewerIDs != nil {
		ids := userIDs(u.ReviewerIDs)
		c.Reviewers = &ids
	}
	if u.AllowCollaboration != nil || u.AllowMaintainerToPush != nil {
		allow := first(u.AllowCollaboration, u.AllowMaintainerToPush)
		c.AllowCollaboration = &allow
	}
	return c
}

func (s *Server) deleteRequest(ctx context.Context, as authz.Actor, in requestPath) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.MergeRequests.Delete(ctx, as, p, in.IID)
}

type mergeParams struct {
	requestPath
	MergeCommitMessage  string `param:"merge_commit_message" doc:"Custom merge commit message"`
	SquashCommitMessage string `param:"squash_commit_message" doc:"Custom squash commit message"`
	RemoveSourceBranch  *bool  `param:"should_remove_source_branch" doc:"Remove the source branch after merging"`
	WhenPipeline        bool   `param:"merge_when_pipeline_succeeds" alias:"auto_merge" doc:"Merge when the pipeline succeeds; adds to the merge train where the project has merge trains"`
	SHA                 string `param:"sha" doc:"If present, the SHA that must match the HEAD of the source branch"`
	Squash              bool   `param:"squash" doc:"Squash commits into one when merging; false keeps the setting of the merge request"`
	SkipMergeTrain      bool   `param:"skip_merge_train" doc:"Merge without the merge train, where the project allows it"`
}

func (s *Server) mergeRequest(ctx context.Context, as authz.Actor, in mergeParams) (mergeRequestFull, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return mergeRequestFull{}, err
	}
	m, err := s.MergeRequests.Merge(ctx, as, p, in.IID, mergerequest.MergeInput{
		SHA: in.SHA, MergeMessage: in.MergeCommitMessage, SquashMessage: in.SquashCommitMessage,
		Squash: in.Squash, RemoveSource: in.RemoveSourceBranch, WhenReady: in.WhenPipeline, SkipTrain: in.SkipMergeTrain,
	})
	if err != nil {
		return mergeRequestFull{}, err
	}
	return s.requestFull(ctx, as, p, m)
}

func (s *Server) cancelAutoMerge(ctx context.Context, as authz.Actor, in requestPath) (mergeRequestFull, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return mergeRequestFull{}, err
	}
	m, err := s.MergeRequests.CancelAutoMerge(ctx, as, p, in.IID)
	if err != nil {
		return mergeRequestFull{}, err
	}
	return s.requestFull(ctx, as, p, m)
}

type rebaseParams struct {
	requestPath
	SkipCI bool `param:"skip_ci" doc:"Create no pipelines for the rebased commits"`
}

type rebaseEntity struct {
	RebaseInProgress bool `json:"rebase_in_progress"`
}

func (s *Server) rebaseRequest(ctx context.Context, as authz.Actor, in rebaseParams) (rebaseEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return rebaseEntity{}, err
	}
	return rebaseEntity{true}, s.MergeRequests.Rebase(ctx, as, p, in.IID, mergerequest.RebaseOptions{SkipCI: in.SkipCI})
}
