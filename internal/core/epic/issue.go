package epic

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// LinkID identifies an issue in an epic.
type LinkID int64

// Member is an issue in an epic.
type Member struct {
	ID    LinkID
	Epic  *Epic
	Issue *issue.Issue
}

// memberRow is an issue in an epic as it is stored.
type memberRow struct {
	ID        LinkID   `db:"id"`
	EpicID    ID       `db:"epic_id"`
	IssueID   issue.ID `db:"issue_id"`
	Position  int64    `db:"relative_position"`
	CreatedAt db.Time  `db:"created_at"`
	UpdatedAt db.Time  `db:"updated_at"`
}

// members is the sequence of an epic's issues.
func members(of ID) sequence { return sequence{table: "epic_issues", epic: "epic_id", id: of} }

// Subscribe registers what happens with epics when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "epics of moved issues", func(ctx context.Context, e issue.Moved) error {
		if _, err := s.DB.Exec(ctx, "UPDATE epic_issues SET issue_id = ? WHERE issue_id = ?", e.To.ID, e.Row().ID); err != nil {
			return fmt.Errorf("epic of moved issue: %w", err)
		}
		return nil
	})
}

// Issues returns a page of the issues of an epic that the actor may read, in the order that users
// chose.
func (s *Service) Issues(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, r page.Range) (page.Page[issue.Issue], error) {
	list, err := s.Deps.Issues.InEpic(ctx, as, g.Subject(), int64(iid), r)
	if err == nil && len(list.Items) == 0 {
		_, err = s.bare(ctx, as, g, iid)
	}
	return list, err
}

// AddIssue puts an issue with an id, of any project, into an epic, also if it was in another one. It
// requires LinkEpic and LinkIssue.
func (s *Service) AddIssue(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, id issue.ID) (*Member, error) {
	e, err := s.linkable(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	i, p, err := s.linkableIssue(ctx, as, id)
	if err != nil {
		return nil, err
	}
	if i.Epic != nil && i.Epic.ID == int64(e.ID) {
		return nil, errs.New(errs.Conflict, "Issue(s) already assigned")
	}
	if err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.include(ctx, as, e, i, p) }); err != nil {
		return nil, errs.Wrap(err, "add issue to epic")
	}
	return s.member(ctx, as, g, iid, id)
}

