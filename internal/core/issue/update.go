package issue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/timelog"
)

// Update changes an issue and runs the quick actions of its new description. Authors and assignees below
// planner change its text and state; what else they ask for is ignored.
func (s *Service) Update(ctx context.Context, as authz.Actor, p *project.Project, iid IID, c Changes) (*Issue, error) {
	run := s.Cut(&c)
	i, err := s.Change(ctx, as, p, iid, c)
	if err != nil || run == nil {
		return i, err
	}
	return s.command(ctx, as, p, iid, run)
}

// Cut takes the quick actions out of the new description, for a caller of Change that runs them after its transaction.
func (s *Service) Cut(c *Changes) noteable.Run {
	return noteable.Cut(s.above.Commands, noteable.Issue, &c.Description)
}

// Change is Update for a description without quick actions: it runs no git, so that a transaction may be around it.
func (s *Service) Change(ctx context.Context, as authz.Actor, p *project.Project, iid IID, c Changes) (*Issue, error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	subject := i.subject(as, p)
	if err := s.Policy.Require(ctx, as, authz.UpdateIssue, subject); err != nil {
		return nil, err
	}
	if c, err = s.permitted(ctx, as, subject, c); err != nil {
		return nil, err
	}
	if c.AssigneeIDs != nil {
		wanted, err := s.assignable(ctx, p, *c.AssigneeIDs)
		if err != nil {
			return nil, err
		}
		c.AssigneeIDs = &wanted
	}
	if c.MilestoneID, err = s.Milestones.Chosen(ctx, p, c.MilestoneID); err != nil {
		return nil, err
	}
	if c.IterationID, err = s.Iterations.Chosen(ctx, p, c.IterationID); err != nil {
		return nil, err
	}
	return s.write(ctx, as, p, i.ID, c)
}

// write applies permitted changes under the condition of the call.
func (s *Service) write(ctx context.Context, as authz.Actor, p *project.Project, id ID, c Changes) (*Issue, error) {
	var out *Issue
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = s.change(ctx, as, p, id, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("update issue: %w", err)
	}
	return out, nil
}

// TrackTime changes the time that is estimated for an issue and spent on it. It requires
// SetIssueMetadata.
func (s *Service) TrackTime(ctx context.Context, as authz.Actor, p *project.Project, iid IID, c timelog.Change) (*Issue, error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.SetIssueMetadata, i.subject(as, p)); err != nil {
		return nil, err
	}
	return s.write(ctx, as, p, i.ID, Changes{Time: c})
}

// DeleteTime deletes an entry of time spent on an issue. It requires AdminTimelog.
func (s *Service) DeleteTime(ctx context.Context, as authz.Actor, p *project.Project, iid IID, e *timelog.Entry) (*Issue, error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.AdminTimelog, e.Subject(as, p)); err != nil {
		return nil, err
	}
	return s.write(ctx, as, p, i.ID, Changes{Time: timelog.Change{Delete: e.ID}})
}

// permitted takes out of c what the actor may not change.
func (s *Service) permitted(ctx context.Context, as authz.Actor, subject authz.Subject, c Changes) (Changes, error) {
	planner, err := s.Policy.Can(ctx, as, authz.SetIssueMetadata, subject)
	if err != nil {
		return c, err
	}
	switch {
	case !planner && c.Strict:
		return c, s.Policy.Require(ctx, as, authz.SetIssueMetadata, subject)
	case !planner:
		c = Changes{Title: c.Title, Attributes: Attributes{Description: c.Description}, StateEvent: c.StateEvent, cause: c.cause}
	}
	owner, err := s.Policy.Can(ctx, as, authz.SetIssueNumber, subject)
	if !owner {
		c.UpdatedAt = nil
	}
	return c, err
}

