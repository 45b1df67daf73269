package snippet_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/limit"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
	"tenon/internal/core/snippet"
	"tenon/internal/core/weburl"
)

// world has snippets of users and of a public project.
type world struct {
	*coretest.World
	*snippet.Service
	settings *setting.Store
	jobs     []job.Args // that were enqueued

	ann, ben authz.Actor
	id       project.ID
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{World: coretest.New(t, d)}
		git, err := gitcmd.New(t.Context(), gitcmd.Config{Root: t.TempDir()})
		check(t, err)
		t.Cleanup(func() { check(t, git.Close()) })
		w.settings = setting.New(d, w.Now)
		urls := weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, "")
		jobs := job.EnqueuerFunc(func(_ context.Context, args job.Args, _ ...job.Option) error {
			w.jobs = append(w.jobs, args)
			return nil
		})
		repos := repo.New(repo.Deps{
			Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Git: git, Settings: w.settings, Projects: w.Projects, Jobs: jobs, Log: slog.New(slog.DiscardHandler), Now: w.Now, URLs: urls,
			Accounts: account.New(account.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Now: w.Now, URLs: urls}),
		})
		repos.Connect(alonetest.Repos())
		w.Service = snippet.New(snippet.Deps{
			DB: d, Policy: w.Policy, Bus: w.Bus, Jobs: jobs, Settings: w.settings, Projects: w.Projects, URLs: urls, Now: w.Now,
			Repos: repos,
		})
		w.ann, w.ben = w.User("ann"), w.User("ben")
		w.id = w.Project("team/app", authz.Public, w.Group("team", authz.Public, 0))
		w.Join(w.id, w.ann, authz.Maintainer)
		fn(t, w)
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, what string, err error, kind errs.Kind, text string) {
	t.Helper()
	if !errs.Is(err, kind) || text != "" && err.Error() != text {
		t.Errorf("%s: got %v, want %v %q", what, err, kind, text)
	}
}

func file(action snippet.Action, path, content string) snippet.File {
	return snippet.File{Action: action, Path: path, Content: &content}
}

// create makes a personal snippet of ann's with one file.
func (w *world) create(title string) *snippet.Snippet {
	w.T.Helper()
	sn, err := w.Create(w.T.Context(), w.ann, nil, snippet.Input{Title: title, Files: []snippet.File{file(snippet.CreateFile, "a.txt", "a\n")}})
	check(w.T, err)
	return sn
}

// TestService_readable asks for snippets of every kind in every way as callers of every kind: what is listed, found, searched for, found by id,
// and found by the condition for other packages is the same.
func TestService_readable(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		guest, external, auditor, admin := w.User("gus"), w.User("ed"), w.User("al"), w.Admin("root")
		external.External, auditor.Auditor = true, true
		group := w.Group("closed", authz.Private, 0)
		w.Member(group, guest, authz.Guest)
		places := map[string]project.ID{"": 0, "public": w.id}
		for name, access := range map[string]int{"private": 20, "members": 10, "off": 0} {
			visibility := authz.Public
			if name == "private" {
				visibility = authz.Private
			}
			places[name] = w.Project("closed/"+name, visibility, group)
			_, err := w.DB.Exec(ctx, "UPDATE projects SET snippets_access = ? WHERE id = ?", access, places[name])
			check(t, err)
		}
		titles := map[snippet.ID]string{}
		for place, id := range places {
			for _, v := range []authz.Visibility{authz.Private, authz.Internal, authz.Public} {
				title := strings.TrimSpace(place + " " + v.String())
				name := fmt.Sprintf("%032d", len(titles))
				_, err := w.DB.Exec(ctx, "INSERT INTO attached_repositories (name, kind, size, created_at) VALUES (?, 'snippet', 0, ?)", name, w.Now())
				check(t, err)
				row := coretest.Row{
					"repository": name, "author_id": w.ann.UserID, "title": title, "title_fold": "any " + title, "description_fold": "", "files_fold": "", "visibility": v, "branch": "main", "files": "[]",
				}
				if id != 0 {
					row["project_id"] = id
				}
				titles[snippet.ID(w.Insert("snippets", row))] = title
			}
		}
		all := make([]snippet.ID, 0, len(titles))
		for id := range titles {
			all = append(all, id)
		}
		const personal, open, members = "internal, private, public", "public internal, public public", "members internal, members private, members public"
		for _, tt := range []struct {
			name string
			as   authz.Actor
			want string
		}{
			{"nobody", authz.Actor{}, "public, public public"},
			{"external", external, "public, public public"},
			{"a user", w.ben, "internal, public, public internal, public public"},
			{"the author, a member of one project", w.ann, personal + ", " + "public internal, public private, public public"},
			{"a guest of the others", guest, "internal, " + members + ", private internal, private private, private public, public, " + open},
			{"auditor", auditor, "internal, " + members + ", private, private internal, private private, private public, public, public internal, public private, public public"},
			{"administrator", admin, "internal, " + members + ", private, private internal, private private, private public, public, public internal, public private, public public"},
		} {
			ways := map[string][]snippet.ID{}
			for _, id := range all {
				if _, err := w.Service.Find(ctx, tt.as, nil, id); err == nil {
					ways["find"] = append(ways["find"], id)
				} else if !errs.Is(err, errs.NotFound) && !errs.Is(err, errs.Forbidden) && !errs.Is(err, errs.Unauthorized) {
					t.Errorf("%s: find %q: %v", tt.name, titles[id], err)
				}
			}
			found, err := w.ByIDs(ctx, tt.as, all)
			check(t, err)
			for id := range found {
				ways["by id"] = append(ways["by id"], id)
			}
			may, err := w.Permissions(ctx, tt.as, all)
			check(t, err)
			for id := range may {
				ways["permissions"] = append(ways["permissions"], id)
			}
			cond, args := w.ReadableSQL(tt.as, "x.id")
			ways["condition"], err = db.Select[snippet.ID](ctx, w.DB, "SELECT x.id FROM snippets x WHERE "+cond, args...)
			check(t, err)
			if tt.as.SignedIn() {
				list, err := w.List(ctx, tt.as, snippet.Filter{Scope: snippet.All, Range: page.Range{Limit: 100}})
				check(t, err)
				hits, err := w.Search(ctx, tt.as, snippet.Query{Terms: []string{"any"}, Range: page.Range{Limit: 100}})
				check(t, err)
				for _, sn := range list.Items {
					ways["list"] = append(ways["list"], sn.ID)
				}
				for _, sn := range hits.Items {
					ways["search"] = append(ways["search"], sn.ID)
				}
			}
			for way, ids := range ways {
				var got []string
				for _, id := range ids {
					got = append(got, titles[id])
				}
				slices.Sort(got)
				if text := strings.Join(got, ", "); text != tt.want {
					t.Errorf("%s, %s:\ngot  %s\nwant %s", tt.name, way, text, tt.want)
				}
			}
		}
		_, err := w.List(ctx, authz.Actor{}, snippet.Filter{Scope: snippet.Public})
		wantError(t, "a list without signing in", err, errs.Unauthorized, "")
	})
}

