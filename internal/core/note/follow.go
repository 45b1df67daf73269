package note

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// FollowPositions is the job that moves the positions of notes on a merge request to its newest
// version.
type FollowPositions struct {
	RequestID mergerequest.ID `json:"merge_request_id"`
	UserID    authz.UserID    `json:"user_id"` // who pushed; 0 where that is not known
	Username  string          `json:"username"`
}

// Kind names the job.
func (FollowPositions) Kind() string { return "note_positions" }

// LinesChanged is published when a new version of a merge request has changed the lines that
// threads are about.
type LinesChanged struct {
	authz.Stamp

	RequestID mergerequest.ID
	IID       mergerequest.IID
	Project   *project.Project
	VersionID mergerequest.VersionID
	Version   int // its number, from 1
	Threads   []ChangedThread
}

// ChangedThread is a thread whose line was changed.
type ChangedThread struct {
	Discussion string
	LineCode   string // of the line as the thread was about it; "" for none
}

// versioned enqueues the job where there is something to follow.
func (s *Service) versioned(ctx context.Context, e mergerequest.NewVersion) error {
	found, err := db.Select[int](ctx, s.DB, `SELECT 1 FROM notes n WHERE n.noteable_type = ? AND n.noteable_id = ? AND n.type = ? LIMIT 1`,
		noteable.MergeRequest, e.Row().ID, diffNote)
	if err != nil {
		return fmt.Errorf("look for notes on diffs: %w", err)
	}
	if len(found) == 0 {
		return nil
	}
	return s.Jobs.Enqueue(ctx, FollowPositions{RequestID: e.Row().ID, UserID: e.By.UserID, Username: e.By.Username})
}

// late enqueues the job for a new note on a version of a merge request that is not the newest.
func (s *Service) late(ctx context.Context, n *Note) error {
	if n.Kind != noteable.MergeRequest || n.Position == nil || n.CommitID != nil {
		return nil
	}
	head, err := db.Get[string](ctx, s.DB, "SELECT head_sha FROM merge_requests WHERE id = ?", n.TargetID)
	if err != nil {
		return fmt.Errorf("newest version: %w", err)
	}
	if head == n.Position.HeadSHA {
		return nil
	}
	return s.Jobs.Enqueue(ctx, FollowPositions{RequestID: mergerequest.ID(n.TargetID)})
}

// newest is what the job reads of a merge request.
type newest struct {
	ID        mergerequest.ID         `db:"id"`
	IID       mergerequest.IID        `db:"iid"`
	ProjectID project.ID              `db:"target_project_id"`
	AuthorID  authz.UserID            `db:"author_id"`
	Title     string                  `db:"title"`
	VersionID *mergerequest.VersionID `db:"version_id"`
	Base      string                  `db:"base_sha"`
	Start     string                  `db:"start_sha"`
	Head      string                  `db:"head_sha"`
}

// placed is the position of the notes of one thread.
type placed struct {
	Discussion string    `db:"discussion_id"`
	Position   *Position `db:"position"`
	LineCode   *string   `db:"line_code"`

	next *Position `db:"-"`
	code *string   `db:"-"`
	fate outcome   `db:"-"`
}

// RegisterJobs says how positions follow a push, and how the search follows texts.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.FollowPositions)
	job.Register(r, s.Fold, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(r, 24*time.Hour, Fold{})
}

