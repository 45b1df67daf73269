package accesstoken_test

import (
	"testing"

	"tenon/internal/core/accesstoken"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// TestService_DeleteInactive deletes bots whose tokens are expired or revoked for as many days as the settings say.
func TestService_DeleteInactive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		ann := f.user("ann")
		g := f.group(ann, "team")
		bots := map[string]authz.UserID{}
		for name, day := range map[string]string{"expired": "2026-05-10", "revoked": "2027-01-01", "active": "2027-01-01"} {
			made, _, err := f.Create(ctx, ann, g, input(name, authz.Guest, day, authz.ScopeAPI))
			if err != nil {
				t.Fatal(err)
			}
			bots[name] = made.UserID
			if name == "revoked" {
				if err := f.Revoke(ctx, ann, g, made.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		gone := func() map[authz.UserID]bool {
			t.Helper()
			f.queue = nil
			if err := f.DeleteInactive(ctx, accesstoken.Inactive{}); err != nil {
				t.Fatal(err)
			}
			out := map[authz.UserID]bool{}
			for _, args := range f.queue {
				if d, ok := args.(account.Departure); ok {
					out[d.UserID] = true
				}
			}
			return out
		}
		f.now = f.now.AddDate(0, 0, 38) // less than 30 days after the first one expired
		if got := gone(); len(got) != 0 && !got[bots["revoked"]] || got[bots["expired"]] || got[bots["active"]] {
			t.Errorf("too early: %v of %v", got, bots)
		}
		if err := f.settings.Set(ctx, "inactive_resource_access_tokens_delete_after_days", 7); err != nil {
			t.Fatal(err)
		}
		if got := gone(); !got[bots["expired"]] || got[bots["active"]] {
			t.Errorf("after seven days: %v of %v", got, bots)
		}
		if got := gone(); len(got) != 0 {
			t.Errorf("once more: %v", got)
		}
	})
}
