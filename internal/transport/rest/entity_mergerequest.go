package rest

import (
	"context"
	"strconv"

	"tenon/internal/base/markdown"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
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
	Imported              bool                     `json:"imported" later:"import"`
	ImportedFrom          string                   `json:"imported_from" later:"import"`
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
	FirstDeployedAt *api.Time       `json:"first_deployed_to_production_at" later:"deployments"`
	Pipeline        *pipelineEntity `json:"pipeline"`
}

// requestHead has all that is told of that pipeline.
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

// requestView says how merge requests are shown.
type requestView struct {
	projects map[project.ID]*project.Project
	from     string // full path of the project or group that asks, "" for the whole instance
	details  bool   // labels with all they have

	milestones map[milestone.ID]*milestoneEntity // nil reads them
}

// requestEntities renders merge requests with one look at each related subject.
func (s *Server) requestEntities(ctx context.Context, as authz.Actor, v requestView, list []*mergerequest.MergeRequest) ([]mergeRequestEntity, error) {
	users := make([]authz.UserID, 0, 3*len(list))
	due := make([]*milestone.ID, len(list))
	seen := map[authz.UserID]bool{}
	need := func(id authz.UserID) {
		if !seen[id] {
			seen[id] = true
			users = append(users, id)
		}
	}
	for i, m := range list {
		due[i] = m.MilestoneID
		need(m.AuthorID)
		for _, id := range m.Assignees {
			need(id)
		}
		for _, r := range m.Reviewers {
			need(r.UserID)
		}
		for _, by := range []*authz.UserID{m.MergeUserID, m.ClosedByID} {
			if by != nil {
				need(*by)
			}
		}
	}
	people, err := s.Accounts.ByIDs(ctx, users)
	if err != nil {
		return nil, err
	}
	milestones := v.milestones
	if milestones == nil {
		if milestones, err = s.milestonesOf(ctx, as, due...); err != nil {
			return nil, err
		}
	}
	out := make([]mergeRequestEntity, 0, len(list))
	for _, m := range list {
		if p := v.projects[m.ProjectID]; p != nil {
			e := s.requestEntity(m, p, v, people)
			if m.MilestoneID != nil {
				e.Milestone = milestones[*m.MilestoneID]
			}
			out = append(out, e)
		}
	}
	return out, nil
}

