package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// noteableHandlers are what the endpoints below things of one kind share: notes, award emoji
// and whatever else is the same for all kinds.
type noteableHandlers struct {
	server *Server
	kind   noteable.Kind
	path   string // of all things of the kind
	name   string // "an issue"
	read   authz.Ability
	place  func(ctx context.Context, as authz.Actor, ref string) (noteable.Place, error)
}

// noteables lists the kinds of things that have notes of their own.
func (s *Server) noteables() []noteableHandlers {
	return []noteableHandlers{
		{s, noteable.Issue, "/projects/:id/issues", "an issue", authz.ReadIssue, s.inProject},
		{s, noteable.MergeRequest, "/projects/:id/merge_requests", "a merge request", authz.ReadMergeRequest, s.inProject},
		{s, noteable.Snippet, "/projects/:id/snippets", "a snippet", authz.ReadSnippet, s.inProject},
		{s, noteable.Epic, "/groups/:id/epics", "an epic", authz.ReadEpic, s.inGroup},
	}
}

func (s *Server) inProject(ctx context.Context, as authz.Actor, ref string) (noteable.Place, error) {
	p, err := s.Projects.Find(ctx, as, ref)
	return noteable.Place{Project: p}, err
}

func (s *Server) inGroup(ctx context.Context, as authz.Actor, ref string) (noteable.Place, error) {
	g, err := s.Namespaces.Find(ctx, as, ref)
	return noteable.Place{Group: g}, err
}

type noteablePath struct {
	ID     string `param:"id" doc:"ID or URL-encoded path of the project or group"`
	Number int64  `param:"noteable_id,required" doc:"Internal ID of the issue or merge request; ID of the snippet or epic, but the internal ID for award emoji on an epic"`
}

// on finds the place and says what in it is meant.
func (h noteableHandlers) on(ctx context.Context, as authz.Actor, in noteablePath) (note.On, error) {
	at, err := h.place(ctx, as, in.ID)
	return note.On{Project: at.Project, Group: at.Group, Kind: h.kind, Key: noteable.Key{Number: in.Number}}, err
}
