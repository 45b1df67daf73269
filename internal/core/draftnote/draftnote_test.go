package draftnote_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/coretest"
	"tenon/internal/core/draftnote"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// world has the drafts on the merge requests of a private project.
type world struct {
	*approvaltest.World
	notes  *note.Service
	drafts *draftnote.Service
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{World: approvaltest.New(t, d)}
		w.notes = note.New(note.Deps{
			Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Accounts: w.Accounts, Awards: award.New(award.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}),
			Projects: w.Projects, Repos: w.Repos, Now: w.Now, Jobs: job.EnqueuerFunc(w.Enqueue),
			Kinds: noteable.Collect(w.MergeRequests),
		})
		w.drafts = draftnote.New(draftnote.Deps{DB: d, Notes: w.notes, MergeRequests: w.MergeRequests, Now: w.Now})
		w.Start(func(r *job.Registry) { job.Register(r, w.notes.FollowPositions) })
		fn(t, w)
	})
}

// on names a merge request as the actor sees its project.
func (w *world) on(who authz.Actor, iid mergerequest.IID) note.On {
	w.T.Helper()
	return note.On{Place: w.As(who).Place(), Kind: noteable.MergeRequest, Key: noteable.Key{Number: int64(iid)}}
}

func (w *world) draft(who authz.Actor, iid mergerequest.IID, in draftnote.Input) *draftnote.Draft {
	w.T.Helper()
	d, err := w.drafts.Create(w.T.Context(), who, w.on(who, iid), in)
	approvaltest.Check(w.T, err)
	return d
}

// listed returns the texts of the drafts of an actor.
func (w *world) listed(who authz.Actor, iid mergerequest.IID) string {
	w.T.Helper()
	list, err := w.drafts.List(w.T.Context(), who, w.on(who, iid))
	approvaltest.Check(w.T, err)
	var out []string
	for _, d := range list {
		out = append(out, d.Note)
	}
	return strings.Join(out, ", ")
}

// line is the position of an added line of the only file of a merge request.
func line(m *mergerequest.MergeRequest, path string, number int) *note.Position {
	return &note.Position{BaseSHA: m.BaseSHA, StartSHA: m.StartSHA, HeadSHA: m.HeadSHA, OldPath: path, NewPath: path, Type: note.TextPosition, NewLine: &number}
}

// A draft is named by its merge request and its author; who may no longer read the merge request has none.
func TestService_Find(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		one, two := w.Open("one", approvaltest.Files{"b": "b\n"}), w.Open("two", approvaltest.Files{"c": "c\n"})
		d := w.draft(w.Reporter, one.IID, draftnote.Input{Note: "kept back"})
		for name, tt := range map[string]struct {
			as  authz.Actor
			iid mergerequest.IID
		}{"another user": {w.Owner, one.IID}, "another merge request": {w.Reporter, two.IID}} {
			on := w.on(tt.as, tt.iid)
			_, err := w.drafts.Find(ctx, tt.as, on, d.ID)
			approvaltest.WantError(t, name+", find", err, errs.NotFound, "")
			_, err = w.drafts.Update(ctx, tt.as, on, d.ID, draftnote.Changes{Note: new("x")})
			approvaltest.WantError(t, name+", update", err, errs.NotFound, "")
			approvaltest.WantError(t, name+", delete", w.drafts.Delete(ctx, tt.as, on, d.ID), errs.NotFound, "")
			approvaltest.WantError(t, name+", publish", w.drafts.Publish(ctx, tt.as, on, d.ID), errs.NotFound, "")
			approvaltest.Check(t, w.drafts.PublishAll(ctx, tt.as, on, draftnote.Review{}))
		}
		on := w.on(w.Reporter, one.IID)
		w.Exec("DELETE FROM members WHERE user_id = ?", w.Reporter.UserID)
		for what, call := range map[string]func() error{
			"list":    func() error { _, err := w.drafts.List(ctx, w.Reporter, on); return err },
			"find":    func() error { _, err := w.drafts.Find(ctx, w.Reporter, on, d.ID); return err },
			"create":  func() error { _, err := w.drafts.Create(ctx, w.Reporter, on, draftnote.Input{Note: "x"}); return err },
			"publish": func() error { return w.drafts.PublishAll(ctx, w.Reporter, on, draftnote.Review{Summary: "x"}) },
			"delete":  func() error { return w.drafts.Delete(ctx, w.Reporter, on, d.ID) },
		} {
			on.Place = w.Plain().Place()
			approvaltest.WantError(t, "a former member, "+what, call(), errs.NotFound, "")
		}
		w.Join(w.ID, w.Reporter, authz.Reporter)
		approvaltest.Equal(t, "drafts of who came back", w.listed(w.Reporter, one.IID), "kept back")
	})
}

