package repo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// fork makes the row of a fork of a project, owned by who, whose repository is still to
// be filled.
func (w *world) fork(path string, of project.ID, who authz.Actor) repo.CopyFork {
	w.T.Helper()
	group := w.Group(path+"s", authz.Private, 0)
	id := w.Project(path+"s/"+path, authz.Private, group)
	w.Join(id, who, authz.Owner)
	source := w.Find(authz.System(), of)
	w.exec("UPDATE projects SET forked_from_id = ?, fork_root_id = ?, import_status = ? WHERE id = ?", of, source.Root(), project.ImportScheduled, id)
	return repo.CopyFork{ProjectID: id, SourceID: of}
}

func (w *world) exec(query string, args ...any) {
	w.T.Helper()
	_, err := w.DB.Exec(w.T.Context(), query, args...)
	check(w.T, err)
}

func (w *world) count(query string, args ...any) int {
	w.T.Helper()
	n, err := db.Get[int](w.T.Context(), w.DB, query, args...)
	check(w.T, err)
	return n
}

// at opens the repository of any project.
func (w *world) at(id project.ID) *gitcmd.Repo {
	w.T.Helper()
	r, err := w.repos.Open(w.T.Context(), w.Find(authz.System(), id))
	check(w.T, err)
	return r
}

// pools lists the repositories of pools on disk.
func (w *world) pools() []string {
	w.T.Helper()
	found, err := filepath.Glob(filepath.Join(w.git.Repo("@pools").Path(), "*", "*", "*.git"))
	check(w.T, err)
	return found
}

// seen fails the test unless a commit can be read in a project, or cannot.
func (w *world) seen(id project.ID, commit gitstore.ObjectID, want bool) {
	w.T.Helper()
	p := w.Find(authz.System(), id)
	_, err := w.repos.FindCommit(w.T.Context(), authz.System(), p, commit.String())
	if want && err != nil || !want && !errs.Is(err, errs.NotFound) {
		w.T.Errorf("commit %s in %s: %v, want it readable: %v", commit.Short(), p.FullPath, err, want)
	}
}

func TestService_FillFork(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		base := w.put("main", "a", "a\n")
		w.put("feature", "b", "b\n")
		tag, err := w.open().CreateTag(ctx, gitstore.TagInput{Name: "v1", Target: base.ID, Tagger: gitstore.Signature{Name: "A", Email: "a@x", When: w.Now()}})
		check(t, err)
		check(t, w.open().UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/tags/v1", New: tag}}))
		job := w.fork("fork", w.id, w.developer)
		p := w.Find(w.developer, job.ProjectID)
		if _, err := w.repos.BeginPush(ctx, w.developer, p); !errs.Is(err, errs.Forbidden) || err.Error() != "A repository for this project does not exist yet." {
			t.Errorf("push before it is filled: %v", err)
		}
		for range 2 { // a second run has nothing to do
			check(t, w.repos.FillFork(ctx, job))
		}
		p = w.Find(w.developer, job.ProjectID)
		if p.ImportStatus != project.ImportFinished || p.DefaultBranch == nil || *p.DefaultBranch != "main" {
			t.Errorf("fork: status %q, default branch %v", p.ImportStatus, p.DefaultBranch)
		}
		r := w.at(job.ProjectID)
		refs, err := r.Refs(ctx, "refs/")
		check(t, err)
		if fmt.Sprint(len(refs), refs[0].Name, refs[1].Name, refs[2].Name) != "3refs/heads/featurerefs/heads/mainrefs/tags/v1" || !refs[2].Annotated() {
			t.Errorf("references: %+v", refs)
		}
		access, err := w.protections.BranchAccess(ctx, w.developer, p, "main")
		if check(t, err); !access.Protected {
			t.Error("the default branch of the fork is not protected")
		}
		check(t, r.Fsck(ctx))
		if len(w.pools()) != 1 {
			t.Errorf("pools: %v", w.pools())
		}
	})
}

