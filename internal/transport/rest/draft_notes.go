package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/authz"
	"tenon/internal/core/draftnote"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("draft_notes", (*Server).draftNoteRoutes)

// draftNoteRoutes are the endpoints of notes on merge requests that are not published. Only their
// author finds them.
func (s *Server) draftNoteRoutes() []*api.Route {
	const all = "/projects/:id/merge_requests/:merge_request_iid/draft_notes"
	read := []authz.Ability{authz.ReadMergeRequest, authz.ReadNote}
	write := []authz.Ability{authz.ReadMergeRequest, authz.CreateNote}
	return api.Scoped(nil,
		api.Get(all, s.listDraftNotes).Doc("List the draft notes on a merge request").Needs(read...),
		api.Get(all+"/:draft_note_id", s.getDraftNote).Doc("Get a draft note on a merge request").Needs(read...),
		api.Post(all, s.createDraftNote).Doc("Create a draft note on a merge request").Needs(write...),
		api.Put(all+"/:draft_note_id", s.updateDraftNote).Timed().Doc("Update a draft note on a merge request").Needs(write...),
		api.Delete(all+"/:draft_note_id", s.deleteDraftNote).Timed().Doc("Delete a draft note on a merge request").Needs(write...),
		api.Put(all+"/:draft_note_id/publish", s.publishDraftNote).Doc("Publish a draft note on a merge request").Needs(write...),
		api.Post(all+"/bulk_publish", s.publishDraftNotes).Doc("Publish all draft notes on a merge request").
			Status(http.StatusNoContent).Needs(write...),
	)
}

type draftNotePath struct {
	requestPath
	DraftID draftnote.ID `param:"draft_note_id,required" doc:"ID of the draft note"`
}

// onRequest names a merge request for notes on it.
func (s *Server) onRequest(ctx context.Context, as authz.Actor, in requestPath) (note.On, error) {
	at, err := mount{s: s}.place(ctx, as, in.ID)
	return note.On{Place: at, Kind: noteable.MergeRequest, Key: noteable.Key{Number: int64(in.IID)}}, err
}

// draftNoteEntity is a draft note.
type draftNoteEntity struct {
	ID           draftnote.ID    `json:"id"`
	AuthorID     authz.UserID    `json:"author_id"`
	RequestID    mergerequest.ID `json:"merge_request_id"`
	Resolve      bool            `json:"resolve_discussion"`
	DiscussionID *string         `json:"discussion_id"`
	Note         string          `json:"note"`
	CommitID     *string         `json:"commit_id"`
	LineCode     *string         `json:"line_code"`
	Position     *positionEntity `json:"position"` // all null but its type where the draft is on no diff
}

func newDraftNoteEntity(d *draftnote.Draft) draftNoteEntity {
	e := draftNoteEntity{
		ID: d.ID, AuthorID: d.AuthorID, RequestID: d.RequestID, Resolve: d.Resolve, DiscussionID: d.DiscussionID, Note: d.Note,
		CommitID: d.CommitID, LineCode: d.LineCode, Position: newPositionEntity(d.Position),
	}
	if e.Position == nil {
		e.Position = &positionEntity{Type: note.TextPosition, linePlace: &linePlace{}}
	}
	return e
}

func (s *Server) listDraftNotes(ctx context.Context, as authz.Actor, in requestPath) ([]draftNoteEntity, error) {
	on, err := s.onRequest(ctx, as, in)
	if err != nil {
		return nil, err
	}
	list, err := s.Drafts.List(ctx, as, on)
	if err != nil {
		return nil, err
	}
	out := make([]draftNoteEntity, len(list))
	for i := range list {
		out[i] = newDraftNoteEntity(&list[i])
	}
	return out, nil
}

func (s *Server) getDraftNote(ctx context.Context, as authz.Actor, in draftNotePath) (draftNoteEntity, error) {
	on, err := s.onRequest(ctx, as, in.requestPath)
	if err != nil {
		return draftNoteEntity{}, err
	}
	d, err := s.Drafts.Find(ctx, as, on, in.DraftID)
	if err != nil {
		return draftNoteEntity{}, err
	}
	return newDraftNoteEntity(d), nil
}

type createDraftNoteParams struct {
	requestPath
	Note       string          `param:"note,required" chars:"1000000" doc:"Text of the note, in Markdown"`
	Discussion string          `param:"in_reply_to_discussion_id" doc:"ID of the discussion that the note replies to"`
	Resolve    bool            `param:"resolve_discussion" doc:"Resolve the discussion when the note is published"`
	CommitID   string          `param:"commit_id" doc:"SHA of a commit that the note is about"`
	Position   *positionParams `param:"position" doc:"Position in the diff of the merge request"`
}

func (s *Server) createDraftNote(ctx context.Context, as authz.Actor, in createDraftNoteParams) (draftNoteEntity, error) {
	on, err := s.onRequest(ctx, as, in.requestPath)
	if err != nil {
		return draftNoteEntity{}, err
	}
	input := draftnote.Input{Note: in.Note, Discussion: in.Discussion, Resolve: in.Resolve, Position: in.Position.position(on.Kind)}
	if in.CommitID != "undefined" {
		input.CommitID = in.CommitID
	}
	d, err := s.Drafts.Create(ctx, as, on, input)
	if err != nil {
		return draftNoteEntity{}, err
	}
	return newDraftNoteEntity(d), nil
}

type updateDraftNoteParams struct {
	draftNotePath
	Note     *string         `param:"note,nonempty" chars:"1000000" doc:"Text of the note, in Markdown"`
	Position *positionParams `param:"position" doc:"Position in the diff of the merge request; without one it stays as it is"`
}

func (s *Server) updateDraftNote(ctx context.Context, as authz.Actor, in updateDraftNoteParams) (draftNoteEntity, error) {
	on, err := s.onRequest(ctx, as, in.requestPath)
	if err != nil {
		return draftNoteEntity{}, err
	}
	d, err := s.Drafts.Update(ctx, as, on, in.DraftID, draftnote.Changes{Note: in.Note, Position: in.Position.position(on.Kind)})
	if err != nil {
		return draftNoteEntity{}, err
	}
	return newDraftNoteEntity(d), nil
}

func (s *Server) deleteDraftNote(ctx context.Context, as authz.Actor, in draftNotePath) (api.None, error) {
	on, err := s.onRequest(ctx, as, in.requestPath)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Drafts.Delete(ctx, as, on, in.DraftID)
}

func (s *Server) publishDraftNote(ctx context.Context, as authz.Actor, in draftNotePath) (api.None, error) {
	on, err := s.onRequest(ctx, as, in.requestPath)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Drafts.Publish(ctx, as, on, in.DraftID)
}

type publishDraftNotesParams struct {
	requestPath
	Note  string `param:"note" chars:"1000000" doc:"Summary of the review: a note of its own, published with the drafts"`
	State string `param:"reviewer_state" values:"reviewed,requested_changes" doc:"State of the caller's review: reviewed or requested_changes; reviewed where it is not given"`
}

func (s *Server) publishDraftNotes(ctx context.Context, as authz.Actor, in publishDraftNotesParams) (api.None, error) {
	on, err := s.onRequest(ctx, as, in.requestPath)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Drafts.PublishAll(ctx, as, on, draftnote.Review{Summary: in.Note, State: mergerequest.ReviewerState(in.State)})
}
