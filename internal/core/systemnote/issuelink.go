package systemnote

import (
	"context"
	"fmt"

	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/weburl"
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

// tell writes a line on each of two issues that names the other, where %s stands.
func (s *Service) tell(ctx context.Context, x pair, onOne, onTwo string) error {
	if err := s.name(ctx, x, onOne); err != nil {
		return err
	}
	return s.name(ctx, pair{x.Stamp, x.two, x.one, x.other, x.first}, onTwo)
}

// name writes a line on the first of two issues that names the second, where %s stands. Only
// users who may read the second see it.
func (s *Service) name(ctx context.Context, x pair, line string) error {
	return s.Notes.Record(ctx, note.System{
		On: x.one.Ref(), ProjectID: x.one.ProjectID, AuthorID: x.By.UserID, At: x.At,
		Names: note.Named{Ref: x.two.Ref(), ProjectID: x.two.ProjectID},
	}, fmt.Sprintf(line, reference(x.two, x.other, x.first)))
}

// IssueMoved tells where an issue went, and on the other one where it comes from.
func (s *Service) IssueMoved(ctx context.Context, e issue.Moved) error {
	return s.tell(ctx, pair{e.Stamp, e.Row(), &e.To, e.Project, e.ToProject}, "moved to %s", "moved from %s")
}

// IssueCloned tells the same of a copy.
func (s *Service) IssueCloned(ctx context.Context, e issue.Cloned) error {
	return s.tell(ctx, pair{e.Stamp, e.Row(), &e.To, e.Project, e.ToProject}, "cloned to %s", "cloned from %s")
}

// IssueDuplicated tells which issue was the first.
func (s *Service) IssueDuplicated(ctx context.Context, e issue.Duplicated) error {
	return s.tell(ctx, pair{e.Stamp, e.Row(), &e.Of, e.Project, e.OfProject},
		"marked this issue as a duplicate of %s", "marked %s as a duplicate of this issue")
}

// IssuesLinked tells how two issues relate.
func (s *Service) IssuesLinked(ctx context.Context, e issue.Linked) error {
	both := pair{e.Stamp, &e.Source, &e.Target, e.SourceProject, e.TargetProject}
	if e.Type == issue.Blocks {
		return s.tell(ctx, both, "marked this issue as blocking %s", "marked this issue as blocked by %s")
	}
	return s.tell(ctx, both, "marked this issue as related to %s", "marked this issue as related to %s")
}

// IssuesUnlinked tells that two issues no longer relate.
func (s *Service) IssuesUnlinked(ctx context.Context, e issue.Unlinked) error {
	both := pair{e.Stamp, &e.Source, &e.Target, e.SourceProject, e.TargetProject}
	return s.tell(ctx, both, "removed the relation with %s", "removed the relation with %s")
}

// IssueAddressed tells which merge request, or which branch, was made to address an issue. Only
// users who may read that see it.
func (s *Service) IssueAddressed(ctx context.Context, e issue.Addressed) error {
	var line string
	names := note.Named{ProjectID: e.Project.ID}
	if e.Work.RequestID != 0 {
		names.Ref = noteable.Ref{Kind: noteable.MergeRequest, ID: e.Work.RequestID}
		line = fmt.Sprintf("created merge request !%d to address this issue", e.Work.RequestIID)
	} else {
		names.Ref = noteable.Ref{Kind: noteable.Commit, Project: int64(e.Project.ID), Commit: e.Work.Commit}
		url := (&weburl.Site{}).Compare(e.Project.FullPath, *e.Project.DefaultBranch, "...", e.Work.Branch)
		line = fmt.Sprintf("created branch [`%s`](%s) to address this issue", e.Work.Branch, url)
	}
	return s.Notes.Record(ctx, note.System{
		On: e.Row().Ref(), ProjectID: e.Row().ProjectID, AuthorID: e.By.UserID, At: e.At, Names: names,
	}, line)
}
