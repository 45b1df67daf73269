// Package todo holds the to-do items of users: what on issues, merge requests, epics and commits,
// and which requests for access wait for them. Events create and resolve them.
package todo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/subscription"
)

// ID identifies a to-do item.
type ID int64

// Action says why a to-do item was created.
type Action string

// The actions.
const (
	Assigned          Action = "assigned"
	Mentioned         Action = "mentioned"
	BuildFailed       Action = "build_failed"
	Marked            Action = "marked"
	DirectlyAddressed Action = "directly_addressed"
	ReviewRequested   Action = "review_requested"
	Unmergeable       Action = "unmergeable"
	ApprovalRequired  Action = "approval_required"
	AccessRequested   Action = "member_access_requested" // of a project or group, by the author
)

// Kinds of what to-do items alone are about.
const (
	OfProject noteable.Kind = "Project"
	OfGroup   noteable.Kind = "Namespace"
)

// State says whether a to-do item still waits.
type State string

// The states.
const (
	Pending State = "pending"
	Done    State = "done"
)

// Todo is one to-do item of a user.
type Todo struct {
	ID        ID                 `db:"id"`
	UserID    authz.UserID       `db:"user_id"`
	AuthorID  authz.UserID       `db:"author_id"`
	ProjectID *project.ID        `db:"project_id"`
	GroupID   *authz.NamespaceID `db:"group_id"` // nil for what is in a project
	Kind      noteable.Kind      `db:"target_type"`
	TargetID  int64              `db:"target_id"` // 0 for commits
	CommitID  string             `db:"commit_id"` // "" for all but commits
	NoteID    *int64             `db:"note_id"`   // that mentions the user; nil for none
	Internal  bool               `db:"internal"`  // the note is internal
	Action    Action             `db:"action"`
	State     State              `db:"state"`
	CreatedAt db.Time            `db:"created_at"`
	UpdatedAt db.Time            `db:"updated_at"`

	Body     string               `db:"body,readonly"`      // the text of the note, cut by [budget.Cut], or the title of the target; of a project or group its path
	ParentID *authz.NamespaceID   `db:"parent_id,readonly"` // the group of the project that it is about; nil where it is about something else
	Group    *namespace.Namespace `db:"-"`                  // the one that InGroup names
}

// Target names what the to-do item is about.
func (t *Todo) Target() noteable.Ref {
	if t.Kind == noteable.Commit {
		ref := noteable.Ref{Kind: t.Kind, Commit: t.CommitID}
		if t.ProjectID != nil {
			ref.Project = int64(*t.ProjectID)
		}
		return ref
	}
	return noteable.Ref{Kind: t.Kind, ID: t.TargetID}
}

// InGroup returns the group that the to-do item belongs to, 0 for none.
func (t *Todo) InGroup() namespace.ID {
	switch {
	case t.GroupID != nil:
		return *t.GroupID
	case t.ParentID != nil:
		return *t.ParentID
	}
	return 0
}

// Filter selects to-do items; the zero value selects all.
type Filter struct {
	State    State    // "" for all
	Actions  []Action // any of them, as for the next; nil for all
	Authors  []authz.UserID
	Projects []project.ID
	Groups   []authz.NamespaceID // and all below them
	Kinds    []noteable.Kind
	UserID   authz.UserID // whose they are: those of others are not shown; 0 for the actor
	On       noteable.Ref // that they are about, other than commits; the zero value is everything
	page.Range
}

// Deps is what a Service is made of.
type Deps struct {
	DB            *db.DB
	Policy        *authz.Policy
	Subscriptions *subscription.Service
	Approvals     *approval.Service
	Namespaces    *namespace.Service
	Texts         reference.Reader // reads mentions
	Kinds         *noteable.Kinds  // what users add to-do items for
	Now           func() time.Time
}

