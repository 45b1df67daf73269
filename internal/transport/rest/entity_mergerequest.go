package rest

import (
	"context"
	"strconv"

	"tenon/internal/base/markdown"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/tree"
	"tenon/internal/transport/rest/api"
)

// mergeRequestEntity is a merge request as lists show it.
type mergeRequestEntity struct {
	ID                    mergerequest.ID          `json:"id"`
	IID                   mergerequest.IID         `json:"iid"`
	ProjectID             project.ID               `json:"project_id"`
	Title                 string                   `json:"title"`
	Description           *string                  `json:"description"`
	State                 mergerequest.State       `json:"state"`
	CreatedAt             api.Time                 `json:"created_at"`
	UpdatedAt             api.Time                 `json:"updated_at"`
	MergedBy              *userBasic               `json:"merged_by"`
	MergeUser             *userBasic               `json:"merge_user"`
	MergedAt              *api.Time                `json:"merged_at"`
	ClosedBy              *userBasic               `json:"closed_by"`
	ClosedAt              *api.Time                `json:"closed_at"`
	TargetBranch          string                   `json:"target_branch"`
	SourceBranch          string                   `json:"source_branch"`
	UserNotesCount        int64                    `json:"user_notes_count"`
	Upvotes               int64                    `json:"upvotes"`
	Downvotes             int64                    `json:"downvotes"`
	Author                *userBasic               `json:"author"`
	Assignees             []userBasic              `json:"assignees"`
	Assignee              *userBasic               `json:"assignee"` // the first of them
	Reviewers             []userBasic              `json:"reviewers"`
	SourceProjectID       *project.ID              `json:"source_project_id"`
	TargetProjectID       project.ID               `json:"target_project_id"`
	Labels                labelForm                `json:"labels"` // titles, or labels where that was asked for
	Draft                 bool                     `json:"draft"`
	Imported              bool                     `json:"imported"`
	ImportedFrom          string                   `json:"imported_from"`
	WorkInProgress        bool                     `json:"work_in_progress"`
	Milestone             *milestoneEntity         `json:"milestone"`
	WhenPipelineSucceeds  bool                     `json:"merge_when_pipeline_succeeds"`
	MergeStatus           mergerequest.MergeStatus `json:"merge_status"`
	DetailedMergeStatus   string                   `json:"detailed_merge_status"`
	MergeAfter            *api.Time                `json:"merge_after" later:"scheduled merges"`
	SHA                   *string                  `json:"sha"`
	MergeCommitSHA        *string                  `json:"merge_commit_sha"`
	SquashCommitSHA       *string                  `json:"squash_commit_sha"`
	DiscussionLocked      *bool                    `json:"discussion_locked"`
	ShouldRemoveSource    *bool                    `json:"should_remove_source_branch"`
	ForceRemoveSource     *bool                    `json:"force_remove_source_branch"`
	PreparedAt            api.Time                 `json:"prepared_at"`
	AllowCollaboration    *bool                    `json:"allow_collaboration,omitempty"` // of requests from forks, as the next
	AllowMaintainerToPush *bool                    `json:"allow_maintainer_to_push,omitempty"`
	Reference             string                   `json:"reference"`
	References            issueReferences          `json:"references"`
	WebURL                string                   `json:"web_url"`
	TimeStats             timeStats                `json:"time_stats"`
	Squash                bool                     `json:"squash"`
	SquashOnMerge         bool                     `json:"squash_on_merge"`
	TaskCompletionStatus  taskStatus               `json:"task_completion_status"`
	HasConflicts          bool                     `json:"has_conflicts"`
	DiscussionsResolved   bool                     `json:"blocking_discussions_resolved"` // unless the project does not ask for it
	ApprovalsBeforeMerge  *int64                   `json:"approvals_before_merge"`
}

// simpleMergeRequest is an element of a list with view=simple.
type simpleMergeRequest struct {
	ID          mergerequest.ID    `json:"id"`
	IID         mergerequest.IID   `json:"iid"`
	ProjectID   project.ID         `json:"project_id"`
	Title       string             `json:"title"`
	Description *string            `json:"description"`
	State       mergerequest.State `json:"state"`
	CreatedAt   api.Time           `json:"created_at"`
	UpdatedAt   api.Time           `json:"updated_at"`
	WebURL      string             `json:"web_url"`
}

