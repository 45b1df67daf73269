package note_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/milestone"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/systemnote"
)

// fixture is a public project with an issue and a user at each level.
type fixture struct {
	*coretest.World
	issues *issue.Service
	notes  *note.Service
	awards *award.Service
	id     project.ID
	iid    issue.IID

	owner, maintainer, planner, guest, author, stranger authz.Actor
}

var ctx = context.Background()

func setUp(t *testing.T, d *db.DB) *fixture {
	t.Helper()
	w := coretest.New(t, d)
	f := &fixture{World: w}
	labels := label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
	f.issues = issue.New(issue.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Labels: labels, Iterations: iteration.New(iteration.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}), Milestones: milestone.New(milestone.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}), Now: w.Now})
	f.issues.Connect(issue.Above{Commands: alonetest.Commands{}})
	f.awards = award.New(award.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
	f.notes = note.New(note.Deps{
		Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Awards: f.awards, Now: w.Now,
		Kinds: noteable.Collect(f.issues),
	})
	f.id = w.Project("team/app", authz.Public, w.Group("team", authz.Public, 0))
	f.owner, f.maintainer, f.planner = w.User("owner"), w.User("maintainer"), w.User("planner")
	f.guest, f.author, f.stranger = w.User("guest"), w.User("author"), w.User("stranger")
	w.Join(f.id, f.owner, authz.Owner)
	w.Join(f.id, f.maintainer, authz.Maintainer)
	w.Join(f.id, f.planner, authz.Planner)
	w.Join(f.id, f.guest, authz.Guest)
	f.iid = f.issue(issue.Input{Title: "An issue"}).IID
	return f
}

func (f *fixture) issue(in issue.Input) *issue.Issue {
	f.T.Helper()
	i, err := f.issues.Create(ctx, f.author, f.Find(f.author, f.id), in)
	if err != nil {
		f.T.Fatal(err)
	}
	return i
}

func (f *fixture) on(as authz.Actor) note.On {
	f.T.Helper()
	return note.On{Place: f.Find(as, f.id).Place(), Kind: noteable.Issue, Key: noteable.Key{Number: int64(f.iid)}}
}

func (f *fixture) add(as authz.Actor, in note.Input) *note.Note {
	f.T.Helper()
	made, _, err := f.notes.Create(ctx, as, f.on(as), in)
	if err != nil || made.Note == nil {
		f.T.Fatalf("note of %s: %+v, %v", as.Username, made, err)
	}
	return made.Note
}

func (f *fixture) set(query string, args ...any) {
	f.T.Helper()
	if _, err := f.DB.Exec(ctx, query, args...); err != nil {
		f.T.Fatal(err)
	}
}

// counters reads the two counters of the issue.
func (f *fixture) counters() string {
	f.T.Helper()
	i, err := f.issues.Find(ctx, f.owner, f.Find(f.owner, f.id), f.iid)
	if err != nil {
		f.T.Fatal(err)
	}
	return fmt.Sprint(i.NotesCount, i.PublicNotesCount)
}

