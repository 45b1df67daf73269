package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("suggestions", (*Server).suggestionRoutes)

// suggestionRoutes are the endpoints that apply suggestions of notes on merge requests.
func (s *Server) suggestionRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Put("/suggestions/:id/apply", s.applySuggestion).Doc("Apply a suggestion").Needs(authz.PushCode, authz.ReadMergeRequest, authz.ReadNote, authz.ResolveNote),
		api.Put("/suggestions/batch_apply", s.applySuggestions).Doc("Apply multiple suggestions").Needs(authz.PushCode, authz.ReadMergeRequest, authz.ReadNote, authz.ResolveNote),
	)
}

// suggestionEntity is what a note says should stand in place of lines.
type suggestionEntity struct {
	ID        note.SuggestionID `json:"id"`
	FromLine  int               `json:"from_line"`
	ToLine    int               `json:"to_line"`
	Appliable bool              `json:"appliable"`
	Applied   bool              `json:"applied"`
	From      string            `json:"from_content"`
	To        string            `json:"to_content"`
}

func newSuggestionEntity(g *note.Suggestion) suggestionEntity {
	return suggestionEntity{
		ID: g.ID, FromLine: g.FirstLine(), ToLine: g.LastLine(), Appliable: g.Appliable, Applied: g.Applied, From: g.From, To: g.To,
	}
}

func newSuggestionEntities(list []note.Suggestion) []suggestionEntity {
	out := make([]suggestionEntity, len(list))
	for i := range list {
		out[i] = newSuggestionEntity(&list[i])
	}
	return out
}

type applySuggestionParams struct {
	ID      note.SuggestionID `param:"id,required" doc:"ID of the suggestion"`
	Message string            `param:"commit_message" doc:"Commit message; that of the project where it is not given"`
}

func (s *Server) applySuggestion(ctx context.Context, as authz.Actor, in applySuggestionParams) (suggestionEntity, error) {
	applied, err := s.Suggestions.Apply(ctx, as, in.Message, in.ID)
	if err != nil {
		return suggestionEntity{}, err
	}
	return newSuggestionEntity(&applied[0]), nil
}

type applySuggestionsParams struct {
	IDs     api.Ints `param:"ids,required" doc:"IDs of the suggestions"`
	Message string   `param:"commit_message" doc:"Commit message; that of the project where it is not given"`
}

func (s *Server) applySuggestions(ctx context.Context, as authz.Actor, in applySuggestionsParams) ([]suggestionEntity, error) {
	ids := make([]note.SuggestionID, len(in.IDs))
	for i, id := range in.IDs {
		ids[i] = note.SuggestionID(id)
	}
	applied, err := s.Suggestions.Apply(ctx, as, in.Message, ids...)
	if err != nil {
		return nil, err
	}
	return newSuggestionEntities(applied), nil
}
