package note

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/change"
	"tenon/internal/core/limit"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/quickaction"
	"tenon/internal/core/reference"
	"tenon/internal/core/repo"
)

// Deps are what the service is built on.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Accounts *account.Service
	Awards   *award.Service
	Jobs     job.Enqueuer
	Projects *project.Service
	Repos    *repo.Service
	Limits   *limit.Service
	Now      func() time.Time
	Kinds    *noteable.Kinds // what can be commented on: those whose things are Noteables

	Texts    reference.Reader
	Commands *quickaction.Service // nil knows none
}

// Service reads and changes notes.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// locate finds what is commented on and asks for the ability to do something with its notes.
func (s *Service) locate(ctx context.Context, as authz.Actor, on On, ability authz.Ability) (noteable.Target, error) {
	kind := s.Kinds.Find(on.Kind)
	if kind == nil {
		return noteable.Target{}, fmt.Errorf("notes: no package has things of kind %q", on.Kind)
	}
	on.Anonymous = on.Anonymous && ability == authz.ReadNote
	visits := on.visits(as, kind)
	if !on.opens(as, kind) {
		return noteable.Target{}, errs.New(errs.Unauthorized, "")
	}
	t, err := kind.Provider.Locate(ctx, as, on.Place, on.Key)
	if err != nil {
		return noteable.Target{}, err
	}
	if t.Anonymous = visits; visits || ability == authz.ReadNote && kind.Public {
		return t, nil // callers who see it read its notes
	}
	return t, s.Policy.Require(ctx, as, ability, t.Subject)
}

// readable finds what is commented on, and says what of its notes the actor reads.
func (s *Service) readable(ctx context.Context, as authz.Actor, on On) (noteable.Target, sight, error) {
	t, err := s.locate(ctx, as, on, authz.ReadNote)
	if err != nil {
		return t, sight{}, err
	}
	v, err := s.sight(ctx, as, t)
	return t, v, err
}

// sight says what the actor reads of the notes on a thing whose notes it may read.
func (s *Service) sight(ctx context.Context, as authz.Actor, t noteable.Target) (v sight, err error) {
	v.on = t.Ref
	if v.internal, err = s.Policy.SeesInternalNotes(ctx, as, t.Subject); err != nil {
		return v, err
	}
	if s.Kinds.Of(t.Kind).History {
		v.sources, v.sourceArgs, err = s.sources(ctx, as, "n.noteable_type = ? AND n.noteable_id = ?", []any{t.Kind, t.ID})
	}
	return v, err
}

// List returns a page of the notes that the actor may read, and what they are on.
func (s *Service) List(ctx context.Context, as authz.Actor, on On, f Filter) (page.Page[Note], noteable.Target, error) {
	t, seen, err := s.readable(ctx, as, on)
	if err != nil {
		return page.Page[Note]{}, t, err
	}
	notes, err := s.list(ctx, seen, f)
	if err != nil {
		return notes, t, fmt.Errorf("list notes: %w", err)
	}
	return notes, t, nil
}

// Ranks lists the comments on a thing that the actor may read, with their places among all notes that List gives
// in the order of ids.
func (s *Service) Ranks(ctx context.Context, as authz.Actor, on On) ([]Rank, error) {
	_, seen, err := s.readable(ctx, as, on)
	if err != nil {
		return nil, err
	}
	w := seen.where()
	ranks, err := db.Select[Rank](ctx, s.DB, `SELECT x.id, x.place FROM (SELECT n.id, n.system, ROW_NUMBER() OVER (ORDER BY n.id) AS place
		FROM notes n`+w.SQL()+") x WHERE NOT x.system ORDER BY x.id LIMIT ?", append(w.Args(), maxNotes)...)
	if err != nil {
		return nil, fmt.Errorf("rank comments: %w", err)
	}
	return ranks, nil
}

// Find returns one note on a thing. Notes that the actor may not read are not found.
func (s *Service) Find(ctx context.Context, as authz.Actor, on On, id ID) (*Note, noteable.Target, error) {
	t, seen, err := s.readable(ctx, as, on)
	if err != nil {
		return nil, t, err
	}
	n, err := s.one(ctx, seen, id, on.Discussion)
	if errors.Is(err, db.ErrNotFound) {
		return nil, t, errs.Missing("")
	}
	if err != nil {
		return nil, t, fmt.Errorf("find note: %w", err)
	}
	return n, t, nil
}