// Service reads and changes to-do items.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// from returns the columns of Todo, and the tables that they are read from.
func (s *Service) from() (columns, tables string) {
	joins, each := s.Kinds.Joins("t.target_type", "t.target_id", func(d *noteable.Description) bool { return d.Todos })
	return rowColumns + ", COALESCE(" + budget.CutSQL("tn.body") + ", " + noteable.Columns(each, "title") + `, CASE t.target_type
		WHEN 'Project' THEN (SELECT tr.path FROM projects tp JOIN routes tr ON tr.namespace_id = tp.namespace_id WHERE tp.id = t.target_id)
		WHEN 'Namespace' THEN (SELECT tr.path FROM routes tr WHERE tr.namespace_id = t.target_id) END, '') AS body,
		CASE t.target_type WHEN 'Project' THEN (SELECT tg.id FROM projects tp JOIN namespaces ts ON ts.id = tp.namespace_id
			JOIN namespaces tg ON tg.id = ts.parent_id AND tg.kind = 'group' WHERE tp.id = t.target_id) END AS parent_id`,
		"todos t LEFT JOIN notes tn ON tn.id = t.note_id" + joins
}

var rowColumns = db.Columns[Todo]("t")

// mine selects the to-do items of the actor about what it may still read.
func (s *Service) mine(as authz.Actor) db.Where {
	var w db.Where
	w.And("t.user_id = ?", as.UserID)
	decided, args := s.decidedSQL(as)
	for _, kind := range s.Kinds.All() {
		if !kind.Todos {
			continue
		}
		cond, more := "", []any(nil)
		if things, ok := kind.Provider.(noteable.Readable); ok {
			cond, more = things.ReadableSQL(as, "t.target_id")
		} else {
			cond, more = s.codeSQL(as)
		}
		decided, args = decided+" OR t.target_type = ? AND "+cond, append(append(args, kind.Kind), more...)
	}
	w.And("("+decided+")", args...)
	internal, args := s.Policy.InternalSQL(as, "t", "t")
	w.And(internal, args...)
	return w
}

// codeSQL is a condition that holds where the actor may read the code of the project of a
// to-do item.
func (s *Service) codeSQL(as authz.Actor) (cond string, args []any) {
	readable, args := s.Policy.ReadableCodeSQL(as, "p", "n")
	return "EXISTS (SELECT 1 FROM projects p JOIN namespaces n ON n.id = p.namespace_id WHERE p.id = t.project_id AND NOT p.pending_delete AND " + readable + ")", args
}

// decidedSQL is a condition that holds for to-do items about projects and groups whose requests
// for access the actor may decide.
func (s *Service) decidedSQL(as authz.Actor) (cond string, args []any) {
	if as.Admin {
		return "t.target_type IN ('Project', 'Namespace')", nil
	}
	projects, args := s.Policy.ReachSQL(as, authz.Rules[authz.AdminMembers].Min)
	groups, more := s.Policy.ReachSQL(as, authz.Rules[authz.AdminGroupMembers].Min)
	return "t.target_type = 'Project' AND EXISTS (SELECT 1 FROM projects p WHERE p.id = t.project_id AND NOT p.pending_delete AND p.namespace_id IN (" +
		projects + ")) OR t.target_type = 'Namespace' AND t.group_id IN (" + groups + ")", append(args, more...)
}

// List returns a page of the actor's to-do items about what it may read, the newest first.
func (s *Service) List(ctx context.Context, as authz.Actor, f Filter) (page.Page[Todo], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadOwnTodos, authz.Subject{}); err != nil {
		return page.Page[Todo]{}, err
	}
	w := s.mine(as)
	if f.State != "" {
		w.And("t.state = ?", f.State)
	}
	if f.Actions != nil {
		w.In("t.action", f.Actions)
	}
	if f.Authors != nil {
		w.In("t.author_id", f.Authors)
	}
	if f.Projects != nil {
		w.In("t.project_id", f.Projects)
	}
	if f.Groups != nil {
		var below db.Where
		below.In("a.ancestor_id", f.Groups)
		w.And(`(t.group_id IN (SELECT a.namespace_id FROM namespace_ancestors a`+below.SQL()+`) OR t.project_id IN (SELECT gp.id
			FROM projects gp JOIN namespace_ancestors a ON a.namespace_id = gp.namespace_id`+below.SQL()+`))`, slices.Concat(below.Args(), below.Args())...)
	}
	if f.Kinds != nil {
		w.In("t.target_type", f.Kinds)
	}
	if f.UserID != 0 {
		w.And("t.user_id = ?", f.UserID)
	}
	if f.On != (noteable.Ref{}) {
		w.And("t.target_type = ? AND t.target_id = ?", f.On.Kind, f.On.ID)
	}
	columns, tables := s.from()
	q := page.Query{Columns: columns, From: tables, Where: w, Order: page.Order{page.ID("t.id").Desc()}}
	if !f.Keyset && !f.Uncounted { // read and counted at once
		q.Key, q.Narrow = "t.id", "todos t"
		q.Candidates = []page.Candidates{{SQL: "SELECT t.id FROM todos t" + w.SQL(), Args: w.Args(), Exact: true, Table: "todos t"}}
	}
	list, err := page.Select[Todo](ctx, s.DB, q, f.Range)
	if err != nil {
		return list, fmt.Errorf("list to-do items: %w", err)
	}
	return list, s.fill(ctx, list.Items)
}

