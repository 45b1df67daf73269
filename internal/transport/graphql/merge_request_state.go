package graphql

import (
	"context"
	"strings"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/noteable"
	"tenon/internal/transport/graphql/exec"
)

// requestState binds what a merge would do and waits for.
func (b *binder) requestState() {
	value(b, "MergeRequest.squashOnMerge", func(m *mergerequest.View) bool { return m.SquashOnMerge(m.Project) })
	value(b, "MergeRequest.mergeOngoing", func(m *mergerequest.View) bool { return m.State == mergerequest.StateLocked })
	value(b, "MergeRequest.mergeableDiscussionsState", func(m *mergerequest.View) bool { return !m.Blocked(m.Project) })
	one(b, "MergeRequest.rebaseInProgress", "rebases", func(m *mergerequest.View) mergerequest.ID { return m.ID }, func(ctx context.Context, _ authz.Actor, ids []mergerequest.ID) (map[mergerequest.ID]bool, error) {
		return b.MergeRequests.RebasingOf(ctx, ids)
	})
	one(b, "MergeRequest.inProgressMergeCommitSha", "merges", func(m *mergerequest.View) mergerequest.ID { return m.ID }, func(ctx context.Context, _ authz.Actor, ids []mergerequest.ID) (map[mergerequest.ID]*string, error) {
		found, err := b.MergeRequests.MergingOf(ctx, ids)
		out := make(map[mergerequest.ID]*string, len(found))
		for id, sha := range found {
			out[id] = &sha
		}
		return out, err
	})
	discussionsCount(b, "MergeRequest", requestRef)
	for field, of := range map[string]func(at mergerequest.Branches) bool{
		"sourceBranchExists":       func(at mergerequest.Branches) bool { return at.Source },
		"targetBranchExists":       func(at mergerequest.Branches) bool { return at.Target },
		"sourceBranchProtected":    func(at mergerequest.Branches) bool { return at.SourceProtected },
		"divergedFromTargetBranch": func(at mergerequest.Branches) bool { return at.Diverged },
		"shouldBeRebased":          func(at mergerequest.Branches) bool { return at.Behind },
	} {
		ofRequest(b, field, "branches of merge requests", b.MergeRequests.Branches, of)
	}
	ofRequest(b, "defaultMergeCommitMessage", "messages of merges", b.MergeRequests.Messages, func(m *mergerequest.Messages) *string {
		if m == nil {
			return nil
		}
		return text(m.Merge)
	})
	ofRequest(b, "defaultSquashCommitMessage", "messages of merges", b.MergeRequests.Messages, func(m *mergerequest.Messages) *string {
		if m == nil {
			return nil
		}
		return text(m.Squash)
	})
	ofRequest(b, "mergeTrainsCount", "merge trains", func(ctx context.Context, as authz.Actor, m *mergerequest.View) (*int, error) {
		cars, err := b.MergeRequests.Cars(ctx, as, m.Project, mergerequest.CarFilter{TargetBranch: m.TargetBranch, Scope: mergerequest.ActiveCars, Range: page.Range{Limit: 1}})
		if err != nil {
			return nil, err
		}
		return &cars.Total, nil
	}, func(n *int) *int { return n })
	exec.Batch(b.Schema, "MergeRequest.availableAutoMergeStrategies", func(ctx context.Context, _ *exec.Call[exec.None], of []*mergerequest.View) ([][]mergerequest.Strategy, error) {
		found, err := b.MergeRequests.Strategies(ctx, of)
		out := make([][]mergerequest.Strategy, len(of))
		for i, m := range of {
			out[i] = found[m.ID]
		}
		return out, err
	})
	b.requestDiffs()
	b.pipelines()
}

