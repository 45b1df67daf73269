package featureflag

import (
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/lru"
	"tenon/internal/core/project"
)

const (
	maxAnswers = 16 << 20        // bytes of the answers that are kept
	settled    = time.Second     // after this a change by a server whose clock is behind is newer than all that were seen
	maxAge     = 5 * time.Minute // of an answer that is kept
)

// answers keeps what clients got, for as long as nothing changes in the project.
type answers struct{ kept *lru.Cache }

// state is what the flags and user lists of a project have in common until one of them changes.
type state struct {
	Flags       int64    `db:"flags"`
	FlagsLatest *db.Time `db:"flags_latest"`
	Lists       int64    `db:"lists"`
	ListsLatest *db.Time `db:"lists_latest"`
}

// stateColumns reads a state beside a project p.
const stateColumns = `(SELECT COUNT(*) FROM feature_flags f WHERE f.project_id = p.id) AS flags,
	(SELECT MAX(f.updated_at) FROM feature_flags f WHERE f.project_id = p.id) AS flags_latest,
	(SELECT COUNT(*) FROM feature_flag_user_lists l WHERE l.project_id = p.id) AS lists,
	(SELECT MAX(l.updated_at) FROM feature_flag_user_lists l WHERE l.project_id = p.id) AS lists_latest`

// answerKey names an answer.
type answerKey struct {
	project      project.ID
	environment  string
	flags, lists int64
	latest       [2]int64 // changes of either, in microseconds since 1970; zero for none
}

type answer struct {
	flags []ClientFlag
	at    time.Time
}

func keyOf(of project.ID, environment string, s *state) answerKey {
	k := answerKey{project: of, environment: environment, flags: s.Flags, lists: s.Lists}
	for i, at := range []*db.Time{s.FlagsLatest, s.ListsLatest} {
		if at != nil {
			k.latest[i] = at.UnixMicro()
		}
	}
	return k
}

// find returns the answer of a key.
func (a answers) find(k answerKey, now time.Time) ([]ClientFlag, bool) {
	one, ok := lru.Get[answer](a.kept, k)
	return one.flags, ok && now.Sub(one.at) < maxAge
}

// keep stores an answer of some bytes, unless a change was just now, which another may follow within the same tick of a clock.
func (a answers) keep(k answerKey, flags []ClientFlag, bytes int, now time.Time) {
	for _, at := range k.latest {
		if now.Sub(time.UnixMicro(at)) < settled {
			return
		}
	}
	a.kept.Put(k, answer{flags, now}, len(k.environment)+bytes)
}
