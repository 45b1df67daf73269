package webhook_test

import (
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/payload"
	"tenon/internal/core/webhook"
)

// A project and its group have hooks with large logs, and deliveries that wait. Before they are deleted, these go in pieces: no transaction keeps the
// writer for long.
func TestService_Empty(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.rules.Local = true
		rec, shop, ctx := newReceiver(t, nil), w.shop(), t.Context()
		w.create(webhook.Changes{URL: &rec.URL})
		above, err := w.hooks.Create(ctx, w.owner, w.group, webhook.Changes{URL: &rec.URL})
		if err != nil {
			t.Fatal(err)
		}
		w.receive(payload.Message{Trigger: payload.Push, Namespace: shop.Namespace, Ref: "refs/heads/main"})
		w.work()
		const many = 1000
		w.log(many)
		if _, err := d.Exec(ctx, `INSERT INTO webhook_deliveries (webhook_id, body_id, idempotency_key, attempts, due_at, created_at)
			SELECT h.id, b.id, 'key', 1, b.at, b.at FROM webhooks h, webhook_bodies b`); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(ctx, "UPDATE webhook_attempts SET webhook_id = ? WHERE id % 2 = 0", above.ID); err != nil {
			t.Fatal(err)
		}
		logged, waiting := w.count("webhook_attempts"), w.count("webhook_deliveries")
		if logged < many || waiting < 2*many {
			t.Fatalf("%d attempts are logged, %d deliveries wait", logged, waiting)
		}
		all := dbtest.Transactions(t, d, func() {
			for _, at := range []authz.Place{shop, w.group} {
				if err := w.hooks.Empty(ctx, at.Namespace); err != nil {
					t.Error(err)
				}
			}
		})
		_, rows := dbtest.Largest(all)
		sum := int64(0)
		for _, one := range all {
			sum += one.Rows
		}
		if rows > 400 || sum < int64(logged+waiting) {
			t.Errorf("one transaction deleted %d rows, all of them %d of %d", rows, sum, logged+waiting)
		}
		for _, table := range []string{"webhook_attempts", "webhook_deliveries"} {
			if n := w.count(table); n != 0 {
				t.Errorf("%d rows of %s are left", n, table)
			}
		}
	})
}
