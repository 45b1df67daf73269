package issue_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/core/weburl"
)

// fixture is a public project with a user at each level.
type fixture struct {
	*coretest.World
	issues *issue.Service
	labels *label.Service
	id     project.ID

	owner, planner, reporter, guest, stranger authz.Actor
}

var ctx = context.Background()

func setUp(t *testing.T, d *db.DB) *fixture {
	t.Helper()
	w := coretest.New(t, d)
	f := &fixture{World: w}
	f.labels = label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
	f.issues = issue.New(issue.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Labels: f.labels, Iterations: iteration.New(iteration.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}), Milestones: milestone.New(milestone.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}), Now: w.Now, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, "")})
	f.issues.Connect(issue.Above{Commands: alonetest.Commands{}})
	f.issues.Subscribe(w.Bus)
	group := w.Group("team", authz.Public, 0)
	f.id = w.Project("team/app", authz.Public, group)
	f.owner, f.planner, f.reporter = w.User("owner"), w.User("planner"), w.User("reporter")
	f.guest, f.stranger = w.User("guest"), w.User("stranger")
	w.Join(f.id, f.owner, authz.Owner)
	w.Join(f.id, f.planner, authz.Planner)
	w.Join(f.id, f.reporter, authz.Reporter)
	w.Join(f.id, f.guest, authz.Guest)
	return f
}

func (f *fixture) create(as authz.Actor, in issue.Input) *issue.Issue {
	f.T.Helper()
	if in.Title == "" {
		in.Title = "An issue"
	}
	i, err := f.issues.Create(ctx, as, f.Find(as, f.id), in)
	if err != nil {
		f.T.Fatalf("create issue as %s: %v", as.Username, err)
	}
	return i
}

func (f *fixture) set(query string, args ...any) {
	f.T.Helper()
	if _, err := f.DB.Exec(ctx, query, args...); err != nil {
		f.T.Fatal(err)
	}
}

func wantKind(t *testing.T, err error, kind errs.Kind) {
	t.Helper()
	if err == nil || errs.KindOf(err) != kind {
		t.Errorf("error = %v, want one of kind %v", err, kind)
	}
}

func TestService_Create(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		var published []string
		event.On(f.Bus, "test", func(_ context.Context, e issue.Created) error {
			published = append(published, e.Row().Title+" by "+e.By.Username)
			return nil
		})
		due, text := "2023-06-01", "What it is"
		i := f.create(f.planner, issue.Input{
			Title: "  First  ", DueDate: &due, Labels: []string{"b", "a", "b", ""},
			AssigneeIDs: []authz.UserID{f.guest.UserID, f.guest.UserID, 9999},
			Attributes:  issue.Attributes{Description: &text, Confidential: new(true)},
		})
		if i.IID != 1 || i.Title != "First" || i.State != issue.StateOpened || i.Type != issue.Plain {
			t.Errorf("created %+v", i)
		}
		got, err := f.issues.Find(ctx, f.guest, f.Find(f.guest, f.id), 1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a", "b"}, label.Titles(got.Labels)); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		if !slices.Equal(got.Assignees, []authz.UserID{f.guest.UserID}) || *got.Description != text || *got.DueDate != due || !got.Confidential {
			t.Errorf("found %+v", got)
		}
		if diff := cmp.Diff([]string{"First by planner"}, published); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}

		// Guests and strangers set everything on what they create, but make no labels.
		i = f.create(f.stranger, issue.Input{Labels: []string{"a", "new"}, IID: 77, Attributes: issue.Attributes{Confidential: new(true)}})
		if i.IID != 2 || len(i.Labels) != 1 || !i.Confidential {
			t.Errorf("created by a stranger: %+v", i)
		}
		// Owners choose number and time, and the counter follows.
		old := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
		i = f.create(f.owner, issue.Input{IID: 50, CreatedAt: &old})
		if i.IID != 50 || !i.CreatedAt.Equal(old) {
			t.Errorf("created by the owner: %+v", i)
		}
		if i = f.create(f.owner, issue.Input{}); i.IID != 51 {
			t.Errorf("next number = %d, want 51", i.IID)
		}
	})
}

