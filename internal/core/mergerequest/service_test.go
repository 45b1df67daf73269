package mergerequest_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/filter"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/noteable"
)

func TestService_Create(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.push("topic", w.tip("main"), files{"c": "c\n"}, "One")
		p := w.as(w.developer)
		text := "Text"
		yes := true
		m, target, err := w.requests.Create(t.Context(), w.developer, p, mergerequest.Input{
			SourceBranch: "topic", TargetBranch: "main", Title: "draft: [Draft] Topic", Description: &text,
			Assignees: []authz.UserID{w.maintainer.UserID, w.stranger.UserID, 999}, Reviewers: []authz.UserID{w.reporter.UserID},
			Labels: []string{"new", " bug "}, RemoveSource: &yes, Squash: &yes,
		})
		check(t, err)
		equal(t, "target", target.ID, w.id)
		got := w.read(m.IID)
		for _, m := range []*mergerequest.MergeRequest{m, got} {
			equal(t, "iid", m.IID, 1)
			equal(t, "draft", m.Draft, true)
			equal(t, "assignees", fmt.Sprint(m.Assignees), fmt.Sprint([]authz.UserID{w.maintainer.UserID}))
			equal(t, "reviewer", m.Reviewers[0].UserID, w.reporter.UserID)
			equal(t, "labels", strings.Join(label.Titles(m.Labels), ","), "bug,new")
			equal(t, "squash", m.Squash, true)
			equal(t, "remove source", *m.ForceRemoveSource, true)
			equal(t, "status", m.DetailedStatus(p), "draft_status")
		}
		_, _, err = w.requests.Create(t.Context(), w.developer, p, mergerequest.Input{SourceBranch: "topic", TargetBranch: "main", Title: "x"})
		wantError(t, err, errs.Conflict, "Another open merge request already exists for this source branch: !1")
	})
}

func TestService_Create_refusals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		other := w.Project("group/other", authz.Private, w.groupID())
		hidden := w.Project("group/hidden", authz.Private, w.groupID())
		w.Join(other, w.developer, authz.Developer)
		good := mergerequest.Input{SourceBranch: "topic", TargetBranch: "main", Title: "x"}
		with := func(change func(*mergerequest.Input)) mergerequest.Input { in := good; change(&in); return in }
		for _, row := range []struct {
			name string
			who  authz.Actor
			in   mergerequest.Input
			kind errs.Kind
			text string
		}{
			{"reporter", w.reporter, good, errs.Forbidden, ""},
			{"unknown target", w.developer, with(func(in *mergerequest.Input) { in.Target = 999 }), errs.NotFound, ""},
			{"hidden target", w.developer, with(func(in *mergerequest.Input) { in.Target = hidden }), errs.NotFound, ""},
			{"no fork", w.developer, with(func(in *mergerequest.Input) { in.Target = other }), errs.Unprocessable, "Source project is not a fork of the target project"},
			{"same branch", w.developer, with(func(in *mergerequest.Input) { in.TargetBranch = "topic" }), errs.Unprocessable, "You can't use same project/branch for source and target"},
			{"bad ref", w.developer, with(func(in *mergerequest.Input) { in.SourceBranch = "a..b" }), errs.Invalid, "source_branch is invalid"},
			{"dash", w.developer, with(func(in *mergerequest.Input) { in.TargetBranch = "--all" }), errs.Invalid, "target_branch is invalid"},
			{"blank title", w.developer, with(func(in *mergerequest.Input) { in.Title = " " }), errs.Invalid, "title can't be blank"},
			{"long title", w.developer, with(func(in *mergerequest.Input) { in.Title = strings.Repeat("x", 256) }), errs.Invalid, "title is too long (maximum is 255 characters)"},
			{"long text", w.developer, with(func(in *mergerequest.Input) { s := strings.Repeat("x", 1<<20+1); in.Description = &s }), errs.Invalid, "description is too long (maximum is 1048576 characters)"},
			{"many people", w.developer, with(func(in *mergerequest.Input) { in.Reviewers = make([]authz.UserID, 201) }), errs.Invalid, "reviewers total must be less than or equal to 200"},
		} {
			_, _, err := w.requests.Create(t.Context(), row.who, w.as(row.who), row.in)
			if err == nil || !errs.Is(err, row.kind) || !strings.Contains(err.Error(), row.text) {
				t.Errorf("%s: got %v, want %s %q", row.name, err, row.kind, row.text)
			}
		}
		n, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM merge_requests")
		check(t, err)
		equal(t, "requests", n, 0)
		w.exec("UPDATE projects SET merge_requests_access = 0 WHERE id = ?", w.id)
		_, _, err = w.requests.Create(t.Context(), w.developer, w.as(w.developer), good)
		wantError(t, err, errs.Forbidden, "")
	})
}

