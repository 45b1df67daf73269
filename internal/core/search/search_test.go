package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/coretest"
	"tenon/internal/core/filter"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/milestone"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/search"
)

// TestService_Notes compares what a search finds with the comments that hold all its words, in any
// case and of any length, after changes, and for rows that are older than their folds.
func TestService_Notes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		w := coretest.New(t, d)
		if err := d.IndexTrigrams(ctx, core.Described().Texts()); err != nil {
			t.Fatal(err)
		}
		labels := label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
		milestones := milestone.New(milestone.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
		issues := issue.New(issue.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Labels: labels, Milestones: milestones, Now: w.Now})
		notes := note.New(note.Deps{
			Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Awards: award.New(award.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}), Now: w.Now,
			Kinds: noteable.Collect(issues),
		})
		s := search.New(search.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Notes: notes, Kinds: noteable.Collect(issues)})
		owner, guest := w.User("owner"), w.User("guest")
		id := w.Project("team/app", authz.Public, w.Group("team", authz.Public, 0))
		w.Join(id, owner, authz.Owner)
		p := w.Find(owner, id)
		made, err := issues.Create(ctx, owner, p, issue.Input{Title: "An issue"})
		if err != nil {
			t.Fatal(err)
		}
		on := note.On{Place: p.Place(), Kind: noteable.Issue, Key: noteable.Key{Number: int64(made.IID)}}

		random := rand.New(rand.NewPCG(3, 4))
		pieces := []string{
			"Stra\u00dfe", "\u00c4pfel", "100%", "a_b", `back\slash`, `"quoted"`, "\u65e5\u672c\u8a9e", "x", "xyz", "NOT", "body_fold:", "longestwordofthemall", "\ufb01le", "WORD",
		}
		text := func() string {
			var words []string
			for range 1 + random.IntN(4) {
				words = append(words, pieces[random.IntN(len(pieces))])
			}
			return strings.Join(words, []string{" ", "", "-"}[random.IntN(3)])
		}
		long := func() string {
			if random.IntN(4) == 0 {
				return text() + strings.Repeat(" filler", 2500) + " " + text()
			}
			return text()
		}
		now := map[note.ID]string{}
		for range 40 {
			body := long()
			n, _, err := notes.Create(ctx, owner, on, note.Input{Body: body})
			if err != nil || n.Note == nil {
				t.Fatalf("comment %q: %+v, %v", body, n, err)
			}
			now[n.Note.ID] = body
		}
		all := slices.Sorted(func(yield func(note.ID) bool) {
			for id := range now {
				if !yield(id) {
					return
				}
			}
		})
		for _, id := range all[:15] {
			body := long()
			if _, _, err := notes.Update(ctx, owner, on, id, note.Changes{Body: &body}); err != nil {
				t.Fatal(err)
			}
			now[id] = body
		}
		for _, id := range all[10:20] {
			if err := notes.Delete(ctx, owner, on, id); err != nil {
				t.Fatal(err)
			}
			delete(now, id)
		}
		if err := notes.Record(ctx, note.System{On: noteable.Ref{Kind: noteable.Issue, ID: int64(made.ID)}, ProjectID: id, AuthorID: owner.UserID, At: w.Now()}, strings.Join(pieces, " ")); err != nil {
			t.Fatal(err)
		}
		everywhere, inProject := authz.Place{}, p.Place()
		compare := func(name string) {
			t.Helper()
			for i := range 100 {
				whole := []rune(text())
				from := random.IntN(len(whole))
				words := string(whole[from : from+1+random.IntN(len(whole)-from)])
				terms := filter.Terms(words)
				if len(terms) == 0 {
					continue
				}
				var want []note.ID
				for id, body := range now {
					if !slices.ContainsFunc(terms, func(term string) bool { return !strings.Contains(db.Fold(body), term) }) {
						want = append(want, id)
					}
				}
				slices.Sort(want)
				at := inProject
				if i%2 == 0 && slices.ContainsFunc(terms, func(term string) bool { return len([]rune(term)) > 2 }) {
					at = everywhere
				}
				list, err := s.Notes(ctx, guest, at, search.Query{Text: words, ByCreation: true, Asc: true})
				if err != nil {
					t.Fatal(err)
				}
				var got []note.ID
				for _, c := range list.Items {
					got = append(got, c.ID)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%s, %q: got %v, want %v", name, words, got, want)
				}
			}
		}
		compare("written")
		if err := d.IndexTrigrams(ctx, []db.Trigrams{(*note.Service)(nil).Indexed()}); err != nil {
			t.Fatal(err)
		}
		compare("indexed")

		exec := func(query string) {
			t.Helper()
			if err := d.InTx(ctx, func(ctx context.Context) error { _, err := d.Exec(ctx, query); return err }); err != nil {
				t.Fatal(err)
			}
		}
		exec("UPDATE notes SET body_fold = NULL")
		if list, err := s.Notes(ctx, guest, everywhere, search.Query{Text: "word"}); err != nil || len(list.Items) == 0 {
			t.Errorf("comments without folds: got %d, %v", len(list.Items), err)
		}
		if err := notes.Fold(ctx, note.Fold{}); err != nil {
			t.Fatal(err)
		}
		compare("folded")
		if n, err := db.Get[int](ctx, d, "SELECT COUNT(*) FROM notes WHERE body_fold IS NOT NULL AND octet_length(body) = length(body)"); err != nil || n != 0 {
			t.Errorf("folds of texts of ASCII: got %d, %v; want none", n, err)
		}
		exec("DELETE FROM notes")
		if d.Dialect() == db.SQLite { // the index has nothing of rows that are gone
			if n, err := db.Get[int](ctx, d, "SELECT count(*) FROM notes_trigrams WHERE notes_trigrams MATCH 'wor OR xyz OR ppl'"); err != nil || n != 0 {
				t.Errorf("trigrams of no rows: got those of %d, %v", n, err)
			}
		}
	})
}

