package app

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// few is how many rows the lists have here at least where there can be several.
const few = 5

// TestLists walks every list page by page, by offset and by cursor, in every order: both
// walks meet the same rows. Lists and orders without cursors are in a golden file. The
// links carry every parameter that was sent or has a default.
func TestLists(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		path := "/projects/" + w.projects[0].values["projects/:id"]
		w.fill(path, "many", few)
		refused := map[string][]string{}
		several, walked := 0, 0
		for _, r := range w.lists() {
			q, missing := r.request()
			if missing != "" {
				t.Fatalf("%s: no value for :%s", r.title(), missing)
			}
			q.as = "owner"
			if code := w.send(t.Context(), q).Code; code == http.StatusForbidden || code == http.StatusNotFound {
				q.as = "admin"
			}
			for _, order := range r.orders() {
				base := q
				base.path = wide(withQuery(q.path, order))
				byOffset := w.walk(t, base)
				base.path = withQuery(base.path, "pagination=keyset")
				if a := w.send(t.Context(), base); a.Code == http.StatusMethodNotAllowed {
					if want := `{"error":"Keyset pagination is not yet available for this type of request"}`; a.Body.String() != want {
						t.Errorf("%s: got %s, want %s", base.path, a.Body, want)
					}
					if name := orderName(order); !slices.Contains(refused[r.title()], name) {
						refused[r.title()] = append(refused[r.title()], name)
					}
					continue
				}
				byCursor := w.walk(t, base)
				if !slices.Equal(byOffset, byCursor) {
					t.Errorf("%s %s\nby offset %q\nby cursor %q", q.as, base.path, byOffset, byCursor)
				}
				walked++
				if len(byOffset) > 2 {
					several++
					w.extremes(t, base)
				}
			}
			w.linked(t, r, q)
		}
		if several < walked/2 {
			t.Errorf("only %d of %d lists have more than one page: what was to be compared?", several, walked)
		}
		var lines []string
		for title, orders := range refused {
			lines = append(lines, title+": "+strings.Join(orders, ", ")+"\n")
		}
		slices.Sort(lines)
		compareGolden(t, "testdata/keyset.txt", "# Orders of lists that have no cursors.\n"+strings.Join(lines, ""))
	})
}

// TestLists_stable reads the first page of every list by cursor, then adds rows to the lists
// and deletes others, and reads the lists to their ends: what was there before and is there
// afterwards comes exactly once.
func TestLists_stable(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		path := "/projects/" + w.projects[0].values["projects/:id"]
		w.fill(path, "many", few)
		type reading struct {
			title         string
			q             request
			before, first []string
			next          string
		}
		var readings []reading
		for _, r := range w.lists() {
			q, _ := r.request()
			q.as = "owner"
			if code := w.send(t.Context(), q).Code; code == http.StatusForbidden || code == http.StatusNotFound {
				q.as = "admin"
			}
			q.path = withQuery(wide(q.path), "pagination=keyset")
			if w.send(t.Context(), q).Code == http.StatusMethodNotAllowed {
				q.path = withQuery(q.path, "order_by=id")
			}
			if code := w.send(t.Context(), q).Code; code == http.StatusMethodNotAllowed || code == http.StatusBadRequest {
				continue // it has no order with cursors, or none by id: keyset.txt
			}
			before := w.walk(t, q)
			if len(before) < 3 {
				continue
			}
			first, next := w.part(t, withQuery(q.path, "per_page=2"), q)
			readings = append(readings, reading{r.title(), q, before, first, next})
		}
		if len(readings) < 30 {
			t.Errorf("only %d lists have a second page", len(readings))
		}
		w.fill(path, "more", 3)
		group := "/groups/" + w.projects[0].values["groups/:id"]
		for _, gone := range []string{
			path + "/repository/tags/many-1", path + "/repository/branches/branch-5-2", group + "/labels/many-0", path + "/issues/3",
			group + "/members/" + w.userID(t, "many-0"), path + "/members/" + w.userID(t, "many-1"),
		} {
			if a := w.send(t.Context(), request{as: "owner", method: "DELETE", path: gone}); a.Code != http.StatusNoContent {
				t.Errorf("DELETE %s: got %d %s", gone, a.Code, a.Body)
			}
		}
		changed := 0
		for _, r := range readings {
			after := w.walk(t, r.q)
			if !slices.Equal(r.before, after) {
				changed++
			}
			got := r.first
			for next := r.next; next != ""; {
				var rows []string
				rows, next = w.part(t, next, r.q)
				got = append(got, rows...)
			}
			times := map[string]int{}
			for _, row := range got {
				times[row]++
			}
			for _, row := range r.before {
				if slices.Contains(after, row) && times[row] != 1 {
					t.Errorf("%s: %q comes %d times\nbefore %q\n   got %q\n after %q", r.title, row, times[row], r.before, got, after)
				}
			}
		}
		if changed < 20 {
			t.Errorf("only %d lists have changed meanwhile", changed)
		}
	})
}