// FollowPositions moves the positions of all threads on a merge request to its newest version,
// with three diffs for all threads of one version. Threads whose line was changed are outdated:
// they keep their position.
func (s *Service) FollowPositions(ctx context.Context, work FollowPositions) error {
	m, err := db.Get[newest](ctx, s.DB, `SELECT id, iid, target_project_id, author_id, title, version_id, base_sha, start_sha, head_sha
		FROM merge_requests WHERE id = ?`, work.RequestID)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("follow positions: %w", err)
	}
	if m.VersionID == nil || m.Base == "" {
		return nil
	}
	threads, err := db.Select[placed](ctx, s.DB, `SELECT n.discussion_id, n.position, n.line_code FROM notes n
		WHERE n.noteable_type = ? AND n.noteable_id = ? AND n.type = ? AND n.change_position IS NULL AND n.commit_id IS NULL AND n.position IS NOT NULL
		GROUP BY n.discussion_id, n.position, n.line_code ORDER BY MIN(n.id)`, noteable.MergeRequest, m.ID, diffNote)
	if err != nil {
		return fmt.Errorf("positions to follow: %w", err)
	}
	projects, err := s.Projects.Load(ctx, []project.ID{m.ProjectID})
	if err != nil || projects[m.ProjectID] == nil {
		return err
	}
	p := projects[m.ProjectID]
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	type pair struct{ base, head string }
	tracers := map[pair]*tracer{}
	var changes []*placed
	for i := range threads {
		at := &threads[i]
		from := pair{at.Position.BaseSHA, at.Position.HeadSHA}
		if from == (pair{m.Base, m.Head}) {
			continue
		}
		t, known := tracers[from]
		if !known {
			if t, err = newTracer(ctx, r, from.base, from.head, &m); err != nil {
				return err
			}
			tracers[from] = t
		}
		if t == nil {
			continue // the commits are gone
		}
		if at.next, at.code, at.fate = t.trace(at.Position); at.fate != unknown {
			changes = append(changes, at)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return s.storePositions(ctx, work, p, &m, changes)
}

// newTracer compares the commits of an old diff with those of the newest; nil where the
// repository does not have them any more.
func newTracer(ctx context.Context, r *gitcmd.Repo, base, head string, m *newest) (*tracer, error) {
	var ids [4]gitstore.ObjectID
	for i, sha := range []string{base, head, m.Base, m.Head} {
		id, err := gitstore.ParseObjectID(sha)
		if err != nil {
			return nil, nil
		}
		ids[i] = id
	}
	t := &tracer{a: base, b: head, start: m.Start, c: m.Base, d: m.Head}
	for _, x := range []struct {
		from, to gitstore.ObjectID
		index    **fileIndex
	}{{ids[0], ids[2], &t.ac}, {ids[1], ids[3], &t.bd}, {ids[2], ids[3], &t.cd}} {
		d, err := r.Diff(ctx, x.from, x.to, lineDiff)
		if errors.Is(err, gitstore.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("follow positions: %w", err)
		}
		*x.index = newFileIndex(d)
	}
	return t, nil
}

// storePositions writes where the threads are now. What another run of the job wrote meanwhile
// stays.
func (s *Service) storePositions(ctx context.Context, work FollowPositions, p *project.Project, m *newest, changes []*placed) error {
	by := authz.Actor{UserID: work.UserID, Username: work.Username}
	if by.UserID == 0 {
		by.UserID = m.AuthorID // found by looking at the branch rather than told by a push
	}
	now := s.Now()
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := db.Select[int64](ctx, s.DB, "SELECT id FROM merge_requests WHERE id = ?"+s.DB.Dialect().ForUpdate(), m.ID); err != nil {
			return err
		}
		late, err := s.writePositions(ctx, m, changes)
		if err != nil {
			return err
		}
		if len(late) == 0 {
			return nil
		}
		number, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM merge_request_versions WHERE merge_request_id = ? AND id <= ?", m.ID, *m.VersionID)
		if err != nil {
			return err
		}
		if p.Settings().ResolveOutdatedDiffDiscussions {
			if err := s.resolveOutdated(ctx, by, p, m, late); err != nil {
				return err
			}
		}
		return s.Bus.Publish(ctx, LinesChanged{
			Stamp: by.Stamp(now), RequestID: m.ID, IID: m.IID, Project: p, VersionID: *m.VersionID, Version: number, Threads: late,
		})
	})
	if err != nil {
		return fmt.Errorf("store positions: %w", err)
	}
	return nil
}

