package systemnote

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/project"
)

// reference names an issue as people in a project do.
func reference(i *issue.Issue, p, in *project.Project) string {
	if p.ID == in.ID {
		return i.IID.Reference()
	}
	return p.FullPath + i.IID.Reference()
}

// pair is two issues, each with its project.
type pair struct {
	authz.Stamp
	one, two     *issue.Issue
	first, other *project.Project
}

// tell writes a line on each of two issues that names the other.
func (s *Service) tell(ctx context.Context, x pair, onOne, onTwo string) error {
	f := issue.Fact{Stamp: x.Stamp, Issue: *x.one, Project: x.first}
	if err := s.record(ctx, f, []string{onOne + reference(x.two, x.other, x.first)}); err != nil {
		return err
	}
	f.Issue, f.Project = *x.two, x.other
	return s.record(ctx, f, []string{onTwo + reference(x.one, x.first, x.other)})
}

// IssueMoved tells where an issue went, and on the other one where it comes from.
func (s *Service) IssueMoved(ctx context.Context, e issue.Moved) error {
	return s.tell(ctx, pair{e.Stamp, &e.Issue, &e.To, e.Project, e.ToProject}, "moved to ", "moved from ")
}

// IssueCloned tells the same of a copy.
func (s *Service) IssueCloned(ctx context.Context, e issue.Cloned) error {
	return s.tell(ctx, pair{e.Stamp, &e.Issue, &e.To, e.Project, e.ToProject}, "cloned to ", "cloned from ")
}

// IssueDuplicated tells which issue was the first.
func (s *Service) IssueDuplicated(ctx context.Context, e issue.Duplicated) error {
	f := e.Fact
	if err := s.record(ctx, f, []string{"marked this issue as a duplicate of " + reference(&e.Of, e.OfProject, e.Project)}); err != nil {
		return err
	}
	f.Issue, f.Project = e.Of, e.OfProject
	return s.record(ctx, f, []string{"marked " + reference(&e.Issue, e.Project, e.OfProject) + " as a duplicate of this issue"})
}

// IssuesLinked tells how two issues relate.
func (s *Service) IssuesLinked(ctx context.Context, e issue.Linked) error {
	both := pair{e.Stamp, &e.Source, &e.Target, e.SourceProject, e.TargetProject}
	if e.Type == issue.Blocks {
		return s.tell(ctx, both, "marked this issue as blocking ", "marked this issue as blocked by ")
	}
	return s.tell(ctx, both, "marked this issue as related to ", "marked this issue as related to ")
}

// IssuesUnlinked tells that two issues no longer relate.
func (s *Service) IssuesUnlinked(ctx context.Context, e issue.Unlinked) error {
	both := pair{e.Stamp, &e.Source, &e.Target, e.SourceProject, e.TargetProject}
	return s.tell(ctx, both, "removed the relation with ", "removed the relation with ")
}
