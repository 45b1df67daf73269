package rest

import (
	"context"
	"net/http"
	"strconv"

	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/transport/rest/api"
)

// discussionHandlers are the endpoints of discussions on things of one kind.
type discussionHandlers struct{ noteableHandlers }

var _ = Resource("discussions", (*Server).discussionRoutes)

func (s *Server) discussionRoutes() []*api.Route {
	var out []*api.Route
	for _, on := range s.handlersOf(func(*noteable.Description) bool { return true }) {
		h := discussionHandlers{on}
		out = append(out, h.routes()...)
	}
	return api.Scoped(nil, out...)
}

func (h discussionHandlers) routes() []*api.Route {
	path, on := h.path+"/:noteable_id/discussions", h.An
	read := []authz.Ability{h.Read}
	if !h.Public {
		read = append(read, authz.ReadNote)
	}
	one, notes := path+"/:discussion_id", path+"/:discussion_id/notes"
	change := []authz.Ability{authz.AdminNote}
	if h.Threads {
		change = append(change, authz.ResolveNote)
	}
	create := api.Post(path, h.create)
	if h.Diffs {
		create = api.Post(path, h.createOnDiff)
	}
	out := []*api.Route{
		api.Get(path, h.list).Doc("List the discussions on " + on).Needs(read...),
		api.Get(one, h.get).Doc("Get a discussion on " + on).Needs(read...),
		create.Doc("Create a discussion on "+on).Needs(h.Read, authz.CreateNote),
		api.Get(notes, h.notes).Doc("List the notes of a discussion on " + on).Needs(read...),
		api.Post(notes, h.reply).Doc("Add a note to a discussion on "+on).Needs(h.Read, authz.CreateNote),
		api.Get(notes+"/:note_id", h.note).Doc("Get a note of a discussion on " + on).Needs(read...),
		api.Put(notes+"/:note_id", h.updateNote).Timed().Doc("Update or resolve a note of a discussion on " + on).Needs(read...).Needs(change...),
		api.Delete(notes+"/:note_id", h.deleteNote).Timed().Doc("Delete a note of a discussion on " + on).Needs(read...).Needs(authz.AdminNote),
	}
	if h.Threads {
		out = append(out, api.Put(one, h.resolve).Doc("Resolve a discussion on "+on).Needs(read...).Needs(authz.ResolveNote))
	}
	return out
}

type discussionsPath struct {
	ID       string `param:"id" doc:"ID or URL-encoded path of the project or group"`
	Noteable string `param:"noteable_id,required" doc:"Internal ID of the issue or merge request; ID of the snippet or epic; SHA, branch or tag of a commit"`
}

type discussionPath struct {
	discussionsPath
	Discussion string `param:"discussion_id,required" doc:"ID of the discussion"`
}

type discussionNotePath struct {
	discussionPath
	NoteID note.ID `param:"note_id,required" doc:"ID of the note"`
}

// of finds the place and says what in it is meant. What is no number is no thing but a commit.
func (h discussionHandlers) of(ctx context.Context, as authz.Actor, in discussionsPath) (note.On, error) {
	if h.Public {
		at, err := h.place(ctx, as, in.ID)
		return note.On{Place: at, Kind: h.Kind, Key: noteable.Key{Commit: in.Noteable}}, err
	}
	number, err := strconv.ParseInt(in.Noteable, 10, 64)
	if err != nil {
		number = 0
	}
	return h.on(ctx, as, noteablePath{ID: in.ID, Number: number})
}

// inDiscussion is of for a note of a discussion.
func (h discussionHandlers) inDiscussion(ctx context.Context, as authz.Actor, in discussionPath) (note.On, error) {
	on, err := h.of(ctx, as, in.discussionsPath)
	on.Discussion = in.Discussion
	return on, err
}

// discussionEntity is a thread, or a note that stands alone.
type discussionEntity struct {
	ID             string       `json:"id"` // 40 hex digits
	IndividualNote bool         `json:"individual_note"`
	Notes          []noteEntity `json:"notes"`
}

// begunForm is a discussion that began, or what the quick actions of its text did.
type begunForm interface {
	OneOf(begun discussionEntity, done begunCommands)
}

