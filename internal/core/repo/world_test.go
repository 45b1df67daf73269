package repo_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"testing"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/base/spool"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/lfs"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/pushrule"
	"tenon/internal/core/quota"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
	"tenon/internal/core/token"
	"tenon/internal/core/weburl"
)

// world is a private project with a repository and people of every role.
type world struct {
	*coretest.World
	repos       *repo.Service
	git         *gitcmd.Git
	archives    *spool.Cache
	packs       *spool.Cache
	large       *lfs.Service
	rules       *pushrule.Service
	protections *protection.Service
	settings    *setting.Store
	enqueue     job.EnqueuerFunc // does nothing unless a test says otherwise
	deps        repo.Deps
	id          project.ID
	pushed      []repo.Pushed
	sayings     map[string]saying // of git, about the repository as it is

	owner, maintainer, developer, reporter, guest, stranger authz.Actor
}

// archiveLarge is how many bytes of large objects any archive may hold here.
const archiveLarge = 1 << 20

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { fn(t, newWorld(t, d)) })
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	var err error
	w.git, err = gitcmd.New(t.Context(), gitcmd.Config{Root: t.TempDir()})
	check(t, err)
	t.Cleanup(func() { check(t, w.git.Close()) })
	w.archives, err = spool.New(spool.Config{Dir: t.TempDir()})
	check(t, err)
	t.Cleanup(func() { check(t, w.archives.Close()) })
	w.packs, err = spool.New(spool.Config{Dir: t.TempDir(), Fresh: true, Makers: 64})
	check(t, err)
	t.Cleanup(func() { check(t, w.packs.Close()) })
	settings := setting.New(d, w.Now)
	w.settings = settings
	accounts := account.New(account.Deps{
		Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Now: w.Now, URLs: weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, ""),
	})
	tokens := token.New(token.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Accounts: accounts, Now: w.Now})
	objects, err := blob.Open(t.TempDir())
	check(t, err)
	limits := quota.New(quota.Deps{DB: d, Policy: w.Policy, Settings: settings})
	w.large = lfs.New(lfs.Deps{
		DB: d, Quota: limits, Policy: w.Policy, Settings: settings, Objects: objects, Accounts: accounts, Tokens: tokens, Log: slog.New(slog.DiscardHandler), Now: w.Now,
	})
	w.enqueue = func(context.Context, job.Args, ...job.Option) error { return nil }
	w.rules = pushrule.New(pushrule.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
	w.protections = protection.New(protection.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Now: w.Now})
	w.protections.Connect(alonetest.Protections())
	w.deps = repo.Deps{
		Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Git: w.git, Settings: settings, Projects: w.Projects, Accounts: accounts, Tokens: tokens, LFS: w.large, Quota: limits,
		Archives: w.archives, Packs: w.packs, Log: slog.New(slog.DiscardHandler), Now: w.Now, URLs: weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, ""),
		ArchiveLarge: archiveLarge,
		Jobs: job.EnqueuerFunc(func(ctx context.Context, args job.Args, options ...job.Option) error {
			return w.enqueue(ctx, args, options...)
		}),
		PushRules: w.rules, Protections: w.protections,
	}
	w.restart()
	event.On(w.Bus, "test", func(_ context.Context, e repo.Pushed) error {
		w.pushed = append(w.pushed, e)
		return nil
	})
	w.owner, w.maintainer, w.developer = w.User("olga"), w.User("mary"), w.User("dave")
	w.reporter, w.guest, w.stranger = w.User("rita"), w.User("gus"), w.User("stan")
	w.id = w.Project("group/shop", authz.Private, w.Group("group", authz.Private, 0))
	for who, level := range map[*authz.Actor]authz.Level{
		&w.owner: authz.Owner, &w.maintainer: authz.Maintainer, &w.developer: authz.Developer,
		&w.reporter: authz.Reporter, &w.guest: authz.Guest,
	} {
		w.Join(w.id, *who, level)
	}
	return w
}

// restart builds the service again, with empty caches.
func (w *world) restart() {
	w.repos = repo.New(w.deps)
	w.repos.Connect(alonetest.Repos())
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// as returns the project for an actor, as it is now.
func (w *world) as(who authz.Actor) *project.Project { w.T.Helper(); return w.Find(who, w.id) }

// open returns the repository.
func (w *world) open() *gitcmd.Repo {
	w.T.Helper()
	r, err := w.repos.Open(w.T.Context(), w.as(w.owner))
	check(w.T, err)
	return r
}

// put writes a file onto a branch as the owner and returns the commit.
func (w *world) put(branch, path, content string) *gitstore.Commit {
	w.T.Helper()
	in := repo.CommitInput{
		Branch: branch, Message: "Put " + path,
		Actions: []repo.Action{{Kind: repo.ActionCreate, Path: path, Content: &content}},
	}
	p := w.as(w.owner)
	if p.DefaultBranch != nil && *p.DefaultBranch != branch {
		if _, err := w.open().Branch(w.T.Context(), branch); errors.Is(err, gitstore.ErrNotFound) {
			in.StartBranch = *p.DefaultBranch
		}
	}
	c, err := w.repos.Commit(w.T.Context(), w.owner, p, in)
	check(w.T, err)
	return c
}

// wants fails the test unless err is of the kind and says the text.
func wants(t *testing.T, err error, kind errs.Kind, text string) {
	t.Helper()
	if errs.KindOf(err) != kind || err == nil || text != "" && err.Error() != text {
		t.Errorf("got %v (%v), want %v %q", err, errs.KindOf(err), kind, text)
	}
}

func ptr[T any](v T) *T { return &v }
