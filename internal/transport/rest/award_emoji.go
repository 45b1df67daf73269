package rest

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/noteable"
	"tenon/internal/transport/rest/api"
)

// awardHandlers are the endpoints of award emoji on things of one kind and on their notes.
type awardHandlers struct{ noteableHandlers }

var _ = Resource("award_emoji", (*Server).awardRoutes)

func (s *Server) awardRoutes() []*api.Route {
	var out []*api.Route
	for _, on := range s.noteables() {
		h := awardHandlers{on}
		out = append(out, h.routes()...)
	}
	return api.Scoped(nil, out...)
}

func (h awardHandlers) routes() []*api.Route {
	path, on := h.path+"/:noteable_id/award_emoji", h.An
	notes, onNote := h.path+"/:noteable_id/notes/:note_id/award_emoji", "a note on "+h.An
	return []*api.Route{
		api.Get(path, h.list).Doc("List the award emoji on "+on).Needs(h.Read, authz.ReadNote),
		api.Get(path+"/:award_id", h.get).Doc("Get an award emoji on "+on).Needs(h.Read, authz.ReadNote),
		api.Post(path, h.create).Doc("Award an emoji to "+on).Needs(h.Read, authz.ReadNote, authz.AwardEmoji),
		api.Delete(path+"/:award_id", h.delete).Timed().Doc("Delete an award emoji of "+on).Needs(h.Read, authz.ReadNote, authz.DeleteAwardEmoji),
		api.Get(notes, h.listOfNote).Doc("List the award emoji on "+onNote).Needs(h.Read, authz.ReadNote),
		api.Get(notes+"/:award_id", h.getOfNote).Doc("Get an award emoji on "+onNote).Needs(h.Read, authz.ReadNote),
		api.Post(notes, h.createOfNote).Doc("Award an emoji to "+onNote).Needs(h.Read, authz.ReadNote, authz.AwardEmoji),
		api.Delete(notes+"/:award_id", h.deleteOfNote).Timed().Doc("Delete an award emoji of "+onNote).Needs(h.Read, authz.ReadNote, authz.DeleteAwardEmoji),
	}
}

// to finds what is reacted to. An epic is named by its iid here.
func (h awardHandlers) to(ctx context.Context, as authz.Actor, in noteablePath) (noteable.Target, error) {
	on, err := h.on(ctx, as, in)
	if err != nil {
		return noteable.Target{}, err
	}
	if h.Kind == noteable.Epic {
		on.Key = noteable.Key{IID: in.Number}
	}
	return h.server.Notes.Target(ctx, as, on)
}

// toNote finds the note that is reacted to.
func (h awardHandlers) toNote(ctx context.Context, as authz.Actor, in notePath) (noteable.Target, error) {
	on, err := h.on(ctx, as, in.noteablePath)
	if err != nil {
		return noteable.Target{}, err
	}
	return h.server.Notes.NoteTarget(ctx, as, on, in.NoteID)
}

type (
	listAwardsParams struct {
		noteablePath
		api.Page
	}
	listNoteAwardsParams struct {
		notePath
		api.Page
	}
	awardPath struct {
		noteablePath
		awardID
	}
	noteAwardPath struct {
		notePath
		awardID
	}
	createAwardParams struct {
		noteablePath
		awardName
	}
	createNoteAwardParams struct {
		notePath
		awardName
	}
	awardID struct {
		Award award.ID `param:"award_id,required" doc:"ID of the award emoji"`
	}
	awardName struct {
		Name string `param:"name,required" doc:"Name of the emoji, without colons"`
	}
)

// listed returns a page of the reactions to a thing.
func (h awardHandlers) listed(ctx context.Context, as authz.Actor, to noteable.Target, r page.Range) (api.List[awardEntity], error) {
	var none api.List[awardEntity]
	list, err := h.server.Awards.List(ctx, as, to, r)
	if err != nil {
		return none, err
	}
	out, err := h.server.awardEntities(ctx, list.Items...)
	if err != nil {
		return none, err
	}
	return api.Listed(list, out), nil
}

// rendered is a reaction just read or made as clients see it.
func (h awardHandlers) rendered(ctx context.Context, a *award.Award, err error) (awardEntity, error) {
	if err != nil {
		return awardEntity{}, err
	}
	return h.server.awardEntity(ctx, a)
}

func (h awardHandlers) list(ctx context.Context, as authz.Actor, in listAwardsParams) (api.List[awardEntity], error) {
	to, err := h.to(ctx, as, in.noteablePath)
	if err != nil {
		return api.List[awardEntity]{}, err
	}
	return h.listed(ctx, as, to, in.Range())
}

func (h awardHandlers) listOfNote(ctx context.Context, as authz.Actor, in listNoteAwardsParams) (api.List[awardEntity], error) {
	to, err := h.toNote(ctx, as, in.notePath)
	if err != nil {
		return api.List[awardEntity]{}, err
	}
	return h.listed(ctx, as, to, in.Range())
}

func (h awardHandlers) get(ctx context.Context, as authz.Actor, in awardPath) (awardEntity, error) {
	to, err := h.to(ctx, as, in.noteablePath)
	if err != nil {
		return awardEntity{}, err
	}
	a, err := h.server.Awards.Find(ctx, as, to, in.Award)
	return h.rendered(ctx, a, err)
}

func (h awardHandlers) getOfNote(ctx context.Context, as authz.Actor, in noteAwardPath) (awardEntity, error) {
	to, err := h.toNote(ctx, as, in.notePath)
	if err != nil {
		return awardEntity{}, err
	}
	a, err := h.server.Awards.Find(ctx, as, to, in.Award)
	return h.rendered(ctx, a, err)
}

func (h awardHandlers) create(ctx context.Context, as authz.Actor, in createAwardParams) (awardEntity, error) {
	to, err := h.to(ctx, as, in.noteablePath)
	if err != nil {
		return awardEntity{}, err
	}
	a, err := h.server.Awards.Add(ctx, as, to, in.Name)
	return h.rendered(ctx, a, err)
}

func (h awardHandlers) createOfNote(ctx context.Context, as authz.Actor, in createNoteAwardParams) (awardEntity, error) {
	to, err := h.toNote(ctx, as, in.notePath)
	if err != nil {
		return awardEntity{}, err
	}
	a, err := h.server.Awards.Add(ctx, as, to, in.Name)
	return h.rendered(ctx, a, err)
}

func (h awardHandlers) delete(ctx context.Context, as authz.Actor, in awardPath) (api.None, error) {
	to, err := h.to(ctx, as, in.noteablePath)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.server.Awards.Remove(ctx, as, to, in.Award)
}

func (h awardHandlers) deleteOfNote(ctx context.Context, as authz.Actor, in noteAwardPath) (api.None, error) {
	to, err := h.toNote(ctx, as, in.notePath)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.server.Awards.Remove(ctx, as, to, in.Award)
}
