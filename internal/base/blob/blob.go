// Package blob keeps objects by key: files that people gave, as they gave them. An
// object appears whole and durable or not at all, and is never changed, only replaced.
//
// Objects lie in a folder. Nothing outside of this file and disk.go knows that: a store in
// another place (S3, say through minio-go) implements the methods of backend. It
// gets every object as a complete file on the local disk whose size and digest are known
// and checked, so that it may upload in parts, and repeat them.
package blob

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Errors of this package, to be asked for with errors.Is.
var (
	ErrNotFound = errors.New("no such object")
	ErrKey      = errors.New("invalid object key")
	ErrTooLarge = errors.New("object is larger than allowed")
	ErrMismatch = errors.New("content is not what was announced")
)

// Info describes an object.
type Info struct {
	Key      string
	Size     int64
	Modified time.Time // when it was put
}

// Object is an object that is open for reading, from any place in it.
type Object struct {
	io.ReadSeekCloser
	Info
}

// Wanted says what the content of an object must be like.
type Wanted struct {
	Size   *int64 // exactly so many bytes; nil where unknown
	Limit  int64  // at most so many bytes; 0 is no limit
	SHA256 string // in hex; "" where unknown
}

// backend is a place where objects are. Keys are valid, and ErrNotFound is the error of
// what is not there.
type backend interface {
	// adopt makes a complete file an object, durably; the file may be moved or removed.
	adopt(ctx context.Context, key, file string) error
	open(ctx context.Context, key string) (*Object, error)
	stat(ctx context.Context, key string) (Info, error)
	remove(ctx context.Context, key string) error
	list(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// fill makes an object that is not there yet, durable after sync.
	fill(ctx context.Context, key string, size int64, from io.Reader) error
	sync(ctx context.Context) error
}

// Store is a place for objects. It is safe for concurrent use.
type Store struct {
	staging string // folder of objects that are not complete yet
	back    backend
}

// Open returns the store in a folder, which is made when needed.
func Open(dir string) (*Store, error) {
	staging := filepath.Join(dir, stagingName)
	if err := os.MkdirAll(staging, 0o700); err != nil {
		return nil, fmt.Errorf("make objects folder: %w", err)
	}
	return &Store{staging: staging, back: &disk{dir: dir}}, nil
}

// Sweep removes what an earlier process left incomplete. It is for the start: nothing may
// be staged meanwhile.
func (s *Store) Sweep() error {
	left, err := os.ReadDir(s.staging)
	for _, file := range left {
		err = errors.Join(err, os.Remove(filepath.Join(s.staging, file.Name())))
	}
	if err != nil {
		return fmt.Errorf("sweep staging folder: %w", err)
	}
	return nil
}

// Staged is content that arrived whole and is not an object yet.
type Staged struct {
	SHA256 string // of the content, in hex
	Size   int64

	store *Store
	file  string
}

// Stage reads content to its end and makes it durable without giving it a name. It fails
// with ErrTooLarge as soon as there is more than wanted, and with ErrMismatch where the
// content is not as announced. Discard what it returns.
func (s *Store) Stage(ctx context.Context, from io.Reader, w Wanted) (_ *Staged, err error) {
	f, err := os.CreateTemp(s.staging, "")
	if err != nil {
		return nil, fmt.Errorf("stage object: %w", err)
	}
	staged := &Staged{store: s, file: f.Name()}
	defer func() {
		if err != nil {
			staged.Discard()
		}
	}()
	limit := int64(-1)
	if w.Limit > 0 {
		limit = w.Limit
	}
	if w.Size != nil && (limit < 0 || *w.Size < limit) {
		limit = *w.Size
	}
	sum := sha256.New()
	staged.Size, err = copyUpTo(ctx, io.MultiWriter(f, sum), from, limit)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, fmt.Errorf("stage object: %w", err)
	}
	staged.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if w.Size != nil && staged.Size != *w.Size {
		return nil, fmt.Errorf("stage object: %w: %d bytes instead of %d", ErrMismatch, staged.Size, *w.Size)
	}
	if w.SHA256 != "" && staged.SHA256 != strings.ToLower(w.SHA256) {
		return nil, fmt.Errorf("stage object: %w: its digest differs", ErrMismatch)
	}
	return staged, nil
}

