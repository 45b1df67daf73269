package variable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
	"tenon/internal/core/variable"
)

type world struct {
	*coretest.World
	variables                                     *variable.Service
	admin, owner, maintainer, developer, stranger authz.Actor
	outer, inner                                  authz.Place
	p                                             *project.Project
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	box, err := secret.NewBox(secret.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	w.variables = variable.New(variable.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Box: box, Now: w.Now})
	w.admin, w.owner, w.maintainer, w.developer, w.stranger = w.Admin("root"), w.User("owner"), w.User("maintainer"), w.User("developer"), w.User("stranger")
	outer := w.Group("outer", authz.Private, 0)
	inner := w.Group("outer/inner", authz.Private, outer)
	id := w.Project("outer/inner/p", authz.Private, inner)
	w.Member(outer, w.owner, authz.Owner)
	w.Join(id, w.maintainer, authz.Maintainer)
	w.Join(id, w.developer, authz.Developer)
	groups := namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: setting.New(d, w.Now), Now: w.Now})
	for to, ns := range map[*authz.Place]authz.NamespaceID{&w.outer: outer, &w.inner: inner} {
		g, err := groups.FindByID(context.Background(), w.owner, ns)
		if err != nil {
			t.Fatal(err)
		}
		*to = g.Place()
	}
	w.p = w.Find(w.maintainer, id)
	return w
}

func (w *world) put(as authz.Actor, at authz.Place, in variable.Input) *variable.Variable {
	w.T.Helper()
	v, err := w.variables.Create(context.Background(), as, at, in)
	if err != nil {
		w.T.Fatalf("create %s: %v", in.Key, err)
	}
	return v
}

func text(s string) *string { return &s }

func TestService_Create(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		var heard []variable.Created
		event.On(w.Bus, "test", func(_ context.Context, e variable.Created) error { heard = append(heard, e); return nil })
		at := w.p.Place()
		v := w.put(w.maintainer, at, variable.Input{Key: "KEY", Value: "planted-secret"})
		if v.Type != variable.EnvVar || v.Scope != "*" || v.Value == nil || *v.Value != "planted-secret" || v.Protected || v.Masked || v.Sealed != "" {
			t.Errorf("created: %+v", v)
		}
		if len(heard) != 1 || strings.Contains(fmt.Sprintf("%+v", *heard[0].Row()), "planted") || heard[0].Row().Sealed != "" {
			t.Errorf("event: %+v", heard)
		}
		kept, err := db.Get[string](ctx, d, "SELECT sealed FROM ci_variables")
		if err != nil || kept == "" || strings.Contains(kept, "planted") {
			t.Errorf("stored: %q, %v", kept, err)
		}
		for _, tt := range []struct {
			in   variable.Input
			want string
		}{
			{variable.Input{Key: "KEY", Value: "x"}, "key (KEY) has already been taken"},
			{variable.Input{Key: "KEY", Value: "x", Scope: "production"}, ""},
			{variable.Input{Key: "A-B", Value: "x"}, "key can contain only letters, digits and '_'."},
			{variable.Input{Key: strings.Repeat("K", 256), Value: "x"}, "key is too long (maximum is 255 characters)"},
			{variable.Input{Key: "M1", Value: "short", Masked: true}, "value is invalid"},
			{variable.Input{Key: "M2", Value: "long enough", Masked: true}, "value is invalid"},
			{variable.Input{Key: "M3", Value: "longenough", Masked: true}, ""},
			{variable.Input{Key: "M4", Value: "a$b%c*d(e", Masked: true}, "value is invalid"},
			{variable.Input{Key: "M5", Value: "a$b%c*d(e", Masked: true, Raw: true}, ""},
			{variable.Input{Key: "M6", Value: "a b c d e f", Masked: true, Raw: true}, "value is invalid"},
			{variable.Input{Key: "S1", Value: "x", Scope: "a;b"}, "environment_scope can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', '*' and spaces"},
			{variable.Input{Key: "D1", Value: "x", Description: text(strings.Repeat("d", 256))}, "description is too long (maximum is 255 characters)"},
			{variable.Input{Key: "V1", Value: strings.Repeat("v", 65_537)}, "value is too long (maximum is 65536 characters)"},
			{variable.Input{Key: "V2"}, ""},
		} {
			got := ""
			if _, err := w.variables.Create(ctx, w.maintainer, at, tt.in); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("%.20s: %q, want %q", tt.in.Key, got, tt.want)
			}
		}
		if _, err := w.variables.Create(ctx, w.admin, authz.Place{}, variable.Input{Key: "V", Value: strings.Repeat("v", 10_001)}); !errs.Is(err, errs.Invalid) {
			t.Errorf("a long value of the instance: %v", err)
		}
		for i := range 25 {
			w.put(w.admin, authz.Place{}, variable.Input{Key: fmt.Sprint("I", i), Value: "x", Scope: "ignored"})
		}
		if _, err := w.variables.Create(ctx, w.admin, authz.Place{}, variable.Input{Key: "I25"}); err == nil || err.Error() != "base Maximum number of instance ci variables (25) exceeded" {
			t.Errorf("the 26th of the instance: %v", err)
		}
	})
}

