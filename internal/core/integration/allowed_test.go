package integration_test

import (
	"errors"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/coretest"
	"tenon/internal/core/integration/kind"
)

// An administrator allows two kinds of integrations: the others of a project are not called, listed or set up, its pages no longer lead to
// its wiki elsewhere, and its jobs get no variables, until these kinds are allowed again. They can be disabled meanwhile.
func TestService_allowed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx, set := t.Context(), coretest.Setter(t, w.settings)
		w.must("mattermost", kind.Values{"webhook": "https://chat.example.com/x"})
		w.must("emails-on-push", kind.Values{"recipients": "ann@example.com"})
		w.must("external-wiki", kind.Values{"external_wiki_url": "https://wiki.example.com"})
		w.must("harbor", kind.Values{"url": "https://harbor.example.com", "project_name": "shop", "username": "robot", "password": "Secret-of-robots-1"})
		seen := func() string {
			t.Helper()
			list, err := w.integrations.List(ctx, w.maintainer, w.at())
			called, failed := w.integrations.Load(ctx, w.at().Namespace)
			p := w.Find(w.maintainer, w.id)
			variables, broken := w.integrations.JobVariables(ctx, p, false)
			if err := errors.Join(err, failed, broken); err != nil {
				t.Fatal(err)
			}
			if len(list) != len(called) {
				t.Errorf("%d are listed, %d are called", len(list), len(called))
			}
			var out []string
			for _, i := range list {
				out = append(out, i.Slug)
			}
			if _, wiki := p.Links(w.settings.Current()); wiki != nil {
				out = append(out, "wiki")
			}
			if len(variables) > 0 {
				out = append(out, "variables")
			}
			return strings.Join(out, " ")
		}
		const all = "mattermost emails-on-push external-wiki harbor wiki variables"
		if got := seen(); got != all {
			t.Errorf("all: %s", got)
		}
		set("allow_all_integrations", false)
		if got := seen(); got != "" {
			t.Errorf("none is allowed: %s", got)
		}
		set("allowed_integrations", []string{"emails_on_push", "mattermost"})
		if got := seen(); got != "mattermost emails-on-push" {
			t.Errorf("two are allowed: %s", got)
		}
		if i, err := w.integrations.Find(ctx, w.maintainer, w.at(), "harbor"); err != nil || i.Active {
			t.Errorf("one that is not allowed: %+v, %v", i, err)
		}
		if _, err := w.set("jira", kind.Values{}); !errs.Is(err, errs.NotFound) {
			t.Errorf("set up one that is not allowed: %v", err)
		}
		if err := w.integrations.Disable(ctx, w.maintainer, w.at(), "external-wiki"); err != nil {
			t.Error(err)
		}
		set("allow_all_integrations", true)
		if got := seen(); got != "mattermost emails-on-push harbor variables" {
			t.Errorf("all again: %s", got)
		}
	})
}