func TestService_Create(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		var events []string
		event.On(f.Bus, "test", func(_ context.Context, e note.Created) error {
			events = append(events, fmt.Sprint(e.Row().Body, " by ", e.By.Username, " on ", e.Target.Title))
			return nil
		})
		before := f.Now()
		n := f.add(f.stranger, note.Input{Body: "hello"})
		if n.Body != "hello" || n.System || n.Internal || n.Kind != noteable.Issue || *n.ProjectID != f.id || len(n.DiscussionID) != 40 {
			t.Errorf("created %+v", n)
		}
		got, target, err := f.notes.Find(ctx, f.guest, f.on(f.guest), n.ID)
		if err != nil || got.Body != "hello" || *target.IID != int64(f.iid) {
			t.Errorf("found %+v on %+v, %v", got, target, err)
		}
		if !slices.Equal(events, []string{"hello by stranger on An issue"}) {
			t.Errorf("events = %q", events)
		}
		i, err := f.issues.Find(ctx, f.guest, f.Find(f.guest, f.id), f.iid)
		if err != nil || i.UserNotes != 1 || i.UpdatedAt.Before(before) {
			t.Errorf("issue after the note: %+v, %v", i, err)
		}

		// Internal notes are for planners; others make a public one without being told.
		f.add(f.planner, note.Input{Body: "inside", Internal: true})
		if n := f.add(f.guest, note.Input{Body: "not inside", Internal: true}); n.Internal {
			t.Error("a guest wrote an internal note")
		}
		if got := f.counters(); got != "3 2" {
			t.Errorf("counters = %s, want 3 2", got)
		}

		// Owners choose the time, others are not heard.
		past := time.Date(2001, 2, 3, 0, 0, 0, 0, time.UTC)
		if n := f.add(f.owner, note.Input{Body: "old", CreatedAt: &past}); !n.CreatedAt.Equal(past) || !n.UpdatedAt.Equal(past) {
			t.Errorf("owner's time = %v, %v", n.CreatedAt, n.UpdatedAt)
		}
		if n := f.add(f.maintainer, note.Input{Body: "new", CreatedAt: &past}); n.CreatedAt.Year() == 2001 {
			t.Error("a maintainer chose the time")
		}
	})
}

func TestService_Create_refused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		ancient := time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC)
		for _, tt := range []struct {
			name string
			as   authz.Actor
			in   note.Input
			want string
		}{
			{"nobody", authz.Actor{}, note.Input{Body: "x"}, "unauthorized"},
			{"blank", f.owner, note.Input{Body: " \n"}, `note can't be blank`},
			{"long", f.owner, note.Input{Body: strings.Repeat("\u00e9", 1_000_001)}, `note is too long (maximum is 1000000 characters)`},
			{"ancient", f.owner, note.Input{Body: "x", CreatedAt: &ancient}, `created_at The created date provided is too far in the past.`},
		} {
			_, _, err := f.notes.Create(ctx, tt.as, f.on(tt.as), tt.in)
			if err == nil || err.Error() != tt.want {
				t.Errorf("%s: error = %v, want %s", tt.name, err, tt.want)
			}
		}
		f.add(f.owner, note.Input{Body: strings.Repeat("\u00e9", 1_000_000)})
		f.set("UPDATE issues SET notes_count = 4999")
		f.add(f.owner, note.Input{Body: "the last"})
		_, _, err := f.notes.Create(ctx, f.owner, f.on(f.owner), note.Input{Body: "one too many"})
		if err == nil || !strings.HasSuffix(err.Error(), `base Maximum number of comments exceeded`) || !errs.Is(err, errs.Invalid) {
			t.Errorf("too many: %v", err)
		}
		if got := f.counters(); !strings.HasPrefix(got, "5000 ") {
			t.Errorf("counters after a refusal = %s", got)
		}
		f.iid = 99
		_, _, err = f.notes.Create(ctx, f.owner, f.on(f.owner), note.Input{Body: "x"})
		if !errs.Is(err, errs.NotFound) {
			t.Errorf("no issue: %v", err)
		}
	})
}

func TestService_locked(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		mine := f.add(f.stranger, note.Input{Body: "before"})
		f.set("UPDATE issues SET discussion_locked = true")
		f.add(f.guest, note.Input{Body: "a member goes on"})
		body := "changed"
		_, _, create := f.notes.Create(ctx, f.stranger, f.on(f.stranger), note.Input{Body: "x"})
		_, _, react := f.notes.Create(ctx, f.stranger, f.on(f.stranger), note.Input{Body: ":tada:"})
		_, _, update := f.notes.Update(ctx, f.stranger, f.on(f.stranger), mine.ID, note.Changes{Body: &body})
		remove := f.notes.Delete(ctx, f.stranger, f.on(f.stranger), mine.ID)
		for what, err := range map[string]error{"create": create, "react": react, "update": update, "delete": remove} {
			if !errs.Is(err, errs.Forbidden) {
				t.Errorf("%s as a stranger: %v, want Forbidden", what, err)
			}
		}
	})
}