func (s *Server) requestEntity(m *mergerequest.MergeRequest, p *project.Project, v requestView, people map[authz.UserID]*account.Summary) mergeRequestEntity {
	from := v.from
	if from == "" {
		from = p.FullPath
	}
	e := mergeRequestEntity{
		ID: m.ID, IID: m.IID, ProjectID: m.ProjectID, Title: m.Title, Description: m.Description, State: m.State,
		CreatedAt: api.Time(m.CreatedAt.Time), UpdatedAt: api.Time(m.UpdatedAt.Time),
		MergedAt: api.TimePtr(m.MergedAt.Ptr()), ClosedAt: api.TimePtr(m.ClosedAt.Ptr()), TargetBranch: m.TargetBranch, SourceBranch: m.SourceBranch,
		UserNotesCount: m.VisibleNotes, Upvotes: m.Upvotes, Downvotes: m.Downvotes, Author: s.user(people[m.AuthorID]),
		Assignees: make([]userBasic, 0, len(m.Assignees)), Reviewers: make([]userBasic, 0, len(m.Reviewers)),
		SourceProjectID: m.SourceProjectID, TargetProjectID: m.ProjectID, Labels: labelList(m.Labels, v.details),
		Draft: m.Draft, WorkInProgress: m.Draft, ImportedFrom: "none", WhenPipelineSucceeds: m.MergeWhenPipelineSucceeds,
		MergeStatus: m.Status, DetailedMergeStatus: m.DetailedStatus(p), SHA: present(m.HeadSHA),
		MergeCommitSHA: m.MergeCommitSHA, SquashCommitSHA: m.SquashCommitSHA, DiscussionLocked: m.DiscussionLocked,
		ShouldRemoveSource: m.ShouldRemoveSource, ForceRemoveSource: m.ForceRemoveSource, PreparedAt: api.Time(m.CreatedAt.Time),
		Reference: m.IID.Reference(), References: references(p, from, m.IID.Reference()), WebURL: s.URLs.MergeRequest(p.FullPath, int64(m.IID)),
		Squash: m.Squash, SquashOnMerge: m.SquashOnMerge(p), HasConflicts: m.Status == mergerequest.CannotBeMerged,
		DiscussionsResolved: !m.Blocked(p), ApprovalsBeforeMerge: m.ApprovalsBeforeMerge, TimeStats: newTimeStats(m.Totals),
	}
	if m.MergeUserID != nil {
		e.MergeUser = s.user(people[*m.MergeUserID])
	}
	if m.State == mergerequest.StateMerged {
		e.MergedBy = e.MergeUser
	}
	if m.ClosedByID != nil {
		e.ClosedBy = s.user(people[*m.ClosedByID])
	}
	for _, id := range m.Assignees {
		if u := people[id]; u != nil {
			e.Assignees = append(e.Assignees, newUserBasic(u))
		}
	}
	if len(e.Assignees) > 0 {
		e.Assignee = &e.Assignees[0]
	}
	for _, r := range m.Reviewers {
		if u := people[r.UserID]; u != nil {
			e.Reviewers = append(e.Reviewers, newUserBasic(u))
		}
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

// simpleRequests renders merge requests in the short form.
func (s *Server) simpleRequests(v requestView, list []*mergerequest.MergeRequest) []simpleMergeRequest {
	out := make([]simpleMergeRequest, 0, len(list))
	for _, m := range list {
		if p := v.projects[m.ProjectID]; p != nil {
			out = append(out, simpleMergeRequest{
				ID: m.ID, IID: m.IID, ProjectID: m.ProjectID, Title: m.Title, Description: m.Description, State: m.State,
				CreatedAt: api.Time(m.CreatedAt.Time), UpdatedAt: api.Time(m.UpdatedAt.Time), WebURL: s.URLs.MergeRequest(p.FullPath, int64(m.IID)),
			})
		}
	}
	return out
}

// requestFull renders one merge request alone.
func (s *Server) requestFull(ctx context.Context, as authz.Actor, p *project.Project, m *mergerequest.MergeRequest) (mergeRequestFull, error) {
	v := requestView{projects: map[project.ID]*project.Project{p.ID: p}, from: p.FullPath}
	list, err := s.requestEntities(ctx, as, v, []*mergerequest.MergeRequest{m})
	if err != nil {
		return mergeRequestFull{}, err
	}
	may, err := s.Requests.CanMerge(ctx, as, p, m)
	if err != nil {
		return mergeRequestFull{}, err
	}
	ref := noteable.Ref{Kind: noteable.MergeRequest, ID: int64(m.ID)}
	subscribed, err := s.Subscriptions.Of(ctx, as, ref)
	if err != nil {
		return mergeRequestFull{}, err
	}
	out := mergeRequestFull{
		mergeRequestEntity: list[0], Subscribed: subscribed[ref], MergeError: m.MergeError, User: requestUser{CanMerge: may},
	}
	if m.BaseSHA != "" {
		out.DiffRefs = &diffRefsEntity{BaseSHA: m.BaseSHA, HeadSHA: m.HeadSHA, StartSHA: m.StartSHA}
	}
	if out.requestBuilds, out.requestHead, err = s.requestBuilds(ctx, as, p, m); err != nil {
		return mergeRequestFull{}, err
	}
	if n := m.ChangesCount; n != nil {
		count := filesCount(*n)
		out.ChangesCount = &count
	}
	return out, nil
}

// requestBuilds renders what the caller may see of the pipelines of a merge request.
func (s *Server) requestBuilds(ctx context.Context, as authz.Actor, p *project.Project, m *mergerequest.MergeRequest) (*requestBuilds, *requestHead, error) {
	v, err := s.Requests.Builds(ctx, as, p, m)
	if err != nil || v == nil {
		return nil, nil, err
	}
	builds, head := &requestBuilds{}, &requestHead{}
	if v.Head != nil {
		if head.HeadPipeline, err = s.pipelineFull(ctx, v.Source, v.Head, v.Course); err != nil {
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

// present gives a text, nil where it is empty.
func present(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
