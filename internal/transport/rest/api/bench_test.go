package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/transport/rest/api"
)

// sink is a response writer that keeps nothing, so that the kit alone is measured.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}

// BenchmarkKit measures routing, decoding, sign-on, rendering and logging of small
// requests, among nine hundred routes.
func BenchmarkKit(b *testing.B) {
	s := &toy{}
	routes := s.routes()
	for i := range 900 {
		routes = append(routes, api.Get(fmt.Sprintf("/things/:id/more%d/:name", i), nothing[struct {
			thingPath
			Name string `param:"name,required"`
		}]).Doc("x").Scope())
	}
	k := api.New(api.Config{
		ExternalURL: "https://git.example.com", Authenticate: s.authenticate, FindUser: s.findUser, Limits: &limit.Service{},
		Log: slog.New(slog.NewJSONHandler(discard{}, nil)),
	}, routes)
	for name, request := range map[string]string{
		"read":   "GET /version\nPRIVATE-TOKEN: ann",
		"list":   "GET /things/45/parts?page=2&state=opened&labels[]=a&labels[]=b\nPRIVATE-TOKEN: ann",
		"create": "POST /things\nPRIVATE-TOKEN: ann\nContent-Type: application/json\n\n{\"name\":\"a note\",\"count\":3,\"labels\":\"a,b\"}",
		"miss":   "GET /things/1/nothing",
	} {
		head, body, _ := strings.Cut(request, "\n\n")
		lines := strings.Split(head, "\n")
		method, target, _ := strings.Cut(lines[0], " ")
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest(method, "/api/v4"+target, nil)
			for _, line := range lines[1:] {
				key, value, _ := strings.Cut(line, ": ")
				r.Header.Set(key, value)
			}
			reader := strings.NewReader(body)
			w := &sink{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				reader.Reset(body)
				r.Body, r.ContentLength = readCloser{reader}, int64(len(body))
				clear(w.header)
				k.ServeHTTP(w, r)
			}
		})
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// BenchmarkKit_large measures a list of twenty entities of 2.5 kB.
func BenchmarkKit_large(b *testing.B) {
	items := make([]thingEntity, 20)
	for i := range items {
		items[i] = thing(int64(i), strings.Repeat("x", 2500))
	}
	k := kitOf(api.Get("/p", func(_ context.Context, _ authz.Actor, p struct{ api.Page }) (api.List[thingEntity], error) {
		return api.Listed(page.Page[thingEntity]{Total: 1000}, items), nil
	}))
	r := httptest.NewRequest("GET", "/api/v4/p?page=2", nil)
	w := &sink{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		k.ServeHTTP(w, r)
	}
}
