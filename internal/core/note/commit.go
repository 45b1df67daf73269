package note

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/weburl"
)

// Commits are what comments on commits stand on. No row is kept of a commit, so the
// comments themselves are counted.
type Commits struct {
	DB    *db.DB
	Repos *repo.Service

	// Of the mails about them.
	Projects *project.Service
	Accounts *account.Service
	URLs     *weburl.Site
}

// Describe says what commits are to others.
func (c *Commits) Describe() noteable.Description {
	return noteable.Description{
		Kind: noteable.Commit, Noun: "commit", An: "a commit", Path: "repository/commits", Mark: "@", Code: 5,
		Read: authz.ReadCode, Public: true, Diffs: true, Open: true, Todos: true,
	}
}

// Locate finds a commit by hash, branch or tag. It requires ReadCode.
func (c *Commits) Locate(ctx context.Context, as authz.Actor, at authz.Place, key noteable.Key) (noteable.Target, error) {
	p := project.Of(at)
	found, err := c.Repos.FindCommit(ctx, as, p, key.Commit)
	if err != nil {
		return noteable.Target{}, err
	}
	subject := p.Subject()
	subject.Feature = authz.Repository
	return noteable.Target{
		Ref:       noteable.Ref{Kind: noteable.Commit, Project: int64(p.ID), Commit: found.ID.String()},
		ProjectID: int64(p.ID), ProjectPath: p.FullPath, Title: found.Title(), Subject: subject,
	}, nil
}

// Subjects returns the projects of those of the commits whose code the actor may read, in one
// statement.
func (c *Commits) Subjects(ctx context.Context, as authz.Actor, refs []noteable.Ref) (map[noteable.Ref]authz.Subject, error) {
	ids := make([]project.ID, len(refs))
	for i, ref := range refs {
		ids[i] = project.ID(ref.Project)
	}
	projects, err := c.Repos.CodeByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[noteable.Ref]authz.Subject, len(refs))
	for _, ref := range refs {
		if p := projects[project.ID(ref.Project)]; p != nil {
			subject := p.Subject()
			subject.Feature = authz.Repository
			out[ref] = subject
		}
	}
	return out, nil
}

// CountNotes returns the number that there will be.
func (c *Commits) CountNotes(ctx context.Context, on noteable.Ref, by noteable.Counts, _ time.Time) (noteable.Counts, error) {
	w := where(on)
	w.Raw("NOT n.system")
	n, err := db.Get[int64](ctx, c.DB, "SELECT count(*) FROM notes n"+w.SQL(), w.Args()...)
	if err != nil {
		return noteable.Counts{}, fmt.Errorf("count notes of commit: %w", err)
	}
	return noteable.Counts{Notes: n + by.Notes}, nil
}

// Keep makes sure that the commit outlives its branches.
func (c *Commits) Keep(ctx context.Context, p *project.Project, on noteable.Ref) error {
	id, err := gitstore.ParseObjectID(on.Commit)
	if err != nil {
		return fmt.Errorf("keep commit: %w", err)
	}
	return c.Repos.KeepAround(ctx, p, id)
}

// Place finds a line in what the commit changed, nil where it is none of the changed ones.
func (c *Commits) Place(ctx context.Context, as authz.Actor, p *project.Project, on noteable.Ref, line Line) (at *Position, code string, err error) {
	commit, err := c.Repos.FindCommit(ctx, as, p, on.Commit)
	if err != nil {
		return nil, "", err
	}
	d, err := c.Repos.CommitDiff(ctx, as, p, commit)
	if err != nil {
		return nil, "", err
	}
	base := gitstore.EmptyTree()
	if len(commit.Parents) > 0 {
		base = commit.Parents[0]
	}
	for i := range d.Files {
		f := &d.Files[i]
		if f.NewPath != line.Path {
			continue
		}
		if found, ok := f.Changed(line.Number, line.Old); ok {
			return newPosition(base, commit.ID, f, found), lineCode(f.NewPath, f.Numbered(found)), nil
		}
		break
	}
	return nil, "", nil
}
