package systemnote

import (
	"context"
	"fmt"
	"html"
	"strings"

	"tenon/internal/core/approval"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/weburl"
)

// RequestCreated says who a new merge request was made for.
func (s *Service) RequestCreated(ctx context.Context, e mergerequest.Created) error {
	lines, err := s.people(ctx, nil, e.Assigned, Assigned)
	if err != nil {
		return err
	}
	if lines, err = s.people(ctx, lines, e.Asked, Reviewers); err != nil {
		return err
	}
	return s.recordRequest(ctx, e.Fact, lines)
}

// RequestUpdated tells what changed on a merge request.
func (s *Service) RequestUpdated(ctx context.Context, e mergerequest.Updated) error {
	was, is := e.Before, e.Row()
	var lines []string
	if was.Title != is.Title {
		line := RequestTitle(was.Title, is.Title)
		if e.DraftCommit != "" {
			line += " from " + e.DraftCommit
		}
		lines = append(lines, line)
	}
	if was.Text() != is.Text() {
		lines = append(lines, Description(was.Text(), is.Text())...)
	}
	switch {
	case e.TargetDeleted:
		lines = append(lines, fmt.Sprintf("deleted the `%s` branch. This merge request now targets the `%s` branch", was.TargetBranch, is.TargetBranch))
	case was.TargetBranch != is.TargetBranch:
		lines = append(lines, fmt.Sprintf("changed target branch from `%s` to `%s`", was.TargetBranch, is.TargetBranch))
	}
	lines, err := s.people(ctx, lines, e.Assigned, Assigned)
	if err != nil {
		return err
	}
	if lines, err = s.people(ctx, lines, e.Asked, Reviewers); err != nil {
		return err
	}
	if was.Locked() != is.Locked() {
		lines = append(lines, Locked(is.Locked(), "merge request"))
	}
	lines = append(lines, s.time(e.Time, is.Estimate)...)
	return s.recordRequest(ctx, e.Fact, lines)
}

// RequestPushed tells which commits a push added to a merge request.
func (s *Service) RequestPushed(ctx context.Context, e mergerequest.NewVersion) error {
	if e.CommitsCount+e.FromTarget == 0 {
		return nil
	}
	return s.recordRequest(ctx, e.Fact, []string{Commits(e)})
}

// SourceBranchDeleted tells that the branch is gone that a merge request comes from.
func (s *Service) SourceBranchDeleted(ctx context.Context, e mergerequest.SourceBranchDeleted) error {
	return s.recordRequest(ctx, e.Fact, []string{"deleted source branch `" + e.Row().SourceBranch + "`"})
}

// SourceBranchRestored tells that it is there again.
func (s *Service) SourceBranchRestored(ctx context.Context, e mergerequest.SourceBranchRestored) error {
	return s.recordRequest(ctx, e.Fact, []string{"restored source branch `" + e.Row().SourceBranch + "`"})
}

// Approved tells that a user approved a merge request.
func (s *Service) Approved(ctx context.Context, e approval.Approved) error {
	return s.recordRequest(ctx, e.Fact.Fact, []string{"approved this merge request"})
}

// Unapproved tells that a user took that back.
func (s *Service) Unapproved(ctx context.Context, e approval.Unapproved) error {
	return s.recordRequest(ctx, e.Fact.Fact, []string{"unapproved this merge request"})
}

// AutoMergeEnabled tells that a merge request is to be merged when its pipeline succeeds, or by a
// merge train.
func (s *Service) AutoMergeEnabled(ctx context.Context, e mergerequest.AutoMergeEnabled) error {
	line := "enabled an automatic merge when the pipeline for " + e.SHA + " succeeds"
	switch {
	case e.Strategy == mergerequest.TrainWhenSucceeds:
		line = "enabled automatic add to merge train when the pipeline for " + e.SHA + " succeeds"
	case e.Strategy == mergerequest.InTrain && e.Position == 1:
		line = "started a merge train"
	case e.Strategy == mergerequest.InTrain:
		line = fmt.Sprintf("added this merge request to the merge train at position %d", e.Position)
	}
	return s.recordRequest(ctx, e.Fact, []string{line})
}

