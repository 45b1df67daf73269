package rest

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/todo"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("todos", (*Server).todoRoutes)

func (s *Server) todoRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/todos", s.listTodos).Doc("List to-do items").Needs(authz.ReadOwnTodos),
		api.Post("/todos/:id/mark_as_done", s.markTodo).Doc("Mark a to-do item as done").Needs(authz.UpdateOwnTodos),
		api.Post("/todos/mark_as_done", s.markTodos).Doc("Mark all to-do items as done").Status(http.StatusNoContent).Needs(authz.UpdateOwnTodos),
	)
}

// todoEntity is a to-do item.
type todoEntity struct {
	ID         todo.ID           `json:"id"`
	Project    *projectIdentity  `json:"project,omitempty"`
	Group      *projectNamespace `json:"group,omitempty"` // of what is in no project
	Author     *userBasic        `json:"author"`
	ActionName todo.Action       `json:"action_name"`
	TargetType noteable.Kind     `json:"target_type"`
	Target     todoTarget        `json:"target"`
	TargetURL  string            `json:"target_url"`
	Body       string            `json:"body"`
	State      todo.State        `json:"state"`
	CreatedAt  api.Time          `json:"created_at"`
	UpdatedAt  api.Time          `json:"updated_at"`
}

// todoTarget is what a to-do item is about.
type todoTarget interface {
	OneOf(issue todoIssue, request todoRequest, epic todoEpic, commit todoCommit, project todoProject, group todoGroup)
}

type (
	todoIssue   struct{ issueEntity }
	todoRequest struct{ mergeRequestEntity }
	todoEpic    struct{ epicEntity }
	todoCommit  struct{ commitEntity }
	todoProject struct{ *projectEntity } // that a user asks for access to, as the group
	todoGroup   struct{ namespaceEntity }
)

// OneOf names the targets of to-do items.
func (todoIssue) OneOf(todoIssue, todoRequest, todoEpic, todoCommit, todoProject, todoGroup) {}

// OneOf names the targets of to-do items.
func (todoRequest) OneOf(todoIssue, todoRequest, todoEpic, todoCommit, todoProject, todoGroup) {}

// OneOf names the targets of to-do items.
func (todoEpic) OneOf(todoIssue, todoRequest, todoEpic, todoCommit, todoProject, todoGroup) {}

// OneOf names the targets of to-do items.
func (todoCommit) OneOf(todoIssue, todoRequest, todoEpic, todoCommit, todoProject, todoGroup) {}

// OneOf names the targets of to-do items.
func (todoProject) OneOf(todoIssue, todoRequest, todoEpic, todoCommit, todoProject, todoGroup) {}

// OneOf names the targets of to-do items.
func (todoGroup) OneOf(todoIssue, todoRequest, todoEpic, todoCommit, todoProject, todoGroup) {}

type listTodosParams struct {
	Action    string `param:"action" values:"assigned,mentioned,build_failed,marked,approval_required,unmergeable,directly_addressed,merge_train_removed,member_access_requested,review_requested,review_submitted" doc:"Return to-do items with this action"`
	AuthorID  int64  `param:"author_id" doc:"Return to-do items created by this user"`
	ProjectID int64  `param:"project_id" doc:"Return to-do items of this project"`
	GroupID   int64  `param:"group_id" doc:"Return to-do items of this group and its subgroups"`
	State     string `param:"state" values:"pending,done" default:"pending" doc:"pending or done"`
	Type      string `param:"type" values:"Issue,MergeRequest,Commit,Epic,DesignManagement::Design,AlertManagement::Alert,Project,Namespace,Vulnerability,WikiPage::Meta,WorkItem,Key" doc:"Return to-do items about this type"`
	api.Page
}

func (s *Server) listTodos(ctx context.Context, as authz.Actor, in listTodosParams) (api.List[todoEntity], error) {
	var none api.List[todoEntity]
	list, err := s.Todos.List(ctx, as, todo.Filter{
		State: todo.State(in.State), Actions: anyOf(todo.Action(in.Action)), Authors: anyOf(authz.UserID(in.AuthorID)), Projects: anyOf(project.ID(in.ProjectID)),
		Groups: anyOf(authz.NamespaceID(in.GroupID)), Kinds: anyOf(noteable.Kind(in.Type)), Range: in.Range(),
	})
	if err != nil {
		return none, err
	}
	out, err := s.todoEntities(ctx, as, list.Items...)
	if err != nil {
		return none, err
	}
	return api.Listed(list, out), nil
}

// anyOf is a filter for one value: zero selects all.
func anyOf[T comparable](v T) []T {
	var zero T
	if v == zero {
		return nil
	}
	return []T{v}
}

