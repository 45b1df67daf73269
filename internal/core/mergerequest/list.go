package mergerequest

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// Filter selects merge requests of a list; the zero value selects all.
type Filter struct {
	DirectOnly   bool  // of a group: leave out what is in its subgroups
	State        State // "" for all
	IIDs         []IID
	CreatedByMe  bool
	AssignedToMe bool
	ReviewsForMe bool
	Author       filter.Person
	Assignee     filter.Person
	Reviewer     filter.Person
	MergeUser    filter.Person
	Deployed     Deployed
	ApprovedBy   []filter.Person // all of them, the first five
	Approvers    []filter.Person // named by rules: all of them, the first five
	Issue        int64           // only those that name the issue with this id; 0 for all
	Closing      bool            // of these, only those that close it
	Labels       []string        // all of them; AnyLabel and NoLabel are words of their own
	Milestone    filter.Milestone

	Selection
	filter.Times
	SourceBranches, TargetBranches []string // one of these; nil for all

	In           []string // where to search: title, description; empty means both
	Draft        *bool
	MergedAfter  *time.Time
	MergedBefore *time.Time
	Or           filter.Or
	Approved     *bool // whether somebody approved the head
	Not          Exclusion
	NonArchived  bool   // leave out archived projects
	OrderBy      string // filter.ByRelevance is the best match of Search; created_at where empty
	Asc          bool
	page.Range
}

// Selection is the part of a Filter that calls send as it is. A field is a parameter of REST by its tags, and an argument of a list
// of GraphQL that has one of its name. What has the tag db selects the rows with this value in the column.
type Selection struct {
	Reaction      string     `param:"my_reaction_emoji" doc:"Return items the current user reacted to with this emoji, None or Any"` // in any case; ignored without an actor
	SourceBranch  string     `db:"source_branch" param:"source_branch" doc:"Source branch"`
	TargetBranch  string     `db:"target_branch" param:"target_branch" doc:"Target branch"`
	SourceProject project.ID `db:"source_project_id" param:"source_project_id" doc:"ID of the source project"`
	Search        string     `param:"search" doc:"Search in titles and descriptions"`
}

// Deployed selects what successful deployments shipped; the zero value selects all.
type Deployed struct {
	By            int64  // id of the deployment, of any state; 0 is any
	Environment   string // name; "" is any
	After, Before *time.Time
}

// Exclusion leaves out what has one of its properties.
type Exclusion struct {
	filter.Not
	Reviewer filter.Person
}

// latest keeps rows of the same rank in the order of their age, the newest first.
var latest = page.ID("m.id").Desc().Fixed()

// orders are the orders of a list. Created_at is the order of the ids.
var orders = rows.Orders(latest, page.Orders{
	"":          {page.ID("m.id")},
	"merged_at": {page.Time("merged_at", "m.merged_at").Null(), latest},
	"closed_at": {page.Time("closed_at", "m.closed_at").Null(), latest},
})

// List returns the merge requests of a place that the actor may read. Those of a project
// require ReadMergeRequest, those of a group ReadGroup; those of everywhere are for signed-in
// actors.
func (s *Service) List(ctx context.Context, as authz.Actor, in authz.Place, f Filter) (page.Page[*MergeRequest], error) {
	if err := s.require(ctx, as, in); err != nil {
		return page.Page[*MergeRequest]{}, err
	}
	if err := s.Limits.CheckSearch(as, f.Search); err != nil {
		return page.Page[*MergeRequest]{}, err
	}
	if p := project.Of(in); p != nil {
		return s.listWithin(ctx, as, p, f)
	}
	return s.listAcross(ctx, as, in, f)
}

// require asks for permission to look at the merge requests of a place.
func (s *Service) require(ctx context.Context, as authz.Actor, in authz.Place) error {
	switch {
	case in.IsProject():
		return s.requireRead(ctx, as, project.Of(in))
	case in.IsInstance():
		return s.Policy.Require(ctx, as, authz.ListOwnMergeRequests, authz.Subject{})
	case as.Nameless():
		return errs.New(errs.Unauthorized, "")
	}
	return s.Policy.Require(ctx, as, authz.ReadGroup, in.Subject)
}

// within selects the merge requests of a project.
func within(p *project.Project) db.Where {
	var w db.Where
	w.And("m.target_project_id = ?", p.ID)
	return w
}

// listWithin lists the merge requests of a project.
func (s *Service) listWithin(ctx context.Context, as authz.Actor, p *project.Project, f Filter) (page.Page[*MergeRequest], error) {
	w := within(p)
	list, err := s.list(ctx, as, origin{
		in: p.Place(), from: "merge_requests m", narrow: "merge_requests m", level: "0", where: w, candidates: s.candidates(as, p, f),
	}, f)
	if err != nil {
		return list, err
	}
	if err := s.countNotes(ctx, as, p, list.Items); err != nil {
		return list, err
	}
	return list, s.readStatus(ctx, list.Items, map[project.ID]*project.Project{p.ID: p})
}

