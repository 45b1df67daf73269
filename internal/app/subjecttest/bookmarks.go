// Package subjecttest has a subject that exists in a test alone, with all that a new subject of
// the product takes and no more: its package, its line in core, its migration and this file of
// the REST interface.
package subjecttest

import (
	"context"
	"embed"

	"tenon/internal/app/subjecttest/bookmark"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest"
	"tenon/internal/transport/rest/api"
)

// Subject is the line by which core knows it.
func Subject(b *core.Build) any {
	return bookmark.New(core.Need(b, bookmark.Deps{DB: b.DB, Policy: b.Policy, Bus: b.Bus, Projects: b.Projects, Now: b.Now}))
}

// Migrations has its table.
//
//go:embed 9000_bookmarks.sql
var Migrations embed.FS

var _ = rest.Resource("bookmarks", routes)

func routes(s *rest.Server) []*api.Route {
	h := handlers{s, core.Part[*bookmark.Service](s.Services)}
	if h.bookmarks == nil {
		return nil // a server of another test
	}
	const path = "/projects/:id/bookmarks"
	return api.Scoped(nil,
		api.Get(path, h.list).Doc("List the bookmarks of a project").Needs(authz.ReadSnippet).Public(),
		api.Post(path, h.create).Doc("Create a bookmark of a project").Needs(authz.CreateSnippet),
	)
}

type handlers struct {
	server    *rest.Server
	bookmarks *bookmark.Service
}

type bookmarkEntity struct {
	ID    int64  `json:"id"`
	Title string `json:"title"`
	Notes int64  `json:"user_notes_count"`
}

func entity(b *bookmark.Bookmark) bookmarkEntity { return bookmarkEntity{b.ID, b.Title, b.Notes} }

type listParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path of the project"`
	api.Page
}

func (h handlers) list(ctx context.Context, as authz.Actor, in listParams) (api.List[bookmarkEntity], error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[bookmarkEntity]{}, err
	}
	list, err := h.bookmarks.List(ctx, as, p, in.Range())
	items := make([]bookmarkEntity, len(list.Items))
	for i := range list.Items {
		items[i] = entity(&list.Items[i])
	}
	return api.Listed(list, items), err
}

type createParams struct {
	ID    string `param:"id" doc:"ID or URL-encoded path of the project"`
	Title string `param:"title,required" doc:"Title of the bookmark"`
}

func (h handlers) create(ctx context.Context, as authz.Actor, in createParams) (bookmarkEntity, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return bookmarkEntity{}, err
	}
	b, err := h.bookmarks.Create(ctx, as, p, in.Title)
	if err != nil {
		return bookmarkEntity{}, err
	}
	return entity(b), nil
}
