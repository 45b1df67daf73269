package activity

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
	"tenon/internal/core/wiki"
)

// ID identifies an event.
type ID int64

// Push says what a push did to a branch or tag, or to many of them at once.
type Push struct {
	CommitCount int64   `json:"commit_count"`
	Action      string  `json:"action"` // created, removed, pushed
	RefType     string  `json:"ref_type"`
	CommitFrom  *string `json:"commit_from"`
	CommitTo    *string `json:"commit_to"`
	Ref         *string `json:"ref"` // nil in an entry for many references
	CommitTitle *string `json:"commit_title"`
	RefCount    *int    `json:"ref_count"` // of a push of many references, which is one entry
}

// Event is an entry as it is read.
type Event struct {
	ID          ID           `db:"id"`
	ProjectID   *project.ID  `db:"project_id"`
	AuthorID    authz.UserID `db:"author_id"`
	Action      string       `db:"action"`
	TargetType  *string      `db:"target_type"`
	TargetID    *int64       `db:"target_id"`
	TargetIID   *int64       `db:"target_iid"`
	TargetTitle *string      `db:"target_title"` // of a comment: of what it is on
	Payload     *string      `db:"payload"`
	CreatedAt   db.Time      `db:"created_at"`
	Origin      tree.Origin  `db:"imported_from"`
	NoteableIID *int64       `db:"noteable_iid"` // of what a comment is on; nil where that has none

	Push *Push      `db:"-"` // of a push; nil for all others
	Note *note.Note `db:"-"` // the comment; nil for all others
	Page *wiki.Page `db:"-"` // the page of a wiki as it is now, nil where it is gone; nil for all others
}

// Targets that are stored under names of their own.
const (
	milestoneKind = "Milestone"
	pageKind      = "WikiPage::Meta"
)

// Name is the action in the words of the feed.
func (e *Event) Name() string {
	switch {
	case e.Push != nil && e.Push.Action == "created":
		return "pushed new"
	case e.Push != nil && e.Push.Action == "removed":
		return "deleted"
	case e.Push != nil:
		return "pushed to"
	case e.page(), e.Action == Closed, e.Action == Joined, e.Action == Left, e.Action == Destroyed, e.Action == Approved:
		return e.Action
	case e.Action == "expired":
		return "removed due to membership expiration from"
	case e.Action == Merged:
		return "accepted"
	case e.Action == Commented:
		return "commented on"
	case e.Action == Created && e.TargetType != nil && *e.TargetType == "Project":
		return "created"
	}
	return "opened"
}

// Filter selects events; the zero value selects all that the actor may know of.
type Filter struct {
	Author     authz.UserID // 0 for any
	Project    project.ID   // 0 for any
	Group      authz.NamespaceID
	Target     int64  // number of the thing that they are about; 0 for any
	Own        bool   // of projects that the actor is a member of
	Action     string // as stored
	TargetType string // as stored; "" for any, but for what is in no project
	Before     *time.Time
	After      *time.Time
	Asc        bool
	page.Range
}

// Notes reads comments.
type Notes interface {
	// Load returns those of the notes with these ids that are there.
	Load(ctx context.Context, ids []note.ID) (map[note.ID]*note.Note, error)
}

// Wikis reads pages of wikis.
type Wikis interface {
	// Load returns those of the pages with these ids that are there.
	Load(ctx context.Context, ids []wiki.PageID) (map[wiki.PageID]*wiki.Page, error)
}

// withNotes are events with the comments that they are about, which readable asks for.
const withNotes = "events e LEFT JOIN notes en ON e.target_type = 'Note' AND en.id = e.target_id"

// from returns the columns of Event, and the tables that they are read from.
func (r *Recorder) from() (columns, tables string) {
	joins, each := r.kinds.Joins("en.noteable_type", "en.noteable_id", func(*noteable.Description) bool { return true })
	numbered := slices.DeleteFunc(slices.Clone(each), func(j noteable.Join) bool { return !j.Numbered })
	return `e.id, e.project_id, e.author_id, e.action, e.target_type, e.target_id, e.target_iid, e.payload, e.created_at, e.imported_from,
		CASE WHEN e.target_type = 'Note' THEN COALESCE(` + noteable.Columns(each, "title") + `, NULL) ELSE e.target_title END AS target_title,
		COALESCE(` + noteable.Columns(numbered, "iid") + ", NULL) AS noteable_iid", withNotes + joins
}

// List returns a page of events that the actor may know of, the newest first: events of things
// and comments that it may not read are not among them.
func (r *Recorder) List(ctx context.Context, as authz.Actor, f Filter) (page.Page[Event], error) {
	if err := r.policy.Require(ctx, as, authz.ReadEvents, authz.Subject{}); err != nil {
		return page.Page[Event]{}, err
	}
	w := r.readable(as)
	if f.Author != 0 {
		r.author(&w, as, f.Author)
	}
	if f.Project != 0 {
		w.And("e.project_id = ?", f.Project)
	}
	if f.Group != 0 {
		w.And("e.group_id = ?", f.Group)
	}
	if f.Target != 0 {
		w.And("e.target_id = ?", f.Target)
	}
	if f.Own {
		reach, args := r.policy.ReachSQL(as, authz.Guest)
		w.And("e.project_id IN (SELECT op.id FROM projects op WHERE op.namespace_id IN ("+reach+"))", args...)
	}
	switch f.Action {
	case "":
	case Pushed: // removed references are stored as destroyed
		w.Raw("e.payload IS NOT NULL")
	default:
		w.And("e.payload IS NULL AND e.action = ?", f.Action)
	}
	switch {
	case f.TargetType != "":
		w.And("e.target_type = ?", f.TargetType)
	case f.Group == 0: // clients look up the project of each event
		w.Raw("e.project_id IS NOT NULL")
	}
	if f.Before != nil {
		w.And("e.created_at < ?", db.At(*f.Before))
	}
	if f.After != nil {
		w.And("e.created_at >= ?", db.At(*f.After))
	}
	order := page.Order{page.ID("e.id")}
	if !f.Asc {
		order = order.Desc()
	}
	columns, tables := r.from()
	list, err := page.Select[Event](ctx, r.db, page.Query{Columns: columns, From: tables, Where: w, Order: order}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list events: %w", err)
	}
	if err := r.comments(ctx, list.Items); err != nil {
		return list, err
	}
	if err := r.pages(ctx, list.Items); err != nil {
		return list, err
	}
	for i := range list.Items {
		e := &list.Items[i]
		if e.Payload == nil {
			continue
		}
		e.Push = &Push{}
		if err := json.Unmarshal([]byte(*e.Payload), e.Push); err != nil {
			return list, fmt.Errorf("payload of event %d: %w", e.ID, err)
		}
	}
	return list, nil
}

