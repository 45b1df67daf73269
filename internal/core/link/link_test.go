package link_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/link"
)

func TestRow_SeenFrom(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	for _, tt := range []struct {
		kind           link.Type
		source, target int64
		stored         link.Type
		first, second  link.Type // as seen from 1 and from 2
	}{
		{link.RelatesTo, 1, 2, link.RelatesTo, link.RelatesTo, link.RelatesTo},
		{link.Blocks, 1, 2, link.Blocks, link.Blocks, link.BlockedBy},
		{link.BlockedBy, 2, 1, link.Blocks, link.BlockedBy, link.Blocks},
	} {
		r := link.New[int64](1, 2, tt.kind, at)
		if r.SourceID != tt.source || r.TargetID != tt.target || r.Type != tt.stored {
			t.Errorf("%s: stored as %+v", tt.kind, r)
		}
		if one, two := r.SeenFrom(1), r.SeenFrom(2); one != tt.first || two != tt.second {
			t.Errorf("%s: 1 %s 2, 2 %s 1; want %s and %s", tt.kind, one, two, tt.first, tt.second)
		}
		if r.Other(1) != 2 || r.Other(2) != 1 {
			t.Errorf("%s: the others are %d and %d", tt.kind, r.Other(1), r.Other(2))
		}
	}
}

var (
	errAssigned = errs.New(errs.Conflict, "linked already")
	errGone     = errs.Missing("Link")
)

var table = link.Table[int64]{Links: "issue_links", Targets: "issues", Assigned: errAssigned, Full: "too many", Missing: errGone}

func TestTable(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := coretest.New(t, d), t.Context()
		ann := w.User("ann")
		id := w.Project("group/shop", authz.Private, w.Group("group", authz.Private, 0))
		count := 0
		issue := func() int64 {
			count++
			return w.Insert("issues", coretest.Row{"iid": count, "project_id": id, "author_id": ann.UserID, "title": "t", "title_fold": "t", "state": "opened", "issue_type": "issue"})
		}
		a, b, c := issue(), issue(), issue()
		done := func(context.Context) error { return nil }
		add := func(from, to int64, kind link.Type) (link.Row[int64], error) {
			r := link.New(from, to, kind, w.Now())
			return r, table.Add(ctx, d, &r, done)
		}
		made, err := add(a, b, link.BlockedBy)
		if err != nil || made.ID == 0 {
			t.Fatalf("got %+v, %v", made, err)
		}
		for _, pair := range [][2]int64{{a, b}, {b, a}} {
			if _, err := add(pair[0], pair[1], link.RelatesTo); !errors.Is(err, errAssigned) {
				t.Errorf("a second link of %v: got %v", pair, err)
			}
		}
		if _, err := add(a, 999_999, link.Blocks); !errs.Is(err, errs.NotFound) {
			t.Errorf("a link with nothing: got %v", err)
		}
		// What comes with a link fails: there is none.
		broken, r := errors.New("broken"), link.New(a, c, link.Blocks, w.Now())
		if err := table.Add(ctx, d, &r, func(context.Context) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("got %v, want what broke", err)
		}
		if rows, err := table.Of(ctx, d, a); err != nil || fmt.Sprint(rows) != fmt.Sprint([]link.Row[int64]{made}) {
			t.Errorf("links are %+v, %v, want %+v alone", rows, err, made)
		}
		missing := errs.Missing("none")
		if _, err := table.Find(ctx, d, made.ID, c, missing); !errors.Is(err, missing) {
			t.Errorf("the link of others: got %v", err)
		}
		if got, err := table.Find(ctx, d, made.ID, b, missing); err != nil || got.SeenFrom(b) != link.Blocks {
			t.Errorf("the link from its other end: got %+v, %v", got, err)
		}
		late := ann
		late.UnmodifiedSince = made.UpdatedAt.Add(-time.Hour)
		if err := table.Remove(ctx, late, d, made.ID, done); !errs.Is(err, errs.PreconditionFailed) {
			t.Errorf("changed meanwhile: got %v", err)
		}
		if err := table.Remove(ctx, ann, d, made.ID, done); err != nil {
			t.Error(err)
		}
		if err := table.Remove(ctx, ann, d, made.ID, done); !errors.Is(err, errGone) {
			t.Errorf("removed twice: got %v", err)
		}
	})
}

// TestTable_Add_full fills one thing with links, from both ends.
func TestTable_Add_full(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := coretest.New(t, d), t.Context()
		ann := w.User("ann")
		id := w.Project("group/shop", authz.Private, w.Group("group", authz.Private, 0))
		var issues []int64
		for i := range 102 {
			issues = append(issues, w.Insert("issues", coretest.Row{"iid": i + 1, "project_id": id, "author_id": ann.UserID, "title": "t", "title_fold": "t", "state": "opened", "issue_type": "issue"}))
		}
		full := issues[0]
		for i, other := range issues[1:] {
			from, to := full, other
			if i%2 == 1 {
				from, to = other, full
			}
			r := link.New(from, to, link.RelatesTo, w.Now())
			err := table.Add(ctx, d, &r, func(context.Context) error { return nil })
			switch {
			case i < 100 && err != nil:
				t.Fatalf("link %d: %v", i+1, err)
			case i == 100 && (!errs.Is(err, errs.Unprocessable) || err.Error() != "too many"):
				t.Errorf("link 101: got %v", err)
			}
		}
	})
}
