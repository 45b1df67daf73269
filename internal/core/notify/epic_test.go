package notify_test

import (
	"path"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// Who gets mail of epics, of those that they may read alone.
func TestService_Send_epics(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		for name, level := range map[string]authz.Level{"ann": authz.Owner, "planner": authz.Planner, "guest": authz.Guest, "watcher": authz.Guest, "custom": authz.Planner, "labelled": authz.Guest} {
			f.people[name] = f.User(name)
			f.Member(f.outer, f.people[name], level)
		}
		f.level("watcher", f.outer, "watch")
		f.level("custom", f.outer, "custom", "new_epic")
		ann, guest := f.people["ann"], f.people["guest"]
		g := &namespace.Group{ID: f.outer, FullPath: "team", Visibility: authz.Private}
		if _, err := f.labels.Create(ctx, ann, g.Place(), label.Input{Title: "sea", Color: "#ff0000"}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.subs.AddLabel(ctx, f.people["labelled"], g.Place(), "sea"); err != nil {
			t.Fatal(err)
		}
		var made *epic.Epic
		words := func(s string) *string { return &s }
		create := func(in epic.Input) func() error {
			return func() (err error) { made, err = f.epics.Create(ctx, ann, g, in); return err }
		}
		change := func(as authz.Actor, c epic.Changes) func() error {
			return func() error { _, err := f.epics.Update(ctx, as, g, made.IID, c); return err }
		}
		write := func(as authz.Actor, in note.Input) func() error {
			return func() error {
				_, _, err := f.notes.Create(ctx, as, note.On{Place: g.Place(), Kind: noteable.Epic, Key: noteable.Key{Number: int64(made.ID)}}, in)
				return err
			}
		}
		yes := true
		for _, step := range []struct {
			name string
			do   func() error
			want string
		}{
			{"a new epic", create(epic.Input{Title: "Sail", Description: words("See @guest."), Labels: []string{"sea"}}), "custom guest:mentioned labelled:subscribed watcher"},
			{"a comment", write(ann, note.Input{Body: "Well?"}), "guest watcher"},
			{"an internal comment", write(ann, note.Input{Body: "@planner and @guest, secretly", Internal: true}), "planner:mentioned"},
			{"a comment of the guest", write(guest, note.Input{Body: "Yes"}), "ann planner watcher"},
			{"closing", change(ann, epic.Changes{StateEvent: "close"}), "guest planner watcher"},
			{"opening", change(f.people["planner"], epic.Changes{StateEvent: "reopen"}), "ann guest watcher"},
			{"a mention", change(ann, epic.Changes{Description: words("See @guest and @custom.")}), "custom:mentioned"},
			{"a confidential epic", change(ann, epic.Changes{Confidential: &yes}), ""},
			{"a comment there", write(ann, note.Input{Body: "@guest @watcher @planner"}), "custom planner:mentioned"},
			{"a new confidential one", create(epic.Input{Title: "Secret", Description: words("@guest @planner"), Confidential: true, Labels: []string{"sea"}}), "custom planner:mentioned"},
		} {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			f.send()
			mails := f.server.Take()
			if got := who(mails); got != step.want {
				t.Errorf("%s: got %q, want %q", step.name, got, step.want)
			}
			if step.name != "closing" || len(mails) == 0 {
				continue
			}
			m := mails[0]
			for name, want := range map[string]string{
				"Subject": "Re: team | Sail (&1)", "X-GitLab-Group-Path": "team", "X-GitLab-Epic-IID": "1", "X-GitLab-Project-Path": "",
			} {
				if got := m.Get(name); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
			link, _, _ := strings.Cut(strings.TrimPrefix(m.Get("List-Unsubscribe"), "<"), ">")
			if err := f.s.Unsubscribe(ctx, path.Base(path.Dir(link))); err != nil {
				t.Errorf("unsubscribe by %q: %v", link, err)
			}
			f.exec("DELETE FROM subscriptions")
		}
	})
}
