package board

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// Deps is what a Service is made of.
type Deps struct {
	DB         *db.DB
	Policy     *authz.Policy
	Bus        *event.Bus
	Labels     *label.Service
	Milestones *milestone.Service
	Projects   *project.Service
	Groups     *namespace.Service
	Now        func() time.Time
}

// Service reads and changes boards.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// order is by name, whatever its case.
var order = page.Order{page.Text("name", "b.name_fold"), page.ID("b.id")}

// List returns a page of the boards of a place by name.
func (s *Service) List(ctx context.Context, as authz.Actor, at authz.Place, f Filter) (page.Page[Board], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadBoard, at.Subject); err != nil {
		return page.Page[Board]{}, err
	}
	var w db.Where
	w.And("b.namespace_id = ?", at.Namespace)
	list, err := page.Select[Board](ctx, s.DB, page.Query{Columns: db.Columns[Board]("b"), From: "boards b", Where: w, Order: order}, f.Range)
	if err == nil {
		err = s.fill(ctx, list.Items)
	}
	if err != nil {
		return list, errs.Wrap(err, "list boards")
	}
	return list, nil
}

// Find returns a board of the place itself.
func (s *Service) Find(ctx context.Context, as authz.Actor, at authz.Place, id ID) (*Board, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadBoard, at.Subject); err != nil {
		return nil, err
	}
	return s.find(ctx, at, id)
}

func (s *Service) find(ctx context.Context, at authz.Place, id ID) (*Board, error) {
	list, err := db.Select[Board](ctx, s.DB, "SELECT "+db.Columns[Board]("b")+" FROM boards b WHERE b.namespace_id = ? AND b.id = ?", at.Namespace, id)
	if err == nil {
		err = s.fill(ctx, list)
	}
	if err != nil {
		return nil, fmt.Errorf("find board: %w", err)
	}
	if len(list) == 0 {
		return nil, errs.Missing("")
	}
	return &list[0], nil
}

// fill reads the labels and lists of boards, one statement each.
func (s *Service) fill(ctx context.Context, boards []Board) error {
	if len(boards) == 0 {
		return nil
	}
	ids, byID := make([]ID, len(boards)), make(map[ID]*Board, len(boards))
	for i := range boards {
		ids[i], byID[boards[i].ID] = boards[i].ID, &boards[i]
		boards[i].Labels, boards[i].Lists = nil, nil
	}
	var w db.Where
	w.In("board_id", ids)
	type row struct {
		BoardID ID       `db:"board_id"`
		LabelID label.ID `db:"label_id"`
	}
	labels, err := db.Select[row](ctx, s.DB, "SELECT board_id, label_id FROM board_labels"+w.SQL()+" ORDER BY board_id, label_id", w.Args()...)
	if err != nil {
		return fmt.Errorf("labels of boards: %w", err)
	}
	for _, l := range labels {
		byID[l.BoardID].Labels = append(byID[l.BoardID].Labels, l.LabelID)
	}
	lists, err := db.Select[List](ctx, s.DB, "SELECT "+db.Columns[List]("")+" FROM board_lists"+w.SQL()+" ORDER BY position, id", w.Args()...)
	if err != nil {
		return fmt.Errorf("lists of boards: %w", err)
	}
	for _, l := range lists {
		b := byID[l.BoardID]
		l.Position = int64(len(b.Lists)) // what was deleted with its label leaves a gap
		b.Lists = append(b.Lists, l)
	}
	return nil
}

// Create makes a board; its name has to be among the changes to an empty one.
func (s *Service) Create(ctx context.Context, as authz.Actor, at authz.Place, c Changes) (*Board, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminBoard, at.Subject); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	b := &Board{NamespaceID: at.Namespace, CreatedAt: now, UpdatedAt: now}
	if err := s.apply(ctx, at, b, c); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		b.ID = 0
		if err := db.Create(ctx, s.DB, "boards", b, bound(at)); err != nil {
			return err
		}
		if c.Labels != nil {
			var err error
			if b.Labels, err = s.setLabels(ctx, at, b.ID, *c.Labels); err != nil {
				return err
			}
		}
		return s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), at, b)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "create board")
	}
	return b, nil
}

func bound(at authz.Place) db.Bound {
	b := db.Bound{Table: "boards", Most: maxBoards, Full: errs.Plain(fmt.Sprintf("boards are too many (maximum is %d)", maxBoards))}
	b.Of.And("namespace_id = ?", at.Namespace)
	return b
}