// TestService_Notes_sight asks for one word as everybody: totals and pages have what each may read.
func TestService_Notes_sight(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		labels := label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
		milestones := milestone.New(milestone.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
		issues := issue.New(issue.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Labels: labels, Milestones: milestones, Now: w.Now})
		notes := note.New(note.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
		s := search.New(search.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Notes: notes, Milestones: milestones, Kinds: noteable.Collect(issues)})
		people := map[string]authz.Actor{"root": w.Admin("root")}
		for _, name := range []string{"guest", "planner", "author", "stranger"} {
			people[name] = w.User(name)
		}
		team, hidden := w.Group("team", authz.Public, 0), w.Group("hidden", authz.Private, 0)
		open, closed := w.Project("team/app", authz.Public, team), w.Project("hidden/app", authz.Private, hidden)
		off := w.Project("team/off", authz.Public, team)
		old := w.Project("team/old", authz.Public, team)
		for _, query := range []string{
			fmt.Sprint("UPDATE projects SET issues_access = 10 WHERE id = ", off), fmt.Sprint("UPDATE projects SET archived = true WHERE id = ", old),
		} {
			if _, err := d.Exec(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		w.Join(open, people["guest"], authz.Guest)
		w.Join(open, people["planner"], authz.Planner)
		w.Join(closed, people["planner"], authz.Planner)
		say := func(name string, row coretest.Row) {
			row["body"], row["author_id"], row["discussion_id"], row["noteable_type"] = "word "+name, people["author"].UserID, strings.Repeat("0", 40), "Issue"
			w.Insert("notes", row)
		}
		thing := func(in any, confidential bool) int64 {
			return w.Insert("issues", coretest.Row{
				"project_id": in, "iid": w.Now().Unix(), "author_id": people["author"].UserID, "state": "opened", "issue_type": "issue", "title": "T", "confidential": confidential,
			})
		}
		plain := thing(open, false)
		say("plain", coretest.Row{"project_id": open, "noteable_id": plain})
		say("internal", coretest.Row{"project_id": open, "noteable_id": plain, "internal": true})
		say("confidential", coretest.Row{"project_id": open, "noteable_id": thing(open, true)})
		say("hidden", coretest.Row{"project_id": closed, "noteable_id": thing(closed, false)})
		say("off", coretest.Row{"project_id": off, "noteable_id": thing(off, false)})
		say("archived", coretest.Row{"project_id": old, "noteable_id": thing(old, false)})
		say("system", coretest.Row{"project_id": open, "noteable_id": plain, "system": true})
		for _, m := range []struct {
			title string
			place any
		}{{"word team", team}, {"word hidden", hidden}} {
			w.Insert("milestones", coretest.Row{"iid": 1, "namespace_id": m.place, "title": m.title, "title_fold": m.title, "state": "active"})
		}
		for name, want := range map[string]string{
			"stranger": "plain", "guest": "plain", "author": "confidential plain", "planner": "confidential hidden internal plain", "root": "confidential hidden internal off plain",
		} {
			for _, limit := range []int{0, 1} {
				list, err := s.Notes(t.Context(), people[name], authz.Place{}, search.Query{Text: "word", Range: page.Range{Limit: limit}})
				if err != nil {
					t.Fatal(err)
				}
				if list.Total != len(strings.Fields(want)) {
					t.Errorf("%s, pages of %d: got a total of %d, want that of %q", name, limit, list.Total, want)
				}
				if limit == 1 {
					continue
				}
				var got []string
				for _, c := range list.Items {
					got = append(got, strings.TrimPrefix(c.Body, "word "))
				}
				slices.Sort(got)
				if strings.Join(got, " ") != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
			for id, holds := range map[project.ID]string{open: "confidential internal plain", closed: "hidden", off: "off"} {
				p, err := w.Projects.Find(t.Context(), people[name], fmt.Sprint(id))
				if errs.Is(err, errs.NotFound) {
					continue // nothing can be searched there
				}
				if err != nil {
					t.Fatal(err)
				}
				list, err := s.Notes(t.Context(), people[name], p.Place(), search.Query{Text: "word"})
				if err != nil {
					t.Fatal(err)
				}
				var got, in []string
				for _, c := range list.Items {
					got = append(got, strings.TrimPrefix(c.Body, "word "))
				}
				slices.Sort(got)
				for _, body := range strings.Fields(want) {
					if slices.Contains(strings.Fields(holds), body) {
						in = append(in, body)
					}
				}
				if !slices.Equal(got, in) || list.Total != len(in) {
					t.Errorf("%s in project %d: got %q of %d, want %q", name, id, got, list.Total, in)
				}
			}
			list, err := s.Milestones(t.Context(), people[name], authz.Place{}, search.Query{Text: "WORD"})
			want := map[bool]int{true: 2, false: 1}[name == "root" || name == "planner"]
			if err != nil || list.Total != want || len(list.Items) != want {
				t.Errorf("%s: got %d milestones of %d, %v; want %d", name, len(list.Items), list.Total, err, want)
			}
		}
		if list, err := s.Notes(t.Context(), people["stranger"], authz.Place{}, search.Query{Text: "word", Archived: true}); err != nil || list.Total != 2 {
			t.Errorf("with archived projects: got %d, %v; want 2", list.Total, err)
		}
		for _, blank := range []string{"", "  ", `""`, "wo"} {
			if list, err := s.Notes(t.Context(), people["root"], authz.Place{}, search.Query{Text: blank}); err != nil || list.Total != 0 {
				t.Errorf("search of %q: got %d, %v; want none", blank, list.Total, err)
			}
		}
		if _, err := s.Notes(t.Context(), authz.Actor{}, authz.Place{}, search.Query{Text: "word"}); err == nil {
			t.Error("a search without signing on: got no error")
		}
	})
}
