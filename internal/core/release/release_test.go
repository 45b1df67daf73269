package release_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/release"
	"tenon/internal/core/repo"
)

// world is a project with a repository whose releases are made.
type world struct {
	*approvaltest.World
	releases   *release.Service
	milestones *milestone.Service
	published  []string
	mu         sync.Mutex
}

func (w *world) hear(what string) func(tag string) error {
	return func(tag string) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.published = append(w.published, what+" "+tag)
		return nil
	}
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{World: approvaltest.New(t, d)}
		w.milestones = milestone.New(milestone.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now, URLs: w.URLs})
		w.releases = release.New(release.Deps{
			DB: d, Policy: w.Policy, Bus: w.Bus, Accounts: w.Accounts, Projects: w.Projects, Protections: w.Protections, Repos: w.Repos,
			Milestones: w.milestones, Jobs: w, URLs: w.URLs, Log: slog.New(slog.DiscardHandler), Now: w.Now,
		})
		w.releases.Subscribe(w.Bus)
		event.On(w.Bus, "test", func(_ context.Context, e release.Created) error { return w.hear("created")(e.After.Tag) })
		event.On(w.Bus, "test", func(_ context.Context, e release.Updated) error { return w.hear("updated")(e.After.Tag) })
		event.On(w.Bus, "test", func(_ context.Context, e release.Deleted) error { return w.hear("deleted")(e.Before.Tag) })
		w.Start(w.releases.RegisterJobs)
		fn(t, w)
	})
}

func (w *world) create(as authz.Actor, in release.Input) error {
	w.T.Helper()
	_, err := w.releases.Create(w.T.Context(), as, w.As(as), in)
	return err
}

func want(t *testing.T, err error, kind errs.Kind, text string) {
	t.Helper()
	if !errs.Is(err, kind) || text != "" && err.Error() != text {
		t.Errorf("got %v, want %v %q", err, kind, text)
	}
}

