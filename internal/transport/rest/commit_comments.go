package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("commits", (*Server).commitCommentRoutes)

func (s *Server) commitCommentRoutes() []*api.Route {
	const path = "/projects/:id/repository/commits/:sha/comments"
	return api.Scoped(nil,
		api.Get(path, s.commitComments).Doc("List the comments on a commit").Public().Needs(authz.ReadCode),
		api.Post(path, s.commentCommit).Doc("Create a comment on a commit").Needs(authz.ReadCode, authz.CreateNote),
	)
}

// commentEntity is a comment on a commit; the line is null where it is about the whole.
type commentEntity struct {
	Note      string     `json:"note"`
	Path      *string    `json:"path"`
	Line      *int       `json:"line"`
	LineType  *string    `json:"line_type"` // new, old
	Author    *userBasic `json:"author"`
	CreatedAt api.Time   `json:"created_at"`
}

func (s *Server) commentEntities(ctx context.Context, notes ...note.Note) ([]commentEntity, error) {
	ids := make([]authz.UserID, len(notes))
	for i := range notes {
		ids[i] = notes[i].AuthorID
	}
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]commentEntity, len(notes))
	for i := range notes {
		out[i] = s.commentEntity(&notes[i], users)
	}
	return out, nil
}

func (s *Server) commentEntity(n *note.Note, users map[authz.UserID]*account.Summary) commentEntity {
	e := commentEntity{Note: n.Body, Author: s.user(users[n.AuthorID]), CreatedAt: api.Time(n.CreatedAt.Time)}
	if at := n.Position; at != nil {
		number, old := at.Line()
		kind := "new"
		if old {
			kind = "old"
		}
		e.Path, e.Line, e.LineType = &at.NewPath, &number, &kind
	}
	return e
}

// onCommit finds the project and names the commit for the notes.
func (s *Server) onCommit(ctx context.Context, as authz.Actor, in commitParams) (note.On, error) {
	at, err := mount{s: s}.place(ctx, as, in.ID)
	return note.On{Place: at, Kind: noteable.Commit, Key: noteable.Key{Commit: in.SHA}}, err
}

type listCommentsParams struct {
	commitParams
	api.Page
}

func (s *Server) commitComments(ctx context.Context, as authz.Actor, in listCommentsParams) (api.List[commentEntity], error) {
	var none api.List[commentEntity]
	on, err := s.onCommit(ctx, as, in.commitParams)
	if err != nil {
		return none, err
	}
	notes, _, err := s.Notes.List(ctx, as, on, note.Filter{Activity: note.Comments, Asc: true, Range: in.Range()})
	if err != nil {
		return none, err
	}
	out, err := s.commentEntities(ctx, notes.Items...)
	return api.Listed(notes, out), err
}

type commentParams struct {
	commitParams
	Note     string  `param:"note,required" chars:"1000000" doc:"Text of the comment, in Markdown"`
	Path     *string `param:"path" doc:"Path of the file"`
	Line     *int    `param:"line" doc:"Line number; required with path"`
	LineType string  `param:"line_type" values:"new,old" default:"new" doc:"Line type: new or old"`
}

// commentForm is a comment, or what the quick actions of its text did.
type commentForm interface {
	OneOf(made commentEntity, done commentCommands)
}

// OneOf names the answers to a comment.
func (commentEntity) OneOf(commentEntity, commentCommands) {}

// commentCommands is what the quick actions of a text did that had nothing else.
type commentCommands struct {
	CommandsChanges map[string]any `json:"commands_changes"`
	Summary         []string       `json:"summary"`
}

// OneOf names the answers to a comment.
func (commentCommands) OneOf(commentEntity, commentCommands) {}

func (s *Server) commentCommit(ctx context.Context, as authz.Actor, in commentParams) (api.Reply[commentForm], error) {
	var none api.Reply[commentForm]
	input := note.Input{Body: in.Note}
	if in.Path != nil && *in.Path != "" {
		if in.Line == nil {
			return none, api.BadParam("line is missing")
		}
		input.Line = &note.Line{Path: *in.Path, Number: *in.Line, Old: in.LineType == "old"}
	}
	on, err := s.onCommit(ctx, as, in.commitParams)
	if err != nil {
		return none, err
	}
	made, _, err := s.Notes.Create(ctx, as, on, input)
	if err != nil {
		return none, err
	}
	if made.Note == nil {
		return api.Reply[commentForm]{Status: http.StatusAccepted, Body: commentCommands(newCommandsEntity(made.Commands))}, nil
	}
	out, err := s.commentEntities(ctx, *made.Note)
	if err != nil {
		return none, err
	}
	return api.Reply[commentForm]{Body: out[0]}, nil
}