func TestService_Find_permissions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		_, err := w.requests.Find(t.Context(), authz.Actor{}, w.as(w.owner), m.IID)
		wantError(t, err, errs.Unauthorized, "")
		_, err = w.requests.Find(t.Context(), w.guest, w.as(w.guest), m.IID)
		wantError(t, err, errs.NotFound, "")
		_, err = w.requests.List(t.Context(), w.guest, w.as(w.guest).Place(), mergerequest.Filter{})
		wantError(t, err, errs.Forbidden, "")
		_, err = w.requests.Locate(t.Context(), w.guest, w.as(w.guest).Place(), noteable.Key{Number: int64(m.IID)})
		wantError(t, err, errs.NotFound, "")
		target, err := w.requests.Locate(t.Context(), w.developer, w.as(w.developer).Place(), noteable.Key{Number: int64(m.IID)})
		check(t, err)
		equal(t, "own", target.Subject.Own, true)
		n, err := w.requests.CountNotes(t.Context(), target.Ref, noteable.Counts{Notes: 1}, w.Now())
		check(t, err)
		equal(t, "notes", n.Notes, 1)
		equal(t, "what a reporter counts", w.read(m.IID).VisibleNotes, 1)
		w.exec("UPDATE projects SET merge_requests_access = 20 WHERE id = ?", w.id)
		w.exec("UPDATE namespaces SET visibility = 20")
		public, err := w.requests.Find(t.Context(), w.stranger, w.as(w.stranger), m.IID)
		check(t, err)
		equal(t, "what a stranger counts", public.VisibleNotes, 0)
	})
}

func TestService_Update(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		update := func(who authz.Actor, c mergerequest.Changes) (*mergerequest.MergeRequest, error) {
			return w.requests.Update(t.Context(), who, w.as(who), m.IID, c)
		}
		title, text, yes := "Draft: new", "new text", true
		_, err := update(w.reporter, mergerequest.Changes{Title: &title})
		wantError(t, err, errs.Forbidden, "")
		_, err = update(w.guest, mergerequest.Changes{Title: &title})
		wantError(t, err, errs.NotFound, "")
		got, err := update(w.developer, mergerequest.Changes{
			Title: &title, Description: &text, DiscussionLocked: &yes, Squash: &yes, Assignees: &[]authz.UserID{w.reporter.UserID, w.owner.UserID},
			Reviewers: &[]authz.UserID{w.owner.UserID}, Labels: label.Assignment{Add: []string{"a", "b"}},
		})
		check(t, err)
		equal(t, "title", got.Title, title)
		equal(t, "draft", got.Draft, true)
		equal(t, "assignees", len(got.Assignees), 2)
		equal(t, "reviewers", len(got.Reviewers), 1)
		equal(t, "labels", strings.Join(label.Titles(got.Labels), ","), "a,b")
		got, err = update(w.developer, mergerequest.Changes{Assignees: &[]authz.UserID{}, Reviewers: &[]authz.UserID{w.reporter.UserID}, Labels: label.Assignment{Set: &[]string{}}})
		check(t, err)
		equal(t, "assignees", len(got.Assignees), 0)
		equal(t, "reviewer", got.Reviewers[0].UserID, w.reporter.UserID)
		equal(t, "labels", len(got.Labels), 0)
		equal(t, "text stays", got.Text(), text)

		w.push("next", w.tip("main"), files{"x": "x"}, "Next")
		next := "next"
		got, err = update(w.developer, mergerequest.Changes{TargetBranch: &next})
		check(t, err)
		equal(t, "target", got.TargetBranch, "next")
		equal(t, "start", got.StartSHA, w.tip("next"))
		equal(t, "versions", len(w.versions(m.IID)), 2)
		same := "topic"
		_, err = update(w.developer, mergerequest.Changes{TargetBranch: &same})
		wantError(t, err, errs.Unprocessable, "You can't use same project/branch")

		w.exec("UPDATE merge_requests SET author_id = ? WHERE id = ?", w.reporter.UserID, m.ID)
		got, err = update(w.reporter, mergerequest.Changes{Description: &title, Labels: label.Assignment{Add: []string{"c"}}, Assignees: &[]authz.UserID{w.owner.UserID}})
		check(t, err)
		equal(t, "an author changes the text", got.Text(), title)
		equal(t, "but no metadata", len(got.Labels)+len(got.Assignees), 0)
	})
}

