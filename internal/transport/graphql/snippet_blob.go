package graphql

import (
	"context"
	"path"
	"slices"

	"tenon/internal/base/charset"
	"tenon/internal/core/snippet"
	"tenon/internal/transport/graphql/exec"
)

// blob is a file of a snippet.
type blob struct {
	of   *snippet.Snippet
	path string
}

func (f *blob) name() snippet.Name { return snippet.Name{ID: f.of.ID, Path: f.path} }

// blobs is a page of the files of a snippet.
type blobs struct {
	page    *exec.Page[*blob]
	missing bool // a file that was asked for is not there
}

// snippetBlobs binds the files of snippets.
func (b *binder) snippetBlobs() {
	exec.Extend(b.Schema, "SnippetBlobConnection", func(list *blobs) *exec.Page[*blob] { return list.page })
	exec.Batch(b.Schema, "Snippet.blobs", func(_ context.Context, c *exec.Call[struct {
		paging
		Paths []string
	}], of []*snippet.Snippet,
	) ([]*blobs, error) {
		if len(c.Args.Paths) > maxPaths {
			return nil, errManyPaths
		}
		out := make([]*blobs, len(of))
		for i, s := range of {
			var all []*blob
			there := s.Files()
			for _, p := range there {
				if c.Args.Paths == nil || slices.Contains(c.Args.Paths, p) {
					all = append(all, &blob{s, p})
				}
			}
			list, err := listOf(c.Args.paging, maxPage, all)
			if err != nil {
				return nil, err
			}
			out[i] = &blobs{list, slices.ContainsFunc(c.Args.Paths, func(p string) bool { return !slices.Contains(there, p) })}
		}
		return out, nil
	})
	value(b, "SnippetBlobConnection.hasUnretrievableBlobs", func(list *blobs) bool { return list.missing })
	exec.Connection[*blob](b.Schema, "SnippetBlob")
	value(b, "SnippetBlob.path", func(f *blob) string { return f.path })
	value(b, "SnippetBlob.name", func(f *blob) string { return path.Base(f.path) })
	value(b, "SnippetBlob.rawPath", func(f *blob) string {
		return b.URLs.Path(b.URLs.SnippetRaw(f.of.ProjectPath, int64(f.of.ID), f.of.Branch, f.path))
	})
	known(b, "SnippetBlob.mode", func(f *snippet.Content) *string { return new(f.Mode.String()) })
	known(b, "SnippetBlob.size", func(f *snippet.Content) *int64 { return &f.Size })
	content(b, "SnippetBlob.binary", func(data []byte) *bool { return new(charset.Binary(data)) })
	content(b, "SnippetBlob.renderedAsText", func(data []byte) *bool { return new(!charset.Binary(data)) })
	content(b, "SnippetBlob.rawPlainData", func(data []byte) *string {
		if charset.Binary(data) {
			return nil
		}
		return new(charset.Text(data, ""))
	})
}

// known binds what is known of files without reading them.
func known[R any](b *binder, field string, of func(f *snippet.Content) *R) {
	blobField(b, field, "snippet files", func(context.Context) func(int64) bool { return func(int64) bool { return false } }, func(f *snippet.Content) (*R, error) {
		return of(f), nil
	})
}

// content binds what files hold, within the bytes of an answer.
func content[R any](b *binder, field string, of func(data []byte) *R) {
	blobField(b, field, "contents of snippet files", func(ctx context.Context) func(int64) bool {
		return func(size int64) bool { return takeBlob(ctx, size) }
	}, func(f *snippet.Content) (*R, error) {
		if f.Data == nil {
			return nil, errBlobs
		}
		return of(f.Data), nil
	})
}

func blobField[R any](b *binder, field, name string, take func(ctx context.Context) func(size int64) bool, of func(f *snippet.Content) (*R, error)) {
	exec.Batch(b.Schema, field, func(ctx context.Context, c *exec.Call[exec.None], files []*blob) ([]*R, error) {
		found, err := exec.LoadEach(ctx, c, name, files, (*blob).name, func(ctx context.Context, names []snippet.Name) (map[snippet.Name]*snippet.Content, error) {
			return b.Snippets.Files(ctx, c.As, names, take(ctx))
		})
		if err != nil {
			return nil, err
		}
		out := make([]*R, len(files))
		for i, f := range found {
			if f == nil {
				continue
			}
			if out[i], err = of(f); err != nil {
				c.Fail(i, err)
			}
		}
		return out, nil
	}, exec.ReadsGit)
}
