package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"tenon/internal/base/budget"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/lru"
)

const (
	smallBlob   = 64 << 10           // kept in the cache up to this size
	smallCommit = budget.MaxRepeated // of bytes; a larger one is kept in its short form
	streamFrom  = 1 << 20            // larger blobs are never read whole by OpenBlob
)

// Commit reads a commit. An annotated tag is not followed: see Peel.
func (r *Repo) Commit(ctx context.Context, id gitstore.ObjectID) (*gitstore.Commit, error) {
	c, err := r.readCommit(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(c.Raw) > smallCommit {
		if err := budget.Of(ctx).Take(ctx, int64(len(c.Raw)+len(c.Message))); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// ShortCommit is Commit for one whose texts are shown inside other things, or not at all: see [gitstore.Commit.Short].
func (r *Repo) ShortCommit(ctx context.Context, id gitstore.ObjectID) (*gitstore.Commit, error) {
	if c, ok := lru.Get[*gitstore.Commit](r.git.objects, objectKey{r.Path(), 's', id}); ok {
		return c, nil
	}
	c, err := r.readCommit(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.Short(), nil
}

// readCommit reads a commit. Of a large one only the short form is kept.
func (r *Repo) readCommit(ctx context.Context, id gitstore.ObjectID) (*gitstore.Commit, error) {
	key := objectKey{r.Path(), 'c', id}
	if c, ok := lru.Get[*gitstore.Commit](r.git.objects, key); ok {
		return c, nil
	}
	content, err := r.content(ctx, id, gitstore.KindCommit, MaxCommitBytes)
	if err != nil {
		return nil, err
	}
	c, err := gitstore.ParseCommit(id, content)
	if err != nil {
		return nil, err
	}
	kept := c
	if len(content) > smallCommit {
		key.what, kept = 's', c.Short()
	}
	r.remember(r.git.objects, key, kept, commitCost(kept))
	return c, nil
}

// ShortCommits is Commits with the short form of each.
func (r *Repo) ShortCommits(ctx context.Context, ids []gitstore.ObjectID) ([]*gitstore.Commit, error) {
	commits := make([]*gitstore.Commit, 0, len(ids))
	for _, id := range ids {
		c, err := r.ShortCommit(ctx, id)
		if err != nil {
			return nil, err
		}
		commits = append(commits, c)
	}
	return commits, nil
}

// Commits reads commits in the order of their ids. For an answer it returns budget.ErrList where several have too much text.
func (r *Repo) Commits(ctx context.Context, ids []gitstore.ObjectID) ([]*gitstore.Commit, error) {
	commits := make([]*gitstore.Commit, 0, len(ids))
	var texts budget.Sum
	for _, id := range ids {
		c, err := r.Commit(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := texts.Add(len(c.Message)); err != nil && budget.Of(ctx) != nil {
			return nil, err
		}
		commits = append(commits, c)
	}
	return commits, nil
}

// Tree reads one folder. The id of a commit gives its root folder.
func (r *Repo) Tree(ctx context.Context, id gitstore.ObjectID) (*gitstore.Tree, error) {
	if id == gitstore.EmptyTree() {
		return &gitstore.Tree{ID: id}, nil
	}
	key := objectKey{r.Path(), 't', id}
	if t, ok := lru.Get[*gitstore.Tree](r.git.objects, key); ok {
		return t, nil
	}
	if c, ok := lru.Get[*gitstore.Commit](r.git.objects, objectKey{r.Path(), 'c', id}); ok {
		return r.Tree(ctx, c.Tree)
	}
	content, err := r.content(ctx, id, gitstore.KindTree, maxTreeBytes)
	if errors.Is(err, gitstore.ErrWrongKind) {
		root, err := r.treeOf(ctx, id)
		if err != nil {
			return nil, err
		}
		return r.Tree(ctx, root)
	}
	if err != nil {
		return nil, err
	}
	t, err := gitstore.ParseTree(id, content)
	if err != nil {
		return nil, err
	}
	r.remember(r.git.objects, key, t, treeCost(t))
	return t, nil
}

// treeOf returns the root folder of a commit or tag, and a tree's own id.
func (r *Repo) treeOf(ctx context.Context, id gitstore.ObjectID) (gitstore.ObjectID, error) {
	if id.IsZero() || id == gitstore.EmptyTree() {
		return gitstore.EmptyTree(), nil
	}
	if c, ok := lru.Get[*gitstore.Commit](r.git.objects, objectKey{r.Path(), 'c', id}); ok {
		return c.Tree, nil
	}
	info, err := r.Info(ctx, id)
	if err != nil {
		return gitstore.ObjectID{}, err
	}
	if info.Kind == gitstore.KindTag {
		if info, err = r.Peel(ctx, id); err != nil {
			return gitstore.ObjectID{}, err
		}
	}
	switch info.Kind {
	case gitstore.KindTree:
		return info.ID, nil
	case gitstore.KindCommit:
		c, err := r.Commit(ctx, info.ID)
		if err != nil {
			return gitstore.ObjectID{}, err
		}
		return c.Tree, nil
	default:
		return gitstore.ObjectID{}, fmt.Errorf("object %s is a %s, not a tree: %w", id, info.Kind, gitstore.ErrWrongKind)
	}
}

// Entry finds the entry at a path below a commit or tree; "" is the root folder
// itself. A missing path is ErrNotFound, a path through a file as well.
func (r *Repo) Entry(ctx context.Context, treeish gitstore.ObjectID, file string) (gitstore.TreeEntry, error) {
	root, err := r.treeOf(ctx, treeish)
	if err != nil {
		return gitstore.TreeEntry{}, err
	}
	at := gitstore.TreeEntry{Mode: gitstore.ModeTree, ID: root}
	file = strings.Trim(file, "/")
	if file == "" || file == "." {
		return at, nil
	}
	if len(file) > 4096 {
		return gitstore.TreeEntry{}, fmt.Errorf("path %q: %w", clip(file), gitstore.ErrNotFound)
	}
	for name := range strings.SplitSeq(file, "/") {
		if at.Kind() != gitstore.KindTree {
			return gitstore.TreeEntry{}, fmt.Errorf("path %q: %w", clip(file), gitstore.ErrNotFound)
		}
		t, err := r.Tree(ctx, at.ID)
		if err != nil {
			return gitstore.TreeEntry{}, err
		}
		found, ok := t.Find(name)
		if !ok {
			return gitstore.TreeEntry{}, fmt.Errorf("path %q: %w", clip(file), gitstore.ErrNotFound)
		}
		at = found
	}
	return at, nil
}

// PathEntry is an entry with its path from the root of the listing's tree.
type PathEntry struct {
	gitstore.TreeEntry
	Path string
}

// List returns the entries of the folder at a path in git's order, with full paths.
func (r *Repo) List(ctx context.Context, treeish gitstore.ObjectID, folder string) ([]PathEntry, error) {
	var out []PathEntry
	err := r.walk(ctx, treeish, folder, false, func(e PathEntry) error {
		out = append(out, e)
		return nil
	})
	return out, err
}

// Walk visits everything below the folder at a path, depth first in git's order, each
// folder before its content. It stops at the first error of fn and returns it.
func (r *Repo) Walk(ctx context.Context, treeish gitstore.ObjectID, folder string, fn func(PathEntry) error) error {
	return r.walk(ctx, treeish, folder, true, fn)
}

func (r *Repo) walk(ctx context.Context, treeish gitstore.ObjectID, folder string, deep bool, fn func(PathEntry) error) error {
	at, err := r.Entry(ctx, treeish, folder)
	if err != nil {
		return err
	}
	if at.Kind() != gitstore.KindTree {
		return fmt.Errorf("path %q is no folder: %w", clip(folder), gitstore.ErrNotFound)
	}
	folder = strings.Trim(folder, "/")
	if folder == "." {
		folder = ""
	}
	return r.walkTree(ctx, at.ID, folder, deep, 0, fn)
}

// maxDepth bounds nested folders; a tree cannot contain itself, but a deep one can be made.
const maxDepth = 1000

func (r *Repo) walkTree(ctx context.Context, id gitstore.ObjectID, folder string, deep bool, depth int, fn func(PathEntry) error) error {
	if depth > maxDepth {
		return fmt.Errorf("folder %q is nested too deeply: %w", clip(folder), gitstore.ErrTooLarge)
	}
	t, err := r.Tree(ctx, id)
	if err != nil {
		return err
	}
	for _, e := range t.Entries {
		full := e.Name
		if folder != "" {
			full = folder + "/" + e.Name
		}
		if err := fn(PathEntry{TreeEntry: e, Path: full}); err != nil {
			return err
		}
		if deep && e.Kind() == gitstore.KindTree {
			if err := r.walkTree(ctx, e.ID, full, true, depth+1, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// Blob reads a whole blob of at most limit bytes; a larger one is ErrTooLarge. The
// bytes may be shared: do not change them.
func (r *Repo) Blob(ctx context.Context, id gitstore.ObjectID, limit int64) ([]byte, error) {
	key := objectKey{r.Path(), 'b', id}
	if b, ok := lru.Get[[]byte](r.git.blobs, key); ok {
		if int64(len(b)) > limit {
			return nil, fmt.Errorf("blob %s has %d bytes: %w", id, len(b), gitstore.ErrTooLarge)
		}
		return b, nil
	}
	info, err := r.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	if info.Size > limit {
		return nil, fmt.Errorf("blob %s has %d bytes: %w", id, info.Size, gitstore.ErrTooLarge)
	}
	b, err := r.content(ctx, id, gitstore.KindBlob, limit)
	if err != nil {
		return nil, err
	}
	if len(b) <= smallBlob {
		r.remember(r.git.blobs, key, b, len(b))
	}
	return b, nil
}

// BlobReader streams a blob. Close it in any case.
type BlobReader struct {
	io.Reader
	ID    gitstore.ObjectID
	Size  int64
	close func() error
}

// Then makes Close call fn as well, the first time.
func (b *BlobReader) Then(fn func()) {
	end, once := b.close, sync.OnceFunc(fn)
	b.close = func() error {
		defer once()
		if end == nil {
			return nil
		}
		return end()
	}
}

// Close ends the process behind the reader, if there is one.
func (b *BlobReader) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

// Streams reports whether OpenBlob keeps a process for a blob until it is closed.
func (r *Repo) Streams(ctx context.Context, id gitstore.ObjectID) (bool, error) {
	info, err := r.Info(ctx, id)
	return info.Size > streamFrom, err
}

// OpenBlob opens a blob of any size. Up to 1 MiB it comes from a kept-open process or
// the cache, larger ones from a process of their own that lives until Close or the end of ctx.
func (r *Repo) OpenBlob(ctx context.Context, id gitstore.ObjectID) (*BlobReader, error) {
	info, err := r.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	if info.Kind != gitstore.KindBlob {
		return nil, fmt.Errorf("object %s is a %s, not a blob: %w", id, info.Kind, gitstore.ErrWrongKind)
	}
	if info.Size <= streamFrom {
		b, err := r.Blob(ctx, id, streamFrom)
		if err != nil {
			return nil, err
		}
		return &BlobReader{Reader: bytes.NewReader(b), ID: id, Size: info.Size}, nil
	}
	out, err := r.git.stream(ctx, call{repo: r, args: []string{"cat-file", "blob", id.String()}, load: reading})
	if err != nil {
		return nil, err
	}
	return &BlobReader{Reader: out, ID: id, Size: info.Size, close: out.Close}, nil
}

// Tag reads an annotated tag.
func (r *Repo) Tag(ctx context.Context, id gitstore.ObjectID) (*gitstore.Tag, error) {
	t, err := r.readTag(ctx, id)
	if err == nil && len(t.Message) > smallCommit {
		err = budget.Of(ctx).Take(ctx, int64(2*len(t.Message)))
	}
	return t, err
}

// ShortTag is Tag for one of many: see [gitstore.Tag.Short].
func (r *Repo) ShortTag(ctx context.Context, id gitstore.ObjectID) (*gitstore.Tag, error) {
	if t, ok := lru.Get[*gitstore.Tag](r.git.objects, objectKey{r.Path(), 'h', id}); ok {
		return t, nil
	}
	t, err := r.readTag(ctx, id)
	if err != nil {
		return nil, err
	}
	return t.Short(), nil
}

// readTag reads a tag. Of a large one only the short form is kept.
func (r *Repo) readTag(ctx context.Context, id gitstore.ObjectID) (*gitstore.Tag, error) {
	key := objectKey{r.Path(), 'g', id}
	if t, ok := lru.Get[*gitstore.Tag](r.git.objects, key); ok {
		return t, nil
	}
	content, err := r.content(ctx, id, gitstore.KindTag, MaxCommitBytes)
	if err != nil {
		return nil, err
	}
	t, err := gitstore.ParseTag(id, content)
	if err != nil {
		return nil, err
	}
	kept := t
	if len(content) > smallCommit {
		key.what, kept = 'h', t.Short()
	}
	r.remember(r.git.objects, key, kept, 300+len(kept.Message)+len(kept.Signed))
	return t, nil
}

// Peel follows annotated tags to what they name in the end, usually a commit.
func (r *Repo) Peel(ctx context.Context, id gitstore.ObjectID) (gitstore.Info, error) {
	for range 10 {
		if _, ok := lru.Get[*gitstore.Commit](r.git.objects, objectKey{r.Path(), 'c', id}); ok {
			return gitstore.Info{ID: id, Kind: gitstore.KindCommit}, nil
		}
		info, err := r.Info(ctx, id)
		if err != nil || info.Kind != gitstore.KindTag {
			return info, err
		}
		t, err := r.ShortTag(ctx, id)
		if err != nil {
			return gitstore.Info{}, err
		}
		id = t.Target
	}
	return gitstore.Info{}, fmt.Errorf("tag %s: nested too deeply: %w", id, gitstore.ErrWrongKind)
}

// commitCost is roughly the memory that a commit takes.
func commitCost(c *gitstore.Commit) int {
	return 300 + 20*len(c.Parents) + 2*len(c.Raw) + len(c.Signed)
}

// treeCost is roughly the memory that a folder takes.
func treeCost(t *gitstore.Tree) int {
	n := 100
	for _, e := range t.Entries {
		n += 44 + len(e.Name) + 28
	}
	return n
}
