package approval_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/coretest"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/pushrule"
	"tenon/internal/core/reference"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
	"tenon/internal/core/token"
	"tenon/internal/core/weburl"
)

// world is a private project group/shop with a repository, and people of every role.
type world struct {
	*coretest.World
	requests    *mergerequest.Service
	approvals   *approval.Service
	protections *protection.Service
	settings    *setting.Store
	repos       *repo.Service
	jobs        *job.Queue
	id          project.ID
	group       authz.NamespaceID

	owner, maintainer, developer, reviewer, reporter, guest, stranger authz.Actor

	names map[authz.UserID]string
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { fn(t, newWorld(t, d)) })
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	git, err := gitcmd.New(t.Context(), gitcmd.Config{Root: t.TempDir()})
	check(t, err)
	t.Cleanup(func() { check(t, git.Close()) })
	urls, log := weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, ""), slog.New(slog.DiscardHandler)
	w.settings = setting.New(d, w.Now)
	accounts := account.New(account.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Now: w.Now, URLs: urls})
	w.protections = protection.New(protection.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Now: w.Now})
	w.repos = repo.New(repo.Deps{
		DB: d, Policy: w.Policy, Bus: w.Bus, Git: git, Settings: w.settings, Projects: w.Projects, Accounts: accounts,
		Tokens: token.New(token.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Accounts: accounts, Now: w.Now}),
		Log:    log, Now: w.Now, URLs: urls,
		PushRules: pushrule.New(pushrule.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}), Protections: w.protections,
	})
	jobs := job.EnqueuerFunc(func(ctx context.Context, args job.Args, options ...job.Option) error {
		return w.jobs.Enqueue(ctx, args, options...)
	})
	w.requests = mergerequest.New(mergerequest.Deps{
		DB: d, Policy: w.Policy, Bus: w.Bus, Accounts: accounts, Projects: w.Projects, Protections: w.protections, Repos: w.repos,
		Labels:     label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}),
		Milestones: milestone.New(milestone.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}), Settings: w.settings, Log: log, Now: w.Now,
		URLs: urls, Jobs: jobs,
		Checks:     ci.New(ci.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Projects: w.Projects, Repos: w.repos, Protections: w.protections, Now: w.Now}),
		References: reference.New(reference.Deps{DB: d, Policy: w.Policy, Accounts: accounts, Projects: w.Projects, Repos: w.repos, URLs: urls}),
	})
	w.approvals = approval.New(approval.Deps{
		DB: d, Policy: w.Policy, Bus: w.Bus, Accounts: accounts, Requests: w.requests, Protections: w.protections, Settings: w.settings, Now: w.Now,
	})
	w.requests.ConnectRequirements(w.approvals)
	w.requests.ConnectApprovals(w.approvals)
	var registry job.Registry
	w.requests.RegisterJobs(&registry)
	w.jobs, err = job.New(d, &registry, job.Config{})
	check(t, err)
	w.repos.Connect(w.requests)
	w.protections.Connect(w.requests)
	w.requests.Subscribe(w.Bus)
	w.approvals.Subscribe(w.Bus)

	w.owner, w.maintainer, w.developer, w.reviewer = w.User("olga"), w.User("mary"), w.User("dave"), w.User("ruth")
	w.reporter, w.guest, w.stranger = w.User("rita"), w.User("gus"), w.User("stan")
	w.names = map[authz.UserID]string{}
	for _, who := range []authz.Actor{w.owner, w.maintainer, w.developer, w.reviewer, w.reporter, w.guest, w.stranger} {
		w.names[who.UserID] = who.Username
	}
	w.group = w.Group("group", authz.Private, 0)
	w.id = w.Project("group/shop", authz.Private, w.group)
	w.Join(w.id, w.owner, authz.Owner)
	w.Join(w.id, w.maintainer, authz.Maintainer)
	w.Join(w.id, w.developer, authz.Developer)
	w.Join(w.id, w.reviewer, authz.Developer)
	w.Join(w.id, w.reporter, authz.Reporter)
	w.Join(w.id, w.guest, authz.Guest)
	w.push("main", "", files{"a": "a\n"}, "dave")
	return w
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type files map[string]string

// removed is the text of a file that a commit removes.
const removed = "\x00"

// as gives the project for an actor.
func (w *world) as(who authz.Actor) *project.Project { w.T.Helper(); return w.Find(who, w.id) }

