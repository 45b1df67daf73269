package release

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
)

// Deps is what a Service is made of.
type Deps struct {
	DB          *db.DB
	Policy      *authz.Policy
	Bus         *event.Bus
	Accounts    *account.Service
	Projects    *project.Service
	Protections *protection.Service
	Repos       *repo.Service
	Milestones  *milestone.Service
	Log         *slog.Logger
	Now         func() time.Time
}

// Service reads and changes releases. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

var columns = db.Columns[Release]("r")

// there is the condition for releases whose tag is there.
const there = "r.pending IS NULL"

// orders are the orders of a list.
var orders = page.Orders{
	"":           {page.Time("released_at", "r.released_at"), page.ID("r.id")},
	"created_at": {page.Time("created_at", "r.created_at"), page.ID("r.id")},
}

func (f Filter) order() page.Order {
	if f.Asc {
		return orders.By(f.OrderBy)
	}
	return orders.By(f.OrderBy).Desc()
}

// Forbidden where the project keeps its releases from the actor.
func (s *Service) admitted(ctx context.Context, as authz.Actor, p *project.Project) error {
	switch p.Access("releases") {
	case "disabled":
		return errs.Denied("")
	case "private":
		level, err := s.Policy.Level(ctx, as, p.Subject())
		if err != nil {
			return fmt.Errorf("level in project: %w", err)
		}
		if level < authz.Guest && !as.Admin && !as.Auditor {
			return errs.Denied("")
		}
	}
	return nil
}

func (s *Service) require(ctx context.Context, as authz.Actor, p *project.Project, ability authz.Ability) error {
	if err := s.Policy.Require(ctx, as, ability, p.Subject()); err != nil {
		return err
	}
	return s.admitted(ctx, as, p)
}

// List returns a page of the releases of a project, by the time of release.
func (s *Service) List(ctx context.Context, as authz.Actor, p *project.Project, f Filter) (page.Page[Release], error) {
	if err := s.require(ctx, as, p, authz.ReadRelease); err != nil {
		return page.Page[Release]{}, err
	}
	var w db.Where
	w.And("r.project_id = ?", p.ID)
	w.Raw(there)
	w.Since("r.updated_at", f.UpdatedAfter)
	w.Until("r.updated_at", f.UpdatedBefore)
	list, err := page.Select[Release](ctx, s.DB, page.Query{Columns: columns, From: "releases r", Where: w, Order: f.order()}, f.Range)
	return list, errs.Wrap(err, "list releases")
}

// ListOfGroup returns a page of the releases of the projects below a group that the actor may see.
func (s *Service) ListOfGroup(ctx context.Context, as authz.Actor, at authz.Place, f Filter) (page.Page[Release], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadGroupReleases, at.Subject); err != nil {
		return page.Page[Release]{}, err
	}
	var w db.Where
	w.And("p.namespace_id IN "+namespace.InsideSQL, at.Namespace)
	w.Raw(there)
	visible, args := s.Policy.VisiblePlacesSQL(as, "n")
	w.And(visible, args...)
	w.Raw(`p.features NOT LIKE '%"releases":"disabled"%'`)
	if !as.Admin && !as.Auditor {
		reached, args := s.Policy.ReachSQL(as, authz.Guest)
		w.And(`(p.features NOT LIKE '%"releases":"private"%' OR p.namespace_id IN (`+db.Shared(reached)+"))", args...)
	}
	list, err := page.Select[Release](ctx, s.DB, page.Query{
		Columns: columns, From: "releases r JOIN projects p ON p.id = r.project_id JOIN namespaces n ON n.id = p.namespace_id", Where: w, Order: f.order(),
	}, f.Range)
	return list, errs.Wrap(err, "list releases of group")
}

// Find returns the release of a tag, for those who may read the code of the project.
func (s *Service) Find(ctx context.Context, as authz.Actor, p *project.Project, tag string) (*Release, error) {
	if err := s.require(ctx, as, p, authz.ReadRelease); err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.ReadCode, p.Subject()); err != nil {
		return nil, err
	}
	return s.find(ctx, p, tag)
}

func (s *Service) find(ctx context.Context, p *project.Project, tag string) (*Release, error) {
	r, err := db.Get[Release](ctx, s.DB, "SELECT "+columns+" FROM releases r WHERE r.project_id = ? AND r.tag_name = ? AND "+there, p.ID, tag)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find release: %w", err)
	}
	return &r, nil
}

// Latest returns the release of a project that was released last, upcoming ones left out.
func (s *Service) Latest(ctx context.Context, as authz.Actor, p *project.Project) (*Release, error) {
	if err := s.require(ctx, as, p, authz.ReadRelease); err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.ReadCode, p.Subject()); err != nil {
		return nil, err
	}
	r, err := db.Get[Release](ctx, s.DB, "SELECT "+columns+" FROM releases r WHERE r.project_id = ? AND "+there+
		" AND r.released_at <= ? ORDER BY r.released_at DESC, r.id DESC LIMIT 1", p.ID, db.At(s.Now()))
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find latest release: %w", err)
	}
	return &r, nil
}

// row is a release of a project.
func (s *Service) row(as authz.Actor, id ID) db.Row {
	return db.Row{Table: "releases", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}
}
