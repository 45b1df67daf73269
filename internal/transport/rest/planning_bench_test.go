package rest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// engines runs a benchmark on durable databases of both kinds.
func engines(b *testing.B, fn func(b *testing.B, p *planning)) {
	b.Helper()
	for name, open := range map[string]func() *db.DB{
		"sqlite":   func() *db.DB { return dbtest.Open(b, true) },
		"postgres": func() *db.DB { return dbtest.OpenPostgres(b) },
	} {
		b.Run(name, func(b *testing.B) {
			p := newPlanning(b, open())
			for i := range 200 {
				p.do("owner", "POST", appIssues, fmt.Sprintf(`{"title":"Issue %d","description":"some text","labels":"bug,p%d","assignee_ids":[%d]}`,
					i, i%5, p.users["guest"].UserID))
			}
			fn(b, p)
		})
	}
}

// BenchmarkIssues_list reads pages of 20 issues without a network.
func BenchmarkIssues_list(b *testing.B) {
	engines(b, func(b *testing.B, p *planning) {
		b.SetParallelism(4)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if w := p.send("guest", "GET", appIssues, ""); w.Code != 200 {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	})
}

// BenchmarkNotes_create writes notes on 200 issues, each durably.
func BenchmarkNotes_create(b *testing.B) {
	engines(b, func(b *testing.B, p *planning) {
		var n atomic.Int64
		b.SetParallelism(4)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				path := fmt.Sprintf("%s/%d/notes", appIssues, n.Add(1)%200+1)
				if w := p.send("guest", "POST", path, `{"body":"a comment of some words"}`); w.Code != 201 {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	})
}
