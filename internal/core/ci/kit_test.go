package ci_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/idtoken"
	"tenon/internal/core/jobtoken"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/pushrule"
	"tenon/internal/core/repo"
	"tenon/internal/core/runner"
	"tenon/internal/core/setting"
	"tenon/internal/core/token"
	"tenon/internal/core/trigger"
	"tenon/internal/core/variable"
	"tenon/internal/core/weburl"
)

// world is a project with a repository, people of every role, and a queue that the test runs by hand.
type world struct {
	*coretest.World
	ci          *ci.Service
	runners     *runner.Service
	variables   *variable.Service
	triggers    *trigger.Service
	idTokens    *idtoken.Service
	tokens      *token.Service
	box         *secret.Box
	scopes      *jobtoken.Service
	repos       *repo.Service
	protections *protection.Service
	accounts    *account.Service
	objects     *blob.Store
	deps        ci.Deps
	jobs        *job.Queue
	set         func(name string, value any)
	later       atomic.Int64 // what the clock is ahead
	local       atomic.Bool  // whether the server may connect to this machine
	mu          sync.Mutex
	delayed     []job.Args // jobs that wait for the clock
	pushes      []job.Args // jobs of pushes so far

	group authz.NamespaceID
	id    project.ID

	owner, maintainer, developer, reporter, guest, stranger authz.Actor
}

// each runs fn on every engine with a private project "group/shop" that has no commit yet.
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
	w.objects, err = blob.Open(t.TempDir())
	check(t, err)
	w.box, err = secret.NewBox(secret.NewKey())
	check(t, err)
	box := w.box
	urls, quiet := weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, ""), slog.New(slog.DiscardHandler)
	settings := setting.New(d, w.now).Sealed(w.box)
	w.set = coretest.Setter(t, settings)
	w.Policy.CloseProjects = func() bool { return settings.Current().EnforceCIInboundJobTokenScopeEnabled }
	w.set("default_branch_protection", 0)
	w.accounts = account.New(account.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Now: w.now, URLs: urls})
	w.tokens = token.New(token.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Accounts: w.accounts, Box: box, Now: w.now})
	w.protections = protection.New(protection.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Now: w.now})
	w.protections.Connect(alonetest.Protections())
	w.repos = repo.New(repo.Deps{
		Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Git: git, Settings: settings, Projects: w.Projects, Accounts: w.accounts,
		Tokens: w.tokens,
		Log:    quiet, Now: w.now, URLs: urls,
		PushRules: pushrule.New(pushrule.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.now}), Protections: w.protections,
	})
	w.repos.Connect(alonetest.Repos())
	places := namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Now: w.now})
	w.runners = runner.New(runner.Deps{
		Plans: &planlimit.Service{},
		DB:    d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Projects: w.Projects, Box: box, Now: w.now, Log: quiet, Namespaces: places,
	})
	w.scopes = jobtoken.New(jobtoken.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Namespaces: places, Now: w.now})
	w.variables = variable.New(variable.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Box: box, Now: w.now})
	w.triggers = trigger.New(trigger.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Box: box, Now: w.now, Log: quiet})
	w.idTokens = idtoken.New(idtoken.Deps{DB: d, Box: box, Now: w.now})
	w.deps = ci.Deps{
		Plans: &planlimit.Service{},
		DB:    d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Limits: limit.New(limit.Deps{Settings: settings, Now: w.window, Off: true}), Accounts: w.accounts, Namespaces: places, Projects: w.Projects, Repos: w.repos, Protections: w.protections,
		Runners: w.runners, Variables: w.variables, Triggers: w.triggers, IDTokens: w.idTokens, Tokens: w.tokens, Objects: w.objects, Jobs: job.EnqueuerFunc(w.enqueue), Box: box,
		Outbound: &safehttp.Dialer{Rules: func() safehttp.Rules { return safehttp.Rules{Local: w.local.Load()} }}, URLs: urls, Now: w.now, Log: quiet,
	}
	w.ci = w.another()
	w.ci.Subscribe(w.Bus)
	var registry job.Registry
	w.ci.RegisterJobs(&registry)
	w.jobs, err = job.New(d, &registry, job.Config{})
	check(t, err)

	w.owner, w.maintainer, w.developer = w.User("olga"), w.User("mary"), w.User("dave")
	w.reporter, w.guest, w.stranger = w.User("rita"), w.User("gus"), w.User("stan")
	w.group = w.Group("group", authz.Private, 0)
	w.id = w.Project("group/shop", authz.Private, w.group)
	w.staff(w.id)
	return w
}

