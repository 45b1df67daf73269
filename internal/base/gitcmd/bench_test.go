package gitcmd_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// One durable change of a file on a branch, as the interface makes it.
func BenchmarkRepo_commit(b *testing.B) {
	g := gittest.New(b)
	r := gittest.NewRepo(b, g)
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("dir%d/sub/f%d", i%10, i)] = fmt.Sprint(i)
	}
	tip := gittest.Commit(b, r, 1700000000, files)
	gittest.Point(b, r, "refs/heads/main", tip)
	before := g.Started()
	for i := 0; b.Loop(); i++ {
		q, err := r.Quarantine(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		next := gittest.Commit(b, q.Repo, 1700000000+int64(i), map[string]string{"dir1/sub/f1": fmt.Sprint("change ", i)}, tip)
		if err := q.Commit(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := r.UpdateRefs(b.Context(), []gitstore.RefUpdate{{Ref: "refs/heads/main", Old: tip, New: next}}); err != nil {
			b.Fatal(err)
		}
		tip = next
	}
	b.ReportMetric(float64(g.Started()-before)/float64(b.N), "processes/op")
}

// A branch, its commit, a folder and a file, warm.
func BenchmarkRepo_read(b *testing.B) {
	g := gittest.New(b)
	r := gittest.NewRepo(b, g)
	tip := gittest.Commit(b, r, 1700000000, map[string]string{"dir/f": "text", "g": "g"})
	gittest.Point(b, r, "refs/heads/main", tip)
	before := g.Started()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			rev, err := r.Resolve(b.Context(), "main")
			if err != nil {
				b.Fatal(err)
			}
			e, err := r.Entry(b.Context(), rev.Commit, "dir/f")
			if err != nil {
				b.Fatal(err)
			}
			if _, err := r.Blob(b.Context(), e.ID, 100); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(g.Started()-before)/float64(b.N), "processes/op")
}

// A blob that no cache holds, through the kept-open processes.
func BenchmarkRepo_Blob_cold(b *testing.B) {
	g := gittest.New(b, func(c *gitcmd.Config) { c.CacheBytes = 1 })
	r := gittest.NewRepo(b, g)
	var ids []gitstore.ObjectID
	for i := range 500 {
		id, err := r.WriteBlob(b.Context(), fmt.Append(nil, "blob ", i))
		if err != nil {
			b.Fatal(err)
		}
		ids = append(ids, id)
	}
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := r.Blob(b.Context(), ids[int(n.Add(1))%len(ids)], 100); err != nil {
				b.Fatal(err)
			}
		}
	})
}
