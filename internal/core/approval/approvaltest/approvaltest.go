// Package approvaltest has a project with a repository, people of every role and merge requests, for the tests of what
// merges wait for.
package approvaltest

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
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

// World is a private project group/shop with a repository, and people of every role.
type World struct {
	*coretest.World

	Accounts      *account.Service
	CI            *ci.Service
	MergeRequests *mergerequest.Service
	Protections   *protection.Service
	Repos         *repo.Service
	Settings      *setting.Store
	URLs          *weburl.Site
	Jobs          *job.Queue // nil before Start
	ID            project.ID
	GroupID       authz.NamespaceID

	Owner, Maintainer, Developer, Reviewer, Reporter, Guest, Stranger authz.Actor
}

// New furnishes an empty database. The caller connects a service of its own and then calls Start.
func New(t *testing.T, d *db.DB) *World {
	t.Helper()
	w := &World{World: coretest.New(t, d), URLs: weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, "")}
	git, err := gitcmd.New(t.Context(), gitcmd.Config{Root: t.TempDir()})
	Check(t, err)
	t.Cleanup(func() { Check(t, git.Close()) })
	log := slog.New(slog.DiscardHandler)
	w.Settings = setting.New(d, w.Now)
	w.Accounts = account.New(account.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.Settings, Now: w.Now, URLs: w.URLs})
	w.Protections = protection.New(protection.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.Settings, Now: w.Now})
	w.Repos = repo.New(repo.Deps{
		Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Git: git, Settings: w.Settings, Projects: w.Projects, Accounts: w.Accounts,
		Tokens: token.New(token.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.Settings, Accounts: w.Accounts, Now: w.Now}),
		Log:    log, Now: w.Now, URLs: w.URLs,
		PushRules: pushrule.New(pushrule.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}), Protections: w.Protections,
	})
	w.CI = ci.New(ci.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.Settings, Projects: w.Projects, Repos: w.Repos, Protections: w.Protections, Now: w.Now})
	w.MergeRequests = mergerequest.New(mergerequest.Deps{
		Limits: &limit.Service{},
		DB:     d, Policy: w.Policy, Bus: w.Bus, Accounts: w.Accounts, Projects: w.Projects, Protections: w.Protections, Repos: w.Repos,
		Labels:     label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}),
		Milestones: milestone.New(milestone.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}), Settings: w.Settings, Log: log, Now: w.Now,
		URLs: w.URLs, Jobs: job.EnqueuerFunc(w.Enqueue), CI: w.CI,
		References: reference.New(reference.Deps{DB: d, Settings: w.Settings, Policy: w.Policy, Accounts: w.Accounts, Projects: w.Projects, Repos: w.Repos, URLs: w.URLs}),
	})
	w.MergeRequests.Connect(mergerequest.Above{Approvals: alonetest.Approvals{}})
	w.people()
	return w
}

// people makes the users of every role, and their project.
func (w *World) people() {
	w.Owner, w.Maintainer, w.Developer, w.Reviewer = w.User("olga"), w.User("mary"), w.User("dave"), w.User("ruth")
	w.Reporter, w.Guest, w.Stranger = w.User("rita"), w.User("gus"), w.User("stan")
	w.GroupID = w.Group("group", authz.Private, 0)
	w.ID = w.Project("group/shop", authz.Private, w.GroupID)
	w.Join(w.ID, w.Owner, authz.Owner)
	w.Join(w.ID, w.Maintainer, authz.Maintainer)
	w.Join(w.ID, w.Developer, authz.Developer)
	w.Join(w.ID, w.Reviewer, authz.Developer)
	w.Join(w.ID, w.Reporter, authz.Reporter)
	w.Join(w.ID, w.Guest, authz.Guest)
}

// Enqueue takes the jobs of all services.
func (w *World) Enqueue(ctx context.Context, args job.Args, options ...job.Option) error {
	return w.Jobs.Enqueue(ctx, args, options...)
}

// Start makes the queue with the jobs of merge requests and those that are registered here, and pushes the first commit.
func (w *World) Start(register ...func(*job.Registry)) {
	w.T.Helper()
	var registry job.Registry
	w.MergeRequests.RegisterJobs(&registry)
	for _, more := range register {
		more(&registry)
	}
	var err error
	w.Jobs, err = job.New(w.DB, &registry, job.Config{})
	Check(w.T, err)
	w.Repos.Connect(repo.Above{MergeRequests: w.MergeRequests})
	w.Protections.Connect(protection.Above{Collaborators: w.MergeRequests})
	w.MergeRequests.Subscribe(w.Bus)
	w.Push("main", "", Files{"a": "a\n"}, "dave")
}

