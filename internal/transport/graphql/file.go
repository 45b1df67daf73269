package graphql

import (
	"context"
	"strings"
	"sync/atomic"

	"tenon/internal/base/charset"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/lfs"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/transport/graphql/exec"
)

// maxBlobs is how many bytes of files one answer holds, however many documents it answers.
const maxBlobs = 20 << 20

const errBlobs argumentError = "The contents of the files in this answer exceed 20 MB"

// blobsKey is where a context keeps the bytes of files that the answer may still hold.
type blobsKey struct{}

func withBlobs(ctx context.Context) context.Context {
	left := &atomic.Int64{}
	left.Store(maxBlobs)
	return context.WithValue(ctx, blobsKey{}, left)
}

// takeBlob takes the bytes of one file from what the answer may hold: false where it may not.
func takeBlob(ctx context.Context, size int64) bool {
	left, ok := ctx.Value(blobsKey{}).(*atomic.Int64)
	if !ok {
		return false
	}
	if left.Add(-size) < 0 {
		left.Add(size)
		return false
	}
	return true
}

// file is a file of a repository.
type file struct {
	repo.FileInfo
	project *project.Project
}

// plainRef returns a reference as people write it.
func plainRef(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, gitstore.Branches), gitstore.Tags)
}

// name is the last part of the path.
func (f *file) name() string { return f.Path[strings.LastIndexByte(f.Path, '/')+1:] }

// maxPaths is how many files one field may ask for.
const maxPaths = 1000

const errManyPaths argumentError = "No more than 1000 paths are allowed at the same time"

// files binds files.
func (b *binder) files() {
	type filter struct {
		paging
		revision
		Paths []string
	}
	exec.Batch(b.Schema, "Repository.blobs", func(ctx context.Context, c *exec.Call[filter], of []*repository) ([]*exec.Page[*file], error) {
		if len(c.Args.Paths) > maxPaths {
			return nil, errManyPaths
		}
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, r *repository, at page.Range) (page.Page[*file], error) {
			found, err := b.Repos.Files(ctx, c.As, r.project, c.Args.name(), c.Args.Paths)
			out := page.Page[*file]{Total: len(found), Keyset: at.Keyset}
			if at.Keyset && err == nil {
				return out, page.ErrOrder
			}
			for _, info := range found[min(at.Offset, len(found)):] {
				if at.Limit > 0 && len(out.Items) == at.Limit {
					break
				}
				info.Ref = plainRef(info.Ref)
				out.Items = append(out.Items, &file{info, r.project})
			}
			return out, err
		}, same)
	}, exec.ReadsGit)
	exec.Connection[*file](b.Schema, "RepositoryBlob")
	value(b, "RepositoryBlob.id", func(f *file) string { return gid("Blob", f.BlobID.String()) })
	value(b, "RepositoryBlob.oid", func(f *file) string { return f.BlobID.String() })
	value(b, "RepositoryBlob.path", func(f *file) string { return f.Path })
	value(b, "RepositoryBlob.name", (*file).name)
	value(b, "RepositoryBlob.mode", func(f *file) string { return f.Mode.String() })
	value(b, "RepositoryBlob.size", func(f *file) int64 { return f.Size })
	for field, of := range map[string]func(project, ref, file string) string{
		"webPath": b.URLs.Blob, "rawPath": b.URLs.Raw, "historyPath": b.URLs.Commits,
	} {
		value(b, "RepositoryBlob."+field, func(f *file) string { return b.URLs.Path(of(f.project.FullPath, f.Ref, f.Path)) })
	}
	value(b, "RepositoryBlob.permalinkPath", func(f *file) string {
		return b.URLs.Path(b.URLs.Blob(f.project.FullPath, f.Commit.String(), f.Path))
	})
	b.fileContents()
	b.fileRights()
}

// fileContents binds what files hold, within the bytes of an answer.
func (b *binder) fileContents() {
	content := func(field string, shown func(content []byte) *string) {
		exec.Batch(b.Schema, "RepositoryBlob."+field, func(ctx context.Context, c *exec.Call[exec.None], of []*file) ([]*string, error) {
			out := make([]*string, len(of))
			for i, f := range of {
				if !takeBlob(ctx, f.Size) {
					c.Fail(i, errBlobs)
					continue
				}
				read, err := b.Repos.Content(ctx, c.As, f.project, f.BlobID, f.Size)
				if err != nil {
					c.Fail(i, err)
					continue
				}
				out[i] = shown(read)
			}
			return out, nil
		}, exec.ReadsGit)
	}
	content("rawBlob", func(content []byte) *string {
		if charset.Binary(content) {
			return new(string(content))
		}
		return new(charset.Text(content, ""))
	})
	content("rawTextBlob", func(content []byte) *string {
		if charset.Binary(content) {
			return nil
		}
		return new(charset.Text(content, ""))
	})
	large := func(ctx context.Context, c *exec.Call[exec.None], of []*file) ([]lfs.Pointer, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, f *file) (lfs.Pointer, error) {
			pointer, _, err := b.Repos.Pointer(ctx, c.As, f.project, f.BlobID)
			return pointer, err
		})
	}
	exec.Batch(b.Schema, "RepositoryBlob.lfsOid", func(ctx context.Context, c *exec.Call[exec.None], of []*file) ([]*string, error) {
		pointers, err := large(ctx, c, of)
		out := make([]*string, len(of))
		for i, p := range pointers {
			out[i] = text(p.OID)
		}
		return out, err
	}, exec.ReadsGit)
	exec.Batch(b.Schema, "RepositoryBlob.rawSize", func(ctx context.Context, c *exec.Call[exec.None], of []*file) ([]int64, error) {
		pointers, err := large(ctx, c, of)
		out := make([]int64, len(of))
		for i, p := range pointers {
			if out[i] = of[i].Size; p.OID != "" {
				out[i] = p.Size
			}
		}
		return out, err
	}, exec.ReadsGit)
}

// fileRights binds what the caller may do with files: they are changed on branches.
func (b *binder) fileRights() {
	for _, field := range []string{"canCurrentUserPushToBranch", "canModifyBlob"} {
		exec.Batch(b.Schema, "RepositoryBlob."+field, func(ctx context.Context, c *exec.Call[exec.None], of []*file) ([]bool, error) {
			return forEach(ctx, b, c, of, func(ctx context.Context, f *file) (bool, error) {
				if f.Branch == "" {
					return false, nil
				}
				err := b.Repos.MayCommit(ctx, c.As, f.project, f.Branch)
				return err == nil, err
			})
		})
	}
}
