package packages

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
)

// Where a change is of what thousands of distributions show, its transaction enqueues one job; that has the distributions published a hundred at a time.
func TestService_republishGroups(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), context.Background()
		w.packages.Subscribe(w.Bus)
		var mu sync.Mutex
		var waiting []job.Args
		together, most := 0, 0 // jobs of one transaction
		w.packages.Jobs = job.EnqueuerFunc(func(ctx context.Context, args job.Args, _ ...job.Option) error {
			mu.Lock()
			defer mu.Unlock()
			waiting = append(waiting, args)
			together++
			d.AfterCommit(ctx, func() { most, together = max(most, together), 0 })
			return nil
		})
		distributions := func(of authz.NamespaceID, n int) (ids []DistributionID) {
			list := make([]Distribution, n)
			for i := range list {
				list[i] = Distribution{NamespaceID: of, Codename: fmt.Sprintf("code%d", i), CreatedAt: db.At(w.Now()), UpdatedAt: db.At(w.Now())}
			}
			made, err := db.InsertAll(ctx, d, "debian_distributions", list)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range made {
				ids = append(ids, DistributionID(id))
			}
			return ids
		}
		var above []DistributionID
		for i := range groupBatch + 2 {
			top := w.Group(fmt.Sprintf("top%d", i), authz.Public, 0)
			inner := w.Group(fmt.Sprintf("inner%d", i), authz.Public, top)
			open := w.Project(fmt.Sprintf("open%d", i), authz.Private, inner)
			if _, err := d.Exec(ctx, `UPDATE projects SET features = '{"package_registry":"public"}' WHERE id = ?`, open); err != nil {
				t.Fatal(err)
			}
			n := 1
			if i == 0 {
				n = republishBatch + 5
			}
			above = append(append(above, distributions(top, n)...), distributions(inner, 1)...)
		}
		other := w.Group("other", authz.Public, 0)
		distributions(other, 3)
		w.Project("closed", authz.Public, other)

		err := d.InTx(ctx, func(ctx context.Context) error {
			return w.Bus.Publish(ctx, setting.Changed{Name: "package_registry_allow_anyone_to_pull_option"})
		})
		if err != nil || len(waiting) != 1 {
			t.Fatalf("the change of the setting: jobs %v, %v", waiting, err)
		}
		args, ok := waiting[0].(republishGroups)
		if waiting = nil; !ok {
			t.Fatalf("the change of the setting: %v", args)
		}
		if err := w.packages.publishGroups(ctx, args); err != nil {
			t.Fatal(err)
		}
		var got []DistributionID
		for _, args := range waiting {
			got = append(got, args.(publishRelease).Distribution)
		}
		slices.Sort(got)
		slices.Sort(above)
		if !slices.Equal(got, above) || most != republishBatch {
			t.Errorf("%d distributions, want %d; %d in one transaction", len(got), len(above), most)
		}
	})
}

// Keys that were replaced are dropped, and their distributions are signed again, a hundred at a time.
func TestService_dropRetiredKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), context.Background()
		together, most, all := 0, 0, map[DistributionID]int{}
		w.packages.Jobs = job.EnqueuerFunc(func(ctx context.Context, args job.Args, _ ...job.Option) error {
			all[args.(publishRelease).Distribution]++
			together++
			d.AfterCommit(ctx, func() { most, together = max(most, together), 0 })
			return nil
		})
		const n = 2*republishBatch + 1
		for i := range n {
			dist := &Distribution{NamespaceID: w.at.Namespace, Codename: fmt.Sprintf("code%d", i), CreatedAt: db.At(w.Now()), UpdatedAt: db.At(w.Now())}
			if err := db.Create(ctx, d, "debian_distributions", dist); err != nil {
				t.Fatal(err)
			}
			key := &signingKey{Distribution: dist.ID, Fingerprint: fmt.Sprint(i), CreatedAt: db.At(w.Now()), RetireAt: new(db.At(w.Now()))}
			if err := db.Create(ctx, d, "debian_distribution_keys", key); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.packages.dropRetiredKeys(ctx); err != nil {
			t.Fatal(err)
		}
		left, err := db.Get[int](ctx, d, "SELECT COUNT(*) FROM debian_distribution_keys")
		if err != nil || left != 0 || len(all) != n || most != republishBatch {
			t.Errorf("%d keys are left, %d distributions are signed again, %d in one transaction, %v", left, len(all), most, err)
		}
	})
}

// The sweep comes to the end of what is to be deleted, however much that is: files that no .changes came for, uploads that failed long ago, and packages
// that are marked.
func TestService_Sweep_many(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newDepot(t, d), t.Context()
		const n = destroyBatch + 5
		old := db.At(w.Now().Add(-failureFor - time.Hour))
		list := make([]Package, 2*n)
		for i := range list {
			list[i] = Package{ProjectID: w.p.ID, Kind: Debian, Name: fmt.Sprint("p", i), Version: new("1"), Status: Failed, CreatedAt: old, UpdatedAt: old}
			if i%2 == 0 {
				list[i].Kind, list[i].Status = Generic, Destruction
			}
		}
		_, err := db.InsertAll(ctx, d, "packages", append(list, Package{ProjectID: w.p.ID, Kind: Debian, Name: incoming, Status: Hidden, CreatedAt: old, UpdatedAt: old}))
		w.must(err)
		id, err := db.Get[ID](ctx, d, "SELECT id FROM packages WHERE name = ?", incoming)
		w.must(err)
		files := make([]File, n)
		for i := range files {
			files[i] = File{PackageID: id, ProjectID: w.p.ID, Name: fmt.Sprint("f", i), SHA256: strings.Repeat("0", digestLength), CreatedAt: old, UpdatedAt: old}
		}
		_, err = db.InsertAll(ctx, d, "package_files", files)
		w.must(err)
		w.must(w.one.Sweep(ctx, Sweep{}))
		for table, want := range map[string]int{"packages": 1, "package_files": 0} {
			if left, err := db.Get[int](ctx, d, "SELECT COUNT(*) FROM "+table); err != nil || left != want {
				t.Errorf("%d rows of %s are left, want %d, %v", left, table, want, err)
			}
		}
	})
}
