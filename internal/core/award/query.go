package award

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/noteable"
)

var columns = db.Columns[Award]("e")

func where(to noteable.Ref) db.Where {
	var w db.Where
	w.And("e.awardable_type = ? AND e.awardable_id = ?", to.Kind, to.ID)
	return w
}

// List returns a page of the reactions to a thing, the oldest first.
func (s *Service) List(ctx context.Context, as authz.Actor, to noteable.Target, r page.Range) (page.Page[Award], error) {
	if !to.Anonymous {
		if err := s.Policy.Require(ctx, as, authz.ReadNote, to.Subject); err != nil {
			return page.Page[Award]{}, err
		}
	}
	list, err := page.Select[Award](ctx, s.DB, page.Query{
		Columns: columns, From: "award_emoji e", Where: where(to.Ref), Order: page.Order{page.ID("e.id")},
	}, r)
	if err != nil {
		return list, fmt.Errorf("list awards: %w", err)
	}
	return list, nil
}

// Find returns one reaction to a thing.
func (s *Service) Find(ctx context.Context, as authz.Actor, to noteable.Target, id ID) (*Award, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadNote, to.Subject); err != nil {
		return nil, err
	}
	w := where(to.Ref)
	w.And("e.id = ?", id)
	a, err := db.Get[Award](ctx, s.DB, "SELECT "+columns+" FROM award_emoji e"+w.SQL(), w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find award: %w", err)
	}
	return &a, nil
}

// Remove takes a reaction back. That of another user is Unauthorized to all but
// administrators, as the API says.
func (s *Service) Remove(ctx context.Context, as authz.Actor, to noteable.Target, id ID) error {
	a, err := s.Find(ctx, as, to, id)
	if err != nil {
		return err
	}
	subject := to.Subject
	subject.Own, subject.Confidential = as.Is(a.UserID), false // it is seen already
	err = s.Policy.Require(ctx, as, authz.DeleteAwardEmoji, subject)
	if errs.Is(err, errs.Forbidden) && !subject.Own {
		return errs.New(errs.Unauthorized, "")
	}
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete[Award](ctx, s.DB, db.Row{Table: "award_emoji", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("")}, nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Removed{change.Deleted(as, s.Now(), place(&to), &was), to})
	})
	if err != nil {
		return fmt.Errorf("remove award: %w", err)
	}
	return nil
}
