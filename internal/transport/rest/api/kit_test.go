package api_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/rest/api"
)

// toy is a small product behind the kit.
type toy struct {
	log    *bytes.Buffer
	seen   []httpkit.Observation
	limits *limit.Service
	asked  []string // the things that were looked for
}

type thingEntity struct {
	ID        int64        `json:"id"`
	Name      string       `json:"name"`
	Labels    []string     `json:"labels"`
	CreatedAt api.Time     `json:"created_at"`
	ClosedAt  api.NullTime `json:"closed_at"`
	Due       api.Date     `json:"due_date"`
	Pipeline  *thingEntity `json:"pipeline" later:"ci"`
}

var born = time.Date(2023, 5, 22, 12, 11, 12, 345_678_000, time.FixedZone("", 7200))

func thing(id int64, name string) thingEntity {
	return thingEntity{ID: id, Name: name, CreatedAt: api.Time(born)}
}

type thingPath struct {
	ID string `param:"id,required"`
}

type echo struct {
	As    string `json:"as"`
	Param any    `json:"param"`
}

// show answers with the parameters as they were decoded.
func show[P any](_ context.Context, as authz.Actor, p P) (api.Text, error) {
	return api.Text(fmt.Sprintf("%s %+v", as.Username, p)), nil
}

func (s *toy) authenticate(_ context.Context, c httpkit.Credential) (authz.Actor, error) {
	actor := authz.Actor{UserID: 2, Username: "ann", TokenID: 7, Scopes: authz.Scopes{authz.ScopeAPI}}
	if c.How == httpkit.JobToken || c.How == httpkit.DeployToken {
		return authz.Actor{}, errs.New(errs.Unauthorized, "")
	}
	switch c.Secret {
	case "ann":
	case "root":
		actor = authz.Actor{UserID: 1, Username: "root", Admin: true, Scopes: authz.Scopes{authz.ScopeAPI, authz.ScopeSudo}}
	case "root-api":
		actor = authz.Actor{UserID: 1, Username: "root", Admin: true, Scopes: authz.Scopes{authz.ScopeAPI}}
	case "root-session":
		actor = authz.Actor{UserID: 1, Username: "root", Admin: true}
	case "reader":
		actor.Scopes = authz.Scopes{authz.ScopeReadAPI}
	case "profile":
		actor.Scopes = authz.Scopes{authz.ScopeReadUser}
	case "git":
		actor.Scopes = authz.Scopes{authz.ScopeReadRepository}
	case "expired":
		return actor, fmt.Errorf("check token: %w", httpkit.TokenExpired)
	case "revoked":
		return actor, httpkit.TokenRevoked
	case "impersonation":
		return actor, httpkit.ImpersonationOff
	case "blocked":
		return actor, errs.Denied("Your account has been blocked.")
	default:
		return actor, errs.New(errs.Unauthorized, "")
	}
	return actor, nil
}

func (s *toy) findUser(_ context.Context, who string) (authz.Actor, error) {
	if who == "2" || strings.EqualFold(who, "ann") {
		return authz.Actor{UserID: 2, Username: "ann"}, nil
	}
	return authz.Actor{}, errs.Missing("User")
}

// pageOfThings is embedded once more, as the parameters of lists often are.
type pageOfThings struct {
	thingPath
	api.Page
}

type thingPage struct {
	pageOfThings
	Sort string `param:"sort" default:"desc" values:"asc,desc"`
}

type createThing struct {
	Name   string      `param:"name,required,nonempty"`
	Count  int         `param:"count"`
	Labels api.Strings `param:"labels"`
	Avatar *api.File   `param:"avatar"`
}

func (s *toy) list(_ context.Context, _ authz.Actor, p thingPage) (api.List[thingEntity], error) {
	total := map[string]int{"empty": 0, "many": 10_001, "full": 10_000}[p.ID]
	if p.ID == "45" {
		total = 45
	}
	var items []thingEntity
	for i := p.Range().Offset; i < total && i < p.Range().Offset+p.PerPage && len(items) < 2; i++ {
		items = append(items, thing(int64(i+1), "t"))
	}
	if p.ID == "uncounted" {
		return api.Listed(page.Page[thingEntity]{Total: -1, HasNext: p.Number < 3}, items), nil
	}
	return api.Listed(page.Page[thingEntity]{Total: total}, items), nil
}

func (s *toy) failing(_ context.Context, _ authz.Actor, p thingPath) (api.None, error) {
	if err, ok := failures[p.ID]; ok {
		return api.None{}, err
	}
	if p.ID == "panic" {
		panic("secret detail")
	}
	return api.None{}, fmt.Errorf("load thing: %w", errors.New("secret detail"))
}