// A developer releases a new tag with a link and milestones of the project and its group, changes the release and deletes it; the tag stays.
// What breaks a rule is refused in the order of the contract.
func TestService_Create(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, dev, p := t.Context(), w.Developer, w.As(w.Developer)
		own, err := w.milestones.Create(ctx, w.Owner, p.Place(), milestone.Input{Title: "one"})
		if err != nil {
			t.Fatal(err)
		}
		wanted := release.Milestones{Titles: []string{"one"}}
		want(t, w.create(w.Reporter, release.Input{Tag: "v1", Ref: "main"}), errs.Forbidden, "")
		want(t, w.create(dev, release.Input{Tag: "v1"}), errs.Unprocessable, "Ref is not specified")
		want(t, w.create(dev, release.Input{Tag: "v1", Ref: "nowhere"}), errs.Unprocessable, "Target nowhere is invalid")
		want(t, w.create(dev, release.Input{Tag: "v1", Milestones: release.Milestones{Titles: []string{"a", "one", "b"}}}), errs.Invalid, "Milestone(s) not found: a, b")
		want(t, w.create(dev, release.Input{Tag: "v1", Milestones: release.Milestones{IDs: []milestone.ID{99}}}), errs.Invalid, "Milestone id(s) not found: 99")
		want(t, w.create(dev, release.Input{Tag: "v1", Milestones: release.Milestones{Titles: []string{"one"}, IDs: []milestone.ID{own.ID}}}), errs.Invalid,
			"milestones, milestone_ids Cannot specify milestones and milestone_ids at the same time")
		path := "/bin/tool"
		link := release.LinkInput{Name: "tool", URL: "https://example.com/tool", Path: &path, Type: release.LinkPackage}
		want(t, w.create(dev, release.Input{Tag: "v1", Ref: "main", Links: []release.LinkInput{link, link}}), errs.Invalid, "Validation failed: Links name has already been taken, Links url has already been taken, Links filepath has already been taken")
		want(t, w.create(dev, release.Input{Tag: "v1", Ref: "main", Links: []release.LinkInput{{Name: "x", URL: "javascript:alert(1)"}}}), errs.Invalid, "Validation failed: Links url is blocked: URI is invalid")
		if len(w.published) > 0 {
			t.Errorf("published before anything was created: %v", w.published)
		}
		text := "The *first*"
		if err := w.create(dev, release.Input{Tag: "v1", Ref: "main", TagMessage: "One", Description: &text, Milestones: wanted, Links: []release.LinkInput{link}}); err != nil {
			t.Fatal(err)
		}
		want(t, w.create(dev, release.Input{Tag: "v1", Ref: "main"}), errs.Conflict, "Release already exists")
		tag, err := w.Repos.FindTag(ctx, dev, p, "v1")
		if err != nil || tag.Message == nil || *tag.Message != "One" {
			t.Fatalf("tag: %+v, %v", tag, err)
		}
		r, err := w.releases.Find(ctx, w.Reporter, p, "v1")
		if err != nil || r.Name != "v1" || r.SHA == nil || *r.SHA != tag.Commit.ID.String() || r.Pending != nil {
			t.Fatalf("release: %+v, %v", r, err)
		}
		v, err := w.releases.View(ctx, w.Reporter, w.As(w.Reporter), r)
		if err != nil || v.Commit == nil || v.Author == nil || v.Author.Username != "dave" || len(v.Links) != 1 || len(v.Milestones) != 1 || v.Tag != "v1" {
			t.Errorf("view: %+v, %v", v, err)
		}
		name := "First"
		if _, err := w.releases.Update(ctx, dev, p, "v1", release.Changes{Name: &name, Milestones: release.Milestones{Titles: []string{}}}); err != nil {
			t.Error(err)
		}
		_, err = w.releases.Update(ctx, dev, p, "v1", release.Changes{})
		want(t, err, errs.Invalid, "params is empty")
		_, err = w.releases.Update(ctx, w.Reporter, w.As(w.Reporter), "v1", release.Changes{Name: &name})
		want(t, err, errs.Forbidden, "")
		was, err := w.releases.Delete(ctx, dev, p, "v1")
		if err != nil || was.Name != "First" || len(was.Milestones) != 0 || len(was.Links) != 1 {
			t.Errorf("deleted: %+v, %v", was, err)
		}
		_, err = w.releases.Find(ctx, dev, p, "v1")
		want(t, err, errs.NotFound, "")
		if _, err := w.Repos.FindTag(ctx, dev, p, "v1"); err != nil {
			t.Errorf("the tag of a deleted release: %v", err)
		}
		if got := strings.Join(w.published, ", "); got != "created v1, updated v1, deleted v1" {
			t.Errorf("published %s", got)
		}
	})
}

// A rule protects tags v*: developers neither release them nor change what maintainers have released.
func TestService_protected(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, dev := t.Context(), w.Developer
		level := authz.Maintainer
		if _, err := w.Protections.ProtectTag(ctx, w.Owner, w.As(w.Owner), "v*", []protection.LevelInput{{Level: &level}}); err != nil {
			t.Fatal(err)
		}
		want(t, w.create(dev, release.Input{Tag: "v1", Ref: "main"}), errs.Forbidden, "You are not allowed to create this tag as it is protected.")
		if err := w.create(w.Maintainer, release.Input{Tag: "v1", Ref: "main"}); err != nil {
			t.Fatal(err)
		}
		name := "other"
		_, err := w.releases.Update(ctx, dev, w.As(dev), "v1", release.Changes{Name: &name})
		want(t, err, errs.Forbidden, "Access Denied")
		_, err = w.releases.Delete(ctx, dev, w.As(dev), "v1")
		want(t, err, errs.Forbidden, "Access Denied")
		_, err = w.releases.CreateLink(ctx, dev, w.As(dev), "v1", release.LinkInput{Name: "x", URL: "https://example.com"})
		want(t, err, errs.Forbidden, "Access Denied")
	})
}

