package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestTimeBounds asks every list with bounds of time for the time of a row as it was answered: the
// row is among those that are not before it, and among those that are not after it.
func TestTimeBounds(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	w.fill("/projects/"+w.projects[0].values["projects/:id"], "many", 2)
	asked := map[string]bool{}
	for _, r := range w.lists() {
		q, missing := r.request()
		if missing != "" {
			t.Fatalf("%s: no value for :%s", r.title(), missing)
		}
		q.as = "admin"
		q.path = wide(q.path)
		for _, p := range r.route.Params {
			of, ok := strings.CutSuffix(p.Name, "_before")
			if !ok || slices.Contains([]string{"deployed", "expires", "id", "last_used"}, of) {
				continue // nothing was deployed; days, ids, and times that are written down later
			}
			in := q
			if of == "updated" && strings.HasSuffix(r.route.Path, "projects") {
				in.path = withQuery(in.path, "order_by=updated_at")
			}
			row := w.timed(t, in, of+"_at")
			if row == nil {
				continue
			}
			at := url.QueryEscape(fmt.Sprint(row[of+"_at"]))
			in.path = withQuery(in.path, of+"_before="+at+"&"+of+"_after="+at)
			a := w.send(t.Context(), in)
			if id := fmt.Sprintf("\"id\":%v,", row["id"]); a.Code != http.StatusOK || !strings.Contains(a.Body.String(), id) {
				t.Errorf("%s: got %d %.200s, want the row with %s", in.path, a.Code, a.Body, id)
			}
			asked[key(r.route)] = true
		}
	}
	for _, list := range []string{
		"GET /projects", "GET /users", "GET /personal_access_tokens", "GET /projects/:id/issues", "GET /projects/:id/merge_requests",
		"GET /projects/:id/milestones", "GET /projects/:id/pipelines", "GET /groups/:id/epics",
	} {
		if !asked[list] {
			t.Errorf("%s was not asked", list)
		}
	}
}

// timed returns a row of a list that has a time, nil for none. Nearly all times have more than
// milliseconds in the database.
func (w *world) timed(t *testing.T, q request, name string) map[string]any {
	t.Helper()
	a := w.send(t.Context(), q)
	var rows []map[string]any
	if err := json.Unmarshal(a.Body.Bytes(), &rows); err != nil {
		t.Errorf("%s: got %d %.200s", q.path, a.Code, a.Body)
		return nil
	}
	for _, row := range slices.Backward(rows) { // the request itself uses the first token
		if row[name] != nil {
			return row
		}
	}
	return nil
}