func TestService_permissions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		auditor := w.User("auditor")
		auditor.Auditor = true
		in := w.p.Place()
		w.put(w.admin, authz.Place{}, variable.Input{Key: "KEY", Value: "x"})
		w.put(w.admin, w.outer, variable.Input{Key: "KEY", Value: "x"})
		w.put(w.admin, in, variable.Input{Key: "KEY", Value: "x"})
		for _, tt := range []struct {
			name string
			as   authz.Actor
			at   authz.Place
			want errs.Kind
		}{
			{"instance, administrator", w.admin, authz.Place{}, errs.Internal},
			{"instance, owner", w.owner, authz.Place{}, errs.Forbidden},
			{"instance, anonymous", authz.Actor{}, authz.Place{}, errs.Unauthorized},
			{"group, owner", w.owner, w.outer, errs.Internal},
			{"group, maintainer of a project", w.maintainer, w.outer, errs.Forbidden},
			{"group, stranger", w.stranger, w.outer, errs.NotFound},
			{"project, maintainer", w.maintainer, in, errs.Internal},
			{"project, developer", w.developer, in, errs.Forbidden},
			{"project, auditor", auditor, in, errs.Forbidden},
			{"project, stranger", w.stranger, in, errs.NotFound},
		} {
			at := tt.at
			at.Subject.Known = false // as the caller has it
			_, list := w.variables.List(ctx, tt.as, at, variable.ListFilter{Range: page.Range{Limit: 20}})
			_, find := w.variables.Find(ctx, tt.as, at, "KEY", variable.Filter{})
			_, create := w.variables.Create(ctx, tt.as, at, variable.Input{Key: "NEW"})
			_, update := w.variables.Update(ctx, tt.as, at, "KEY", variable.Filter{}, variable.Changes{Value: text("y")})
			remove := w.variables.Delete(ctx, tt.as, at, "KEY", variable.Filter{})
			for what, err := range map[string]error{"list": list, "find": find, "create": create, "update": update, "delete": remove} {
				if errs.KindOf(err) != tt.want || (err == nil) != (tt.want == errs.Internal) {
					t.Errorf("%s: %s: %v", tt.name, what, err)
				}
			}
		}
	})
}

func TestService_Update(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		var heard []variable.Updated
		event.On(w.Bus, "test", func(_ context.Context, e variable.Updated) error { heard = append(heard, e); return nil })
		at, yes, no := w.p.Place(), true, false
		w.put(w.maintainer, at, variable.Input{Key: "ONE", Value: "first"})
		w.put(w.maintainer, at, variable.Input{Key: "ONE", Value: "second", Scope: "production"})
		w.put(w.maintainer, at, variable.Input{Key: "HID", Value: "planted-secret", Hidden: true})
		for _, err := range []error{
			func() error { _, err := w.variables.Find(ctx, w.maintainer, at, "ONE", variable.Filter{}); return err }(),
			w.variables.Delete(ctx, w.maintainer, at, "ONE", variable.Filter{}),
		} {
			if e, ok := errors.AsType[*errs.Error](err); !ok || e.Kind != errs.Conflict || e.Code != variable.CodeAmbiguous {
				t.Errorf("two with one key: %v", err)
			}
		}
		production := variable.Filter{Scope: text("production")}
		file := variable.File
		v, err := w.variables.Update(ctx, w.maintainer, at, "ONE", production, variable.Changes{Value: text("third"), Protected: &yes, Type: &file})
		if err != nil || *v.Value != "third" || !v.Protected || v.Type != variable.File || v.Scope != "production" {
			t.Errorf("update: %+v, %v", v, err)
		}
		if len(heard) != 1 || !heard[0].ValueChanged || heard[0].Before.Protected {
			t.Errorf("events: %+v", heard)
		}
		if _, err := w.variables.Update(ctx, w.maintainer, at, "ONE", production, variable.Changes{Scope: text("*")}); err == nil || err.Error() != "key (ONE) has already been taken" {
			t.Errorf("the scope of another: %v", err)
		}
		if _, err := w.variables.Update(ctx, w.maintainer, at, "ONE", production, variable.Changes{Masked: &yes, Value: text("x")}); err == nil || err.Error() != "value is invalid" {
			t.Errorf("a value that cannot be masked: %v", err)
		}
		hidden, err := w.variables.Find(ctx, w.maintainer, at, "HID", variable.Filter{})
		if err != nil || hidden.Value != nil || !hidden.Masked || !hidden.Hidden {
			t.Errorf("hidden: %+v, %v", hidden, err)
		}
		if _, err := w.variables.Update(ctx, w.maintainer, at, "HID", variable.Filter{}, variable.Changes{Masked: &no}); !errs.Is(err, errs.Invalid) {
			t.Errorf("a hidden one that is to be shown: %v", err)
		}
		if err := w.variables.Delete(ctx, w.maintainer, at, "ONE", production); err != nil {
			t.Error(err)
		}
		if _, err := w.variables.Find(ctx, w.maintainer, at, "ONE", production); !errs.Is(err, errs.NotFound) || err.Error() != "Variable not found" {
			t.Errorf("after it was deleted: %v", err)
		}
		old := w.maintainer
		old.UnmodifiedSince = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		if err := w.variables.Delete(ctx, old, at, "ONE", variable.Filter{}); !errs.Is(err, errs.PreconditionFailed) {
			t.Errorf("with a condition: %v", err)
		}
	})
}

