package sshkey_test

import (
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/sshkey"
)

func TestService_Create_lifetime(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		ann := h.user("ann")
		if err := h.Settings.Set(t.Context(), "max_ssh_key_lifetime", 30); err != nil {
			t.Fatal(err)
		}
		in := sshkey.Input{Title: "t", Key: ed(t)}
		_, err := h.Create(t.Context(), ann, in)
		wantErr(t, err, errs.Invalid, "key has no expiration date but an expiration date is required for SSH keys on this instance. "+
			"Contact the instance administrator.")
		late := h.Now().AddDate(0, 0, 30).Add(time.Second)
		in.ExpiresAt = &late
		_, err = h.Create(t.Context(), ann, in)
		wantErr(t, err, errs.Invalid, "key must expire before 2026-06-04")
		soon := h.Now().AddDate(0, 0, 30)
		in.ExpiresAt = &soon
		if _, err := h.Create(t.Context(), ann, in); err != nil {
			t.Errorf("a key of thirty days: %v", err)
		}
	})
}