// Files are texts by path.
type Files map[string]string

// Removed is the text of a file that a commit removes.
const Removed = "\x00"

// As returns the project for an actor.
func (w *World) As(who authz.Actor) *project.Project { w.T.Helper(); return w.Find(who, w.ID) }

// Plain returns the project without the level of an actor.
func (w *World) Plain() *project.Project {
	w.T.Helper()
	found, err := w.Projects.Load(w.T.Context(), []project.ID{w.ID})
	Check(w.T, err)
	return found[w.ID]
}

// Git returns the repository of the project.
func (w *World) Git() *gitcmd.Repo {
	w.T.Helper()
	r, err := w.Repos.Open(w.T.Context(), w.As(w.Owner))
	Check(w.T, err)
	return r
}

// Push puts a commit of a user on a branch; a new branch begins at from. The commit is
// authored and committed with the address NAME@example.com.
func (w *World) Push(branch, from string, content Files, name string) string {
	w.T.Helper()
	ctx, r := w.T.Context(), w.Git()
	old, err := r.Branch(ctx, branch)
	if errors.Is(err, gitstore.ErrNotFound) {
		old = gitstore.ObjectID{}
	} else {
		Check(w.T, err)
	}
	base := old
	if old.IsZero() && from != "" {
		base, err = r.Branch(ctx, from)
		Check(w.T, err)
	}
	in := gitstore.CommitInput{Message: "Change " + branch, Author: gitstore.Signature{Name: name, Email: name + "@example.com", When: w.Now()}}
	if !base.IsZero() {
		in.Parents = []gitstore.ObjectID{base}
	}
	var changes []gitstore.TreeChange
	for path, text := range content {
		if text == Removed {
			changes = append(changes, gitstore.TreeChange{Path: path})
			continue
		}
		blob, err := r.WriteBlob(ctx, []byte(text))
		Check(w.T, err)
		changes = append(changes, gitstore.TreeChange{Path: path, Mode: gitstore.ModeFile, ID: blob})
	}
	in.Tree, err = r.BuildTree(ctx, base, changes)
	Check(w.T, err)
	id, err := r.CommitTree(ctx, in)
	Check(w.T, err)
	ref, err := gitstore.BranchRef(branch)
	Check(w.T, err)
	Check(w.T, w.Repos.MoveRefs(ctx, w.Developer, w.As(w.Owner), repo.ByPush, []repo.RefChange{{Ref: ref, Old: old, New: id}}))
	return id.String()
}

// Open makes a branch with one commit of dave's and a merge request of his from it.
func (w *World) Open(branch string, content Files) *mergerequest.MergeRequest {
	w.T.Helper()
	w.Push(branch, "main", content, "dave")
	m, _, err := w.MergeRequests.Create(w.T.Context(), w.Developer, w.As(w.Developer), mergerequest.Input{
		SourceBranch: branch, TargetBranch: "main", Title: "Add " + branch, Reviewers: []authz.UserID{w.Reviewer.UserID},
	})
	Check(w.T, err)
	return m
}

// Status is the detailed merge status of a merge request.
func (w *World) Status(iid mergerequest.IID) string {
	w.T.Helper()
	p := w.As(w.Reporter)
	m, err := w.MergeRequests.Read(w.T.Context(), w.Reporter, p, iid)
	Check(w.T, err)
	return m.DetailedStatus(p)
}

// Merge merges as the maintainer.
func (w *World) Merge(iid mergerequest.IID) error {
	w.T.Helper()
	_, err := w.MergeRequests.Merge(w.T.Context(), w.Maintainer, w.As(w.Maintainer), iid, mergerequest.MergeInput{})
	return err
}

// Exec runs a statement.
func (w *World) Exec(query string, args ...any) {
	w.T.Helper()
	if _, err := w.DB.Exec(w.T.Context(), query, args...); err != nil {
		w.T.Fatal(err)
	}
}

// Check ends the test where there is an error.
func Check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantError compares kind and text of a refusal; "" is any text.
func WantError(t *testing.T, what string, err error, kind errs.Kind, text string) {
	t.Helper()
	if err == nil || !errs.Is(err, kind) || text != "" && err.Error() != text {
		t.Errorf("%s: got %v, want %v %q", what, err, kind, text)
	}
}

// Equal compares two values.
func Equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
