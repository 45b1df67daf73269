// Package activity records what people did, and gives it to those who may know of it. It
// records in reaction to events alone.
package activity

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
	"tenon/internal/core/tree"
)

// Actions of the feed.
const (
	Created   = "created"
	Updated   = "updated"
	Closed    = "closed"
	Reopened  = "reopened"
	Pushed    = "pushed"
	Commented = "commented"
	Merged    = "merged"
	Joined    = "joined"
	Left      = "left"
	Destroyed = "destroyed"
	Approved  = "approved"
)

// Entry is one thing a user did. Zero values of the target fields are stored as null.
type Entry struct {
	ProjectID   project.ID
	GroupID     authz.NamespaceID
	AuthorID    authz.UserID
	Action      string
	TargetType  string // Issue, MergeRequest, Note, Project, ...
	TargetID    int64
	TargetIID   int64
	TargetTitle string
	Payload     any // stored as JSON; nil for none
}

// Deps is what a Recorder is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Settings *setting.Store
	Kinds    *noteable.Kinds // what events and comments are about
	Notes    Notes
	Wikis    Wikis
	Now      func() time.Time
}

// Recorder writes and reads the feed.
type Recorder struct {
	db       *db.DB
	policy   *authz.Policy
	kinds    *noteable.Kinds
	notes    Notes
	wikis    Wikis
	settings *setting.Store
	now      func() time.Time
}

// New builds a recorder.
func New(d Deps) *Recorder {
	return &Recorder{db: d.DB, policy: d.Policy, kinds: d.Kinds, notes: d.Notes, wikis: d.Wikis, settings: d.Settings, now: d.Now}
}

type row struct {
	ID          int64   `db:"id"`
	ProjectID   *int64  `db:"project_id"`
	GroupID     *int64  `db:"group_id"`
	AuthorID    int64   `db:"author_id"`
	Action      string  `db:"action"`
	TargetType  *string `db:"target_type"`
	TargetID    *int64  `db:"target_id"`
	TargetIID   *int64  `db:"target_iid"`
	TargetTitle *string `db:"target_title"`
	Payload     *string `db:"payload"`
	CreatedAt   db.Time `db:"created_at"`

	Origin tree.Origin `db:"imported_from"`
}

// Record adds an entry inside the caller's transaction.
func (r *Recorder) Record(ctx context.Context, e Entry) error { return r.RecordAll(ctx, []Entry{e}) }

// RecordAll adds entries inside the caller's transaction.
func (r *Recorder) RecordAll(ctx context.Context, all []Entry) error {
	rows := make([]row, len(all))
	for i := range all {
		var err error
		if rows[i], err = r.row(&all[i]); err != nil {
			return err
		}
	}
	if _, err := db.InsertAll(ctx, r.db, "events", rows); err != nil {
		return fmt.Errorf("record activity: %w", err)
	}
	return nil
}

func (r *Recorder) row(e *Entry) (row, error) {
	out := row{
		ProjectID: some(int64(e.ProjectID)), GroupID: some(int64(e.GroupID)), AuthorID: int64(e.AuthorID), Action: e.Action,
		TargetType: some(e.TargetType), TargetID: some(e.TargetID), TargetIID: some(e.TargetIID),
		TargetTitle: some(e.TargetTitle), CreatedAt: db.At(r.now()),
	}
	if e.Payload != nil {
		text, err := json.Marshal(e.Payload)
		if err != nil {
			return out, fmt.Errorf("encode activity: %w", err)
		}
		out.Payload = some(string(text))
	}
	return out, nil
}

// some returns a pointer to v, nil for the zero value.
func some[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
