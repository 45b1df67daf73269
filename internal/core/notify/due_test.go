package notify_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/note"
	"tenon/internal/core/notify"
	"tenon/internal/core/project"
)

// The day before an open issue is due, who takes part in it gets one mail.
func TestService_Due(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		ann := f.furnish()
		f.level("unsubscriber", f.Subject(int64(f.id)).Namespace, "custom", "issue_due")
		const tomorrow = "2023-05-23"
		open := func(title, due string, confidential bool) *issue.Issue {
			t.Helper()
			i, err := f.issues.Create(ctx, ann, f.Find(ann, f.id), issue.Input{
				Title: title, DueDate: &due, AssigneeIDs: []authz.UserID{f.people["assigned"].UserID, f.people["quiet"].UserID, f.people["onmention"].UserID},
				Attributes: issue.Attributes{Confidential: new(confidential)},
			})
			if err != nil {
				t.Fatal(err)
			}
			return i
		}
		due := func() int {
			t.Helper()
			f.waiting = nil
			if err := f.s.Due(ctx, notify.Due{}); err != nil {
				t.Fatal(err)
			}
			return len(f.waiting)
		}
		again := func() { // the last run was another day's
			f.exec("DELETE FROM due_mail_runs")
			f.exec("INSERT INTO due_mail_runs (day, last_issue, done) VALUES ('2023-05-21', 7, true)")
		}
		first := open("Soon", tomorrow, false)
		open("Today", "2023-05-22", false)
		open("Later", "2023-05-24", false)
		closed := open("Closed", tomorrow, false)
		f.change(ann, closed, issue.Changes{StateEvent: "close"})
		if n := due(); n != 1 {
			t.Fatalf("mail about %d issues, want 1", n)
		}
		f.send()
		mails := f.server.Take()
		if got, want := who(mails), "ann assigned globalwatcher groupwatcher guest unsubscriber watcher"; got != want {
			t.Errorf("mail to %s, want %s", got, want)
		}
		for _, m := range mails {
			if m.Get("Subject") != "Re: app | Soon (#1)" || !strings.Contains(m.Raw, "Issue #1 is due on 2023-05-23: Soon") ||
				m.Get("In-Reply-To") != fmt.Sprintf("<issue_%d@code.example.com>", first.ID) {
				t.Errorf("got %s", m.Raw)
			}
		}
		if n := due(); n != 0 {
			t.Errorf("mail about %d issues once it was sent, want none", n)
		}
		open("Late", tomorrow, false)
		if n := due(); n != 0 {
			t.Errorf("mail about %d issues once the day was looked through, want none", n)
		}

		// Who may know, and whether there is something to know, is found out when the mail is sent.
		again()
		secret := open("Secret", tomorrow, true)
		f.write(f.people["watcher"], secret, note.Input{Body: "mine"})
		if n := due(); n != 3 {
			t.Fatalf("mail about %d issues, want 3", n)
		}
		later := "2023-06-01"
		kept := f.waiting
		f.change(ann, first, issue.Changes{DueDate: &later})
		f.waiting = kept
		f.send()
		for _, m := range f.server.Take() {
			if name, _, _ := strings.Cut(m.To, "@"); strings.Contains(m.Get("Subject"), "Soon") || name == "guest" && strings.Contains(m.Get("Subject"), "Secret") {
				t.Errorf("to %s: %s", name, m.Get("Subject"))
			}
		}

		// A run goes on where it ended.
		f.exec("UPDATE due_mail_runs SET last_issue = (SELECT MAX(id) - 1 FROM issues), done = false")
		if n := due(); n != 1 {
			t.Errorf("mail about %d issues after an interrupted run, want 1", n)
		}
		again()
		for i := range 450 {
			f.Insert("issues", map[string]any{"project_id": f.id, "iid": 100 + i, "author_id": ann.UserID, "title": "many", "state": "opened", "issue_type": "issue", "due_date": tomorrow})
		}
		if n := due(); n != 452 {
			t.Errorf("mail about %d issues, want 452", n)
		}
	})
}

// Members learn of the new path of their project, as their settings say.
func TestService_Send_movedProject(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		ann := f.furnish()
		at := f.Subject(int64(f.id)).Namespace
		f.level("unsubscriber", at, "custom")
		f.exec(`UPDATE notification_settings SET events = '{"moved_project": false}' WHERE user_id = ?`, f.people["othercustom"].UserID)
		f.Member(f.outer, f.people["farwatcher"], authz.Guest)
		before := f.Find(ann, f.id)
		other := f.Group("elsewhere", authz.Private, 0)
		f.exec("UPDATE namespaces SET parent_id = ? WHERE id = ?", other, at)
		f.exec("UPDATE routes SET path = 'elsewhere/app', path_fold = 'elsewhere/app' WHERE namespace_id = ?", at)
		f.exec("DELETE FROM namespace_ancestors WHERE namespace_id = ? AND depth > 0", at)
		f.exec("INSERT INTO namespace_ancestors (namespace_id, ancestor_id, depth) VALUES (?, ?, 1)", at, other)
		f.people["newcomer"] = f.User("newcomer")
		f.Member(other, f.people["newcomer"], authz.Guest)
		after := f.Find(ann, f.id)
		publish := func(e event.Event) {
			t.Helper()
			err := d.InTx(ctx, func(ctx context.Context) error { return f.Bus.Publish(ctx, e) })
			if err != nil {
				t.Fatal(err)
			}
		}
		publish(project.Updated{Fact: project.Fact{Stamp: ann.Stamp(f.Now()), After: after, Before: after}})
		if len(f.waiting) != 0 {
			t.Errorf("mail about a project that stays where it is: %+v", f.waiting)
		}
		publish(project.Transferred{Fact: project.Fact{Stamp: ann.Stamp(f.Now()), After: after, Before: before}})
		f.send()
		mails := f.server.Take()
		const want = "ann assigned custom globalwatcher guest labelled mentioned newcomer unsubscriber watcher"
		if got := who(mails); got != want {
			t.Errorf("mail to %s, want %s", got, want)
		}
		for _, m := range mails {
			if m.Get("Subject") != "app | Project was moved" || !strings.Contains(m.Raw, "Ann moved project app from team/web/app to elsewhere/app.") ||
				!strings.Contains(m.Raw, "git remote set-url origin https://code.example.com/elsewhere/app.git") || m.Get("List-Unsubscribe") != "" ||
				m.Get("X-GitLab-Project-Path") != "elsewhere/app" {
				t.Errorf("got %s", m.Raw)
			}
		}
	})
}
