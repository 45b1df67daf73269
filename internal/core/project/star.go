package project

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// Star marks a project as one the actor likes; NotModified where it is already.
func (s *Service) Star(ctx context.Context, as authz.Actor, ref string) (*Project, error) {
	return s.star(ctx, as, ref, 1)
}

// Unstar takes the mark away; NotModified where there is none.
func (s *Service) Unstar(ctx context.Context, as authz.Actor, ref string) (*Project, error) {
	return s.star(ctx, as, ref, -1)
}

// star adds one star of the actor, or takes it away.
func (s *Service) star(ctx context.Context, as authz.Actor, ref string, add int64) (*Project, error) {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.StarProject, p.Subject()); err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		var changed bool
		if add > 0 {
			star := db.Values{"project_id": p.ID, "user_id": as.UserID, "created_at": db.At(s.Now())}
			n, err := db.InsertRow(ctx, s.DB, "stars", star, "ON CONFLICT DO NOTHING")
			if err != nil {
				return fmt.Errorf("star project: %w", err)
			}
			changed = n > 0
		} else {
			star := db.Row{Table: "stars", Key: "project_id", ID: p.ID}
			star.And.And("user_id = ?", as.UserID)
			var err error
			if changed, err = db.Drop(ctx, s.DB, star); err != nil {
				return fmt.Errorf("unstar project: %w", err)
			}
		}
		if !changed {
			return errs.New(errs.NotModified, "")
		}
		if _, err := s.DB.Exec(ctx, "UPDATE projects SET star_count = star_count + ? WHERE id = ?", add, p.ID); err != nil {
			return fmt.Errorf("count stars: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.FindByID(ctx, as, p.ID)
}

// Starrer is a user who likes a project.
type Starrer struct {
	UserID authz.UserID `db:"user_id"`
	Since  db.Time      `db:"created_at"`
}

// Starrers lists who likes a project, but for people whose profile is closed to the
// actor, by user id; search is part of a name or username.
func (s *Service) Starrers(ctx context.Context, as authz.Actor, ref, search string, r page.Range) (page.Page[Starrer], error) {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return page.Page[Starrer]{}, err
	}
	var w db.Where
	w.And("s.project_id = ?", p.ID)
	w.Raw("u.state = 'active'")
	if !as.Admin && s.Settings.Current().MakeProfilePrivate {
		w.And("(NOT u.private_profile OR u.id = ?)", as.UserID)
	}
	if search != "" {
		pattern := "%" + db.LikePattern(db.Fold(search)) + "%"
		w.And(`(u.username_fold LIKE ? ESCAPE '\' OR u.name_fold LIKE ? ESCAPE '\')`, pattern, pattern)
	}
	list, err := page.Select[Starrer](ctx, s.DB, page.Query{
		Columns: "s.user_id, s.created_at", From: "stars s JOIN users u ON u.id = s.user_id", Where: w, Order: page.Order{page.ID("s.user_id")},
	}, r)
	if err != nil {
		return list, fmt.Errorf("list starrers: %w", err)
	}
	return list, nil
}
