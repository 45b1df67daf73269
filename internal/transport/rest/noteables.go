package rest

import (
	"cmp"
	"context"
	"slices"

	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// noteableHandlers are what the endpoints below things of one kind share: notes, award emoji
// and whatever else is the same for all kinds.
type noteableHandlers struct {
	noteable.Description

	server *Server
	path   string // of all things of the kind
	place  placeFinder
}

// noteables lists the kinds of things that have notes of their own.
func (s *Server) noteables() []noteableHandlers {
	return s.handlersOf(func(d *noteable.Description) bool { return !d.Public })
}

// handlersOf lists the kinds that has accepts: those of projects, then those of groups, commits last.
func (s *Server) handlersOf(has func(d *noteable.Description) bool) []noteableHandlers {
	var out []noteableHandlers
	for _, kind := range s.Kinds.Where(has) {
		h := noteableHandlers{Description: s.Kinds.Of(kind), server: s, place: mount{s: s}.place}
		h.path = "/projects/:id/" + h.Path
		if h.InGroup() {
			h.path, h.place = "/groups/:id/"+h.Path, mount{s: s, group: true}.place
		}
		out = append(out, h)
	}
	slices.SortStableFunc(out, func(a, b noteableHandlers) int { return cmp.Compare(a.rank(), b.rank()) })
	return out
}

func (h *noteableHandlers) rank() int {
	switch {
	case h.Public:
		return 2
	case h.InGroup():
		return 1
	}
	return 0
}

type noteablePath struct {
	ID     string `param:"id" doc:"ID or URL-encoded path of the project or group"`
	Number int64  `param:"noteable_id,required" doc:"Internal ID of the issue or merge request; ID of the snippet or epic, but the internal ID for award emoji on an epic"`
}

// on finds the place and says what in it is meant.
func (h noteableHandlers) on(ctx context.Context, as authz.Actor, in noteablePath) (note.On, error) {
	at, err := h.place(ctx, as, in.ID)
	return note.On{Place: at, Kind: h.Kind, Key: noteable.Key{Number: in.Number}}, err
}
