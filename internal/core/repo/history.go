package repo

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/charset"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// CodeNoRevision is a revision that does not exist, in a request for contributors.
const CodeNoRevision errs.Code = "revision_not_found"

// Contributor is one address that commits were written under.
type Contributor struct {
	Name    string // of the newest of the commits
	Email   string
	Commits int
}

// maxContributions is how many commits count.
const maxContributions = 2000

// ContributorFilter says which contributors are listed, and how they are sorted.
type ContributorFilter struct {
	Ref       string // "" is the default branch
	By        string // name, email or commits
	Direction Direction
	page.Range
}

// Contributors counts the newest commits of a ref, merges left out, by the address of
// their author, in the order in which they are met. A cursor goes on with the commits that
// its list counted.
func (s *Service) Contributors(ctx context.Context, as authz.Actor, p *project.Project, f ContributorFilter) (page.Page[Contributor], error) {
	none := page.Page[Contributor]{}
	at, err := f.Place()
	if err != nil {
		return none, err
	}
	if at.Of != "" {
		f.Ref = at.Of
	}
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return none, err
	}
	rev, err := resolve(ctx, r, p, f.Ref, "")
	if errs.Is(err, errs.NotFound) {
		return none, errs.Coded(errs.NotFound, CodeNoRevision, "")
	}
	if err != nil {
		return none, err
	}
	ids, err := r.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{rev.Commit}, NoMerges: true, Limit: maxContributions})
	if err != nil {
		return none, fmt.Errorf("list contributions: %w", err)
	}
	commits, err := r.ShortCommits(ctx, ids)
	if err != nil {
		return none, fmt.Errorf("list contributions: %w", err)
	}
	var out []Contributor
	places := map[string]int{}
	for _, c := range commits {
		i, known := places[c.Author.Email]
		if !known {
			i = len(out)
			places[c.Author.Email] = i
			out = append(out, Contributor{Name: c.Author.Name, Email: c.Author.Email})
		}
		out[i].Commits++
	}
	slices.SortStableFunc(out, func(a, b Contributor) int {
		if f.Direction == Descending {
			a, b = b, a
		}
		switch f.By {
		case "name":
			return cmp.Compare(db.Fold(a.Name), db.Fold(b.Name))
		case "email":
			return cmp.Compare(db.Fold(a.Email), db.Fold(b.Email))
		}
		return a.Commits - b.Commits
	})
	return page.Snapshot(out, rev.Commit.String(), f.Range)
}

// Direction is that of an order.
type Direction int

// The directions.
const (
	Ascending Direction = iota
	Descending
)

// Holding lists the branches and the tags from which a commit can be reached; kind is
// branch, tag or all.
func (s *Service) Holding(ctx context.Context, as authz.Actor, p *project.Project, c *gitstore.Commit, kind string, part page.Range) (page.Page[gitstore.RefName], error) {
	none := page.Page[gitstore.RefName]{}
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return none, err
	}
	prefixes := []string{gitstore.Branches, gitstore.Tags}
	switch kind {
	case "branch":
		prefixes = prefixes[:1]
	case "tag":
		prefixes = prefixes[1:]
	}
	names, err := r.RefsContaining(ctx, c.ID, prefixes...)
	if err != nil {
		return none, fmt.Errorf("look for commit in references: %w", err)
	}
	slices.Sort(names)
	return page.Slice(names, part, byName, func(ref *gitstore.RefName) []any { return []any{string(*ref)} })
}

// Sequence counts the commits up to and with a commit; of the filter only FirstParent
// counts.
func (s *Service) Sequence(ctx context.Context, as authz.Actor, p *project.Project, c *gitstore.Commit, f CommitFilter) (int, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return 0, err
	}
	n, err := r.Count(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{c.ID}, FirstParent: f.FirstParent})
	if err != nil {
		return 0, fmt.Errorf("count commits: %w", err)
	}
	return n, nil
}

// Blamed is a run of lines that one commit wrote.
type Blamed struct {
	Commit *gitstore.Commit
	Lines  []string // in UTF-8
}

// Lines are those from First to Last, counted from 1; the zero value is all.
type Lines struct{ First, Last int }

// Blame says which commit wrote which lines of a file.
func (s *Service) Blame(ctx context.Context, as authz.Actor, p *project.Project, path, ref string, of Lines) ([]Blamed, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	if ref == "HEAD" {
		ref = ""
	}
	rev, err := resolve(ctx, r, p, ref, "Commit")
	if err != nil {
		return nil, err
	}
	ranges, err := r.Blame(ctx, rev.Commit, path, of.First, of.Last)
	if err != nil {
		return nil, missing(err, "File")
	}
	kind, err := charsetOf(ctx, r, rev.Commit, path)
	if err != nil {
		return nil, err
	}
	out := make([]Blamed, len(ranges))
	for i, b := range ranges {
		if out[i].Commit, err = r.ShortCommit(ctx, b.Commit); err != nil {
			return nil, fmt.Errorf("read blamed commit: %w", err)
		}
		out[i].Lines = make([]string, len(b.Lines))
		for k, line := range b.Lines {
			out[i].Lines[k] = kind.Text(line)
		}
	}
	return out, nil
}

// charsetOf finds the encoding of a file of a commit.
func charsetOf(ctx context.Context, r *gitcmd.Repo, commit gitstore.ObjectID, path string) (charset.Charset, error) {
	entry, err := r.Entry(ctx, commit, path)
	if err != nil {
		return "", missing(err, "File")
	}
	found, err := r.Charset(ctx, entry.ID)
	if err != nil {
		return "", fmt.Errorf("find encoding: %w", err)
	}
	return found, nil
}
