package app

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// BenchmarkWeb_pages asks for pages over a connection of loopback, one at a time, and reports
// the slowest hundredth.
func BenchmarkWeb_pages(b *testing.B) {
	s := newServer(b, "")
	w := newWebWorld(b, s)
	client := w.callers(b)["owner"]
	in := "/" + w.path + "/-/"
	for name, path := range map[string]string{
		"home": "/", "project": "/" + w.path, "blob": in + "blob/main/README.md", "commit": in + "commit/" + w.sha,
		"issue": in + "issues/1", "mergerequest": in + "merge_requests/1", "tokens": "/-/profile/personal_access_tokens",
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				if p := client.get(path); p.status != http.StatusOK {
					b.Fatalf("%s: got %d", path, p.status)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