// author selects the events of a user whose profile the actor may see.
func (r *Recorder) author(w *db.Where, as authz.Actor, id authz.UserID) {
	w.And("e.author_id = ?", id)
	if !as.Admin && !as.Is(id) && r.settings.Current().MakeProfilePrivate {
		w.And("EXISTS (SELECT 1 FROM users eu WHERE eu.id = ? AND NOT eu.private_profile)", id)
	}
}

// comments reads the comments of events that were selected for the actor.
func (r *Recorder) comments(ctx context.Context, events []Event) error {
	var ids []note.ID
	for i := range events {
		if events[i].comment() {
			ids = append(ids, note.ID(*events[i].TargetID))
		}
	}
	notes, err := r.notes.Load(ctx, ids)
	if err != nil {
		return fmt.Errorf("comments of events: %w", err)
	}
	for i := range events {
		if e := &events[i]; e.comment() {
			e.Note = notes[note.ID(*e.TargetID)]
		}
	}
	return nil
}

// pages reads the pages of wikis that events are about.
func (r *Recorder) pages(ctx context.Context, events []Event) error {
	var ids []wiki.PageID
	for i := range events {
		if events[i].page() {
			ids = append(ids, wiki.PageID(*events[i].TargetID))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	pages, err := r.wikis.Load(ctx, ids)
	if err != nil {
		return fmt.Errorf("pages of events: %w", err)
	}
	for i := range events {
		if e := &events[i]; e.page() {
			e.Page = pages[wiki.PageID(*e.TargetID)]
		}
	}
	return nil
}

// page reports whether the event is about a page of a wiki.
func (e *Event) page() bool {
	return e.TargetType != nil && *e.TargetType == pageKind && e.TargetID != nil
}

// comment reports whether the event is that a comment was made.
func (e *Event) comment() bool {
	return e.TargetType != nil && *e.TargetType == string(noteable.Note) && e.TargetID != nil
}

// readable holds for the events that the actor may know of.
func (r *Recorder) readable(as authz.Actor) db.Where {
	var w db.Where
	var args []any
	cond := func(sql string, more []any) string {
		args = append(args, more...)
		return sql
	}
	code := func() string {
		readable, more := r.policy.ReadableCodeSQL(as, "p", "n")
		return cond("EXISTS (SELECT 1 FROM projects p JOIN namespaces n ON n.id = p.namespace_id WHERE p.id = e.project_id AND NOT p.pending_delete AND "+readable+")", more)
	}
	wikis := func() string {
		readable, more := r.policy.ReadableWikiSQL(as, "p", "n")
		return cond("EXISTS (SELECT 1 FROM projects p JOIN namespaces n ON n.id = p.namespace_id WHERE p.id = e.project_id AND NOT p.pending_delete AND "+readable+")", more)
	}
	places := func() string {
		projects, more := r.policy.VisibleProjectsSQL(as, "n")
		out := cond("EXISTS (SELECT 1 FROM projects p JOIN namespaces n ON n.id = p.namespace_id WHERE p.id = e.project_id AND NOT p.pending_delete AND "+projects+")", more)
		groups, more := r.policy.VisibleGroupsSQL(as, "n")
		return out + " OR " + cond("EXISTS (SELECT 1 FROM namespaces n WHERE n.id = e.group_id AND "+groups+")", more)
	}
	internal := func() string {
		return cond(r.policy.InternalSQL(as, "en", "e"))
	}
	// The arguments come in the order of the calls, which is that of the text.
	sql := "(CASE WHEN e.target_type = 'Note' THEN (false"
	for _, kind := range r.kinds.All() {
		things, ok := kind.Provider.(noteable.Readable)
		switch {
		case !kind.Public && !as.SignedIn() && !as.Admin:
			continue
		case ok:
			sql += cond(" OR en.noteable_type = ? AND ", []any{kind.Kind}) + cond(things.ReadableSQL(as, "en.noteable_id"))
		default: // commits
			sql += cond(" OR en.noteable_type = ? AND ", []any{kind.Kind}) + code()
		}
	}
	sql += ") AND " + internal()
	for _, kind := range r.kinds.All() {
		if things, ok := kind.Provider.(noteable.Readable); ok && kind.History {
			sql += cond(" WHEN e.target_type = ? THEN ", []any{kind.Kind}) + cond(things.ReadableSQL(as, "e.target_id"))
		}
	}
	sql += " WHEN e.target_type = '" + pageKind + "' THEN " + wikis() +
		" WHEN e.payload IS NOT NULL THEN " + code() +
		" ELSE " + places() + " END)"
	w.And(sql, args...)
	return w
}