func TestService_Update_state(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		event := func(iid mergerequest.IID, e mergerequest.Event) (*mergerequest.MergeRequest, error) {
			return w.requests.Update(t.Context(), w.developer, w.as(w.developer), iid, mergerequest.Changes{Event: e})
		}
		got, err := event(m.IID, mergerequest.Close)
		check(t, err)
		equal(t, "state", got.State, mergerequest.StateClosed)
		equal(t, "closed by", *got.ClosedByID, w.developer.UserID)
		equal(t, "detailed status", got.DetailedStatus(w.as(w.owner)), "not_open")
		again, err := event(m.IID, mergerequest.Close)
		check(t, err)
		equal(t, "closing twice changes nothing", again.UpdatedAt, got.UpdatedAt)
		head := w.push("topic", "", files{"c": "more\n"}, "More")
		twin := w.create(mergerequest.Input{SourceBranch: "topic", TargetBranch: "main", Title: "Twin"})
		_, err = event(m.IID, mergerequest.Reopen)
		wantError(t, err, errs.Conflict, "already exists for this source branch: !2")
		_, err = event(twin.IID, mergerequest.Close)
		check(t, err)
		got, err = event(m.IID, mergerequest.Reopen)
		check(t, err)
		equal(t, "state", got.State, mergerequest.StateOpened)
		equal(t, "head", got.HeadSHA, head)
		if got.ClosedAt != nil || got.ClosedByID != nil {
			t.Errorf("closed: got %v by %v, want nothing", got.ClosedAt, got.ClosedByID)
		}
		_, err = w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		check(t, err)
		for _, e := range []mergerequest.Event{mergerequest.Close, mergerequest.Reopen} {
			got, err = event(m.IID, e)
			check(t, err)
			equal(t, "state of a merged one", got.State, mergerequest.StateMerged)
		}
	})
}

func TestService_Delete(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		for _, who := range []authz.Actor{w.developer, w.maintainer} {
			wantError(t, w.requests.Delete(t.Context(), who, w.as(who), m.IID), errs.Forbidden, "")
		}
		late := w.owner
		late.UnmodifiedSince = m.UpdatedAt.Add(-time.Hour)
		wantError(t, w.requests.Delete(t.Context(), late, w.as(w.owner), m.IID), errs.PreconditionFailed, "")
		check(t, w.requests.Delete(t.Context(), w.owner, w.as(w.owner), m.IID))
		_, err := w.requests.Find(t.Context(), w.owner, w.as(w.owner), m.IID)
		wantError(t, err, errs.NotFound, "")
		equal(t, "head", w.ref("refs/merge-requests/1/head"), "")
		equal(t, "the next number", w.open("other", files{"d": "d"}).IID, 2)
	})
}

