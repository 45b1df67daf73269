package rest

import (
	"context"
	"strconv"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("issues", (*Server).issueRoutes)

func (s *Server) issueRoutes() []*api.Route {
	const path = "/projects/:id/issues"
	return api.Scoped(nil,
		api.Get("/issues", s.allIssues).Doc("List issues").Needs(authz.ListOwnIssues),
		api.Get("/issues/:id", s.anyIssue).Doc("Get an issue by its ID").Needs(authz.ReadAnyIssue),
		api.Get("/issues_statistics", s.allIssueStatistics).Doc("Get issue statistics").Needs(authz.ListOwnIssues),
		api.Get("/groups/:id/issues", s.groupIssues).Doc("List issues of a group").Public().Needs(authz.ReadGroup),
		api.Get("/groups/:id/issues_statistics", s.groupIssueStatistics).Doc("Get issue statistics of a group").Public().Needs(authz.ReadGroup),
		api.Get(path, s.projectIssues).Doc("List issues of a project").Public().Needs(authz.ReadIssue),
		api.Get("/projects/:id/issues_statistics", s.projectIssueStatistics).Doc("Get issue statistics of a project").Public().Needs(authz.ReadIssue),
		api.Get(path+"/:issue_iid", s.issue).Doc("Get an issue").Public().Needs(authz.ReadIssue),
		api.Post(path, s.createIssue).Doc("Create an issue").Needs(authz.CreateIssue),
		api.Put(path+"/:issue_iid", s.updateIssue).Timed().Doc("Update an issue").Needs(authz.UpdateIssue, authz.ReadIssue),
		api.Put(path+"/:issue_iid/reorder", s.reorderIssue).Timed().Doc("Reorder an issue").Needs(authz.UpdateIssue, authz.ReadIssue),
		api.Post(path+"/:issue_iid/move", s.moveIssue).Doc("Move an issue").Needs(authz.ReadIssue),
		api.Post(path+"/:issue_iid/clone", s.cloneIssue).Doc("Clone an issue").Needs(authz.ReadIssue),
		api.Get(path+"/:issue_iid/participants", s.issueParticipants).Doc("List the participants of an issue").Public().Needs(authz.ReadIssue),
		api.Get(path+"/:issue_iid/user_agent_detail", s.issueUserAgent).Doc("Get the user agent details of an issue").Needs(authz.ReadUserAgent, authz.ReadIssue),
		api.Delete(path+"/:issue_iid", s.deleteIssue).Timed().Doc("Delete an issue").Needs(authz.DeleteIssue, authz.ReadIssue),
	)
}

// issueListParams are what all lists of issues take.
type issueListParams struct {
	issueFilterParams
	OrderBy string `param:"order_by" values:"created_at,due_date,label_priority,milestone_due,popularity,priority,relative_position,title,updated_at,weight" default:"created_at" doc:"Column to order by"`
	Sort    string `param:"sort" values:"asc,desc" default:"desc" doc:"asc or desc"`
	Details bool   `param:"with_labels_details" default:"false" doc:"Return labels with their details"`
	api.Page
}

// listIssues lists a page of a place's issues.
func (s *Server) listIssues(ctx context.Context, as authz.Actor, at authz.Place, in issueListParams, f issue.Filter, from string) (api.List[issueEntity], error) {
	var none api.List[issueEntity]
	f.OrderBy, f.Asc, f.Range = in.OrderBy, in.Sort == "asc", in.Range()
	issues, err := s.Issues.List(ctx, as, at, f)
	if err != nil {
		return none, err
	}
	out, err := s.issueEntities(ctx, as, issues.Items, issueShape{from: from, details: in.Details}, issue.ViewOptions{Projects: oneProject(project.Of(at))})
	if err != nil {
		return none, err
	}
	return api.Listed(issues, out), nil
}

type allIssuesParams struct {
	issueListParams
	ownIssueScope
	withoutArchived
}

func (s *Server) allIssues(ctx context.Context, as authz.Actor, in allIssuesParams) (api.List[issueEntity], error) {
	f, err := in.filter(in.Scope)
	if err != nil {
		return api.List[issueEntity]{}, err
	}
	f.NonArchived = in.NonArchived
	return s.listIssues(ctx, as, authz.Place{}, in.issueListParams, f, "")
}

type groupIssuesParams struct {
	ID string `param:"id,required" doc:"ID or URL-encoded path of the group"`
	issueListParams
	issueScope
	withoutArchived
}

func (s *Server) groupIssues(ctx context.Context, as authz.Actor, in groupIssuesParams) (api.List[issueEntity], error) {
	var none api.List[issueEntity]
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	f, err := in.filter(in.Scope)
	if err != nil {
		return none, err
	}
	f.NonArchived = in.NonArchived
	return s.listIssues(ctx, as, g.Place(), in.issueListParams, f, g.FullPath)
}

type projectIssuesParams struct {
	projectPath
	issueListParams
	issueScope
}

func (s *Server) projectIssues(ctx context.Context, as authz.Actor, in projectIssuesParams) (api.List[issueEntity], error) {
	var none api.List[issueEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	f, err := in.filter(in.Scope)
	if err != nil {
		return none, err
	}
	return s.listIssues(ctx, as, p.Place(), in.issueListParams, f, p.FullPath)
}

type statisticsEntity struct {
	Statistics struct {
		Counts issueCounts `json:"counts"`
	} `json:"statistics"`
}

type issueCounts struct {
	All    int64 `json:"all"`
	Closed int64 `json:"closed"`
	Opened int64 `json:"opened"`
}

func (s *Server) issueStatistics(ctx context.Context, as authz.Actor, at authz.Place, f issue.Filter) (statisticsEntity, error) {
	var out statisticsEntity
	counts, err := s.Issues.Statistics(ctx, as, at, f)
	out.Statistics.Counts = issueCounts{All: counts.Opened + counts.Closed, Closed: counts.Closed, Opened: counts.Opened}
	return out, err
}

type allStatisticsParams struct {
	issueFilterParams
	ownIssueScope
	withArchived
}

func (s *Server) allIssueStatistics(ctx context.Context, as authz.Actor, in allStatisticsParams) (statisticsEntity, error) {
	f, err := in.filter(in.Scope)
	if err != nil {
		return statisticsEntity{}, err
	}
	f.NonArchived = in.NonArchived
	return s.issueStatistics(ctx, as, authz.Place{}, f)
}

type groupStatisticsParams struct {
	ID string `param:"id,required" doc:"ID or URL-encoded path of the group"`
	issueFilterParams
	issueScope
	withArchived
}

func (s *Server) groupIssueStatistics(ctx context.Context, as authz.Actor, in groupStatisticsParams) (statisticsEntity, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return statisticsEntity{}, err
	}
	f, err := in.filter(in.Scope)
	if err != nil {
		return statisticsEntity{}, err
	}
	f.NonArchived = in.NonArchived
	return s.issueStatistics(ctx, as, g.Place(), f)
}

type projectStatisticsParams struct {
	projectPath
	issueFilterParams
	issueScope
}

func (s *Server) projectIssueStatistics(ctx context.Context, as authz.Actor, in projectStatisticsParams) (statisticsEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return statisticsEntity{}, err
	}
	f, err := in.filter(in.Scope)
	if err != nil {
		return statisticsEntity{}, err
	}
	return s.issueStatistics(ctx, as, p.Place(), f)
}