func TestService_For(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		in := w.p.Place()
		w.put(w.owner, w.inner, variable.Input{Key: "K", Value: "inner"})
		w.put(w.maintainer, in, variable.Input{Key: "K", Value: "any"})
		w.put(w.maintainer, in, variable.Input{Key: "K", Value: "review", Scope: "review/*"})
		w.put(w.maintainer, in, variable.Input{Key: "K", Value: "one", Scope: "review/one"})
		w.put(w.maintainer, in, variable.Input{Key: "P", Value: "guarded", Protected: true})
		w.put(w.owner, w.outer, variable.Input{Key: "K", Value: "outer"})
		w.put(w.owner, w.outer, variable.Input{Key: "G", Value: "guarded group", Protected: true, Hidden: false})
		w.put(w.admin, authz.Place{}, variable.Input{Key: "K", Value: "instance"})
		w.put(w.maintainer, in, variable.Input{Key: "HID", Value: "hidden-value", Hidden: true, Type: variable.File, Scope: "prod*"})
		for _, tt := range []struct {
			environment string
			protected   bool
			want        string
		}{
			{"", false, "K=instance K=outer K=inner K=any"},
			{"review/two", false, "K=instance K=outer K=inner K=review"},
			{"review/one", false, "K=instance K=outer K=inner K=one"},
			{"staging", true, "K=instance K=outer G=guarded group K=inner K=any P=guarded"},
			{"production", false, "K=instance K=outer K=inner K=any HID=hidden-value"},
		} {
			var got []variable.Value
			var err error
			if n := dbtest.Count(t, d, func() {
				got, err = w.variables.For(ctx, w.p, variable.Use{Environment: tt.environment, Protected: tt.protected})
			}); err != nil || n > 3 {
				t.Fatalf("%d statements, %v", n, err)
			}
			words := make([]string, len(got))
			for i, v := range got {
				words[i] = v.Key + "=" + v.Value
			}
			if s := strings.Join(words, " "); s != tt.want {
				t.Errorf("%q, protected %v: %s\nwant %s", tt.environment, tt.protected, s, tt.want)
			}
		}
	})
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		scope, environment string
		want               bool
	}{
		{"*", "", true},
		{"*", "production", true},
		{"production", "production", true},
		{"production", "", false},
		{"review/*", "review/a/b", true},
		{"review/*", "review", false},
		{"*/a", "review/a", true},
		{"r*w/*/x", "review/a/x", true},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"*b*", "abc", true},
		{"*a*b", "ba", false},
		{"_", "x", false},
	} {
		if got := variable.Matches(tt.scope, tt.environment); got != tt.want {
			t.Errorf("Matches(%q, %q) = %v", tt.scope, tt.environment, got)
		}
	}
	// The time grows with the text and not with its square or worse.
	if variable.Matches(strings.Repeat("*a", 100), strings.Repeat("a", 200)+"b") {
		t.Error("a pattern that ends otherwise matches")
	}
}
