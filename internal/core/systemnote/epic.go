package systemnote

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// EpicUpdated tells what changed on an epic.
func (s *Service) EpicUpdated(ctx context.Context, e epic.Updated) error {
	was, is := e.Before, e.Row()
	var lines []string
	if was.Title != is.Title {
		lines = append(lines, Title(was.Title, is.Title))
	}
	if from, to := text(was.Description), text(is.Description); from != to {
		lines = append(lines, Description(from, to)...)
	}
	if was.Confidential != is.Confidential {
		line := "made the epic visible to everyone"
		if is.Confidential {
			line = "made the epic confidential"
		}
		lines = append(lines, line)
	}
	if from, to := was.Dates(), is.Dates(); text(from.Start) != text(to.Start) {
		lines = append(lines, Day("start date", from.Start, to.Start))
	}
	if from, to := was.Dates(), is.Dates(); text(from.Due) != text(to.Due) {
		lines = append(lines, Day("due date", from.Due, to.Due))
	}
	return s.onEpic(ctx, e.Stamp, e.Row(), note.Named{}, lines...)
}

// Day tells the new value of a date with a name, or which one is gone; days are YYYY-MM-DD.
func Day(name string, from, to *string) string {
	switch {
	case to != nil:
		return "changed " + name + " to " + longDay(*to)
	case from != nil:
		return "removed " + name + " " + longDay(*from)
	}
	return "removed " + name
}

// onEpic writes lines on an epic. Where they name something, only users who may read that see them.
func (s *Service) onEpic(ctx context.Context, by authz.Stamp, e *epic.Epic, names note.Named, lines ...string) error {
	return s.Notes.Record(ctx, note.System{
		On: noteable.Ref{Kind: noteable.Epic, ID: int64(e.ID)}, GroupID: e.GroupID, AuthorID: by.By.UserID, At: by.At, Names: names,
	}, lines...)
}

// called is an epic as something that a line names.
func called(e *epic.Epic) (note.Named, string) {
	return note.Named{Ref: noteable.Ref{Kind: noteable.Epic, ID: int64(e.ID)}}, e.Path + e.IID.Reference()
}

// inEpic tells on an epic and on an issue that they belong together, or no longer do.
func (s *Service) inEpic(ctx context.Context, e epic.IssueAdded, onEpic, onIssue string) error {
	ref := noteable.Ref{Kind: noteable.Issue, ID: int64(e.Issue.ID)}
	err := s.onEpic(ctx, e.Stamp, &e.Epic, note.Named{Ref: ref, ProjectID: e.Issue.ProjectID}, onEpic+e.Project.FullPath+e.Issue.IID.Reference())
	if err != nil {
		return err
	}
	names, name := called(&e.Epic)
	return s.Notes.Record(ctx, note.System{On: ref, ProjectID: e.Issue.ProjectID, AuthorID: e.By.UserID, At: e.At, Names: names}, onIssue+name)
}

// EpicIssueAdded tells which issue was put into an epic, and on the issue which epic.
func (s *Service) EpicIssueAdded(ctx context.Context, e epic.IssueAdded) error {
	return s.inEpic(ctx, e, "added issue ", "added to epic ")
}

// EpicIssueRemoved tells the opposite.
func (s *Service) EpicIssueRemoved(ctx context.Context, e epic.IssueRemoved) error {
	return s.inEpic(ctx, epic.IssueAdded(e), "removed issue ", "removed from epic ")
}

// related tells on a parent and on a child that they belong together, or no longer do.
func (s *Service) related(ctx context.Context, e epic.ChildAdded, onParent, onChild, tail string) error {
	names, name := called(&e.Child)
	if err := s.onEpic(ctx, e.Stamp, &e.Parent, names, onParent+name+tail); err != nil {
		return err
	}
	names, name = called(&e.Parent)
	return s.onEpic(ctx, e.Stamp, &e.Child, names, onChild+name)
}

// EpicChildAdded tells which epic is the child of another, and whose child it is.
func (s *Service) EpicChildAdded(ctx context.Context, e epic.ChildAdded) error {
	return s.related(ctx, e, "added epic ", "added parent epic ", " as child epic")
}

// EpicChildRemoved tells the opposite.
func (s *Service) EpicChildRemoved(ctx context.Context, e epic.ChildRemoved) error {
	return s.related(ctx, epic.ChildAdded(e), "removed child epic ", "removed parent epic ", "")
}

// linked writes a line on each of two epics that names the other, where it ends.
func (s *Service) linked(ctx context.Context, by authz.Stamp, one, two *epic.Epic, onOne, onTwo string) error {
	for _, x := range []struct {
		on, other *epic.Epic
		line      string
	}{{one, two, onOne}, {two, one, onTwo}} {
		names, name := called(x.other)
		if x.on.GroupID == x.other.GroupID {
			name = x.other.IID.Reference()
		}
		if err := s.onEpic(ctx, by, x.on, names, x.line+name); err != nil {
			return err
		}
	}
	return nil
}

// EpicsLinked tells how two epics relate.
func (s *Service) EpicsLinked(ctx context.Context, e epic.Linked) error {
	if e.Type == epic.Blocks {
		return s.linked(ctx, e.Stamp, &e.Source, &e.Target, "marked this epic as blocking ", "marked this epic as blocked by ")
	}
	return s.linked(ctx, e.Stamp, &e.Source, &e.Target, "marked this epic as related to ", "marked this epic as related to ")
}

// EpicsUnlinked tells that two epics no longer relate.
func (s *Service) EpicsUnlinked(ctx context.Context, e epic.Unlinked) error {
	return s.linked(ctx, e.Stamp, &e.Source, &e.Target, "removed the relation with ", "removed the relation with ")
}

// IssuePromoted notes on an issue that it was promoted to an epic, and on the epic which issue it came from.
func (s *Service) IssuePromoted(ctx context.Context, e epic.Promoted) error {
	return s.inEpic(ctx, epic.IssueAdded{Stamp: e.Stamp, Epic: e.Epic, Issue: e.Issue, Project: e.Project}, "promoted from issue ", "promoted to epic ")
}
