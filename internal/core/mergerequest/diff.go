package mergerequest

import (
	"context"
	"fmt"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// MaxChanges is the number of changed files beyond which they are no longer counted.
const MaxChanges = 1000

// changedFiles counts the files that differ, at most MaxChanges + 1.
func changedFiles(ctx context.Context, r *gitcmd.Repo, base, head gitstore.ObjectID) (int64, error) {
	d, err := r.Diff(ctx, base, head, gitcmd.DiffOptions{NoPatch: true, MaxFiles: MaxChanges + 1})
	if err != nil {
		return 0, fmt.Errorf("count changed files: %w", err)
	}
	if d.Overflow {
		return MaxChanges + 1, nil
	}
	return int64(len(d.Files)), nil
}

// Diff compares the base and the head of a version, or of the newest where v is nil.
// Without a version it is empty.
func (s *Service) Diff(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, v *Version) (*gitcmd.Diff, error) {
	if err := s.requireRead(ctx, as, p); err != nil {
		return nil, err
	}
	base, head := m.BaseSHA, m.HeadSHA
	if v != nil {
		base, head = v.BaseSHA, v.HeadSHA
	}
	if base == "" {
		return &gitcmd.Diff{}, nil
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	set := s.Settings.Current()
	d, err := r.Diff(ctx, idOf(base), idOf(head), gitcmd.DiffOptions{
		MaxFiles: set.DiffMaxFiles, MaxLines: set.DiffMaxLines, MaxFileBytes: set.DiffMaxPatchBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("diff merge request: %w", err)
	}
	return d, nil
}

// Diffs lists the changed files of the newest version. Cursors name the version.
func (s *Service) Diffs(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, part page.Range) (page.Page[gitcmd.FileDiff], error) {
	d, err := s.Diff(ctx, as, p, m, nil)
	if err != nil {
		return page.Page[gitcmd.FileDiff]{}, err
	}
	return page.Snapshot(d.Files, m.BaseSHA+".."+m.HeadSHA, part)
}

// Commits lists the commits of a version, newest first, or of the newest version where v is
// nil.
func (s *Service) Commits(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, v *Version, part page.Range) (page.Page[*gitstore.Commit], error) {
	none := page.None[*gitstore.Commit](part)
	if err := s.requireRead(ctx, as, p); err != nil {
		return none, err
	}
	start, head, total := m.StartSHA, m.HeadSHA, int(m.CommitsCount)
	if v != nil {
		start, head, total = v.StartSHA, v.HeadSHA, int(v.CommitsCount)
	}
	at, err := part.Place()
	if err != nil {
		return none, err
	}
	of := start + ".." + head
	switch {
	case at.Of != "" && at.Of != of: // a push has replaced the version that the cursor is of
		return none, page.ErrCursor
	case start == "" || total == 0:
		return none, nil
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return none, err
	}
	commits, err := r.LogCommits(ctx, gitcmd.LogOptions{
		From: []gitstore.ObjectID{idOf(head)}, Not: []gitstore.ObjectID{idOf(start)}, Skip: at.Offset, Limit: at.Limit,
	})
	if err != nil {
		return none, fmt.Errorf("list commits of merge request: %w", err)
	}
	return page.Part(commits, of, at, at.Offset+len(commits) < total, total), nil
}

// OwnCommits lists the commits of the newest version that are no merges, newest first.
func (s *Service) OwnCommits(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, part page.Range) (page.Page[*gitstore.Commit], error) {
	none := page.None[*gitstore.Commit](part)
	if err := s.requireRead(ctx, as, p); err != nil {
		return none, err
	}
	at, err := part.Place()
	if err != nil {
		return none, err
	}
	of := "own:" + m.StartSHA + ".." + m.HeadSHA
	switch {
	case at.Of != "" && at.Of != of:
		return none, page.ErrCursor
	case m.StartSHA == "" || m.CommitsCount == 0:
		return none, nil
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return none, err
	}
	commits, err := r.LogCommits(ctx, gitcmd.LogOptions{
		From: []gitstore.ObjectID{idOf(m.HeadSHA)}, Not: []gitstore.ObjectID{idOf(m.StartSHA)}, NoMerges: true, Skip: at.Offset, Limit: at.Limit + 1,
	})
	if err != nil {
		return none, fmt.Errorf("list own commits of merge request: %w", err)
	}
	more := len(commits) > at.Limit
	total := at.Offset + len(commits)
	return page.Part(commits[:min(len(commits), at.Limit)], of, at, more, total), nil
}

// Diverged counts the commits of the target branch that the source branch lacks.
func (s *Service) Diverged(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (int, error) {
	if err := s.requireRead(ctx, as, p); err != nil {
		return 0, err
	}
	if m.TrialTargetSHA == "" || m.HeadSHA == "" {
		return 0, nil
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return 0, err
	}
	n, err := r.Count(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{idOf(m.TrialTargetSHA)}, Not: []gitstore.ObjectID{idOf(m.HeadSHA)}})
	if err != nil {
		return 0, fmt.Errorf("count diverged commits: %w", err)
	}
	return n, nil
}
