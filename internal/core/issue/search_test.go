package issue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/filter"
	"tenon/internal/core/issue"
)

// A search finds what holds all its words in one field, wherever in it and however long
// they are, also after changes, with and without an index. Everywhere, a search without a word of
// three characters finds only a field that is equal to it.
func TestService_List_search(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		indexed := func() { // all that was written until now
			t.Helper()
			if err := d.IndexTrigrams(ctx, []db.Trigrams{(*issue.Service)(nil).Indexed()}); err != nil {
				t.Fatal(err)
			}
		}
		indexed()
		p := f.Find(f.owner, f.id)
		random := rand.New(rand.NewPCG(1, 2))
		pieces := []string{
			"Stra\u00dfe", "\u00c4pfel", "100%", "a_b", `back\slash`, `"quoted"`, "it's", "\u65e5\u672c\u8a9e", "\u65e5", "x", "xy", "xyz",
			"AND", "NOT", "(near)", "title_fold:", "*", "-", "\U0001f600\U0001f600", "e\u0301te\u0301", "longestwordofthemall", "\ufb01le",
		}
		text := func() string {
			var words []string
			for range 1 + random.IntN(4) {
				words = append(words, pieces[random.IntN(len(pieces))])
			}
			return strings.Join(words, []string{" ", "", "-"}[random.IntN(3)])
		}
		long := func() string { // texts of more than 16,384 characters have no trigrams
			if random.IntN(4) == 0 {
				return text() + strings.Repeat(" filler", 2500) + " " + text()
			}
			return text()
		}
		type texts struct{ title, description string }
		now := map[issue.IID]texts{}
		for i := range 40 { // the last twenty wait for their trigrams
			if i == 20 {
				indexed()
			}
			x := texts{text(), long()}
			now[f.create(f.owner, issue.Input{Title: x.title, Attributes: issue.Attributes{Description: &x.description}}).IID] = x
		}
		for iid := issue.IID(1); iid <= 30; iid++ {
			x := texts{text(), long()}
			if _, err := f.issues.Update(ctx, f.owner, p, iid, issue.Changes{Title: &x.title, Attributes: issue.Attributes{Description: &x.description}}); err != nil {
				t.Fatal(err)
			}
			now[iid] = x
		}
		for _, iid := range []issue.IID{5, 6, 7, 25, 26, 35, 36} {
			if err := f.issues.Delete(ctx, f.owner, p, iid); err != nil {
				t.Fatal(err)
			}
			delete(now, iid)
		}
		if d.Dialect() == db.SQLite {
			if n, err := db.Get[int](ctx, d, "SELECT count(*) FROM issues_trigrams WHERE issues_trigrams MATCH 'ill'"); err != nil || n != 0 {
				t.Errorf("trigrams of long texts: got those of %d rows, %v; want none", n, err)
			}
		}
		holds := func(text string, words []string) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(db.Fold(text), db.Fold(w)) })
		}
		for i := range 150 {
			if i == 75 {
				indexed()
			}
			whole := []rune(text())
			from := random.IntN(len(whole))
			search := string(whole[from : from+1+random.IntN(len(whole)-from)])
			words := filter.Terms(search)
			in := []authz.Place{p.Place(), {}, coretest.GroupAt(p.ParentID, authz.Public)}[i%3]
			matches := func(text string) bool {
				if in.IsInstance() && len(words) > 0 && !slices.ContainsFunc(words, db.Partial) {
					return db.Fold(text) == db.Fold(strings.Trim(search, `" `))
				}
				return holds(text, words)
			}
			var want []issue.IID
			for iid, x := range now {
				if matches(x.title) || matches(x.description) {
					want = append(want, iid)
				}
			}
			slices.Sort(want)
			got, err := f.issues.List(ctx, f.owner, in, issue.Filter{Search: search, Asc: true, Range: page.Range{Limit: 100}})
			if err != nil {
				t.Fatalf("search %q: %v", search, err)
			}
			var numbers []issue.IID
			for _, i := range got.Items {
				numbers = append(numbers, i.IID)
			}
			slices.Sort(numbers)
			if !slices.Equal(numbers, want) || got.Total != len(want) {
				t.Errorf("search %q in %+v: got %v of %d, want %v", search, in, numbers, got.Total, want)
			}
		}
		f.set("DELETE FROM projects WHERE id = ?", f.id)
		if d.Dialect() == db.SQLite {
			if n, err := db.Get[int](ctx, d, "SELECT count(*) FROM issues_trigrams WHERE issues_trigrams MATCH 'xyz'"); err != nil || n != 0 {
				t.Errorf("trigrams of a deleted project: got %d rows, %v", n, err)
			}
		}
	})
}

