package mergerequest_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/pushrule"
	"tenon/internal/core/reference"
	"tenon/internal/core/repo"
	"tenon/internal/core/runner"
	"tenon/internal/core/setting"
	"tenon/internal/core/token"
	"tenon/internal/core/variable"
	"tenon/internal/core/weburl"
)

// world is a project with a repository, and people of every role.
type world struct {
	*coretest.World
	requests    *mergerequest.Service
	checks      *ci.Service
	variables   *variable.Service
	runners     *runner.Service
	repos       *repo.Service
	protections *protection.Service
	jobs        *job.Queue
	deps        mergerequest.Deps
	engine      *gitcmd.Git
	id          project.ID
	seen        sync.Mutex
	merged      []mergerequest.Merged
	updated     []mergerequest.Updated
	enqueued    func() // called for each job; nil for nothing
	resolving   func() // called when issues are looked for; nil for nothing

	owner, maintainer, developer, reporter, guest, stranger authz.Actor
}

// each runs fn on every engine with a private project "group/shop" whose branch main has
// one commit with the files a and b.
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
	w.engine = git
	settings := setting.New(d, w.Now)
	accounts := account.New(account.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Now: w.Now, URLs: weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, "")})
	w.protections = protection.New(protection.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Now: w.Now})
	tokens := token.New(token.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Accounts: accounts, Now: w.Now})
	w.repos = repo.New(repo.Deps{
		Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Git: git, Settings: settings, Projects: w.Projects, Accounts: accounts,
		Tokens: tokens,
		Log:    slog.New(slog.DiscardHandler), Now: w.Now, URLs: weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, ""),
		PushRules: pushrule.New(pushrule.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}), Protections: w.protections,
	})
	w.deps = mergerequest.Deps{
		Limits: &limit.Service{},
		DB:     d, Policy: w.Policy, Bus: w.Bus, Accounts: accounts, Projects: w.Projects, Protections: w.protections, Repos: w.repos,
		Labels:     label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}),
		Milestones: milestone.New(milestone.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}), Settings: settings, Log: slog.New(slog.DiscardHandler), Now: w.Now,
		URLs: weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, ""),
		Jobs: job.EnqueuerFunc(func(ctx context.Context, args job.Args, options ...job.Option) error {
			if w.enqueued != nil {
				w.enqueued()
			}
			return w.jobs.Enqueue(ctx, args, options...)
		}),
	}
	box, err := secret.NewBox(secret.NewKey())
	check(t, err)
	w.variables = variable.New(variable.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Box: box, Now: w.Now})
	w.runners = runner.New(runner.Deps{
		Plans: &planlimit.Service{},
		DB:    d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Projects: w.Projects, Box: box, Now: w.Now, Log: w.deps.Log,
		Namespaces: namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Now: w.Now}),
	})
	w.checks = ci.New(ci.Deps{
		Plans:  &planlimit.Service{},
		Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Accounts: accounts, Projects: w.Projects, Repos: w.repos, Protections: w.protections,
		Runners: w.runners, Variables: w.variables, Tokens: tokens, Jobs: w.deps.Jobs, Box: box, URLs: w.deps.URLs, Now: w.Now, Log: w.deps.Log,
	})
	t.Cleanup(func() { check(t, w.checks.Stop(context.Background())) })
	w.deps.CI = w.checks
	w.deps.References = reference.New(reference.Deps{
		Settings: settings, DB: d, Policy: w.Policy, Accounts: accounts, Projects: w.Projects, Repos: w.repos, URLs: w.deps.URLs,
	})
	w.deps.References.Connect(reference.Above{Finders: []reference.Finder{issueFinder{w}}})
	w.requests = mergerequest.New(w.deps)
	w.requests.Connect(mergerequest.Above{Approvals: alonetest.Approvals{}, Commands: alonetest.Commands{}})
	var registry job.Registry
	w.requests.RegisterJobs(&registry)
	w.checks.RegisterJobs(&registry)
	w.jobs, err = job.New(d, &registry, job.Config{})
	check(t, err)
	w.repos.Connect(repo.Above{MergeRequests: w.requests})
	w.protections.Connect(protection.Above{Collaborators: w.requests})
	event.On(w.Bus, "merge requests", w.requests.OnPushed)
	event.On(w.Bus, "stacks", w.requests.OnMerged)
	event.On(w.Bus, "test", func(_ context.Context, e mergerequest.Updated) error {
		w.seen.Lock()
		defer w.seen.Unlock()
		w.updated = append(w.updated, e)
		return nil
	})
	event.On(w.Bus, "test", func(_ context.Context, e mergerequest.Merged) error {
		w.seen.Lock() // jobs run beside one another
		defer w.seen.Unlock()
		w.merged = append(w.merged, e) // closures may run twice, so tests look at the last
		return nil
	})

	w.owner, w.maintainer, w.developer = w.User("olga"), w.User("mary"), w.User("dave")
	w.reporter, w.guest, w.stranger = w.User("rita"), w.User("gus"), w.User("stan")
	w.id = w.Project("group/shop", authz.Private, w.Group("group", authz.Private, 0))
	w.Join(w.id, w.owner, authz.Owner)
	w.Join(w.id, w.maintainer, authz.Maintainer)
	w.Join(w.id, w.developer, authz.Developer)
	w.Join(w.id, w.reporter, authz.Reporter)
	w.Join(w.id, w.guest, authz.Guest)
	w.push("main", "", files{"a": "a\n", "b": "b\n"}, "Begin")
	return w
}

