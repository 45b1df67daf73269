package rest

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"tenon/internal/base/markdown"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
	"tenon/internal/transport/rest/api"
)

// issueEntity is an issue.
type issueEntity struct {
	ID                   issue.ID         `json:"id"`
	IID                  issue.IID        `json:"iid"`
	ProjectID            project.ID       `json:"project_id"`
	Title                string           `json:"title"`
	Description          *string          `json:"description"`
	State                issue.State      `json:"state"`
	CreatedAt            api.Time         `json:"created_at"`
	UpdatedAt            api.Time         `json:"updated_at"`
	ClosedAt             *api.Time        `json:"closed_at"`
	ClosedBy             *userBasic       `json:"closed_by"`
	Labels               labelForm        `json:"labels"` // titles, or labels where that was asked for
	Milestone            *milestoneEntity `json:"milestone"`
	Assignees            []userBasic      `json:"assignees"`
	Author               *userBasic       `json:"author"`
	Type                 string           `json:"type"`
	Assignee             *userBasic       `json:"assignee"` // the first of them
	UserNotesCount       int64            `json:"user_notes_count"`
	MergeRequestsCount   int64            `json:"merge_requests_count"`
	Upvotes              int64            `json:"upvotes"`
	Downvotes            int64            `json:"downvotes"`
	StartDate            *api.Date        `json:"start_date"` // null: no call of this interface sets one
	DueDate              *string          `json:"due_date"`
	Confidential         bool             `json:"confidential"`
	DiscussionLocked     *bool            `json:"discussion_locked"`
	IssueType            issue.Type       `json:"issue_type"`
	WebURL               string           `json:"web_url"`
	TimeStats            timeStats        `json:"time_stats"`
	TaskCompletionStatus taskStatus       `json:"task_completion_status"`
	Weight               *int64           `json:"weight"`
	BlockingIssuesCount  int64            `json:"blocking_issues_count"`
	HasTasks             bool             `json:"has_tasks"`
	TaskStatus           string           `json:"task_status,omitempty"` // left out where there are no tasks
	Links                issueLinks       `json:"_links"`
	References           issueReferences  `json:"references"`
	Severity             string           `json:"severity"`
	Subscribed           *bool            `json:"subscribed,omitempty"` // left out of lists
	MovedToID            *issue.ID        `json:"moved_to_id"`
	Imported             bool             `json:"imported"`
	ImportedFrom         string           `json:"imported_from"`
	ServiceDeskReplyTo   *string          `json:"service_desk_reply_to" later:"service desk"`
	EpicIID              *int64           `json:"epic_iid"`
	Epic                 *issueEpic       `json:"epic"`
	Iteration            *iterationEntity `json:"iteration"`
	HealthStatus         *issue.Health    `json:"health_status"`
}

type taskStatus struct {
	Count     int `json:"count"`
	Completed int `json:"completed_count"`
}

type issueLinks struct {
	Self                string  `json:"self"`
	Notes               string  `json:"notes"`
	AwardEmoji          string  `json:"award_emoji"`
	Project             string  `json:"project"`
	ClosedAsDuplicateOf *string `json:"closed_as_duplicate_of"`
}

type issueReferences struct {
	Short    string `json:"short"`
	Relative string `json:"relative"`
	Full     string `json:"full"`
}

// issueShape says how issues are shown.
type issueShape struct {
	from    string // full path of the project or group that asks, "" for none
	details bool   // labels with all they have
}

// issueEntities renders issues that were read for the caller.
func (s *Server) issueEntities(ctx context.Context, as authz.Actor, issues []issue.Issue, in issueShape, want issue.ViewOptions) ([]issueEntity, error) {
	views, err := s.Issues.Views(ctx, as, issues, want)
	if err != nil {
		return nil, err
	}
	out := make([]issueEntity, len(views))
	for i := range views {
		out[i] = s.issueEntity(&views[i], in)
	}
	return out, nil
}

