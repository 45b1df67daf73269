package statuscheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// payload is what a service is told.
type payload struct {
	Kind       string                   `json:"object_kind"`
	Event      string                   `json:"event_type"`
	User       *userPart                `json:"user"`
	Project    *projectPart             `json:"project"`
	Attributes attributes               `json:"object_attributes"`
	Labels     []labelPart              `json:"labels"`
	Changes    map[string]change.Values `json:"changes"`
	Repository repositoryPart           `json:"repository"`
	Assignees  []*userPart              `json:"assignees,omitempty"`
	Reviewers  []*userPart              `json:"reviewers,omitempty"`
	Rule       rulePart                 `json:"external_approval_rule"`
}

type rulePart struct {
	ID   ID     `json:"id"`
	Name string `json:"name"`
	URL  string `json:"external_url"`
}

type userPart struct {
	ID       authz.UserID `json:"id"`
	Name     string       `json:"name"`
	Username string       `json:"username"`
	Avatar   *string      `json:"avatar_url"`
	Email    string       `json:"email"` // hidden unless the user shows it
}

type projectPart struct {
	ID            project.ID `json:"id"`
	Name          string     `json:"name"`
	Description   *string    `json:"description"`
	WebURL        string     `json:"web_url"`
	Avatar        *string    `json:"avatar_url"`
	SSH           string     `json:"git_ssh_url"`
	HTTP          string     `json:"git_http_url"`
	Namespace     string     `json:"namespace"` // its name
	Visibility    int        `json:"visibility_level"`
	Path          string     `json:"path_with_namespace"`
	DefaultBranch *string    `json:"default_branch"`
	CIConfigPath  *string    `json:"ci_config_path"`
	Homepage      string     `json:"homepage"`
	URL           string     `json:"url"`
	SSHURL        string     `json:"ssh_url"`
	HTTPURL       string     `json:"http_url"`
}

type repositoryPart struct {
	Name        string  `json:"name"`
	URL         string  `json:"url"`
	Description *string `json:"description"`
	Homepage    string  `json:"homepage"`
}

type labelPart struct {
	ID          label.ID    `json:"id"`
	Title       string      `json:"title"`
	Color       string      `json:"color"`
	ProjectID   *project.ID `json:"project_id"`
	CreatedAt   string      `json:"created_at"`
	UpdatedAt   string      `json:"updated_at"`
	Template    bool        `json:"template"`
	Description *string     `json:"description"`
	Type        string      `json:"type"`
	GroupID     *int64      `json:"group_id"`
}

type commitPart struct {
	ID        string     `json:"id"`
	Message   string     `json:"message"`
	Title     string     `json:"title"`
	Timestamp time.Time  `json:"timestamp"`
	URL       string     `json:"url"`
	Author    authorPart `json:"author"`
}

type authorPart struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

type attributes struct {
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
	Source              *projectPart             `json:"source"` // null where the fork is gone
	Target              *projectPart             `json:"target"`
	LastCommit          *commitPart              `json:"last_commit"`
	Labels              []labelPart              `json:"labels"`
	Action              string                   `json:"action"`
	OldRev              string                   `json:"oldrev,omitempty"`
}