func TestService_Create_emoji(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		made, target, err := f.notes.Create(ctx, f.stranger, f.on(f.stranger), note.Input{Body: " :+1:\n"})
		if err != nil || made.Note != nil || made.Award.Name != "thumbsup" || made.Award.TargetID != target.ID || made.Award.Kind != noteable.Issue {
			t.Fatalf("reaction = %+v, %v", made, err)
		}
		if _, total, err := list(f, f.owner, note.Filter{}); err != nil || total != 0 || f.counters() != "0 0" {
			t.Errorf("%d notes, counters %s, %v; want none", total, f.counters(), err)
		}
		_, _, err = f.notes.Create(ctx, f.stranger, f.on(f.stranger), note.Input{Body: ":thumbsup:"})
		if !errs.Is(err, errs.Conflict) || err.Error() != "name has already been taken" {
			t.Errorf("twice: %v", err)
		}
		if _, _, err := f.notes.Create(ctx, f.guest, f.on(f.guest), note.Input{Body: ":-1:"}); err != nil {
			t.Error(err)
		}
		votes, err := db.Select[string](ctx, d, "SELECT name FROM award_emoji WHERE awardable_type = 'Issue' AND awardable_id = ? ORDER BY name", target.ID)
		if want := []string{"thumbsdown", "thumbsup"}; err != nil || !slices.Equal(votes, want) {
			t.Errorf("votes = %v, %v, want %v", votes, err, want)
		}
		for _, body := range []string{":nonesuch:", ":tada: yes", "tada", "::", ":+1: :-1:"} {
			f.add(f.stranger, note.Input{Body: body})
		}
		f.add(f.planner, note.Input{Body: ":eyes:", Internal: true}) // a reaction would be seen by all
	})
}

// list reads notes and returns their bodies.
func list(f *fixture, as authz.Actor, filter note.Filter) (bodies []string, total int, err error) {
	notes, _, err := f.notes.List(ctx, as, f.on(as), filter)
	for _, n := range notes.Items {
		bodies = append(bodies, n.Body)
	}
	return bodies, notes.Total, err
}

func TestService_List(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		first := f.add(f.guest, note.Input{Body: "1"})
		f.add(f.planner, note.Input{Body: "2", Internal: true})
		past := time.Date(2001, 2, 3, 0, 0, 0, 0, time.UTC)
		f.add(f.owner, note.Input{Body: "3", CreatedAt: &past})
		err := f.notes.Record(ctx, note.System{On: noteable.Ref{Kind: noteable.Issue, ID: first.TargetID}, ProjectID: f.id, AuthorID: f.owner.UserID, At: f.Now()}, "s1", "s2")
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name string
			as   authz.Actor
			f    note.Filter
			want string
		}{
			{"newest first, by id", f.planner, note.Filter{}, "s2 s1 3 2 1"},
			{"oldest first", f.planner, note.Filter{Asc: true}, "1 2 3 s1 s2"},
			{"by change", f.planner, note.Filter{ByUpdate: true}, "s2 s1 2 1 3"},
			{"comments", f.planner, note.Filter{Activity: note.Comments}, "3 2 1"},
			{"history", f.planner, note.Filter{Activity: note.History}, "s2 s1"},
			{"guest", f.guest, note.Filter{}, "s2 s1 3 1"},
			{"author of the issue", f.author, note.Filter{}, "s2 s1 3 1"},
			{"page of a guest is full", f.guest, note.Filter{Range: page.Range{Limit: 2, Offset: 2}}, "3 1"},
		} {
			bodies, total, err := list(f, tt.as, tt.f)
			if got := strings.Join(bodies, " "); err != nil || got != tt.want {
				t.Errorf("%s: %s, %v, want %s", tt.name, got, err, tt.want)
			}
			if want := len(strings.Fields(tt.want)); tt.f.Limit == 0 && total != want {
				t.Errorf("%s: total = %d, want %d", tt.name, total, want)
			}
		}
		for activity, want := range map[note.Activity]int{note.Everything: 5, note.Comments: 3, note.History: 2} {
			found, _, err := f.notes.ListDiscussionsOf(ctx, f.planner, f.on(f.planner), activity, page.Range{Limit: 9})
			if err != nil || len(found.Items) != want {
				t.Errorf("discussions of %q: %d, %v, want %d", activity, len(found.Items), err, want)
			}
		}
		if _, _, err := list(f, authz.Actor{}, note.Filter{}); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("nobody: %v, want Unauthorized", err)
		}
		if got := f.counters(); got != "3 2" {
			t.Errorf("counters = %s, want 3 2", got)
		}
	})
}

