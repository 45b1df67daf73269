package account_test

import (
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
)

// TestEvents looks for the user before and after in the events of a change.
func TestEvents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		ann, _ := h.User("ann")
		h.Forget()
		bio, name := "words", "Ann B."
		if _, err := h.Update(t.Context(), h.Root, ann.ID, account.Changes{Name: &name, Bio: &bio}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Block(t.Context(), h.Root, ann.ID); err != nil {
			t.Fatal(err)
		}
		if len(h.Events()) != 2 {
			t.Fatalf("%d events, want 2: %+v", len(h.Events()), h.Events())
		}
		e, _ := h.Events()[0].(account.UserUpdated)
		if e.Row().ID != ann.ID || e.Row().Name != name || e.Row().Bio != bio || e.Before.Name != ann.Name || e.Before.Bio != "" || e.At.IsZero() {
			t.Errorf("updated from %+v to %+v at %s", e.Before, *e.Row(), e.At)
		}
		b, _ := h.Events()[1].(account.UserStateChanged)
		if b.Row().ID != ann.ID || b.Row().State != account.Blocked || b.Before.State != account.Active || b.Row().Bio != bio || b.At.IsZero() {
			t.Errorf("blocked from %+v to %+v at %s", b.Before, *b.Row(), b.At)
		}
	})
}