// The attack of a shared object store: a user who knows the id of a commit that is in
// a user's private fork only, or of one that was never on a branch of the source, asks
// another member of the network for it.
func TestService_FillFork_secrets(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		base := w.put("main", "a", "a\n")
		// A merge request of a private fork, and a branch that was deleted before.
		hidden := w.put("secret", "hidden", "hidden\n")
		check(t, w.open().UpdateRefs(ctx, []gitstore.RefUpdate{
			{Ref: "refs/merge-requests/1/head", New: hidden.ID}, {Ref: "refs/heads/secret", Old: hidden.ID},
		}))
		one, two := w.fork("one", w.id, w.developer), w.fork("two", w.id, w.reporter)
		check(t, w.repos.FillFork(ctx, one))
		w.seen(one.ProjectID, hidden.ID, false)

		parent := w.id
		w.id, w.owner = one.ProjectID, w.developer
		private := w.put("main", "own", "own\n")
		w.id = parent
		later, err := w.repos.Commit(ctx, w.maintainer, w.Find(w.maintainer, parent), repo.CommitInput{
			Branch: "main", Message: "Later", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "later", Content: ptr("later\n")}},
		})
		check(t, err)
		check(t, w.repos.FillFork(ctx, two))

		for _, id := range []project.ID{parent, one.ProjectID, two.ProjectID} {
			w.seen(id, base.ID, true)
			w.seen(id, private.ID, id == one.ProjectID)
			w.seen(id, later.ID, id != one.ProjectID)
			w.seen(id, hidden.ID, id == parent)
		}
		// A fork of one branch gets that branch and shares nothing.
		three := w.fork("three", parent, w.reporter)
		branch, err := w.repos.Commit(ctx, w.maintainer, w.Find(w.maintainer, parent), repo.CommitInput{
			Branch: "side", StartBranch: "main", Message: "Side", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "side", Content: ptr("side\n")}},
		})
		check(t, err)
		three.Branch = "main"
		check(t, w.repos.FillFork(ctx, three))
		w.seen(three.ProjectID, later.ID, true)
		w.seen(three.ProjectID, branch.ID, false)
		if pool, err := w.at(three.ProjectID).Linked(); pool != nil || err != nil {
			t.Errorf("a fork of one branch is linked to %v, %v", pool, err)
		}
	})
}

// Many fork one project at once: there is one pool, and every fork is whole.
func TestService_FillFork_atOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		tip := w.put("main", "a", "a\n")
		var jobs []repo.CopyFork
		for i := range 6 {
			jobs = append(jobs, w.fork(fmt.Sprintf("fork%d", i), w.id, w.developer))
		}
		var mu sync.Mutex
		var again []repo.CopyFork // those that found another job making the pool
		w.enqueue = func(_ context.Context, args job.Args, _ ...job.Option) error {
			mu.Lock()
			defer mu.Unlock()
			if fork, ok := args.(repo.CopyFork); ok {
				again = append(again, fork)
			}
			return nil
		}
		errs := make([]error, len(jobs))
		var all sync.WaitGroup
		for i, job := range jobs {
			all.Go(func() { errs[i] = w.repos.FillFork(t.Context(), job) })
		}
		all.Wait()
		for i := range errs {
			check(t, errs[i])
		}
		for _, job := range again {
			check(t, w.repos.FillFork(t.Context(), job))
		}
		for _, job := range jobs {
			w.seen(job.ProjectID, tip.ID, true)
			check(t, w.at(job.ProjectID).Fsck(t.Context()))
		}
		if n := w.count("SELECT COUNT(*) FROM pools"); n != 1 || len(w.pools()) != 1 {
			t.Errorf("%d rows and %d folders of pools, want one", n, len(w.pools()))
		}
		// A fork of a fork joins the same pool.
		last := w.fork("again", jobs[0].ProjectID, w.developer)
		check(t, w.repos.FillFork(t.Context(), last))
		w.seen(last.ProjectID, tip.ID, true)
		if len(w.pools()) != 1 {
			t.Errorf("pools after the fork of a fork: %v", w.pools())
		}
	})
}