// change applies permitted changes to the row as it is now.
func (s *Service) change(ctx context.Context, as authz.Actor, p *project.Project, id ID, c Changes) (*Issue, error) {
	var spent timelog.Diff
	var before Issue // with labels and assignees
	out, err := db.Update(ctx, s.DB, s.row(as, p, id).Provided(as.UnmodifiedAt), func(ctx context.Context, i *Issue) error {
		one := []Issue{*i}
		if err := s.fill(ctx, as, one); err != nil {
			return err
		}
		before, *i = one[0], one[0]
		var err error
		spent, err = s.apply(ctx, as, p, i, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = s.publish(ctx, s.changed(as, p, &before, &out.After), spent, c.cause)
	if err == nil && c.Epic != nil {
		err = s.above.Epics.Assign(ctx, as.Unconditional(), p, &out.After, *c.Epic)
	}
	return &out.After, err
}

// row names the row of an issue for db.Update and db.ForUpdate, as the actor sees it.
func (s *Service) row(as authz.Actor, p *project.Project, id ID) db.Row {
	notes := s.within(as, p.Place(), Filter{}).notes
	return db.Row{Table: "issues", ID: id, Alias: "i", From: "issues i", Columns: columns + ", " + notes + " AS user_notes_count", Missing: errs.Missing("")}
}

// apply makes an issue, with its labels and assignees, what the changes ask for, and returns what they
// did to its time.
func (s *Service) apply(ctx context.Context, as authz.Actor, p *project.Project, i *Issue, c Changes) (timelog.Diff, error) {
	now, before := s.Now(), *i
	c.apply(i, as, now)
	if err := i.validate(); err != nil {
		return timelog.Diff{}, err
	}
	if c.AssigneeIDs != nil {
		i.Assignees = slices.Sorted(slices.Values(*c.AssigneeIDs))
		added, removed := change.Sets(before.Assignees, i.Assignees)
		if err := errors.Join(s.assign(ctx, i.ID, added), s.unassign(ctx, i.ID, removed)); err != nil {
			return timelog.Diff{}, err
		}
	}
	spent, err := s.Times.Apply(ctx, as, i.Ref(), &i.Totals, c.Time)
	if err != nil {
		return spent, err
	}
	added, removed, err := s.Labels.Apply(ctx, as, p.Place(), i.Ref(), i.Labels, c.Labels)
	if err != nil {
		return spent, err
	}
	i.Labels = label.With(i.Labels, added, removed)
	changed := updated(&before, i) || !spent.Empty() || i.State != before.State
	switch {
	case c.UpdatedAt != nil:
		i.UpdatedAt = db.At(*c.UpdatedAt)
	case changed:
		i.UpdatedAt = db.At(now)
	}
	if as.SignedIn() && changed {
		i.UpdatedByID = &as.UserID
	}
	if as.SignedIn() && change.Has(&before, i, "title", "description") {
		i.LastEditedAt, i.LastEditedByID = &i.UpdatedAt, &as.UserID
	}
	return spent, nil
}

// publish says what happened.
func (s *Service) publish(ctx context.Context, f Fact, spent timelog.Diff, cause noteable.Cause) error {
	if f.updated() || !spent.Empty() {
		if err := s.Bus.Publish(ctx, Updated{f, spent}); err != nil {
			return err
		}
	}
	switch {
	case f.Row().State == f.Before.State:
		return nil
	case f.Row().State == StateClosed:
		return s.Bus.Publish(ctx, Closed{f, cause})
	default:
		return s.Bus.Publish(ctx, Reopened{f})
	}
}

// apply writes the changes of columns into i.
func (c Changes) apply(i *Issue, as authz.Actor, now time.Time) {
	db.Assign(i, &c)
	if c.ClearWeight && c.Weight == nil {
		i.Weight = nil
	}
	switch {
	case c.StateEvent == "close" && i.State == StateOpened:
		at := db.At(now)
		i.State, i.ClosedAt, i.ClosedByID = StateClosed, &at, &as.UserID
	case c.StateEvent == "reopen" && i.State == StateClosed:
		i.State, i.ClosedAt, i.ClosedByID = StateOpened, nil, nil
	}
}

// assignable lists those of the users who may read the project's issues, each once.
func (s *Service) assignable(ctx context.Context, p *project.Project, ids []authz.UserID) ([]authz.UserID, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	ids = slices.DeleteFunc(ids, func(id authz.UserID) bool { return id <= 0 })
	if len(ids) == 0 {
		return nil, nil
	}
	if len(ids) > maxAssignees {
		var bad errs.Fields
		bad.Add("assignees", "total must be less than or equal to 200")
		return nil, bad.Err()
	}
	type row struct {
		ID       authz.UserID `db:"id"`
		Admin    bool         `db:"admin"`
		Auditor  bool         `db:"auditor"`
		External bool         `db:"external"`
	}
	var w db.Where
	w.And("state = 'active'")
	w.In("id", ids)
	rows, err := db.Select[row](ctx, s.DB, "SELECT id, admin, auditor, external FROM users"+w.SQL()+" ORDER BY id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read assignees: %w", err)
	}
	subject := p.Subject()
	subject.Known = false // the level is the actor's, not theirs
	out := make([]authz.UserID, 0, len(rows))
	for _, u := range rows {
		may, err := s.Policy.Can(ctx, authz.Actor{UserID: u.ID, Admin: u.Admin, Auditor: u.Auditor, External: u.External}, authz.ReadIssue, subject)
		if err != nil {
			return nil, err
		}
		if may {
			out = append(out, u.ID)
		}
	}
	return out, nil
}

// without lists what is in a and not in b.
func without(a, b []authz.UserID) []authz.UserID {
	return slices.DeleteFunc(slices.Clone(a), func(id authz.UserID) bool { return slices.Contains(b, id) })
}
