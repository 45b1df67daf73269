package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tenon/internal/transport/rest/api"
)

// parameterReasons has the parameters of lists that change no answer of the test's world, each with its reason.
const parameterReasons = "testdata/parameters.txt"

// TestParameters gives every declared parameter of every route that lists several values, one after the other, in the world of
// TestArguments. A parameter that changes no answer, in no place and to no reader, is in the file of reasons, and no other is, but for
// those whose reason begins with "at times". TestLists has those that page.
func TestParameters(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	values, path := w.planned(4)
	w.variety(path, values)
	tries := &parameters{world: w, moved: w.related(path, values)}
	idle := map[string]bool{}
	for _, r := range w.lists() {
		for _, p := range flat(r.route.Params) {
			name := strings.TrimPrefix(key(r.route), "GET ") + "?" + p.Name
			if was, seen := idle[name]; seen && !was || p.InPath || p.Header || slices.Contains([]string{"page", "per_page", "pagination", "cursor", "page_token"}, p.Name) {
				continue
			}
			idle[name] = !tries.effective(t, r, p)
		}
	}
	if t.Logf("%d parameters", len(idle)); len(idle) < 700 {
		t.Errorf("only %d parameters were tried", len(idle))
	}
	reasons, used := explained(t, parameterReasons), map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		_, param, _ := strings.Cut(name, "?")
		for _, reason := range []string{name, "*?" + param} {
			if reasons[reason] == "" {
				continue
			}
			if used[reason] = used[reason] || idle[name] || strings.HasPrefix(reasons[reason], "at times: "); idle[name] {
				delete(idle, name)
			}
		}
		if idle[name] {
			t.Errorf("%s changes no answer", name)
		}
	}
	for name := range reasons {
		if !used[name] {
			t.Errorf("%s names %s, which is not declared or changes answers", parameterReasons, name)
		}
	}
}

// flat returns parameters with those inside of others in place of these.
func flat(params []api.Param) (out []api.Param) {
	for _, p := range params {
		if len(p.Inside) > 0 {
			out = append(out, flat(p.Inside)...)
		} else {
			out = append(out, p)
		}
	}
	return out
}

// parameters asks for lists with one parameter after the other.
type parameters struct {
	*world
	moved map[string][]string // other places to ask for a list in, by the beginning of its path
}

// effective reports whether some value of a parameter changes the answer of a list in some place to some reader.
func (w *parameters) effective(t *testing.T, r row, p api.Param) bool {
	t.Helper()
	q, missing := r.request()
	if missing != "" {
		t.Fatalf("%s: no value for :%s", r.title(), missing)
	}
	bases := []string{wide(q.path), q.path}
	for begin, others := range w.moved {
		for _, other := range others {
			if rest, ok := strings.CutPrefix(q.path, begin); ok {
				bases = append(bases, wide(other+rest))
			}
		}
	}
	if bare, query, _ := strings.Cut(q.path, "?"); strings.Contains(query, "scope=") && strings.HasSuffix(bare, "search") {
		for _, scope := range []string{"projects", "issues", "merge_requests", "milestones", "notes", "blobs", "commits", "users"} {
			bases = append(bases, bare+"?scope="+scope+"&search=deep", bare+"?scope="+scope+"&search=e")
		}
	}
	for _, base := range bases {
		for _, beside := range append([]string{""}, companions[p.Name]...) {
			for _, as := range []string{"admin", "owner", "guest", "stranger"} {
				q.as, q.path = as, withQuery(base, beside)
				plain, body := w.answer(t, q)
				if plain == "" {
					continue
				}
				for _, value := range append(r.valuesOf(p), seen(body, p)...) {
					q.path = withQuery(without(withQuery(base, beside), p.Name), url.QueryEscape(p.Name)+value)
					if got, _ := w.answer(t, q); got != "" && got != plain {
						return true
					}
				}
			}
		}
	}
	return false
}

// companions are what a parameter needs beside it, in several ways.
var companions = map[string][]string{
	"in": {"search=issue", "search=request", "search=week", "search=sprints"}, "updated_after": {"order_by=updated_at"}, "updated_before": {"order_by=updated_at"}, "sort": {"order_by=created_at"},
	"search_namespaces": {"search=in-private", "search=below", "search=mate", "search=in-public", "search=lent"}, "shared_min_access_level": {"with_shared=true"},
	"shared_visible_only": {"with_shared=true"}, "full_path_search": {"search=in-p"}, "extern_uid": {"provider=saml&extern_uid=none"}, "provider": {"provider=none&extern_uid=mate-1"},
	"finished_after": {"order_by=finished_at&status=success&finished_before=2099-01-01"}, "finished_before": {"order_by=finished_at&status=success&finished_after=2001-01-01"},
	"order_by": {"sort=desc"}, "order": {"all=true"}, "first_parent": {"ref_name=main"}, "trailers": {"ref_name=main"},
}