// oneProject is the project that all rows of a list are in, nil where it is not known.
func oneProject(p *project.Project) map[project.ID]*project.Project {
	if p == nil {
		return nil
	}
	return map[project.ID]*project.Project{p.ID: p}
}

func (s *Server) issueEntity(i *issue.View, in issueShape) issueEntity {
	e := issueEntity{
		ID: i.ID, IID: i.IID, ProjectID: i.ProjectID, Title: i.Title, Description: i.Description, State: i.State,
		CreatedAt: api.Time(i.CreatedAt.Time), UpdatedAt: api.Time(i.UpdatedAt.Time), ClosedAt: api.TimePtr(i.ClosedAt.Ptr()), ClosedBy: s.user(i.ClosedBy),
		Labels: labelList(i.Labels, in.details), Milestone: s.milestoneOf(i.Milestone), Iteration: s.iterationOf(i.Iteration),
		Assignees: make([]userBasic, 0, len(i.Assignees)), Author: s.user(i.Author), Type: strings.ToUpper(string(i.Type)),
		UserNotesCount: i.UserNotes, Upvotes: i.Related.Upvotes, Downvotes: i.Related.Downvotes, DueDate: i.DueDate,
		Confidential: i.Confidential, DiscussionLocked: i.DiscussionLocked, IssueType: i.Type, WebURL: i.URL,
		Weight: i.Weight, References: references(i.Project, in.from, i.IID.Reference()), Subscribed: i.Subscribed,
		Severity: strings.ToUpper(string(i.ShownSeverity())), HealthStatus: i.Health, TimeStats: s.timeStats(i.Totals),
		MergeRequestsCount: i.Related.MergeRequests, BlockingIssuesCount: i.Related.Blocking, MovedToID: i.Related.MovedTo, Imported: i.Origin != tree.Here, ImportedFrom: i.Origin.String(),
	}
	if e.Epic = s.epicOf(&i.Issue); e.Epic != nil {
		e.EpicIID = &e.Epic.IID
	}
	for _, u := range i.Assignees {
		e.Assignees = append(e.Assignees, newUserBasic(u))
	}
	if len(e.Assignees) > 0 {
		e.Assignee = &e.Assignees[0]
	}
	if i.Description != nil {
		e.tasks(*i.Description)
	}
	link := func(parts ...string) string {
		return s.URLs.ProjectAPI(int64(i.ProjectID), append([]string{"issues", strconv.FormatInt(int64(i.IID), 10)}, parts...)...)
	}
	e.Links = issueLinks{Self: link(), Notes: link("notes"), AwardEmoji: link("award_emoji"), Project: s.URLs.ProjectAPI(int64(i.ProjectID))}
	if of := i.Related.DuplicateOf; of != nil {
		url := s.URLs.ProjectAPI(int64(of.ProjectID), "issues", strconv.FormatInt(int64(of.IID), 10))
		e.Links.ClosedAsDuplicateOf = &url
	}
	return e
}

// tasks counts the items of checklists in a description.
func (e *issueEntity) tasks(description string) {
	for _, t := range markdown.Tasks(description) {
		e.HasTasks = true
		e.TaskCompletionStatus.Count++
		if t.Done {
			e.TaskCompletionStatus.Completed++
		}
	}
	if e.HasTasks {
		noun := "items"
		if e.TaskCompletionStatus.Count == 1 {
			noun = "item"
		}
		e.TaskStatus = fmt.Sprintf("%d of %d checklist %s completed", e.TaskCompletionStatus.Completed, e.TaskCompletionStatus.Count, noun)
	}
}

// references returns the forms of a reference such as "#1": short, as seen from the
// project or group at path from, and full.
func references(p *project.Project, from, short string) issueReferences {
	r := issueReferences{Short: short, Relative: p.FullPath + short, Full: p.FullPath + short}
	switch {
	case strings.EqualFold(from, p.FullPath):
		r.Relative = short
	case from != "" && len(p.FullPath) == len(from)+1+len(p.Path) && strings.EqualFold(p.FullPath[:len(from)], from):
		r.Relative = p.Path + short
	}
	return r
}
