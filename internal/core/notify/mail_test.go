package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/base/mail"
	"tenon/internal/base/mail/mailtest"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/appearance"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/notify"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/setting"
	"tenon/internal/core/subscription"
	"tenon/internal/core/todo"
	"tenon/internal/core/weburl"
)

var ctx = context.Background()

// everybody knows of users.
type everybody struct{}

func (everybody) Hidden(authz.Actor) bool { return false }

// post is a private project in two groups whose mail goes to a server of the test.
type post struct {
	*coretest.World
	issues   *issue.Service
	epics    *epic.Service
	notes    *note.Service
	subs     *subscription.Service
	labels   *label.Service
	s        *notify.Service
	server   *mailtest.Server
	settings *setting.Store
	waiting  []notify.Mailing
	people   map[string]authz.Actor

	outer, inner authz.NamespaceID
	id           project.ID
}

func setUp(t *testing.T, d *db.DB, changes ...func(*notify.Out)) *post {
	t.Helper()
	w := coretest.New(t, d)
	f := &post{World: w, server: mailtest.New(t, mailtest.Options{}), people: map[string]authz.Actor{}}
	f.settings = setting.New(d, w.Now)
	urls := weburl.New(&url.URL{Scheme: "https", Host: "code.example.com"}, "")
	f.labels = label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
	f.issues = issue.New(issue.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Labels: f.labels, URLs: urls, Now: w.Now})
	requests := mergerequest.New(mergerequest.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Labels: f.labels, URLs: urls, Now: w.Now})
	jobs := job.EnqueuerFunc(func(_ context.Context, args job.Args, _ ...job.Option) error {
		if m, ok := args.(notify.Mailing); ok { // as it comes back from the queue
			text, err := json.Marshal(m)
			if err != nil {
				return err
			}
			var again notify.Mailing
			f.waiting = append(f.waiting, again)
			return json.Unmarshal(text, &f.waiting[len(f.waiting)-1])
		}
		return nil
	})
	things := noteable.Collect(f.issues, requests)
	f.subs = subscription.New(subscription.Deps{DB: d, Policy: w.Policy, Labels: f.labels, Kinds: things, Now: w.Now})
	places := namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: setting.New(d, w.Now), Now: w.Now})
	f.epics = epic.New(epic.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Labels: f.labels, Issues: f.issues, Projects: w.Projects, Namespaces: places, URLs: urls, Now: w.Now})
	f.issues.Connect(issue.Above{Commands: alonetest.Commands{}})
	f.epics.Connect(epic.Above{Commands: alonetest.Commands{}})
	things.Add(f.epics)
	f.notes = note.New(note.Deps{
		Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Awards: award.New(award.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}), Now: w.Now, Jobs: jobs,
		Kinds: things,
	})
	todos := todo.New(todo.Deps{
		DB: d, Policy: w.Policy, Subscriptions: f.subs, Namespaces: places, Texts: reference.NewReader(urls), Kinds: things, Now: w.Now,
	})
	references := reference.New(reference.Deps{DB: d, Settings: f.settings, Policy: w.Policy, Accounts: everybody{}, Projects: w.Projects, URLs: urls})
	references.Connect(reference.Above{Finders: []reference.Finder{f.issues}})
	box, err := secret.NewBox(secret.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	accounts := account.New(account.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: setting.New(d, w.Now), Now: w.Now, URLs: urls})
	out := notify.Out{Sender: mail.New(f.server.Config()), Incoming: "incoming+%{key}@code.example.com", IncomingKey: "%{key}"}
	for _, change := range changes {
		change(&out)
	}
	f.s = notify.New(notify.Deps{
		DB: d, Policy: w.Policy, Kinds: things, Accounts: accounts, Projects: w.Projects, Namespaces: places, Notes: f.notes, Subscriptions: f.subs,
		Todos: todos, References: references, Settings: f.settings, Appearance: appearance.New(appearance.Deps{}), URLs: urls, Signer: box.Signer(), Jobs: jobs, Log: slog.New(slog.DiscardHandler), Now: w.Now,
		Out: out,
	})
	f.subs.Subscribe(w.Bus)
	todos.Subscribe(w.Bus)
	f.s.Subscribe(w.Bus)
	f.outer = w.Group("team", authz.Private, 0)
	f.inner = w.Group("team/web", authz.Private, f.outer)
	f.id = w.Project("team/web/app", authz.Private, f.inner)
	return f
}