// userID finds a user by name.
func (w *world) userID(t *testing.T, name string) string {
	t.Helper()
	a := w.send(t.Context(), request{as: "admin", method: "GET", path: "/users?username=" + name})
	var list []struct{ ID int64 }
	if err := json.Unmarshal(a.Body.Bytes(), &list); err != nil || len(list) != 1 {
		t.Fatalf("users named %s: got %d %s", name, a.Code, a.Body)
	}
	return fmt.Sprint(list[0].ID)
}

// orders returns the queries for the orders in which the list can be read.
func (r row) orders() []string {
	var by, directions []string
	for _, p := range r.route.Params {
		switch p.Name {
		case "order_by":
			by = p.Values
		case "sort":
			directions = p.Values
		}
	}
	if len(directions) == 0 {
		return []string{""}
	}
	out := []string{""}
	for _, direction := range directions {
		if len(by) == 0 {
			out = append(out, "sort="+direction)
		}
		for _, column := range by {
			order := "order_by=" + column + "&sort=" + direction
			if column == "finished_at" {
				order += "&status=success&finished_after=2001-01-01" // which it needs
			}
			out = append(out, order)
		}
	}
	return out
}

// orderName is the column that a query orders by.
func orderName(order string) string {
	if order == "" {
		return "default"
	}
	values, err := url.ParseQuery(order)
	if err != nil {
		panic(err)
	}
	if by := values.Get("order_by"); by != "" {
		return by
	}
	return values.Get("sort")
}

func withQuery(path, query string) string {
	switch {
	case query == "":
		return path
	case strings.Contains(path, "?"):
		return path + "&" + query
	}
	return path + "?" + query
}

// walk follows the links to the next page, two rows each, and says which rows it met.
func (w *world) walk(t *testing.T, q request) []string {
	t.Helper()
	q.path = withQuery(q.path, "per_page=2")
	var out []string
	for range 300 {
		rows, next := w.part(t, q.path, q)
		for _, row := range rows {
			if slices.Contains(out, row) {
				t.Errorf("%s: %q comes twice", q.path, row)
			}
		}
		out = append(out, rows...)
		if next == "" {
			return out
		}
		q.path = next
	}
	t.Errorf("%s: there is no end", q.path)
	return out
}

