package repo

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/language"
	"tenon/internal/base/lru"
)

// languageCache is how many bytes the languages of folders may take that were measured before.
const languageCache = 4 << 20

// folderKey names a folder with all that is below it. Its path is part of it, because
// paths tell which files are copied from elsewhere.
type folderKey struct {
	tree gitstore.ObjectID
	path string
}

// folderSum is what a folder holds. It is shared: do not change it.
type folderSum struct {
	files int
	heads int64            // bytes that were read of files
	bytes map[string]int64 // by language
}

// languageCount adds up the languages of a commit. Folders that it has seen before are not
// looked at again, also by a later count with the same cache.
type languageCount struct {
	repo  *gitcmd.Repo
	known *lru.Cache
	files int // of all folders so far
	heads int64
}

var errEnough = errors.New("enough was looked at")

// maxFolders bounds nested folders.
const maxFolders = 1000

// countLanguages adds up the bytes of each language.
func (s *Service) countLanguages(ctx context.Context, r *gitcmd.Repo, tip gitstore.ObjectID, into map[string]int64) error {
	root, err := r.Commit(ctx, tip)
	if err != nil {
		return err
	}
	c := languageCount{repo: r, known: s.languages}
	sum := folderSum{bytes: into}
	if err := c.folder(ctx, root.Tree, "", 0, &sum); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

// folder adds a folder and what is below it to sum.
func (c *languageCount) folder(ctx context.Context, id gitstore.ObjectID, at string, depth int, sum *folderSum) error {
	if depth > maxFolders {
		return errEnough
	}
	t, err := c.repo.Tree(ctx, id)
	if err != nil {
		return err
	}
	for _, e := range t.Entries {
		file := at + e.Name
		if e.Kind() == gitstore.KindTree {
			err = c.below(ctx, e.ID, file+"/", depth+1, sum)
		} else if e.Mode == gitstore.ModeFile || e.Mode == gitstore.ModeExecutable {
			err = c.file(ctx, e.ID, file, sum)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// below is folder for one that may be known.
func (c *languageCount) below(ctx context.Context, id gitstore.ObjectID, at string, depth int, sum *folderSum) error {
	key := folderKey{id, at}
	own, ok := lru.Get[folderSum](c.known, key)
	if ok && c.files+own.files <= maxMeasured && c.heads+own.heads <= maxHeads {
		c.files, c.heads = c.files+own.files, c.heads+own.heads
		sum.add(own)
		return nil
	}
	own = folderSum{bytes: map[string]int64{}}
	err := c.folder(ctx, id, at, depth, &own)
	if err == nil && c.heads <= maxHeads {
		c.known.Put(key, own, 100+len(at)+60*len(own.bytes))
	}
	sum.add(own) // also where enough was looked at
	return err
}

func (f *folderSum) add(own folderSum) {
	f.files, f.heads = f.files+own.files, f.heads+own.heads
	for name, n := range own.bytes {
		f.bytes[name] += n
	}
}

// file adds one file to sum.
func (c *languageCount) file(ctx context.Context, id gitstore.ObjectID, at string, sum *folderSum) error {
	if c.files++; c.files > maxMeasured {
		return errEnough
	}
	sum.files++
	if !language.Own(at) {
		return nil
	}
	var failed error
	name := language.Detect(at, func() []byte {
		if c.heads > maxHeads {
			return nil
		}
		var text []byte
		text, failed = head(ctx, c.repo, id)
		c.heads, sum.heads = c.heads+int64(len(text)), sum.heads+int64(len(text))
		return text
	})
	if failed != nil || name == "" {
		return failed
	}
	info, err := c.repo.Info(ctx, id)
	if err != nil {
		return err
	}
	if info.Size > 0 {
		sum.bytes[name] += info.Size
	}
	return nil
}

// head reads how a file begins.
func head(ctx context.Context, r *gitcmd.Repo, id gitstore.ObjectID) ([]byte, error) {
	blob, err := r.OpenBlob(ctx, id)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(blob, language.Head))
	if err := errors.Join(err, blob.Close()); err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	return text, nil
}