// The files of a snippet are bounded together, however many calls make them, and a refusal leaves them as they are.
func TestService_Update_bounds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		sn := w.create("Bounds")
		update := func(files ...snippet.File) error {
			_, err := w.Update(ctx, w.ann, nil, sn.ID, snippet.Changes{Files: files})
			return err
		}
		var nine []snippet.File
		for i := range 9 {
			nine = append(nine, file(snippet.CreateFile, fmt.Sprint("b", i), "x"))
		}
		check(t, update(nine...))
		wantError(t, "an eleventh file", update(file(snippet.CreateFile, "c", "x")), errs.Invalid, "The repository can have at most 10 files.")
		check(t, update(file(snippet.CreateFile, "c", "x"), snippet.File{Action: snippet.DeleteFile, Path: "b0"}))
		wantError(t, "a long path", update(file(snippet.MoveFile, strings.Repeat("ü", 256), "x")), errs.Invalid, "Snippet actions have invalid data")
		wantError(t, "a long path", update(file(snippet.UpdateFile, strings.Repeat("ü", 256), "x")), errs.Invalid, "File path is too long (maximum is 255 characters)")
		coretest.Setter(t, w.settings)("snippet_size_limit", 20)
		wantError(t, "too many bytes", update(file(snippet.UpdateFile, "c", strings.Repeat("x", 11))), errs.Invalid, "The files take more than 20 bytes.")
		check(t, update(file(snippet.UpdateFile, "c", strings.Repeat("x", 10))))
		wantError(t, "another author", func() error {
			_, err := w.Update(ctx, w.ben, nil, sn.ID, snippet.Changes{Title: new("Mine")})
			return err
		}(), errs.NotFound, "")
		sn, contents, err := w.Contents(ctx, w.ann, nil, sn.ID, 12)
		check(t, err)
		var got []string
		for _, c := range contents {
			got = append(got, fmt.Sprintf("%s %d %t", c.Path, c.Size, c.Data != nil))
		}
		want := "a.txt 2 true, b1 1 true, b2 1 true, b3 1 true, b4 1 true, b5 1 true, b6 1 true, b7 1 true, b8 1 true, c 10 false"
		if strings.Join(got, ", ") != want || len(sn.Files()) != 10 {
			t.Errorf("contents:\ngot  %s\nwant %s", strings.Join(got, ", "), want)
		}
	})
}

