// Package draftnote holds notes on merge requests that only their author sees until they are
// published.
package draftnote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// ID identifies a draft note.
type ID int64

// Bounds of the drafts of one author on one merge request: they are listed in one answer.
const (
	maxDrafts = 500
	maxText   = 16 << 20 // bytes together
)

// Draft is a note that is not published yet.
type Draft struct {
	ID           ID              `db:"id"`
	RequestID    mergerequest.ID `db:"merge_request_id"`
	AuthorID     authz.UserID    `db:"author_id"`
	DiscussionID *string         `db:"discussion_id"` // that it replies to; nil begins one
	Note         string          `db:"note"`          // Markdown
	Resolve      bool            `db:"resolve_discussion"`
	CommitID     *string         `db:"commit_id"`
	Position     *note.Position  `db:"position"`
	LineCode     *string         `db:"line_code"`
	CreatedAt    db.Time         `db:"created_at"`
	UpdatedAt    db.Time         `db:"updated_at"`
}

// Input is what a new draft is made of.
type Input struct {
	Note       string
	Discussion string // that it replies to; "" begins one
	Resolve    bool   // the discussion, when it is published
	CommitID   string
	Position   *note.Position // of a draft that begins a discussion; nil for none
}

// Changes are those of Update; nil leaves alone.
type Changes struct {
	Note     *string
	Position *note.Position
}

// Deps are what the service is built on.
type Deps struct {
	DB            *db.DB
	Notes         *note.Service
	MergeRequests *mergerequest.Service
	Now           func() time.Time
}

// Service reads, changes and publishes draft notes. What others wrote is not found.
type Service struct {
	Deps

	columns string
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d, columns: db.Columns[Draft]("d")}
}

// refuse is an error of the draft itself.
func refuse(attribute, message string) error { return errs.Broken("", attribute, message) }

// ofDraft makes an error of a note one of the draft.
func ofDraft(err error) error {
	if e, ok := errors.AsType[*errs.Error](err); ok && e.Code == note.CodeInvalid {
		mine := *e
		mine.Code = ""
		return &mine
	}
	return err
}

// List returns the actor's drafts on a merge request, oldest first.
func (s *Service) List(ctx context.Context, as authz.Actor, on note.On) ([]Draft, error) {
	t, err := s.Notes.Target(ctx, as, on)
	if err != nil {
		return nil, err
	}
	list, err := db.Select[Draft](ctx, s.DB, "SELECT "+s.columns+" FROM draft_notes d WHERE d.merge_request_id = ? AND d.author_id = ? ORDER BY d.id LIMIT ?",
		t.ID, as.UserID, maxDrafts)
	if err != nil {
		return nil, fmt.Errorf("list draft notes: %w", err)
	}
	return list, nil
}

// Find returns one of the actor's drafts.
func (s *Service) Find(ctx context.Context, as authz.Actor, on note.On, id ID) (*Draft, error) {
	t, err := s.Notes.Target(ctx, as, on)
	if err != nil {
		return nil, err
	}
	return s.own(ctx, as, t, id)
}

// own reads a draft of the actor on a merge request.
func (s *Service) own(ctx context.Context, as authz.Actor, t noteable.Target, id ID) (*Draft, error) {
	d, err := db.Get[Draft](ctx, s.DB, "SELECT "+s.columns+" FROM draft_notes d WHERE d.id = ? AND d.merge_request_id = ? AND d.author_id = ?", id, t.ID, as.UserID)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find draft note: %w", err)
	}
	return &d, nil
}

// Create keeps a note back.
func (s *Service) Create(ctx context.Context, as authz.Actor, on note.On, in Input) (*Draft, error) {
	t, err := s.Notes.MayAdd(ctx, as, on)
	if err != nil {
		return nil, err
	}
	if err := note.CheckBody(in.Note); err != nil {
		return nil, ofDraft(err)
	}
	now := db.At(s.Now())
	d := &Draft{RequestID: mergerequest.ID(t.ID), AuthorID: as.UserID, Note: in.Note, Resolve: in.Resolve, CreatedAt: now, UpdatedAt: now}
	if err := s.thread(ctx, as, on, t, &in, d); err != nil {
		return nil, err
	}
	if err := s.place(ctx, on, t, &in, d); err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.fits(ctx, d, 0); err != nil {
			return err
		}
		if err := db.Create(ctx, s.DB, "draft_notes", d); err != nil {
			return err
		}
		return s.MergeRequests.ReviewStarted(ctx, d.RequestID, as.UserID)
	})
	if db.Duplicate(err, "draft_notes") {
		return nil, refuse("author_id", "has already been taken")
	}
	if err != nil {
		return nil, fmt.Errorf("create draft note: %w", err)
	}
	return d, nil
}