// Source and forks go in any order; what is left is whole, and the pool goes with its
// last member.
func TestService_LeavePool(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		tip := w.put("main", "a", "a\n")
		one, two, three := w.fork("one", w.id, w.developer), w.fork("two", w.id, w.developer), w.fork("three", w.id, w.developer)
		for _, job := range []repo.CopyFork{one, two, three} {
			check(t, w.repos.FillFork(ctx, job))
		}
		remove := func(id project.ID) {
			t.Helper()
			check(t, w.repos.Remove(ctx, w.Find(authz.System(), id)))
			w.exec("DELETE FROM projects WHERE id = ?", id)
		}
		remove(w.id)
		for _, job := range []repo.CopyFork{one, two, three} {
			check(t, w.at(job.ProjectID).Fsck(ctx))
		}
		for range 2 {
			check(t, w.repos.LeavePool(ctx, repo.PoolLeaving{ProjectID: one.ProjectID}))
		}
		if pool, err := w.at(one.ProjectID).Linked(); pool != nil || err != nil {
			t.Errorf("linked to %v after it left: %v", pool, err)
		}
		remove(two.ProjectID)
		if len(w.pools()) != 1 {
			t.Errorf("pools while one fork is left in it: %v", w.pools())
		}
		w.seen(three.ProjectID, tip.ID, true)
		check(t, w.repos.LeavePool(ctx, repo.PoolLeaving{ProjectID: three.ProjectID}))
		if n := w.count("SELECT COUNT(*) FROM pools"); n != 0 || len(w.pools()) != 0 {
			t.Errorf("%d rows and %v left of the pool", n, w.pools())
		}
		for _, job := range []repo.CopyFork{one, three} {
			r := w.at(job.ProjectID)
			check(t, r.Fsck(ctx))
			check(t, r.Maintain(ctx, gitcmd.Maintenance{Full: true}))
			check(t, r.Fsck(ctx))
			w.seen(job.ProjectID, tip.ID, true)
		}
	})
}

// Housekeeping of a fork leaves the pool alone and has nothing to do twice.
func TestService_Housekeep_fork(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		tip := w.put("main", "a", "a\n")
		job := w.fork("fork", w.id, w.developer)
		check(t, w.repos.FillFork(ctx, job))
		r := w.at(job.ProjectID)
		for i := range 200 {
			_, err := r.WriteBlob(ctx, fmt.Appendf(nil, "loose %d", i))
			check(t, err)
		}
		for range 2 {
			check(t, w.repos.Housekeep(ctx, repo.Housekeeping{ProjectID: job.ProjectID}))
		}
		s, err := r.Storage(ctx)
		if check(t, err); s.Loose != 0 || s.Packs != 1 || !s.Borrows {
			t.Errorf("after housekeeping: %+v", s)
		}
		w.seen(job.ProjectID, tip.ID, true)
		check(t, r.Fsck(ctx))
	})
}

