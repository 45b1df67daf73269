package rest

import (
	"context"
	"net/http"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/quickaction"
	"tenon/internal/transport/rest/api"
)

// noteHandlers are the endpoints of notes on things of one kind.
type noteHandlers struct{ noteableHandlers }

var _ = Resource("notes", (*Server).noteRoutes)

func (s *Server) noteRoutes() []*api.Route {
	var out []*api.Route
	for _, h := range s.noteables() {
		out = append(out, noteHandlers{h}.routes()...)
	}
	return api.Scoped(nil, out...)
}

func (h noteHandlers) routes() []*api.Route {
	path, on, read := h.path+"/:noteable_id/notes", h.An, h.Read
	update := api.Put(path+"/:note_id", h.rewrite)
	if h.Kind == noteable.Issue {
		update = api.Put(path+"/:note_id", h.update)
	}
	return []*api.Route{
		api.Get(path, h.list).Doc("List the notes on "+on).Needs(read, authz.ReadNote),
		api.Get(path+"/:note_id", h.get).Doc("Get a note on "+on).Needs(read, authz.ReadNote),
		api.Post(path, h.create).Doc("Create a note on "+on).Needs(read, authz.CreateNote),
		update.Timed().Doc("Update a note on "+on).Needs(read, authz.ReadNote, authz.AdminNote),
		api.Delete(path+"/:note_id", h.delete).Timed().Doc("Delete a note on "+on).Needs(read, authz.ReadNote, authz.AdminNote),
	}
}

type notePath struct {
	noteablePath
	NoteID note.ID `param:"note_id,required" doc:"ID of the note"`
}

type listNotesParams struct {
	noteablePath
	OrderBy  string `param:"order_by" values:"created_at,updated_at" default:"created_at" doc:"Column to order by"`
	Sort     string `param:"sort" values:"asc,desc" default:"desc" doc:"asc or desc"`
	Activity string `param:"activity_filter" values:"all_notes,only_comments,only_activity" default:"all_notes" doc:"Return comments, activity or both"`
	api.Page
}

func (h noteHandlers) list(ctx context.Context, as authz.Actor, in listNotesParams) (api.List[noteEntity], error) {
	var none api.List[noteEntity]
	on, err := h.on(ctx, as, in.noteablePath)
	if err != nil {
		return none, err
	}
	activity := note.Activity(in.Activity)
	if in.Activity == "all_notes" {
		activity = note.Everything
	}
	notes, target, err := h.server.Notes.List(ctx, as, on, note.Filter{
		Activity: activity, ByUpdate: in.OrderBy == "updated_at", Asc: in.Sort == "asc",
		Range: in.Range(),
	})
	if err != nil {
		return none, err
	}
	out, err := h.server.noteEntities(ctx, target, notes.Items...)
	if err != nil {
		return none, err
	}
	return api.Listed(notes, out), nil
}

// renderedNote is a note just read or written as its caller sees it.
func (h noteableHandlers) renderedNote(ctx context.Context, n *note.Note, t noteable.Target) (noteEntity, error) {
	out, err := h.server.noteEntities(ctx, t, *n)
	if err != nil {
		return noteEntity{}, err
	}
	return out[0], nil
}

func (h noteHandlers) get(ctx context.Context, as authz.Actor, in notePath) (noteEntity, error) {
	on, err := h.on(ctx, as, in.noteablePath)
	if err != nil {
		return noteEntity{}, err
	}
	n, target, err := h.server.Notes.Find(ctx, as, on, in.NoteID)
	if err != nil {
		return noteEntity{}, err
	}
	return h.renderedNote(ctx, n, target)
}

type createNoteParams struct {
	noteablePath
	Body         string `param:"body,required" chars:"1000000" doc:"Text of the note, in Markdown; a single emoji becomes an award emoji"`
	Confidential *bool  `param:"confidential" doc:"Deprecated: use internal"`
	Internal     *bool  `param:"internal" doc:"Internal note: visible to Planner and above"`
	CreatedAt    string `param:"created_at" doc:"Creation time (administrators and Owners only, with sudo as the other user; ignored from others)"`
	HeadSHA      string `param:"merge_request_diff_head_sha" alias:"merge_request_diff_sha" doc:"SHA of the HEAD of the merge request; required for the /merge quick action"`
}