// Target finds a thing whose notes the actor reads.
func (s *Service) Target(ctx context.Context, as authz.Actor, on On) (noteable.Target, error) {
	return s.locate(ctx, as, on, authz.ReadNote)
}

// NoteTarget finds a note as something that can be reacted to.
func (s *Service) NoteTarget(ctx context.Context, as authz.Actor, on On, id ID) (noteable.Target, error) {
	n, t, err := s.Find(ctx, as, on, id)
	if err != nil {
		return t, err
	}
	t.Ref = noteable.Ref{Kind: noteable.Note, ID: int64(n.ID)}
	t.AuthorID, t.System = n.AuthorID, n.System
	return t, nil
}

// mayComment finds what is commented on for an actor who may.
func (s *Service) mayComment(ctx context.Context, as authz.Actor, on On) (noteable.Target, error) {
	t, err := s.locate(ctx, as, on, authz.CreateNote)
	if err == nil && t.Locked {
		err = s.Policy.Require(ctx, as, authz.CreateNoteLocked, t.Subject)
	}
	return t, err
}

// mayAdd is mayComment for one more comment, which is counted.
func (s *Service) mayAdd(ctx context.Context, as authz.Actor, on On) (noteable.Target, error) {
	t, err := s.mayComment(ctx, as, on)
	if err == nil {
		err = s.Limits.Check(limit.NotesCreate, as)
	}
	return t, err
}

// create comments on a thing. A body that is one emoji reacts to the thing instead.
func (s *Service) create(ctx context.Context, as authz.Actor, on On, in Input) (Result, noteable.Target, error) {
	t, err := s.mayAdd(ctx, as, on)
	if err != nil {
		return Result{}, t, err
	}
	n, err := s.build(ctx, as, t, in)
	if err != nil {
		return Result{}, t, err
	}
	if name, ok := award.Only(in.Body); ok && !n.Internal && s.Kinds.Of(t.Kind).Awards {
		a, err := s.Awards.Add(ctx, as, t, name)
		return Result{Award: a}, t, err
	}
	if err := s.prepare(ctx, as, on, t, &in, n); err != nil {
		return Result{}, t, err
	}
	if err := s.write(ctx, as, on, t, n, nil); err != nil {
		return Result{}, t, fmt.Errorf("create note: %w", err)
	}
	return Result{Note: n}, t, nil
}

// write stores a new note, counts it and says that it was made. Join, where it is not nil,
// makes it part of a discussion in the same transaction; it is told how the thread was before.
func (s *Service) write(ctx context.Context, as authz.Actor, on On, t noteable.Target, n *Note, join func(ctx context.Context, before noteable.Counts) error) error {
	now := s.Now()
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		total, err := s.count(ctx, t.Ref, n.counts(), now)
		if err != nil {
			return err
		}
		if total.Notes > maxNotes {
			return refuse("base", "Maximum number of comments exceeded")
		}
		insert := func(before noteable.Counts) error {
			if join != nil {
				if err := join(ctx, before); err != nil {
					return err
				}
			}
			return db.Create(ctx, s.DB, "notes", n)
		}
		if n.Type == nil && join == nil {
			err = insert(noteable.Counts{})
		} else {
			_, err = s.counted(ctx, as, t, n.DiscussionID, now, insert)
		}
		if err == nil && join == nil {
			err = s.late(ctx, n)
		}
		if err == nil {
			err = s.storeSuggestions(ctx, n.ID, n.Suggested)
		}
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Created{
			Fact:     factOf(on, change.Created(as, now, on.Place, n), t),
			Reviewed: on.reviewed,
		})
	})
}

// build makes the note that an actor may make of the input.
func (s *Service) build(ctx context.Context, as authz.Actor, t noteable.Target, in Input) (*Note, error) {
	if err := checkBody(in.Body); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	n := &Note{
		DiscussionID: discussionID(), Kind: t.Kind, TargetID: t.ID, AuthorID: as.UserID, Body: in.Body,
		CreatedAt: now, UpdatedAt: now,
	}
	if t.Commit != "" {
		n.CommitID = &t.Commit
	}
	if t.ProjectID != 0 {
		id := project.ID(t.ProjectID)
		n.ProjectID = &id
	} else if t.GroupID != 0 {
		id := int64(t.GroupID)
		n.GroupID = &id
	}
	if in.Internal {
		may, err := s.Policy.SeesInternalNotes(ctx, as, t.Subject)
		if err != nil {
			return nil, err
		}
		if may && !t.HasInternal {
			return nil, refuse("confidential", "can not be set for this resource")
		}
		n.Internal = may
	}
	if in.CreatedAt != nil {
		may, err := s.Policy.Can(ctx, as, authz.SetNoteCreatedAt, t.Subject)
		if err != nil {
			return nil, err
		}
		if may {
			if in.CreatedAt.Before(time.Unix(0, 0)) {
				return nil, refuse("created_at", "The created date provided is too far in the past.")
			}
			n.CreatedAt, n.UpdatedAt = db.At(*in.CreatedAt), db.At(*in.CreatedAt)
		}
	}
	return n, nil
}