type todoPath struct {
	ID todo.ID `param:"id,required" doc:"ID of the to-do item"`
}

func (s *Server) markTodo(ctx context.Context, as authz.Actor, in todoPath) (todoEntity, error) {
	t, err := s.Todos.MarkDone(ctx, as, in.ID)
	if err != nil {
		return todoEntity{}, err
	}
	return s.oneTodo(ctx, as, t)
}

func (s *Server) markTodos(ctx context.Context, as authz.Actor, _ struct{}) (api.None, error) {
	_, err := s.Todos.MarkDoneOn(ctx, as, noteable.Ref{})
	return api.None{}, err
}

// todoTargets are what to-do items are about, and where that is.
type todoTargets struct {
	projects map[project.ID]*project.Project
	things   map[noteable.Ref]todoTarget
	urls     map[noteable.Ref]string
}

// todoEntities renders to-do items with one look at each related subject.
func (s *Server) todoEntities(ctx context.Context, as authz.Actor, todos ...todo.Todo) ([]todoEntity, error) {
	ids := make([]authz.UserID, len(todos))
	for i := range todos {
		ids[i] = todos[i].AuthorID
	}
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	at, err := s.todoTargets(ctx, as, todos)
	if err != nil {
		return nil, err
	}
	out := make([]todoEntity, len(todos))
	for i := range todos {
		t, ref := &todos[i], todos[i].Target()
		out[i] = todoEntity{
			ID: t.ID, Author: s.user(users[t.AuthorID]), ActionName: t.Action, TargetType: t.Kind, Target: at.things[ref], TargetURL: at.urls[ref],
			Body: t.Body, State: t.State, CreatedAt: api.Time(t.CreatedAt.Time), UpdatedAt: api.Time(t.UpdatedAt.Time),
		}
		if t.NoteID != nil {
			out[i].TargetURL += "#note_" + strconv.FormatInt(*t.NoteID, 10)
		}
		if t.Group != nil {
			group := s.projectNamespace(t.Group, nil)
			out[i].Group = &group
		}
		if t.ProjectID == nil {
			continue
		}
		if p := at.projects[*t.ProjectID]; p != nil {
			identity := identityOf(p)
			out[i].Project = &identity
		}
	}
	return out, nil
}

func (s *Server) todoTargets(ctx context.Context, as authz.Actor, todos []todo.Todo) (todoTargets, error) {
	at := todoTargets{things: map[noteable.Ref]todoTarget{}, urls: map[noteable.Ref]string{}}
	var issues []issue.ID
	var requests []mergerequest.ID
	var epics []epic.ID
	var places []project.ID
	var labeled []noteable.Ref
	for i := range todos {
		t := &todos[i]
		if t.Kind == noteable.Issue || t.Kind == noteable.MergeRequest {
			labeled = append(labeled, t.Target())
		}
		switch t.Kind {
		case noteable.Issue:
			issues = append(issues, issue.ID(t.TargetID))
		case noteable.MergeRequest:
			requests = append(requests, mergerequest.ID(t.TargetID))
		case noteable.Epic:
			epics = append(epics, epic.ID(t.TargetID))
		}
		if t.ProjectID != nil {
			places = append(places, *t.ProjectID)
		}
	}
	var err error
	if at.projects, err = s.Projects.ByIDs(ctx, as, places); err != nil {
		return at, err
	}
	known := label.Known{Projects: at.projects}
	if known.Labels, err = s.Labels.ForNoteables(ctx, labeled); err != nil {
		return at, err
	}
	if err := s.todoThings(ctx, as, at, known, issues, requests); err != nil {
		return at, err
	}
	if err := s.todoEpics(ctx, as, at, epics); err != nil {
		return at, err
	}
	if err := s.todoPlaces(ctx, as, at, todos); err != nil {
		return at, err
	}
	return at, s.todoCommits(ctx, as, at, todos)
}

// todoCommits renders commits that are still in their repositories.
func (s *Server) todoCommits(ctx context.Context, as authz.Actor, at todoTargets, todos []todo.Todo) error {
	refs := map[repo.CommitID]noteable.Ref{}
	for i := range todos {
		ref := todos[i].Target()
		if ref.Kind != noteable.Commit || at.projects[project.ID(ref.Project)] == nil {
			continue
		}
		id, err := gitstore.ParseObjectID(ref.Commit)
		if err != nil {
			return err
		}
		refs[repo.CommitID{Project: project.ID(ref.Project), ID: id}] = ref
	}
	if len(refs) == 0 {
		return nil
	}
	found, err := s.Repos.CommitsByIDs(ctx, as, slices.Collect(maps.Keys(refs)))
	for id, c := range found {
		p, ref := at.projects[id.Project], refs[id]
		at.things[ref], at.urls[ref] = todoCommit{s.commitEntity(p, c)}, s.URLs.Commit(p.FullPath, ref.Commit)
	}
	return err
}