// copyUpTo copies and fails where there is more than limit; -1 is no limit.
func copyUpTo(ctx context.Context, to io.Writer, from io.Reader, limit int64) (int64, error) {
	from = cancellable{ctx, from}
	if limit < 0 {
		return io.Copy(to, from)
	}
	n, err := io.Copy(to, io.LimitReader(from, limit))
	if err != nil || n < limit {
		return n, err
	}
	switch more, err := io.ReadFull(from, make([]byte, 1)); {
	case more > 0:
		return n, ErrTooLarge
	case errors.Is(err, io.EOF):
		return n, nil
	default:
		return n, err
	}
}

// cancellable ends reading with its context.
type cancellable struct {
	ctx  context.Context
	from io.Reader
}

// Read passes on.
func (c cancellable) Read(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	return c.from.Read(p)
}

// Keep makes the content the object of a key; an object that had it is replaced.
func (t *Staged) Keep(ctx context.Context, key string) error {
	if !valid(key) {
		return fmt.Errorf("%w: %q", ErrKey, key)
	}
	if err := t.store.back.adopt(ctx, key, t.file); err != nil {
		return fmt.Errorf("keep object %s: %w", key, err)
	}
	return nil
}

// Discard removes the content unless it was kept. It may be called at any time.
func (t *Staged) Discard() { _ = os.Remove(t.file) } // Sweep removes what is left

// Put stages content and keeps it, both in one.
func (s *Store) Put(ctx context.Context, key string, from io.Reader, w Wanted) (*Staged, error) {
	if !valid(key) {
		return nil, fmt.Errorf("%w: %q", ErrKey, key)
	}
	staged, err := s.Stage(ctx, from, w)
	if err != nil {
		return nil, err
	}
	defer staged.Discard()
	return staged, staged.Keep(ctx, key)
}

// Open opens an object; close what it returns.
func (s *Store) Open(ctx context.Context, key string) (*Object, error) {
	if !valid(key) {
		return nil, fmt.Errorf("%w: %q", ErrKey, key)
	}
	o, err := s.back.open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("open object %s: %w", key, err)
	}
	return o, nil
}

// Stat describes an object without opening it.
func (s *Store) Stat(ctx context.Context, key string) (Info, error) {
	if !valid(key) {
		return Info{}, fmt.Errorf("%w: %q", ErrKey, key)
	}
	info, err := s.back.stat(ctx, key)
	if err != nil {
		return Info{}, fmt.Errorf("inspect object %s: %w", key, err)
	}
	return info, nil
}

// Delete removes an object; one that is not there is no error. A process that has it open reads
// on.
func (s *Store) Delete(ctx context.Context, key string) error {
	if !valid(key) {
		return fmt.Errorf("%w: %q", ErrKey, key)
	}
	if err := s.back.remove(ctx, key); err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("delete object %s: %w", key, err)
	}
	return nil
}

// List walks over the objects below a prefix, which is a key's beginning up to a slash
// without that slash; "" are all. Objects that come and go meanwhile may be missed.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	if prefix != "" && !valid(prefix) {
		return func(yield func(Info, error) bool) { yield(Info{}, fmt.Errorf("%w: %q", ErrKey, prefix)) }
	}
	return s.back.list(ctx, prefix)
}

// Random returns 32 random hex digits, to be part of a key.
func Random() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // ends the program rather than fail
	return hex.EncodeToString(raw[:])
}

// maxKey bounds keys, below what file systems and S3 take.
const maxKey = 512

// valid reports whether a key is one: parts of letters, digits, dots, dashes and
// underscores, none beginning with a dot, joined by slashes. Names that people choose are
// to be kept elsewhere, not in keys.
func valid(key string) bool {
	if key == "" || len(key) > maxKey {
		return false
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part[0] == '.' || len(part) > 255 {
			return false
		}
		for _, b := range []byte(part) {
			switch {
			case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '.', b == '-', b == '_':
			default:
				return false
			}
		}
	}
	return true
}

// Import makes content of exactly size bytes the object of a key that has none, without
// making it durable: call Sync after the last one. It is for restoring many objects.
func (s *Store) Import(ctx context.Context, key string, size int64, from io.Reader) error {
	if !valid(key) {
		return fmt.Errorf("%w: %q", ErrKey, key)
	}
	if err := s.back.fill(ctx, key, size, from); err != nil {
		return fmt.Errorf("import object %s: %w", key, err)
	}
	return nil
}

// Sync makes durable what Import wrote.
func (s *Store) Sync(ctx context.Context) error {
	if err := s.back.sync(ctx); err != nil {
		return fmt.Errorf("sync objects: %w", err)
	}
	return nil
}