// A commit whose snippet was not told of it, since the process was killed, is found by the job that was enqueued before it.
func TestService_Sync(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		sn := w.create("Killed")
		_, err := w.Update(ctx, w.ann, nil, sn.ID, snippet.Changes{Files: []snippet.File{file(snippet.CreateFile, "b.txt", "b\n")}})
		check(t, err)
		var work []snippet.Sync
		for _, args := range w.jobs {
			if s, ok := args.(snippet.Sync); ok {
				work = append(work, s)
			}
		}
		if len(work) != 1 || work[0].SnippetID != sn.ID || work[0].By != w.ann.UserID {
			t.Fatalf("jobs: %+v", w.jobs)
		}
		_, err = w.DB.Exec(ctx, "UPDATE snippets SET files = ?, commit_id = ? WHERE id = ?", sn.FilesJSON, sn.CommitID, sn.ID)
		check(t, err)
		var told []string
		event.On(w.Bus, "test", func(_ context.Context, e snippet.Updated) error {
			told = append(told, fmt.Sprint(e.By.UserID == w.ann.UserID, e.Before.Files(), e.After.Files()))
			return nil
		})
		for range 2 { // the second time there is nothing to do
			check(t, w.Sync(ctx, work[0]))
		}
		if got := strings.Join(told, "; "); got != "true [a.txt] [a.txt b.txt]" {
			t.Errorf("told: %s", got)
		}
		check(t, w.Delete(ctx, w.ann, nil, sn.ID))
		check(t, w.Sync(ctx, work[0]))
	})
}

// What a user leaves: personal snippets go, those of projects become the ghost's, or go too.
func TestService_Depart(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		ghost := w.User("ghost")
		p := w.World.Find(w.ann, w.id)
		mine := w.create("Mine")
		var shared []*snippet.Snippet
		for _, v := range []authz.Visibility{authz.Public, authz.Private} {
			sn, err := w.Create(ctx, w.ann, p, snippet.Input{Title: "Shared", Visibility: v, Files: []snippet.File{file(snippet.CreateFile, "a", "a")}})
			check(t, err)
			shared = append(shared, sn)
		}
		var gone []snippet.ID
		event.On(w.Bus, "test", func(_ context.Context, e snippet.Deleted) error { gone = append(gone, e.Before.ID); return nil })
		depart := func(hard bool) {
			t.Helper()
			e := account.Estate{Departure: account.Departure{UserID: w.ann.UserID, By: w.ann.UserID, Hard: hard}, Ghost: ghost.UserID}
			for {
				more, err := w.Depart(ctx, e)
				check(t, err)
				if !more {
					return
				}
			}
		}
		depart(false)
		root := w.Admin("root")
		_, err := w.Service.Find(ctx, root, nil, mine.ID)
		wantError(t, "the personal one", err, errs.NotFound, "")
		found, err := w.ByIDs(ctx, root, []snippet.ID{shared[0].ID, shared[1].ID})
		check(t, err)
		for _, sn := range shared {
			if got := found[sn.ID]; got == nil || got.AuthorID != ghost.UserID {
				t.Errorf("a shared one: %+v", got)
			}
		}
		_, err = w.DB.Exec(ctx, "UPDATE snippets SET author_id = ? WHERE id = ?", w.ann.UserID, shared[1].ID)
		check(t, err)
		depart(true)
		if !slices.Equal(gone, []snippet.ID{mine.ID, shared[1].ID}) {
			t.Errorf("gone: %v, want %d and %d", gone, mine.ID, shared[1].ID)
		}
		dropped := 0
		for _, args := range w.jobs {
			if _, ok := args.(repo.AttachedSweep); ok {
				dropped++
			}
		}
		if dropped != 2 {
			t.Errorf("%d repositories are to be removed, want 2", dropped)
		}
	})
}

// A snippet is commented on in its project alone, by those who see it there.
func TestService_Locate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p := w.World.Find(w.ann, w.id)
		secret, err := w.Create(ctx, w.ann, p, snippet.Input{Title: "Secret", Visibility: authz.Private, Files: []snippet.File{file(snippet.CreateFile, "a", "a")}})
		check(t, err)
		mine := w.create("Mine")
		for _, tt := range []struct {
			name string
			as   authz.Actor
			at   authz.Place
			id   snippet.ID
			want string
		}{
			{"the author", w.ann, p.Place(), secret.ID, "Secret of team/app"},
			{"a stranger", w.ben, w.World.Find(w.ben, w.id).Place(), secret.ID, "not found"},
			{"a personal one at the project", w.ann, p.Place(), mine.ID, "not found"},
			{"a personal one", w.ann, authz.Place{}, mine.ID, "not found"},
		} {
			got, err := w.Locate(ctx, tt.as, tt.at, noteable.Key{Number: int64(tt.id)})
			text := "not found"
			if !errs.Is(err, errs.NotFound) {
				check(t, err)
				text = got.Title + " of " + got.ProjectPath
			}
			if text != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, text, tt.want)
			}
		}
		may, err := w.Permissions(ctx, w.ann, []snippet.ID{mine.ID, secret.ID})
		check(t, err)
		if got := cmp.Or(may[mine.ID], &snippet.Permissions{}); !got.Update || got.CreateNote || got.AwardEmoji {
			t.Errorf("permissions of a personal one: %+v", got)
		}
		if got := cmp.Or(may[secret.ID], &snippet.Permissions{}); !got.Update || !got.CreateNote || !got.AwardEmoji {
			t.Errorf("permissions of the project's: %+v", got)
		}
	})
}
