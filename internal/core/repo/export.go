package repo

import (
	"context"
	"io"
	"strings"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// Moving describes the repository of a project, as a bundle of git.
func (s *Service) Moving() []tree.Files {
	return []tree.Files{{Name: "repository", Relation: "repository", Replace: map[string]string{projectBundle: "repository.bundle"}, Each: func(ctx context.Context, r *tree.Reading, put tree.Put) error {
		may, err := r.May(ctx, authz.ReadCode)
		if !may || err != nil {
			return err
		}
		requests, err := r.May(ctx, authz.ReadMergeRequest)
		if err != nil {
			return err
		}
		of, err := s.Open(ctx, project.Of(r.At))
		if err != nil {
			return err
		}
		return s.bundle(ctx, of, put, Bundle{Name: projectBundle, Requests: requests})
	}, Fetch: elsewhere}}
}

// projectBundle is the file of the repository of a project in an archive.
const projectBundle = "project.bundle"

// elsewhere is the repository of a project at another server, which is read by git where the server has no file of it.
func elsewhere(_ context.Context, from tree.Elsewhere) ([]tree.Repository, error) {
	if !from.Before(15, 1) {
		return nil, nil
	}
	return []tree.Repository{{Address: from.Path() + ".git", Name: projectBundle}}, nil
}

// Bundle says what is put into an archive of a repository.
type Bundle struct {
	Name     string // of the file
	Requests bool   // the heads of merge requests as well
}

// PutBundle puts the repository of a wiki or snippet into an archive; one that is empty is left out. It asks for no permission.
func (s *Service) PutBundle(ctx context.Context, a *Attached, put tree.Put, name string) error {
	r, err := s.OpenAttached(ctx, a)
	if err != nil {
		return err
	}
	return s.bundle(ctx, r, put, Bundle{Name: name})
}

func (s *Service) bundle(ctx context.Context, r *gitcmd.Repo, put tree.Put, b Bundle) error {
	all, err := r.Refs(ctx, "refs/")
	if err != nil {
		return err
	}
	var refs []gitstore.Ref
	for _, ref := range all {
		if b.moves(string(ref.Name)) {
			refs = append(refs, ref)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	return put(b.Name, -1, func(ctx context.Context) (io.ReadCloser, error) {
		return gitcmd.Streamed(func(out io.Writer) error { return r.Bundle(ctx, refs, out) }), nil
	})
}

// moves reports whether a reference moves: branches, tags and notes of git, and the heads of merge requests. Others are of this server.
func (b Bundle) moves(name string) bool {
	switch {
	case strings.HasPrefix(name, "refs/heads/"), strings.HasPrefix(name, "refs/tags/"), strings.HasPrefix(name, "refs/notes/"):
		return true
	case strings.HasPrefix(name, "refs/merge-requests/"):
		return b.Requests && strings.HasSuffix(name, "/head")
	}
	return false
}