// extremes asks for pages that begin after the largest and the smallest values of the order:
// they are read or refused, whatever the types of the columns.
func (w *world) extremes(t *testing.T, q request) {
	t.Helper()
	_, next := w.part(t, withQuery(q.path, "per_page=2"), q)
	_, query, _ := strings.Cut(next, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	param := "cursor"
	if !values.Has(param) {
		param = "page_token"
	}
	raw, err := base64.URLEncoding.DecodeString(values.Get(param))
	var content map[string]*string
	if err != nil || json.Unmarshal(raw, &content) != nil {
		if param == "cursor" && values.Has(param) {
			t.Errorf("%s: got the cursor %q, %v", next, values.Get(param), err)
		}
		return // an id or a name
	}
	for _, extreme := range []struct{ number, moment, text string }{
		{"9223372036854775807", "9999-12-31T23:59:59.999999999Z", strings.Repeat("\U0010ffff", 1000)},
		{"-9223372036854775808", "0001-01-01T00:00:00Z", ""},
	} {
		cursor := map[string]*string{}
		for name, old := range content {
			cursor[name] = old
			if old == nil || name == "_kd" {
				continue
			}
			cursor[name] = &extreme.text
			if _, err := strconv.ParseInt(*old, 10, 64); err == nil {
				cursor[name] = &extreme.number
			} else if _, err := time.Parse(time.RFC3339Nano, *old); err == nil {
				cursor[name] = &extreme.moment
			}
		}
		text, err := json.Marshal(cursor)
		if err != nil {
			t.Fatal(err)
		}
		after := q
		after.path = withQuery(q.path, param+"="+base64.RawURLEncoding.EncodeToString(text))
		if a := w.send(t.Context(), after); a.Code >= http.StatusInternalServerError {
			t.Errorf("%s after %.200s: got %d %.200s", q.path, text, a.Code, a.Body)
		}
	}
}

// part reads one page of at most two rows, and says what leads to the next one.
func (w *world) part(t *testing.T, path string, q request) (out []string, next string) {
	t.Helper()
	q.path = path
	a := w.send(t.Context(), q)
	var rows []map[string]any
	if err := json.Unmarshal(a.Body.Bytes(), &rows); err != nil || a.Code != http.StatusOK || len(rows) > 2 {
		t.Errorf("%s: got %d %.200s", q.path, a.Code, a.Body)
		return nil, ""
	}
	for _, row := range rows {
		var id []string
		for _, name := range []string{"id", "path", "new_path", "name", "key", "username", "email", "source_id", "source_type", "user", "type"} {
			if v, ok := row[name]; ok {
				id = append(id, fmt.Sprint(v))
			}
		}
		out = append(out, strings.Join(id, " "))
	}
	next, others := links(a)
	keyset := strings.Contains(q.path, "pagination=keyset")
	if keyset && (a.Header().Get("X-Total") != "" || a.Header().Get("X-Page") != "" || others) {
		t.Errorf("%s: a keyset page has the headers of an offset: %v", q.path, a.Header())
	}
	return out, strings.TrimPrefix(next, w.baseURL+"/api/v4")
}

// links returns the link to the next page, and whether there are others.
func links(a *httptest.ResponseRecorder) (next string, others bool) {
	for part := range strings.SplitSeq(a.Header().Get("Link"), ", ") {
		link, rel, _ := strings.Cut(part, ">; ")
		switch rel {
		case `rel="next"`:
			next = strings.TrimPrefix(link, "<")
		case "":
		default:
			others = true
		}
	}
	return next, others
}

// linked checks that the links of a list carry what was sent and what has a default.
func (w *world) linked(t *testing.T, r row, q request) {
	t.Helper()
	q.path = withQuery(q.path, "per_page=1&odd=a%20b")
	a := w.send(t.Context(), q)
	link, _, _ := strings.Cut(strings.TrimPrefix(a.Header().Get("Link"), "<"), ">")
	u, err := url.Parse(link)
	if err != nil || link == "" {
		t.Errorf("%s: got the Link %q", q.path, a.Header().Get("Link"))
		return
	}
	given := u.Query()
	sent, err := url.Parse(q.path)
	if err != nil {
		t.Fatal(err)
	}
	want := sent.Query()
	for _, p := range r.route.Params {
		if p.Default != "" && !want.Has(p.Name) && p.Name != "page" {
			want.Set(p.Name, p.Default)
		}
		if p.InPath && p.Required && !given.Has(p.Name) {
			t.Errorf("%s: the Link lacks :%s of the path: %s", q.path, p.Name, link)
		}
	}
	for name, values := range want {
		if !slices.Equal(given[name], values) {
			t.Errorf("%s: the Link has %s %q, want %q: %s", q.path, name, given[name], values, link)
		}
	}
}

// The links of a list carry the parameters that the public API declares a default for.
func TestLists_defaults(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	group := number(s.do("admin", "POST", "/groups", obj{"name": "Group", "path": "group"}), "id")
	project := number(s.do("admin", "POST", "/projects", obj{"name": "P", "namespace_id": group, "initialize_with_readme": true}), "id")
	s.do("admin", "POST", "/groups", obj{"name": "Other", "path": "other", "parent_id": group})
	const projects = "order_by=created_at owned=false page=1 per_page=20 simple=false sort=desc starred=false " +
		"with_custom_attributes=false with_issues_enabled=false with_merge_requests_enabled=false"
	const groups = "order_by=name owned=false page=1 per_page=20 sort=asc statistics=false with_custom_attributes=false"
	const issues = "non_archived=true order_by=created_at page=1 per_page=20 sort=desc state=all with_labels_details=false"
	const requests = "order_by=created_at page=1 per_page=20 sort=desc state=all with_labels_details=false with_merge_status_recheck=false"
	for path, want := range map[string]string{
		"/projects": projects + " imported=false include_hidden=false membership=false repository_checksum_failed=false " +
			"statistics=false wiki_checksum_failed=false",
		"/groups":                                       groups,
		"/groups/" + group + "/subgroups":               groups + " id=" + group,
		"/groups/" + group + "/projects":                projects + " include_ancestor_groups=false include_subgroups=false with_security_reports=false with_shared=true",
		"/issues":                                       issues + " scope=created_by_me",
		"/groups/" + group + "/issues":                  issues + " id=" + group,
		"/merge_requests":                               requests + " scope=created_by_me",
		"/projects/" + project + "/merge_requests":      requests + " id=" + project,
		"/projects/" + project + "/repository/tree":     "id=" + project + " page=1 pagination=legacy per_page=20 recursive=false",
		"/projects/" + project + "/repository/branches": "id=" + project + " page=1 per_page=20 sort=name_asc",
		"/projects/" + project + "/repository/commits?per_page=7&page=1": "id=" + project + " order=default page=1 per_page=7 trailers=false",
	} {
		a := s.send(t.Context(), request{as: "admin", method: "GET", path: path})
		link, _, _ := strings.Cut(strings.TrimPrefix(a.Header().Get("Link"), "<"), ">")
		u, err := url.Parse(link)
		if err != nil || a.Code != http.StatusOK || link == "" {
			t.Errorf("%s: got %d with the Link %q, %v", path, a.Code, link, err)
			continue
		}
		given := u.Query()
		for pair := range strings.FieldsSeq(want) {
			if name, value, _ := strings.Cut(pair, "="); given.Get(name) != value {
				t.Errorf("%s: the Link has %s %q, want %q: %s", path, name, given[name], value, link)
			}
		}
	}
	refs := s.send(t.Context(), request{as: "admin", method: "GET", path: "/projects/" + project + "/repository/commits/main/refs"})
	if _, ok := refs.Header()["X-Total"]; ok || refs.Header().Get("X-Page") != "1" || strings.Contains(refs.Header().Get("Link"), `rel="last"`) {
		t.Errorf("references of a commit are counted: %v", refs.Header())
	}
}