// fill cuts the texts of to-do items and reads the groups of those about what the actor may read.
func (s *Service) fill(ctx context.Context, todos []Todo) error {
	var ids []namespace.ID
	for i := range todos {
		todos[i].Body = budget.Cut(todos[i].Body)
		if id := todos[i].InGroup(); id != 0 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := s.Namespaces.Load(ctx, ids)
	if err != nil {
		return fmt.Errorf("groups of to-do items: %w", err)
	}
	for i := range todos {
		todos[i].Group = found[todos[i].InGroup()]
	}
	return nil
}

// Count returns the number of the actor's pending to-do items about what it may read.
func (s *Service) Count(ctx context.Context, as authz.Actor) (int, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadOwnTodos, authz.Subject{}); err != nil {
		return 0, err
	}
	w := s.mine(as)
	w.And("t.state = ?", Pending)
	n, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM todos t"+w.SQL(), w.Args()...)
	if err != nil {
		return 0, fmt.Errorf("count to-do items: %w", err)
	}
	return n, nil
}

// find reads a to-do item of the actor's own.
func (s *Service) find(ctx context.Context, as authz.Actor, cond string, args ...any) (*Todo, error) {
	w := s.mine(as)
	w.And(cond, args...)
	columns, tables := s.from()
	t, err := db.Get[Todo](ctx, s.DB, "SELECT "+columns+" FROM "+tables+w.SQL(), w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find to-do item: %w", err)
	}
	one := []Todo{t}
	return &one[0], s.fill(ctx, one)
}

// MarkDone marks one of the actor's to-do items as done.
func (s *Service) MarkDone(ctx context.Context, as authz.Actor, id ID) (*Todo, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdateOwnTodos, authz.Subject{}); err != nil {
		return nil, err
	}
	t, err := s.find(ctx, as, "t.id = ?", id)
	if err != nil {
		return nil, err
	}
	out, err := db.Update(ctx, s.DB, db.Row{Table: "todos", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}, func(_ context.Context, t *row) error {
		t.State = Done
		return nil
	})
	if err != nil {
		return nil, errs.Wrap(err, "mark to-do item")
	}
	t.State, t.UpdatedAt = out.After.State, out.After.UpdatedAt
	return t, nil
}

// row is what changes of a to-do item.
type row struct {
	ID        ID      `db:"id"`
	State     State   `db:"state"`
	UpdatedAt db.Time `db:"updated_at"`
}

// Add creates a to-do item of the actor's own for a thing. It returns NotModified where one
// waits already.
func (s *Service) Add(ctx context.Context, as authz.Actor, on subscription.On) (*Todo, error) {
	kind := s.Kinds.Find(on.Kind)
	if kind == nil {
		return nil, fmt.Errorf("to-do items: nothing finds things of kind %q", on.Kind)
	}
	t, err := kind.Provider.Locate(ctx, as, on.Place, on.Key)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.CreateTodo, t.Subject); err != nil {
		return nil, err
	}
	n, err := s.insert(ctx, making{target: t, by: as.UserID, action: Marked, at: s.Now()}, []authz.UserID{as.UserID})
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errs.New(errs.NotModified, "")
	}
	return s.find(ctx, as, "t.state = ? AND t.target_type = ? AND t.target_id = ?", Pending, t.Kind, t.ID)
}
