package account_test

import (
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/authz"
)

func TestService_Prefer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		ctx := t.Context()
		ann, asAnn := h.User("ann")
		if ann.IssuesSort != "" || ann.PipelineIIDs {
			t.Errorf("a new user has %q, %t", ann.IssuesSort, ann.PipelineIIDs)
		}
		got, err := h.Prefer(ctx, asAnn, account.Preferences{IssuesSort: new("weight_desc"), PipelineIIDs: new(true)})
		if err != nil || got.IssuesSort != "weight_desc" || !got.PipelineIIDs || !got.ShowWhitespace {
			t.Errorf("chosen: got %+v, %v", got, err)
		}
		if got, err = h.Prefer(ctx, asAnn, account.Preferences{FileByFile: new(true)}); err != nil || got.IssuesSort != "weight_desc" || !got.PipelineIIDs || !got.FileByFile {
			t.Errorf("what is not given changed: got %+v, %v", got, err)
		}
		for _, order := range []string{"weight", "weight_up", "id; DROP TABLE users"} {
			accounttest.WantError(t, second(h.Prefer(ctx, asAnn, account.Preferences{IssuesSort: &order})), errs.Invalid, "issues_sort is not an order of issues")
		}
		if got, err = h.Prefer(ctx, asAnn, account.Preferences{IssuesSort: new("")}); err != nil || got.IssuesSort != "" {
			t.Errorf("taken back: got %q, %v", got.IssuesSort, err)
		}
		accounttest.WantError(t, second(h.Prefer(ctx, authz.Actor{}, account.Preferences{IssuesSort: new("")})), errs.Unauthorized, "unauthorized")
	})
}