// another is a server of its own on the same database.
func (w *world) another() *ci.Service {
	s := ci.New(w.deps)
	w.T.Cleanup(func() { check(w.T, s.Stop(context.Background())) })
	s.SetPoll(10 * time.Second)
	return s
}

// staff gives people of every role to a project.
func (w *world) staff(id project.ID) {
	w.T.Helper()
	w.Join(id, w.owner, authz.Owner)
	w.Join(id, w.maintainer, authz.Maintainer)
	w.Join(id, w.developer, authz.Developer)
	w.Join(id, w.reporter, authz.Reporter)
	w.Join(id, w.guest, authz.Guest)
}

func (w *world) now() time.Time { return w.Now().Add(time.Duration(w.later.Load())) }

// window is the clock of limits, which stands until time passes.
func (w *world) window() time.Time {
	return time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC).Add(time.Duration(w.later.Load()))
}

// pass lets time pass.
func (w *world) pass(d time.Duration) { w.later.Add(int64(d)) }

// enqueue keeps jobs that start delayed ones until the test wakes them.
func (w *world) enqueue(ctx context.Context, args job.Args, options ...job.Option) error {
	if args.Kind() == "create_pipeline" {
		w.mu.Lock()
		w.pushes = append(w.pushes, args)
		w.mu.Unlock()
	}
	if args.Kind() != "start_delayed_job" {
		return w.jobs.Enqueue(ctx, args, options...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delayed = append(w.delayed, args)
	return nil
}

// wakeDelayed does the jobs that start delayed ones, whether their time has come or not.
func (w *world) wakeDelayed() {
	w.T.Helper()
	w.mu.Lock()
	list := w.delayed
	w.delayed = nil
	w.mu.Unlock()
	for _, args := range list {
		check(w.T, w.jobs.Enqueue(w.T.Context(), args))
	}
	w.drain()
}

// drain does all background work.
func (w *world) drain() {
	w.T.Helper()
	check(w.T, w.jobs.Drain(w.T.Context()))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError compares kind and text of a refusal.
func wantError(t *testing.T, what string, err error, kind errs.Kind, text string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want %s %q", what, kind, text)
		return
	}
	if !errs.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %s %q, want %s %q", what, errs.KindOf(err), err, kind, text)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

type files map[string]string

// yml is a commit's only file, the configuration.
func yml(text string) files { return files{".gitlab-ci.yml": text} }

// as returns the project for an actor.
func (w *world) as(who authz.Actor) *project.Project { w.T.Helper(); return w.Find(who, w.id) }

func (w *world) git(id project.ID) *gitcmd.Repo {
	w.T.Helper()
	r, err := w.repos.Open(w.T.Context(), w.Find(w.owner, id))
	check(w.T, err)
	return r
}

// commit writes a commit on top of another, "" for none, and moves nothing.
func (w *world) commit(id project.ID, parent string, content files, message string) string {
	w.T.Helper()
	ctx, r := w.T.Context(), w.git(id)
	in := gitstore.CommitInput{Message: message, Author: gitstore.Signature{Name: "Dave", Email: "dave@example.com", When: w.now()}}
	var base gitstore.ObjectID
	if parent != "" {
		base = parse(w.T, parent)
		in.Parents = append(in.Parents, base)
	}
	var changes []gitstore.TreeChange
	for _, path := range slices.Sorted(maps.Keys(content)) {
		blob, err := r.WriteBlob(ctx, []byte(content[path]))
		check(w.T, err)
		changes = append(changes, gitstore.TreeChange{Path: path, Mode: gitstore.ModeFile, ID: blob})
	}
	tree, err := r.BuildTree(ctx, base, changes)
	check(w.T, err)
	in.Tree = tree
	made, err := r.CommitTree(ctx, in)
	check(w.T, err)
	return made.String()
}

func parse(t *testing.T, text string) gitstore.ObjectID {
	t.Helper()
	if text == "" {
		return gitstore.ObjectID{}
	}
	id, err := gitstore.ParseObjectID(text)
	check(t, err)
	return id
}

// tip returns the commit of a branch, "" where there is none.
func (w *world) tip(id project.ID, branch string) string {
	w.T.Helper()
	at, err := w.git(id).Branch(w.T.Context(), branch)
	if errors.Is(err, gitstore.ErrNotFound) {
		return ""
	}
	check(w.T, err)
	return at.String()
}

// move makes references name commits as one push of the maintainer does; "" deletes one. It does no background work.
func (w *world) move(id project.ID, to map[string]string) {
	w.T.Helper()
	var changes []repo.RefChange
	for _, ref := range slices.Sorted(maps.Keys(to)) {
		c := repo.RefChange{Ref: gitstore.RefName(ref), New: parse(w.T, to[ref])}
		if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			c.Old = parse(w.T, w.tip(id, branch))
		}
		changes = append(changes, c)
	}
	check(w.T, w.repos.MoveRefs(w.T.Context(), w.maintainer, w.Find(w.maintainer, id), repo.ByPush, changes))
}

// push puts a commit on a branch of the project and does the work that follows.
func (w *world) push(branch string, content files, message string) string {
	w.T.Helper()
	return w.pushTo(w.id, branch, content, message)
}

func (w *world) pushTo(id project.ID, branch string, content files, message string) string {
	w.T.Helper()
	sha := w.commit(id, w.tip(id, branch), content, message)
	w.move(id, map[string]string{"refs/heads/" + branch: sha})
	w.drain()
	return sha
}

// begin pushes a configuration to branch "work" and returns its pipeline.
func (w *world) begin(text string) *ci.Pipeline {
	w.T.Helper()
	w.push("work", yml(text), "Change")
	return w.newest("work")
}

// pipelines lists those of a branch, children too, the newest first.
func (w *world) pipelines(id project.ID, ref string) []ci.Pipeline {
	w.T.Helper()
	list, err := db.Select[ci.Pipeline](w.T.Context(), w.DB, "SELECT "+db.Columns[ci.Pipeline]("p")+" FROM pipelines p WHERE p.project_id = ? AND p.ref = ? ORDER BY p.id DESC", id, ref)
	check(w.T, err)
	return list
}

// newest returns the newest pipeline of a branch.
func (w *world) newest(ref string) *ci.Pipeline {
	w.T.Helper()
	list := w.pipelines(w.id, ref)
	if len(list) == 0 {
		w.T.Fatalf("no pipeline of %s", ref)
	}
	return &list[0]
}

// again reads a pipeline again.
func (w *world) again(of *ci.Pipeline) *ci.Pipeline {
	w.T.Helper()
	p, err := w.ci.Find(w.T.Context(), w.owner, w.Find(w.owner, of.ProjectID), of.ID)
	check(w.T, err)
	return p
}

// states returns the jobs of a pipeline, without those that others took the place of, and its own state: "a:pending b:created = pending".
func (w *world) states(of *ci.Pipeline) string {
	w.T.Helper()
	list, err := db.Select[string](w.T.Context(), w.DB, "SELECT name || ':' || status FROM commit_statuses WHERE pipeline_id = ? AND NOT retried ORDER BY stage_idx, name, id", of.ID)
	check(w.T, err)
	return strings.TrimSpace(strings.Join(list, " ") + " = " + string(w.again(of).State))
}

func (w *world) wantStates(of *ci.Pipeline, when, want string) {
	w.T.Helper()
	if got := w.states(of); got != want {
		w.T.Errorf("%s: %s, want %s", when, got, want)
	}
}

// job returns the job of a name, the newest of that name.
func (w *world) job(of *ci.Pipeline, name string) *ci.Job {
	w.T.Helper()
	id, err := db.Get[ci.StatusID](w.T.Context(), w.DB, "SELECT MAX(id) FROM commit_statuses WHERE pipeline_id = ? AND name = ?", of.ID, name)
	check(w.T, err)
	row, err := db.Get[ci.Job](w.T.Context(), w.DB, "SELECT "+db.Columns[ci.Status]("s")+", "+db.Columns[ci.Build]("j")+
		" FROM commit_statuses s JOIN jobs j ON j.job_id = s.id WHERE s.id = ?", id)
	check(w.T, err)
	return &row
}

func reason(j *ci.Job) string {
	if j.FailureReason == nil {
		return ""
	}
	return *j.FailureReason
}

// runner makes a runner and returns its token.
func (w *world) runner(kind runner.Type, more coretest.Row, projects ...project.ID) string {
	w.T.Helper()
	token := secret.NewToken("glrt-")
	row := coretest.Row{"runner_type": kind, "digest": secret.Digest(token), "tags": "[]", "run_untagged": true}
	maps.Copy(row, more)
	id := w.Insert("runners", row)
	for _, p := range projects {
		w.Insert("runner_projects", coretest.Row{"runner_id": id, "project_id": p})
	}
	return token
}

// features are what the usual runner can do, but for going on after a cancellation.
func features() map[string]bool {
	return map[string]bool{"upload_multiple_artifacts": true, "artifacts_exclude": true, "multi_build_steps": true, "return_exit_code": true, "fallback_cache_keys": true}
}

// ask asks for a job, nil where there is none.
func (w *world) ask(token string) *ci.Assignment {
	w.T.Helper()
	a, _, err := w.ci.Request(w.T.Context(), ci.Ask{Token: token, SystemID: "s_1", Features: features(), Address: "127.0.0.1"})
	check(w.T, err)
	return a
}

// take asks for a job that must be there and have the name.
func (w *world) take(token, name string) *ci.Assignment {
	w.T.Helper()
	a := w.ask(token)
	if a == nil {
		w.T.Fatalf("the runner got no job, want %s", name)
	}
	if a.Job.Name != name {
		w.T.Fatalf("the runner got %s, want %s", a.Job.Name, name)
	}
	return a
}

func (w *world) hold(a *ci.Assignment) *ci.AuthenticatedJob {
	w.T.Helper()
	h, err := w.ci.Hold(w.T.Context(), a.Job.ID, a.Token)
	check(w.T, err)
	return h
}

// end ends a job.
func (w *world) end(a *ci.Assignment, o ci.Outcome) {
	w.T.Helper()
	_, err := w.ci.Finish(w.T.Context(), w.hold(a), o)
	check(w.T, err)
}

func (w *world) succeed(a *ci.Assignment) { w.T.Helper(); w.end(a, ci.Outcome{State: "success"}) }

func (w *world) fail(a *ci.Assignment) {
	w.T.Helper()
	code := int64(1)
	w.end(a, ci.Outcome{State: "failed", Reason: ci.ScriptFailure, ExitCode: &code})
}

// run takes the job of a name and ends it with success.
func (w *world) run(token, name string) { w.T.Helper(); w.succeed(w.take(token, name)) }

// value returns a variable of a job, "" where it has none.
func value(a *ci.Assignment, key string) string {
	out := ""
	for _, v := range a.Variables {
		if v.Key == key {
			out = v.Value
		}
	}
	return out
}

func zipped(t *testing.T, content files) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(content)) {
		f, err := z.Create(name)
		check(t, err)
		_, err = f.Write([]byte(content[name]))
		check(t, err)
	}
	check(t, z.Close())
	return out.Bytes()
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write([]byte(text))
	check(t, err)
	check(t, z.Close())
	return out.Bytes()
}