// positionsAtOnce is how many threads one statement moves.
const positionsAtOnce = 500

// writePositions stores where the threads are now, many in one statement, and returns those whose
// line was changed, in the caller's transaction.
func (s *Service) writePositions(ctx context.Context, m *newest, changes []*placed) ([]ChangedThread, error) {
	var late []ChangedThread
	for _, write := range []struct {
		set  string
		late bool
	}{{"position = v.column3, line_code = v.column4", false}, {"change_position = v.column3", true}} {
		var these []*placed
		for _, at := range changes {
			if (at.fate == outdated) == write.late {
				these = append(these, at)
			}
		}
		for chunk := range slices.Chunk(these, positionsAtOnce) {
			args := make([]any, 0, 4*len(chunk)+2)
			for _, at := range chunk {
				args = append(args, at.Discussion, at.Position, at.next, at.code)
			}
			rows := strings.Repeat(", (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))", len(chunk))[2:]
			written, err := db.Select[string](ctx, s.DB, "UPDATE notes SET "+write.set+`, original_position = COALESCE(notes.original_position, notes.position)
				FROM (VALUES `+rows+`) AS v
				WHERE notes.noteable_type = ? AND notes.noteable_id = ? AND notes.discussion_id = v.column1 AND notes.position = v.column2
					AND notes.change_position IS NULL
				RETURNING notes.discussion_id`, append(args, noteable.MergeRequest, m.ID)...)
			if err != nil {
				return nil, err
			}
			if !write.late {
				continue
			}
			stored := make(map[string]bool, len(written))
			for _, id := range written {
				stored[id] = true
			}
			for _, at := range chunk {
				if !stored[at.Discussion] {
					continue
				}
				thread := ChangedThread{Discussion: at.Discussion}
				if at.LineCode != nil {
					thread.LineCode = *at.LineCode
				}
				late = append(late, thread)
			}
		}
	}
	return late, nil
}

// resolveOutdated resolves threads whose line was changed, in the caller's transaction.
func (s *Service) resolveOutdated(ctx context.Context, by authz.Actor, p *project.Project, m *newest, late []ChangedThread) error {
	on := noteable.Ref{Kind: noteable.MergeRequest, ID: int64(m.ID)}
	now := s.Now()
	var open []string // threads that are resolved now
	before, err := s.threads(ctx, on, "")
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(late, positionsAtOnce) {
		ids := make([]string, len(chunk))
		for i, t := range chunk {
			ids[i] = t.Discussion
		}
		marks, args := db.Marks(ids)
		resolved, err := db.Select[string](ctx, s.DB, `UPDATE notes SET resolved_at = ?, resolved_by_id = ? WHERE noteable_type = ? AND noteable_id = ?
			AND discussion_id IN (`+marks+`) AND type IS NOT NULL AND resolved_at IS NULL RETURNING discussion_id`, append([]any{db.At(now), by.UserID, on.Kind, on.ID}, args...)...)
		if err != nil {
			return fmt.Errorf("resolve outdated threads: %w", err)
		}
		open = append(open, resolved...)
	}
	after, err := s.threads(ctx, on, "")
	if err != nil || after == before {
		return err
	}
	if _, err := s.count(ctx, on, after.Less(before), now); err != nil {
		return err
	}
	iid := int64(m.IID)
	t := noteable.Target{Ref: on, IID: &iid, ProjectID: int64(m.ProjectID), ProjectPath: p.FullPath, Title: m.Title, AuthorID: m.AuthorID, Subject: p.Subject()}
	t.Subject.Feature = authz.MergeRequests
	slices.Sort(open)
	for _, id := range slices.Compact(open) {
		if err := s.Bus.Publish(ctx, ThreadChanged{Stamp: by.Stamp(now), Target: t, DiscussionID: id, Resolved: true}); err != nil {
			return err
		}
	}
	return nil
}