// thread finds the discussion that a draft replies to.
func (s *Service) thread(ctx context.Context, as authz.Actor, on note.On, t noteable.Target, in *Input, d *Draft) error {
	if in.Discussion == "" {
		if in.Resolve {
			return refuse("base", "User is not allowed to resolve thread")
		}
		return nil
	}
	found, _, err := s.Notes.FindDiscussion(ctx, as, on, in.Discussion)
	if errs.Is(err, errs.NotFound) || err == nil && !s.Notes.MayReply(found) {
		return refuse("base", "Thread to reply to cannot be found")
	}
	if err != nil {
		return err
	}
	if in.Resolve {
		may, err := s.Notes.MayResolve(ctx, as, t, found)
		if err != nil {
			return err
		}
		if !may {
			return refuse("base", "User is not allowed to resolve thread")
		}
	}
	d.DiscussionID = &in.Discussion
	return nil
}

// place finds the commit and the position of a draft. A reply is where its discussion is.
func (s *Service) place(ctx context.Context, on note.On, t noteable.Target, in *Input, d *Draft) error {
	commit := ""
	if in.CommitID != "" {
		sha, err := s.Notes.CommitOf(ctx, on, in.CommitID)
		if errs.Is(err, errs.NotFound) {
			return refuse("commit_id", "is invalid")
		}
		if err != nil {
			return err
		}
		commit = sha
		d.CommitID = &commit
	}
	if in.Position == nil || d.DiscussionID != nil {
		return nil
	}
	var err error
	d.Position, d.LineCode, err = s.Notes.CheckPosition(ctx, on, t, *in.Position, commit)
	return ofDraft(err)
}

// fits refuses more drafts, or longer ones, than one answer lists. It counts the draft
// with the id as it is after the change, in the caller's transaction.
func (s *Service) fits(ctx context.Context, d *Draft, id ID) error {
	if err := s.DB.Lock(ctx, fmt.Sprintf("draft notes of %d on merge request %d", d.AuthorID, d.RequestID)); err != nil {
		return err
	}
	type total struct {
		Drafts int64 `db:"drafts"`
		Bytes  int64 `db:"bytes"`
	}
	n, err := db.Get[total](ctx, s.DB, `SELECT COUNT(*) AS drafts, COALESCE(SUM(octet_length(d.note)), 0) AS bytes FROM draft_notes d
		WHERE d.merge_request_id = ? AND d.author_id = ? AND d.id <> ?`, d.RequestID, d.AuthorID, id)
	if err != nil {
		return err
	}
	if n.Drafts >= maxDrafts || n.Bytes+int64(len(d.Note)) > maxText {
		return refuse("base", "Maximum number of draft notes exceeded")
	}
	return nil
}

// Update changes the text or the position of a draft.
func (s *Service) Update(ctx context.Context, as authz.Actor, on note.On, id ID, c Changes) (*Draft, error) {
	t, err := s.Notes.MayComment(ctx, as, on)
	if err != nil {
		return nil, err
	}
	d, err := s.own(ctx, as, t, id)
	if err != nil {
		return nil, err
	}
	if c.Note == nil && c.Position == nil {
		return nil, errs.Bad("Missing params to modify")
	}
	if c.Note != nil {
		if err := note.CheckBody(*c.Note); err != nil {
			return nil, ofDraft(err)
		}
	}
	placed := *d
	in := Input{Position: c.Position}
	if d.CommitID != nil {
		in.CommitID = *d.CommitID
	}
	if c.Position != nil {
		if err := s.place(ctx, on, t, &in, &placed); err != nil {
			return nil, err
		}
	}
	out, err := db.Update(ctx, s.DB, db.Row{Table: "draft_notes", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}, func(ctx context.Context, d *Draft) error {
		if c.Note != nil {
			d.Note = *c.Note
			if err := s.fits(ctx, d, id); err != nil {
				return err
			}
		}
		if c.Position != nil {
			d.Position, d.LineCode = placed.Position, placed.LineCode
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("update draft note: %w", err)
	}
	return &out.After, nil
}

// Delete removes a draft.
func (s *Service) Delete(ctx context.Context, as authz.Actor, on note.On, id ID) error {
	t, err := s.Notes.MayComment(ctx, as, on)
	if err != nil {
		return err
	}
	if _, err := s.own(ctx, as, t, id); err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		_, err := db.Delete[Draft](ctx, s.DB, db.Row{Table: "draft_notes", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("")}, nil)
		if err != nil {
			return err
		}
		left, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM draft_notes WHERE merge_request_id = ? AND author_id = ?", t.ID, as.UserID)
		if err != nil || left > 0 {
			return err
		}
		return s.MergeRequests.ReviewStopped(ctx, mergerequest.ID(t.ID), as.UserID)
	})
	if err != nil {
		return fmt.Errorf("delete draft note: %w", err)
	}
	return nil
}