func TestService_hidden(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		inside := f.add(f.planner, note.Input{Body: "inside", Internal: true})
		open := f.add(f.planner, note.Input{Body: "open"})
		if _, _, err := f.notes.Find(ctx, f.author, f.on(f.author), inside.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("internal note for the author of the issue: %v, want NotFound", err)
		}
		if _, _, err := f.notes.Find(ctx, f.maintainer, f.on(f.maintainer), inside.ID); err != nil {
			t.Errorf("internal note for a maintainer: %v", err)
		}
		secret := f.issue(issue.Input{Title: "secret", Attributes: issue.Attributes{Confidential: new(true)}})
		f.iid = secret.IID
		body := "x"
		for what, err := range map[string]error{
			"list":          second(list(f, f.stranger, note.Filter{})),
			"create":        last(f.notes.Create(ctx, f.stranger, f.on(f.stranger), note.Input{Body: "x"})),
			"another issue": last(f.notes.Find(ctx, f.owner, f.on(f.owner), open.ID)),
			"update there":  last(f.notes.Update(ctx, f.owner, f.on(f.owner), open.ID, note.Changes{Body: &body})),
			"delete there":  f.notes.Delete(ctx, f.owner, f.on(f.owner), open.ID),
		} {
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("%s: %v, want NotFound", what, err)
			}
		}
		f.add(f.author, note.Input{Body: "my own secret"})
		f.set("UPDATE projects SET archived = true")
		if err := last(f.notes.Create(ctx, f.author, f.on(f.author), note.Input{Body: "x"})); !errs.Is(err, errs.Forbidden) {
			t.Errorf("archived: %v, want Forbidden", err)
		}
	})
}

func last[A, B any](_ A, _ B, err error) error { return err }

func second[A, B any](_ A, _ B, err error) error { return err }