// oneIssue renders an issue that its caller has just read or written.
func (s *Server) oneIssue(ctx context.Context, as authz.Actor, p *project.Project, i *issue.Issue, err error) (issueEntity, error) {
	if err != nil {
		return issueEntity{}, err
	}
	out, err := s.issueEntities(ctx, as, []issue.Issue{*i}, issueShape{from: p.FullPath}, issue.ViewOptions{Projects: oneProject(p), Subscribed: true})
	if err != nil {
		return issueEntity{}, err
	}
	return out[0], nil
}

type anyIssueParams struct {
	ID issue.ID `param:"id,required" doc:"ID of the issue"`
}

func (s *Server) anyIssue(ctx context.Context, as authz.Actor, in anyIssueParams) (issueEntity, error) {
	i, err := s.Issues.FindAny(ctx, as, in.ID)
	if err != nil {
		return issueEntity{}, err
	}
	p, err := s.Projects.Find(ctx, as, strconv.FormatInt(int64(i.ProjectID), 10))
	return s.oneIssue(ctx, as, p, i, err)
}

type issuePath struct {
	projectPath
	IID issue.IID `param:"issue_iid,required" doc:"Internal ID of the issue"`
}

func (s *Server) issue(ctx context.Context, as authz.Actor, in issuePath) (issueEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return issueEntity{}, err
	}
	i, err := s.Issues.Find(ctx, as, p, in.IID)
	return s.oneIssue(ctx, as, p, i, err)
}

// issueFields are what both creation and change take.
type issueFields struct {
	issue.Attributes
	AssigneeID   *int64            `param:"assignee_id" doc:"ID of the assignee; 0 unassigns"`
	AssigneeIDs  api.Ints          `param:"assignee_ids" doc:"IDs of the assignees; 0 or empty unassigns all"`
	MilestoneID  api.Opt[int64]    `param:"milestone_id" doc:"ID of the milestone; 0 or empty removes it"`
	DueDate      api.Opt[api.Date] `param:"due_date" doc:"Due date, YYYY-MM-DD"`
	EpicID       api.Opt[int64]    `param:"epic_id" doc:"ID of the epic; 0 or empty removes it"`
	EpicIID      api.Opt[int64]    `param:"epic_iid" doc:"Deprecated: use epic_id. Internal ID of an epic of the project's group"`
	Weight       api.Opt[int64]    `param:"weight" min:"0" doc:"Weight"`
	HealthStatus api.Opt[string]   `param:"health_status" values:"on_track,needs_attention,at_risk," doc:"Health status; empty clears"`
	CreatedAt    *time.Time        `param:"created_at" doc:"Creation time (administrators and Owners only, with sudo as the other user; ignored from others)"`
}