// join makes a member of the project.
func (f *post) join(name string, level authz.Level) authz.Actor {
	f.people[name] = f.User(name)
	f.Join(f.id, f.people[name], level)
	return f.people[name]
}

// level sets a level: for everything, or in a namespace.
func (f *post) level(name string, in authz.NamespaceID, level string, events ...string) {
	chosen := map[string]bool{}
	for _, e := range events {
		chosen[e] = true
	}
	text, err := json.Marshal(chosen)
	if err != nil {
		f.T.Fatal(err)
	}
	row := coretest.Row{"user_id": f.people[name].UserID, "level": level, "events": string(text)}
	if in != 0 {
		row["namespace_id"] = in
	}
	f.Insert("notification_settings", row)
}

func (f *post) exec(query string, args ...any) {
	f.T.Helper()
	if _, err := f.DB.Exec(ctx, query, args...); err != nil {
		f.T.Fatal(err)
	}
}

// send does the jobs that wait.
func (f *post) send() {
	f.T.Helper()
	for len(f.waiting) > 0 {
		m := f.waiting[0]
		f.waiting = f.waiting[1:]
		if err := f.s.Send(ctx, m); err != nil {
			f.T.Errorf("%s: %v", m.Event, err)
		}
	}
}

// got lists who got mail, with the reasons.
func (f *post) got() string {
	f.T.Helper()
	f.send()
	return who(f.server.Take())
}

