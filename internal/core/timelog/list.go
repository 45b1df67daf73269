package timelog

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Filter selects entries; the zero value selects all that the actor may read.
type Filter struct {
	IssueID, RequestID int64             // 0 for any
	ProjectID          project.ID        // of what time was spent on; 0 for any
	Group              authz.NamespaceID // with all below it; 0 for any
	UserID             authz.UserID      // 0 for any
	Username           string            // in any case; "" for any
	From, To           *time.Time        // both included; nil leaves open

	OrderBy string // created_at, spent_at, time_spent or updated_at; spent_at where empty
	Asc     bool
	page.Range
}

// Located is an entry with the project that it belongs to.
type Located struct {
	Entry
	ProjectID project.ID `db:"project_id"`
}

// created is the order by the time that entries were written: they never change.
var created = page.Order{page.Time("created_at", "t.created_at"), page.ID("t.id")}

var orders = page.Orders{
	"":           {page.Time("spent_at", "t.spent_at"), page.ID("t.id")},
	"spent_at":   {page.Time("spent_at", "t.spent_at"), page.ID("t.id")},
	"time_spent": {page.Int("time_spent", "t.time_spent"), page.ID("t.id")},
	"created_at": created,
	"updated_at": created,
}

const of = "COALESCE(ti.project_id, tm.target_project_id)"

var columns = db.Columns[Entry]("t") + ", " + of + " AS project_id"

const from = "timelogs t LEFT JOIN issues ti ON ti.id = t.issue_id LEFT JOIN merge_requests tm ON tm.id = t.merge_request_id"

// where adds the conditions of the filter, and that the actor may read what time was spent on.
func (s *Service) where(w *db.Where, as authz.Actor, f Filter) {
	for _, c := range []struct {
		cond string
		id   int64
	}{
		{"t.issue_id = ?", f.IssueID},
		{"t.merge_request_id = ?", f.RequestID},
		{of + " = ?", int64(f.ProjectID)},
		{of + " IN (SELECT tp.id FROM projects tp JOIN namespace_ancestors ta ON ta.namespace_id = tp.namespace_id WHERE ta.ancestor_id = ?)", int64(f.Group)},
		{"t.user_id = ?", int64(f.UserID)},
	} {
		if c.id != 0 {
			w.And(c.cond, c.id)
		}
	}
	if f.Username != "" {
		w.And("t.user_id IN (SELECT tu.id FROM users tu WHERE tu.username_fold = ?)", db.Fold(f.Username))
	}
	w.Since("t.spent_at", f.From)
	w.Until("t.spent_at", f.To)
	issues, args := s.above.Issues.ReadableSQL(as, "t.issue_id")
	requests, more := s.above.MergeRequests.ReadableSQL(as, "t.merge_request_id")
	w.And("(t.issue_id IS NOT NULL AND "+issues+" OR t.merge_request_id IS NOT NULL AND "+requests+")", append(args, more...)...)
}

// List returns a page of the entries on what the actor may read.
func (s *Service) List(ctx context.Context, as authz.Actor, f Filter) (page.Page[Located], error) {
	if err := s.Policy.Require(ctx, as, authz.ListTimelogs, authz.Subject{}); err != nil {
		return page.Page[Located]{}, err
	}
	var w db.Where
	s.where(&w, as, f)
	order := orders.By(f.OrderBy)
	if !f.Asc {
		order = order.Desc()
	}
	list, err := page.Select[Located](ctx, s.DB, page.Query{Columns: columns, From: from, Where: w, Order: order}, f.Range)
	if err != nil {
		return list, errs.Wrap(err, "list timelogs")
	}
	return list, nil
}

// Spent adds up the seconds of the entries on what the actor may read.
func (s *Service) Spent(ctx context.Context, as authz.Actor, f Filter) (int64, error) {
	if err := s.Policy.Require(ctx, as, authz.ListTimelogs, authz.Subject{}); err != nil {
		return 0, err
	}
	var w db.Where
	s.where(&w, as, f)
	n, err := db.Get[int64](ctx, s.DB, "SELECT CAST(COALESCE(SUM(t.time_spent), 0) AS BIGINT) FROM "+from+w.SQL(), w.Args()...)
	if err != nil {
		return 0, fmt.Errorf("add up timelogs: %w", err)
	}
	return n, nil
}

// ByIDs returns those of the entries with these ids that are on what the actor may read.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Located, error) {
	out := make(map[ID]*Located, len(ids))
	if err := s.Policy.Require(ctx, as, authz.ListTimelogs, authz.Subject{}); err != nil || len(ids) == 0 {
		return out, err
	}
	var w db.Where
	w.In("t.id", ids)
	s.where(&w, as, Filter{})
	list, err := db.Select[Located](ctx, s.DB, "SELECT "+columns+" FROM "+from+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("timelogs by id: %w", err)
	}
	for i := range list {
		out[list[i].ID] = &list[i]
	}
	return out, nil
}

// Subject is what permissions about an entry of a project are asked for.
func (e *Entry) Subject(as authz.Actor, p *project.Project) authz.Subject {
	subject := p.Subject()
	subject.Noun, subject.Own = "Timelog", as.Is(e.UserID)
	return subject
}

// MayDelete reports whether the actor may delete an entry of a project: its own, or any one of a
// project that it maintains.
func (s *Service) MayDelete(ctx context.Context, as authz.Actor, p *project.Project, e *Entry) (bool, error) {
	may, err := s.Policy.Can(ctx, as, authz.AdminTimelog, e.Subject(as, p))
	if err != nil {
		return false, fmt.Errorf("permission for timelog: %w", err)
	}
	return may, nil
}