func TestService_Create_refused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		f.create(f.owner, issue.Input{IID: 5})
		long, tooLong, badDate, minus := strings.Repeat("x", 255), strings.Repeat("\u00e9", 256), "2023-13-01", int64(-1)
		for _, tt := range []struct {
			name string
			as   authz.Actor
			in   issue.Input
			want string
		}{
			{"anonymous", authz.Actor{}, issue.Input{Title: "x"}, "unauthorized"},
			{"blank title", f.owner, issue.Input{Title: " "}, "title can't be blank"},
			{"long title", f.owner, issue.Input{Title: tooLong}, "title is too long (maximum is 255 characters)"},
			{"due date", f.owner, issue.Input{Title: long, DueDate: &badDate}, "due_date is invalid"},
			{"weight", f.owner, issue.Input{Title: long, Weight: &minus}, "weight must be greater than or equal to 0"},
			{"number taken", f.owner, issue.Input{Title: "x", IID: 5}, "create issue: Duplicated issue"},
		} {
			_, err := f.issues.Create(ctx, tt.as, f.Find(tt.as, f.id), tt.in)
			if got := errText(err); got != tt.want && "create issue: "+got != tt.want {
				t.Errorf("%s: error = %q, want %q", tt.name, got, tt.want)
			}
		}
		if err := lastError(f.issues.Create(ctx, f.owner, f.Find(f.owner, f.id), issue.Input{Title: "x", IID: 5})); !errs.Is(err, errs.Conflict) {
			t.Errorf("number taken: %v, want Conflict", err)
		}
		f.set("UPDATE projects SET archived = true")
		wantKind(t, lastError(f.issues.Create(ctx, f.owner, f.Find(f.owner, f.id), issue.Input{Title: "x"})), errs.Forbidden)
		f.set("UPDATE projects SET archived = false, issues_access = 0")
		wantKind(t, lastError(f.issues.Create(ctx, f.owner, f.Find(f.owner, f.id), issue.Input{Title: "x"})), errs.Forbidden)
		f.set("UPDATE projects SET issues_access = 10")
		f.create(f.guest, issue.Input{})
		wantKind(t, lastError(f.issues.Create(ctx, f.stranger, f.Find(f.stranger, f.id), issue.Input{Title: "x"})), errs.Forbidden)
	})
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func lastError[T any](_ T, err error) error { return err }

func TestService_Create_parallel(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		const n = 64
		p := f.Find(f.owner, f.id)
		iids := make([]int, n)
		var wg sync.WaitGroup
		for k := range n {
			wg.Go(func() {
				i, err := f.issues.Create(ctx, f.owner, p, issue.Input{Title: "parallel", Labels: []string{"new"}})
				if err != nil {
					t.Errorf("create: %v", err)
					return
				}
				iids[k] = int(i.IID)
			})
		}
		wg.Wait()
		slices.Sort(iids)
		for k, iid := range iids {
			if iid != k+1 {
				t.Fatalf("numbers = %v, want 1 to %d without gaps", iids, n)
			}
		}
	})
}

func TestService_Find_hidden(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		secret := f.create(f.stranger, issue.Input{AssigneeIDs: []authz.UserID{f.guest.UserID}, Attributes: issue.Attributes{Confidential: new(true)}})
		other := f.User("other")
		for _, tt := range []struct {
			name string
			as   authz.Actor
			want bool
		}{
			{"author", f.stranger, true},
			{"assignee", f.guest, true},
			{"planner", f.planner, true},
			{"administrator", f.Admin("admin"), true},
			{"auditor", authz.Actor{UserID: other.UserID, Auditor: true}, true},
			{"somebody", other, false},
			{"nobody", authz.Actor{}, false},
		} {
			p := f.Find(tt.as, f.id)
			_, err := f.issues.Find(ctx, tt.as, p, secret.IID)
			found, lerr := f.issues.List(ctx, tt.as, p.Place(), issue.Filter{Range: page.Range{Limit: 20}})
			stats, serr := f.issues.Statistics(ctx, tt.as, p.Place(), issue.Filter{})
			if lerr != nil || serr != nil {
				t.Fatal(lerr, serr)
			}
			if tt.want {
				if err != nil || found.Total != 1 || len(found.Items) != 1 || stats.Opened != 1 {
					t.Errorf("%s: find %v, list %d of %d, statistics %+v; want to see it", tt.name, err, len(found.Items), found.Total, stats)
				}
				continue
			}
			if !errs.Is(err, errs.NotFound) || found.Total != 0 || len(found.Items) != 0 || stats.Opened != 0 {
				t.Errorf("%s: find %v, list %d of %d, statistics %+v; want nothing", tt.name, err, len(found.Items), found.Total, stats)
			}
		}
		_, err := f.issues.Find(ctx, f.owner, f.Find(f.owner, f.id), 99)
		wantKind(t, err, errs.NotFound)
		if _, err := f.issues.FindAny(ctx, f.owner, secret.ID); !errs.Is(err, errs.Forbidden) {
			t.Errorf("FindAny as owner: %v, want Forbidden", err)
		}
		if i, err := f.issues.FindAny(ctx, f.Admin("root"), secret.ID); err != nil || i.ID != secret.ID {
			t.Errorf("FindAny as administrator: %v, %v", i, err)
		}
	})
}
