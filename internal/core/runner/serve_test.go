package runner_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
)

func TestServesSQL(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		instance, _ := w.row(runner.InstanceType, nil)
		group, _ := w.row(runner.GroupType, coretest.Row{"namespace_id": w.group})
		below, _ := w.row(runner.GroupType, coretest.Row{"namespace_id": w.below})
		assigned, _ := w.row(runner.ProjectType, nil, w.else_, w.sub)
		check := func(when string, r *runner.Runner, want ...project.ID) {
			t.Helper()
			cond, args := runner.ServesSQL(r, "p")
			got, err := db.Select[project.ID](ctx, d, "SELECT p.id FROM projects p WHERE "+cond+" ORDER BY p.id", args...)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, runner %d (%s) serves %v, %v, want %v", when, r.ID, r.Type, got, err, want)
			}
		}
		check("at first", instance, w.top, w.sub, w.else_)
		check("at first", group, w.top, w.sub)
		check("at first", below, w.sub)
		check("at first", assigned, w.sub, w.else_)
		no := false
		var c project.Changes
		c.SharedRunnersEnabled, c.GroupRunnersEnabled = &no, &no
		if _, err := w.Projects.Update(ctx, w.owner, fmt.Sprint(w.sub), c); err != nil {
			t.Fatal(err)
		}
		check("without shared runners", instance, w.top, w.else_)
		check("without group runners", group, w.top)
		check("without group runners", below)
		check("assigned all the same", assigned, w.sub, w.else_)
	})
}

func TestService_ByIDs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		instance, _ := w.row(runner.InstanceType, nil)
		group, _ := w.row(runner.GroupType, coretest.Row{"namespace_id": w.group})
		top, _ := w.row(runner.ProjectType, nil, w.top, w.else_)
		elsewhere, _ := w.row(runner.ProjectType, nil, w.else_)
		all := []runner.ID{instance.ID, group.ID, top.ID, elsewhere.ID}
		for _, tt := range []struct {
			name string
			as   authz.Actor
			want []runner.ID
		}{
			{"administrator", w.admin, all},
			{"owner of the group", w.owner, all[:3]},
			{"maintainer of the project", w.maintainer, []runner.ID{instance.ID, top.ID}},
			{"developer", w.developer, all[:1]},
			{"stranger", w.stranger, all[:1]},
			{"anonymous", authz.Actor{}, nil},
		} {
			got, err := w.runners.ByIDs(ctx, tt.as, all)
			if err != nil || len(got) != len(tt.want) {
				t.Errorf("%s reads %d runners, %v, want %v", tt.name, len(got), err, tt.want)
			}
			for _, id := range all {
				_, err := w.runners.Find(ctx, tt.as, id)
				kind := errs.KindOf(err)
				switch {
				case slices.Contains(tt.want, id):
					if err != nil || got[id] == nil {
						t.Errorf("%s: runner %d: %v, %v", tt.name, id, got[id], err)
					}
				case kind != errs.Forbidden && (tt.as.SignedIn() || kind != errs.Unauthorized):
					t.Errorf("%s finds runner %d: %v", tt.name, id, err)
				}
			}
		}
		if _, err := w.runners.Find(ctx, w.admin, 9999); !errs.Is(err, errs.NotFound) {
			t.Errorf("a runner that is not there: %v", err)
		}
	})
}
