package release

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
	"tenon/internal/core/weburl"
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
	Jobs        job.Enqueuer
	URLs        *weburl.Site
	Log         *slog.Logger
	Now         func() time.Time
}

// Service reads and changes releases. It is safe for concurrent use.
type Service struct {
	Deps

	making sync.Map // ID of each release whose tag is created in this process
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

// admitted reports whether the actor may read releases of the project.
func (s *Service) admitted(ctx context.Context, as authz.Actor, p *project.Project) (bool, error) {
	return Admits(ctx, s.Policy, as, p)
}

// Admits reports whether the actor may read releases of a project. What shows the tag requires ReadCode as well.
func Admits(ctx context.Context, policy *authz.Policy, as authz.Actor, p *project.Project) (bool, error) {
	return policy.Can(ctx, as, authz.ReadRelease, p.SubjectIn("releases"))
}

// require asks for an ability. Where the project keeps its releases from the actor it is Forbidden, also without a credential.
func (s *Service) require(ctx context.Context, as authz.Actor, p *project.Project, ability authz.Ability) error {
	if err := s.Policy.Require(ctx, as, ability, p.Subject()); err != nil {
		return err
	}
	may, err := s.admitted(ctx, as, p)
	if err == nil && !may {
		err = errs.Denied("")
	}
	return err
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
	w := s.inGroup(as, at)
	w.Raw(there)
	list, err := page.Select[Release](ctx, s.DB, page.Query{
		Columns: columns, From: "releases r JOIN projects p ON p.id = r.project_id JOIN namespaces n ON n.id = p.namespace_id", Where: w, Order: f.order(),
	}, f.Range)
	return list, errs.Wrap(err, "list releases of group")
}

// inGroup is the condition for projects (p, with their namespaces n) below a group whose releases the actor may see.
func (s *Service) inGroup(as authz.Actor, at authz.Place) db.Where {
	var w db.Where
	w.And("p.namespace_id IN "+namespace.InsideSQL, at.Namespace)
	visible, args := s.Policy.VisiblePlacesSQL(as, "n")
	w.And(visible, args...)
	w.Raw(`p.features NOT LIKE '%"releases":"disabled"%'`)
	if !as.Admin && !as.Auditor {
		reached, args := s.Policy.ReachSQL(as, authz.Guest)
		w.And(`(p.features NOT LIKE '%"releases":"private"%' OR p.namespace_id IN (`+db.Shared(reached)+"))", args...)
	}
	return w
}

// Count is how many releases a group has, and how many of its projects have any.
type Count struct {
	Releases int64 `db:"releases"`
	Projects int64 `db:"projects"` // all of them
	With     int64 `db:"released"` // those with releases
}

// CountOfGroup counts the releases of the projects below a group that the actor may see.
func (s *Service) CountOfGroup(ctx context.Context, as authz.Actor, at authz.Place) (*Count, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadGroupReleases, at.Subject); err != nil {
		return nil, err
	}
	w := s.inGroup(as, at)
	n, err := db.Get[Count](ctx, s.DB, `SELECT COUNT(*) AS projects, COALESCE(SUM(CASE WHEN x.n > 0 THEN 1 ELSE 0 END), 0) AS released, COALESCE(SUM(x.n), 0) AS releases FROM (
		SELECT (SELECT COUNT(*) FROM releases r WHERE r.project_id = p.id AND `+there+`) AS n FROM projects p JOIN namespaces n ON n.id = p.namespace_id`+w.SQL()+`) x`, w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("count releases of group: %w", err)
	}
	return &n, nil
}

// CodeMissing is the error of a call that reads a release that is not there.
const CodeMissing errs.Code = "release_missing"

// reading is the error of reading a release.
func reading(err error) error {
	if errs.Is(err, errs.NotFound) {
		return errs.Coded(errs.NotFound, CodeMissing, "")
	}
	return err
}

// Find returns the release of a tag, for those who may read the code of the project.
func (s *Service) Find(ctx context.Context, as authz.Actor, p *project.Project, tag string) (*Release, error) {
	if err := s.require(ctx, as, p, authz.ReadRelease); err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.ReadCode, p.Subject()); err != nil {
		return nil, err
	}
	r, err := s.find(ctx, p, tag)
	return r, reading(err)
}

func (s *Service) find(ctx context.Context, p *project.Project, tag string) (*Release, error) {
	return s.one(ctx, p, "r.tag_name = ? LIMIT 1", tag)
}

// one returns the first release of a project, of those whose tag is there.
func (s *Service) one(ctx context.Context, p *project.Project, cond string, args ...any) (*Release, error) {
	r, err := db.Get[Release](ctx, s.DB, "SELECT "+columns+" FROM releases r WHERE r.project_id = ? AND "+there+" AND "+cond, append([]any{p.ID}, args...)...)
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
	r, err := s.one(ctx, p, "r.released_at <= ? ORDER BY r.released_at DESC, r.id DESC LIMIT 1", db.At(s.Now()))
	return r, reading(err)
}

// row is a release of a project.
func (s *Service) row(as authz.Actor, id ID) db.Row {
	return db.Row{Table: "releases", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}
}