// member reads an issue in an epic after a change.
func (s *Service) member(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, id issue.ID) (*Member, error) {
	e, err := s.Find(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	found, err := s.Deps.Issues.ByIDs(ctx, as, []issue.ID{id})
	if err != nil {
		return nil, err
	}
	i := found[id]
	if i == nil || i.Epic == nil {
		return nil, errs.Missing("")
	}
	return &Member{ID: LinkID(i.Epic.LinkID), Epic: e, Issue: i}, nil
}

// linkableIssue finds an issue by its id for an actor who may link it.
func (s *Service) linkableIssue(ctx context.Context, as authz.Actor, id issue.ID) (*issue.Issue, *project.Project, error) {
	found, err := s.Deps.Issues.ByIDs(ctx, as, []issue.ID{id})
	if err != nil {
		return nil, nil, err
	}
	i := found[id]
	if i == nil {
		return nil, nil, errs.Missing("")
	}
	p, err := s.Projects.FindByID(ctx, as, i.ProjectID)
	if err != nil {
		return nil, nil, err
	}
	return i, p, s.requireIssue(ctx, as, id)
}

// requireIssue asks for permission to link an issue that the actor reads.
func (s *Service) requireIssue(ctx context.Context, as authz.Actor, id issue.ID) error {
	ref := noteable.Ref{Kind: noteable.Issue, ID: int64(id)}
	subjects, err := s.Deps.Issues.Subjects(ctx, as, []noteable.Ref{ref})
	if err != nil {
		return err
	}
	subject, ok := subjects[ref]
	if !ok {
		return errs.Missing("")
	}
	return s.Policy.Require(ctx, as, authz.LinkIssue, subject)
}

// include puts an issue into an epic in the caller's transaction.
func (s *Service) include(ctx context.Context, as authz.Actor, e *Epic, i *issue.Issue, p *project.Project) error {
	if err := s.exclude(ctx, as.Unconditional(), i, p); err != nil {
		return err
	}
	now := db.At(s.Now())
	at, err := s.first(ctx, members(e.ID))
	if err != nil {
		return err
	}
	row := memberRow{EpicID: e.ID, IssueID: i.ID, Position: at, CreatedAt: now, UpdatedAt: now}
	err = db.Create(ctx, s.DB, "epic_issues", &row)
	if db.Duplicate(err, "epic_issues") {
		return errs.New(errs.Conflict, "Issue(s) already assigned")
	}
	if err != nil {
		return err
	}
	i.Epic = &issue.Epic{ID: int64(e.ID), IID: int64(e.IID), GroupID: e.GroupID, Path: e.Path, Title: e.Title, LinkID: int64(row.ID), Position: at}
	return s.Bus.Publish(ctx, IssueAdded{Stamp: as.Stamp(now.Time), Epic: *e, Issue: *i, Project: p})
}

// exclude takes an issue out of the epic that it is in, if there is one, in the caller's
// transaction.
func (s *Service) exclude(ctx context.Context, as authz.Actor, i *issue.Issue, p *project.Project) error {
	former, err := db.Get[Epic](ctx, s.DB, "SELECT "+columns+" FROM "+tables+" WHERE e.id = (SELECT ei.epic_id FROM epic_issues ei WHERE ei.issue_id = ?)", i.ID)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	row := db.Row{Table: "epic_issues", Key: "issue_id", ID: i.ID, If: as.UnmodifiedAt}
	if _, err := db.Delete[memberRow](ctx, s.DB, row, nil); err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	i.Epic = nil
	return s.Bus.Publish(ctx, IssueRemoved{Stamp: as.Stamp(s.Now()), Epic: former, Issue: *i, Project: p})
}

// Assign is the issue.Epics of this package. It requires LinkEpic.
func (s *Service) Assign(ctx context.Context, as authz.Actor, p *project.Project, i *issue.Issue, to issue.EpicChoice) error {
	if to == (issue.EpicChoice{}) {
		if i.Epic == nil { // or in one that the actor may not read
			return nil
		}
		if _, _, err := s.anywhere(ctx, as, ID(i.Epic.ID)); err != nil {
			return err
		}
		return s.exclude(ctx, as, i, p)
	}
	id := ID(to.ID)
	if id == 0 {
		var err error
		id, err = db.Get[ID](ctx, s.DB, "SELECT id FROM epics WHERE group_id = ? AND iid = ?", p.ParentID, to.IID)
		if errors.Is(err, db.ErrNotFound) {
			return errs.Missing("Epic")
		}
		if err != nil {
			return fmt.Errorf("epic of issue: %w", err)
		}
	}
	e, _, err := s.anywhere(ctx, as, id)
	if err != nil || i.Epic != nil && i.Epic.ID == int64(e.ID) {
		return err
	}
	return s.include(ctx, as, e, i, p)
}

// memberOf finds an issue in an epic that the actor may read.
func (s *Service) memberOf(ctx context.Context, as authz.Actor, e *Epic, id LinkID) (memberRow, *issue.Issue, error) {
	row, err := db.Get[memberRow](ctx, s.DB, "SELECT "+db.Columns[memberRow]("ei")+" FROM epic_issues ei WHERE ei.id = ? AND ei.epic_id = ?", id, e.ID)
	if errors.Is(err, db.ErrNotFound) {
		return row, nil, errs.Missing("")
	}
	if err != nil {
		return row, nil, fmt.Errorf("find issue of epic: %w", err)
	}
	found, err := s.Deps.Issues.ByIDs(ctx, as, []issue.ID{row.IssueID})
	if err == nil && found[row.IssueID] == nil {
		err = errs.Missing("")
	}
	return row, found[row.IssueID], err
}

// RemoveIssue takes an issue out of an epic. It requires LinkEpic and LinkIssue.
func (s *Service) RemoveIssue(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, id LinkID) (*Member, error) {
	e, err := s.linkable(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	row, _, err := s.memberOf(ctx, as, e, id)
	if err != nil {
		return nil, err
	}
	i, p, err := s.linkableIssue(ctx, as, row.IssueID)
	if err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		return s.exclude(ctx, as, i, p)
	})
	if err != nil {
		return nil, errs.Wrap(err, "remove issue from epic")
	}
	if e, err = s.Find(ctx, as, g, iid); err != nil {
		return nil, err
	}
	return &Member{ID: id, Epic: e, Issue: i}, nil
}

// ReorderIssue puts an issue of an epic beside others. It requires LinkEpic, and returns NotFound where
// the others are not in the epic or the actor may not read them.
func (s *Service) ReorderIssue(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, id LinkID, at Beside[LinkID]) error {
	e, err := s.linkable(ctx, as, g, iid)
	if err != nil {
		return err
	}
	for _, link := range []LinkID{id, at.Before, at.After} {
		if link == 0 {
			continue
		}
		if _, _, err := s.memberOf(ctx, as, e, link); err != nil {
			return err
		}
	}
	_, err = db.Update(ctx, s.DB, db.Row{Table: "epic_issues", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}, func(ctx context.Context, r *memberRow) (err error) {
		r.Position, err = s.between(ctx, members(e.ID), int64(id), int64(at.Before), int64(at.After))
		return err
	})
	return errs.Wrap(err, "reorder issue of epic")
}