// AutoMergeCanceled tells that a user took that back.
func (s *Service) AutoMergeCanceled(ctx context.Context, e mergerequest.AutoMergeCanceled) error {
	line := "canceled the automatic merge"
	switch e.Strategy {
	case mergerequest.InTrain:
		line = "removed this merge request from the merge train"
	case mergerequest.TrainWhenSucceeds:
		line = "canceled automatic add to merge train"
	}
	return s.recordRequest(ctx, e.Fact, []string{line})
}

// AutoMergeAborted tells why a merge request will not be merged by itself any more.
func (s *Service) AutoMergeAborted(ctx context.Context, e mergerequest.AutoMergeAborted) error {
	line := "aborted the automatic merge"
	switch e.Strategy {
	case mergerequest.InTrain:
		line = "removed this merge request from the merge train"
	case mergerequest.TrainWhenSucceeds:
		line = "aborted automatic add to merge train"
	}
	return s.recordRequest(ctx, e.Fact, []string{line + " because " + e.Reason})
}

// ThreadsResolved tells that no thread is open any more.
func (s *Service) ThreadsResolved(ctx context.Context, e note.ThreadsResolved) error {
	return s.Notes.Record(ctx, note.System{
		On: e.Target.Ref, ProjectID: project.ID(e.Target.ProjectID), AuthorID: e.By.UserID, At: e.At,
	}, "resolved all threads")
}

func (s *Service) recordRequest(ctx context.Context, f mergerequest.Fact, lines []string) error {
	if !f.By.SignedIn() {
		f.By.UserID = f.Row().AuthorID // found by looking at the branch, or pushed with a deploy key
	}
	return s.Notes.Record(ctx, note.System{
		On: noteable.Ref{Kind: noteable.MergeRequest, ID: int64(f.Row().ID)}, ProjectID: f.Project.ID, AuthorID: f.By.UserID, At: f.At,
	}, lines...)
}

// RequestTitle tells how the title of a merge request changed. One that only became or
// ceased to be a draft says so instead.
func RequestTitle(from, to string) string {
	if mergerequest.WithoutDraft(from) == mergerequest.WithoutDraft(to) && mergerequest.IsDraft(from) != mergerequest.IsDraft(to) {
		if mergerequest.IsDraft(to) {
			return "marked this merge request as **draft**"
		}
		return "marked this merge request as **ready**"
	}
	return Title(from, to)
}

// Commits tells which commits came, the latest ones by name.
func Commits(e mergerequest.NewVersion) string {
	var out strings.Builder
	all := e.CommitsCount + e.FromTarget
	fmt.Fprintf(&out, "added %d %s\n\n<ul>", all, plural(all, "commit", "commits"))
	if n := e.FromTarget; n > 0 {
		fmt.Fprintf(&out, "<li>%s - %d %s from branch <code>%s</code></li>", span(n, short(e.OldSHA), e.TargetSHA), n, plural(n, "commit", "commits"),
			html.EscapeString(e.Row().TargetBranch))
	}
	if n := e.CommitsCount - len(e.Commits); n > 0 {
		fmt.Fprintf(&out, "<li>%s - %d earlier %s</li>", span(n, e.EarlierFirst, e.EarlierLast), n, plural(n, "commit", "commits"))
	}
	for i := len(e.Commits) - 1; i >= 0; i-- {
		fmt.Fprintf(&out, "<li>%s - %s</li>", e.Commits[i].SHA, html.EscapeString(e.Commits[i].Title))
	}
	out.WriteString("</ul>")
	if e.VersionID != 0 {
		fmt.Fprintf(&out, "\n\n[Compare with previous version](%s)",
			(&weburl.Site{}).MergeRequestDiff(e.Project.FullPath, int64(e.Row().IID), int64(e.VersionID), e.OldSHA))
	}
	return out.String()
}

// span names n commits by the first, or the one before them, and the last.
func span(n int, first, last string) string {
	if n == 1 {
		return last
	}
	return first + "..." + last
}

func short(sha string) string { return sha[:min(len(sha), shownHash)] }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
