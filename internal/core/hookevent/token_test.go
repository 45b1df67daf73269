package hookevent_test

import (
	"strings"
	"testing"
	"time"

	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/payload"
)

// TestService_remind tells of access tokens seven days before their end and one day before it, each once.
func TestService_remind(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.listener.triggers = []payload.Trigger{payload.ResourceAccessToken}
		p := w.As(w.Maintainer)
		day := func(days int) string { return w.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
		token := func(name, kind string, in authz.NamespaceID, days int, revoked bool) int64 {
			bot := w.User("bot-" + name)
			w.Member(in, bot, authz.Developer)
			return w.Insert("access_tokens", coretest.Row{
				"kind": kind, "user_id": bot.UserID, "name": name, "name_fold": name, "digest": name, "scopes": "api", "revoked": revoked, "expires_on": day(days),
			})
		}
		week := token("week", "project", p.NamespaceID, 7, false)
		token("tomorrow", "group", w.GroupID, 1, false)
		token("later", "project", p.NamespaceID, 8, false)
		token("over", "project", p.NamespaceID, 0, false)
		token("revoked", "project", p.NamespaceID, 3, true)
		token("personal", "personal", p.NamespaceID, 3, false)
		told := func() string {
			t.Helper()
			approvaltest.Check(t, w.Jobs.Enqueue(t.Context(), w.events.Reminder()))
			approvaltest.Check(t, w.Jobs.Drain(t.Context()))
			var out []string
			for _, m := range w.listener.take() {
				b := m.Body.(*payload.AccessTokenBody)
				in := "group"
				if b.Project != nil {
					in = b.Project.Path
				}
				out = append(out, b.Attributes.Name+" of "+in+" ends "+*b.Attributes.ExpiresAt)
			}
			return strings.Join(out, ", ")
		}
		approvaltest.Equal(t, "first", told(), "tomorrow of group ends "+day(1)+", week of group/shop ends "+day(7))
		approvaltest.Equal(t, "again", told(), "")
		w.Exec("UPDATE access_tokens SET expires_on = ? WHERE id = ?", day(1), week)
		approvaltest.Equal(t, "a day before", told(), "week of group/shop ends "+day(1))
	})
}
