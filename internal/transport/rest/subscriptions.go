package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/subscription"
	"tenon/internal/core/todo"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("subscriptions", (*Server).subscriptionRoutes)

// subscriptionRoutes subscribe to issues and merge requests, and add to-do items for them and for epics.
func (s *Server) subscriptionRoutes() []*api.Route {
	const issue, mr = "/projects/:id/issues/:issue_iid", "/projects/:id/merge_requests/:merge_request_iid"
	return api.Scoped(nil,
		api.Post(issue+"/subscribe", s.subscribeToIssue).Doc("Subscribe to an issue").Needs(authz.ReadIssue, authz.UpdateSubscription),
		api.Post(issue+"/unsubscribe", s.unsubscribeFromIssue).Doc("Unsubscribe from an issue").Needs(authz.ReadIssue, authz.UpdateSubscription),
		api.Post(issue+"/todo", s.addIssueTodo).Doc("Create a to-do item for an issue").Needs(authz.ReadIssue, authz.CreateTodo),
		api.Post(mr+"/subscribe", s.subscribeToRequest).Doc("Subscribe to a merge request").Needs(authz.ReadMergeRequest, authz.UpdateSubscription),
		api.Post(mr+"/unsubscribe", s.unsubscribeFromRequest).Doc("Unsubscribe from a merge request").Needs(authz.ReadMergeRequest, authz.UpdateSubscription),
		api.Post(mr+"/todo", s.addRequestTodo).Doc("Create a to-do item for a merge request").Needs(authz.ReadMergeRequest, authz.CreateTodo),
		api.Post("/groups/:id/epics/:epic_iid/todo", s.addEpicTodo).Doc("Create a to-do item for an epic").Needs(authz.ReadEpic, authz.CreateTodo),
	)
}

// issueOn names an issue for subscriptions and to-do items.
func (s *Server) issueOn(ctx context.Context, as authz.Actor, in issuePath) (subscription.On, error) {
	at, err := mount{s: s}.place(ctx, as, in.ID)
	return subscription.On{Place: at, Kind: noteable.Issue, Key: noteable.Key{Number: int64(in.IID)}}, err
}

type subscribe func(ctx context.Context, as authz.Actor, on subscription.On) error

func (s *Server) changedIssue(ctx context.Context, as authz.Actor, in issuePath, change subscribe) (issueEntity, error) {
	on, err := s.issueOn(ctx, as, in)
	if err != nil {
		return issueEntity{}, err
	}
	if err := change(ctx, as, on); err != nil {
		return issueEntity{}, err
	}
	i, err := s.Issues.Find(ctx, as, project.Of(on.Place), in.IID)
	return s.oneIssue(ctx, as, project.Of(on.Place), i, err)
}

func (s *Server) subscribeToIssue(ctx context.Context, as authz.Actor, in issuePath) (issueEntity, error) {
	return s.changedIssue(ctx, as, in, s.Subscriptions.Add)
}

func (s *Server) unsubscribeFromIssue(ctx context.Context, as authz.Actor, in issuePath) (issueEntity, error) {
	return s.changedIssue(ctx, as, in, s.Subscriptions.Remove)
}

func (s *Server) addIssueTodo(ctx context.Context, as authz.Actor, in issuePath) (todoEntity, error) {
	on, err := s.issueOn(ctx, as, in)
	return s.addTodo(ctx, as, on, err)
}

// requestOn names a merge request for subscriptions and to-do items.
func (s *Server) requestOn(ctx context.Context, as authz.Actor, in requestPath) (subscription.On, error) {
	at, err := mount{s: s}.place(ctx, as, in.ID)
	return subscription.On{Place: at, Kind: noteable.MergeRequest, Key: noteable.Key{Number: int64(in.IID)}}, err
}

func (s *Server) changedRequest(ctx context.Context, as authz.Actor, in requestPath, change subscribe) (mergeRequestFull, error) {
	on, err := s.requestOn(ctx, as, in)
	if err != nil {
		return mergeRequestFull{}, err
	}
	if err := change(ctx, as, on); err != nil {
		return mergeRequestFull{}, err
	}
	m, err := s.MergeRequests.Find(ctx, as, project.Of(on.Place), in.IID)
	if err != nil {
		return mergeRequestFull{}, err
	}
	return s.requestFull(ctx, as, project.Of(on.Place), m)
}

func (s *Server) subscribeToRequest(ctx context.Context, as authz.Actor, in requestPath) (mergeRequestFull, error) {
	return s.changedRequest(ctx, as, in, s.Subscriptions.Add)
}

func (s *Server) unsubscribeFromRequest(ctx context.Context, as authz.Actor, in requestPath) (mergeRequestFull, error) {
	return s.changedRequest(ctx, as, in, s.Subscriptions.Remove)
}

func (s *Server) addRequestTodo(ctx context.Context, as authz.Actor, in requestPath) (todoEntity, error) {
	on, err := s.requestOn(ctx, as, in)
	return s.addTodo(ctx, as, on, err)
}

func (s *Server) addTodo(ctx context.Context, as authz.Actor, on subscription.On, err error) (todoEntity, error) {
	if err != nil {
		return todoEntity{}, err
	}
	t, err := s.Todos.Add(ctx, as, on)
	if err != nil {
		return todoEntity{}, err
	}
	return s.oneTodo(ctx, as, t)
}

// oneTodo renders a to-do item that its caller has just read or written.
func (s *Server) oneTodo(ctx context.Context, as authz.Actor, t *todo.Todo) (todoEntity, error) {
	out, err := s.todoEntities(ctx, as, *t)
	if err != nil {
		return todoEntity{}, err
	}
	return out[0], nil
}

// subscribe subscribes to a label.
func (h labelHandlers) subscribe(ctx context.Context, as authz.Actor, in labelPath) (labelEntity, error) {
	return h.changed(ctx, as, in, h.server.Subscriptions.AddLabel)
}

func (h labelHandlers) unsubscribe(ctx context.Context, as authz.Actor, in labelPath) (labelEntity, error) {
	return h.changed(ctx, as, in, h.server.Subscriptions.RemoveLabel)
}

func (h labelHandlers) changed(ctx context.Context, as authz.Actor, in labelPath,
	change func(ctx context.Context, as authz.Actor, at authz.Place, ref string) (*label.Label, error),
) (labelEntity, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return labelEntity{}, err
	}
	l, err := change(ctx, as, at, in.Name)
	if err != nil {
		return labelEntity{}, err
	}
	return h.one(ctx, as, at, l)
}

// one renders a label with whether the actor is subscribed to it.
func (h labelHandlers) one(ctx context.Context, as authz.Actor, at authz.Place, l *label.Label) (labelEntity, error) {
	subscribed, err := h.server.Subscriptions.OfLabels(ctx, as, at, l.ID)
	e := newLabelEntity(at, l)
	e.Subscribed = subscribed[l.ID]
	return e, err
}
