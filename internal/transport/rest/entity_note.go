package rest

import (
	"context"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/transport/rest/api"
)

// noteEntity is a comment or a line of history.
type noteEntity struct {
	ID           note.ID       `json:"id"`
	Type         *string       `json:"type"`
	Body         string        `json:"body"`
	Attachment   *string       `json:"attachment"` // null: only notes of long ago have one
	Author       *noteAuthor   `json:"author"`
	CreatedAt    api.Time      `json:"created_at"`
	UpdatedAt    api.Time      `json:"updated_at"`
	System       bool          `json:"system"`
	NoteableID   int64         `json:"noteable_id"`
	NoteableType noteable.Kind `json:"noteable_type"`
	ProjectID    *int64        `json:"project_id"`
	*requestLine
	Position   *positionEntity `json:"position,omitempty"` // of notes on diffs
	Resolvable bool            `json:"resolvable"`
	*resolution
	Suggestions     *[]suggestionEntity `json:"suggestions,omitempty"` // of notes on the diff of a merge request
	Confidential    bool                `json:"confidential"`
	Internal        bool                `json:"internal"`
	NoteableIID     *int64              `json:"noteable_iid"`
	CommandsChanges map[string]any      `json:"commands_changes"` // what quick actions changed, of a note just written
}

// requestLine is what only notes on the diff of a merge request say.
type requestLine struct {
	CommitID *string `json:"commit_id"` // of the commit whose diff it is; null for that of a version
}

// noteAuthor is a user's summary with what the contract adds to it on notes: the
// address is the public one.
type noteAuthor struct {
	userBasic
	CreatedAt api.Time `json:"created_at"`
	Email     string   `json:"email"`
}

// resolution is what only notes of threads say.
type resolution struct {
	Resolved   bool       `json:"resolved"`
	ResolvedBy *userBasic `json:"resolved_by"`
	ResolvedAt *api.Time  `json:"resolved_at"`
}

// noteEntities renders notes on one thing.
func (s *Server) noteEntities(ctx context.Context, t noteable.Target, notes ...note.Note) ([]noteEntity, error) {
	views, err := s.Notes.Views(ctx, notes, note.ViewOptions{})
	if err != nil {
		return nil, err
	}
	out := make([]noteEntity, len(views))
	for i := range views {
		out[i] = s.noteEntity(&views[i], t)
	}
	return out, nil
}

func (s *Server) noteEntity(n *note.View, t noteable.Target) noteEntity {
	e := noteEntity{
		ID: n.ID, Type: n.Type, Body: n.Body, Author: s.noteAuthor(n.Author), CreatedAt: api.Time(n.CreatedAt.Time),
		UpdatedAt: api.Time(n.UpdatedAt.Time), System: n.System, NoteableID: n.TargetID, NoteableType: n.Kind,
		Position: newPositionEntity(n.Position), Resolvable: n.Resolution != nil, Confidential: n.Internal, Internal: n.Internal, NoteableIID: t.IID,
		CommandsChanges: map[string]any{},
	}
	if n.ProjectID != nil {
		id := int64(*n.ProjectID)
		e.ProjectID = &id
	}
	if n.Position != nil && n.Kind == noteable.MergeRequest {
		e.requestLine = &requestLine{n.CommitID}
		list := newSuggestionEntities(n.Suggested)
		e.Suggestions = &list
	}
	if r := n.Resolution; r != nil {
		e.resolution = &resolution{Resolved: r.Resolved, ResolvedBy: s.user(r.By), ResolvedAt: api.TimePtr(n.ResolvedAt.Ptr())}
	}
	return e
}

func (s *Server) noteAuthor(u *account.Summary) *noteAuthor {
	if u == nil {
		return nil
	}
	return &noteAuthor{userBasic: newUserBasic(u), CreatedAt: api.Time(u.CreatedAt), Email: u.PublicEmail}
}

// awardEntity is a reaction.
type awardEntity struct {
	ID            award.ID      `json:"id"`
	Name          string        `json:"name"`
	User          *userBasic    `json:"user"`
	CreatedAt     api.Time      `json:"created_at"`
	UpdatedAt     api.Time      `json:"updated_at"`
	AwardableID   int64         `json:"awardable_id"`
	AwardableType noteable.Kind `json:"awardable_type"`
	URL           *string       `json:"url" later:"custom emoji"`
}

func (s *Server) awardEntity(ctx context.Context, a *award.Award) (awardEntity, error) {
	out, err := s.awardEntities(ctx, *a)
	if err != nil {
		return awardEntity{}, err
	}
	return out[0], nil
}

// awardEntities renders reactions with one look at the users.
func (s *Server) awardEntities(ctx context.Context, awards ...award.Award) ([]awardEntity, error) {
	ids := make([]authz.UserID, len(awards))
	for i := range awards {
		ids[i] = awards[i].UserID
	}
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]awardEntity, len(awards))
	for i := range awards {
		a := &awards[i]
		out[i] = awardEntity{
			ID: a.ID, Name: a.Name, User: s.user(users[a.UserID]), CreatedAt: api.Time(a.CreatedAt.Time),
			UpdatedAt: api.Time(a.UpdatedAt.Time), AwardableID: a.TargetID, AwardableType: a.Kind,
		}
	}
	return out, nil
}