// The number of drafts of an author on a merge request is bounded, and so are their bytes: those of others count for themselves.
func TestService_bounds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		const many, full = 500, 16 << 20
		row := func(text string) {
			w.Insert("draft_notes", coretest.Row{"merge_request_id": m.ID, "author_id": w.Reviewer.UserID, "note": text})
		}
		for range many - 1 {
			row("x")
		}
		last := w.draft(w.Reviewer, m.IID, draftnote.Input{Note: "the last one"})
		on := w.on(w.Reviewer, m.IID)
		_, err := w.drafts.Create(ctx, w.Reviewer, on, draftnote.Input{Note: "one more"})
		approvaltest.WantError(t, "one draft too many", err, errs.Invalid, "create draft note: base Maximum number of draft notes exceeded")
		w.draft(w.Maintainer, m.IID, draftnote.Input{Note: "mine"})
		_, err = w.drafts.Update(ctx, w.Reviewer, on, last.ID, draftnote.Changes{Note: new("changed")})
		approvaltest.Check(t, err) // it counts once

		w.Exec("DELETE FROM draft_notes WHERE author_id = ? AND id <> ?", w.Reviewer.UserID, last.ID)
		for range 16 {
			row(strings.Repeat("x", full/16-len("changed")/7))
		}
		_, err = w.drafts.Update(ctx, w.Reviewer, on, last.ID, draftnote.Changes{Note: new(strings.Repeat("y", 16))})
		approvaltest.Check(t, err)
		_, err = w.drafts.Update(ctx, w.Reviewer, on, last.ID, draftnote.Changes{Note: new(strings.Repeat("y", 17))})
		approvaltest.WantError(t, "a byte too many", err, errs.Invalid, "update draft note: base Maximum number of draft notes exceeded")
		_, err = w.drafts.Create(ctx, w.Reviewer, on, draftnote.Input{Note: "x"})
		approvaltest.WantError(t, "another draft", err, errs.Invalid, "create draft note: base Maximum number of draft notes exceeded")
	})
}

// Requests at once make no more drafts than there is room for.
func TestService_Create_together(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		const room, n = 2, 8
		for range 500 - room {
			w.Insert("draft_notes", coretest.Row{"merge_request_id": m.ID, "author_id": w.Reviewer.UserID, "note": "x"})
		}
		on := w.on(w.Reviewer, m.IID)
		var all sync.WaitGroup
		var made atomic.Int64
		for range n {
			all.Go(func() {
				switch _, err := w.drafts.Create(t.Context(), w.Reviewer, on, draftnote.Input{Note: "one more"}); {
				case err == nil:
					made.Add(1)
				case !errs.Is(err, errs.Invalid):
					t.Error(err)
				}
			})
		}
		all.Wait()
		list, err := w.drafts.List(t.Context(), w.Reviewer, on)
		if err != nil || made.Load() != room || list[500-1].Note != "one more" {
			t.Errorf("%d were made, %d are there, %v; want %d of 500", made.Load(), len(list), err, room)
		}
	})
}

