package payload

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// MergeRequestBody is what is told of a merge request.
type MergeRequestBody struct {
	Kind       string                   `json:"object_kind"`
	Event      string                   `json:"event_type"`
	User       *UserBlock               `json:"user"`
	Project    *ProjectBlock            `json:"project"`
	Attributes MergeRequestAttributes   `json:"object_attributes"`
	Labels     []LabelBlock             `json:"labels"`
	Changes    map[string]change.Values `json:"changes"`
	Repository RepositoryBlock          `json:"repository"`
	Assignees  []*UserBlock             `json:"assignees,omitempty"`
	Reviewers  []*UserBlock             `json:"reviewers,omitempty"`
}

// MergeRequestAttributes are those of a merge request.
type MergeRequestAttributes struct {
	ID                  mergerequest.ID          `json:"id"`
	IID                 mergerequest.IID         `json:"iid"`
	TargetProjectID     project.ID               `json:"target_project_id"`
	SourceProjectID     *project.ID              `json:"source_project_id"`
	TargetBranch        string                   `json:"target_branch"`
	SourceBranch        string                   `json:"source_branch"`
	AuthorID            authz.UserID             `json:"author_id"`
	AssigneeID          *authz.UserID            `json:"assignee_id"`
	AssigneeIDs         []authz.UserID           `json:"assignee_ids"`
	ReviewerIDs         []authz.UserID           `json:"reviewer_ids"`
	Title               string                   `json:"title"`
	Description         *string                  `json:"description"`
	State               mergerequest.State       `json:"state"`
	StateID             int                      `json:"state_id"`
	Draft               bool                     `json:"draft"`
	WorkInProgress      bool                     `json:"work_in_progress"`
	MilestoneID         *int64                   `json:"milestone_id"`
	MergeStatus         mergerequest.MergeStatus `json:"merge_status"`
	DetailedMergeStatus string                   `json:"detailed_merge_status"`
	MergeError          *string                  `json:"merge_error"`
	MergeCommitSHA      *string                  `json:"merge_commit_sha"`
	MergeUserID         *authz.UserID            `json:"merge_user_id"`
	AutoMerge           bool                     `json:"merge_when_pipeline_succeeds"`
	Resolved            bool                     `json:"blocking_discussions_resolved"`
	Estimate            int64                    `json:"time_estimate"`
	Spent               int64                    `json:"total_time_spent"`
	HumanEstimate       *string                  `json:"human_time_estimate"`
	HumanSpent          *string                  `json:"human_total_time_spent"`
	CreatedAt           string                   `json:"created_at"`
	UpdatedAt           string                   `json:"updated_at"`
	URL                 string                   `json:"url"`
	Source              *ProjectBlock            `json:"source"` // null where the fork is gone
	Target              *ProjectBlock            `json:"target"`
	LastCommit          *CommitBlock             `json:"last_commit"`
	Labels              []LabelBlock             `json:"labels"`
	Action              string                   `json:"action"`
	OldRev              string                   `json:"oldrev,omitempty"`
}

// MergeRequestEvent is what happened to a merge request.
type MergeRequestEvent struct {
	By      authz.UserID // zero for the server itself
	Action  string       // open, close, reopen, update, approved, unapproved, approval, unapproval or merge
	OldSHA  string       `json:",omitempty"` // the head before a push
	Changes map[string]change.Values
}

// MergeRequestChanges are what a change of a merge request says it has changed.
func (s *Service) MergeRequestChanges(p *project.Project, before, after *mergerequest.MergeRequest) map[string]change.Values {
	if before == nil {
		return map[string]change.Values{}
	}
	return s.changes(p, before, after, MergeRequestAttributes{})
}

// MergeRequest builds the body about a merge request of p.
func (s *Service) MergeRequest(ctx context.Context, p *project.Project, m *mergerequest.MergeRequest, e MergeRequestEvent) (*MergeRequestBody, error) {
	source, err := s.sourceOf(ctx, p, m)
	if err != nil {
		return nil, err
	}
	var reviewers []authz.UserID
	for _, r := range m.Reviewers {
		reviewers = append(reviewers, r.UserID)
	}
	by := e.By
	if by == 0 {
		by = m.AuthorID // the server did it
	}
	users, err := s.Accounts.Load(ctx, append(append([]authz.UserID{by}, m.Assignees...), reviewers...))
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
	last, err := s.commit(ctx, p, m.HeadSHA)
	if err != nil {
		return nil, err
	}
	target := s.project(p, parents)
	out := &MergeRequestBody{
		Kind: "merge_request", Event: "merge_request", User: s.user(users[by]), Project: target,
		Labels: labels(p, m.Labels), Changes: e.Changes, Assignees: s.users(users, m.Assignees), Reviewers: s.users(users, reviewers),
		Repository: RepositoryBlock{p.Name, target.SSH, p.Description, target.WebURL},
		Attributes: s.attributes(p, m),
	}
	if out.Changes == nil {
		out.Changes = map[string]change.Values{}
	}
	a := &out.Attributes
	a.ReviewerIDs = append([]authz.UserID{}, reviewers...)
	a.Target, a.LastCommit, a.Labels, a.Action, a.OldRev = target, last, out.Labels, e.Action, e.OldSHA
	if source != nil {
		a.Source = s.project(source, parents)
	}
	return out, nil
}

func (s *Service) attributes(p *project.Project, m *mergerequest.MergeRequest) MergeRequestAttributes {
	out := MergeRequestAttributes{
		ID: m.ID, IID: m.IID, TargetProjectID: m.ProjectID, SourceProjectID: m.SourceProjectID, TargetBranch: m.TargetBranch, SourceBranch: m.SourceBranch,
		AuthorID: m.AuthorID, AssigneeIDs: append([]authz.UserID{}, m.Assignees...), Title: m.Title, Description: m.Description,
		State: m.State, Draft: m.Draft, WorkInProgress: m.Draft,
		MergeStatus: m.Status, DetailedMergeStatus: m.DetailedStatus(p), MergeError: m.MergeError, MergeCommitSHA: m.MergeCommitSHA, MergeUserID: m.MergeUserID,
		AutoMerge: m.MergeWhenPipelineSucceeds, Resolved: !m.Blocked(p), Estimate: m.Estimate, Spent: m.Spent,
		HumanEstimate: s.human(m.Estimate), HumanSpent: s.human(m.Spent),
		CreatedAt: stamp(m.CreatedAt), UpdatedAt: stamp(m.UpdatedAt), URL: s.URLs.MergeRequest(p.FullPath, int64(m.IID)),
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

// sourceOf is the project that the source branch is in, nil where it is gone.
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