// stamp writes a time as payloads have it.
func stamp(t db.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// payload gathers what a service is told of a merge request of p.
func (s *Service) payload(ctx context.Context, c *call, check *Check, p *project.Project, m *mergerequest.MergeRequest) (*payload, error) {
	source, err := s.sourceOf(ctx, p, m)
	if err != nil {
		return nil, err
	}
	var reviewers []authz.UserID
	for _, r := range m.Reviewers {
		reviewers = append(reviewers, r.UserID)
	}
	users, err := s.Accounts.Load(ctx, append(append([]authz.UserID{c.UserID}, m.Assignees...), reviewers...))
	if err != nil {
		return nil, err
	}
	places := []authz.NamespaceID{p.ParentID}
	if source != nil && source.ParentID != p.ParentID {
		places = append(places, source.ParentID)
	}
	parents, err := s.names(ctx, places)
	if err != nil {
		return nil, err
	}
	last, err := s.lastCommit(ctx, p, m)
	if err != nil {
		return nil, err
	}
	target := s.project(p, parents)
	out := &payload{
		Kind: "merge_request", Event: "merge_request", User: s.user(users[c.UserID]), Project: target,
		Labels: labels(p, m), Changes: c.Changes, Assignees: s.users(users, m.Assignees), Reviewers: s.users(users, reviewers),
		Repository: repositoryPart{p.Name, target.SSH, p.Description, target.WebURL},
		Rule:       rulePart{check.ID, check.Name, check.URL},
		Attributes: s.attributes(p, m),
	}
	if out.Changes == nil {
		out.Changes = map[string]change.Values{}
	}
	a := &out.Attributes
	a.ReviewerIDs = append([]authz.UserID{}, reviewers...)
	a.Target, a.LastCommit, a.Labels, a.Action, a.OldRev = target, last, out.Labels, c.Action, c.OldSHA
	if source != nil {
		a.Source = s.project(source, parents)
	}
	return out, nil
}

func (s *Service) attributes(p *project.Project, m *mergerequest.MergeRequest) attributes {
	out := attributes{
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

// human returns a time in words, nil for none.
func (s *Service) human(seconds int64) *string {
	if seconds == 0 {
		return nil
	}
	text := s.Times.Human(seconds)
	return &text
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

// names are the names of namespaces by their ids.
func (s *Service) names(ctx context.Context, ids []authz.NamespaceID) (map[authz.NamespaceID]string, error) {
	type row struct {
		ID   authz.NamespaceID `db:"id"`
		Name string            `db:"name"`
	}
	var w db.Where
	w.In("n.id", ids)
	rows, err := db.Select[row](ctx, s.DB, "SELECT n.id, n.name FROM namespaces n"+w.SQL()+" ORDER BY n.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read names of namespaces: %w", err)
	}
	out := make(map[authz.NamespaceID]string, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Name
	}
	return out, nil
}

func (s *Service) project(p *project.Project, parents map[authz.NamespaceID]string) *projectPart {
	web := s.URLs.Project(p.FullPath)
	out := &projectPart{
		ID: p.ID, Name: p.Name, Description: p.Description, WebURL: web, SSH: s.URLs.SSHRepository(p.FullPath), HTTP: s.URLs.HTTPRepository(p.FullPath),
		Visibility: int(p.Visibility), Path: p.FullPath, Namespace: parents[p.ParentID], DefaultBranch: p.DefaultBranch, CIConfigPath: p.Settings().CIConfigPath, Homepage: web,
	}
	out.URL, out.SSHURL, out.HTTPURL = out.SSH, out.SSH, out.HTTP
	if p.Avatar != "" {
		address := s.URLs.Avatar("project", int64(p.ID), p.Avatar)
		out.Avatar = &address
	}
	return out
}

// user renders a user, nil for one who is gone.
func (s *Service) user(u *account.User) *userPart {
	if u == nil {
		return nil
	}
	out := &userPart{ID: u.ID, Name: u.Name, Username: u.Username, Avatar: s.Accounts.AvatarURL(u), Email: u.PublicEmail}
	if out.Email == "" {
		out.Email = "[REDACTED]"
	}
	return out
}

func (s *Service) users(known map[authz.UserID]*account.User, ids []authz.UserID) []*userPart {
	var out []*userPart
	for _, id := range ids {
		if u := s.user(known[id]); u != nil {
			out = append(out, u)
		}
	}
	return out
}

func labels(p *project.Project, m *mergerequest.MergeRequest) []labelPart {
	out := make([]labelPart, len(m.Labels))
	for i, l := range m.Labels {
		out[i] = labelPart{
			ID: l.ID, Title: l.Title, Color: l.Color, CreatedAt: stamp(l.CreatedAt), UpdatedAt: stamp(l.UpdatedAt), Description: l.Description, Type: "GroupLabel",
		}
		if l.NamespaceID == p.NamespaceID {
			out[i].Type, out[i].ProjectID = "ProjectLabel", &p.ID
		} else {
			id := int64(l.NamespaceID)
			out[i].GroupID = &id
		}
	}
	return out
}

// lastCommit reads the head of a merge request, nil where it has none.
func (s *Service) lastCommit(ctx context.Context, p *project.Project, m *mergerequest.MergeRequest) (*commitPart, error) {
	id, err := gitstore.ParseObjectID(m.HeadSHA)
	if err != nil {
		return nil, nil // there is no source branch
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	c, err := r.Commit(ctx, id)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, nil // pushed over, and swept away
	}
	if err != nil {
		return nil, fmt.Errorf("read head of merge request: %w", err)
	}
	return &commitPart{
		ID: m.HeadSHA, Message: c.Message, Title: c.Title(), Timestamp: c.Author.When, URL: s.URLs.Commit(p.FullPath, m.HeadSHA),
		Author: authorPart{c.Author.Name, c.Author.Email},
	}, nil
}
