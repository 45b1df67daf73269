// Package bookmark is a subject that exists in a test alone: titles that the members of a
// project keep and comment on.
package bookmark

import (
	"context"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Kind is the kind of bookmarks.
const Kind noteable.Kind = "Bookmark"

// Bookmark is one bookmark of a project.
type Bookmark struct {
	ID          int64        `db:"id"`
	ProjectID   project.ID   `db:"project_id"`
	AuthorID    authz.UserID `db:"author_id"`
	Title       string       `db:"title"`
	Notes       int64        `db:"notes_count"`
	PublicNotes int64        `db:"public_notes_count"`
	CreatedAt   db.Time      `db:"created_at"`
	UpdatedAt   db.Time      `db:"updated_at"`
}

// About is the bookmark as the subject of an event.
func (b Bookmark) About() change.Subject {
	return change.Subject{Type: string(Kind), ID: b.ID, Title: b.Title}
}

// Created says that a bookmark is new.
type Created struct{ change.Of[Bookmark] }

// Audit is what the audit trail records of it.
func (Created) Audit() []change.Entry {
	return change.Record("bookmark_created", "Added bookmark {title}")
}

// Action is what the activity shows of it.
func (Created) Action() string { return "created" }

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Projects *project.Service
	Now      func() time.Time
}

// Service reads and creates bookmarks.
type Service struct {
	Deps
	noteable.Plain
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{d, noteable.NewPlain(d.DB, d.Policy, d.Projects, noteable.Description{
		Kind: Kind, Noun: "bookmark", An: "a bookmark", Path: "bookmarks", Mark: "^", Code: 200,
		Table: "bookmarks", Project: "project_id", Read: authz.ReadSnippet, Awards: true,
	})}
}

// List returns a page of the bookmarks of a project by id.
func (s *Service) List(ctx context.Context, as authz.Actor, p *project.Project, r page.Range) (page.Page[Bookmark], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadSnippet, p.Subject()); err != nil {
		return page.Page[Bookmark]{}, err
	}
	var w db.Where
	w.And("b.project_id = ?", p.ID)
	list, err := page.Select[Bookmark](ctx, s.DB, page.Query{Columns: db.Columns[Bookmark]("b"), From: "bookmarks b", Where: w, Order: page.Order{page.ID("b.id")}}, r)
	return list, errs.Wrap(err, "list bookmarks")
}

// Create adds a bookmark to a project.
func (s *Service) Create(ctx context.Context, as authz.Actor, p *project.Project, title string) (*Bookmark, error) {
	if err := s.Policy.Require(ctx, as, authz.CreateSnippet, p.Subject()); err != nil {
		return nil, err
	}
	var f errs.Fields
	f.Check(strings.TrimSpace(title) != "", "title", "can't be blank")
	f.Length("title", &title, 255)
	if err := f.Err(); err != nil {
		return nil, err
	}
	now := s.Now()
	b := &Bookmark{ProjectID: p.ID, AuthorID: as.UserID, Title: title, CreatedAt: db.At(now), UpdatedAt: db.At(now)}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "bookmarks", b); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Created{change.Created(as, now, p.Place(), b)})
	})
	return b, errs.Wrap(err, "create bookmark")
}
