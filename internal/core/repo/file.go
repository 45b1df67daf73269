package repo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/codeowner"
	"tenon/internal/core/lfs"
	"tenon/internal/core/project"
)

// FileInfo is a file at one commit, without its content.
type FileInfo struct {
	Path   string
	Ref    string // as it was asked for, or the default branch
	Branch string // that Ref names, "" where it names something else
	Mode   gitstore.Mode
	BlobID gitstore.ObjectID
	Commit gitstore.ObjectID
	Size   int64 // bytes
}

// Files finds files at a ref, in the order of the paths: "" is the default branch. Paths of
// what is no file are left out.
func (s *Service) Files(ctx context.Context, as authz.Actor, p *project.Project, ref string, paths []string) ([]FileInfo, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	rev, err := resolve(ctx, r, p, ref, "Commit")
	if err != nil {
		return nil, err
	}
	if ref == "" {
		ref = *p.DefaultBranch
	}
	var branch string
	if name := string(rev.Ref); strings.HasPrefix(name, gitstore.Branches) {
		branch = rev.Ref.Short()
	} else if name == "" && p.DefaultBranch != nil && ref == *p.DefaultBranch {
		branch = ref
	}
	var out []FileInfo
	for _, path := range paths {
		entry, err := r.Entry(ctx, rev.Commit, path)
		if missing(err, "") != err || err == nil && (entry.Kind() != gitstore.KindBlob || strings.HasSuffix(path, "/")) { //nolint:errorlint // missing gives its argument back
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find file: %w", err)
		}
		info, err := r.Info(ctx, entry.ID)
		if err != nil {
			return nil, fmt.Errorf("size of file: %w", err)
		}
		out = append(out, FileInfo{Path: path, Ref: ref, Branch: branch, Mode: entry.Mode, BlobID: entry.ID, Commit: rev.Commit, Size: info.Size})
	}
	return out, nil
}

// Content reads a blob of at most limit bytes. The bytes may be shared: do not change them.
func (s *Service) Content(ctx context.Context, as authz.Actor, p *project.Project, id gitstore.ObjectID, limit int64) ([]byte, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	content, err := r.Blob(ctx, id, limit)
	if err != nil {
		return nil, missing(err, "Blob")
	}
	return content, nil
}

// Pointer returns the large file that a blob stands for, false where it is content itself.
func (s *Service) Pointer(ctx context.Context, as authz.Actor, p *project.Project, id gitstore.ObjectID) (lfs.Pointer, bool, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return lfs.Pointer{}, false, err
	}
	content, err := r.Blob(ctx, id, lfs.MaxPointer)
	switch {
	case errors.Is(err, gitstore.ErrTooLarge):
		return lfs.Pointer{}, false, nil
	case err != nil:
		return lfs.Pointer{}, false, missing(err, "Blob")
	}
	pointer, ok := lfs.ParsePointer(content)
	return pointer, ok, nil
}

// CodeOwnersPath returns the path of the file that names code owners at a ref, "" for none.
func (s *Service) CodeOwnersPath(ctx context.Context, as authz.Actor, p *project.Project, ref string) (string, error) {
	found, err := s.Files(ctx, as, p, ref, codeowner.Paths())
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].Path, nil
}

// BranchNames returns a part of the names of branches that match a pattern, as BranchFilter.Search
// describes it, by name.
func (s *Service) BranchNames(ctx context.Context, as authz.Actor, p *project.Project, search string, part page.Range) ([]string, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	matches, err := nameMatcher(search, "")
	if err != nil {
		return nil, err
	}
	refs, err := r.Refs(ctx, gitstore.Branches)
	if err != nil {
		return nil, fmt.Errorf("list branches: %w", err)
	}
	names := []string{}
	for _, ref := range refs {
		if name := ref.Name.Short(); matches(name) {
			names = append(names, name)
		}
	}
	names = names[min(max(part.Offset, 0), len(names)):]
	return names[:min(max(part.Limit, 0), len(names))], nil
}
