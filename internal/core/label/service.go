package label

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/noteable"
	"tenon/internal/core/weburl"
)

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Bus    *event.Bus
	Kinds  *noteable.Kinds
	Now    func() time.Time
	URLs   *weburl.Site
}

// Service reads and changes labels.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// List returns a page of the labels of a place by title.
func (s *Service) List(ctx context.Context, as authz.Actor, at authz.Place, f Filter) (page.Page[Label], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadLabel, at.Subject); err != nil {
		return page.Page[Label]{}, err
	}
	labels, err := s.list(ctx, as, at, f)
	if err == nil {
		err = s.prioritize(ctx, at, labels.Items)
	}
	if err != nil {
		return labels, fmt.Errorf("list labels: %w", err)
	}
	return labels, nil
}

// ByIDs returns those of the labels with these ids whose project or group the actor may
// read, in one statement. Long descriptions are cut.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Label, error) {
	out := make(map[ID]*Label, len(ids))
	may, err := s.Policy.Can(ctx, as, authz.ReadLabel, authz.Subject{})
	if err != nil || !may || len(ids) == 0 {
		return out, err
	}
	var w db.Where
	w.In("l.id", ids)
	place, args := s.Policy.VisiblePlacesSQL(as, "n")
	w.And(place, args...)
	labels, err := db.Select[Label](ctx, s.DB, "SELECT "+short+" FROM labels l JOIN namespaces n ON n.id = l.namespace_id"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("labels by id: %w", err)
	}
	for i := range labels {
		labels[i].Description = budget.CutAt(labels[i].Description)
		out[labels[i].ID] = &labels[i]
	}
	return out, nil
}

// Find returns the label that ref names by id or title, in the place or above it.
func (s *Service) Find(ctx context.Context, as authz.Actor, at authz.Place, ref string) (*Label, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadLabel, at.Subject); err != nil {
		return nil, err
	}
	l, err := s.find(ctx, at, ref, Filter{})
	if err != nil {
		return nil, err
	}
	found := []Label{*l}
	if err := s.prioritize(ctx, at, found); err != nil {
		return nil, err
	}
	return &found[0], nil
}

// FindByTitle returns the label with exactly a title, in the place or the nearest group above it.
func (s *Service) FindByTitle(ctx context.Context, as authz.Actor, at authz.Place, title string) (*Label, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadLabel, at.Subject); err != nil {
		return nil, err
	}
	return s.titled(ctx, at, title, Filter{})
}

// find looks a label up by id, then by title; among equal titles the nearest wins.
func (s *Service) find(ctx context.Context, at authz.Place, ref string, f Filter) (*Label, error) {
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil {
		l, err := s.one(ctx, at, f, "l.id = ?", ID(id))
		if err == nil || !errors.Is(err, db.ErrNotFound) {
			return l, wrap(err)
		}
	}
	return s.titled(ctx, at, ref, f)
}

func (s *Service) titled(ctx context.Context, at authz.Place, title string, f Filter) (*Label, error) {
	l, err := s.one(ctx, at, f, "l.title = ?", title)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Label")
	}
	return l, wrap(err)
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("find label: %w", err)
}

// Create makes a label. A title that the place or a group above it has already is a Conflict.
func (s *Service) Create(ctx context.Context, as authz.Actor, at authz.Place, in Input) (*Label, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminLabel, at.Subject); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	l := &Label{
		NamespaceID: at.Namespace, Title: strings.TrimSpace(in.Title), Description: in.Description,
		Color: hexColor(in.Color), Archived: in.Archived, CreatedAt: now, UpdatedAt: now,
	}
	if at.IsProject() {
		l.Priority = in.Priority
	}
	exists := errs.New(errs.Conflict, "Label already exists")
	switch _, err := s.one(ctx, at, Filter{}, "l.title = ?", l.Title); {
	case err == nil:
		return nil, exists
	case !errors.Is(err, db.ErrNotFound):
		return nil, wrap(err)
	}
	if err := l.validate(); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "labels", l); err != nil {
			return err
		}
		if err := s.setPriority(ctx, at, l); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), at, l)})
	})
	if db.Duplicate(err, "labels") {
		return nil, exists
	}
	if err != nil {
		return nil, fmt.Errorf("create label: %w", err)
	}
	return l, nil
}

// Update changes a label of the place itself; those of groups above are not found.
func (s *Service) Update(ctx context.Context, as authz.Actor, at authz.Place, ref string, c Changes) (*Label, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminLabel, at.Subject); err != nil {
		return nil, err
	}
	l, err := s.find(ctx, at, ref, Filter{OwnOnly: true})
	if err != nil {
		return nil, err
	}
	var out db.Change[Label]
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, db.Row{Table: "labels", ID: l.ID, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("Label")}, func(ctx context.Context, l *Label) error {
			c.apply(l)
			if err := l.validate(); err != nil {
				return err
			}
			return s.changePriority(ctx, at, l, c)
		})
		if err != nil || !out.Any() {
			return err
		}
		return s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), at, &out)})
	})
	switch {
	case db.Duplicate(err, "labels"):
		var bad errs.Fields
		bad.Add("title", "has already been taken")
		return nil, bad.Err()
	case err != nil:
		return nil, errs.Wrap(err, "update label")
	}
	return &out.After, nil
}

// Delete removes a label of the place itself from everything it is attached to.
func (s *Service) Delete(ctx context.Context, as authz.Actor, at authz.Place, ref string) error {
	if err := s.Policy.Require(ctx, as, authz.AdminLabel, at.Subject); err != nil {
		return err
	}
	l, err := s.find(ctx, at, ref, Filter{OwnOnly: true})
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete[Label](ctx, s.DB, db.Row{Table: "labels", ID: l.ID, If: as.UnmodifiedAt, Missing: errs.Missing("Label")}, nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), at, &was)})
	})
	return errs.Wrap(err, "delete label")
}

// apply writes the changes into a label.
func (c Changes) apply(l *Label) {
	if c.Title != nil {
		l.Title = strings.TrimSpace(*c.Title)
	}
	if c.Color != nil {
		l.Color = hexColor(*c.Color)
	}
	if c.Description != nil {
		l.Description = c.Description
	}
	if c.Archived != nil {
		l.Archived = *c.Archived
	}
}