// mergeRequestFull is one merge request alone.
type mergeRequestFull struct {
	mergeRequestEntity
	Subscribed        bool            `json:"subscribed"`
	ChangesCount      *string         `json:"changes_count"`
	*requestBuilds                    // for those who may see CI of the project
	*requestHead                      // for those who may read its pipelines
	DiffRefs          *diffRefsEntity `json:"diff_refs"`
	MergeError        *string         `json:"merge_error"`
	RebaseInProgress  *bool           `json:"rebase_in_progress,omitempty"` // where asked for, as the next
	DivergedCommits   *int            `json:"diverged_commits_count,omitempty"`
	FirstContribution *bool           `json:"first_contribution,omitempty"` // of a read alone
	User              requestUser     `json:"user"`
	Changes           *[]diffEntity   `json:"changes,omitempty"` // of /changes, as the next
	Overflow          *bool           `json:"overflow,omitempty"`
	*requestHTML                      // where asked for
}

// requestBuilds is how the newest pipeline of the head went.
type requestBuilds struct {
	BuildStartedAt  *api.Time       `json:"latest_build_started_at"`
	BuildFinishedAt *api.Time       `json:"latest_build_finished_at"`
	FirstDeployedAt *api.Time       `json:"first_deployed_to_production_at"`
	Pipeline        *pipelineEntity `json:"pipeline"`
}

// requestHead has all attributes of that pipeline.
type requestHead struct {
	HeadPipeline *pipelineFull `json:"head_pipeline"`
}

// requestHTML is the texts of a merge request as they are shown.
type requestHTML struct {
	TitleHTML       string `json:"title_html"`
	DescriptionHTML string `json:"description_html"`
}

// requestTexts renders the texts of a merge request for the actor.
func (s *Server) requestTexts(ctx context.Context, as authz.Actor, p *project.Project, m *mergerequest.MergeRequest) (*requestHTML, error) {
	in := reference.Of(p)
	titles, err := s.References.Titles(ctx, as, in, m.Title)
	if err != nil {
		return nil, err
	}
	texts, err := s.References.HTML(ctx, as, in, m.Text())
	if err != nil {
		return nil, err
	}
	return &requestHTML{TitleHTML: titles[0], DescriptionHTML: texts[0]}, nil
}

type diffRefsEntity struct {
	BaseSHA  string `json:"base_sha"`
	HeadSHA  string `json:"head_sha"`
	StartSHA string `json:"start_sha"`
}

type requestUser struct {
	CanMerge bool `json:"can_merge"`
}

// requestShape says how merge requests are shown.
type requestShape struct {
	from    string // full path of the project or group that asks, "" for the whole instance
	details bool   // labels with all they have
}

// requestEntities renders merge requests as the caller may see them.
func (s *Server) requestEntities(ctx context.Context, as authz.Actor, list []*mergerequest.MergeRequest, shape requestShape, want mergerequest.ViewOptions) ([]mergeRequestEntity, error) {
	views, err := s.MergeRequests.Views(ctx, as, list, want)
	if err != nil {
		return nil, err
	}
	out := make([]mergeRequestEntity, len(views))
	for i := range views {
		out[i] = s.requestEntity(&views[i], shape)
	}
	return out, nil
}

func (s *Server) requestEntity(m *mergerequest.View, shape requestShape) mergeRequestEntity {
	p, from := m.Project, shape.from
	if from == "" {
		from = p.FullPath
	}
	e := mergeRequestEntity{
		ID: m.ID, IID: m.IID, ProjectID: m.ProjectID, Title: m.Title, Description: m.Description, State: m.State,
		CreatedAt: api.Time(m.CreatedAt.Time), UpdatedAt: api.Time(m.UpdatedAt.Time),
		MergedAt: api.TimePtr(m.MergedAt.Ptr()), ClosedAt: api.TimePtr(m.ClosedAt.Ptr()), TargetBranch: m.TargetBranch, SourceBranch: m.SourceBranch,
		UserNotesCount: m.VisibleNotes, Upvotes: m.Upvotes, Downvotes: m.Downvotes, Author: s.user(m.Author),
		MergeUser: s.user(m.MergeUser), ClosedBy: s.user(m.ClosedBy), Assignees: usersBasic(m.Assignees), Reviewers: usersBasic(m.Reviewers),
		SourceProjectID: m.SourceProjectID, TargetProjectID: m.ProjectID, Labels: labelList(m.Labels, shape.details),
		Draft: m.Draft, WorkInProgress: m.Draft, Imported: m.Origin != tree.Here, ImportedFrom: m.Origin.String(), WhenPipelineSucceeds: m.MergeWhenPipelineSucceeds,
		MergeStatus: m.Status, DetailedMergeStatus: m.Detailed, SHA: present(m.HeadSHA),
		MergeCommitSHA: m.MergeCommitSHA, SquashCommitSHA: m.SquashCommitSHA, DiscussionLocked: m.DiscussionLocked,
		ShouldRemoveSource: m.ShouldRemoveSource, ForceRemoveSource: m.ForceRemoveSource, PreparedAt: api.Time(m.CreatedAt.Time),
		Reference: m.IID.Reference(), References: references(p, from, m.IID.Reference()), WebURL: m.URL,
		Squash: m.Squash, SquashOnMerge: m.SquashOnMerge(p), HasConflicts: m.Status == mergerequest.CannotBeMerged,
		DiscussionsResolved: !m.Blocked(p), ApprovalsBeforeMerge: m.ApprovalsBeforeMerge, TimeStats: s.timeStats(m.Totals),
	}
	if m.State == mergerequest.StateMerged {
		e.MergedBy = e.MergeUser
	}
	if len(e.Assignees) > 0 {
		e.Assignee = &e.Assignees[0]
	}
	if m.Milestone != nil {
		e.Milestone = s.milestoneOf(m.Milestone)
	}
	if m.Fork() {
		e.AllowCollaboration, e.AllowMaintainerToPush = &m.AllowCollaboration, &m.AllowCollaboration
	}
	for _, t := range markdown.Tasks(m.Text()) {
		e.TaskCompletionStatus.Count++
		if t.Done {
			e.TaskCompletionStatus.Completed++
		}
	}
	return e
}

