package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// Filter selects from a list of runners; the zero value selects all.
type Filter struct {
	Type    Type
	Status  string // one of Status, or active or paused
	Scope   string // deprecated: active, paused, online, offline; of all runners also shared and specific
	Paused  *bool
	Tags    []string // that a runner has all of
	Version string   // that the version begins with
	Search  string   // a part of the description, in any case
	Members Membership
	Details bool // only runners whose details the actor may read

	OrderBy string // created_at, contacted_at or token_expires_at; "" is by id
	Desc    bool
	page.Range
}

// Membership says which runners a group lists; "" is those that serve it.
type Membership string

// The memberships.
const (
	Direct      Membership = "direct"      // of the group itself
	Descendants Membership = "descendants" // of the group, the groups below it and their projects
)

var orders = page.Orders{
	"":                 {page.ID("r.id")},
	"created_at":       {page.Time("created_at", "r.created_at"), page.ID("r.id")},
	"contacted_at":     {page.Time("contacted_at", "r.contacted_at").Null(), page.ID("r.id")},
	"token_expires_at": {page.Time("token_expires_at", "r.token_expires_at").Null(), page.ID("r.id")},
}

func (f *Filter) order() page.Order {
	if f.Desc {
		return orders.By(f.OrderBy).Desc()
	}
	return orders.By(f.OrderBy)
}

// maxFilterTags bounds what one list is asked about.
const maxFilterTags = 50

func (s *Service) where(as authz.Actor, f Filter, scopes ...string) (db.Where, error) {
	var w db.Where
	if f.Scope != "" && !slices.Contains(append(scopes, "active", "paused", "online", "offline"), f.Scope) {
		return w, errs.Plain("Scope contains invalid value")
	}
	if f.Type != "" {
		w.And("r.runner_type = ?", f.Type)
	}
	if f.Paused != nil {
		w.And("r.paused = ?", *f.Paused)
	}
	if f.Version != "" {
		w.And(`r.version LIKE ? ESCAPE '\'`, db.LikePattern(f.Version)+"%")
	}
	if f.Search != "" {
		w.And(`LOWER(COALESCE(r.description, '')) LIKE ? ESCAPE '\'`, "%"+db.LikePattern(strings.ToLower(f.Search))+"%")
	}
	if f.Details {
		cond, args := s.readableSQL(as)
		w.And(cond, args...)
	}
	tags := cleanTags(f.Tags)
	if len(tags) > maxFilterTags {
		return w, errs.Bad(fmt.Sprintf("tag_list has too many tags (maximum is %d)", maxFilterTags))
	}
	for _, tag := range tags {
		w.And("EXISTS (SELECT 1 FROM runner_tags t WHERE t.runner_id = r.id AND t.name = ?)", tag)
	}
	for _, state := range []string{f.Status, f.Scope} {
		s.state(&w, state)
	}
	return w, nil
}

// state adds the condition for one word of status or scope.
func (s *Service) state(w *db.Where, state string) {
	now := s.Now()
	stale := db.At(staleBefore(now))
	switch state {
	case "active":
		w.Raw("NOT r.paused")
	case "paused":
		w.Raw("r.paused")
	case string(Online):
		w.And("r.contacted_at > ?", db.At(now.Add(-onlineFor)))
	case string(Offline):
		w.And("r.contacted_at <= ?", db.At(now.Add(-onlineFor)))
	case string(Stale):
		w.And("r.created_at < ? AND (r.contacted_at IS NULL OR r.contacted_at < ?)", stale, stale)
	case string(NeverContacted):
		w.Raw("r.contacted_at IS NULL")
	case "shared":
		w.And("r.runner_type = ?", InstanceType)
	case "specific":
		w.And("r.runner_type <> ?", InstanceType)
	}
}

func (s *Service) list(ctx context.Context, w db.Where, f Filter) (page.Page[Runner], error) {
	list, err := page.Select[Runner](ctx, s.DB, page.Query{Columns: columns, From: "runners r", Where: w, Order: f.order()}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list runners: %w", err)
	}
	for i := range list.Items {
		s.refresh(&list.Items[i])
	}
	return list, nil
}

