package gitcmd

import (
	"context"
	"errors"
	"io"
	"time"

	"tenon/internal/base/gitstore"
)

// Maintenance says what housekeeping does besides packing references, joining small
// packs under one index with a bitmap and refreshing the commit graph.
type Maintenance struct {
	Full  bool          // repack everything
	Grace time.Duration // objects that nothing names are kept this long; default two weeks
}

// Maintain keeps the repository fast. Nothing that a reference names is lost, and
// what was written lately stays as well, so it may run beside pushes. What a repository
// borrows from a pool stays there.
func (r *Repo) Maintain(ctx context.Context, m Maintenance) error {
	release, err := r.tend(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := r.DropAllStaleLocks(); err != nil {
		return err
	}
	pool, err := r.Linked()
	if err != nil {
		return err
	}
	if m.Grace <= 0 {
		m.Grace = gitstore.StaleAfter
	}
	expiry := time.Now().Add(-m.Grace).UTC().Format("2006-01-02T15:04:05Z")
	repack := []string{"repack", "-d", "--geometric=2", "--quiet", "--write-midx", "--write-bitmap-index"}
	switch {
	case pool != nil: // a bitmap would need all that is borrowed, and so would joining packs by their size
		repack = []string{"repack", "-d", "-l", "--cruft", "--cruft-expiration=" + expiry, "--quiet", "--no-write-bitmap-index"}
	case m.Full:
		repack = []string{"repack", "-d", "--cruft", "--cruft-expiration=" + expiry, "--quiet", "--write-bitmap-index"}
	}
	commands := [][]string{
		{"pack-refs", "--all", "--prune"},
		{"commit-graph", "write", "--reachable", "--changed-paths", "--no-progress"}, // before what takes minutes: reads are slow without
		repack,
		{"prune", "--expire=" + expiry},
	}
	for _, args := range commands {
		if err := r.git.run(ctx, call{repo: r.main(), config: modest(), args: args, load: long}); err != nil {
			return err
		}
	}
	r.Recycle()
	if m.Full || pool != nil {
		return r.NoteFullRepack()
	}
	return nil
}

// modest leaves processor and memory to those who wait for an answer.
func modest() []string { return []string{"pack.threads=1", "pack.windowMemory=64m"} }

// Fsck checks every object and that everything the references need is there; the
// error says what git found.
func (r *Repo) Fsck(ctx context.Context) error {
	var said tail
	args := []string{"fsck", "--strict", "--full", "--no-dangling", "--no-progress"}
	err := r.git.run(ctx, call{repo: r.main(), args: args, stdout: &said, load: long})
	var e *Error
	if errors.As(err, &e) {
		e.Stderr = said.String() + e.Stderr
	}
	return err
}

// FsckNew checks the objects of a quarantine as those of a push are checked when they
// arrive; the error says what git found. The commit is the newest among them.
func (r *Repo) FsckNew(ctx context.Context, commit gitstore.ObjectID) error {
	args := []string{"fsck", "--strict", "--no-full", "--no-dangling", "--no-progress", "--no-reflogs", commit.String()}
	return r.git.run(ctx, call{repo: r, args: args, stdout: io.Discard, load: long})
}