// The attack of impatience: fifty calls release the same tag at once. One of them does, and the tag is there once.
func TestService_Create_at_once(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var all sync.WaitGroup
		var mu sync.Mutex
		made := 0
		p := w.As(w.Developer)
		for range 50 {
			all.Go(func() {
				_, err := w.releases.Create(t.Context(), w.Developer, p, release.Input{Tag: "v1", Ref: "main"})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					made++
				case !errs.Is(err, errs.Conflict) && !errs.Is(err, errs.Unprocessable):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if made != 1 || !slices.Equal(w.published, []string{"created v1"}) {
			t.Errorf("%d calls made the release, published %v", made, w.published)
		}
	})
}

// The server is killed while a release is made with its tag. Afterwards both are there, where git had moved the reference, or neither is.
func TestService_Settle(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.As(w.Developer)
		killed := errors.New("killed")
		later := func() db.Time { return db.At(w.Now().Add(time.Minute)) }
		count := func() int {
			n, err := db.Get[int](ctx, w.DB, "SELECT COUNT(*) FROM releases")
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		// Before the reference moves: what was stored is deleted.
		if _, err := w.DB.Exec(ctx, "INSERT INTO releases (project_id, tag_name, name, sha, pending, released_at, created_at, updated_at) VALUES (?, 'v0', 'v0', 'a', 'a', ?, ?, ?)",
			p.ID, db.At(w.Now()), db.At(w.Now()), db.At(w.Now())); err != nil {
			t.Fatal(err)
		}
		if _, err := w.releases.Find(ctx, w.Developer, p, "v0"); !errs.Is(err, errs.NotFound) {
			t.Errorf("a release whose tag is not there: %v", err)
		}
		if err := errors.Join(w.Repos.Settle(ctx, later()), w.releases.Settle(ctx, later())); err != nil || count() != 0 {
			t.Errorf("before the reference moved: %d releases, %v", count(), err)
		}
		// After it has moved: the transaction that ends the push fails, and is done again at the start.
		die := true
		event.On(w.Bus, "killed", func(_ context.Context, e repo.Pushed) error {
			if die {
				return killed
			}
			return nil
		})
		if err := w.create(w.Developer, release.Input{Tag: "v1", Ref: "main"}); !errors.Is(err, killed) {
			t.Fatalf("killed: %v", err)
		}
		_, missing := w.Repos.TagCommit(ctx, p, "v1")
		if missing != nil {
			t.Fatal(missing)
		}
		die, w.published = false, nil // that transaction was undone
		if err := errors.Join(w.Repos.Settle(ctx, later()), w.releases.Settle(ctx, later())); err != nil {
			t.Fatal(err)
		}
		r, err := w.releases.Find(ctx, w.Developer, p, "v1")
		if err != nil || r.Tag != "v1" || !slices.Equal(w.published, []string{"created v1"}) {
			t.Errorf("after the reference moved: %+v, %v, published %v", r, err, w.published)
		}
	})
}

