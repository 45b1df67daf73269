package mergerequest_test

import (
	"context"
	"fmt"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// forked is a public project with a public fork of stan's, who is a stranger to the first.
type forked struct {
	*world
	parent, fork project.ID
}

func eachFork(t *testing.T, fn func(t *testing.T, w *forked)) {
	t.Helper()
	each(t, func(t *testing.T, w *world) {
		f := &forked{world: w, parent: w.id}
		event.On(w.Bus, "merge requests between forks", w.requests.OnUnforked)
		f.fork = w.Project("stans/shop", authz.Public, w.Group("stans", authz.Public, 0))
		w.Join(f.fork, w.stranger, authz.Owner)
		w.exec("UPDATE namespaces SET visibility = 20")
		w.exec("UPDATE projects SET forked_from_id = ?, fork_root_id = ?, import_status = 'scheduled' WHERE id = ?", f.parent, f.parent, f.fork)
		check(t, w.repos.FillFork(t.Context(), repo.CopyFork{ProjectID: f.fork, SourceID: f.parent}))
		fn(t, f)
	})
}

// in does something with the helpers of the world in the fork, as its owner.
func (f *forked) in(do func()) {
	id, owner, developer := f.id, f.owner, f.developer
	f.id, f.owner, f.developer = f.fork, f.stranger, f.stranger
	do()
	f.id, f.owner, f.developer = id, owner, developer
}

// pushFork puts a commit onto a branch of the fork.
func (f *forked) pushFork(branch string, content files) (tip string) {
	f.T.Helper()
	f.in(func() { tip = f.push(branch, f.tip("main"), content, "Change "+branch) })
	return tip
}

// request opens a merge request from a branch of the fork.
func (f *forked) request(branch string, change func(in *mergerequest.Input)) *mergerequest.MergeRequest {
	f.T.Helper()
	in := mergerequest.Input{Target: f.parent, SourceBranch: branch, TargetBranch: "main", Title: "Add " + branch}
	if change != nil {
		change(&in)
	}
	m, _, err := f.requests.Create(f.T.Context(), f.stranger, f.Find(f.stranger, f.fork), in)
	check(f.T, err)
	return m
}

func TestFork_merge(t *testing.T) {
	t.Parallel()
	eachFork(t, func(t *testing.T, f *forked) {
		ctx := t.Context()
		base := f.tip("main")
		first := f.pushFork("topic", files{"c": "c\n"})
		m := f.request("topic", func(in *mergerequest.Input) { in.RemoveSource = ptr(true) })
		equal(t, "head", m.HeadSHA, first)
		equal(t, "base", m.BaseSHA, base)
		equal(t, "commits", m.CommitsCount, 1)
		equal(t, "status", m.Status, mergerequest.CanBeMerged)
		equal(t, "source", *m.SourceProjectID, f.fork)
		equal(t, "fork", m.Fork(), true)
		head, err := f.git().Ref(ctx, gitstore.RefName(fmt.Sprintf("refs/merge-requests/%d/head", m.IID)))
		check(t, err)
		equal(t, "refs/merge-requests/head", head.String(), first)

		// A push to the fork is another version.
		second := f.pushFork("topic", files{"d": "d\n"})
		f.drain()
		m = f.read(m.IID)
		equal(t, "head after a push", m.HeadSHA, second)
		equal(t, "commits after a push", m.CommitsCount, 2)
		versions, err := f.requests.Versions(ctx, f.reporter, f.as(f.reporter), m.IID, page.Range{})
		check(t, err)
		equal(t, "versions", len(versions.Items), 2)
		diff, err := f.requests.Diff(ctx, f.reporter, f.as(f.reporter), m, nil)
		check(t, err)
		equal(t, "changed files", len(diff.Files), 2)
		list, err := f.requests.List(ctx, f.reporter, f.as(f.reporter).Place(), mergerequest.Filter{Selection: mergerequest.Selection{SourceProject: f.fork}})
		check(t, err)
		equal(t, "requests from the fork", len(list.Items), 1)

		_, err = f.merge(f.stranger, m.IID, mergerequest.MergeInput{})
		wantError(t, err, errs.Unauthorized, "")
		merged, err := f.merge(f.maintainer, m.IID, mergerequest.MergeInput{})
		check(t, err)
		equal(t, "state", merged.State, mergerequest.StateMerged)
		equal(t, "parents", parents(f.commit(*merged.MergeCommitSHA)), base+" "+second)
		check(t, f.git().Fsck(ctx))
		// The maintainer may not push to the fork, so its branch stays.
		f.in(func() { equal(t, "source branch", f.tip("topic"), second) })
	})
}

// A user who may push to the fork as well has its branch removed by the merge.
func TestFork_merge_squash(t *testing.T) {
	t.Parallel()
	eachFork(t, func(t *testing.T, f *forked) {
		f.Join(f.fork, f.maintainer, authz.Developer)
		f.pushFork("topic", files{"c": "c\n"})
		f.pushFork("topic", files{"d": "d\n"})
		m := f.request("topic", nil)
		merged, err := f.merge(f.maintainer, m.IID, mergerequest.MergeInput{Squash: true, RemoveSource: ptr(true)})
		check(t, err)
		if merged.SquashCommitSHA == nil || f.file(f.tip("main"), "d") != "d\n" {
			t.Errorf("squashed: %+v", merged)
		}
		f.in(func() { equal(t, "source branch", f.tip("topic"), "") })
		check(t, f.git().Fsck(t.Context()))
	})
}

func TestFork_create(t *testing.T) {
	t.Parallel()
	eachFork(t, func(t *testing.T, f *forked) {
		ctx := t.Context()
		f.pushFork("topic", files{"c": "c\n"})
		apart := f.Project("stans/apart", authz.Public, f.Find(f.stranger, f.fork).ParentID)
		hidden := f.Project("stans/hidden", authz.Private, f.Find(f.stranger, f.fork).ParentID)
		from := f.Find(f.stranger, f.fork)
		create := func(as authz.Actor, target project.ID) error {
			_, _, err := f.requests.Create(ctx, as, from, mergerequest.Input{Target: target, SourceBranch: "topic", TargetBranch: "main", Title: "T"})
			return err
		}
		wantError(t, create(f.stranger, apart), errs.Unprocessable, "Source project is not a fork of the target project")
		wantError(t, create(f.stranger, hidden), errs.NotFound, "")
		from = f.Find(f.maintainer, f.fork)
		wantError(t, create(f.maintainer, f.parent), errs.Forbidden, "") // pushes not to the fork
		from = f.Find(f.stranger, f.fork)
		check(t, create(f.stranger, f.parent))
		wantError(t, create(f.stranger, f.parent), errs.Conflict, "Another open merge request already exists for this source branch: !1")
		check(t, create(f.stranger, 0)) // from the fork into itself
		f.exec("UPDATE projects SET merge_requests_access = 0 WHERE id = ?", f.parent)
		f.exec("UPDATE merge_requests SET state = 'closed'")
		wantError(t, create(f.stranger, f.parent), errs.Forbidden, "")
	})
}

// Requests between forks end with their relation, and do not open again.
func TestFork_unforked(t *testing.T) {
	t.Parallel()
	eachFork(t, func(t *testing.T, f *forked) {
		ctx := t.Context()
		f.pushFork("topic", files{"c": "c\n"})
		f.pushFork("other", files{"o": "o\n"})
		m := f.request("topic", nil)
		own := f.request("other", func(in *mergerequest.Input) { in.Target = 0 })
		gone := project.Fact{Stamp: f.stranger.Stamp(f.Now()), After: f.Find(f.stranger, f.fork)}
		leave := func(e project.Unforked) {
			t.Helper()
			check(t, f.DB.InTx(ctx, func(ctx context.Context) error { return f.Bus.Publish(ctx, e) }))
		}
		leave(project.Unforked{Fact: gone})
		f.exec("UPDATE projects SET forked_from_id = NULL, fork_root_id = NULL WHERE id = ?", f.fork)
		m = f.read(m.IID)
		equal(t, "state", m.State, mergerequest.StateClosed)
		equal(t, "closed by", *m.ClosedByID, f.stranger.UserID)
		inside, err := f.requests.Find(ctx, f.stranger, f.Find(f.stranger, f.fork), own.IID)
		check(t, err)
		equal(t, "request inside the fork", inside.State, mergerequest.StateOpened)
		_, err = f.requests.Update(ctx, f.maintainer, f.as(f.maintainer), m.IID, mergerequest.Changes{Event: mergerequest.Reopen})
		wantError(t, err, errs.Unprocessable, "Source project is not a fork of the target project")

		f.exec("UPDATE projects SET forked_from_id = ?, fork_root_id = ? WHERE id = ?", f.parent, f.parent, f.fork)
		_, err = f.requests.Update(ctx, f.maintainer, f.as(f.maintainer), m.IID, mergerequest.Changes{Event: mergerequest.Reopen})
		check(t, err)
		// Deleted: closed, and then without a source. What it brought stays.
		leave(project.Unforked{Fact: gone, Deleted: true})
		check(t, f.repos.Remove(ctx, f.Find(f.stranger, f.fork)))
		f.exec("DELETE FROM projects WHERE id = ?", f.fork)
		m = f.read(m.IID)
		if m.State != mergerequest.StateClosed || m.SourceProjectID != nil || m.HeadSHA == "" {
			t.Errorf("after the fork was deleted: %+v", m)
		}
		diff, err := f.requests.Diff(ctx, f.reporter, f.as(f.reporter), m, nil)
		check(t, err)
		equal(t, "changed files", len(diff.Files), 1)
		_, err = f.requests.Update(ctx, f.maintainer, f.as(f.maintainer), m.IID, mergerequest.Changes{Event: mergerequest.Reopen})
		wantError(t, err, errs.Unprocessable, "Source project is not a fork of the target project")
		check(t, f.git().Fsck(ctx))
	})
}

// The attack: "allow edits" must let in only those who may merge, only into the branch of
// the request, and only while it is open.
func TestFork_collaboration(t *testing.T) {
	t.Parallel()
	eachFork(t, func(t *testing.T, f *forked) {
		ctx := t.Context()
		old := f.pushFork("topic", files{"c": "c\n"})
		f.pushFork("private", files{"p": "p\n"})
		zero := gitstore.ObjectID{}
		tip, err := gitstore.ParseObjectID(old)
		check(t, err)
		var next gitstore.ObjectID
		f.in(func() { next = f.write([]string{old}, files{"e": "e\n"}, "Edit") })
		try := func(as authz.Actor, ref gitstore.RefName, from, to gitstore.ObjectID) bool {
			t.Helper()
			p := f.Find(as, f.fork)
			var r *gitcmd.Repo
			f.in(func() { r = f.git() })
			err := f.repos.Judge(ctx, as, p, repo.ByPush, r, []repo.RefChange{{Ref: ref, Old: from, New: to}})
			if err != nil && !errs.Is(err, errs.Forbidden) {
				t.Fatal(err)
			}
			_, begun := f.repos.BeginPush(ctx, as, p)
			if err == nil && begun != nil {
				t.Errorf("%s may move %s but not push: %v", as.Username, ref, begun)
			}
			return err == nil
		}
		edit := func(as authz.Actor) bool { t.Helper(); return try(as, "refs/heads/topic", tip, next) }
		m := f.request("topic", nil)
		equal(t, "closed to maintainers at first", edit(f.maintainer), false)
		allow := func(as authz.Actor, yes bool) *mergerequest.MergeRequest {
			t.Helper()
			out, err := f.requests.Update(ctx, as, f.Find(as, f.parent), m.IID, mergerequest.Changes{AllowCollaboration: &yes})
			check(t, err)
			return out
		}
		equal(t, "a maintainer of the target opens it", allow(f.maintainer, true).AllowCollaboration, false)
		equal(t, "its author opens it", allow(f.stranger, true).AllowCollaboration, true)
		for _, tt := range []struct {
			name string
			may  bool
			want bool
		}{
			{"maintainer", edit(f.maintainer), true},
			{"developer, who may not merge into a protected branch", edit(f.developer), false},
			{"reporter", edit(f.reporter), false},
			{"somebody else", edit(f.User("eve")), false},
			{"another branch", try(f.maintainer, "refs/heads/private", zero, next), false},
			{"the default branch", try(f.maintainer, "refs/heads/main", tip, next), false},
			{"a new branch", try(f.maintainer, "refs/heads/new", zero, next), false},
			{"a tag", try(f.maintainer, "refs/tags/new", zero, next), false},
			{"something else", try(f.maintainer, "refs/stash/new", zero, next), false},
			{"deletion", try(f.maintainer, "refs/heads/topic", tip, zero), false},
			{"created again", try(f.maintainer, "refs/heads/topic", zero, next), false},
		} {
			equal(t, tt.name, tt.may, tt.want)
		}
		content := "e\n"
		_, err = f.repos.Commit(ctx, f.maintainer, f.Find(f.maintainer, f.fork), repo.CommitInput{
			Branch: "topic", Message: "Edit", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "by-api", Content: &content}},
		})
		check(t, err)
		f.in(func() { tip, _ = gitstore.ParseObjectID(f.tip("topic")) })
		_, err = f.repos.Commit(ctx, f.maintainer, f.Find(f.maintainer, f.fork), repo.CommitInput{
			Branch: "private", Message: "Edit", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "by-api", Content: &content}},
		})
		wantError(t, err, errs.Forbidden, "You are not allowed to push into this branch")
		for _, tt := range []struct{ name, do, undo string }{
			{"closed", "UPDATE merge_requests SET state = 'closed'", "UPDATE merge_requests SET state = 'opened'"},
			{"merged", "UPDATE merge_requests SET state = 'merged'", "UPDATE merge_requests SET state = 'opened'"},
			{"taken back", "UPDATE merge_requests SET allow_collaboration = false", "UPDATE merge_requests SET allow_collaboration = true"},
			{"archived fork", "UPDATE projects SET archived = true", "UPDATE projects SET archived = false"},
			{"no fork any more", "UPDATE projects SET fork_root_id = NULL", fmt.Sprintf("UPDATE projects SET fork_root_id = %d WHERE id = %d", f.parent, f.fork)},
		} {
			f.exec(tt.do)
			equal(t, tt.name, edit(f.maintainer), false)
			f.exec(tt.undo)
			equal(t, tt.name+", and back", edit(f.maintainer), true)
		}
		f.exec("UPDATE projects SET repository_access = 10 WHERE id = ?", f.fork)
		equal(t, "code for members only", edit(f.maintainer), false)
		n, err := db.Get[int](ctx, f.DB, "SELECT COUNT(*) FROM ref_intents")
		check(t, err)
		equal(t, "intentions left", n, 0)
	})
}

func ptr[T any](v T) *T { return &v }