// Texts are indexed in the background, many at once.
func TestService_List_indexed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if d.Dialect() == db.Postgres {
			t.Skip("PostgreSQL indexes what it writes")
		}
		f := setUp(t, d)
		if err := d.IndexTrigrams(ctx, []db.Trigrams{(*issue.Service)(nil).Indexed()}); err != nil {
			t.Fatal(err)
		}
		first := f.create(f.owner, issue.Input{Title: "service"})
		f.crowd(first.ID, 500)
		count := func(query string) int {
			t.Helper()
			n, err := db.Get[int](ctx, d, query)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		tick, late := time.NewTicker(50*time.Millisecond), time.After(time.Minute)
		defer tick.Stop()
		for count("SELECT count(*) FROM issues_pending_trigrams") >= 64 {
			select {
			case <-tick.C:
			case <-late:
				t.Fatal("the texts are not indexed")
			}
		}
		waiting, indexed := count("SELECT count(*) FROM issues_pending_trigrams"), count("SELECT count(*) FROM issues_trigrams WHERE issues_trigrams MATCH '\"ser\"'")
		if waiting+indexed != 500 {
			t.Errorf("%d rows wait and %d are indexed, want 500 of both", waiting, indexed)
		}
	})
}

// Lists read no large table as a whole, whatever indexes they need.
func TestService_List_plans(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		p := f.Find(f.owner, f.id)
		first := f.create(f.owner, issue.Input{Title: "service", Labels: []string{"bug"}, AssigneeIDs: []authz.UserID{f.guest.UserID}})
		f.crowd(first.ID, 30_000)
		if err := d.IndexTrigrams(ctx, []db.Trigrams{(*issue.Service)(nil).Indexed()}); err != nil {
			t.Fatal(err)
		}
		if d.Dialect() == db.Postgres {
			f.set("VACUUM ANALYZE")
		}
		group := coretest.GroupAt(p.ParentID, authz.Public)
		twenty := page.Range{Limit: 20}
		for _, tt := range []struct {
			name string
			f    issue.Filter
		}{
			{"all", issue.Filter{Range: twenty}},
			{"by cursor", issue.Filter{Range: page.Range{Limit: 20, Keyset: true}}},
			{"open by update", issue.Filter{State: issue.StateOpened, OrderBy: "updated_at", Range: twenty}},
			{"assigned", issue.Filter{Assignee: filter.One(&f.guest.UserID), Range: twenty}},
			{"written", issue.Filter{Author: filter.One(&f.guest.UserID), Range: twenty}},
			{"labelled", issue.Filter{Labels: []string{"bug"}, Range: twenty}},
			{"not archived", issue.Filter{NonArchived: true, Range: twenty}},
			{"rare word", issue.Filter{Search: "kumquat", Range: twenty}},
			{"no word", issue.Filter{Search: "xylophone quince", Range: twenty}},
		} {
			for _, place := range []struct {
				name string
				in   authz.Place
			}{{"project", p.Place()}, {"group", group}, {"everywhere", authz.Place{}}} {
				for who, as := range map[string]authz.Actor{"administrator": {UserID: f.owner.UserID, Admin: true}, "member": f.reporter} {
					plans := dbtest.Plans(t, d, func() {
						if _, err := f.issues.List(ctx, as, place.in, tt.f); err != nil {
							t.Fatal(err)
						}
					})
					for _, plan := range plans {
						if line := dbtest.Scanned(plan, "issues", "label_links", "issue_assignees"); line != "" {
							t.Errorf("%s, %s, %s: %s in\n%s", tt.name, place.name, who, line, plan)
						}
					}
				}
			}
		}
	})
}

// crowd copies an issue many times, by SQL.
func (f *fixture) crowd(template issue.ID, n int) {
	f.T.Helper()
	columns := strings.Split("project_id author_id description description_fold issue_type confidential notes_count public_notes_count", " ")
	f.set(fmt.Sprintf(`INSERT INTO issues (iid, title, title_fold, state, created_at, updated_at, %[1]s)
		WITH RECURSIVE n(i) AS (SELECT CAST(2 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		SELECT n.i, 'Service ' || n.i, 'service ' || n.i || CASE WHEN n.i %% 1000 = 0 THEN ' kumquat' ELSE '' END,
			CASE WHEN n.i %% 2 = 0 THEN 'opened' ELSE 'closed' END, created_at, updated_at, %[1]s
		FROM issues CROSS JOIN n WHERE id = ?`, strings.Join(columns, ", ")), n, template)
	f.set("INSERT INTO issue_assignees (issue_id, user_id) SELECT id, ? FROM issues WHERE id % 100 = 7", f.guest.UserID)
	f.set("INSERT INTO label_links (target_type, target_id, label_id) SELECT 'Issue', i.id, l.id FROM issues i CROSS JOIN labels l WHERE i.id % 50 = 7")
}

// Issues keep the labels of a group that their project was transferred out of, and are
// found by them in each list.
func TestService_List_formerGroup(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		p := f.Find(f.owner, f.id)
		i := f.create(f.owner, issue.Input{Title: "service"})
		l := f.Insert("labels", coretest.Row{"namespace_id": f.Group("former", authz.Public, 0), "title": "bug", "color": "#ff0000"})
		f.set("INSERT INTO label_links (label_id, target_type, target_id) VALUES (?, 'Issue', ?)", l, i.ID)
		group := coretest.GroupAt(p.ParentID, authz.Public)
		for name, in := range map[string]authz.Place{"project": p.Place(), "group": group, "all": {}} {
			got, err := f.issues.List(ctx, f.owner, in, issue.Filter{Labels: []string{"bug"}, Range: page.Range{Limit: 10}})
			if err != nil || len(got.Items) != 1 || got.Items[0].ID != i.ID {
				t.Errorf("%s: got %+v, %v, want issue %d", name, got.Items, err, i.ID)
			}
		}
	})
}
