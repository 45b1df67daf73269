// Package note holds the comments on issues, merge requests, commits, snippets and epics.
package note

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/quickaction"
)

// ID identifies a note.
type ID int64

const (
	maxBody  = 1_000_000 // characters
	maxNotes = 5000      // comments on one thing
)

// Note is one comment, or a line of history that the server wrote.
type Note struct {
	ID           ID            `db:"id"`
	DiscussionID string        `db:"discussion_id"` // 40 hex digits
	Kind         noteable.Kind `db:"noteable_type"`
	TargetID     int64         `db:"noteable_id"`
	CommitID     *string       `db:"commit_id"`
	ProjectID    *project.ID   `db:"project_id"`
	GroupID      *int64        `db:"group_id"`
	AuthorID     authz.UserID  `db:"author_id"`
	Type         *string       `db:"type"`              // nil outside of threads, DiscussionNote, DiffNote
	Position     *Position     `db:"position"`          // in the newest version that has it
	Original     *Position     `db:"original_position"` // where it was made; nil where Position is that still
	Changed      *Position     `db:"change_position"`   // what a later version did to it; nil where it did nothing
	LineCode     *string       `db:"line_code"`
	Body         string        `db:"body" fold:"body_fold,sparse"` // Markdown
	System       bool          `db:"system"`
	Internal     bool          `db:"internal"`
	ResolvedAt   *db.Time      `db:"resolved_at"`
	ResolvedByID *authz.UserID `db:"resolved_by_id"`
	CreatedAt    db.Time       `db:"created_at"`
	UpdatedAt    db.Time       `db:"updated_at"`
	LastEditedAt *db.Time      `db:"last_edited_at"` // when the text was changed last; nil before that

	LastEditedByID *authz.UserID `db:"last_edited_by_id"` // nil where LastEditedAt is, and where the account is gone

	// Suggested is what a new note says should stand in place of its lines; Suggestions reads it of others.
	Suggested []Suggestion `db:"-"`
}

// On says what is commented on: a thing of a kind in a project or a group.
type On struct {
	Place authz.Place
	Kind  noteable.Kind
	Key   noteable.Key

	// Discussion is what notes that are named by id have to be part of; "" is any.
	Discussion string

	// Anonymous lets callers without an account read the public notes on what they see, where the kind is open.
	Anonymous bool

	reviewed bool // notes are published together
}

// visits reports whether the actor has no account and reads the public notes all the same.
func (o On) visits(as authz.Actor, kind *noteable.Known) bool {
	return !as.Known() && !as.Admin && o.Anonymous && kind.Open
}

// opens reports whether the actor may ask for the notes at all: it is signed in, visits, or
// the kind lets everybody read them who sees what they are on.
func (o On) opens(as authz.Actor, kind *noteable.Known) bool {
	return as.SignedIn() || as.Admin || kind.Public || o.visits(as, kind)
}

// Noteables are things that can be commented on.
type Noteables interface {
	noteable.Provider
	// CountNotes changes the counters in the caller's transaction, sets the time of the last
	// change unless at is zero, and returns the counters as they are then, as far as the thing has them. It comes
	// before the note is written and locks the thing.
	CountNotes(ctx context.Context, on noteable.Ref, by noteable.Counts, at time.Time) (noteable.Counts, error)
}

// count is CountNotes of things of any kind.
func (s *Service) count(ctx context.Context, on noteable.Ref, by noteable.Counts, at time.Time) (noteable.Counts, error) {
	if counted, ok := things[Noteables](s, on.Kind); ok {
		return counted.CountNotes(ctx, on, by, at)
	}
	return noteable.Counts{}, fmt.Errorf("notes: nothing counts those on things of kind %q", on.Kind)
}

// things returns those of a kind as far as they are of a type; ok is false where they are not.
func things[T any](s *Service, kind noteable.Kind) (found T, ok bool) {
	if known := s.Kinds.Find(kind); known != nil {
		found, ok = known.Provider.(T)
	}
	return found, ok
}