func (s *toy) routes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/version", func(context.Context, authz.Actor, struct{}) (thingEntity, error) {
			return thing(1, "a <b> & c"), nil
		}).Doc("version").Public(),
		api.Get("/things/:id", func(_ context.Context, as authz.Actor, p thingPath) (echo, error) {
			s.asked = append(s.asked, p.ID)
			if strings.HasSuffix(p.ID, ".json") && p.ID != "whole.json" {
				return echo{}, errs.Missing("Thing")
			}
			return echo{as.Username, p.ID}, nil
		}).Doc("show").Public().Rate(limit.UsersByID),
		api.Get("/numbers/:n", show[struct {
			N int64 `param:"n"`
		}]).Doc("number").Public(),
		api.Get("/numbers/all", show[struct{}]).Doc("all numbers").Scope(authz.ScopeReadUser),
		api.Put("/things/:id", func(_ context.Context, as authz.Actor, p thingPath) (echo, error) {
			return echo{as.Username, p.ID}, nil
		}).Doc("change").Public(),
		api.Get("/things/special", func(_ context.Context, as authz.Actor, p struct{}) (echo, error) {
			return echo{as.Username, "special"}, nil
		}).Doc("special").Public(),
		api.Delete("/things/:id", func(_ context.Context, as authz.Actor, p thingPath) (api.None, error) {
			return api.None{}, as.UnmodifiedAt(born)
		}).Doc("delete").Timed().Alias("/old_things/:id"),
		api.Post("/things", func(_ context.Context, _ authz.Actor, p createThing) (thingEntity, error) {
			e := thing(int64(p.Count), p.Name)
			e.Labels = p.Labels
			if p.Avatar != nil {
				f, err := p.Avatar.Open()
				if err != nil {
					return e, err
				}
				defer f.Close()
				content, err := io.ReadAll(f)
				e.Name += fmt.Sprintf(" %s %d %.5s", p.Avatar.Name, len(content), content)
				return e, err
			}
			return e, nil
		}).Doc("create").MaxBody(4<<20).Needs("create_thing"),
		api.Get("/things/:id/parts", s.list).Doc("list").Public(),
		api.Get("/things/:id/keys", func(_ context.Context, _ authz.Actor, p thingPage) (api.List[int], error) {
			order, all := page.Order{page.ID("")}, []int64{1, 2, 3, 4, 5}
			switch p.ID {
			case "last":
				all = nil
			case "odd":
				order = page.Order{page.Computed("")}
			}
			list, err := page.Slice(all, p.Range(), order, func(n *int64) []any { return []any{*n} })
			out := api.ListOf(list, func(n *int64) int { return int(*n) })
			if p.ID == "led" {
				out = out.LedBy("id_after", "2")
			}
			return out, err
		}).Doc("keys").Public(),
		api.Get("/things/:id/fail", s.failing).Doc("fail").Public(),
		api.Post("/things/:id/fail", s.failing).Doc("fail").Public(),
		api.Get("/things/:id/files/:file_path/raw", show[struct {
			thingPath
			FilePath string `param:"file_path,required,free"`
		}]).Doc("raw file").Public(),
		api.Get("/things/:id/refs/:ref", show[struct {
			thingPath
			Ref string `param:"ref,required,free"`
		}]).Doc("ref").Public(),
		api.Get("/things/:id/archive{.format}", show[struct {
			thingPath
			Format string `param:"format" values:"zip,tar.gz"`
		}]).Doc("archive").Public(),
		api.Get("/things/:id/tree/*path", show[struct {
			thingPath
			Path string `param:"path,required,free"`
		}]).Doc("tree").Public(),
		api.Get("/user", func(_ context.Context, as authz.Actor, p struct{}) (echo, error) {
			return echo{as.Username, nil}, nil
		}).Doc("user").Scope(authz.ScopeReadUser),
		api.Post("/user", func(_ context.Context, as authz.Actor, p struct{}) (echo, error) {
			return echo{as.Username, nil}, nil
		}).Doc("user").Scope(authz.ScopeReadUser),
		api.Get("/self", func(_ context.Context, as authz.Actor, p struct{}) (api.Reply[echo], error) {
			return api.Reply[echo]{Status: 202, Header: http.Header{"X-Own": {"1"}}, Body: echo{as.Username, nil}}, nil
		}).Doc("self").AnyScope(),
		api.Put("/upload", func(_ context.Context, _ authz.Actor, p struct {
			Body  api.RawBody
			Whole bool `param:"whole"`
		},
		) (api.Raw, error) {
			if p.Whole {
				if _, err := io.ReadAll(p.Body); err != nil {
					return api.Raw{}, fmt.Errorf("read upload: %w", err)
				}
			}
			return api.Raw{Status: 201, Type: "text/x", Stream: io.NopCloser(p.Body), Length: p.Body.Length}, nil
		}).Doc("upload").MaxBody(10),
		api.Post("/limited", show[struct{}]).Doc("limited").Rate(limit.NotesCreate),
		api.Post("/large", show[struct {
			Text string `param:"text"`
		}]).Doc("large").MaxBody(100<<20).RateLarge(limit.LargeBody, limit.LargeCommits),
	)
}

func (s *toy) kit() *api.Kit {
	s.log = &bytes.Buffer{}
	return api.New(api.Config{
		ExternalURL:  "https://git.example.com",
		Authenticate: s.authenticate,
		FindUser:     s.findUser,
		Log:          slog.New(slog.NewJSONHandler(s.log, nil)),
		Observe:      func(o httpkit.Observation) { s.seen = append(s.seen, o) },
		Limits:       cmp.Or(s.limits, &limit.Service{}),
		Title:        "Toy", Version: "1",
	}, s.routes())
}

// call sends a request: "GET /version", headers as "Name: value", then a blank line and the body.
func call(t testing.TB, k http.Handler, request string) *httptest.ResponseRecorder {
	t.Helper()
	head, body, _ := strings.Cut(request, "\n\n")
	lines := strings.Split(head, "\n")
	method, target, _ := strings.Cut(lines[0], " ")
	if !strings.HasPrefix(target, "/api") {
		target = "/api/v4" + target
	}
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	k.ServeHTTP(w, r)
	return w
}
