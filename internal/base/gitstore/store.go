package gitstore

import (
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"tenon/internal/base/lru"
)

// Store is what the repositories below one folder share: a cache of packed references and
// the time from which locks are held by processes of today. It is safe for concurrent use.
type Store struct {
	root   string
	log    *slog.Logger
	since  time.Time    // locks older than this are of processes before ours
	packs  *lru.Cache   // parsed packed-refs: one that does not fit is parsed again for each reference that is read
	serial atomic.Int64 // makes names of temporary files differ
	states shares       // looks at references, see Repo.RefState

	deflaters sync.Pool // of *zlib.Writer, most of a megabyte each
}

// New returns the store of the repositories below an absolute folder. Parsed packed references
// take up to cacheBytes.
func New(root string, cacheBytes int, log *slog.Logger) *Store {
	return &Store{
		root:  filepath.Clean(root),
		log:   log,
		since: time.Now().Add(-50 * time.Millisecond), // a file's time may lag behind the clock
		packs: lru.New(cacheBytes),
	}
}

// Repo returns the handle of the repository at a path below the root. The path is
// confined to the root whatever it says, and nothing need exist there.
func (s *Store) Repo(path string) *Repo {
	if rel, err := filepath.Rel(s.root, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
		path = rel
	}
	return &Repo{store: s, path: filepath.Join(s.root, filepath.Clean("/"+path))}
}

// Stats returns figures of the cache.
func (s *Store) Stats() lru.Stats { return s.packs.Stats() }

// Trim empties the cache.
func (s *Store) Trim() { s.packs.Clear() }