func TestService_List(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		one := w.open("one", files{"c": "c"})
		two := w.open("two", files{"d": "d"})
		three := w.open("three", files{"e": "e"})
		text := "the Quick brown"
		many := make([]string, 1500)
		for i := range many {
			many[i] = fmt.Sprint("l", i)
		}
		draft := "Draft: Two"
		_, err := w.requests.Update(t.Context(), w.developer, w.as(w.developer), two.IID, mergerequest.Changes{
			Title: &draft, Description: &text, Assignees: &[]authz.UserID{w.owner.UserID}, Reviewers: &[]authz.UserID{w.reporter.UserID},
			Labels: label.Assignment{Add: []string{"a", "b", "c2", "d2"}},
		})
		check(t, err)
		_, err = w.requests.Update(t.Context(), w.developer, w.as(w.developer), three.IID, mergerequest.Changes{
			Event: mergerequest.Close, Labels: label.Assignment{Add: []string{"a"}},
		})
		check(t, err)
		yes, no := true, false
		w.Insert("award_emoji", coretest.Row{"name": "tada", "user_id": w.reporter.UserID, "awardable_type": "MergeRequest", "awardable_id": two.ID})
		w.Insert("award_emoji", coretest.Row{"name": "tada", "user_id": w.owner.UserID, "awardable_type": "MergeRequest", "awardable_id": one.ID})
		w.Insert("award_emoji", coretest.Row{"name": "tada", "user_id": w.reporter.UserID, "awardable_type": "Issue", "awardable_id": three.ID})
		for _, row := range []struct {
			name string
			f    mergerequest.Filter
			want string
		}{
			{"all", mergerequest.Filter{}, "3 2 1"},
			{"ascending", mergerequest.Filter{Asc: true}, "1 2 3"},
			{"by title", mergerequest.Filter{OrderBy: "title", Asc: true}, "1 3 2"},
			{"by change", mergerequest.Filter{OrderBy: "updated_at"}, "3 2 1"},
			{"by merge", mergerequest.Filter{OrderBy: "merged_at"}, "3 2 1"},
			{"state", mergerequest.Filter{State: mergerequest.StateOpened}, "2 1"},
			{"numbers", mergerequest.Filter{IIDs: []mergerequest.IID{1, 3, 9}}, "3 1"},
			{"author", mergerequest.Filter{Author: filter.Person{Username: "DAVE"}}, "3 2 1"},
			{"unknown author", mergerequest.Filter{Author: filter.Person{Username: "nobody"}}, ""},
			{"assignee", mergerequest.Filter{Assignee: filter.Person{ID: w.owner.UserID}}, "2"},
			{"assigned", mergerequest.Filter{Assignee: filter.Person{Any: true}}, "2"},
			{"unassigned", mergerequest.Filter{Assignee: filter.Person{None: true}}, "3 1"},
			{"assigned to me", mergerequest.Filter{AssignedToMe: true}, ""},
			{"reviews for me", mergerequest.Filter{ReviewsForMe: true}, "2"},
			{"by me", mergerequest.Filter{CreatedByMe: true}, ""},
			{"by label priority", mergerequest.Filter{OrderBy: "label_priority"}, "3 2 1"},
			{"reviewer", mergerequest.Filter{Reviewer: filter.Person{Username: "rita"}}, "2"},
			{"not that reviewer", mergerequest.Filter{Not: mergerequest.Exclusion{Reviewer: filter.Person{ID: w.reporter.UserID}}}, "3 1"},
			{"label", mergerequest.Filter{Labels: []string{"a"}}, "3 2"},
			{"both labels", mergerequest.Filter{Labels: []string{"a", "b"}}, "2"},
			{"many labels", mergerequest.Filter{Labels: []string{"a", "b", "a", "c", "d"}}, ""},
			{"all of many labels", mergerequest.Filter{Labels: []string{"a", "b", "c2", "d2"}}, "2"},
			{"any label", mergerequest.Filter{Labels: []string{"ANY"}}, "3 2"},
			{"no label", mergerequest.Filter{Labels: []string{"None"}}, "1"},
			{"not that label", mergerequest.Filter{Not: mergerequest.Exclusion{Not: filter.Not{Labels: []string{"b"}}}}, "3 1"},
			{"none of the labels", mergerequest.Filter{Not: mergerequest.Exclusion{Not: filter.Not{Labels: []string{"b", "a", "x"}}}}, "1"},
			{"labels without end", mergerequest.Filter{Labels: many, Not: mergerequest.Exclusion{Not: filter.Not{Labels: many}}}, ""},
			{"milestone", mergerequest.Filter{Milestone: filter.MilestoneNamed("v1")}, ""},
			{"no milestone", mergerequest.Filter{Milestone: filter.MilestoneNamed("None")}, "3 2 1"},
			{"source", mergerequest.Filter{Selection: mergerequest.Selection{SourceBranch: "one"}}, "1"},
			{"target", mergerequest.Filter{Selection: mergerequest.Selection{TargetBranch: "none"}}, ""},
			{"source project", mergerequest.Filter{Selection: mergerequest.Selection{SourceProject: w.id}}, "3 2 1"},
			{"drafts", mergerequest.Filter{Draft: &yes}, "2"},
			{"no drafts", mergerequest.Filter{Draft: &no}, "3 1"},
			{"words", mergerequest.Filter{Selection: mergerequest.Selection{Search: `quick "the q"`}}, "2"},
			{"words of two fields", mergerequest.Filter{Selection: mergerequest.Selection{Search: "two quick"}}, ""},
			{"words of one field", mergerequest.Filter{Selection: mergerequest.Selection{Search: "two draft"}}, "2"},
			{"a phrase", mergerequest.Filter{Selection: mergerequest.Selection{Search: `"quick the"`}}, ""},
			{"reaction", mergerequest.Filter{Selection: mergerequest.Selection{Reaction: "tada"}}, "2"},
			{"any reaction", mergerequest.Filter{Selection: mergerequest.Selection{Reaction: "Any"}}, "2"},
			{"no reaction", mergerequest.Filter{Selection: mergerequest.Selection{Reaction: "None"}}, "3 1"},
			{"another reaction", mergerequest.Filter{Selection: mergerequest.Selection{Reaction: "rocket"}}, ""},
			{"not that reaction", mergerequest.Filter{Not: mergerequest.Exclusion{Not: filter.Not{Reaction: "tada"}}}, "3 1"},
			{"in titles", mergerequest.Filter{Selection: mergerequest.Selection{Search: "quick"}, In: []string{"title"}}, ""},
			{"escaped", mergerequest.Filter{Selection: mergerequest.Selection{Search: "%"}}, ""},
			{"time", mergerequest.Filter{Times: filter.Times{CreatedAfter: &two.CreatedAt.Time}}, "3 2"},
			{"until", mergerequest.Filter{Times: filter.Times{CreatedBefore: &one.CreatedAt.Time}}, "1"},
			{"deployed", mergerequest.Filter{Deployed: mergerequest.Deployed{Environment: "production"}}, ""},
			{"page", mergerequest.Filter{Range: page.Range{Limit: 1, Offset: 1}}, "2"},
		} {
			page, err := w.requests.List(t.Context(), w.reporter, w.as(w.reporter).Place(), row.f)
			check(t, err)
			var got []string
			for _, m := range page.Items {
				got = append(got, fmt.Sprint(m.IID))
			}
			equal(t, row.name, strings.Join(got, " "), row.want)
		}
		page, err := w.requests.List(t.Context(), w.reporter, w.as(w.reporter).Place(), mergerequest.Filter{Range: page.Range{Limit: 2}})
		check(t, err)
		equal(t, "total", page.Total, 3)
	})
}