// todoThings renders issues and merge requests, whose milestones are read together.
func (s *Server) todoThings(ctx context.Context, as authz.Actor, at todoTargets, known label.Known, issueIDs []issue.ID, requestIDs []mergerequest.ID) error {
	foundIssues, err := s.Issues.ShortByIDs(ctx, as, issueIDs, known)
	if err != nil {
		return err
	}
	foundRequests, err := s.MergeRequests.ShortByIDs(ctx, as, requestIDs, known)
	if err != nil {
		return err
	}
	var issues []issue.Issue
	var requests []*mergerequest.MergeRequest
	var due []milestone.ID
	for _, i := range foundIssues {
		if issues = append(issues, *i); i.MilestoneID != nil {
			due = append(due, *i.MilestoneID)
		}
	}
	for _, m := range foundRequests {
		if requests = append(requests, m); m.MilestoneID != nil {
			due = append(due, *m.MilestoneID)
		}
	}
	milestones, err := s.Milestones.ByIDs(ctx, as, due)
	if err != nil {
		return err
	}
	ofIssues, err := s.issueEntities(ctx, as, issues, issueShape{}, issue.ViewOptions{Projects: at.projects, Milestones: milestones})
	if err != nil {
		return err
	}
	for i := range ofIssues {
		ref := noteable.Ref{Kind: noteable.Issue, ID: int64(ofIssues[i].ID)}
		at.things[ref], at.urls[ref] = todoIssue{ofIssues[i]}, ofIssues[i].WebURL
	}
	ofRequests, err := s.requestEntities(ctx, as, requests, requestShape{}, mergerequest.ViewOptions{Projects: at.projects, Milestones: milestones})
	for i := range ofRequests {
		ref := noteable.Ref{Kind: noteable.MergeRequest, ID: int64(ofRequests[i].ID)}
		at.things[ref], at.urls[ref] = todoRequest{ofRequests[i]}, ofRequests[i].WebURL
	}
	return err
}

// todoEpics renders epics.
func (s *Server) todoEpics(ctx context.Context, as authz.Actor, at todoTargets, ids []epic.ID) error {
	if len(ids) == 0 {
		return nil
	}
	found, err := s.Epics.ShortByIDs(ctx, as, ids)
	if err != nil {
		return err
	}
	var epics []epic.Epic
	for _, e := range found {
		epics = append(epics, *e)
	}
	entities, err := s.epicEntities(ctx, as, epicView{}, epics...)
	for i := range entities {
		ref := noteable.Ref{Kind: noteable.Epic, ID: int64(entities[i].ID)}
		at.things[ref], at.urls[ref] = todoEpic{entities[i]}, entities[i].WebURL
	}
	return err
}

// todoPlaces renders the projects and groups that users ask for access to.
func (s *Server) todoPlaces(ctx context.Context, as authz.Actor, at todoTargets, todos []todo.Todo) error {
	var projects []*project.Project
	var groups []namespace.Namespace
	for i := range todos {
		t := &todos[i]
		ref := t.Target()
		if _, known := at.urls[ref]; known {
			continue
		}
		switch {
		case t.Kind == todo.OfProject && at.projects[project.ID(t.TargetID)] != nil:
			p := at.projects[project.ID(t.TargetID)]
			projects, at.urls[ref] = append(projects, p), s.URLs.ProjectAccessRequests(p.FullPath)
		case t.Kind == todo.OfGroup && t.Group != nil:
			groups, at.urls[ref] = append(groups, *t.Group), s.URLs.GroupAccessRequests(t.Group.FullPath)
		}
	}
	if len(projects) > 0 {
		forms, err := s.projects(ctx, as, projects, project.ViewOptions{})
		if err != nil {
			return err
		}
		for i, form := range forms {
			if full, ok := form.(*projectEntity); ok {
				at.things[noteable.Ref{Kind: todo.OfProject, ID: int64(projects[i].ID)}] = todoProject{full}
			}
		}
	}
	if len(groups) == 0 {
		return nil
	}
	entities, err := s.namespaces(ctx, as, groups)
	for i := range entities {
		at.things[noteable.Ref{Kind: todo.OfGroup, ID: int64(groups[i].ID)}] = todoGroup{entities[i]}
	}
	return err
}