// Releases are listed by the time of release. Guests of a private project see them without their tags and commits, strangers not at all, and
// not more statements are made for many.
func TestService_List(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, dev := t.Context(), w.Developer
		past, future := w.Now().Add(-time.Hour), w.Now().Add(time.Hour)
		for _, in := range []release.Input{{Tag: "v1", Ref: "main"}, {Tag: "v2", Ref: "main", ReleasedAt: &future}, {Tag: "v0", Ref: "main", ReleasedAt: &past}} {
			if err := w.create(dev, in); err != nil {
				t.Fatal(err)
			}
		}
		views := func(as authz.Actor, n int) ([]release.View, uint64) {
			t.Helper()
			before := w.DB.Statements()
			p := w.As(as)
			list, err := w.releases.List(ctx, as, p, release.Filter{Range: page.Range{Limit: n}})
			if err != nil {
				t.Fatal(err)
			}
			out, err := w.releases.Views(ctx, as, map[project.ID]*project.Project{p.ID: p}, list.Items)
			if err != nil {
				t.Fatal(err)
			}
			return out, w.DB.Statements() - before
		}
		list, many := views(w.Reporter, 20)
		var tags []string
		for _, v := range list {
			tags = append(tags, v.Tag)
			if v.Commit == nil || !v.Code {
				t.Errorf("%s has no commit", v.Tag)
			}
		}
		if !slices.Equal(tags, []string{"v2", "v1", "v0"}) {
			t.Errorf("listed %v", tags)
		}
		if _, one := views(w.Reporter, 1); many > one || many > 8 {
			t.Errorf("%d statements for one, %d for three", one, many)
		}
		for _, v := range func() []release.View { l, _ := views(w.Guest, 20); return l }() {
			if v.Tag != "" || v.Commit != nil || v.SHA != nil || v.Code {
				t.Errorf("a guest sees %+v", v)
			}
		}
		_, err := w.releases.Find(ctx, w.Guest, w.As(w.Guest), "v1")
		want(t, err, errs.Forbidden, "")
		if r, err := w.releases.Latest(ctx, dev, w.As(dev)); err != nil || r.Tag != "v1" {
			t.Errorf("the latest: %+v, %v", r, err)
		}
		_, err = w.releases.List(ctx, w.Stranger, w.Plain(), release.Filter{})
		want(t, err, errs.NotFound, "")
	})
}

// A project keeps its releases to its members, or has none: strangers and everyone then are refused, in the lists of groups as well.
func TestService_access(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		if err := w.create(w.Developer, release.Input{Tag: "v1", Ref: "main"}); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"namespaces", "projects"} {
			if _, err := w.DB.Exec(ctx, "UPDATE "+table+" SET visibility = ?", authz.Public); err != nil && table == "namespaces" {
				t.Fatal(err)
			}
		}
		w.Member(w.GroupID, w.Stranger, authz.Minimal)
		set := func(access string) {
			t.Helper()
			if _, err := w.DB.Exec(ctx, "UPDATE projects SET features = ?", `{"releases":"`+access+`"}`); err != nil {
				t.Fatal(err)
			}
		}
		see := func(as authz.Actor) bool {
			t.Helper()
			_, err := w.releases.List(ctx, as, w.As(as), release.Filter{})
			if err != nil && !errs.Is(err, errs.Forbidden) {
				t.Error(err)
			}
			return err == nil
		}
		ofGroup := func(as authz.Actor) int {
			t.Helper()
			g := authz.Place{Group: true, ID: int64(w.GroupID), Namespace: w.GroupID, Subject: authz.Subject{Noun: "Group", Namespace: w.GroupID, Visibility: authz.Public}}
			list, err := w.releases.ListOfGroup(ctx, as, g, release.Filter{})
			if err != nil {
				t.Error(err)
			}
			return len(list.Items)
		}
		admin := w.Admin("root")
		w.Member(w.GroupID, w.Reporter, authz.Reporter)
		for _, tt := range []struct {
			access           string
			stranger, member bool
		}{{"enabled", true, true}, {"private", false, true}, {"disabled", false, false}} {
			set(tt.access)
			if got := see(w.Stranger); got != tt.stranger {
				t.Errorf("%s: a stranger sees releases: %v", tt.access, got)
			}
			if got := see(w.Reporter); got != tt.member {
				t.Errorf("%s: a reporter sees releases: %v", tt.access, got)
			}
			if got := ofGroup(w.Reporter); (got == 1) != tt.member {
				t.Errorf("%s: a reporter sees %d releases of the group", tt.access, got)
			}
			if got := ofGroup(admin); (got == 1) != (tt.access != "disabled") {
				t.Errorf("%s: an administrator sees %d releases of the group", tt.access, got)
			}
		}
	})
}
