// Package jobtoken keeps which projects let the jobs of other projects in. A job's token reaches its own project,
// what is public, and the projects that list its project, or a group above it, as far as its user may.
// authz.Policy asks the lists.
package jobtoken

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// maxAllowed is how many projects and groups a list holds.
const maxAllowed = 200

// Scope is the job token access settings of a project.
type Scope struct {
	Inbound  bool // only jobs of listed projects get in, not those of all; the instance may enforce it
	Outbound bool // its own jobs reach no other project
}

// ScopeChanged is published when a project opens itself to the jobs of all projects, or ends that.
type ScopeChanged struct {
	authz.Stamp

	Project project.Project
	Inbound bool
}

// Listing says what happened to an entry of a list: Name is the path of the project or group.
type Listing struct {
	authz.Stamp

	Project   project.Project // that lets in
	Namespace authz.NamespaceID
	Name      string
	Group     bool
}

// Allowed is published when a project lets the jobs of another one, or of a group, in.
type Allowed struct{ Listing }

// Disallowed is published when it does so no more.
type Disallowed struct{ Listing }

// Deps is what a Service is made of.
type Deps struct {
	DB         *db.DB
	Policy     *authz.Policy
	Bus        *event.Bus
	Projects   *project.Service
	Namespaces *namespace.Service
	Now        func() time.Time
}

// Service keeps the lists. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// Scope returns the settings of a project.
func (s *Service) Scope(ctx context.Context, as authz.Actor, p *project.Project) (Scope, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadJobTokenScope, p.Subject()); err != nil {
		return Scope{}, err
	}
	open, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM job_token_open o WHERE o.namespace_id = ?)", p.NamespaceID)
	if err != nil {
		return Scope{}, fmt.Errorf("job token scope: %w", err)
	}
	return Scope{Inbound: !open || s.Policy.CloseProjects != nil && s.Policy.CloseProjects(), Outbound: p.Settings().CIJobTokenScopeEnabled}, nil
}

// SetInbound says whether only jobs of listed projects get in.
func (s *Service) SetInbound(ctx context.Context, as authz.Actor, p *project.Project, inbound bool) error {
	if err := s.Policy.Require(ctx, as, authz.AdminJobTokenScope, p.Subject()); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		n, err := int64(0), error(nil)
		if inbound {
			n, err = s.DB.Exec(ctx, "DELETE FROM job_token_open WHERE namespace_id = ?", p.NamespaceID)
		} else {
			n, err = db.InsertRow(ctx, s.DB, "job_token_open", db.Values{"namespace_id": p.NamespaceID}, "ON CONFLICT DO NOTHING")
		}
		if err != nil || n == 0 {
			return err
		}
		return s.Bus.Publish(ctx, ScopeChanged{as.Stamp(s.Now()), *p, inbound})
	})
	return errs.Wrap(err, "set job token scope")
}

// Projects lists the projects whose jobs get in, by id, and that the actor may read: the project itself is one of them.
func (s *Service) Projects(ctx context.Context, as authz.Actor, p *project.Project, r page.Range) (page.Page[*project.Project], error) {
	none := page.Page[*project.Project]{}
	if err := s.Policy.Require(ctx, as, authz.ReadJobTokenScope, p.Subject()); err != nil {
		return none, err
	}
	var w db.Where
	w.And("NOT p.pending_delete AND (p.id = ? OR p.namespace_id IN (SELECT a.allowed_id FROM job_token_allowlist a WHERE a.namespace_id = ?))", p.ID, p.NamespaceID)
	seen, args := s.Policy.VisibleProjectsSQL(as, "n")
	w.And(seen, args...)
	type row struct {
		ID project.ID `db:"id"`
	}
	rows, err := page.Select[row](ctx, s.DB, page.Query{
		Columns: "p.id", From: "projects p JOIN namespaces n ON n.id = p.namespace_id", Where: w, Order: page.Order{page.ID("p.id")},
	}, r)
	if err != nil {
		return none, fmt.Errorf("list projects of job token allowlist: %w", err)
	}
	ids := make([]project.ID, len(rows.Items))
	for i, x := range rows.Items {
		ids[i] = x.ID
	}
	found, err := s.Deps.Projects.ByIDs(ctx, as, ids)
	if err != nil {
		return none, err
	}
	rows.Items = slices.DeleteFunc(rows.Items, func(x row) bool { return found[x.ID] == nil }) // deleted meanwhile
	return page.Map(rows, func(x *row) *project.Project { return found[x.ID] }), nil
}