// begunCommands is what the quick actions of a text did that had nothing else.
type begunCommands struct {
	CommandsChanges map[string]any `json:"commands_changes"`
	Summary         []string       `json:"summary"`
}

// OneOf names the answers to a discussion.
func (discussionEntity) OneOf(discussionEntity, begunCommands) {}

// OneOf names the answers to a discussion.
func (begunCommands) OneOf(discussionEntity, begunCommands) {}

// discussionEntities renders discussions on one thing.
func (s *Server) discussionEntities(ctx context.Context, t noteable.Target, list ...note.Discussion) ([]discussionEntity, error) {
	var notes []note.Note
	for i := range list {
		notes = append(notes, list[i].Notes...)
	}
	entities, err := s.noteEntities(ctx, t, notes...)
	if err != nil {
		return nil, err
	}
	out := make([]discussionEntity, len(list))
	for i := range list {
		n := len(list[i].Notes)
		out[i] = discussionEntity{ID: list[i].ID, IndividualNote: list[i].Individual(), Notes: entities[:n:n]}
		entities = entities[n:]
	}
	return out, nil
}

// rendered is a discussion just read or written as its caller sees it.
func (h discussionHandlers) rendered(ctx context.Context, d *note.Discussion, t noteable.Target) (discussionEntity, error) {
	out, err := h.server.discussionEntities(ctx, t, *d)
	if err != nil {
		return discussionEntity{}, err
	}
	return out[0], nil
}

type listDiscussionsParams struct {
	discussionsPath
	api.Page
}

func (h discussionHandlers) list(ctx context.Context, as authz.Actor, in listDiscussionsParams) (api.List[discussionEntity], error) {
	var none api.List[discussionEntity]
	on, err := h.of(ctx, as, in.discussionsPath)
	if err != nil {
		return none, err
	}
	list, target, err := h.server.Notes.ListDiscussions(ctx, as, on, in.Range())
	if err != nil {
		return none, err
	}
	out, err := h.server.discussionEntities(ctx, target, list.Items...)
	if err != nil {
		return none, err
	}
	return api.Listed(list, out), nil
}

func (h discussionHandlers) find(ctx context.Context, as authz.Actor, in discussionPath) (*note.Discussion, noteable.Target, error) {
	on, err := h.of(ctx, as, in.discussionsPath)
	if err != nil {
		return nil, noteable.Target{}, err
	}
	return h.server.Notes.FindDiscussion(ctx, as, on, in.Discussion)
}

func (h discussionHandlers) get(ctx context.Context, as authz.Actor, in discussionPath) (discussionEntity, error) {
	d, target, err := h.find(ctx, as, in)
	if err != nil {
		return discussionEntity{}, err
	}
	return h.rendered(ctx, d, target)
}

func (h discussionHandlers) notes(ctx context.Context, as authz.Actor, in discussionPath) ([]noteEntity, error) {
	on, err := h.of(ctx, as, in.discussionsPath)
	if err != nil {
		return nil, err
	}
	notes, target, err := h.server.Notes.ListInDiscussion(ctx, as, on, in.Discussion)
	if err != nil {
		return nil, err
	}
	return h.server.noteEntities(ctx, target, notes...)
}

type discussionText struct {
	Body      string `param:"body,required" chars:"1000000" doc:"Text of the note, in Markdown"`
	CreatedAt string `param:"created_at" doc:"Creation time (administrators and Owners only, with sudo as the other user; ignored from others)"`
}

func (t discussionText) input() note.Input {
	in := note.Input{Body: t.Body}
	if at, ok := api.ParseTime(t.CreatedAt); ok {
		in.CreatedAt = &at
	}
	return in
}

type createDiscussionParams struct {
	discussionsPath
	discussionText
	Internal *bool `param:"internal" alias:"confidential" doc:"Internal thread: visible to Planner and above"`
}

func (p createDiscussionParams) input() note.Input {
	out := p.discussionText.input()
	out.Internal = p.Internal != nil && *p.Internal
	return out
}

type createOnDiffParams struct {
	createDiscussionParams
	diffParams
}

