package issue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/timelog"
)

// Copy says what a clone brings.
type Copy struct{ Notes bool }

// Move makes an issue again in another project, with its links and its time and copies of its notes,
// award emoji and resource events, and closes the one that was there. It requires SetIssueMetadata in both projects.
func (s *Service) Move(ctx context.Context, as authz.Actor, p *project.Project, iid IID, to project.ID) (*Issue, *project.Project, error) {
	i, target, err := s.source(ctx, as, p, iid, to, "move")
	if err != nil {
		return nil, nil, err
	}
	if target.ID == p.ID {
		return nil, nil, errs.Plain("Cannot move issue to project it originates from!")
	}
	made, err := s.copied(ctx, as, i, p, target)
	if err != nil {
		return nil, nil, err
	}
	made.AuthorID, made.State, made.CreatedAt = i.AuthorID, i.State, i.CreatedAt
	made.ClosedAt, made.ClosedByID, made.Totals = i.ClosedAt, i.ClosedByID, i.Totals
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.place(ctx, as, copying{i, p, target, true}, made); err != nil {
			return err
		}
		var before Issue
		out, err := db.Update(ctx, s.DB, s.row(as, p, i.ID), func(ctx context.Context, row *Issue) error {
			if row.MovedToID != nil {
				return errNotMoved("move")
			}
			row.Labels, row.Assignees = i.Labels, i.Assignees
			before = *row
			now := db.At(s.Now())
			row.MovedToID, row.UpdatedAt, row.Spent = &made.ID, now, 0
			if row.State == StateOpened {
				row.State, row.ClosedAt, row.ClosedByID = StateClosed, &now, &as.UserID
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.takeOver(ctx, i.ID, made.ID); err != nil {
			return err
		}
		f := s.changed(as, p, &before, &out.After)
		if before.State != out.After.State {
			if err := s.Bus.Publish(ctx, Closed{Fact: f}); err != nil {
				return err
			}
		}
		return s.Bus.Publish(ctx, Moved{Fact: f, To: *made, ToProject: target})
	})
	if err != nil {
		return nil, nil, fmt.Errorf("move issue: %w", err)
	}
	return made, target, nil
}

// Clone makes an issue of the actor's with what another says and copies of its award emoji, in the
// same project or in another. It requires SetIssueMetadata in both.
func (s *Service) Clone(ctx context.Context, as authz.Actor, p *project.Project, iid IID, to project.ID, c Copy) (*Issue, *project.Project, error) {
	i, target, err := s.source(ctx, as, p, iid, to, "clone")
	if err != nil {
		return nil, nil, err
	}
	made, err := s.copied(ctx, as, i, p, target)
	if err != nil {
		return nil, nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.place(ctx, as, copying{i, p, target, c.Notes}, made); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Cloned{
			Fact: s.changed(as, p, i, i), To: *made, ToProject: target,
		})
	})
	if err != nil {
		return nil, nil, fmt.Errorf("clone issue: %w", err)
	}
	return made, target, nil
}

func errNotMoved(verb string) error {
	return errs.Plain("Unable to " + verb + ". You have insufficient permissions.")
}

// source finds what is moved or cloned and the project it goes to, and asks for permission in
// both.
func (s *Service) source(ctx context.Context, as authz.Actor, p *project.Project, iid IID, to project.ID, verb string) (*Issue, *project.Project, error) {
	i, err := s.Find(ctx, as, p, iid)
	if err == nil && !as.SignedIn() {
		err = errs.New(errs.Unauthorized, "")
	}
	if err != nil {
		return nil, nil, err
	}
	target, err := s.Projects.FindByID(ctx, as, to)
	if err != nil {
		return nil, nil, err
	}
	for _, subject := range []authz.Subject{i.subject(as, p), target.Subject()} {
		subject.Own, subject.Feature = false, authz.Issues
		may, err := s.Policy.Can(ctx, as, authz.SetIssueMetadata, subject)
		if err != nil {
			return nil, nil, err
		}
		if !may || verb == "move" && i.MovedToID != nil {
			return nil, nil, errNotMoved(verb)
		}
	}
	return i, target, nil
}