// usersBasic renders users, an empty list for none.
func usersBasic(list []*account.Summary) []userBasic {
	out := make([]userBasic, len(list))
	for i, u := range list {
		out[i] = newUserBasic(u)
	}
	return out
}

// newSimpleMergeRequest renders a merge request in the short form.
func newSimpleMergeRequest(m *mergerequest.View) simpleMergeRequest {
	return simpleMergeRequest{
		ID: m.ID, IID: m.IID, ProjectID: m.ProjectID, Title: m.Title, Description: m.Description, State: m.State,
		CreatedAt: api.Time(m.CreatedAt.Time), UpdatedAt: api.Time(m.UpdatedAt.Time), WebURL: m.URL,
	}
}

// requestFull renders one merge request alone.
func (s *Server) requestFull(ctx context.Context, as authz.Actor, p *project.Project, m *mergerequest.MergeRequest) (mergeRequestFull, error) {
	views, err := s.MergeRequests.Views(ctx, as, []*mergerequest.MergeRequest{m}, mergerequest.ViewOptions{Full: true, Projects: oneProject(p)})
	if err != nil {
		return mergeRequestFull{}, err
	}
	v := &views[0]
	out := mergeRequestFull{
		mergeRequestEntity: s.requestEntity(v, requestShape{from: p.FullPath}), Subscribed: v.Full.Subscribed, MergeError: v.MergeError,
		User: requestUser{CanMerge: v.Full.CanMerge},
	}
	if v.BaseSHA != "" {
		out.DiffRefs = &diffRefsEntity{BaseSHA: v.BaseSHA, HeadSHA: v.HeadSHA, StartSHA: v.StartSHA}
	}
	if out.requestBuilds, out.requestHead, err = s.requestBuilds(ctx, v.Full.Builds); err != nil {
		return mergeRequestFull{}, err
	}
	if n := v.ChangesCount; n != nil {
		count := filesCount(*n)
		out.ChangesCount = &count
	}
	return out, nil
}

// requestBuilds renders what the caller may see of the pipelines of a merge request.
func (s *Server) requestBuilds(ctx context.Context, v *mergerequest.BuildView) (*requestBuilds, *requestHead, error) {
	if v == nil {
		return nil, nil, nil
	}
	builds, head := &requestBuilds{FirstDeployedAt: api.TimePtr(v.Deployed.Ptr())}, &requestHead{}
	if v.Head != nil {
		var err error
		if head.HeadPipeline, err = s.pipelineFull(ctx, v.Head.Project, &v.Head.Pipeline); err != nil {
			return nil, nil, err
		}
		builds.Pipeline = &head.HeadPipeline.pipelineEntity
		builds.BuildStartedAt, builds.BuildFinishedAt = head.HeadPipeline.StartedAt, head.HeadPipeline.FinishedAt
	}
	if !v.Pipelines {
		head = nil
	}
	return builds, head, nil
}

// filesCount writes a number of changed files, "1000+" for more than are counted.
func filesCount(n int64) string {
	if n > mergerequest.MaxChanges {
		return strconv.Itoa(mergerequest.MaxChanges) + "+"
	}
	return strconv.FormatInt(n, 10)
}

// present returns a text, nil where it is empty.
func present(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
