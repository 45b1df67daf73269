package payload

import (
	"context"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/project"
)

// IssueBody is the body about an issue, incident or task.
type IssueBody struct {
	Kind       string          `json:"object_kind"`
	Event      string          `json:"event_type"` // issue or confidential_issue
	User       *UserBlock      `json:"user"`
	Project    *ProjectBlock   `json:"project"`
	Attributes IssueAttributes `json:"object_attributes"`
	Labels     []LabelBlock    `json:"labels"`
	Changes    Changes         `json:"changes"`
	Repository RepositoryBlock `json:"repository"`
	Assignees  []*UserBlock    `json:"assignees,omitempty"`
}

// IssueAttributes are those of an issue.
type IssueAttributes struct {
	AuthorID         authz.UserID   `json:"author_id"`
	ClosedAt         *string        `json:"closed_at"`
	Confidential     bool           `json:"confidential"`
	CreatedAt        string         `json:"created_at"`
	Description      *string        `json:"description"`
	DiscussionLocked *bool          `json:"discussion_locked"`
	DueDate          *string        `json:"due_date"`
	ID               issue.ID       `json:"id"`
	IID              issue.IID      `json:"iid"`
	LastEditedAt     *string        `json:"last_edited_at"`
	LastEditedByID   *authz.UserID  `json:"last_edited_by_id"`
	MilestoneID      *int64         `json:"milestone_id"`
	MovedToID        *issue.ID      `json:"moved_to_id"`
	DuplicatedToID   *issue.ID      `json:"duplicated_to_id"`
	ProjectID        project.ID     `json:"project_id"`
	Position         int64          `json:"relative_position"`
	StateID          int            `json:"state_id"`
	Estimate         int64          `json:"time_estimate"`
	Title            string         `json:"title"`
	UpdatedAt        string         `json:"updated_at"`
	UpdatedByID      *authz.UserID  `json:"updated_by_id"`
	Weight           *int64         `json:"weight"`
	Health           *issue.Health  `json:"health_status"`
	Type             string         `json:"type"` // such as Issue
	URL              string         `json:"url" change:"-"`
	Spent            int64          `json:"total_time_spent"`
	TimeChange       int64          `json:"time_change" change:"-"` // seconds
	HumanSpent       *string        `json:"human_total_time_spent" change:"-"`
	HumanTimeChange  *string        `json:"human_time_change" change:"-"`
	HumanEstimate    *string        `json:"human_time_estimate" change:"-"`
	AssigneeIDs      []authz.UserID `json:"assignee_ids" change:"-"`
	AssigneeID       *authz.UserID  `json:"assignee_id" change:"-"`
	Labels           []LabelBlock   `json:"labels" change:"-"`
	State            issue.State    `json:"state" change:"-"`
	Severity         issue.Severity `json:"severity"`

	*EscalationBlock // nil of others than incidents

	Action string `json:"action,omitempty" change:"-"` // open, close, reopen or update, of an event about the issue itself
}

// EscalationBlock is what attributes of incidents have beside.
type EscalationBlock struct {
	Status string  `json:"escalation_status" change:"-"` // triggered, or resolved where the incident is closed
	Policy *string `json:"escalation_policy" change:"-"` // null: there are none
}

// IssueEvent is what happened to an issue.
type IssueEvent struct {
	By         authz.UserID // zero for the server itself
	Action     string       // open, close, reopen or update
	Before     *issue.Issue
	TimeChange int64 // seconds that were added to the time spent
}

// Issue builds the body about an issue of p.
func (s *Service) Issue(ctx context.Context, p *project.Project, i *issue.Issue, e IssueEvent) (*IssueBody, error) {
	by, before := e.By, e.Before
	if by == 0 {
		by = i.AuthorID // the server did it
	}
	if before == nil {
		before = i
	}
	users, err := s.Accounts.Load(ctx, append(append([]authz.UserID{by}, i.Assignees...), before.Assignees...))
	if err != nil {
		return nil, err
	}
	block, err := s.projectBlock(ctx, p)
	if err != nil {
		return nil, err
	}
	a := s.issue(p, i)
	a.Action, a.TimeChange, a.HumanTimeChange = e.Action, e.TimeChange, s.Times.HumanPtr(e.TimeChange)
	out := &IssueBody{
		Kind: "issue", Event: "issue", User: s.user(users[by]), Project: block, Attributes: a, Labels: a.Labels,
		Changes: s.issueChanges(p, before, i, users), Repository: repository(p, block), Assignees: s.users(users, i.Assignees),
	}
	if i.Confidential {
		out.Event = "confidential_issue"
	}
	return out, nil
}

func (s *Service) issueChanges(p *project.Project, before, after *issue.Issue, users map[authz.UserID]*account.User) Changes {
	out := differences(s.issueColumns(p, before), s.issueColumns(p, after))
	out.labels(p, before.Labels, after.Labels)
	out.people("assignees", func(ids []authz.UserID) []*UserBlock { return s.users(users, ids) }, before.Assignees, after.Assignees)
	return out
}

// issue returns all attributes of an issue.
func (s *Service) issue(p *project.Project, i *issue.Issue) IssueAttributes {
	out := s.issueColumns(p, i)
	out.Description, out.Labels = s.images(s.URLs.Project(p.FullPath), out.Description), labels(p, i.Labels)
	return out
}

// issueColumns are the attributes that an issue has by itself.
func (s *Service) issueColumns(p *project.Project, i *issue.Issue) IssueAttributes {
	out := IssueAttributes{
		AuthorID: i.AuthorID, ClosedAt: stampOf(i.ClosedAt), Confidential: i.Confidential, CreatedAt: Stamp(i.CreatedAt), Description: i.Description,
		DiscussionLocked: i.DiscussionLocked, DueDate: i.DueDate, ID: i.ID, IID: i.IID, MovedToID: i.MovedToID, DuplicatedToID: i.DuplicatedToID,
		ProjectID: i.ProjectID, Position: i.Position, StateID: 1, Estimate: i.Estimate, Title: i.Title, UpdatedAt: Stamp(i.UpdatedAt),
		LastEditedAt: stampOf(i.LastEditedAt), LastEditedByID: i.LastEditedByID, UpdatedByID: i.UpdatedByID, Weight: i.Weight, Health: i.Health, URL: s.URLs.Issue(p.FullPath, int64(i.IID)), Spent: i.Spent,
		HumanSpent: s.Times.HumanPtr(i.Spent), HumanEstimate: s.Times.HumanPtr(i.Estimate), AssigneeIDs: append([]authz.UserID{}, i.Assignees...), State: i.State,
		Severity: i.ShownSeverity(),
		Type:     map[issue.Type]string{issue.Plain: "Issue", issue.Incident: "Incident", issue.TestCase: "Test Case", issue.Task: "Task"}[i.Type],
	}
	if i.Type == issue.Incident {
		out.EscalationBlock = &EscalationBlock{Status: "triggered"}
	}
	if i.State == issue.StateClosed {
		out.StateID = 2
		if i.Type == issue.Incident {
			out.Status = "resolved"
		}
	}
	if i.MilestoneID != nil {
		id := int64(*i.MilestoneID)
		out.MilestoneID = &id
	}
	if len(i.Assignees) > 0 {
		out.AssigneeID = &i.Assignees[0]
	}
	return out
}
