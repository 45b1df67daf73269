package notify_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
)

// A hook of a project is paused and later disabled: those who may change hooks of the project learn it, with the reason, those of a group
// for a hook of the group. Users who are blocked or want no mail get none, and neither does a hook that was enabled meanwhile lead to one.
func TestService_HookStopped(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		for name, level := range map[string]authz.Level{"olga": authz.Owner, "mia": authz.Maintainer, "dev": authz.Developer, "blocked": authz.Maintainer, "quiet": authz.Owner} {
			f.join(name, level)
		}
		gus := f.User("gus")
		f.Member(f.outer, gus, authz.Owner)
		guest := f.User("gina")
		f.Member(f.outer, guest, authz.Maintainer)
		f.level("quiet", 0, "disabled")
		f.exec("UPDATE users SET state = 'blocked' WHERE username = 'blocked'")
		hook := func(at authz.NamespaceID, name string) int64 {
			return f.Insert("webhooks", coretest.Row{
				"namespace_id": at, "url": "https://hooks.example.com/{key}", "name": name, "branch_filter_strategy": "wildcard", "url_variables": "[]",
				"custom_headers": "[]", "failures": 4, "disabled_until": db.At(time.Date(2026, 11, 29, 15, 4, 0, 0, time.UTC)), "disabled_reason": "The receiver answered 503",
			})
		}
		stop := func(id int64, now string) {
			if err := d.InTx(ctx, func(ctx context.Context) error { return f.s.HookStopped(ctx, id, now) }); err != nil {
				t.Fatal(err)
			}
		}
		own, ofGroup := hook(f.Subject(int64(f.id)).Namespace, "mirror"), hook(f.outer, "")

		stop(own, "temporarily_disabled")
		f.send()
		mails := f.server.Take()
		if got := who(mails); got != "gina gus mia olga" {
			t.Fatalf("a pause: %s", got)
		}
		for _, m := range mails {
			if m.Get("Subject") != "app | Webhook is paused" || !strings.Contains(m.Text, "(mirror)") || !strings.Contains(m.Text, "is paused until 2026-11-29 15:04 UTC because its last deliveries failed: The receiver answered 503.") ||
				!strings.Contains(m.Text, "because you maintain the project") || !strings.Contains(m.Text, fmt.Sprintf("https://code.example.com/team/web/app/-/hooks/%d/edit", own)) || strings.Contains(m.Text, "hooks.example.com") {
				t.Errorf("a pause: %s\n%s", m.Get("Subject"), m.Text)
			}
		}
		stop(ofGroup, "temporarily_disabled")
		f.send()
		mails = f.server.Take()
		if got := who(mails); got != "gus" || !strings.Contains(mails[0].Text, "because you own the group") {
			t.Errorf("a pause of a hook of a group: %s", got)
		}

		f.exec("UPDATE webhooks SET disabled = ?, disabled_until = NULL WHERE id = ?", true, own)
		stop(own, "disabled")
		f.send()
		mails = f.server.Take()
		if got := who(mails); got != "gina gus mia olga" || mails[0].Get("Subject") != "app | Webhook is disabled" || !strings.Contains(mails[0].Text, "a success enables it") {
			t.Errorf("the end: %s", got)
		}
		stop(own, "temporarily_disabled") // and it was disabled before the mail was sent
		stop(own, "disabled")
		stop(ofGroup, "disabled")
		f.exec("UPDATE webhooks SET disabled = ?, disabled_reason = NULL WHERE id = ?", false, own) // it was tested with success meanwhile
		f.exec("DELETE FROM webhooks WHERE id = ?", ofGroup)
		if got := f.got(); got != "" {
			t.Errorf("hooks that are called again or deleted: %s", got)
		}

		coretest.Setter(t, f.settings)("silent_mode_enabled", true)
		f.exec("UPDATE webhooks SET disabled = ?, disabled_reason = 'x' WHERE id = ?", true, own)
		stop(own, "disabled")
		if len(f.waiting) != 0 {
			t.Error("mail waits in silent mode")
		}
	})
}