// Groups lists the groups whose projects' jobs get in, by id, and that the actor may read.
func (s *Service) Groups(ctx context.Context, as authz.Actor, p *project.Project, r page.Range) (page.Page[namespace.Group], error) {
	none := page.Page[namespace.Group]{}
	if err := s.Policy.Require(ctx, as, authz.ReadJobTokenScope, p.Subject()); err != nil {
		return none, err
	}
	var w db.Where
	w.And("n.kind = 'group' AND n.id IN (SELECT a.allowed_id FROM job_token_allowlist a WHERE a.namespace_id = ?)", p.NamespaceID)
	seen, args := s.Policy.VisibleGroupsSQL(as, "n")
	w.And(seen, args...)
	type row struct {
		ID namespace.ID `db:"id"`
	}
	rows, err := page.Select[row](ctx, s.DB, page.Query{Columns: "n.id", From: "namespaces n", Where: w, Order: page.Order{page.ID("n.id")}}, r)
	if err != nil {
		return none, fmt.Errorf("list groups of job token allowlist: %w", err)
	}
	ids := make([]namespace.ID, len(rows.Items))
	for i, x := range rows.Items {
		ids[i] = x.ID
	}
	found, err := s.Namespaces.ByIDs(ctx, as, ids)
	if err != nil {
		return none, err
	}
	rows.Items = slices.DeleteFunc(rows.Items, func(x row) bool { return found[x.ID] == nil }) // deleted meanwhile
	return page.Map(rows, func(x *row) namespace.Group { return *found[x.ID] }), nil
}

// AllowProject lets the jobs of another project in, which the actor may read.
func (s *Service) AllowProject(ctx context.Context, as authz.Actor, p *project.Project, id project.ID) (*project.Project, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminJobTokenScope, p.Subject()); err != nil {
		return nil, err
	}
	other, err := s.Deps.Projects.FindByID(ctx, as, id)
	if err != nil {
		return nil, err
	}
	if other.ID == p.ID {
		return nil, alreadyIn()
	}
	return other, s.allow(ctx, as, s.listing(as, p, other.NamespaceID, other.FullPath, false))
}

// AllowGroup lets the jobs of all projects below a group in, which the actor may read.
func (s *Service) AllowGroup(ctx context.Context, as authz.Actor, p *project.Project, id namespace.ID) (*namespace.Group, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminJobTokenScope, p.Subject()); err != nil {
		return nil, err
	}
	g, err := s.Namespaces.FindByID(ctx, as, id)
	if err != nil {
		return nil, err
	}
	return g, s.allow(ctx, as, s.listing(as, p, g.ID, g.FullPath, true))
}

// DisallowProject ends what AllowProject began.
func (s *Service) DisallowProject(ctx context.Context, as authz.Actor, p *project.Project, id project.ID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminJobTokenScope, p.Subject()); err != nil {
		return err
	}
	other, err := s.Deps.Projects.FindByID(ctx, as, id)
	if err != nil {
		return err
	}
	return s.disallow(ctx, s.listing(as, p, other.NamespaceID, other.FullPath, false))
}

// DisallowGroup ends what AllowGroup began.
func (s *Service) DisallowGroup(ctx context.Context, as authz.Actor, p *project.Project, id namespace.ID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminJobTokenScope, p.Subject()); err != nil {
		return err
	}
	g, err := s.Namespaces.FindByID(ctx, as, id)
	if err != nil {
		return err
	}
	return s.disallow(ctx, s.listing(as, p, g.ID, g.FullPath, true))
}

func (s *Service) listing(as authz.Actor, p *project.Project, id authz.NamespaceID, name string, group bool) Listing {
	return Listing{Stamp: as.Stamp(s.Now()), Project: *p, Namespace: id, Name: name, Group: group}
}

func alreadyIn() error { return errs.Bad("Target is already in the job token allowlist") }

func (s *Service) allow(ctx context.Context, as authz.Actor, l Listing) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		full := errs.Bad(fmt.Sprintf("The job token allowlist of a project has at most %d entries", maxAllowed))
		most := db.Bound{Table: "job_token_allowlist", Most: maxAllowed, Full: full}
		most.Of.And("namespace_id = ?", l.Project.NamespaceID)
		row := struct {
			NamespaceID authz.NamespaceID `db:"namespace_id"`
			AllowedID   authz.NamespaceID `db:"allowed_id"`
			AddedBy     *authz.UserID     `db:"added_by"`
			CreatedAt   db.Time           `db:"created_at"`
		}{l.Project.NamespaceID, l.Namespace, &as.UserID, db.At(s.Now())}
		done, err := db.InsertRow(ctx, s.DB, "job_token_allowlist", &row, "ON CONFLICT DO NOTHING", most)
		if err != nil {
			return err
		}
		if done == 0 {
			return alreadyIn()
		}
		return s.Bus.Publish(ctx, Allowed{l})
	})
	return errs.Wrap(err, "add to job token allowlist")
}

func (s *Service) disallow(ctx context.Context, l Listing) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		n, err := s.DB.Exec(ctx, "DELETE FROM job_token_allowlist WHERE namespace_id = ? AND allowed_id = ?", l.Project.NamespaceID, l.Namespace)
		if err != nil {
			return err
		}
		if n == 0 {
			return errs.Missing("Target")
		}
		return s.Bus.Publish(ctx, Disallowed{l})
	})
	return errs.Wrap(err, "remove from job token allowlist")
}
