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
	Title                 string      `param:"title,required" doc:"Title; Draft: at its start makes a draft"`
	SourceBranch          string      `param:"source_branch,required" doc:"Branch to merge"`
	TargetBranch          string      `param:"target_branch,required" doc:"Branch to merge into"`
	TargetProjectID       project.ID  `param:"target_project_id" doc:"Id of the target project, this one if absent"`
	AssigneeID            *int64      `param:"assignee_id" doc:"Id of the assignee"`
	AssigneeIDs           api.Ints    `param:"assignee_ids" doc:"Ids of the assignees; 0 for none"`
	ReviewerIDs           api.Ints    `param:"reviewer_ids" doc:"Ids of the reviewers; 0 for none"`
	Description           *string     `param:"description" chars:"1048576" doc:"Description, in Markdown"`
	Labels                api.Strings `param:"labels" doc:"Titles of labels; unknown ones are made"`
	MilestoneID           *int64      `param:"milestone_id" doc:"Id of the milestone"`
	RemoveSourceBranch    *bool       `param:"remove_source_branch" doc:"Delete the source branch after the merge"`
	AllowCollaboration    *bool       `param:"allow_collaboration" doc:"Let those who may merge push to the source branch"`
	AllowMaintainerToPush *bool       `param:"allow_maintainer_to_push" doc:"The same, by its old name"`
	Squash                *bool       `param:"squash" alias:"squash_on_merge" doc:"Squash the commits at the merge"`
	ApprovalsBeforeMerge  *int64      `param:"approvals_before_merge" doc:"Approvals needed, where more than the project asks for"`
}

func (s *Server) createRequest(ctx context.Context, as authz.Actor, in createRequestParams) (mergeRequestFull, error) {
	source, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return mergeRequestFull{}, err
	}
	input := mergerequest.Input{
		Target: in.TargetProjectID, SourceBranch: in.SourceBranch, TargetBranch: in.TargetBranch, Title: in.Title,
		Description: in.Description, Assignees: userIDs(in.AssigneeIDs), Reviewers: userIDs(in.ReviewerIDs), Labels: in.Labels,
		RemoveSource: in.RemoveSourceBranch, Squash: in.Squash, ApprovalsBeforeMerge: in.ApprovalsBeforeMerge,
		AllowCollaboration: first(in.AllowCollaboration, in.AllowMaintainerToPush),
	}
	if in.AssigneeID != nil {
		input.Assignees = userIDs(api.Ints{*in.AssigneeID})
	}
	m, p, err := s.Requests.Create(ctx, as, source, input)
	if err != nil {
		return mergeRequestFull{}, err
	}
	return s.requestFull(ctx, as, p, m)
}

// userIDs takes ids as users, without the zero that stands for nobody.
func userIDs(ids api.Ints) []authz.UserID {
	out := make([]authz.UserID, 0, len(ids))
	for _, id := range ids {
		if id != 0 {
			out = append(out, authz.UserID(id))
		}
	}
	return out
}

// first gives the first value that was sent, false where none was.
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
	AssigneeID            api.Opt[int64]  `param:"assignee_id" doc:"Id of the assignee; 0 for none"`
	AssigneeIDs           api.Ints        `param:"assignee_ids" doc:"Ids of the assignees; 0 for none"`
	ReviewerIDs           api.Ints        `param:"reviewer_ids" doc:"Ids of the reviewers; 0 for none"`
	Description           api.Opt[string] `param:"description" chars:"1048576" doc:"Description, in Markdown"`
	Labels                api.Strings     `param:"labels" doc:"Titles of all its labels; empty for none"`
	AddLabels             api.Strings     `param:"add_labels" doc:"Titles of labels to add"`
	RemoveLabels          api.Strings     `param:"remove_labels" doc:"Titles of labels to take away"`
	MilestoneID           api.Opt[int64]  `param:"milestone_id" doc:"Id of the milestone; 0 for none"`
	RemoveSourceBranch    *bool           `param:"remove_source_branch" doc:"Delete the source branch after the merge"`
	AllowCollaboration    *bool           `param:"allow_collaboration" doc:"Let those who may merge push to the source branch"`
	AllowMaintainerToPush *bool           `param:"allow_maintainer_to_push" doc:"The same, by its old name"`
	Squash                *bool           `param:"squash" alias:"squash_on_merge" doc:"Squash the commits at the merge"`
	TargetBranch          *string         `param:"target_branch,nonempty" doc:"Branch to merge into"`
	Title                 *string         `param:"title,nonempty" doc:"Title; Draft: at its start makes a draft"`
	StateEvent            string          `param:"state_event" values:"close,reopen" doc:"Close or reopen"`
	DiscussionLocked      *bool           `param:"discussion_locked" doc:"Whether only members comment"`
	_                     struct{}        `atleastone:"assignee_id,assignee_ids,reviewer_ids,description,labels,add_labels,remove_labels,milestone_id,remove_source_branch,allow_collaboration,allow_maintainer_to_push,squash,target_branch,title,state_event,discussion_locked"`
}

func (s *Server) updateRequest(ctx context.Context, as authz.Actor, in updateRequestParams) (mergeRequestFull, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return mergeRequestFull{}, err
	}
	m, err := s.Requests.Update(ctx, as, p, in.IID, in.changes())
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
		Labels: label.Assignment{Add: u.AddLabels, Remove: u.RemoveLabels},
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
	return api.None{}, s.Requests.Delete(ctx, as, p, in.IID)
}

type mergeParams struct {
	requestPath
	MergeCommitMessage  string `param:"merge_commit_message" doc:"Message of the merge commit"`
	SquashCommitMessage string `param:"squash_commit_message" doc:"Message of the squash commit"`
	RemoveSourceBranch  *bool  `param:"should_remove_source_branch" doc:"Delete the source branch after the merge"`
	WhenPipeline        bool   `param:"merge_when_pipeline_succeeds" alias:"auto_merge" doc:"Merge once the pipeline has succeeded"`
	SHA                 string `param:"sha" doc:"Commit that the source branch must be at"`
	Squash              bool   `param:"squash" doc:"Squash the commits; false leaves it to the request"`
	SkipMergeTrain      bool   `param:"skip_merge_train" doc:"Merge past the merge train, of which there is none"`
}

func (s *Server) mergeRequest(ctx context.Context, as authz.Actor, in mergeParams) (mergeRequestFull, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return mergeRequestFull{}, err
	}
	m, err := s.Requests.Merge(ctx, as, p, in.IID, mergerequest.MergeInput{
		SHA: in.SHA, MergeMessage: in.MergeCommitMessage, SquashMessage: in.SquashCommitMessage,
		Squash: in.Squash, RemoveSource: in.RemoveSourceBranch, WhenReady: in.WhenPipeline,
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
	m, err := s.Requests.CancelAutoMerge(ctx, as, p, in.IID)
	if err != nil {
		return mergeRequestFull{}, err
	}
	return s.requestFull(ctx, as, p, m)
}

type rebaseParams struct {
	requestPath
	SkipCI bool `param:"skip_ci" doc:"Make no pipeline for the commits that are made; this server makes none of its own yet"`
}

type rebaseEntity struct {
	RebaseInProgress bool `json:"rebase_in_progress"`
}

func (s *Server) rebaseRequest(ctx context.Context, as authz.Actor, in rebaseParams) (rebaseEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return rebaseEntity{}, err
	}
	return rebaseEntity{true}, s.Requests.Rebase(ctx, as, p, in.IID)
}