// What lists across projects show is what Find shows.
func TestService_List_visibility(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c"})
		group := coretest.GroupAt(w.groupID(), authz.Public)
		auditor, outside := w.User("audrey"), w.User("otto")
		auditor.Auditor, outside.External = true, true
		admin := w.Admin("ada")
		everybody := []authz.Actor{w.owner, w.developer, w.reporter, w.guest, w.stranger, auditor, outside, admin}
		for _, visibility := range []authz.Visibility{authz.Private, authz.Internal, authz.Public} {
			for _, access := range []string{"20, 20", "20, 10", "10, 20", "0, 20"} {
				requests, code, _ := strings.Cut(access, ", ")
				w.exec("UPDATE namespaces SET visibility = ? WHERE kind = 'project'", visibility)
				w.exec("UPDATE projects SET merge_requests_access = " + requests + ", repository_access = " + code)
				for _, who := range everybody {
					want := 0
					p, err := w.Projects.FindByID(t.Context(), who, w.id)
					if err == nil {
						if _, err := w.requests.Find(t.Context(), who, p, m.IID); err == nil {
							want = 1
						}
					}
					page, err := w.requests.List(t.Context(), who, authz.Place{}, mergerequest.Filter{})
					check(t, err)
					name := fmt.Sprintf("%s, %s, %s", who.Username, visibility, access)
					equal(t, name, page.Total, want)
					page, err = w.requests.List(t.Context(), who, group, mergerequest.Filter{})
					check(t, err)
					equal(t, name+", group", page.Total, want)
				}
			}
		}
		_, err := w.requests.List(t.Context(), authz.Actor{}, authz.Place{}, mergerequest.Filter{})
		wantError(t, err, errs.Unauthorized, "")
	})
}