// createOnDiff is create for things that have a diff.
func (h discussionHandlers) createOnDiff(ctx context.Context, as authz.Actor, in createOnDiffParams) (api.Reply[begunForm], error) {
	return h.begin(ctx, as, in.discussionsPath, in.onDiff(h.Kind, in.input()))
}

func (h discussionHandlers) create(ctx context.Context, as authz.Actor, in createDiscussionParams) (api.Reply[begunForm], error) {
	return h.begin(ctx, as, in.discussionsPath, in.input())
}

func (h discussionHandlers) begin(ctx context.Context, as authz.Actor, path discussionsPath, in note.Input) (api.Reply[begunForm], error) {
	var out api.Reply[begunForm]
	on, err := h.of(ctx, as, path)
	if err != nil {
		return out, err
	}
	made, target, err := h.server.Notes.CreateDiscussion(ctx, as, on, in)
	if err != nil {
		return out, err
	}
	if made.Discussion == nil {
		out.Status, out.Body = http.StatusAccepted, begunCommands(newCommandsEntity(made.Commands))
		return out, nil
	}
	e, err := h.rendered(ctx, made.Discussion, target)
	if err == nil && made.Commands != nil {
		e.Notes[0].CommandsChanges = made.Commands.Changes
	}
	out.Body = e
	return out, err
}

type replyParams struct {
	discussionPath
	discussionText
}

func (h discussionHandlers) reply(ctx context.Context, as authz.Actor, in replyParams) (api.Reply[createdForm], error) {
	on, err := h.of(ctx, as, in.discussionsPath)
	if err != nil {
		return api.Reply[createdForm]{}, err
	}
	made, target, err := h.server.Notes.Reply(ctx, as, on, in.Discussion, in.input())
	if err != nil {
		return api.Reply[createdForm]{}, err
	}
	return h.answered(ctx, made, target)
}

func (h discussionHandlers) note(ctx context.Context, as authz.Actor, in discussionNotePath) (noteEntity, error) {
	on, err := h.inDiscussion(ctx, as, in.discussionPath)
	if err != nil {
		return noteEntity{}, err
	}
	n, target, err := h.server.Notes.Find(ctx, as, on, in.NoteID)
	if err != nil {
		return noteEntity{}, err
	}
	return h.renderedNote(ctx, n, target)
}

type updateDiscussionNoteParams struct {
	discussionNotePath
	Body     *string  `param:"body,nonempty" chars:"1000000" doc:"Text of the note"`
	Resolved *bool    `param:"resolved" doc:"Resolve the note, or open it again"`
	_        struct{} `exactlyone:"body,resolved"`
}

func (h discussionHandlers) updateNote(ctx context.Context, as authz.Actor, in updateDiscussionNoteParams) (api.Reply[createdForm], error) {
	var none api.Reply[createdForm]
	on, err := h.inDiscussion(ctx, as, in.discussionPath)
	if err != nil {
		return none, err
	}
	var out note.Result
	var target noteable.Target
	if in.Resolved != nil {
		out.Note, target, err = h.server.Notes.ResolveNote(ctx, as, on, in.NoteID, note.Resolution{Resolved: *in.Resolved})
	} else {
		out, target, err = h.server.Notes.Update(ctx, as, on, in.NoteID, note.Changes{Body: in.Body})
	}
	if err != nil {
		return none, err
	}
	return h.answered(ctx, out, target)
}

func (h discussionHandlers) deleteNote(ctx context.Context, as authz.Actor, in discussionNotePath) (api.None, error) {
	on, err := h.inDiscussion(ctx, as, in.discussionPath)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.server.Notes.Delete(ctx, as, on, in.NoteID)
}

type resolveParams struct {
	discussionPath
	Resolved bool `param:"resolved,required" doc:"Resolve the discussion, or open it again"`
}

func (h discussionHandlers) resolve(ctx context.Context, as authz.Actor, in resolveParams) (discussionEntity, error) {
	on, err := h.of(ctx, as, in.discussionsPath)
	if err != nil {
		return discussionEntity{}, err
	}
	d, target, err := h.server.Notes.Resolve(ctx, as, on, in.Discussion, note.Resolution{Resolved: in.Resolved})
	if err != nil {
		return discussionEntity{}, err
	}
	return h.rendered(ctx, d, target)
}
