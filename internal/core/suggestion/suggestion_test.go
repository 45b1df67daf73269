package suggestion_test

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
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
	"tenon/internal/core/suggestion"
)

// world has the suggestions on the merge requests of a private project.
type world struct {
	*approvaltest.World
	notes *note.Service
	s     *suggestion.Service
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
		w.s = suggestion.New(suggestion.Deps{DB: d, Accounts: w.Accounts, Projects: w.Projects, MergeRequests: w.MergeRequests, Repos: w.Repos, Notes: w.notes})
		w.Start(func(r *job.Registry) { job.Register(r, w.notes.FollowPositions) })
		fn(t, w)
	})
}

// on names a merge request as the actor sees its project.
func (w *world) on(who authz.Actor, iid mergerequest.IID) note.On {
	w.T.Helper()
	return note.On{Place: w.As(who).Place(), Kind: noteable.MergeRequest, Key: noteable.Key{Number: int64(iid)}}
}

// suggest has the reviewer suggest a text for an added line and those around it, and returns the suggestion and its thread.
func (w *world) suggest(m *mergerequest.MergeRequest, path string, line int, around, text string) (note.SuggestionID, string) {
	w.T.Helper()
	begun, _, err := w.notes.CreateDiscussion(w.T.Context(), w.Reviewer, w.on(w.Reviewer, m.IID), note.Input{
		Body: "```suggestion" + around + "\n" + text + "```\n",
		Position: &note.Position{
			BaseSHA: m.BaseSHA, StartSHA: m.StartSHA, HeadSHA: m.HeadSHA, OldPath: path, NewPath: path, Type: note.TextPosition, NewLine: &line,
		},
	})
	approvaltest.Check(w.T, err)
	d := begun.Discussion
	id, err := db.Get[note.SuggestionID](w.T.Context(), w.DB, "SELECT id FROM suggestions WHERE note_id = ?", d.Notes[0].ID)
	approvaltest.Check(w.T, err)
	return id, d.ID
}

// file is what a file of a branch holds.
func (w *world) file(branch, path string) string {
	w.T.Helper()
	r := w.Git()
	tip, err := r.Branch(w.T.Context(), branch)
	approvaltest.Check(w.T, err)
	entry, err := r.Entry(w.T.Context(), tip, path)
	approvaltest.Check(w.T, err)
	text, err := r.Blob(w.T.Context(), entry.ID, 1<<20)
	approvaltest.Check(w.T, err)
	return string(text)
}

// A message that repeats what a placeholder gives has a bound.
func TestService_Apply_longMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		m := w.Open("topic", approvaltest.Files{"code": "1\n2\n"})
		two, _ := w.suggest(m, "code", 2, "", "two\n")
		_, err := w.s.Apply(ctx, w.Developer, strings.Repeat("%{file_paths}", 500_000), two)
		approvaltest.Check(t, err)
		r := w.Git()
		tip, err := r.Branch(ctx, "topic")
		approvaltest.Check(t, err)
		c, err := r.Commit(ctx, tip)
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "bytes", len(strings.TrimSpace(c.Message)), repo.MaxMessage)
	})
}

// Suggestions for several files are one commit: lines are replaced, taken away, and a last line stays without an end.
func TestService_Apply(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		m := w.Open("topic", approvaltest.Files{"code": "1\n2\n3\n4\n5\n6\n", "end": "alpha\nomega"})
		two, thread := w.suggest(m, "code", 2, "", "two\nand a half\n")
		five, _ := w.suggest(m, "code", 5, ":-1+1", "")
		last, _ := w.suggest(m, "end", 2, ":-0+0", "OMEGA\n")
		got, err := w.s.Apply(ctx, w.Developer, "%{suggestions_count} to %{file_paths} by %{username}", last, five, two, five)
		approvaltest.Check(t, err)
		for _, g := range got {
			if !g.Applied || g.Appliable || g.Commit == nil || *g.Commit != *got[0].Commit {
				t.Errorf("applied: %+v", g)
			}
		}
		approvaltest.Equal(t, "suggestions", len(got), 3)
		approvaltest.Equal(t, "code", w.file("topic", "code"), "1\ntwo\nand a half\n3\n")
		approvaltest.Equal(t, "end", w.file("topic", "end"), "alpha\nOMEGA")
		r := w.Git()
		tip, err := r.Branch(ctx, "topic")
		approvaltest.Check(t, err)
		c, err := r.Commit(ctx, tip)
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "message", strings.TrimSpace(c.Message), "3 to code, end by dave")
		if len(c.Parents) != 1 || c.Parents[0].String() != m.HeadSHA || tip.String() != *got[0].Commit {
			t.Errorf("commit %s on %v, want %s on %s alone", tip, c.Parents, *got[0].Commit, m.HeadSHA)
		}
		d, _, err := w.notes.FindDiscussion(ctx, w.Reporter, w.on(w.Reporter, m.IID), thread)
		approvaltest.Check(t, err)
		if d.Notes[0].ResolvedAt == nil || *d.Notes[0].ResolvedByID != w.Developer.UserID {
			t.Errorf("the thread is not resolved: %+v", d.Notes[0])
		}
		_, err = w.s.Apply(ctx, w.Developer, "", two)
		approvaltest.WantError(t, "once more", err, errs.Invalid, "Can't apply this suggestion.")
	})
}