// ofRequest binds a field of merge requests that is in what core reads of each of them: what is hidden
// from the caller is zero. It is read once for all fields under the same name.
func ofRequest[V, R any](b *binder, field, name string, read func(ctx context.Context, as authz.Actor, m *mergerequest.View) (V, error), of func(v V) R) {
	exec.Batch(b.Schema, "MergeRequest."+field, func(ctx context.Context, c *exec.Call[exec.None], list []*mergerequest.View) ([]R, error) {
		found, err := perRequest(ctx, b, c, name, list, read)
		out := make([]R, len(list))
		for i, v := range found {
			out[i] = of(v)
		}
		return out, err
	})
}

// perRequest reads something of each merge request, whose statements become those of one.
func perRequest[A, V any](ctx context.Context, b *binder, c *exec.Call[A], name string, list []*mergerequest.View, read func(ctx context.Context, as authz.Actor, m *mergerequest.View) (V, error)) ([]V, error) {
	views := make(map[mergerequest.ID]*mergerequest.View, len(list))
	for _, m := range list {
		views[m.ID] = m
	}
	return exec.LoadEach(ctx, c, name, list, func(m *mergerequest.View) mergerequest.ID { return m.ID }, func(ctx context.Context, ids []mergerequest.ID) (map[mergerequest.ID]V, error) {
		found := make([]V, len(ids))
		err := b.Together(ctx, len(ids), func(ctx context.Context, i int) (err error) {
			found[i], err = read(ctx, c.As, views[ids[i]])
			return hidden(err)
		})
		out := make(map[mergerequest.ID]V, len(ids))
		for i, id := range ids {
			out[id] = found[i]
		}
		return out, err
	})
}

// discussionsCount binds how many discussions on things of one type the caller reads.
func discussionsCount[P any](b *binder, typ string, ref func(thing P) noteable.Ref) {
	one(b, typ+".userDiscussionsCount", "counts of discussions of "+typ, ref, func(ctx context.Context, as authz.Actor, refs []noteable.Ref) (map[noteable.Ref]int64, error) {
		return b.Notes.CountDiscussions(ctx, as, refs)
	})
}

// diffTotals is how many lines a merge request changes.
type diffTotals struct{ Additions, Deletions, Changes, FileCount int }

// requestDiffs binds how many lines merge requests change.
func (b *binder) requestDiffs() {
	diff := func(ctx context.Context, as authz.Actor, m *mergerequest.View) (*gitcmd.Diff, error) {
		return b.MergeRequests.Diff(ctx, as, m.Project, &m.MergeRequest, nil)
	}
	ofRequest(b, "diffStatsSummary", "diffs of merge requests", diff, func(d *gitcmd.Diff) *diffTotals {
		if d == nil {
			return nil
		}
		out := &diffTotals{FileCount: len(d.Files)}
		for i := range d.Files {
			out.Additions += d.Files[i].Additions
			out.Deletions += d.Files[i].Deletions
		}
		out.Changes = out.Additions + out.Deletions
		return out
	})
	exec.Struct[*diffTotals](b.Schema, "DiffStatsSummary")
	exec.Batch(b.Schema, "MergeRequest.diffStats", func(ctx context.Context, c *exec.Call[struct{ Path string }], list []*mergerequest.View) ([][]*gitcmd.FileDiff, error) {
		found, err := perRequest(ctx, b, c, "diffs of merge requests", list, diff)
		out := make([][]*gitcmd.FileDiff, len(list))
		for i, d := range found {
			if d != nil {
				out[i] = within(d.Files, strings.TrimSuffix(c.Args.Path, "/"))
			}
		}
		return out, err
	}, exec.ReadsGit)
	value(b, "DiffStats.path", func(f *gitcmd.FileDiff) string { return f.NewPath })
	exec.Struct[*gitcmd.FileDiff](b.Schema, "DiffStats")
}

// within returns the changed files that are at a path or below it, all for "".
func within(files []gitcmd.FileDiff, path string) []*gitcmd.FileDiff {
	out := []*gitcmd.FileDiff{}
	for i := range files {
		if f := &files[i]; path == "" || f.NewPath == path || strings.HasPrefix(f.NewPath, path+"/") {
			out = append(out, f)
		}
	}
	return out
}