// One request changes the text of a draft, another one its place: both are kept.
func TestService_Update_together(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.Open("topic", approvaltest.Files{"b": strings.Repeat("line\n", 20)})
		d := w.draft(w.Reviewer, m.IID, draftnote.Input{Note: "text 0", Position: line(m, "b", 20)})
		on := w.on(w.Reviewer, m.IID)
		for i := 1; i < 20; i++ {
			var both sync.WaitGroup
			for _, c := range []draftnote.Changes{{Note: new(fmt.Sprint("text ", i))}, {Position: line(m, "b", i)}} {
				both.Go(func() {
					if _, err := w.drafts.Update(t.Context(), w.Reviewer, on, d.ID, c); err != nil {
						t.Errorf("update: %v", err)
					}
				})
			}
			both.Wait()
			got, err := w.drafts.Find(t.Context(), w.Reviewer, on, d.ID)
			approvaltest.Check(t, err)
			if number, _ := got.Position.Line(); got.Note != fmt.Sprint("text ", i) || number != i || !strings.HasSuffix(*got.LineCode, fmt.Sprint("_", i)) {
				t.Fatalf("got %q at line %d (%s), want text %d at line %d", got.Note, number, *got.LineCode, i, i)
			}
		}
	})
}

// A review that cannot be published is a draft still, and its author has only begun it.
func TestService_PublishAll_refused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		state := func() string {
			t.Helper()
			now, err := w.MergeRequests.Find(ctx, w.Owner, w.As(w.Owner), m.IID)
			approvaltest.Check(t, err)
			return fmt.Sprintf("%s, %d notes", now.Reviewers[0].State, now.NotesCount)
		}
		w.draft(w.Reviewer, m.IID, draftnote.Input{Note: "first", Position: line(m, "b", 1)})
		w.draft(w.Reviewer, m.IID, draftnote.Input{Note: "second"})
		approvaltest.Equal(t, "with drafts", state(), "review_started, 0 notes")
		on := w.on(w.Reviewer, m.IID)
		err := w.drafts.PublishAll(ctx, w.Reviewer, on, draftnote.Review{Summary: strings.Repeat("x", 1_000_001)})
		approvaltest.WantError(t, "a long summary", err, errs.Invalid, "")
		approvaltest.WantError(t, "who sees no merge request", w.drafts.PublishAll(ctx, w.Guest, w.on(w.Guest, m.IID), draftnote.Review{Summary: "x"}), errs.NotFound, "")
		w.Exec("UPDATE merge_requests SET notes_count = 5000 WHERE id = ?", m.ID)
		approvaltest.WantError(t, "no room", w.drafts.PublishAll(ctx, w.Reviewer, on, draftnote.Review{Summary: "x"}), errs.Invalid, "")
		approvaltest.Equal(t, "drafts", w.listed(w.Reviewer, m.IID), "first, second")
		approvaltest.Equal(t, "after refusals", state(), "review_started, 5000 notes")
		w.Exec("UPDATE merge_requests SET notes_count = 0 WHERE id = ?", m.ID)

		approvaltest.Check(t, w.drafts.PublishAll(ctx, w.Reviewer, on, draftnote.Review{Summary: "in all", State: mergerequest.ChangesRequested}))
		approvaltest.Equal(t, "published", state(), "requested_changes, 3 notes")
		list, _, err := w.notes.List(ctx, w.Reporter, w.on(w.Reporter, m.IID), note.Filter{})
		approvaltest.Check(t, err)
		var texts []string
		for _, n := range list.Items {
			texts = append(texts, fmt.Sprintf("%s at %v", n.Body, n.Position != nil))
		}
		approvaltest.Equal(t, "notes", strings.Join(texts, ", "), "in all at false, second at false, first at true")
		approvaltest.Equal(t, "drafts", w.listed(w.Reviewer, m.IID), "")
	})
}