// Update changes a board of the place itself.
func (s *Service) Update(ctx context.Context, as authz.Actor, at authz.Place, id ID, c Changes) (*Board, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminBoard, at.Subject); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var labels []label.ID // before
		out, err := db.Update(ctx, s.DB, s.row(at, id).Provided(as.UnmodifiedAt), func(ctx context.Context, b *Board) error {
			err := s.apply(ctx, at, b, c)
			if err != nil || c.Labels == nil {
				return err
			}
			if labels, err = db.Select[label.ID](ctx, s.DB, "SELECT label_id FROM board_labels WHERE board_id = ? ORDER BY label_id", id); err != nil {
				return fmt.Errorf("labels of board: %w", err)
			}
			b.Labels, err = s.setLabels(ctx, at, id, *c.Labels)
			return err
		})
		if err != nil {
			return err
		}
		if out.Before.Labels = labels; !out.Any() && slices.Equal(labels, out.After.Labels) {
			return nil
		}
		return s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), at, &out)})
	})
	if err != nil {
		return nil, missing(err, "update board")
	}
	return s.find(ctx, at, id)
}

// missing turns the absence of a row into the error for clients.
func missing(err error, doing string) error {
	if errors.Is(err, db.ErrNotFound) {
		return errs.Missing("")
	}
	return errs.Wrap(err, doing)
}

// apply writes the changes of columns into b.
func (s *Service) apply(ctx context.Context, at authz.Place, b *Board, c Changes) error {
	if c.Name != nil {
		b.Name = *c.Name
	}
	if c.HideBacklogList != nil {
		b.HideBacklogList = *c.HideBacklogList
	}
	if c.HideClosedList != nil {
		b.HideClosedList = *c.HideClosedList
	}
	if c.MilestoneID != nil {
		ok, err := namespace.Inherits(ctx, s.DB, at.Namespace, "milestones", int64(*c.MilestoneID))
		if err != nil {
			return err
		}
		if b.MilestoneID = nil; ok {
			b.MilestoneID = c.MilestoneID
		}
	}
	if c.AssigneeID != nil {
		ok, err := s.reads(ctx, at, *c.AssigneeID)
		if err != nil {
			return err
		}
		if b.AssigneeID = nil; ok {
			b.AssigneeID = c.AssigneeID
		}
	}
	if c.Weight != nil || c.ClearWeight {
		b.Weight = c.Weight
	}
	return b.check()
}

// setLabels replaces the labels of a board, named by their titles, and returns their ids in order.
func (s *Service) setLabels(ctx context.Context, at authz.Place, id ID, titles []string) ([]label.ID, error) {
	labels, err := s.Labels.ByNames(ctx, at, titles)
	if err != nil {
		return nil, err
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM board_labels WHERE board_id = ?", id); err != nil {
		return nil, fmt.Errorf("labels of board: %w", err)
	}
	var out []label.ID
	for _, l := range labels {
		if _, err := db.InsertRow(ctx, s.DB, "board_labels", db.Values{"board_id": id, "label_id": l.ID}, ""); err != nil {
			return nil, fmt.Errorf("labels of board: %w", err)
		}
		out = append(out, l.ID)
	}
	slices.Sort(out)
	return out, nil
}

// reads reports whether a user is active and sees the place.
func (s *Service) reads(ctx context.Context, at authz.Place, id authz.UserID) (bool, error) {
	type user struct {
		Admin    bool `db:"admin"`
		Auditor  bool `db:"auditor"`
		External bool `db:"external"`
	}
	u, err := db.Get[user](ctx, s.DB, "SELECT admin, auditor, external FROM users WHERE id = ? AND state = 'active'", id)
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("user of board: %w", err)
	}
	subject := at.Subject
	subject.Known = false // the level is the actor's, not theirs
	return s.Policy.Can(ctx, authz.Actor{UserID: id, Admin: u.Admin, Auditor: u.Auditor, External: u.External}, authz.ReadBoard, subject)
}

// Delete removes a board of the place itself with its lists.
func (s *Service) Delete(ctx context.Context, as authz.Actor, at authz.Place, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminBoard, at.Subject); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		b, err := db.Delete[Board](ctx, s.DB, s.row(at, id).Provided(as.UnmodifiedAt), nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), at, &b)})
	})
	return missing(err, "delete board")
}

// locked reads a board of a place itself and locks it until the transaction ends.
func (s *Service) locked(ctx context.Context, at authz.Place, id ID) (Board, error) {
	return db.ForUpdate[Board](ctx, s.DB, s.row(at, id))
}

// row is a board of a place.
func (s *Service) row(at authz.Place, id ID) db.Row {
	r := db.Row{Table: "boards", ID: id, Now: s.Now}
	r.And.And("namespace_id = ?", at.Namespace)
	return r
}
