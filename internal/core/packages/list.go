package packages

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Filter selects from packages.
type Filter struct {
	Kind        Kind    // "" is any
	Name        string  // in the name; "" is any
	Version     *string // exactly
	Versionless bool    // and those without a version
	Status      Status  // "" are default, deprecated and error
	Direct      bool    // of a group: not of the groups below it
	OrderBy     string  // created_at, name, version, type or project_path; "" is created_at
	Desc        bool
	page.Range
}

var orders = page.Orders{
	"":             {page.Time("created_at", "k.created_at"), page.ID("k.id")},
	"name":         {page.Text("name", "k.name"), page.ID("k.id")},
	"version":      {page.Text("version", "k.version").Null(), page.ID("k.id")},
	"type":         {page.Text("type", "k.kind"), page.ID("k.id")},
	"project_path": {page.Text("project_path", "r.path_fold"), page.ID("k.id")},
}

func (f *Filter) where(w *db.Where) {
	if f.Kind != "" {
		w.And("k.kind = ?", f.Kind)
	}
	if f.Name != "" {
		w.And(`k.name_fold LIKE ? ESCAPE '\'`, "%"+db.LikePattern(db.Fold(f.Name))+"%")
	}
	if f.Version != nil {
		w.And("k.version = ?", *f.Version)
	}
	if !f.Versionless {
		w.Raw("k.version IS NOT NULL")
	}
	if f.Status != "" {
		w.And("k.status = ?", f.Status)
	} else {
		w.In("k.status", []Status{Default, Deprecated, Failed})
	}
}

func (f *Filter) order() page.Order {
	order := orders.By(f.OrderBy)
	if f.Desc {
		return order.Desc()
	}
	return order
}

// List returns a page of the packages of a project.
func (s *Service) List(ctx context.Context, as authz.Actor, p *project.Project, f Filter) (page.Page[Package], error) {
	if err := s.MayRead(ctx, as, p.Place()); err != nil {
		return page.Page[Package]{}, err
	}
	var w db.Where
	w.And("k.project_id = ?", p.ID)
	f.where(&w)
	if f.OrderBy == "project_path" {
		f.OrderBy = ""
	}
	list, err := page.Select[Package](ctx, s.DB, page.Query{Columns: packageColumns, From: "packages k", Where: w, Order: f.order()}, f.Range)
	return list, errs.Wrap(err, "list packages")
}

// ListOfGroup returns a page of the packages of the projects below a group, of those that the actor sees and whose packages it may read. Private
// projects with a public registry show theirs to members alone.
func (s *Service) ListOfGroup(ctx context.Context, as authz.Actor, at authz.Place, f Filter) (page.Page[Package], error) {
	if err := s.MayRead(ctx, as, at); err != nil {
		return page.Page[Package]{}, err
	}
	w := s.belowSQL(as, at, f.Direct)
	f.where(&w)
	list, err := page.Select[Package](ctx, s.DB, page.Query{
		Columns: packageColumns, From: "packages k JOIN projects p ON p.id = k.project_id JOIN namespaces n ON n.id = p.namespace_id JOIN routes r ON r.namespace_id = n.id",
		Where: w, Order: f.order(),
	}, f.Range)
	return list, errs.Wrap(err, "list packages of group")
}

// Versions returns a page of the other versions of a package that was read for the caller, the newest first.
func (s *Service) Versions(ctx context.Context, k *Package, r page.Range) (page.Page[Package], error) {
	var w db.Where
	w.And("k.project_id = ?", k.ProjectID)
	w.And("k.kind = ?", k.Kind)
	w.And("k.name = ?", k.Name)
	w.And("k.id <> ?", k.ID)
	w.In("k.status", Installable())
	w.Raw("k.version IS NOT NULL")
	list, err := page.Select[Package](ctx, s.DB, page.Query{Columns: packageColumns, From: "packages k", Where: w, Order: page.Order{page.ID("k.id")}.Desc()}, r)
	return list, errs.Wrap(err, "list versions of package")
}