// Merge requests of many projects. SQLite reads the tables of a CROSS JOIN in their order,
// and so walks along the order of the list.
const (
	across    = "merge_requests m CROSS JOIN projects p"
	withPlace = " CROSS JOIN namespaces n" // where the actor does not see all
)

// inGroup selects the namespaces below a group, or directly in it.
func inGroup(direct bool) string {
	if direct {
		return "SELECT id FROM namespaces WHERE parent_id = ?"
	}
	return "SELECT namespace_id AS id FROM namespace_ancestors WHERE ancestor_id = ?"
}

// visible selects the merge requests of a group or the instance that the actor may read: the tables and the condition.
func (s *Service) visible(as authz.Actor, in authz.Place, f Filter) (from string, w db.Where) {
	w.Raw("p.id = m.target_project_id")
	from = across
	if !as.Admin && !as.Auditor {
		from += withPlace
		w.Raw("n.id = p.namespace_id")
	}
	if in.Group {
		w.And("p.namespace_id IN ("+inGroup(f.DirectOnly)+")", in.Namespace)
	}
	w.Raw("NOT p.pending_delete")
	w.Raw("p.merge_requests_access > 0")
	if f.NonArchived {
		w.Raw("NOT p.archived AND NOT " + namespace.InArchived("p.namespace_id"))
	}
	s.readableSQL(as, &w)
	return from, w
}

// listAcross lists the merge requests of a group or the instance.
func (s *Service) listAcross(ctx context.Context, as authz.Actor, in authz.Place, f Filter) (page.Page[*MergeRequest], error) {
	from, w := s.visible(as, in, f)
	level, args := s.Policy.LevelSQL(as, "p.namespace_id")
	all, places := s.ofPlaces(as, in, f, from, w)
	list, err := s.list(ctx, as, origin{
		in: in, from: "merge_requests m JOIN projects p ON p.id = m.target_project_id", narrow: from,
		level: level, levelArgs: args, where: w, candidates: append(s.candidates(as, nil, f), all), places: places,
	}, f)
	if err != nil {
		return list, err
	}
	projects, err := s.Projects.Load(ctx, projectsOf(list.Items))
	if err != nil {
		return list, err
	}
	return list, s.readStatus(ctx, list.Items, projects)
}

// readableSQL adds what the rule of ReadMergeRequest says about a project p and its
// namespace n, so that lists and Require agree.
func (s *Service) readableSQL(as authz.Actor, w *db.Where) {
	s.Policy.Within(as, "p.namespace_id", w)
	if as.Admin || as.Auditor {
		return
	}
	open := "10"
	if as.External || !as.SignedIn() {
		open = "20"
	}
	planners, args := s.Policy.ReachSQL(as, authz.Planner)
	guests, more := s.Policy.ReachSQL(as, authz.Guest)
	w.And(`(n.id IN (`+db.Shared(planners)+`) OR (p.repository_access = 20 AND n.visibility <> 0
		AND ((n.visibility >= `+open+` AND p.merge_requests_access = 20) OR n.id IN (`+db.Shared(guests)+`))))`,
		append(args, more...)...)
}

type listRow struct {
	MergeRequest
	ActorLevel authz.Level `db:"actor_level"`
}

// origin is where a list takes its rows from.
type origin struct {
	in         authz.Place
	from       string // the tables of the columns
	narrow     string // those of where
	level      string // expression for the actor's level in the project of a row
	levelArgs  []any
	where      db.Where
	candidates []page.Candidates
	places     *page.Places
}

// list runs the page, the total and what hangs on the rows.
func (s *Service) list(ctx context.Context, as authz.Actor, o origin, f Filter) (page.Page[*MergeRequest], error) {
	w := o.where
	if !f.where(&w, as, o.in, s.Now()) {
		return page.None[*MergeRequest](f.Range), nil
	}
	q := page.Query{
		Columns: s.columns + ", " + o.level + " AS actor_level", ColumnArgs: o.levelArgs, From: o.from, Where: w, Order: f.order(),
		Key: "m.id", Narrow: o.narrow, Candidates: o.candidates, Places: o.places,
	}
	if f.OrderBy == filter.ByRelevance {
		q.Order, q.Common = rows.Relevance(f.Search)
	}
	list, err := page.Select[listRow](ctx, s.DB, q, f.Range)
	if err != nil {
		return page.Page[*MergeRequest]{}, fmt.Errorf("list merge requests: %w", err)
	}
	out := page.Map(list, func(r *listRow) *MergeRequest {
		r.VisibleNotes = r.PublicNotesCount
		if authz.SeesInternal(as, r.ActorLevel) {
			r.VisibleNotes = r.NotesCount
		}
		return &r.MergeRequest
	})
	return out, s.attach(ctx, out.Items)
}

// order returns the order of the list.
func (f Filter) order() page.Order {
	if f.Asc {
		return orders.By(f.OrderBy)
	}
	return orders.By(f.OrderBy).Desc()
}
