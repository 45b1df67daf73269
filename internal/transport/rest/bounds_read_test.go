package rest

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/noteable"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/rest/api"
)

// TestReads_have_bounds walks every parameter of every endpoint that reads: each has a bound,
// and asks too much of each list, hash and search.
func TestReads_have_bounds(t *testing.T) {
	t.Parallel()
	kit := api.New(api.Config{
		ExternalURL: "https://tenon.example", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Limits: &limit.Service{},
		Authenticate: func(context.Context, httpkit.Credential) (authz.Actor, error) {
			return authz.Actor{UserID: 1, Admin: true, Scopes: authz.Scopes{authz.ScopeAPI}}, nil
		},
	}, (&Server{Services: &core.Services{Kinds: &noteable.Kinds{}}}).Routes())
	reads, lists := 0, 0
	for _, route := range kit.Routes() {
		if route.Method != "GET" && route.Method != "HEAD" {
			continue
		}
		reads++
		for _, param := range flat(route.Params) {
			where := route.Method + " " + route.Path + " " + param.Name
			longest := 4096
			if param.Name == "cursor" || param.Name == "page_token" { // they hold whole paths and titles
				longest = 16384
			}
			if param.MaxLength < 1 || param.MaxLength > longest {
				t.Errorf("%s: texts have up to %d characters, want 1 to %d", where, param.MaxLength, longest)
			}
			if (param.Name == "search" || strings.HasSuffix(param.Name, "[search]")) && param.MaxWords != 20 {
				t.Errorf("%s: %d words are taken, want 20", where, param.MaxWords)
			}
			many := manyOf(param)
			if many == nil {
				continue
			}
			lists++
			if param.MaxValues != 100 {
				t.Errorf("%s: %d values are taken, want 100", where, param.MaxValues)
			}
			r := httptest.NewRequest(route.Method, api.Prefix+sample(route.Path)+"?"+many.Encode(), nil)
			r.Header.Set("Private-Token", "x")
			w := httptest.NewRecorder()
			kit.ServeHTTP(w, r)
			want := param.Name + " has too many values (maximum is 100)"
			if w.Code != 400 || route.Method == "GET" && !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s with 101 values: got %d %.200s, want 400 with %q", where, w.Code, w.Body, want)
			}
		}
	}
	if reads < 150 || lists < 50 {
		t.Errorf("only %d endpoints with %d lists were looked at", reads, lists)
	}
}

// flat lists parameters with those inside of them.
func flat(params []api.Param) []api.Param {
	var out []api.Param
	for _, p := range params {
		out = append(append(out, p), flat(p.Inside)...)
	}
	return out
}

// manyOf returns 101 values for a list or hash, nil for anything else.
func manyOf(p api.Param) url.Values {
	kind := p.Type
	for kind.Kind() == reflect.Pointer || strings.HasPrefix(kind.Name(), "Opt[") {
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		} else {
			kind = kind.Field(0).Type
		}
	}
	out := url.Values{}
	for i := range 101 {
		switch kind.Kind() {
		case reflect.Slice:
			out.Add(p.Name+"[]", strconv.Itoa(i))
		case reflect.Map, reflect.Interface:
			out.Set(p.Name+"["+strconv.Itoa(i)+"x]", "v")
		default:
			return nil
		}
	}
	return out
}

// sample is a path of the pattern.
func sample(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") || strings.HasPrefix(part, "*") {
			parts[i] = "1"
		}
		parts[i], _, _ = strings.Cut(parts[i], "{.")
	}
	return strings.Join(parts, "/")
}