// milestoneID returns a milestone that was sent, 0 for none, and nil where nothing was sent.
func milestoneID(id api.Opt[int64]) *milestone.ID { return (*milestone.ID)(id.OrZero()) }

// epic joins the two parameters; nil where neither was sent.
func (f *issueFields) epic() *issue.EpicChoice {
	switch {
	case f.EpicID.Set:
		return &issue.EpicChoice{ID: f.EpicID.Value}
	case f.EpicIID.Set:
		return &issue.EpicChoice{IID: f.EpicIID.Value}
	}
	return nil
}

// assignees joins the two parameters; nil where neither was sent.
func (f *issueFields) assignees() *[]authz.UserID {
	switch {
	case f.AssigneeIDs != nil:
		ids := numbers[authz.UserID](f.AssigneeIDs)
		return &ids
	case f.AssigneeID != nil:
		return &[]authz.UserID{authz.UserID(*f.AssigneeID)}
	}
	return nil
}

type createIssueParams struct {
	projectPath
	Title  string      `param:"title,required" doc:"Title"`
	IID    int64       `param:"iid" doc:"Internal ID in the project (administrators and Owners only, with sudo as the other user; ignored from others)"`
	Labels api.Strings `param:"labels" doc:"Label names, separated by commas; missing labels are created"`
	issueFields
	ResolveOf  int64  `param:"merge_request_to_resolve_discussions_of" doc:"Internal ID of a merge request whose open threads the issue follows up; they are resolved"`
	Discussion string `param:"discussion_to_resolve" doc:"ID of the one thread to resolve; needs merge_request_to_resolve_discussions_of"`
}

func (s *Server) createIssue(ctx context.Context, as authz.Actor, in createIssueParams) (issueEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return issueEntity{}, err
	}
	input := issue.Input{
		Title: in.Title, Attributes: in.Attributes, Weight: in.Weight.Ptr(), MilestoneID: milestoneID(in.MilestoneID), Labels: in.Labels,
		IID: issue.IID(in.IID), CreatedAt: in.CreatedAt,
	}
	input.Resolves = issue.Threads{Request: in.ResolveOf, Discussion: in.Discussion}
	if due := in.DueDate.Ptr(); due != nil {
		input.DueDate = dayOf(*due)
	}
	if health := in.HealthStatus.Ptr(); health != nil && *health != "" {
		input.Health = (*issue.Health)(health)
	}
	if ids := in.assignees(); ids != nil {
		input.AssigneeIDs = *ids
	}
	if choice := in.epic(); choice != nil {
		input.Epic = *choice
	}
	i, err := s.Issues.Create(ctx, as, p, input)
	return s.oneIssue(ctx, as, p, i, err)
}

type updateIssueParams struct {
	issuePath
	Title        *string     `param:"title" doc:"Title"`
	StateEvent   string      `param:"state_event" values:"reopen,close" doc:"close or reopen"`
	Labels       api.Strings `param:"labels" doc:"Label names, separated by commas; empty removes all"`
	AddLabels    api.Strings `param:"add_labels" doc:"Label names to add, separated by commas"`
	RemoveLabels api.Strings `param:"remove_labels" doc:"Label names to remove, separated by commas"`
	UpdatedAt    *time.Time  `param:"updated_at" doc:"Update time (administrators and Owners only, with sudo as the other user; ignored from others)"`
	issueFields
	_ struct{} `atleastone:"assignee_id,assignee_ids,confidential,created_at,description,discussion_locked,due_date,labels,add_labels,remove_labels,milestone_id,state_event,title,issue_type,weight,severity,health_status,epic_id,epic_iid"`
}

func (s *Server) updateIssue(ctx context.Context, as authz.Actor, in updateIssueParams) (issueEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return issueEntity{}, err
	}
	c := issue.Changes{
		Title: in.Title, StateEvent: in.StateEvent, Attributes: in.Attributes, Weight: in.Weight.Ptr(), ClearWeight: in.Weight.Null, MilestoneID: milestoneID(in.MilestoneID),
		Labels: label.Assignment{Add: in.AddLabels, Remove: in.RemoveLabels}, AssigneeIDs: in.assignees(), Epic: in.epic(), UpdatedAt: in.UpdatedAt,
	}
	if in.Labels != nil {
		titles := []string(in.Labels)
		c.Labels.Set = &titles
	}
	if due := in.DueDate.OrZero(); due != nil {
		day := string(*due)
		c.DueDate = &day
	}
	c.Health = (*issue.Health)(in.HealthStatus.OrZero())
	i, err := s.Issues.Update(ctx, as, p, in.IID, c)
	return s.oneIssue(ctx, as, p, i, err)
}

func (s *Server) deleteIssue(ctx context.Context, as authz.Actor, in issuePath) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Issues.Delete(ctx, as, p, in.IID)
}
