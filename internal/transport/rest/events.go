package rest

import (
	"context"
	"time"

	"tenon/internal/core/activity"
	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("events", (*Server).eventRoutes)

func (s *Server) eventRoutes() []*api.Route {
	return api.Scoped([]authz.Scope{authz.ScopeReadUser},
		api.Get("/events", s.ownEvents).Doc("List the events of the current user").Needs(authz.ReadOwnUser, authz.ReadEvents),
		api.Get("/users/:id/events", s.userEvents).Doc("List the contribution events of a user").Needs(authz.ReadEvents).Public(),
		api.Get("/projects/:id/events", s.projectEvents).Doc("List the visible events of a project").Needs(authz.ReadProject, authz.ReadEvents).Public(),
	)
}

// eventEntity is what a user did.
type eventEntity struct {
	ID             activity.ID     `json:"id"`
	ProjectID      *project.ID     `json:"project_id"`
	ActionName     string          `json:"action_name"`
	TargetID       *int64          `json:"target_id"`
	TargetIID      *int64          `json:"target_iid"`
	TargetType     *string         `json:"target_type"`
	AuthorID       authz.UserID    `json:"author_id"`
	TargetTitle    *string         `json:"target_title"`
	CreatedAt      api.Time        `json:"created_at"`
	Note           *noteEntity     `json:"note,omitempty"` // of a comment
	Author         *userBasic      `json:"author"`
	WikiPage       *wikiPageEntity `json:"wiki_page,omitempty"` // of a page that is still there
	Imported       bool            `json:"imported"`
	ImportedFrom   string          `json:"imported_from"`
	PushData       *activity.Push  `json:"push_data,omitempty"` // of a push
	AuthorUsername *string         `json:"author_username,omitempty"`
}

// eventFilterParams are what all lists of events take.
type eventFilterParams struct {
	Action     string    `param:"action" values:"approved,closed,commented,created,destroyed,expired,joined,left,merged,pushed,reopened,updated" doc:"Return events with this action"`
	TargetType string    `param:"target_type" values:"issue,milestone,merge_request,note,project,snippet,user,wiki,design,epic" doc:"Return events about this type; those in groups are among these alone"`
	Before     *api.Date `param:"before" doc:"Return events before this date, YYYY-MM-DD"`
	After      *api.Date `param:"after" doc:"Return events after this date, YYYY-MM-DD"`
	Sort       string    `param:"sort" values:"asc,desc" default:"desc" doc:"asc or desc"`
	api.Page
}

// eventTargets are the names of targets in the database.
func eventTarget(name string) string {
	switch name {
	case "":
		return ""
	case "merge_request":
		return "MergeRequest"
	case "wiki":
		return "WikiPage::Meta"
	case "design":
		return "DesignManagement::Design"
	}
	return string(name[0]-'a'+'A') + name[1:]
}

func (p *eventFilterParams) filter() activity.Filter {
	f := activity.Filter{Action: p.Action, TargetType: eventTarget(p.TargetType), Asc: p.Sort == "asc", Range: p.Range()}
	day := func(d *api.Date, days int) *time.Time {
		if d == nil {
			return nil
		}
		at, err := time.Parse(time.DateOnly, string(*d))
		if err != nil {
			return nil // is a date: decoding saw to it
		}
		at = at.AddDate(0, 0, days)
		return &at
	}
	f.Before, f.After = day(p.Before, 0), day(p.After, 1)
	return f
}

type ownEventsParams struct {
	eventFilterParams
	Scope string `param:"scope" values:"all" doc:"all returns the events of all projects that the current user is a member of"`
}

func (s *Server) ownEvents(ctx context.Context, as authz.Actor, in ownEventsParams) (api.List[eventEntity], error) {
	if _, err := s.Accounts.Current(ctx, as); err != nil {
		return api.List[eventEntity]{}, err
	}
	f := in.filter()
	if f.Own = in.Scope == "all"; !f.Own {
		f.Author = as.UserID
	}
	return s.events(ctx, as, f)
}

type userEventsParams struct {
	ID string `param:"id,required" doc:"ID or username of the user"`
	eventFilterParams
}

func (s *Server) userEvents(ctx context.Context, as authz.Actor, in userEventsParams) (api.List[eventEntity], error) {
	f := in.filter()
	var err error
	if f.Author, err = s.Namespaces.User(ctx, as, in.ID); err != nil {
		return api.List[eventEntity]{}, err
	}
	return s.events(ctx, as, f)
}

type projectEventsParams struct {
	projectPath
	eventFilterParams
}

func (s *Server) projectEvents(ctx context.Context, as authz.Actor, in projectEventsParams) (api.List[eventEntity], error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[eventEntity]{}, err
	}
	f := in.filter()
	f.Project = p.ID
	return s.events(ctx, as, f)
}

// events renders a page of events with one look at each related subject.
func (s *Server) events(ctx context.Context, as authz.Actor, f activity.Filter) (api.List[eventEntity], error) {
	var none api.List[eventEntity]
	list, err := s.Activity.List(ctx, as, f)
	if err != nil {
		return none, err
	}
	users := make([]authz.UserID, len(list.Items))
	var notes []note.Note
	for i := range list.Items {
		users[i] = list.Items[i].AuthorID
		if n := list.Items[i].Note; n != nil {
			notes = append(notes, *n)
		}
	}
	people, err := s.Accounts.ByIDs(ctx, users)
	if err != nil {
		return none, err
	}
	views, err := s.Notes.Views(ctx, notes, note.ViewOptions{People: people})
	if err != nil {
		return none, err
	}
	shown := make(map[note.ID]*note.View, len(views))
	for i := range views {
		shown[views[i].ID] = &views[i]
	}
	out := make([]eventEntity, len(list.Items))
	for i := range list.Items {
		e := &list.Items[i]
		out[i] = eventEntity{
			ID: e.ID, ProjectID: e.ProjectID, ActionName: e.Name(), TargetID: e.TargetID, TargetIID: e.TargetIID, TargetType: e.TargetType,
			AuthorID: e.AuthorID, TargetTitle: e.TargetTitle, CreatedAt: api.Time(e.CreatedAt.Time), Author: s.user(people[e.AuthorID]),
			Imported: e.Origin != tree.Here, ImportedFrom: e.Origin.String(), PushData: e.Push,
		}
		if u := people[e.AuthorID]; u != nil {
			out[i].AuthorUsername = &u.Username
		}
		if e.TargetIID == nil {
			out[i].TargetIID = e.TargetID
		}
		if e.Page != nil {
			page := wikiPageBasic(e.Page)
			out[i].WikiPage = &page
		}
		if e.Note != nil {
			entity := s.noteEntity(shown[e.Note.ID], noteable.Target{IID: e.NoteableIID})
			out[i].Note = &entity
		}
	}
	return api.Listed(list, out), nil
}
