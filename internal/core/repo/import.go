package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// bundleMarks begin the files that git makes as bundles.
var bundleMarks = []string{"# v2 git bundle\n", "# v3 git bundle\n"}

// ErrNoBundle is of a file that is no bundle of git.
var ErrNoBundle = errors.New("the file is no bundle of git")

// Taking describes how the repository of a project is filled from an archive.
func (s *Service) Taking() []tree.Taking {
	return []tree.Taking{{Name: "repository", Take: func(ctx context.Context, w *tree.Writing, from *os.Root) error {
		p := project.Of(w.At)
		r, err := s.Open(ctx, p)
		if err != nil {
			return err
		}
		there, err := fetchBundle(ctx, r, from, projectBundle)
		if !there || err != nil {
			return err
		}
		if err := dropForeign(ctx, r); err != nil {
			return err
		}
		w.Took("repository")
		return s.headOf(ctx, p, r, w.Head)
	}}}
}

// fetchBundle fills a repository from a bundle; false where the archive has none.
func fetchBundle(ctx context.Context, r *gitcmd.Repo, from *os.Root, name string) (bool, error) {
	f, err := from.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open bundle: %w", err)
	}
	mark := make([]byte, len(bundleMarks[0]))
	_, err = io.ReadFull(f, mark)
	info, also := f.Stat()
	if closed := f.Close(); closed != nil || also != nil {
		return false, errors.Join(closed, also)
	}
	known := false
	for _, m := range bundleMarks {
		known = known || bytes.Equal(mark, []byte(m))
	}
	if err != nil || !known || !info.Mode().IsRegular() {
		return false, ErrNoBundle
	}
	if err := r.FetchBundle(ctx, filepath.Join(from.Name(), filepath.FromSlash(name))); err != nil {
		return false, fmt.Errorf("fetch bundle: %w", err)
	}
	return true, nil
}

// dropForeign removes references that no push may bring, and heads of merge requests without a number.
func dropForeign(ctx context.Context, r *gitcmd.Repo) error {
	if err := dropMisleading(ctx, r); err != nil {
		return err
	}
	const requests = "refs/merge-requests/"
	refs, err := r.Refs(ctx, requests)
	if err != nil {
		return fmt.Errorf("list imported references: %w", err)
	}
	var updates []gitstore.RefUpdate
	for _, ref := range refs {
		number := strings.TrimSuffix(strings.TrimPrefix(string(ref.Name), requests), "/head")
		if n, err := strconv.ParseInt(number, 10, 64); err != nil || n <= 0 || strconv.FormatInt(n, 10) != number {
			updates = append(updates, gitstore.RefUpdate{Ref: ref.Name, AnyOld: true})
		}
	}
	if err := r.UpdateRefs(ctx, updates); err != nil {
		return fmt.Errorf("remove foreign references: %w", err)
	}
	return nil
}

// headOf gives a repository that was filled its default branch: the one of a name, or where there is none another one.
func (s *Service) headOf(ctx context.Context, p *project.Project, r *gitcmd.Repo, head string) error {
	refs, err := r.Refs(ctx, gitstore.Branches)
	if err != nil {
		return fmt.Errorf("list branches: %w", err)
	}
	branch := ""
	for _, ref := range refs {
		name := ref.Name.Short()
		if branch == "" || name == head || branch != head && (name == "main" || name == "master") {
			branch = name
		}
	}
	if branch != "" {
		ref, err := gitstore.BranchRef(branch)
		if err == nil {
			err = r.SetHead(ctx, ref)
		}
		if err != nil {
			return fmt.Errorf("default branch of import: %w", err)
		}
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.Projects.RecordPush(ctx, p.ID, branch, s.Now()); err != nil {
			return err
		}
		return s.Jobs.Enqueue(ctx, Measuring{ProjectID: p.ID})
	})
}