// A crash may come after every step; the next run finishes, and the sweep removes what
// belongs to no project.
func TestService_FillFork_crash(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		tip := w.put("main", "a", "a\n")
		finish := func(name string, args repo.CopyFork) {
			t.Helper()
			check(t, w.repos.FillFork(ctx, args))
			p := w.Find(authz.System(), args.ProjectID)
			if p.ImportStatus != project.ImportFinished || p.DefaultBranch == nil {
				t.Errorf("%s: status %q, default branch %v", name, p.ImportStatus, p.DefaultBranch)
			}
			w.seen(args.ProjectID, tip.ID, true)
			check(t, w.at(args.ProjectID).Fsck(ctx))
			check(t, w.repos.SweepPools(ctx, repo.PoolSweep{}))
			check(t, w.at(args.ProjectID).Fsck(ctx))
		}
		started := w.fork("started", w.id, w.developer)
		w.exec("UPDATE projects SET import_status = 'started' WHERE id = ?", started.ProjectID)
		finish("after the first note", started)

		failed := w.fork("failed", w.id, w.developer)
		w.exec("UPDATE projects SET import_status = 'failed', import_error = 'x' WHERE id = ?", failed.ProjectID)
		check(t, w.repos.FillFork(ctx, failed))
		if p := w.Find(authz.System(), failed.ProjectID); p.ImportStatus != project.ImportFailed {
			t.Errorf("a fork that failed, and that people may have pushed to, was filled again: %q", p.ImportStatus)
		}

		var later []job.Args
		w.enqueue = func(_ context.Context, args job.Args, _ ...job.Option) error {
			later = append(later, args)
			return nil
		}
		early := w.fork("early", w.id, w.developer)
		w.exec("UPDATE projects SET import_status = 'started' WHERE id = ?", w.id)
		check(t, w.repos.FillFork(ctx, early))
		w.exec("UPDATE projects SET import_status = 'none' WHERE id = ?", w.id)
		if len(later) != 1 || later[0] != job.Args(early) {
			t.Errorf("jobs %v, want the copy again when the source is there", later)
		}
		later = nil
		finish("after the source was filled", early)

		// The rows of a pool are there, its folder is not.
		w.exec("UPDATE pools SET source_project_id = NULL")
		rows := w.fork("rows", w.id, w.developer)
		pool := w.Insert("pools", map[string]any{"source_project_id": w.id})
		w.exec("INSERT INTO pool_members (project_id, pool_id) VALUES (?, ?)", rows.ProjectID, pool)
		finish("after the rows of the pool", rows)
		if len(w.pools()) != 2 {
			t.Errorf("pools: %v, want two", w.pools())
		}

		// Everything is done but the last note.
		w.exec("UPDATE projects SET import_status = 'started', default_branch = NULL WHERE id = ?", rows.ProjectID)
		finish("before the last note", rows)

		// A folder without a row, and one that a process was making long ago.
		stray := w.git.Repo("@pools/ab/cd/stray.git")
		check(t, stray.Init(ctx, "main"))
		check(t, os.MkdirAll(filepath.Join(filepath.Dir(stray.Path()), ".init-now"), 0o750))
		check(t, w.repos.SweepPools(ctx, repo.PoolSweep{}))
		if stray.Exists() {
			t.Error("a pool without a row is still there")
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(stray.Path()), ".init-now")); err != nil {
			t.Errorf("a pool that is being made: %v", err)
		}

		gone := w.fork("gone", w.id, w.developer)
		w.exec("UPDATE projects SET pending_delete = ? WHERE id = ?", true, w.id)
		if err := w.repos.FillFork(ctx, gone); err == nil {
			t.Error("copied a project that is being deleted")
		}
		if p := w.Find(authz.System(), gone.ProjectID); p.ImportStatus != project.ImportFailed || p.ImportError == nil {
			t.Errorf("fork of what is gone: %q %v", p.ImportStatus, p.ImportError)
		}
	})
}

// An empty project has empty forks, which take a first push like any other.
func TestService_FillFork_empty(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		job := w.fork("fork", w.id, w.developer)
		check(t, w.repos.FillFork(ctx, job))
		p := w.Find(w.developer, job.ProjectID)
		if p.ImportStatus != project.ImportFinished || p.DefaultBranch != nil || len(w.pools()) != 0 {
			t.Errorf("fork: %q, %v; pools %v", p.ImportStatus, p.DefaultBranch, w.pools())
		}
		_, err := w.repos.Commit(context.WithoutCancel(ctx), w.developer, p, repo.CommitInput{
			Branch: "main", Message: "First", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "a", Content: ptr("a\n")}},
		})
		check(t, err)
	})
}
