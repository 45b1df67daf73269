package audit_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/attribute"
	"tenon/internal/core/audit"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
	"tenon/internal/core/token"
	"tenon/internal/core/weburl"
)

// audited has what the benchmark creates.
type audited struct {
	d        *db.DB
	ann      authz.Actor
	group    authz.Place
	groupID  namespace.ID
	accounts *account.Service
	spaces   *namespace.Service
	projects *project.Service
	tokens   *token.Service
	n        int
}

// newAudited makes the services, and has what is given react to what they do.
func newAudited(b *testing.B, d *db.DB, reactions ...func(w *coretest.World, bus *event.Bus)) *audited {
	b.Helper()
	w, bus := coretest.New(b, d), &event.Bus{}
	settings := setting.New(d, w.Now)
	limits := &limit.Service{}
	box, err := secret.NewBox(make([]byte, secret.KeySize))
	if err != nil {
		b.Fatal(err)
	}
	jobs := job.EnqueuerFunc(func(context.Context, job.Args, ...job.Option) error { return nil })
	a := &audited{d: d, ann: w.Admin("ann")}
	attributes := attribute.New(attribute.Deps{DB: d, Policy: w.Policy, Now: w.Now})
	a.spaces = namespace.New(namespace.Deps{Limits: limits, DB: d, Policy: w.Policy, Bus: bus, Settings: settings, Attributes: attributes, Now: w.Now})
	a.accounts = account.New(account.Deps{
		DB: d, Policy: w.Policy, Bus: bus, Settings: settings, Limits: limits, Hasher: secret.NewWeakHasher(), Now: w.Now, Attributes: attributes,
		Places: a.spaces, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, ""), Jobs: jobs,
	})
	a.projects = project.New(project.Deps{
		Limits: &limit.Service{},
		DB:     d, Policy: w.Policy, Bus: bus, Accounts: a.accounts, Attributes: attributes, Namespaces: a.spaces, Settings: settings, Now: w.Now, Jobs: jobs, Box: box,
		Outbound: &safehttp.Dialer{Rules: func() safehttp.Rules { return safehttp.Rules{} }},
	})
	a.projects.Connect(coretest.Above(project.Above{}))
	a.tokens = token.New(token.Deps{DB: d, Policy: w.Policy, Bus: bus, Settings: settings, Accounts: a.accounts, Now: w.Now})
	for _, react := range reactions {
		react(w, bus)
	}
	name := "yard"
	g, err := a.spaces.Create(b.Context(), a.ann, namespace.GroupInput{GroupChanges: namespace.GroupChanges{Name: &name, Path: &name}})
	if err != nil {
		b.Fatal(err)
	}
	a.group, a.groupID = g.Place(), g.ID
	for i := range 2_000 {
		w.User(fmt.Sprint("user", i))
	}
	return a
}

// BenchmarkService_cost creates a project, a member and a token by turns where the audit trail reacts and where none does: each is
// the median of what it took, the mean of the processor time of the program, and the statements.
func BenchmarkService_cost(b *testing.B) {
	for name, open := range map[string]func() *db.DB{
		"sqlite": func() *db.DB { return dbtest.Open(b, false) }, "postgres": func() *db.DB { return dbtest.OpenPostgres(b) },
	} {
		b.Run(name, func(b *testing.B) {
			react := func(w *coretest.World, bus *event.Bus) {
				audit.New(audit.Deps{DB: w.DB, Policy: w.Policy, Signer: signer(b), Log: slog.New(slog.DiscardHandler), Now: w.Now}).Subscribe(bus)
			}
			both := []*audited{newAudited(b, open()), newAudited(b, open(), react)}
			for _, tt := range []struct {
				name string
				do   func(ctx context.Context, a *audited) error
			}{
				{"project", func(ctx context.Context, a *audited) error {
					name := fmt.Sprint("crane", a.n)
					_, err := a.projects.Create(ctx, a.ann, project.Input{NamespaceID: &a.groupID, Changes: project.Changes{Attributes: project.Attributes{Name: &name}}})
					return err
				}},
				{"member", func(ctx context.Context, a *audited) error {
					_, err := a.spaces.Add(ctx, a.ann, a.group, namespace.MemberInput{Username: fmt.Sprint("user", a.n), Level: authz.Guest})
					return err
				}},
				{"token", func(ctx context.Context, a *audited) error {
					_, _, err := a.tokens.Create(ctx, a.ann, a.ann.UserID, token.Input{Name: fmt.Sprint("token", a.n), Scopes: []authz.Scope{authz.ScopeAPI}})
					return err
				}},
			} {
				b.Run(tt.name, func(b *testing.B) {
					var times [2][]time.Duration
					var used [2]time.Duration
					var statements [2]uint64
					for i := range 1_000 {
						for side, a := range both {
							a.n = i
							before, began, start := a.d.Statements(), processor(), time.Now()
							if err := tt.do(b.Context(), a); err != nil {
								b.Fatal(err)
							}
							times[side] = append(times[side], time.Since(start))
							used[side] += processor() - began
							statements[side] += a.d.Statements() - before
						}
					}
					for side, name := range []string{"without", "with"} {
						slices.Sort(times[side])
						b.ReportMetric(float64(times[side][500].Microseconds()), "us-"+name)
						b.ReportMetric(float64(used[side].Microseconds())/1_000, "cpu-us-"+name)
						b.ReportMetric(float64(statements[side])/1_000, "statements-"+name)
					}
				})
			}
		})
	}
}
