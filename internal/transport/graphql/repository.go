package graphql

import (
	"context"
	"strings"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/transport/graphql/exec"
)

// repository is the code of a project that the caller may read.
type repository struct{ project *project.Project }

// revision is the arguments that name a commit.
type revision struct{ Ref, RefType *string }

// name returns the revision in the words of core: HEAD is the default branch.
func (r revision) name() string {
	ref := zeroOr(r.Ref)
	switch {
	case ref == "" || ref == string(gitstore.HEAD):
		return ""
	case zeroOr(r.RefType) == "HEADS":
		return gitstore.Branches + ref
	case zeroOr(r.RefType) == "TAGS":
		return gitstore.Tags + ref
	}
	return ref
}

// repositories binds the code of projects.
func (b *binder) repositories() {
	exec.Batch(b.Schema, "Project.repository", func(ctx context.Context, c *exec.Call[exec.None], of []*project.Project) ([]*repository, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) (*repository, error) {
			may, err := b.Projects.May(ctx, c.As, p, authz.ReadCode)
			if err != nil || !may {
				return nil, err
			}
			return &repository{p}, nil
		})
	})
	value(b, "Repository.rootRef", func(r *repository) *string { return r.project.DefaultBranch })
	exec.Batch(b.Schema, "Repository.empty", func(ctx context.Context, c *exec.Call[exec.None], of []*repository) ([]bool, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, r *repository) (bool, error) {
			names, err := b.Repos.BranchNames(ctx, c.As, r.project, "", page.Range{Limit: 1})
			return len(names) == 0, err
		})
	}, exec.ReadsGit)
	exec.Batch(b.Schema, "Repository.exists", func(ctx context.Context, c *exec.Call[exec.None], of []*repository) ([]bool, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, r *repository) (bool, error) {
			found, err := b.Repos.Read(ctx, c.As, r.project)
			return err == nil && found.Exists(), err
		})
	}, exec.ReadsGit)
	type named struct {
		SearchPattern string
		Limit, Offset int
	}
	exec.Batch(b.Schema, "Repository.branchNames", func(ctx context.Context, c *exec.Call[named], of []*repository) ([][]string, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, r *repository) ([]string, error) {
			part := page.Range{Limit: min(c.Args.Limit, maxListed), Offset: c.Args.Offset}
			return b.Repos.BranchNames(ctx, c.As, r.project, "^"+c.Args.SearchPattern+"$", part)
		})
	}, exec.ReadsGit)
	exec.Batch(b.Schema, "Repository.codeOwnersPath", func(ctx context.Context, c *exec.Call[struct{ Ref *string }], of []*repository) ([]*string, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, r *repository) (*string, error) {
			path, err := b.Repos.CodeOwnersPath(ctx, c.As, r.project, revision{Ref: c.Args.Ref}.name())
			return text(path), err
		})
	}, exec.ReadsGit)
	b.trees()
	b.files()
	b.commits()
	b.commitMutations()
}

// maxListed is how many entries a folder shows that is asked for as a whole, and how many names a
// list of branches.
const maxListed = 1000

// tree is a part of the listing of a folder.
type tree struct {
	project *project.Project
	folder  repo.TreeFilter

	blobs, trees, submodules []*entry
}

// entry is an entry of a folder.
type entry struct {
	gitcmd.PathEntry
	in *tree
}

// newTree sorts entries by what they are.
func newTree(p *project.Project, f repo.TreeFilter, entries []gitcmd.PathEntry) *tree {
	t := &tree{project: p, folder: f}
	for _, found := range entries {
		e := &entry{found, t}
		switch found.Kind() {
		case gitstore.KindTree:
			t.trees = append(t.trees, e)
		case gitstore.KindCommit:
			t.submodules = append(t.submodules, e)
		default:
			t.blobs = append(t.blobs, e)
		}
	}
	return t
}

// folder is the arguments that name a folder.
type folder struct {
	revision
	Path      *string
	Recursive *bool
}

func (f folder) filter() repo.TreeFilter {
	return repo.TreeFilter{Ref: f.name(), Path: strings.Trim(zeroOr(f.Path), "/"), Recursive: zeroOr(f.Recursive)}
}

const errBackwards argumentError = "A tree is read forwards: use `first` and `after`"

// trees binds folders.
func (b *binder) trees() {
	exec.Batch(b.Schema, "Repository.tree", func(ctx context.Context, c *exec.Call[folder], of []*repository) ([]*tree, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, r *repository) (*tree, error) {
			f := c.Args.filter()
			f.Range = page.Range{Limit: maxListed, Uncounted: true}
			found, err := b.Repos.Tree(ctx, c.As, r.project, f)
			if err != nil {
				return nil, err
			}
			return newTree(r.project, f, found.Items), nil
		})
	}, exec.ReadsGit)
	type pages struct {
		paging
		folder
	}
	exec.Batch(b.Schema, "Repository.paginatedTree", func(ctx context.Context, c *exec.Call[pages], of []*repository) ([]*exec.Page[*tree], error) {
		part, err := c.Args.rangeOf(maxPage)
		switch {
		case err != nil:
			return nil, err
		case c.Args.Last != nil || given(c.Args.Before) != "":
			return nil, errBackwards
		}
		return forEach(ctx, b, c, of, func(ctx context.Context, r *repository) (*exec.Page[*tree], error) {
			f := c.Args.filter()
			f.Range, f.After = page.Range{Limit: max(part.Limit, 1), Keyset: true}, given(c.Args.After)
			found, err := b.Repos.Tree(ctx, c.As, r.project, f)
			if err != nil {
				return nil, err
			}
			out := &exec.Page[*tree]{Items: []*tree{newTree(r.project, f, found.Items)}, HasNext: found.Token != "", HasPrevious: f.After != ""}
			if out.HasNext {
				out.Cursors = []string{found.Token}
			}
			return out, nil
		})
	}, exec.ReadsGit)
	exec.Connection[*tree](b.Schema, "Tree")
	exec.Batch(b.Schema, "Tree.lastCommit", func(ctx context.Context, c *exec.Call[exec.None], of []*tree) ([]*commit, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, t *tree) (*commit, error) {
			found, err := b.Repos.Commits(ctx, c.As, t.project, repo.CommitFilter{Ref: t.folder.Ref, Path: t.folder.Path, Range: page.Range{Limit: 1, Uncounted: true}})
			if err != nil || len(found.Items) == 0 {
				return nil, err
			}
			return &commit{found.Items[0], t.project}, nil
		})
	}, exec.ReadsGit)
	kept(b, "Tree.blobs", func(t *tree) []*entry { return t.blobs })
	kept(b, "Tree.trees", func(t *tree) []*entry { return t.trees })
	kept(b, "Tree.submodules", func(t *tree) []*entry { return t.submodules })
	b.entries()
}