func TestService_Update_Delete(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		body, blank, yes, no := "changed", " ", true, false
		n := f.add(f.stranger, note.Input{Body: "mine"})
		for _, tt := range []struct {
			name string
			as   authz.Actor
			want errs.Kind
		}{
			{"author", f.stranger, 0},
			{"maintainer", f.maintainer, 0},
			{"administrator", f.Admin("root"), 0},
			{"planner", f.planner, errs.Forbidden},
			{"author of the issue", f.author, errs.Forbidden},
			{"nobody", authz.Actor{}, errs.Unauthorized},
		} {
			_, _, err := f.notes.Update(ctx, tt.as, f.on(tt.as), n.ID, note.Changes{Body: &body})
			if tt.want == 0 && err != nil || tt.want != 0 && errs.KindOf(err) != tt.want {
				t.Errorf("update as %s: %v, want %v", tt.name, err, tt.want)
			}
			if err := f.notes.Delete(ctx, tt.as, f.on(tt.as), n.ID); tt.want != 0 && errs.KindOf(err) != tt.want {
				t.Errorf("delete as %s: %v, want %v", tt.name, err, tt.want)
			} else if tt.want == 0 {
				if err != nil {
					t.Errorf("delete as %s: %v", tt.name, err)
				}
				n = f.add(f.stranger, note.Input{Body: "mine"})
			}
		}
		if got := f.counters(); got != "1 1" {
			t.Errorf("counters = %s, want 1 1", got)
		}
		changed, _, err := f.notes.Update(ctx, f.stranger, f.on(f.stranger), n.ID, note.Changes{Body: &body, Internal: &no})
		got := changed.Note
		if err != nil || got.Body != body || !got.UpdatedAt.After(n.UpdatedAt.Time) || got.LastEditedAt == nil || !got.LastEditedAt.Equal(got.UpdatedAt.Time) {
			t.Errorf("updated %+v, %v", got, err)
		}
		same, _, err := f.notes.Update(ctx, f.stranger, f.on(f.stranger), n.ID, note.Changes{Body: &body})
		if err != nil || !same.Note.UpdatedAt.Equal(got.UpdatedAt.Time) {
			t.Errorf("an update without a change moved the time: %v, %v", same.Note.UpdatedAt, err)
		}
		for want, c := range map[string]note.Changes{
			`confidential can not be changed for existing notes`: {Internal: &yes},
			`note can't be blank`:                                {Body: &blank},
		} {
			if _, _, err := f.notes.Update(ctx, f.stranger, f.on(f.stranger), n.ID, c); err == nil || err.Error() != want {
				t.Errorf("error = %v, want %s", err, want)
			}
		}
		before := got.UpdatedAt.Add(-time.Minute)
		if err := f.notes.Delete(ctx, since(f.stranger, before), f.on(f.stranger), n.ID); !errs.Is(err, errs.PreconditionFailed) {
			t.Errorf("delete what changed since: %v", err)
		}
		if err := f.notes.Delete(ctx, since(f.stranger, got.UpdatedAt.Time), f.on(f.stranger), n.ID); err != nil {
			t.Error(err)
		}
		if err := f.notes.Delete(ctx, f.stranger, f.on(f.stranger), n.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("delete twice: %v", err)
		}
	})
}

// names returns usernames without the package of accounts behind it.
type names map[authz.UserID]string

func (n names) ByIDs(_ context.Context, ids []authz.UserID) (map[authz.UserID]*account.Summary, error) {
	out := map[authz.UserID]*account.Summary{}
	for _, id := range ids {
		out[id] = &account.Summary{ID: id, Username: n[id]}
	}
	return out, nil
}

func TestHistory(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		history := systemnote.New(systemnote.Deps{Notes: f.notes, Users: names{f.guest.UserID: "guest", f.owner.UserID: "owner"}})
		event.On(f.Bus, "system notes", history.IssueCreated)
		event.On(f.Bus, "system notes", history.IssueUpdated)
		event.On(f.Bus, "notes", func(ctx context.Context, e issue.Deleted) error {
			return f.notes.Clear(ctx, noteable.Ref{Kind: noteable.Issue, ID: int64(e.Row().ID)})
		})
		i := f.issue(issue.Input{Title: "Old", AssigneeIDs: []authz.UserID{f.guest.UserID}})
		f.iid = i.IID
		title, text, yes, due := "New", "text", true, "2023-05-22"
		_, err := f.issues.Update(ctx, f.owner, f.Find(f.owner, f.id), i.IID, issue.Changes{
			Title: &title, DueDate: &due, StateEvent: "close",
			AssigneeIDs: &[]authz.UserID{f.owner.UserID}, Labels: label.Assignment{Add: []string{"x"}},
			Attributes: issue.Attributes{Description: &text, Confidential: &yes, DiscussionLocked: &yes},
		})
		if err != nil {
			t.Fatal(err)
		}
		f.add(f.owner, note.Input{Body: "said"})
		bodies, _, err := list(f, f.owner, note.Filter{Asc: true})
		want := []string{
			"assigned to @guest", "changed title from **{-Old-}** to **{+New+}**", "changed the description",
			"assigned to @owner and unassigned @guest", "made the issue confidential", "locked the discussion in this issue",
			"changed due date to May 22, 2023", "said",
		}
		if err != nil || !slices.Equal(bodies, want) {
			t.Errorf("history = %q, %v\nwant %q", bodies, err, want)
		}
		if got := f.counters(); got != "1 1" {
			t.Errorf("counters = %s, want 1 1: history is not counted", got)
		}
		notes, _, err := f.notes.List(ctx, f.owner, f.on(f.owner), note.Filter{Activity: note.History, Range: page.Range{Limit: 1}})
		if err != nil || !notes.Items[0].System || notes.Items[0].AuthorID != f.owner.UserID {
			t.Fatalf("history = %+v, %v", notes, err)
		}
		body := "rewritten"
		if _, _, err := f.notes.Update(ctx, f.owner, f.on(f.owner), notes.Items[0].ID, note.Changes{Body: &body}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("history was rewritten: %v", err)
		}
		if err := f.notes.Delete(ctx, f.Admin("root"), f.on(f.owner), notes.Items[0].ID); !errs.Is(err, errs.Forbidden) {
			t.Errorf("history was deleted: %v", err)
		}
		if err := f.issues.Delete(ctx, f.owner, f.Find(f.owner, f.id), i.IID); err != nil {
			t.Fatal(err)
		}
		left, err := db.Get[int](ctx, d, "SELECT count(*) FROM notes WHERE noteable_id = ?", i.ID)
		if err != nil || left != 0 {
			t.Errorf("%d notes outlived their issue, %v", left, err)
		}
	})
}

