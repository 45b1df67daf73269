package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/intx"
	"tenon/internal/base/lru"
)

// catFile is the command line of the process that answers reads of objects. Only
// hexadecimal ids are ever written to it: it would take a newline for the next
// command and other text for revision syntax.
func catFile() []string { return []string{"cat-file", "--batch-command"} }

// MaxCommitBytes is the largest commit or tag that is read.
const MaxCommitBytes = 16 << 20

// maxTreeBytes is the largest tree that is read whole.
const maxTreeBytes = 64 << 20

// objectKey names something known about an object of a repository. The repository
// is part of the key: knowing an id must not give access to another one's object.
type objectKey struct {
	path string
	what byte // i: Info, c: *Commit, s: *Commit in its short form, t: *Tree, g: *Tag, h: *Tag in its short form, b: []byte
	id   gitstore.ObjectID
}

// Info returns the kind and size of an object.
func (r *Repo) Info(ctx context.Context, id gitstore.ObjectID) (gitstore.Info, error) {
	intx.MustNot(ctx, "an object is read")
	if id.IsZero() {
		return gitstore.Info{}, fmt.Errorf("object %s: %w", id, gitstore.ErrNotFound)
	}
	key := objectKey{r.Path(), 'i', id}
	if info, ok := lru.Get[gitstore.Info](r.git.objects, key); ok {
		return info, nil
	}
	var info gitstore.Info
	err := r.view(ctx, id, func(o *gitstore.Object) error {
		info = o.Info
		return nil
	}, func(w *worker) error {
		if err := w.ask("info " + id.String() + "\n"); err != nil {
			return err
		}
		var err error
		info, err = w.header(id.String())
		return err
	})
	if err != nil {
		return gitstore.Info{}, err
	}
	r.remember(r.git.objects, key, info, 100)
	return info, nil
}

// content reads a whole object of one kind, at most limit bytes.
func (r *Repo) content(ctx context.Context, id gitstore.ObjectID, want gitstore.Kind, limit int64) ([]byte, error) {
	if id.IsZero() {
		return nil, fmt.Errorf("%s %s: %w", want, id, gitstore.ErrNotFound)
	}
	var content []byte
	check := func(info gitstore.Info) error {
		if info.Kind != want {
			return fmt.Errorf("object %s is a %s, not a %s: %w", id, info.Kind, want, gitstore.ErrWrongKind)
		}
		if info.Size > limit {
			return fmt.Errorf("%s %s has %d bytes: %w", want, id, info.Size, gitstore.ErrTooLarge)
		}
		return nil
	}
	err := r.view(ctx, id, func(o *gitstore.Object) error {
		if err := check(o.Info); err != nil {
			return err
		}
		var err error
		content, err = o.Content()
		return err
	}, func(w *worker) error {
		if err := w.ask("contents " + id.String() + "\n"); err != nil {
			return err
		}
		info, err := w.header(id.String())
		if err != nil {
			return err
		}
		w.dirty = true // until the body is read as well
		if err := check(info); err != nil {
			if info.Size <= 1<<20 {
				return errors.Join(err, w.skip(info.Size+1))
			}
			return err
		}
		content = make([]byte, info.Size+1)
		if _, err := io.ReadFull(w.out, content); err != nil {
			return fmt.Errorf("read %s %s: %w", want, id, err)
		}
		if content[info.Size] != '\n' {
			return fmt.Errorf("read %s %s: answer out of step", want, id)
		}
		content = content[:info.Size:info.Size]
		w.clean()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return content, nil
}

// skip reads over the rest of an answer that is not wanted.
func (w *worker) skip(n int64) error {
	if _, err := io.CopyN(io.Discard, w.out, n); err != nil {
		return fmt.Errorf("read from git %s: %w", w.name, err)
	}
	w.clean()
	return nil
}

// header reads "<id> <kind> <size>", or "<name> missing"; the process is clean after it.
func (w *worker) header(name string) (gitstore.Info, error) {
	line, err := w.line()
	if err != nil {
		return gitstore.Info{}, err
	}
	if line == name+" missing" {
		w.clean()
		return gitstore.Info{}, fmt.Errorf("object %s: %w", name, gitstore.ErrNotFound)
	}
	if line == name+" ambiguous" {
		w.clean()
		return gitstore.Info{}, fmt.Errorf("object %s: %w", name, gitstore.ErrAmbiguous)
	}
	fields := strings.Split(line, " ")
	if len(fields) != 3 {
		return gitstore.Info{}, fmt.Errorf("git cat-file answered %q", clip(line))
	}
	id, err := gitstore.ParseObjectID(fields[0])
	if err != nil {
		return gitstore.Info{}, err
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return gitstore.Info{}, fmt.Errorf("git cat-file answered %q", clip(line))
	}
	w.clean()
	return gitstore.Info{ID: id, Kind: gitstore.Kind(fields[1]), Size: size}, nil
}

// view answers a read. A quarantine is looked at first: its loose objects without any
// process, its packs through a process of its own; all else comes from the repository.
func (r *Repo) view(ctx context.Context, id gitstore.ObjectID, loose func(*gitstore.Object) error, ask func(*worker) error) error {
	intx.MustNot(ctx, "an object is read")
	from := r
	if r.NewObjects() != "" {
		o, err := r.OpenNew(id)
		if err == nil {
			defer o.Close()
			return loose(o)
		}
		if !errors.Is(err, gitstore.ErrNotFound) {
			return err
		}
		if !r.HasNewPacks() {
			from = r.main()
		}
	}
	return r.git.pool.do(ctx, from, catFile(), ask)
}

// remember caches what was read, unless it may be known to a quarantine only.
func (r *Repo) remember(c *lru.Cache, key, value any, cost int) {
	if r.NewObjects() == "" {
		c.Put(key, value, cost)
	}
}

// expand returns the full id of an abbreviation of four or more hexadecimal digits.
func (r *Repo) expand(ctx context.Context, short string) (gitstore.ObjectID, error) {
	if len(short) < 4 || len(short) > 40 || !gitstore.IsHex(short) {
		return gitstore.ObjectID{}, fmt.Errorf("object %q: %w", clip(short), gitstore.ErrNotFound)
	}
	short = strings.ToLower(short)
	var info gitstore.Info
	err := r.git.pool.do(ctx, r, catFile(), func(w *worker) error {
		if err := w.ask("info " + short + "\n"); err != nil {
			return err
		}
		var err error
		info, err = w.header(short)
		return err
	})
	if err != nil {
		return gitstore.ObjectID{}, err
	}
	if !strings.HasPrefix(info.ID.String(), short) { // a reference of this name
		return gitstore.ObjectID{}, fmt.Errorf("object %q: %w", short, gitstore.ErrNotFound)
	}
	return info.ID, nil
}