func (w *world) git() *gitcmd.Repo {
	w.T.Helper()
	r, err := w.repos.Open(w.T.Context(), w.as(w.owner))
	check(w.T, err)
	return r
}

// push puts a commit of a user on a branch; a new branch begins at from. The commit is
// authored and committed with the address NAME@example.com.
func (w *world) push(branch, from string, content files, name string) string {
	w.T.Helper()
	ctx, r := w.T.Context(), w.git()
	old, err := r.Branch(ctx, branch)
	if errors.Is(err, gitstore.ErrNotFound) {
		old = gitstore.ObjectID{}
	} else {
		check(w.T, err)
	}
	base := old
	if old.IsZero() && from != "" {
		base, err = r.Branch(ctx, from)
		check(w.T, err)
	}
	in := gitstore.CommitInput{Message: "Change " + branch, Author: gitstore.Signature{Name: name, Email: name + "@example.com", When: w.Now()}}
	if !base.IsZero() {
		in.Parents = []gitstore.ObjectID{base}
	}
	var changes []gitstore.TreeChange
	for path, text := range content {
		if text == removed {
			changes = append(changes, gitstore.TreeChange{Path: path})
			continue
		}
		blob, err := r.WriteBlob(ctx, []byte(text))
		check(w.T, err)
		changes = append(changes, gitstore.TreeChange{Path: path, Mode: gitstore.ModeFile, ID: blob})
	}
	in.Tree, err = r.BuildTree(ctx, base, changes)
	check(w.T, err)
	id, err := r.CommitTree(ctx, in)
	check(w.T, err)
	ref, err := gitstore.BranchRef(branch)
	check(w.T, err)
	check(w.T, w.repos.MoveRefs(ctx, w.developer, w.as(w.owner), repo.ByPush, []repo.RefChange{{Ref: ref, Old: old, New: id}}))
	return id.String()
}

// open makes a branch with one commit of dave's and a merge request of his from it.
func (w *world) open(branch string, content files) *mergerequest.MergeRequest {
	w.T.Helper()
	w.push(branch, "main", content, "dave")
	m, _, err := w.requests.Create(w.T.Context(), w.developer, w.as(w.developer), mergerequest.Input{
		SourceBranch: branch, TargetBranch: "main", Title: "Add " + branch, Reviewers: []authz.UserID{w.reviewer.UserID},
	})
	check(w.T, err)
	return m
}

func (w *world) approve(who authz.Actor, iid mergerequest.IID, in approval.Input) (*approval.State, error) {
	w.T.Helper()
	projects, err := w.Projects.Load(w.T.Context(), []project.ID{w.id}) // without the level of an actor
	check(w.T, err)
	return w.approvals.Approve(w.T.Context(), who, projects[w.id], iid, in)
}

func (w *world) state(iid mergerequest.IID) *approval.State {
	w.T.Helper()
	st, err := w.approvals.State(w.T.Context(), w.owner, w.as(w.owner), iid)
	check(w.T, err)
	return st
}

func (w *world) status(iid mergerequest.IID) string {
	w.T.Helper()
	p := w.as(w.reporter)
	m, err := w.requests.Read(w.T.Context(), w.reporter, p, iid)
	check(w.T, err)
	return m.DetailedStatus(p)
}

func (w *world) merge(iid mergerequest.IID) error {
	w.T.Helper()
	_, err := w.requests.Merge(w.T.Context(), w.maintainer, w.as(w.maintainer), iid, mergerequest.MergeInput{})
	return err
}

// set changes the approval settings of the project.
func (w *world) set(c approval.Changes) *approval.Settings {
	w.T.Helper()
	out, err := w.approvals.UpdateSettings(w.T.Context(), w.maintainer, approval.Of(w.as(w.maintainer)), c)
	check(w.T, err)
	return out
}

func (w *world) exec(query string, args ...any) {
	w.T.Helper()
	if _, err := w.DB.Exec(w.T.Context(), query, args...); err != nil {
		w.T.Fatal(err)
	}
}

// wantError compares kind and text of a refusal.
func wantError(t *testing.T, what string, err error, kind errs.Kind, text string) {
	t.Helper()
	if err == nil || !errs.Is(err, kind) || text != "" && err.Error() != text {
		t.Errorf("%s: got %v, want %v %q", what, err, kind, text)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func ptr[T any](v T) *T { return &v }