func TestService_statements(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		for n := range 30 {
			f.add(f.guest, note.Input{Body: fmt.Sprint(n)})
		}
		for _, as := range []authz.Actor{f.owner, f.stranger} {
			count := func(limit int) int {
				return dbtest.Count(t, d, func() {
					if _, total, err := list(f, as, note.Filter{Range: page.Range{Limit: limit}}); err != nil || total != 30 {
						t.Errorf("total = %d, %v", total, err)
					}
				})
			}
			if one, many := count(1), count(20); one != many || many > 5 {
				t.Errorf("as %s: %d statements for one row, %d for twenty, want 5 at most", as.Username, one, many)
			}
		}
		made := dbtest.Count(t, d, func() { f.add(f.guest, note.Input{Body: "x"}) })
		if made > 4 { // project, issue, counter, note
			t.Errorf("creating a note took %d statements, want 4", made)
		}
	})
}

// The texts of one page are bounded together, whatever the notes are on.
func TestService_List_long(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		for n := range 9 {
			f.add(f.guest, note.Input{Body: fmt.Sprint(n) + strings.Repeat("x", 70_000)})
		}
		f.add(f.guest, note.Input{Body: "short"})
		bodies, _, err := list(f, f.owner, note.Filter{Asc: true, Range: page.Range{Limit: 10}})
		if err != nil || len(bodies) != 10 || bodies[3] != "3"+strings.Repeat("x", 70_000) || bodies[9] != "short" {
			t.Fatalf("%d notes, %v", len(bodies), err)
		}
		if _, err := d.Exec(ctx, "UPDATE notes SET body = ? WHERE body <> 'short'", strings.Repeat("\U0001F389", 1_000_000)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := list(f, f.owner, note.Filter{Asc: true, Range: page.Range{Limit: 10}}); !errs.Is(err, errs.Unprocessable) {
			t.Errorf("36 MB of notes: %v, want a refusal", err)
		}
		if bodies, _, err := list(f, f.owner, note.Filter{Range: page.Range{Limit: 9}}); err != nil || len(bodies) != 9 || len(bodies[1]) != 4_000_000 {
			t.Errorf("32 MB of notes: %d, %v", len(bodies), err)
		}
		all, err := db.Select[note.ID](ctx, d, "SELECT id FROM notes ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.notes.ByIDs(ctx, f.owner, all); !errs.Is(err, errs.Unprocessable) {
			t.Errorf("36 MB of notes by id: %v, want a refusal", err)
		}
		if found, err := f.notes.ByIDs(ctx, f.owner, all[:1]); err != nil || len(found[all[0]].Body) != 4_000_000 {
			t.Errorf("one long note by id: %v, %v", len(found), err)
		}
	})
}

// since is the actor with a condition.
func since(as authz.Actor, at time.Time) authz.Actor {
	as.UnmodifiedSince = at
	return as
}