// store keeps an archive of files for a job.
func (w *world) store(a *ci.Assignment, in ci.ArtifactInput, content []byte) error {
	w.T.Helper()
	in.Content = bytes.NewReader(content)
	return w.ci.Store(w.T.Context(), w.hold(a), in)
}

func (w *world) archive(a *ci.Assignment, content files) {
	w.T.Helper()
	check(w.T, w.store(a, ci.ArtifactInput{Filename: "artifacts.zip"}, zipped(w.T, content)))
}

func (w *world) exec(query string, args ...any) {
	w.T.Helper()
	if _, err := w.DB.Exec(w.T.Context(), query, args...); err != nil {
		w.T.Fatal(err)
	}
}

// settings changes settings of the project, as JSON.
func (w *world) settings(id project.ID, text string) {
	w.T.Helper()
	w.exec("UPDATE projects SET settings = ? WHERE id = ?", text, id)
}

// protect protects a branch, to which maintainers may push then.
func (w *world) protect(branch string) {
	w.T.Helper()
	_, err := w.protections.ProtectBranch(w.T.Context(), w.owner, w.as(w.owner), protection.Input{Name: branch})
	check(w.T, err)
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	again, end := time.NewTicker(time.Millisecond), time.After(30*time.Second)
	defer again.Stop()
	for !is() {
		select {
		case <-again.C:
		case <-end:
			t.Fatal("never: " + what)
		}
	}
}

// update moves a branch without telling anything of it.
func update(branch, to string) []gitstore.RefUpdate {
	id, err := gitstore.ParseObjectID(to)
	if err != nil {
		panic(err)
	}
	return []gitstore.RefUpdate{{Ref: gitstore.RefName("refs/heads/" + branch), New: id, AnyOld: true}}
}

// loaded returns the project without a user's level, for actors who cannot find it.
func (w *world) loaded() *project.Project {
	w.T.Helper()
	all, err := w.Projects.Load(w.T.Context(), []project.ID{w.id})
	check(w.T, err)
	return all[w.id]
}
