package namespace_test

import (
	"slices"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
)

func TestService_Check(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		s := namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
		top := w.Group("top", authz.Private, 0)
		sub := w.Group("top/sub", authz.Private, top)
		w.Project("top/sub/app", authz.Private, sub)
		found, err := s.Check(t.Context())
		if err != nil || len(found) != 0 {
			t.Fatalf("a sound tree: got %q, %v", found, err)
		}
		for _, query := range []string{
			"DELETE FROM namespace_ancestors WHERE namespace_id = 2 AND ancestor_id = 1",
			"UPDATE routes SET path = 'elsewhere' WHERE namespace_id = 3",
			"INSERT INTO namespace_ancestors (namespace_id, ancestor_id, depth) VALUES (1, 3, 4)",
		} {
			if _, err := d.Exec(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		found, err = s.Check(t.Context())
		want := []string{
			"namespace 2: its ancestor 1 (1 above) is missing in namespace_ancestors",
			"namespace 1: namespace_ancestors names 3 (4 above), which is no ancestor",
			`namespace 3: its path in routes is "elsewhere", want "top/sub/app"`,
		}
		if err != nil || !slices.Equal(found, want) {
			t.Errorf("a broken tree:\n got %q, %v\nwant %q", found, err, want)
		}
	})
}