// List returns the runners of the groups that the actor owns and of the projects that it
// maintains, by id.
func (s *Service) List(ctx context.Context, as authz.Actor, f Filter) (page.Page[Runner], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadRunner, authz.Subject{}); err != nil {
		return page.Page[Runner]{}, err
	}
	w, err := s.where(as, f)
	if err != nil {
		return page.Page[Runner]{}, err
	}
	cond, args := s.ownedSQL(as, authz.Owner)
	w.And(cond, args...)
	return s.list(ctx, w, f)
}

// ListAll returns all runners by id. Only administrators may.
func (s *Service) ListAll(ctx context.Context, as authz.Actor, f Filter) (page.Page[Runner], error) {
	if err := s.Policy.Require(ctx, as, authz.ListAllRunners, authz.Subject{}); err != nil {
		return page.Page[Runner]{}, err
	}
	w, err := s.where(as, f, "shared", "specific")
	if err != nil {
		return page.Page[Runner]{}, err
	}
	return s.list(ctx, w, f)
}

// ListOf lists the runners of a group or project by id: those that serve the project, or those of the group, of the groups above
// it, and of the instance where the group takes them.
func (s *Service) ListOf(ctx context.Context, as authz.Actor, at authz.Place, f Filter) (page.Page[Runner], error) {
	if at.Group {
		return s.listOfGroup(ctx, as, namespace.Of(at), f)
	}
	return s.listOfProject(ctx, as, project.Of(at), f)
}

func (s *Service) listOfProject(ctx context.Context, as authz.Actor, p *project.Project, f Filter) (page.Page[Runner], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadProjectRunners, p.Subject()); err != nil {
		return page.Page[Runner]{}, err
	}
	w, err := s.where(as, f, "shared", "specific")
	if err != nil {
		return page.Page[Runner]{}, err
	}
	w.And("("+servedBySQL+")", p.ID, p.ID, p.ID)
	return s.list(ctx, w, f)
}

func (s *Service) listOfGroup(ctx context.Context, as authz.Actor, g *namespace.Group, f Filter) (page.Page[Runner], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadGroupRunners, g.Subject()); err != nil {
		return page.Page[Runner]{}, err
	}
	w, err := s.where(as, f)
	if err != nil {
		return page.Page[Runner]{}, err
	}
	switch f.Members {
	case Direct:
		w.And("r.namespace_id = ?", g.ID)
	case Descendants:
		w.And("(r.namespace_id IN (SELECT a.namespace_id FROM namespace_ancestors a WHERE a.ancestor_id = ?) OR EXISTS (SELECT 1 FROM runner_projects x"+
			" JOIN projects p ON p.id = x.project_id JOIN namespace_ancestors a ON a.namespace_id = p.namespace_id"+
			" WHERE x.runner_id = r.id AND NOT p.pending_delete AND a.ancestor_id = ?))", g.ID, g.ID)
	default:
		of := "r.namespace_id IN " + namespace.AboveSQL
		if g.SharedRunners() {
			of = "(r.runner_type = 'instance_type' OR " + of + ")"
		}
		w.And(of, g.ID)
	}
	return s.list(ctx, w, f)
}

// Managers returns the machines that use a runner, the last one first.
func (s *Service) Managers(ctx context.Context, as authz.Actor, id ID, r page.Range) (page.Page[Manager], error) {
	if _, err := s.Find(ctx, as, id); err != nil {
		return page.Page[Manager]{}, err
	}
	var w db.Where
	w.And("m.runner_id = ?", id)
	list, err := page.Select[Manager](ctx, s.DB, page.Query{
		Columns: db.Columns[Manager]("m"), From: "runner_managers m", Where: w, Order: page.Order{page.ID("m.id").Desc()},
	}, r)
	if err != nil {
		return list, fmt.Errorf("list runner managers: %w", err)
	}
	for i := range list.Items {
		s.refreshManager(&list.Items[i])
	}
	return list, nil
}

