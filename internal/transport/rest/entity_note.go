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
	CommitID     *string       `json:"commit_id,omitempty" later:"discussions on diffs"`
	Resolvable   bool          `json:"resolvable"`
	*resolution
	Confidential    bool           `json:"confidential"`
	Internal        bool           `json:"internal"`
	NoteableIID     *int64         `json:"noteable_iid"`
	CommandsChanges map[string]any `json:"commands_changes"` // what quick actions changed, of a note just written
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

// noteEntities renders notes on one thing with one look at the users.
func (s *Server) noteEntities(ctx context.Context, t noteable.Target, notes ...note.Note) ([]noteEntity, error) {
	users, err := s.Accounts.ByIDs(ctx, noteUsers(nil, notes))
	if err != nil {
		return nil, err
	}
	out := make([]noteEntity, len(notes))
	for i := range notes {
		out[i] = s.noteEntity(&notes[i], t, users)
	}
	return out, nil
}

// noteUsers adds the users that the notes name.
func noteUsers(ids []authz.UserID, notes []note.Note) []authz.UserID {
	for i := range notes {
		ids = append(ids, notes[i].AuthorID)
		if by := notes[i].ResolvedByID; by != nil {
			ids = append(ids, *by)
		}
	}
	return ids
}

func (s *Server) noteEntity(n *note.Note, t noteable.Target, users map[authz.UserID]*account.Summary) noteEntity {
	e := noteEntity{
		ID: n.ID, Type: n.Type, Body: n.Body, Author: s.noteAuthor(users[n.AuthorID]), CreatedAt: api.Time(n.CreatedAt.Time),
		UpdatedAt: api.Time(n.UpdatedAt.Time), System: n.System, NoteableID: n.TargetID, NoteableType: n.Kind,
		CommitID: n.CommitID, Resolvable: n.Resolvable(), Confidential: n.Internal, Internal: n.Internal, NoteableIID: t.IID,
		CommandsChanges: map[string]any{},
	}
	if n.ProjectID != nil {
		id := int64(*n.ProjectID)
		e.ProjectID = &id
	}
	if e.Resolvable {
		e.resolution = &resolution{Resolved: n.ResolvedAt != nil}
		if n.ResolvedAt != nil {
			e.ResolvedAt = api.TimePtr(&n.ResolvedAt.Time)
		}
		if n.ResolvedByID != nil {
			e.ResolvedBy = s.user(users[*n.ResolvedByID])
		}
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