// without takes a parameter out of a path.
func without(path, name string) string {
	bare, query, _ := strings.Cut(path, "?")
	values, err := url.ParseQuery(query)
	if err != nil || !values.Has(name) {
		return path
	}
	values.Del(name)
	return bare + "?" + values.Encode()
}

// answer asks for a list and returns what differs from answer to answer, "" if the request is refused as a bad one, and the body.
func (w *parameters) answer(t *testing.T, q request) (digest, body string) {
	t.Helper()
	a := w.send(t.Context(), q)
	if a.Code >= http.StatusInternalServerError || a.Code == http.StatusTooManyRequests {
		t.Fatalf("%s as %s: %d %s", q.path, q.as, a.Code, a.Body)
	}
	a.Header().Del("Link") // it has the parameters
	if a.Code == http.StatusBadRequest {
		return "", ""
	}
	return stable(a), a.Body.String()
}

// valuesOf are values of a parameter, with the equals sign.
func (r row) valuesOf(p api.Param) (out []string) {
	kind := p.Type
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	for _, v := range p.Values {
		out = append(out, "="+v)
	}
	name := strings.TrimSuffix(p.Name[strings.LastIndexByte(p.Name, '[')+1:], "]")
	switch {
	case len(out) > 1:
		return out
	case kind.Kind() == reflect.Bool:
		return []string{"=true", "=false"}
	case kind.Kind() == reflect.Map:
		return []string{"[nonesuch]=x", "[color]=red"}
	case strings.HasSuffix(name, "_after") || strings.HasSuffix(name, "_before") || slices.Contains([]string{"since", "until", "after", "before"}, name):
		return []string{"=2001-01-01T00:00:00Z", "=2099-01-01T00:00:00Z"}
	case name == "from":
		return []string{"=2001-01-01", "=2099-01-01"}
	case strings.HasSuffix(name, "_on"):
		return []string{"=2001-01-01", "=2002-02-02"}
	case name == "in" || name == "fields":
		return []string{"=title", "=description", "=cadence_title"}
	case name == "scope" || name == "status":
		return append(out, "=success", "=manual", "=failed", "=active", "=paused", "=specific", "=shared")
	case name == "sort":
		return []string{"=asc", "=desc", "=name_asc", "=name_desc", "=created_asc", "=created_desc", "=id_asc"}
	case kind.Kind() == reflect.Slice || kind.Kind() == reflect.Array:
		out = []string{"[]=987654", "[]=1"}
	}
	for _, known := range []string{":" + name, name, "groups/:id", "projects/:id"} {
		if v := r.place.values[known]; v != "" {
			out = append(out, "="+url.QueryEscape(v))
		}
	}
	return append(out, "=987654", "=1", "=nonesuch", "=main", "=saml", "=mate-1")
}

// seen are values of a parameter that an answer has, the likely ones first.
func seen(body string, p api.Param) []string {
	var v any
	if p.Values != nil || json.Unmarshal([]byte(body), &v) != nil {
		return nil
	}
	name := strings.TrimSuffix(strings.Trim(p.Name[strings.LastIndexByte(p.Name, '[')+1:], "]"), "s")
	likely, others := []string{}, []string{}
	var walk func(above, key string, v any)
	walk = func(above, key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(key, k, v[k])
			}
		case []any:
			for _, one := range v {
				walk(above, key, one)
			}
		case string, float64:
			text := "=" + url.QueryEscape(fmt.Sprint(v))
			short := strings.TrimSuffix(key, "s")
			switch {
			case len(text) > 60 || slices.Contains(likely, text) || slices.Contains(others, text):
			case short != "" && strings.HasSuffix(name, short), above != "" && strings.HasPrefix(name, strings.TrimSuffix(above, "s")):
				likely = append(likely, text)
			case len(others) < 12:
				others = append(others, text)
			}
		}
	}
	walk("", "", v)
	return append(likely[:min(len(likely), 12)], others...)
}