// administer finds a note that the actor may change: its own, or anybody's for
// maintainers; those of the server no user's.
func (s *Service) administer(ctx context.Context, as authz.Actor, on On, id ID) (*Note, noteable.Target, error) {
	n, t, err := s.Find(ctx, as, on, id)
	if err != nil {
		return nil, t, err
	}
	subject := t.Subject
	subject.Own, subject.Confidential = as.Is(n.AuthorID), false // it is seen already
	if err := s.Policy.Require(ctx, as, authz.AdminNote, subject); err != nil {
		return nil, t, err
	}
	if t.Locked {
		if err := s.Policy.Require(ctx, as, authz.CreateNoteLocked, subject); err != nil {
			return nil, t, err
		}
	}
	if n.System {
		return nil, t, errs.Denied("")
	}
	return n, t, nil
}

// update changes the text of a note.
func (s *Service) update(ctx context.Context, as authz.Actor, on On, id ID, c Changes) (*Note, noteable.Target, error) {
	n, t, err := s.administer(ctx, as, on, id)
	if err != nil {
		return nil, t, err
	}
	if c.Internal != nil && *c.Internal != n.Internal {
		return nil, t, refuse("confidential", "can not be changed for existing notes")
	}
	if c.Body == nil || *c.Body == n.Body {
		return n, t, as.UnmodifiedAt(n.UpdatedAt.Time) // nothing changes
	}
	if err := checkBody(*c.Body); err != nil {
		return nil, t, err
	}
	suggestions, err := s.SuggestionsIn(ctx, on, n.Position, *c.Body)
	if err != nil {
		return nil, t, err
	}
	now := s.Now()
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := db.Update(ctx, s.DB, db.Row{Table: "notes", ID: n.ID, If: as.UnmodifiedAt, Missing: errs.Missing("")}, func(_ context.Context, n *Note) error {
			at := db.At(now)
			n.Body, n.UpdatedAt, n.LastEditedAt, n.LastEditedByID = *c.Body, at, &at, &as.UserID
			return nil
		})
		if err != nil || !out.Any() {
			return err
		}
		n = &out.After
		if n.Position != nil && n.Kind == noteable.MergeRequest {
			if err := s.replaceSuggestions(ctx, n.ID, suggestions); err != nil {
				return err
			}
		}
		if _, err := s.count(ctx, t.Ref, noteable.Counts{}, now); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Updated{factOf(on, change.Updated(as, now, on.Place, &out), t)})
	})
	if err != nil {
		return nil, t, fmt.Errorf("update note: %w", err)
	}
	return n, t, nil
}

// Delete removes a note.
func (s *Service) Delete(ctx context.Context, as authz.Actor, on On, id ID) error {
	n, t, err := s.administer(ctx, as, on, id)
	if err != nil {
		return err
	}
	now := s.Now()
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := s.count(ctx, t.Ref, noteable.Counts{}.Less(n.counts()), now); err != nil {
			return err
		}
		_, err := s.counted(ctx, as, t, n.DiscussionID, now, func(noteable.Counts) error {
			_, err := db.Delete[Note](ctx, s.DB, db.Row{Table: "notes", ID: n.ID, If: as.UnmodifiedAt, Missing: errs.Missing("")}, nil)
			return err
		})
		if err != nil {
			return err
		}
		if err := s.Awards.Clear(ctx, noteable.Ref{Kind: noteable.Note, ID: int64(n.ID)}); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{factOf(on, change.Deleted(as, now, on.Place, n), t)})
	})
	if err != nil {
		return fmt.Errorf("delete note: %w", err)
	}
	return nil
}

// discussionID makes the name of a new thread.
func discussionID() string {
	var b [20]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