func who(mails []mailtest.Mail) string {
	var out []string
	for _, m := range mails {
		line, _, _ := strings.Cut(m.To, "@")
		if reason := m.Get("X-GitLab-NotificationReason"); reason != "" {
			line += ":" + reason
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (f *post) on(as authz.Actor, i *issue.Issue) note.On {
	return note.On{Place: f.Find(as, f.id).Place(), Kind: noteable.Issue, Key: noteable.Key{Number: int64(i.IID)}}
}

func (f *post) write(as authz.Actor, i *issue.Issue, in note.Input) *note.Note {
	f.T.Helper()
	made, _, err := f.notes.Create(ctx, as, f.on(as, i), in)
	if err != nil {
		f.T.Fatal(err)
	}
	return made.Note
}

func (f *post) change(as authz.Actor, i *issue.Issue, c issue.Changes) {
	f.T.Helper()
	if _, err := f.issues.Update(ctx, as, f.Find(as, f.id), i.IID, c); err != nil {
		f.T.Fatal(err)
	}
}

// furnish makes the people of the table.
func (f *post) furnish() (ann authz.Actor) {
	ann = f.join("ann", authz.Owner) // does everything
	for _, name := range []string{
		"assigned", "mentioned", "watcher", "globalwatcher", "groupwatcher", "quiet", "custom", "othercustom", "onmention", "subscriber", "unsubscriber",
		"labelled", "blocked", "unconfirmed", "robot", "guest",
	} {
		f.join(name, authz.Reporter)
	}
	f.exec("UPDATE members SET access_level = ? WHERE user_id = ?", authz.Guest, f.people["guest"].UserID)
	f.people["stranger"] = f.User("stranger")
	f.people["farwatcher"] = f.User("farwatcher") // watches, and is no member
	at := f.Subject(int64(f.id)).Namespace
	f.level("watcher", at, "watch")
	f.level("globalwatcher", 0, "watch")
	f.level("farwatcher", 0, "watch")
	f.level("groupwatcher", 0, "disabled")
	f.level("groupwatcher", f.outer, "disabled")
	f.level("groupwatcher", f.inner, "watch") // the nearest counts
	f.level("groupwatcher", at, "global")
	f.level("quiet", f.inner, "watch")
	f.level("quiet", at, "disabled")
	f.level("custom", at, "custom", "new_note")
	f.level("othercustom", at, "custom", "close_issue")
	f.level("onmention", 0, "mention")
	f.level("subscriber", at, "disabled")
	for _, name := range []string{"blocked", "unconfirmed", "robot", "guest"} {
		f.level(name, at, "watch")
	}
	f.exec("UPDATE users SET state = 'blocked' WHERE username = 'blocked'")
	f.exec("UPDATE users SET user_type = 'bot' WHERE username = 'robot'")
	f.exec("UPDATE emails SET confirmed_at = NULL WHERE email_fold = 'unconfirmed@example.com'")
	return ann
}

// Who gets mail of what, and why.
func TestService_Send(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		ann := f.furnish()
		p := f.people
		_, err := f.labels.Create(ctx, ann, f.Find(ann, f.id).Place(), label.Input{Title: "bug", Color: "#ff0000"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.subs.AddLabel(ctx, p["labelled"], f.Find(p["labelled"], f.id).Place(), "bug"); err != nil {
			t.Fatal(err)
		}
		words := func(s string) *string { return &s }
		var i *issue.Issue
		open := func(in issue.Input) func() {
			return func() {
				var err error
				if i, err = f.issues.Create(ctx, ann, f.Find(ann, f.id), in); err != nil {
					t.Fatal(err)
				}
			}
		}
		subscribe := func(name string, want bool) {
			on := f.on(p[name], i)
			thing := subscription.On{Place: on.Place, Kind: on.Kind, Key: on.Key}
			change := f.subs.Remove
			if want {
				change = f.subs.Add
			}
			if err := change(ctx, p[name], thing); err != nil && !errs.Is(err, errs.NotModified) {
				t.Fatal(err)
			}
		}
		const watchers = "globalwatcher groupwatcher guest"
		for _, step := range []struct {
			name string
			do   func()
			want string
		}{
			{"a new issue", open(issue.Input{
				Title: "It broke", AssigneeIDs: []authz.UserID{p["assigned"].UserID},
				Attributes: issue.Attributes{Description: words("See @mentioned, @onmention, @stranger, @quiet and @ann.")},
			}), "assigned:assigned globalwatcher groupwatcher guest mentioned:mentioned onmention:mentioned watcher"},
			{"a note", func() {
				subscribe("subscriber", true)
				subscribe("unsubscriber", true)
				f.waiting = nil
				subscribe("unsubscriber", false)
				f.write(ann, i, note.Input{Body: "Well?"})
			}, "assigned custom " + watchers + " mentioned subscriber:subscribed watcher"},
			{
				"an internal note", func() { f.write(ann, i, note.Input{Body: "@guest and @unsubscriber, secretly", Internal: true}) },
				"assigned custom globalwatcher groupwatcher mentioned subscriber:subscribed unsubscriber:mentioned watcher",
			},
			{
				"a mention of all", func() { f.write(ann, i, note.Input{Body: "@team/web and @all"}) },
				"assigned:mentioned custom:mentioned globalwatcher:mentioned groupwatcher:mentioned guest:mentioned labelled:mentioned " +
					"mentioned:mentioned onmention:mentioned othercustom:mentioned subscriber:mentioned unsubscriber:mentioned watcher:mentioned",
			},
			{"other texts", func() {
				f.change(ann, i, issue.Changes{Title: words("It broke for @othercustom"), Attributes: issue.Attributes{Description: words("@mentioned")}})
			}, "othercustom:mentioned"},
			{"a label", func() { f.change(ann, i, issue.Changes{Labels: label.Assignment{Add: []string{"bug"}}}) }, "labelled:subscribed"},
			{
				"other assignees", func() { f.change(ann, i, issue.Changes{AssigneeIDs: &[]authz.UserID{p["onmention"].UserID}}) },
				"assigned custom globalwatcher groupwatcher guest labelled mentioned onmention:assigned othercustom subscriber:subscribed watcher",
			},
			{
				"closed", func() { f.change(ann, i, issue.Changes{StateEvent: "close"}) },
				"assigned custom globalwatcher groupwatcher guest labelled mentioned othercustom subscriber:subscribed watcher",
			},
			{"confidential, reopened", func() {
				f.change(ann, i, issue.Changes{Attributes: issue.Attributes{Confidential: new(true)}})
				f.change(ann, i, issue.Changes{StateEvent: "reopen"})
			}, "assigned custom globalwatcher groupwatcher labelled mentioned othercustom subscriber:subscribed watcher"},
			{"a watcher loses the project", func() {
				f.write(ann, i, note.Input{Body: "Hush"})
				f.exec("DELETE FROM members WHERE user_id = ?", p["watcher"].UserID)
			}, "assigned custom globalwatcher groupwatcher labelled mentioned othercustom subscriber:subscribed"},
			{"an issue with a label", open(issue.Input{Title: "Another", Labels: []string{"bug"}}), "globalwatcher groupwatcher guest labelled:subscribed"},
			{"a note that is gone before it is sent", func() {
				n := f.write(ann, i, note.Input{Body: "@mentioned"})
				if err := f.notes.Delete(ctx, ann, f.on(ann, i), n.ID); err != nil {
					t.Fatal(err)
				}
			}, ""},
			{"a group that wants no mail", func() {
				f.exec("UPDATE groups SET emails_enabled = ? WHERE namespace_id = ?", false, f.outer)
				f.write(ann, i, note.Input{Body: "@mentioned"})
			}, ""},
			{"a project that wants no mail", func() {
				f.exec("UPDATE groups SET emails_enabled = ? WHERE namespace_id = ?", true, f.outer)
				f.exec("UPDATE projects SET emails_enabled = ? WHERE id = ?", false, f.id)
				f.write(ann, i, note.Input{Body: "@mentioned"})
			}, ""},
		} {
			step.do()
			if got := f.got(); got != sorted(step.want) {
				t.Errorf("%s:\n got %q\nwant %q", step.name, got, sorted(step.want))
			}
		}
	})
}

func sorted(words string) string {
	list := strings.Fields(words)
	slices.Sort(list)
	return strings.Join(list, " ")
}

// What is in a mail, and what can be done with it.
func TestService_Send_letter(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		ann, bob := f.join("ann", authz.Owner), f.join("bob", authz.Reporter)
		f.exec("UPDATE users SET name = ? WHERE id = ?", "Ann\r\nBcc: eve@example.com", ann.UserID)
		secret, err := f.issues.Create(ctx, ann, f.Find(ann, f.id), issue.Input{Title: "Hidden", Attributes: issue.Attributes{Confidential: new(true)}})
		if err != nil {
			t.Fatal(err)
		}
		f.exec("UPDATE members SET access_level = ? WHERE user_id = ?", authz.Guest, bob.UserID)
		text := "Hello @bob, see #1 and **this**.\n\n<script>x</script>"
		i, err := f.issues.Create(ctx, ann, f.Find(ann, f.id), issue.Input{Title: "Caf\u00e9", Attributes: issue.Attributes{Description: &text}})
		if err != nil {
			t.Fatal(err)
		}
		f.exec("UPDATE issues SET title = ? WHERE id = ?", "Caf\u00e9\r\nX-Evil: yes", i.ID)
		first := f.write(ann, i, note.Input{Body: "First"})
		reply, _, err := f.notes.Reply(ctx, ann, f.on(ann, i), first.DiscussionID, note.Input{Body: "Second, @bob"})
		if err != nil {
			t.Fatal(err)
		}
		f.send()
		mails := f.server.Take()
		if len(mails) != 3 {
			t.Fatalf("%d mails, want 3: %s", len(mails), who(mails))
		}
		root := fmt.Sprintf("<issue_%d@code.example.com>", i.ID)
		noteID := func(id note.ID) string { return fmt.Sprintf("<note_%d@code.example.com>", id) }
		for n, want := range []map[string]string{
			{"Subject": "app | Caf\u00e9 X-Evil: yes (#2)", "Message-Id": root, "In-Reply-To": "", "X-Gitlab-Notificationreason": "mentioned", "X-Gitlab-Discussion-Id": ""},
			{"Subject": "Re: app | Caf\u00e9 X-Evil: yes (#2)", "Message-Id": noteID(first.ID), "In-Reply-To": root, "X-Gitlab-Notificationreason": "", "X-Gitlab-Discussion-Id": first.DiscussionID},
			{"Message-Id": noteID(reply.Note.ID), "In-Reply-To": noteID(first.ID), "X-Gitlab-Notificationreason": "mentioned", "X-Gitlab-Discussion-Id": first.DiscussionID},
		} {
			want["From"] = `"Ann Bcc: eve@example.com (@ann)" <tenon@code.example.com>`
			want["To"] = `"Bob" <bob@example.com>`
			want["List-Id"] = fmt.Sprintf("team/web/app <%d.app.web.team.code.example.com>", f.id)
			want["List-Unsubscribe-Post"], want["Auto-Submitted"], want["X-Auto-Response-Suppress"] = "List-Unsubscribe=One-Click", "auto-generated", "All"
			want["X-Gitlab-Project"], want["X-Gitlab-Project-Path"], want["X-Gitlab-Project-Id"] = "app", "team/web/app", fmt.Sprint(f.id)
			want["X-Gitlab-Issue-Id"], want["X-Gitlab-Issue-Iid"], want["X-Gitlab-Issue-State"] = fmt.Sprint(i.ID), "2", "opened"
			want["X-Gitlab-Confidentialissue"], want["Bcc"], want["X-Evil"] = "false", "", ""
			m := mails[n]
			for name, value := range want {
				if m.Get(name) != value {
					t.Errorf("mail %d: %s is %q, want %q", n, name, m.Get(name), value)
				}
			}
			key := m.Get("X-Gitlab-Reply-Key")
			if at := fmt.Sprintf(`"team / web / app" <incoming+%s@code.example.com>`, key); m.Get("Reply-To") != at {
				t.Errorf("mail %d: answers go to %q, want %q", n, m.Get("Reply-To"), at)
			}
			if refs := m.Get("References"); !strings.HasSuffix(refs, "<reply-"+key+"@code.example.com>") || n > 0 && !strings.HasPrefix(refs, root) {
				t.Errorf("mail %d: references %q", n, refs)
			}
			thread, err := f.s.ReplyTo(strings.ToUpper(key))
			wantNote := []note.ID{0, first.ID, reply.Note.ID}[n]
			if err != nil || thread != (notify.Thread{User: bob.UserID, On: noteable.Ref{Kind: noteable.Issue, ID: int64(i.ID)}, Note: wantNote}) {
				t.Errorf("mail %d: the key leads to %+v, %v", n, thread, err)
			}
		}
		first0 := mails[0]
		issueURL := fmt.Sprintf("https://code.example.com/team/web/app/-/issues/%d", i.IID)
		for _, want := range []string{"Ann", "Hello @bob, see #1 and **this**.", issueURL, "because you were mentioned", "-- \n"} {
			if !strings.Contains(first0.Text, want) {
				t.Errorf("no %q in the text\n%s", want, first0.Text)
			}
		}
		for _, want := range []string{"<strong>this</strong>", `href="` + issueURL + `"`, "see #1 and", "because you were mentioned"} {
			if !strings.Contains(first0.HTML, want) {
				t.Errorf("no %q in the HTML\n%s", want, first0.HTML)
			}
		}
		if strings.Contains(first0.HTML, secret.Title) || strings.Contains(first0.HTML, "<script") {
			t.Errorf("the HTML tells of an issue that the reader may not read, or has a script:\n%s", first0.HTML)
		}

		link := strings.Trim(first0.Get("List-Unsubscribe"), "<>")
		key, ok := strings.CutPrefix(link, "https://code.example.com/-/sent_notifications/")
		key, ok2 := strings.CutSuffix(key, "/unsubscribe")
		if !ok || !ok2 || !strings.Contains(first0.Text, link) || !strings.Contains(first0.HTML, link) {
			t.Fatalf("the link is %q", link)
		}
		if kind, err := f.s.Unsubscription(key); kind != noteable.Issue || err != nil {
			t.Errorf("the link ends mail about %q, %v", kind, err)
		}
		for _, wrong := range []string{first0.Get("X-Gitlab-Reply-Key"), key[:len(key)-1] + "!", "", key + "aaaaaaaa"} {
			if err := f.s.Unsubscribe(ctx, wrong); !errs.Is(err, errs.NotFound) {
				t.Errorf("key %q: %v, want not found", wrong, err)
			}
		}
		if _, err := f.s.ReplyTo(key); !errs.Is(err, errs.NotFound) {
			t.Errorf("the key that ends mail lets its holder write: %v", err)
		}
		for range 2 {
			if err := f.s.Unsubscribe(ctx, key); err != nil {
				t.Fatal(err)
			}
		}
		f.write(ann, i, note.Input{Body: "Third"})
		if got := f.got(); got != "" {
			t.Errorf("mail after it was ended: %s", got)
		}
		f.write(ann, i, note.Input{Body: "@bob"})
		if got := f.got(); got != "bob:mentioned" {
			t.Errorf("a mention after mail was ended: %q", got)
		}
		if err := f.issues.Delete(ctx, ann, f.Find(ann, f.id), i.IID); err != nil {
			t.Fatal(err)
		}
		if err := f.s.Unsubscribe(ctx, key); err != nil {
			t.Errorf("the link of an issue that is gone: %v", err)
		}
	})
}

// A job that fails is run again, and sends each mail once; what the server refuses for good
// is not tried again.
func TestService_Send_again(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		ann := f.join("ann", authz.Owner)
		for n := range 6 {
			f.join(fmt.Sprintf("user%d", n), authz.Reporter)
		}
		i, err := f.issues.Create(ctx, ann, f.Find(ann, f.id), issue.Input{Title: "Issue"})
		if err != nil {
			t.Fatal(err)
		}
		f.waiting = nil
		f.write(ann, i, note.Input{Body: "@all"})
		m := f.waiting[0]
		f.server.Refuse(func(to string) error {
			switch {
			case to == "user0@example.com":
				return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
			case to >= "user3":
				return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later"}
			}
			return nil
		})
		for range 2 {
			if err := f.s.Send(ctx, m); err == nil {
				t.Error("no error while the server is busy: nothing is tried again")
			}
		}
		if got := who(f.server.Take()); got != "user1:mentioned user2:mentioned" {
			t.Errorf("while the server is busy %q", got)
		}
		asked := 0
		f.server.Refuse(func(string) error { asked++; return nil })
		for range 2 {
			if err := f.s.Send(ctx, m); err != nil {
				t.Error(err)
			}
		}
		if got := who(f.server.Take()); got != "user3:mentioned user4:mentioned user5:mentioned" || asked != 3 {
			t.Errorf("afterwards %q, asked %d times", got, asked)
		}
		f.exec("UPDATE mail_deliveries SET created_at = ? WHERE user_id = ?", f.Now().AddDate(0, 0, -8), f.people["user1"].UserID)
		if err := f.s.Sweep(ctx, notify.Sweep{}); err != nil {
			t.Fatal(err)
		}
		if n, err := db.Get[int](ctx, d, "SELECT COUNT(*) FROM mail_deliveries"); err != nil || n != 5 {
			t.Errorf("%d deliveries after the sweep, %v, want 5", n, err)
		}
		gone := notify.Mailing{ID: "x", Event: "new_note", On: noteable.Issue, Target: int64(i.ID), Note: 1 << 40, By: ann.UserID}
		if err := errors.Join(f.s.Send(ctx, gone), f.s.Send(ctx, notify.Mailing{ID: "y", Event: "close_issue", On: noteable.Issue, Target: 1 << 40})); err != nil {
			t.Errorf("mail about what is gone: %v", err)
		}
	})
}