// copied returns an open issue of the actor's with what another says, for a project.
func (s *Service) copied(ctx context.Context, as authz.Actor, i *Issue, from, to *project.Project) (*Issue, error) {
	now := s.Now()
	made := &Issue{
		ProjectID: to.ID, AuthorID: as.UserID, Title: i.Title, State: StateOpened, DueDate: i.DueDate, Weight: i.Weight, Health: i.Health,
		Position: positionAt(now), CreatedAt: db.At(now), UpdatedAt: db.At(now), Totals: timelog.Totals{Estimate: i.Estimate},
	}
	db.Assign(made, db.Pick[Attributes](i))
	made.Assignees, made.MilestoneID, made.IterationID = slices.Clone(i.Assignees), i.MilestoneID, i.IterationID
	if from.ID == to.ID {
		return made, nil
	}
	if made.Description != nil {
		text := reference.NewReader(s.URLs).Moved(*made.Description, from.FullPath)
		made.Description = &text
	}
	var err error
	if made.MilestoneID, err = s.Milestones.Alike(ctx, to, i.MilestoneID); err != nil {
		return nil, err
	}
	if made.IterationID, err = s.Iterations.Chosen(ctx, to, i.IterationID); err != nil {
		return nil, err
	}
	made.Assignees, err = s.assignable(ctx, to, i.Assignees)
	return made, err
}

// copying is how an issue is copied.
type copying struct {
	of       *Issue
	from, to *project.Project
	notes    bool
}

// place writes a copy of an issue with the labels of the same titles that its project has.
func (s *Service) place(ctx context.Context, as authz.Actor, c copying, made *Issue) error {
	i, to := c.of, c.to
	iid, err := namespace.NextIID(ctx, s.DB, to.NamespaceID, namespace.KindIssue)
	if err != nil {
		return err
	}
	made.IID = IID(iid)
	if err := s.insert(ctx, made); err != nil {
		return err
	}
	labels, err := s.Labels.ByNames(ctx, to.Place(), label.Titles(i.Labels))
	if err != nil {
		return err
	}
	slices.SortFunc(labels, label.ByTitle)
	made.Labels = labels
	if err := s.Labels.Attach(ctx, made.Ref(), labels); err != nil {
		return err
	}
	return s.Bus.Publish(ctx, Created{Fact: Fact{change.Created(as, s.Now(), to.Place(), made), to}, CopyOf: i.ID, WithNotes: c.notes, From: c.from})
}

// takeOver gives the links and the time of an issue to another, which is new.
func (s *Service) takeOver(ctx context.Context, from, to ID) error {
	for _, column := range []string{"source_id", "target_id"} {
		if _, err := s.DB.Exec(ctx, "UPDATE issue_links SET "+column+" = ? WHERE "+column+" = ?", to, from); err != nil {
			return fmt.Errorf("move links of issue: %w", err)
		}
	}
	return s.Times.Move(ctx, noteable.Issue, int64(from), int64(to))
}

// MarkDuplicate closes an issue as a duplicate of another that the actor may read, and links
// them. It requires SetIssueMetadata.
func (s *Service) MarkDuplicate(ctx context.Context, as authz.Actor, p *project.Project, iid IID, of Other) (*Issue, error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.SetIssueMetadata, i.subject(as, p)); err != nil {
		return nil, err
	}
	op, err := s.Projects.Find(ctx, as, of.Project)
	if err != nil {
		return nil, err
	}
	original, err := s.Find(ctx, as, op, of.IID)
	if err != nil {
		return nil, err
	}
	if original.ID == i.ID {
		return nil, errs.New(errs.Unprocessable, "")
	}
	if _, err := s.Link(ctx, as, p, iid, of, RelatesTo); err != nil && !errors.Is(err, links.Assigned) && !errs.Is(err, errs.NotFound) &&
		!errs.Is(err, errs.Forbidden) {
		return nil, err
	}
	var out *Issue
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		_, err := db.Update(ctx, s.DB, s.row(as, p, i.ID), func(_ context.Context, row *Issue) error {
			row.DuplicatedToID = &original.ID
			return nil
		})
		if err != nil {
			return err
		}
		if out, err = s.change(ctx, as.Unconditional(), p, i.ID, Changes{StateEvent: "close"}); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Duplicated{
			Fact: s.changed(as, p, i, out), Of: *original, OfProject: op,
		})
	})
	if err != nil {
		return nil, fmt.Errorf("mark issue as duplicate: %w", err)
	}
	return out, nil
}