// Input is what a new note is made of.
type Input struct {
	Body      string
	Internal  bool       // ignored from those who may not read internal notes
	CreatedAt *time.Time // ignored from those who may not set it
	HeadSHA   string     // what the caller believes to be the head of the merge request, for /merge
	Line      *Line      // of the diff of a commit; one that the diff does not have is left out
	Position  *Position  // in the diff of a merge request or a commit; refused where the diff does not have it
	CommitID  string     // of a merge request, the commit whose diff the position is in; "" for that of a version
}

// Changes are those of Update; nil leaves alone.
type Changes struct {
	Body     *string
	Internal *bool // refused where it would change something
}

// Result is what Create made: a note, or an award where the body was one emoji.
type Result struct {
	Note  *Note
	Award *award.Award

	// Commands is what the quick actions of the text did; nil where it had none.
	Commands *quickaction.Result
}

// Activity chooses between comments and history.
type Activity string

// The activities.
const (
	Everything Activity = ""
	Comments   Activity = "only_comments"
	History    Activity = "only_activity"
)

// Filter selects notes; the zero value selects all that the actor may read.
type Filter struct {
	Activity Activity
	ByUpdate bool // sort by the last change instead of the id
	Asc      bool
	page.Range
}

// Rank says where a comment is in a list.
type Rank struct {
	ID    ID  `db:"id"`
	Place int `db:"place"` // 1 for the first
}

// Fact is what every event of this package says. Handlers do not change what it points to.
type Fact struct {
	change.Of[Note]

	Target  noteable.Target  // what was commented on
	Project *project.Project // where that is; nil for what belongs to a group
	Group   *namespace.Group // the same; nil for what belongs to a project
}

// factOf is what events say of a comment on a target.
func factOf(on On, of change.Of[Note], t noteable.Target) Fact {
	return Fact{of, t, project.Of(on.Place), namespace.Of(on.Place)}
}

// Created is published when a comment was made.
type Created struct {
	Fact

	// Reviewed says that it was published together with others: the event Reviewed is about all
	// of them.
	Reviewed bool
}

// Updated is published when the text of a comment was changed.
type Updated struct{ Fact }

// Deleted is published when a comment was deleted.
type Deleted struct{ Fact }

// Resolvable reports whether the note is part of a thread that can be resolved.
func (n *Note) Resolvable() bool {
	return n.Type != nil && !n.System && n.Kind == noteable.MergeRequest
}

// on names what the note is on.
func (n *Note) on() noteable.Ref {
	ref := noteable.Ref{Kind: n.Kind, ID: n.TargetID}
	if n.Kind == noteable.Commit && n.ProjectID != nil && n.CommitID != nil {
		ref.Project, ref.Commit = int64(*n.ProjectID), *n.CommitID
	}
	return ref
}

// counts is what the note adds to the counters of its target. Threads are counted apart.
func (n *Note) counts() noteable.Counts {
	switch {
	case n.System:
		return noteable.Counts{}
	case n.Internal:
		return noteable.Counts{Notes: 1}
	}
	return noteable.Counts{Notes: 1, PublicNotes: 1}
}

// CodeInvalid is a note that breaks a rule; the field says which.
const CodeInvalid errs.Code = "note_invalid"

func refuse(attribute, message string) error { return errs.Broken(CodeInvalid, attribute, message) }

// checkBody holds a text against the limits.
func checkBody(body string) error {
	switch {
	case strings.TrimSpace(body) == "":
		return refuse("note", "can't be blank")
	case len(body) > maxBody && utf8.RuneCountInString(body) > maxBody:
		return refuse("note", "is too long (maximum is 1000000 characters)")
	}
	return nil
}

// About names it for events.
func (n Note) About() change.Subject {
	return change.Subject{Type: "Note", ID: int64(n.ID)}
}