// createdForm is a note, the award emoji that its text was, or what its quick actions did.
type createdForm interface {
	OneOf(made noteEntity, award awardEntity, done commandsEntity)
}

// OneOf names the answers to a note.
func (noteEntity) OneOf(noteEntity, awardEntity, commandsEntity) {}

// OneOf names the answers to a note.
func (awardEntity) OneOf(noteEntity, awardEntity, commandsEntity) {}

// commandsEntity is what the quick actions of a text did that had nothing else.
type commandsEntity struct {
	CommandsChanges map[string]any `json:"commands_changes"`
	Summary         []string       `json:"summary"`
}

// OneOf names the answers to a note.
func (commandsEntity) OneOf(noteEntity, awardEntity, commandsEntity) {}

func newCommandsEntity(done *quickaction.Result) commandsEntity {
	e := commandsEntity{CommandsChanges: done.Changes, Summary: []string{}}
	if len(done.Summary) > 0 {
		e.Summary = []string{strings.Join(done.Summary, " ")}
	}
	return e
}

// answered is the answer to a note that was written, or to quick actions alone.
func (h noteableHandlers) answered(ctx context.Context, made note.Result, t noteable.Target) (api.Reply[createdForm], error) {
	var out api.Reply[createdForm]
	if made.Note == nil {
		out.Status, out.Body = http.StatusAccepted, newCommandsEntity(made.Commands)
		return out, nil
	}
	e, err := h.renderedNote(ctx, made.Note, t)
	if made.Commands != nil {
		e.CommandsChanges = made.Commands.Changes
	}
	out.Body = e
	return out, err
}

func (h noteHandlers) create(ctx context.Context, as authz.Actor, in createNoteParams) (api.Reply[createdForm], error) {
	var none api.Reply[createdForm]
	on, err := h.on(ctx, as, in.noteablePath)
	if err != nil {
		return none, err
	}
	input := note.Input{Body: in.Body, HeadSHA: in.HeadSHA, Internal: isTrue(in.Internal) || isTrue(in.Confidential)}
	if at, ok := api.ParseTime(in.CreatedAt); ok {
		input.CreatedAt = &at
	}
	made, target, err := h.server.Notes.Create(ctx, as, on, input)
	switch {
	case err != nil:
		return none, err
	case made.Award != nil:
		e, err := h.server.awardEntity(ctx, made.Award)
		return api.Reply[createdForm]{Body: e}, err
	}
	return h.answered(ctx, made, target)
}

type updateNoteParams struct {
	notePath
	Body         *string `param:"body,nonempty" chars:"1000000" doc:"Text of the note"`
	Confidential *bool   `param:"confidential" doc:"Deprecated: the confidentiality of a note cannot be changed; another value is refused"`
}

type rewriteNoteParams struct {
	notePath
	Body         string `param:"body,required,nonempty" chars:"1000000" doc:"Text of the note"`
	Confidential *bool  `param:"confidential" doc:"Deprecated: the confidentiality of a note cannot be changed; another value is refused"`
}

// rewrite is update for things whose notes need a text in each update.
func (h noteHandlers) rewrite(ctx context.Context, as authz.Actor, in rewriteNoteParams) (api.Reply[createdForm], error) {
	return h.update(ctx, as, updateNoteParams{in.notePath, &in.Body, in.Confidential})
}

func (h noteHandlers) update(ctx context.Context, as authz.Actor, in updateNoteParams) (api.Reply[createdForm], error) {
	on, err := h.on(ctx, as, in.noteablePath)
	if err != nil {
		return api.Reply[createdForm]{}, err
	}
	made, target, err := h.server.Notes.Update(ctx, as, on, in.NoteID, note.Changes{Body: in.Body, Internal: in.Confidential})
	if err != nil {
		return api.Reply[createdForm]{}, err
	}
	return h.answered(ctx, made, target)
}

func (h noteHandlers) delete(ctx context.Context, as authz.Actor, in notePath) (api.None, error) {
	on, err := h.on(ctx, as, in.noteablePath)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.server.Notes.Delete(ctx, as, on, in.NoteID)
}