// Who may not push to the source branch applies nothing, and who may not read the merge request finds nothing.
func TestService_Apply_refused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		id, _ := w.suggest(m, "b", 1, "", "B\n")
		const missing = "Suggestion is not applicable as the suggestion was not found."
		for _, tt := range []struct {
			name string
			as   authz.Actor
			kind errs.Kind
			text string
		}{
			{"nobody", authz.Actor{}, errs.NotFound, missing},
			{"stranger", w.Stranger, errs.NotFound, missing},
			{"guest", w.Guest, errs.NotFound, missing},
			{"reporter", w.Reporter, errs.Forbidden, ""},
		} {
			_, err := w.s.Apply(ctx, tt.as, "", id)
			approvaltest.WantError(t, tt.name, err, tt.kind, tt.text)
		}
		_, err := w.Protections.ProtectBranch(ctx, w.Owner, w.As(w.Owner), protection.Input{Name: "topic"})
		approvaltest.Check(t, err)
		_, err = w.s.Apply(ctx, w.Developer, "", id)
		approvaltest.WantError(t, "a protected branch", err, errs.Forbidden, "")
		approvaltest.Equal(t, "file", w.file("topic", "b"), "b\n")
		_, err = w.s.Apply(ctx, w.Maintainer, "", id)
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "file", w.file("topic", "b"), "B\n")
	})
}

// What cannot be one commit is refused as a whole.
func TestService_Apply_bounds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		m, other := w.Open("topic", approvaltest.Files{"b": "1\n2\n3\n4\n"}), w.Open("other", approvaltest.Files{"c": "c\n"})
		one, _ := w.suggest(m, "b", 1, ":-0+1", "one\n")
		two, _ := w.suggest(m, "b", 2, "", "two\n")
		far, _ := w.suggest(other, "c", 1, "", "C\n")
		many := make([]note.SuggestionID, 101)
		for i := range many {
			many[i] = note.SuggestionID(1000 + i)
		}
		refused := func(name, text string, kind errs.Kind, ids ...note.SuggestionID) {
			t.Helper()
			_, err := w.s.Apply(ctx, w.Developer, "", ids...)
			approvaltest.WantError(t, name, err, kind, text)
		}
		refused("none", "Suggestions are not applicable as one or more suggestions were not found.", errs.NotFound)
		refused("too many", "Suggestions are not applicable as there are more than 100 of them.", errs.Invalid, many...)
		refused("a hundred that are not there", "Suggestions are not applicable as one or more suggestions were not found.", errs.NotFound, many[:100]...)
		refused("of two merge requests", "Suggestions must all be on the same branch.", errs.Invalid, one, far)
		refused("overlapping", "Suggestions are not applicable as their lines cannot overlap.", errs.Invalid, one, two)

		w.Push("topic", "", approvaltest.Files{"b": "1\nchanged\n3\n4\n"}, "dave")
		refused("a line of another version", "Can't apply as this line was changed in a more recent version.", errs.Invalid, two)
		w.Push("topic", "", approvaltest.Files{"b": approvaltest.Removed, "d": "d\n"}, "dave")
		refused("a file that is gone", "", errs.Invalid, two)
		approvaltest.Check(t, w.Merge(other.IID))
		refused("merged", "This merge request was merged. To apply this suggestion, edit this file directly.", errs.Invalid, far)
		approvaltest.Equal(t, "file", w.file("main", "c"), "c\n")
	})
}

// Of several who apply a suggestion at the same moment one makes a commit.
func TestService_Apply_together(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.Open("topic", approvaltest.Files{"b": "1\n2\n"})
		id, _ := w.suggest(m, "b", 2, "", "two\ntwo\n")
		var all sync.WaitGroup
		var applied atomic.Int64
		for _, who := range []authz.Actor{w.Developer, w.Maintainer, w.Owner, w.Reviewer} {
			all.Go(func() {
				switch _, err := w.s.Apply(t.Context(), who, "", id); {
				case err == nil:
					applied.Add(1)
				case !errs.Is(err, errs.Invalid) && !errs.Is(err, errs.Conflict):
					t.Errorf("%s: %v", who.Username, err)
				}
			})
		}
		all.Wait()
		r := w.Git()
		tip, err := r.Branch(t.Context(), "topic")
		approvaltest.Check(t, err)
		c, err := r.Commit(t.Context(), tip)
		approvaltest.Check(t, err)
		if got := fmt.Sprint(applied.Load(), " ", c.Parents[0]); got != "1 "+m.HeadSHA {
			t.Errorf("applied %s, want once on %s", got, m.HeadSHA)
		}
		approvaltest.Equal(t, "file", w.file("topic", "b"), "1\ntwo\ntwo\n")
	})
}