// refreshManager puts in the last contact of a machine where it is not written down yet.
func (s *Service) refreshManager(m *Manager) {
	if at, ok := s.machines.Last(m.ID); ok {
		m.ContactedAt = db.At(at)
	}
}

// View is a runner with what its reader may see of it.
type View struct {
	Runner
	MayUpdate bool
	Note      *string            // the maintenance note, for those who may update the runner
	Projects  []*project.Project // that a project runner serves, as far as the actor belongs to them
	Group     *namespace.Group   // of a group runner, where the actor may read it
}

// maxShown is how many projects a view of a runner names.
const maxShown = 1000

// View returns what the actor may see of a runner that it found.
func (s *Service) View(ctx context.Context, as authz.Actor, r *Runner) (*View, error) {
	v := &View{Runner: *r, Projects: []*project.Project{}}
	v.Digest, v.MaintenanceNote = "", nil
	var err error
	if v.MayUpdate, err = s.mayUpdate(ctx, as, r.ID); err != nil {
		return nil, err
	}
	if v.MayUpdate {
		v.Note = r.MaintenanceNote
	}
	switch r.Type {
	case ProjectType:
		ids, err := s.projectsOf(ctx, as, r.ID)
		if err != nil {
			return nil, err
		}
		all, err := s.Deps.Projects.ByIDs(ctx, as, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if p := all[id]; p != nil {
				v.Projects = append(v.Projects, p)
			}
		}
	case GroupType:
		groups, err := s.Namespaces.ByIDs(ctx, as, []authz.NamespaceID{*r.NamespaceID})
		if err != nil {
			return nil, err
		}
		v.Group = groups[*r.NamespaceID]
	}
	return v, nil
}

// projectsOf returns the projects of a runner that the actor belongs to; administrators get all.
func (s *Service) projectsOf(ctx context.Context, as authz.Actor, id ID) ([]project.ID, error) {
	var w db.Where
	w.And("x.runner_id = ?", id)
	w.Raw("NOT p.pending_delete")
	if !as.Admin {
		reached, args := s.Policy.ReachSQL(as, authz.Guest)
		w.And("p.namespace_id IN ("+reached+")", args...)
	}
	ids, err := db.Select[project.ID](ctx, s.DB, "SELECT p.id FROM runner_projects x JOIN projects p ON p.id = x.project_id"+w.SQL()+
		" ORDER BY x.id LIMIT ?", append(w.Args(), maxShown)...)
	if err != nil {
		return nil, fmt.Errorf("projects of runner: %w", err)
	}
	return ids, nil
}

// Projects returns the projects of a runner that the actor belongs to, in the order in which it
// was assigned to them; administrators get all.
func (s *Service) Projects(ctx context.Context, as authz.Actor, id ID, r page.Range) (page.Page[*project.Project], error) {
	none := page.Page[*project.Project]{}
	if _, err := s.Find(ctx, as, id); err != nil {
		return none, err
	}
	var w db.Where
	w.And("x.runner_id = ?", id)
	w.Raw("NOT p.pending_delete")
	if !as.Admin {
		reached, args := s.Policy.ReachSQL(as, authz.Guest)
		w.And("p.namespace_id IN ("+reached+")", args...)
	}
	ids, err := page.Select[project.ID](ctx, s.DB, page.Query{
		Columns: "p.id", From: "runner_projects x JOIN projects p ON p.id = x.project_id", Where: w, Order: page.Order{page.ID("x.id")},
	}, r)
	if err != nil {
		return none, fmt.Errorf("list projects of runner: %w", err)
	}
	all, err := s.Deps.Projects.ByIDs(ctx, as, ids.Items)
	if err != nil {
		return none, err
	}
	list := page.Map(ids, func(id *project.ID) *project.Project { return all[*id] })
	return page.Without(list, func(p **project.Project) bool { return *p == nil }), nil
}