func (w *world) groupID() authz.NamespaceID {
	w.T.Helper()
	id, err := db.Get[authz.NamespaceID](w.T.Context(), w.DB, "SELECT id FROM namespaces WHERE kind = 'group'")
	check(w.T, err)
	return id
}

// A list costs as many statements and processes whatever its length.
func TestService_List_statements(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.open("b0", files{"f0": "x"})
		p := w.as(w.reporter)
		count := func(list func() error) int {
			return dbtest.Count(t, w.DB, func() { check(t, list()) })
		}
		inProject := func() error {
			_, err := w.requests.List(t.Context(), w.reporter, p.Place(), mergerequest.Filter{Range: page.Range{Limit: 1}})
			return err
		}
		everywhere := func() error {
			_, err := w.requests.List(t.Context(), w.reporter, authz.Place{}, mergerequest.Filter{Range: page.Range{Limit: 50}})
			return err
		}
		one, all := count(inProject), count(everywhere)
		for i := 1; i < 12; i++ {
			w.open(fmt.Sprintf("b%d", i), files{fmt.Sprintf("f%d", i): "x"})
		}
		equal(t, "statements of a longer list", count(inProject), one)
		equal(t, "statements of a longer list everywhere", count(everywhere), all)
		if one > 4 || all > 5 {
			t.Errorf("statements: got %d and %d, want 4 and 5 at most", one, all)
		}
	})
}

// Of several equal requests at the same moment one is made, and of several that are led
// to one branch one gets there; the others hear why not.
func TestService_equalAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.push("topic", w.tip("main"), files{"c": "c\n"}, "One")
		p := w.as(w.developer)
		atOnce := func(n int, do func(i int) error) {
			t.Helper()
			fails := make([]error, n)
			var wg sync.WaitGroup
			for i := range fails {
				wg.Go(func() { fails[i] = do(i) })
			}
			wg.Wait()
			won := 0
			for _, err := range fails {
				if err == nil {
					won++
				} else if !errs.Is(err, errs.Conflict) {
					t.Errorf("got %v, want a conflict", err)
				}
			}
			equal(t, "won", won, 1)
		}
		atOnce(8, func(int) error {
			_, _, err := w.requests.Create(t.Context(), w.developer, p, mergerequest.Input{SourceBranch: "topic", TargetBranch: "main", Title: "x"})
			return err
		})
		var made []mergerequest.IID
		for _, target := range []string{"left", "right", "up", "down"} {
			w.push(target, w.tip("main"), files{target: "x\n"}, target)
			made = append(made, w.create(mergerequest.Input{SourceBranch: "topic", TargetBranch: target, Title: target}).IID)
		}
		w.push("goal", w.tip("main"), files{"goal": "x\n"}, "goal")
		goal := "goal"
		atOnce(len(made), func(i int) error {
			_, err := w.requests.Update(t.Context(), w.developer, p, made[i], mergerequest.Changes{TargetBranch: &goal})
			return err
		})
	})
}
