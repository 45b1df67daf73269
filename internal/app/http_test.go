package app

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// One statement of a request that reads may take as long as all of them together; what
// changes something has the time for each.
func TestRouter_reads(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
		var slow, next, other error
		h := &router{idle: &idleness{}, started: func() func() { return func() {} }, reads: 50 * time.Millisecond, room: budget.NewRoom(budget.Total), api: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, slow = db.Get[int](r.Context(), d, endless)
			_, next = db.Get[int](r.Context(), d, endless)
			other = r.Context().Err()
		})}
		for _, method := range []string{"GET", "POST"} {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, "/api/v4/version", strings.NewReader("")))
			if !errors.Is(slow, db.ErrTimeout) || !errors.Is(next, db.ErrTimeout) || other != nil {
				t.Errorf("%s: the first read ended with %v, the second with %v, and the request with %v; want ErrTimeout twice and nil",
					method, slow, next, other)
			}
		}
		changes := allReads(httptest.NewRequest("PUT", "/", nil), time.Second)
		if reads := allReads(httptest.NewRequest("HEAD", "/", nil), time.Second); changes != 0 || reads != time.Second {
			t.Errorf("reads of PUT have %v together, of HEAD %v; want 0 and 1s", changes, reads)
		}
	})
}
