package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/transport/rest/api"
)

func nothing[P any](context.Context, authz.Actor, P) (api.None, error) { return api.None{}, nil }

// panicOf returns what a function panics with, "" where it does not.
func panicOf(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

func TestNew_badDeclarations(t *testing.T) {
	start := func(routes ...*api.Route) { api.New(api.Config{Log: slog.New(slog.DiscardHandler)}, routes) }
	type id struct {
		ID string `param:"id,required"`
	}
	tests := []struct {
		name string
		do   func()
		want string
	}{
		{"no scope", func() { start(api.Get("/a", nothing[struct{}]).Doc("a")) }, "GET /a declares no scope"},
		{"no doc", func() { start(api.Get("/a", nothing[struct{}]).Scope()) }, "GET /a has no Doc"},
		{"twice", func() {
			start(api.Get("/a/:id", nothing[id]).Doc("a").Scope(), api.Get("/a/:id", nothing[id]).Doc("a").Scope())
		}, "GET /a/:id is declared twice"},
		{"undeclared capture", func() { start(api.Get("/a/:b", nothing[id]).Doc("a").Scope()) }, `captures "b", which its parameters do not declare`},
		{"capture twice", func() { start(api.Get("/a/:id/:id", nothing[id]).Doc("a").Scope()) }, `captures "id" twice`},
		{"after the rest", func() { start(api.Get("/a/*id/b", nothing[id]).Doc("a").Scope()) }, "goes on after *id"},
		{"unclean path", func() { start(api.Get("/a/", nothing[struct{}]).Doc("a").Scope()) }, `has the path "/a/"`},
		{"relative path", func() { start(api.Get("a", nothing[struct{}]).Doc("a").Scope()) }, `has the path "a"`},
		{"free outside of the path", func() {
			start(api.Get("/a", nothing[struct {
				B string `param:"b,free"`
			}]).Doc("a").Scope())
		}, `calls "b" free`},
		{"all at once", func() { start(api.Get("/a", nothing[struct{}])) }, "GET /a declares no scope; GET /a has no Doc"},
		{"not a struct", func() { api.Get("/a", nothing[string]) }, "parameters must be a struct"},
		{"no tag", func() { api.Get("/a", nothing[struct{ A string }]) }, "A has neither a param nor a header tag"},
		{"unknown option", func() {
			api.Get("/a", nothing[struct {
				A string `param:"a,optional"`
			}])
		}, `unknown option "optional"`},
		{"unknown type", func() {
			api.Get("/a", nothing[struct {
				A chan int `param:"a"`
			}])
		}, "no parameter can have the type chan int"},
		{"bad default", func() {
			api.Get("/a", nothing[struct {
				A int `param:"a" default:"x"`
			}])
		}, `its default "x" is not one of its values`},
		{"default outside of the values", func() {
			api.Get("/a", nothing[struct {
				A string `param:"a" default:"x" values:"y"`
			}])
		}, `its default "x" is not one of its values`},
		{"required with default", func() {
			api.Get("/a", nothing[struct {
				A string `param:"a,required" default:"x"`
			}])
		}, "is required and has a default"},
		{"name twice", func() {
			api.Get("/a", nothing[struct {
				A string `param:"a"`
				B string `param:"b" alias:"a"`
			}])
		}, `declares the parameter "a" twice`},
		{"rule for nothing", func() {
			api.Get("/a", nothing[struct {
				A string   `param:"a"`
				_ struct{} `exclusive:"a,c"`
			}])
		}, `names "c", which is no parameter`},
		{"no rule", func() {
			api.Get("/a", nothing[struct {
				_ struct{} `only:"a"`
			}])
		}, "a blank field without a rule"},
		{"map of numbers", func() {
			api.Get("/a", nothing[struct {
				A map[int]string `param:"a"`
			}])
		}, "a map parameter has string keys"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := panicOf(tt.do); !strings.Contains(got, tt.want) {
				t.Errorf("got the panic %q, want one with %q", got, tt.want)
			}
		})
	}
}

func TestKit_Routes(t *testing.T) {
	k := (&toy{}).kit()
	routes := k.Routes()
	i := slices.IndexFunc(routes, func(r api.Info) bool { return r.Method == "POST" && r.Path == "/things" })
	if i < 0 {
		t.Fatal("POST /things is not there")
	}
	r := routes[i]
	if r.Doc != "create" || r.Public || r.Status != http.StatusCreated || len(r.Needs) != 1 || r.Needs[0] != "create_thing" {
		t.Errorf("POST /things is %+v", r)
	}
	if p := r.Params[0]; p.Name != "name" || !p.Required || p.InPath {
		t.Errorf("its first parameter is %+v", p)
	}
	for _, r := range routes {
		if r.Path == "/limited" && r.RateClass != limit.NotesCreate {
			t.Errorf("/limited has the class %q", r.RateClass)
		}
		if r.Path == "/things/:id" && !r.Params[0].InPath {
			t.Errorf("the id of %s %s is not in its path", r.Method, r.Path)
		}
	}
}