// A comment that names 3,000 users in a group of 3,000 who all watch: mail goes to as many as
// are allowed, those named first, on one connection, and looking for them takes statements by
// the hundreds of users and not by the user.
func TestService_Send_many(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const users, most = 3000, 40
		f := setUp(t, d, func(o *notify.Out) { o.Recipients = most })
		ann := f.join("ann", authz.Owner)
		i, err := f.issues.Create(ctx, ann, f.Find(ann, f.id), issue.Input{Title: "Issue"})
		if err != nil {
			t.Fatal(err)
		}
		template := f.User("template")
		f.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO users (`+strings.Join(f.userColumns(), ", ")+`)
			SELECT `+strings.Join(f.userValues(), ", ")+" FROM n, users u WHERE u.id = ?", users, template.UserID)
		f.exec(`INSERT INTO emails (user_id, email, email_fold, is_primary, pending, confirmed_at, created_at, updated_at)
			SELECT u.id, u.username || '@example.com', u.username || '@example.com', true, false, u.created_at, u.created_at, u.created_at
			FROM users u WHERE u.username LIKE 'many%'`)
		f.exec(`INSERT INTO members (namespace_id, user_id, access_level, created_at, updated_at)
			SELECT CAST(? AS BIGINT), u.id, 20, u.created_at, u.created_at FROM users u WHERE u.username LIKE 'many%'`, f.outer)
		f.exec(`INSERT INTO notification_settings (user_id, level, email, events, created_at, updated_at)
			SELECT u.id, 'watch', '', '{}', u.created_at, u.created_at FROM users u WHERE u.username LIKE 'many%'`)
		f.exec("UPDATE users SET state = 'blocked' WHERE username LIKE 'many%' AND username <> 'many2001' AND username <> 'many7'") // so that few mails are sent
		f.waiting = nil
		var text strings.Builder
		for n := users; n > 0; n-- {
			fmt.Fprintf(&text, "@many%d ", n)
		}
		for _, c := range []struct{ name, body, want string }{
			{"names", text.String(), "many2001:mentioned"}, // the first 1,000 names count, and of these the users by id
			{"a group", "@team", "many7:mentioned"},
			{"watchers", "Hello", "many7"},
		} {
			f.write(ann, i, note.Input{Body: c.body})
			m := f.waiting[0]
			f.waiting = nil
			f.exec("DELETE FROM mentions")
			before := d.Statements()
			if err := f.s.Send(ctx, m); err != nil {
				t.Fatal(err)
			}
			statements := d.Statements() - before
			if got := who(f.server.Take()); got != c.want {
				t.Errorf("%s: mail to %q, want %s", c.name, got, c.want)
			}
			if limit := uint64(30 + 2*most); statements > limit {
				t.Errorf("%s: %d statements, want %d at most", c.name, statements, limit)
			}
		}
	})
}

// userColumns are those of the table of users but its id.
func (f *post) userColumns() []string {
	f.T.Helper()
	query := "SELECT name FROM pragma_table_info('users') WHERE name <> 'id' ORDER BY cid"
	if f.DB.Dialect() == db.Postgres {
		query = `SELECT CAST(column_name AS TEXT) FROM information_schema.columns
			WHERE table_name = 'users' AND table_schema = current_schema() AND column_name <> 'id' ORDER BY ordinal_position`
	}
	names, err := db.Select[string](ctx, f.DB, query)
	if err != nil {
		f.T.Fatal(err)
	}
	return names
}

// userValues copy a user u under the name of a number n.i.
func (f *post) userValues() []string {
	out := f.userColumns()
	for i, name := range out {
		if name == "username" || name == "username_fold" {
			out[i] = "'many' || n.i"
		} else {
			out[i] = "u." + name
		}
	}
	return out
}

// The link of a mail ends mail about an issue also for a watcher of the project, who is not subscribed to it.
func TestService_Unsubscribe_watcher(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		ann := f.join("ann", authz.Owner)
		f.join("watcher", authz.Reporter)
		f.level("watcher", f.Find(ann, f.id).NamespaceID, "watch")
		i, err := f.issues.Create(ctx, ann, f.Find(ann, f.id), issue.Input{Title: "Loud"})
		if err != nil {
			t.Fatal(err)
		}
		f.send()
		mails := f.server.Take()
		if len(mails) != 1 {
			t.Fatalf("%d mails, want 1: %s", len(mails), who(mails))
		}
		key := path.Base(path.Dir(strings.Trim(mails[0].Get("List-Unsubscribe"), "<>")))
		if err := f.s.Unsubscribe(ctx, key); err != nil {
			t.Fatal(err)
		}
		f.write(ann, i, note.Input{Body: "More"})
		if got := f.got(); got != "" {
			t.Errorf("mail after it was ended: %s", got)
		}
		if _, err := f.issues.Create(ctx, ann, f.Find(ann, f.id), issue.Input{Title: "Other"}); err != nil {
			t.Fatal(err)
		}
		if got := f.got(); got != "watcher" {
			t.Errorf("mail about another issue goes to %q, want the watcher", got)
		}
	})
}
