package gitimport_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/url"
	"testing"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/gitimport"
	"tenon/internal/core/lfs"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/quota"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
	"tenon/internal/core/token"
	"tenon/internal/core/weburl"
)

// world is a private project that waits for its import.
type world struct {
	*coretest.World
	repos    *repo.Service
	imports  *gitimport.Service
	large    *lfs.Service
	outbound safehttp.Rules
	settings *setting.Store
	enqueue  job.EnqueuerFunc // does nothing unless a test says otherwise
	deps     gitimport.Deps
	id       project.ID
	owner    authz.Actor
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { fn(t, newWorld(t, d)) })
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	git, err := gitcmd.New(t.Context(), gitcmd.Config{Root: t.TempDir()})
	check(t, err)
	t.Cleanup(func() { check(t, git.Close()) })
	w.settings = setting.New(d, w.Now)
	urls := weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, "")
	accounts := account.New(account.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Now: w.Now, URLs: urls})
	tokens := token.New(token.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Accounts: accounts, Now: w.Now})
	objects, err := blob.Open(t.TempDir())
	check(t, err)
	limits := quota.New(quota.Deps{DB: d, Policy: w.Policy, Settings: w.settings})
	log := slog.New(slog.DiscardHandler)
	w.large = lfs.New(lfs.Deps{
		DB: d, Quota: limits, Policy: w.Policy, Settings: w.settings, Objects: objects, Accounts: accounts, Tokens: tokens, Log: log, Now: w.Now,
	})
	box, err := secret.NewBox(secret.NewKey())
	check(t, err)
	w.enqueue = func(context.Context, job.Args, ...job.Option) error { return nil }
	jobs := job.EnqueuerFunc(func(ctx context.Context, args job.Args, options ...job.Option) error {
		return w.enqueue(ctx, args, options...)
	})
	rules := protection.New(protection.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Now: w.Now})
	rules.Connect(alonetest.Protections())
	w.repos = repo.New(repo.Deps{
		Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Git: git, Settings: w.settings, Projects: w.Projects, Accounts: accounts, Tokens: tokens, LFS: w.large, Quota: limits,
		Log: log, Now: w.Now, URLs: urls, Jobs: jobs,
		Protections: rules,
	})
	w.repos.Connect(alonetest.Repos())
	w.deps = gitimport.Deps{
		DB: d, Projects: w.Projects, Repos: w.repos, Accounts: accounts, LFS: w.large, Quota: limits, Log: log,
		Outbound: &safehttp.Dialer{Rules: func() safehttp.Rules { return w.outbound }}, Box: box, Max: 1 << 30,
	}
	w.imports = gitimport.New(w.deps)
	w.owner = w.User("olga")
	w.id = w.Project("group/shop", authz.Private, w.Group("group", authz.Private, 0))
	w.Join(w.id, w.owner, authz.Owner)
	return w
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

func (w *world) exec(query string, args ...any) {
	w.T.Helper()
	_, err := w.DB.Exec(w.T.Context(), query, args...)
	check(w.T, err)
}

// largest builds the service with another bound of imports, in bytes.
func (w *world) largest(n int64) {
	w.deps.Max = n
	w.imports = gitimport.New(w.deps)
}

// pointer names a large object with a content.
func pointer(content string) lfs.Pointer {
	sum := sha256.Sum256([]byte(content))
	return lfs.Pointer{OID: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}
