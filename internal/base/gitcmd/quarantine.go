package gitcmd

import (
	"context"
	"sync"

	"tenon/internal/base/gitstore"
)

// Quarantine is a folder of new objects that the repository does not see before
// Commit. Its embedded view reads both and writes into the folder.
type Quarantine struct {
	*Repo
	files *gitstore.Quarantine
}

// Quarantine opens an empty quarantine. End it with Commit or Discard; Discard after
// Commit does nothing, so it may be deferred. Housekeeping deletes what a crash leaves.
func (r *Repo) Quarantine(ctx context.Context) (*Quarantine, error) {
	files, err := r.Repo.Quarantine(ctx)
	if err != nil {
		return nil, err
	}
	return &Quarantine{Repo: &Repo{Repo: files.Repo, git: r.git, merges: &merges{}}, files: files}, nil
}

// Commit makes the objects part of the repository, durably. Objects that others need
// come first: a crash in between leaves nothing that lacks what it names.
func (q *Quarantine) Commit(ctx context.Context) error {
	q.CloseView()
	return q.files.Commit(ctx)
}

// Discard throws the objects away.
func (q *Quarantine) Discard() error {
	q.CloseView()
	return q.files.Discard()
}

// With returns a view of the repository that reads the objects of another one as well. It
// is for reading only, and what is read through it is not remembered for either. End it
// with CloseView.
func (r *Repo) With(other *Repo) *Repo { return &Repo{Repo: r.Repo.With(other.Repo), git: r.git} }

// CloseView ends the processes that were kept open for a view.
func (r *Repo) CloseView() {
	if objects := r.NewObjects(); objects != "" {
		r.git.pool.closeView(objects)
	}
}

// merges remembers the merges that were made in a quarantine.
type merges struct {
	mu   sync.Mutex
	made map[MergePair]MergeResult
}

// of returns the outcome of a merge that was made already.
func (m *merges) of(pair MergePair) (MergeResult, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.made[pair]
	return known, ok
}

func (m *merges) note(pair MergePair, result MergeResult) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil {
		m.made = make(map[MergePair]MergeResult)
	}
	m.made[pair] = result
}