// issueFinder finds issues for everyone.
type issueFinder struct{ w *world }

func (f issueFinder) Refers() reference.Kind { return reference.Issue }

func (f issueFinder) Referred(ctx context.Context, _ authz.Actor, sought reference.Query) (map[reference.Key]*reference.Target, error) {
	type row struct {
		ID        int64      `db:"id"`
		IID       int64      `db:"iid"`
		ProjectID project.ID `db:"project_id"`
	}
	if f.w.resolving != nil {
		f.w.resolving()
	}
	cond, args := sought.ByNumber("project_id", "iid")
	rows, err := db.Select[row](ctx, f.w.DB, "SELECT id, iid, project_id FROM issues WHERE "+cond, args...)
	out := map[reference.Key]*reference.Target{}
	for _, r := range rows {
		out[reference.Key{Project: r.ProjectID, Number: r.IID}] = &reference.Target{
			Kind: reference.Issue, ID: r.ID, ProjectID: r.ProjectID, Path: sought.Projects[r.ProjectID].FullPath, Number: r.IID,
		}
	}
	return out, err
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type files map[string]string

// as returns the project for an actor.
func (w *world) as(who authz.Actor) *project.Project { w.T.Helper(); return w.Find(who, w.id) }

func (w *world) git() *gitcmd.Repo {
	w.T.Helper()
	r, err := w.repos.Open(w.T.Context(), w.as(w.owner))
	check(w.T, err)
	return r
}

// tip returns the commit of a branch, "" where there is none.
func (w *world) tip(branch string) string {
	w.T.Helper()
	id, err := w.git().Branch(w.T.Context(), branch)
	if errors.Is(err, gitstore.ErrNotFound) {
		return ""
	}
	check(w.T, err)
	return id.String()
}

// write makes a commit on top of a branch, or of the commit from where that is given,
// and moves nothing.
func (w *world) write(parents []string, content files, message string) gitstore.ObjectID {
	w.T.Helper()
	ctx, r := w.T.Context(), w.git()
	in := gitstore.CommitInput{Message: message, Author: gitstore.Signature{Name: "Dave", Email: "dave@example.com", When: w.Now()}}
	var base gitstore.ObjectID
	for _, p := range parents {
		id, err := gitstore.ParseObjectID(p)
		check(w.T, err)
		in.Parents = append(in.Parents, id)
	}
	if len(in.Parents) > 0 {
		base = in.Parents[0]
	}
	var changes []gitstore.TreeChange
	for path, text := range content {
		blob, err := r.WriteBlob(ctx, []byte(text))
		check(w.T, err)
		changes = append(changes, gitstore.TreeChange{Path: path, Mode: gitstore.ModeFile, ID: blob})
	}
	tree, err := r.BuildTree(ctx, base, changes)
	check(w.T, err)
	in.Tree = tree
	id, err := r.CommitTree(ctx, in)
	check(w.T, err)
	return id
}

// push puts a commit on a branch, as a user's push does; a new branch begins at from.
func (w *world) push(branch, from string, content files, message string) string {
	w.T.Helper()
	old := w.tip(branch)
	base := old
	if base == "" {
		base = from
	}
	var parents []string
	if base != "" {
		parents = []string{base}
	}
	id := w.write(parents, content, message)
	w.move(branch, id.String())
	return id.String()
}

// move makes a branch name a commit, "" deletes it.
func (w *world) move(branch, to string) {
	w.T.Helper()
	parse := func(text string) gitstore.ObjectID {
		if text == "" {
			return gitstore.ObjectID{}
		}
		id, err := gitstore.ParseObjectID(text)
		check(w.T, err)
		return id
	}
	ref, err := gitstore.BranchRef(branch)
	check(w.T, err)
	check(w.T, w.repos.MoveRefs(w.T.Context(), w.developer, w.as(w.owner), repo.ByPush,
		[]repo.RefChange{{Ref: ref, Old: parse(w.tip(branch)), New: parse(to)}}))
}

// open makes a branch with one commit and a merge request from it.
func (w *world) open(branch string, content files) *mergerequest.MergeRequest {
	w.T.Helper()
	w.push(branch, w.tip("main"), content, "Change "+branch)
	return w.create(mergerequest.Input{SourceBranch: branch, TargetBranch: "main", Title: "Add " + branch})
}

func (w *world) create(in mergerequest.Input) *mergerequest.MergeRequest {
	w.T.Helper()
	m, _, err := w.requests.Create(w.T.Context(), w.developer, w.as(w.developer), in)
	check(w.T, err)
	return m
}

func (w *world) read(iid mergerequest.IID) *mergerequest.MergeRequest {
	w.T.Helper()
	m, err := w.requests.Read(w.T.Context(), w.reporter, w.as(w.reporter), iid)
	check(w.T, err)
	return m
}

func (w *world) merge(who authz.Actor, iid mergerequest.IID, in mergerequest.MergeInput) (*mergerequest.MergeRequest, error) {
	w.T.Helper()
	return w.requests.Merge(w.T.Context(), who, w.as(who), iid, in)
}

// gitStarts counts the processes of git so far.
func (w *world) gitStarts() int64 { return w.engine.Started() }

// drain does all background work.
func (w *world) drain() {
	w.T.Helper()
	check(w.T, w.jobs.Drain(w.T.Context()))
}

func (w *world) commit(sha string) *gitstore.Commit {
	w.T.Helper()
	id, err := gitstore.ParseObjectID(sha)
	check(w.T, err)
	c, err := w.git().Commit(w.T.Context(), id)
	check(w.T, err)
	return c
}

// file reads a file of a commit.
func (w *world) file(sha, path string) string {
	w.T.Helper()
	e, err := w.git().Entry(w.T.Context(), w.commit(sha).ID, path)
	check(w.T, err)
	text, err := w.git().Blob(w.T.Context(), e.ID, 1<<20)
	check(w.T, err)
	return string(text)
}

func (w *world) exec(query string, args ...any) {
	w.T.Helper()
	if _, err := w.DB.Exec(w.T.Context(), query, args...); err != nil {
		w.T.Fatal(err)
	}
}

func parents(c *gitstore.Commit) string {
	var out []string
	for _, p := range c.Parents {
		out = append(out, p.String())
	}
	return strings.Join(out, " ")
}

// wantError compares kind and text of a refusal.
func wantError(t *testing.T, err error, kind errs.Kind, text string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want %s %q", kind, text)
	}
	if !errs.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Fatalf("got %s %q, want %s %q", errs.KindOf(err), err, kind, text)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
