package trigger_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
	"tenon/internal/core/trigger"
)

func TestService(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		ctx := context.Background()
		box, err := secret.NewBox(secret.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		s := trigger.New(trigger.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: setting.New(d, w.Now), Box: box, Now: w.Now, Log: slog.New(slog.DiscardHandler)})
		one, two, developer, stranger := w.User("one"), w.User("two"), w.User("developer"), w.User("stranger")
		id := w.Project("p", authz.Private, w.Group("g", authz.Private, 0))
		w.Join(id, one, authz.Maintainer)
		w.Join(id, two, authz.Maintainer)
		w.Join(id, developer, authz.Developer)
		p := w.Find(one, id)
		made, err := s.Create(ctx, one, p, trigger.Input{Description: "nightly"})
		if err != nil || !strings.HasPrefix(made.Token, "glptt-") || len(made.Token) != 26 || made.OwnerID != one.UserID {
			t.Fatalf("create: %+v, %v", made, err)
		}
		token := made.Token
		stored, err := db.Get[string](ctx, d, "SELECT sealed || digest FROM pipeline_triggers")
		if err != nil || strings.Contains(stored, token[6:]) {
			t.Errorf("stored: %s, %v", stored, err)
		}
		for as, want := range map[*authz.Actor]string{&one: token, &two: "glpt"} {
			got, err := s.Find(ctx, *as, w.Find(*as, id), made.ID)
			list, more := s.List(ctx, *as, w.Find(*as, id), page.Range{Limit: 20})
			if err != nil || more != nil || got.Token != want || len(list.Items) != 1 || list.Items[0].Token != want || got.Digest != "" {
				t.Errorf("for %s: %+v, %+v, %v, %v", as.Username, got, list.Items, err, more)
			}
		}
		found, err := s.FindTrigger(ctx, token)
		if err != nil || found.ID != made.ID || found.ProjectID != id {
			t.Errorf("by its token: %+v, %v", found, err)
		}
		if err := s.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Find(ctx, one, p, made.ID); err != nil || got.LastUsedAt == nil {
			t.Errorf("last use: %+v, %v", got, err)
		}
		past := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
		old, err := s.Create(ctx, one, p, trigger.Input{Description: "old", ExpiresAt: &past})
		if err != nil {
			t.Fatal(err)
		}
		for name, bad := range map[string]string{"expired": old.Token, "short": "glpt", "empty": "", "unknown": "glptt-aaaaaaaaaaaaaaaaaaaa"} {
			if _, err := s.FindTrigger(ctx, bad); !errs.Is(err, errs.NotFound) {
				t.Errorf("%s token: %v", name, err)
			}
		}
		text, blank := "weekly", " "
		if got, err := s.Update(ctx, two, w.Find(two, id), made.ID, &text); err != nil || got.Description != text || got.Token != "glpt" {
			t.Errorf("update: %+v, %v", got, err)
		}
		if _, err := s.Update(ctx, one, p, made.ID, &blank); !errs.Is(err, errs.Invalid) {
			t.Errorf("a blank description: %v", err)
		}
		if _, err := s.Find(ctx, one, p, 9999); !errs.Is(err, errs.NotFound) {
			t.Errorf("one that is not there: %v", err)
		}
		hidden := *p
		hidden.LevelKnown = false
		for as, want := range map[*authz.Actor]errs.Kind{&developer: errs.Forbidden, &stranger: errs.NotFound} {
			_, create := s.Create(ctx, *as, &hidden, trigger.Input{Description: "x"})
			_, list := s.List(ctx, *as, &hidden, page.Range{Limit: 20})
			_, find := s.Find(ctx, *as, &hidden, made.ID)
			_, update := s.Update(ctx, *as, &hidden, made.ID, &text)
			for what, err := range map[string]error{"create": create, "list": list, "find": find, "update": update, "delete": s.Delete(ctx, *as, &hidden, made.ID)} {
				if !errs.Is(err, want) {
					t.Errorf("%s by %s: %v", what, as.Username, err)
				}
			}
		}
		last, err := s.Create(ctx, one, p, trigger.Input{Description: "last"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(ctx, two, w.Find(two, id), made.ID); err != nil {
			t.Error(err)
		}
		if _, err := s.FindTrigger(ctx, token); !errs.Is(err, errs.NotFound) {
			t.Errorf("the token of a deleted trigger: %v", err)
		}
		s.Subscribe(w.Bus)
		err = d.InTx(ctx, func(ctx context.Context) error {
			return w.Bus.Publish(ctx, project.Deleted{Fact: project.Fact{Before: p, Stamp: one.Stamp(w.Now())}})
		})
		if _, find := s.FindTrigger(ctx, last.Token); err != nil || !errs.Is(find, errs.NotFound) {
			t.Errorf("the token of a deleted project: %v, %v", find, err)
		}
	})
}
