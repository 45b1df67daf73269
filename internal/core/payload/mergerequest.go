package payload

import (
	"context"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// MergeRequestBody is the body about a merge request.
type MergeRequestBody struct {
	Kind       string                 `json:"object_kind"`
	Event      string                 `json:"event_type"`
	User       *UserBlock             `json:"user"`
	Project    *ProjectBlock          `json:"project"`
	Attributes MergeRequestAttributes `json:"object_attributes"`
	Labels     []LabelBlock           `json:"labels"`
	Changes    Changes                `json:"changes"`
	Repository RepositoryBlock        `json:"repository"`
	Assignees  []*UserBlock           `json:"assignees,omitempty"`
	Reviewers  []*UserBlock           `json:"reviewers,omitempty"`
}

// MergeRequestAttributes are those of a merge request.
type MergeRequestAttributes struct {
	AssigneeID          *authz.UserID            `json:"assignee_id" change:"-"`
	AssigneeIDs         []authz.UserID           `json:"assignee_ids" change:"-"`
	AuthorID            authz.UserID             `json:"author_id"`
	Resolved            bool                     `json:"blocking_discussions_resolved"`
	CreatedAt           string                   `json:"created_at"`
	Description         *string                  `json:"description"`
	Draft               bool                     `json:"draft"`
	HeadPipelineID      *ci.PipelineID           `json:"head_pipeline_id" change:"-"`
	ID                  mergerequest.ID          `json:"id"`
	IID                 mergerequest.IID         `json:"iid"`
	LastEditedAt        *string                  `json:"last_edited_at"`
	LastEditedByID      *authz.UserID            `json:"last_edited_by_id"`
	MergeCommitSHA      *string                  `json:"merge_commit_sha"`
	MergeError          *string                  `json:"merge_error"`
	MergeParams         MergeParams              `json:"merge_params"`
	MergeStatus         mergerequest.MergeStatus `json:"merge_status"`
	MergeUserID         *authz.UserID            `json:"merge_user_id"`
	AutoMerge           bool                     `json:"merge_when_pipeline_succeeds"`
	MilestoneID         *int64                   `json:"milestone_id"`
	SourceBranch        string                   `json:"source_branch"`
	SourceProjectID     *project.ID              `json:"source_project_id"`
	StateID             int                      `json:"state_id"`
	TargetBranch        string                   `json:"target_branch"`
	TargetProjectID     project.ID               `json:"target_project_id"`
	Estimate            int64                    `json:"time_estimate"`
	Title               string                   `json:"title"`
	UpdatedAt           string                   `json:"updated_at"`
	UpdatedByID         *authz.UserID            `json:"updated_by_id"`
	Spent               int64                    `json:"total_time_spent"`
	HumanSpent          *string                  `json:"human_total_time_spent" change:"-"`
	HumanEstimate       *string                  `json:"human_time_estimate" change:"-"`
	TimeChange          int64                    `json:"time_change" change:"-"` // seconds
	HumanTimeChange     *string                  `json:"human_time_change" change:"-"`
	ReviewerIDs         []authz.UserID           `json:"reviewer_ids" change:"-"`
	URL                 string                   `json:"url" change:"-"`
	WorkInProgress      bool                     `json:"work_in_progress" change:"-"`
	State               mergerequest.State       `json:"state" change:"-"`
	DetailedMergeStatus string                   `json:"detailed_merge_status" change:"-"`
	FirstContribution   bool                     `json:"first_contribution" change:"-"`
	Source              *ProjectBlock            `json:"source" change:"-"` // null where the fork no longer exists
	Target              *ProjectBlock            `json:"target" change:"-"`
	LastCommit          *CommitBlock             `json:"last_commit" change:"-"` // null where the source branch no longer exists
	Labels              []LabelBlock             `json:"labels" change:"-"`
	Action              string                   `json:"action,omitempty" change:"-"` // of an event about the merge request itself
	OldRev              string                   `json:"oldrev,omitempty" change:"-"` // the head before a push
}

// MergeParams are how a merge request is to be merged.
type MergeParams struct {
	RemoveSource bool `json:"force_remove_source_branch"`
}

// MergeRequestEvent is what happened to a merge request.
type MergeRequestEvent struct {
	By         authz.UserID // zero for the server itself
	Action     string       // open, close, reopen, update, approved, unapproved, approval, unapproval or merge
	OldSHA     string       // the head before a push
	Before     *mergerequest.MergeRequest
	TimeChange int64 // seconds that were added to the time spent
}

// MergeRequest builds the body about a merge request of p.
func (s *Service) MergeRequest(ctx context.Context, p *project.Project, m *mergerequest.MergeRequest, e MergeRequestEvent) (*MergeRequestBody, error) {
	by := e.By
	if by == 0 {
		by = m.AuthorID // the server did it
	}
	before := e.Before
	if before == nil {
		before = m
	}
	ids := []authz.UserID{by}
	for _, more := range [][]authz.UserID{m.Assignees, m.ReviewerIDs(), before.Assignees, before.ReviewerIDs()} {
		ids = append(ids, more...)
	}
	users, err := s.Accounts.Load(ctx, ids)
	if err != nil {
		return nil, err
	}
	attributes, err := s.mergeRequest(ctx, p, m)
	if err != nil {
		return nil, err
	}
	attributes.Action, attributes.OldRev = e.Action, e.OldSHA
	attributes.TimeChange, attributes.HumanTimeChange = e.TimeChange, s.Times.HumanPtr(e.TimeChange)
	return &MergeRequestBody{
		Kind: "merge_request", Event: "merge_request", User: s.user(users[by]), Project: attributes.Target, Attributes: *attributes,
		Labels: attributes.Labels, Changes: s.mergeRequestChanges(p, before, m, users), Repository: repository(p, attributes.Target),
		Assignees: s.users(users, m.Assignees), Reviewers: s.users(users, m.ReviewerIDs()),
	}, nil
}

// mergeRequestChanges are what a change of a merge request has changed.
func (s *Service) mergeRequestChanges(p *project.Project, before, after *mergerequest.MergeRequest, users map[authz.UserID]*account.User) Changes {
	blocks := func(ids []authz.UserID) []*UserBlock { return s.users(users, ids) }
	out := differences(s.mergeRequestColumns(p, before), s.mergeRequestColumns(p, after))
	out.labels(p, before.Labels, after.Labels)
	out.people("assignees", blocks, before.Assignees, after.Assignees)
	out.people("reviewers", blocks, before.ReviewerIDs(), after.ReviewerIDs())
	return out
}

// mergeRequest returns all attributes of a merge request.
func (s *Service) mergeRequest(ctx context.Context, p *project.Project, m *mergerequest.MergeRequest) (*MergeRequestAttributes, error) {
	source, err := s.sourceOf(ctx, p, m)
	if err != nil {
		return nil, err
	}
	places := []authz.NamespaceID{p.ParentID}
	if source != nil && source.ParentID != p.ParentID {
		places = append(places, source.ParentID)
	}
	parents, err := s.namesOf(ctx, places)
	if err != nil {
		return nil, err
	}
	out := s.mergeRequestColumns(p, m)
	if out.LastCommit, err = s.commit(ctx, p, m.HeadSHA); err != nil {
		return nil, err
	}
	if out.FirstContribution, err = s.MergeRequests.FirstContribution(ctx, authz.System(), p, m); err != nil {
		return nil, err
	}
	if out.HeadPipelineID, err = s.MergeRequests.HeadPipeline(ctx, m.ID); err != nil {
		return nil, err
	}
	out.Description = s.images(s.URLs.Project(p.FullPath), out.Description)
	out.Target, out.Labels = s.project(p, parents), labels(p, m.Labels)
	if source != nil {
		out.Source = s.project(source, parents)
	}
	return &out, nil
}

// mergeRequestColumns are the attributes that a merge request has by itself.
func (s *Service) mergeRequestColumns(p *project.Project, m *mergerequest.MergeRequest) MergeRequestAttributes {
	out := MergeRequestAttributes{
		ID: m.ID, IID: m.IID, TargetProjectID: m.ProjectID, SourceProjectID: m.SourceProjectID, TargetBranch: m.TargetBranch, SourceBranch: m.SourceBranch,
		AuthorID: m.AuthorID, AssigneeIDs: append([]authz.UserID{}, m.Assignees...), ReviewerIDs: append([]authz.UserID{}, m.ReviewerIDs()...),
		Title: m.Title, Description: m.Description, State: m.State, Draft: m.Draft, WorkInProgress: m.Draft,
		MergeStatus: m.Status, DetailedMergeStatus: m.DetailedStatus(p), MergeError: m.MergeError, MergeCommitSHA: m.MergeCommitSHA, MergeUserID: m.MergeUserID,
		AutoMerge: m.MergeWhenPipelineSucceeds, Resolved: !m.Blocked(p), Estimate: m.Estimate, Spent: m.Spent,
		HumanEstimate: s.Times.HumanPtr(m.Estimate), HumanSpent: s.Times.HumanPtr(m.Spent),
		CreatedAt: Stamp(m.CreatedAt), UpdatedAt: Stamp(m.UpdatedAt), UpdatedByID: m.UpdatedByID, LastEditedAt: stampOf(m.LastEditedAt), LastEditedByID: m.LastEditedByID, URL: s.URLs.MergeRequest(p.FullPath, int64(m.IID)),
		MergeParams: MergeParams{m.ForceRemoveSource != nil && *m.ForceRemoveSource},
		StateID: map[mergerequest.State]int{
			mergerequest.StateOpened: 1, mergerequest.StateClosed: 2, mergerequest.StateMerged: 3, mergerequest.StateLocked: 4,
		}[m.State],
	}
	if m.MilestoneID != nil {
		id := int64(*m.MilestoneID)
		out.MilestoneID = &id
	}
	if len(m.Assignees) > 0 {
		out.AssigneeID = &m.Assignees[0]
	}
	return out
}

// sourceOf is the project that the source branch is in, nil where it no longer exists.
func (s *Service) sourceOf(ctx context.Context, p *project.Project, m *mergerequest.MergeRequest) (*project.Project, error) {
	if !m.Fork() {
		return p, nil
	}
	if m.SourceProjectID == nil {
		return nil, nil
	}
	found, err := s.Projects.Load(ctx, []project.ID{*m.SourceProjectID})
	return found[*m.SourceProjectID], err
}