func TestKit_Later(t *testing.T) {
	want := []api.LaterField{{Entity: "Thing", Field: "pipeline", With: "ci"}}
	if got := (&toy{}).kit().Later(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestKit_Document(t *testing.T) {
	first := (&toy{}).kit().Document()
	for range 5 {
		if again := (&toy{}).kit().Document(); !bytes.Equal(first, again) {
			t.Fatal("the document differs from one start to the next")
		}
	}
	got := call(t, (&toy{}).kit(), "GET /openapi.json")
	if got.Code != 200 || !bytes.Equal(got.Body.Bytes(), first) || got.Header().Get("Content-Type") != "application/json" || got.Header().Get("ETag") == "" {
		t.Errorf("GET /openapi.json: got %d, %d bytes of %s", got.Code, got.Body.Len(), got.Header().Get("Content-Type"))
	}
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			Summary     string
			Deprecated  bool
			Security    []map[string][]string
			Parameters  []map[string]any
			RequestBody struct {
				Content map[string]struct{ Schema map[string]any }
			}
			Responses map[string]struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
		Components struct{ Schemas map[string]map[string]any }
	}
	if err := json.Unmarshal(first, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("it says OpenAPI %s", doc.OpenAPI)
	}
	list := doc.Paths["/things/{id}/parts"]["get"]
	if len(list.Parameters) != 6 || list.Parameters[0]["in"] != "path" || list.Parameters[1]["name"] != "page" {
		t.Errorf("the parameters of the list are %v", list.Parameters)
	}
	if items := list.Responses["200"].Content["application/json"].Schema; items["type"] != "array" {
		t.Errorf("the list answers %v", items)
	}
	create := doc.Paths["/things"]["post"]
	body := create.RequestBody.Content["multipart/form-data"].Schema
	if fmt.Sprint(body["required"]) != "[name]" || len(create.Security) != 2 {
		t.Errorf("create takes %v with %v", body, create.Security)
	}
	if !doc.Paths["/old_things/{id}"]["delete"].Deprecated || doc.Paths["/things/{id}"]["delete"].Deprecated {
		t.Error("the alias, and only it, is deprecated")
	}
	for _, path := range []string{"/things/{id}/archive", "/things/{id}/archive.{format}", "/things/{id}/tree/{path}"} {
		if doc.Paths[path] == nil {
			t.Errorf("no path %s", path)
		}
	}
	entity := doc.Components.Schemas["Thing"]
	want := `map[id:map[type:integer] labels:map[items:map[type:string] type:array] name:map[type:string] ` +
		`pipeline:map[anyOf:[map[$ref:#/components/schemas/Thing] map[type:null]] x-later:ci]]`
	properties, _ := entity["properties"].(map[string]any)
	for _, name := range []string{"created_at", "closed_at", "due_date"} {
		delete(properties, name)
	}
	if got := fmt.Sprint(properties); got != want {
		t.Errorf("the entity is\n%s, want\n%s", got, want)
	}
}

type inner struct {
	Tags  []string         `json:"tags"`
	Next  *inner           `json:"next,omitempty"`
	Many  []inner          `json:"many"`
	Null  *[]string        `json:"null"`
	Raw   json.RawMessage  `json:"raw"`
	Bytes []byte           `json:"bytes"`
	Map   map[string][]int `json:"map"`
}

func TestKit_nilSlices(t *testing.T) {
	type embedded struct {
		Labels []string `json:"labels"`
	}
	type outer struct {
		embedded
		In  inner    `json:"in"`
		Ptr *inner   `json:"ptr"`
		Off []string `json:"off,omitempty"`
	}
	k := kitOf(
		api.Get("/struct", func(context.Context, authz.Actor, struct{}) (outer, error) {
			return outer{Ptr: &inner{Next: &inner{Many: []inner{{}}}}}, nil
		}),
		api.Get("/slice", func(context.Context, authz.Actor, struct{}) ([]inner, error) { return nil, nil }),
		api.Get("/reply", func(context.Context, authz.Actor, struct{}) (api.Reply[*inner], error) {
			return api.Reply[*inner]{Body: &inner{}}, nil
		}),
	)
	const empty = `{"tags":[],"many":[],"null":null,"raw":null,"bytes":null,"map":null}`
	for path, want := range map[string]string{
		"/struct": `{"labels":[],"in":` + empty + `,"ptr":{"tags":[],"next":{"tags":[],"many":[` + empty +
			`],"null":null,"raw":null,"bytes":null,"map":null},"many":[],"null":null,"raw":null,"bytes":null,"map":null}}`,
		"/slice": `[]`,
		"/reply": empty,
	} {
		if got := call(t, k, "GET "+path); got.Body.String() != want {
			t.Errorf("%s\n got %s\nwant %s", path, got.Body, want)
		}
	}
}
