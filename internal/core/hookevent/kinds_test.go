package hookevent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/issue"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/payload"
	"tenon/internal/core/project"
	"tenon/internal/core/sshkey"
)

// publish publishes events of one change.
func (w *world) publish(events ...event.Event) {
	w.T.Helper()
	approvaltest.Check(w.T, w.DB.InTx(w.T.Context(), func(ctx context.Context) error {
		for _, e := range events {
			if err := w.Bus.Publish(ctx, e); err != nil {
				return err
			}
		}
		return nil
	}))
}

// lines drains and tells what was received: trigger, action and some keys of each body.
func (w *world) lines(keys ...string) string {
	w.T.Helper()
	w.drain()
	var out []string
	for _, m := range w.listener.take() {
		b := body(w.T, m)
		line := fmt.Sprint(m.Trigger, " ", action(b))
		for _, key := range keys {
			if v := at(b, strings.Split(key, "/")...); v != nil {
				line += fmt.Sprint(" ", v)
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// TestService_issues tells of issues by their own flag, and of confidential ones by another. What an issue was while it was
// confidential is in no body for others.
func TestService_issues(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.As(w.Developer)
		w.drain()
		w.listener.triggers = []payload.Trigger{payload.Issue, payload.ConfidentialIssue}
		fact := func(before, after *issue.Issue) issue.Fact {
			return issue.Fact{Of: change.Between(w.Developer, w.Now(), p.Place(), before, after), Project: p}
		}
		plain := &issue.Issue{ID: 1, IID: 1, ProjectID: p.ID, AuthorID: w.Developer.UserID, Title: "One", State: issue.StateOpened, Type: issue.Incident, UserAddress: new("10.0.0.9")}
		secret := *plain
		secret.Title, secret.Description, secret.Confidential = "Secret", new("hidden words"), true
		open := *plain
		open.Title, open.Description = "Told", new("new words")
		closed := open
		closed.State, closed.Title = issue.StateClosed, "Done"
		w.publish(
			issue.Created{Fact: issue.Fact{Of: change.Created(w.Developer, w.Now(), p.Place(), plain), Project: p}},
			issue.Updated{Fact: fact(plain, &secret)},
			issue.Updated{Fact: fact(&secret, &open)},
			issue.Updated{Fact: fact(&open, &closed)}, issue.Closed{Fact: fact(&open, &closed)},
		)
		stored, err := db.Get[string](t.Context(), w.DB, "SELECT data FROM hook_events ORDER BY id LIMIT 1")
		if err != nil || strings.Contains(stored, "10.0.0.9") {
			t.Errorf("recorded: %s, %v", stored, err)
		}
		w.drain()
		messages := w.listener.take()
		var got []string
		for _, m := range messages {
			b := body(t, m)
			changes := b["changes"].(map[string]any)
			got = append(got, fmt.Sprint(m.Trigger, " ", action(b), " ", b["event_type"], " ", at(b, "object_attributes", "title"), " ", at(b, "object_attributes", "type"), " ", len(changes), changes["confidential"]))
			if m.Trigger == payload.Issue && strings.Contains(string(m.JSON), "hidden words") {
				t.Errorf("%s tells %s", m.Trigger, m.JSON)
			}
		}
		approvaltest.Equal(t, "messages", strings.Join(got, "\n"), strings.Join([]string{
			"issues_events open issue One Incident 0 <nil>",
			"confidential_issues_events update confidential_issue Secret Incident 3 map[current:true previous:false]",
			"issues_events update issue Told Incident 1 map[current:false previous:true]",
			"issues_events close issue Done Incident 2 <nil>",
		}, "\n"))
	})
}

// TestService_people tells hooks of the instance of users, keys and members, and hooks of groups of members of theirs.
func TestService_people(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p, now := w.As(w.Developer), w.Now()
		w.drain()
		w.listener.triggers = []payload.Trigger{payload.System, payload.Member}
		w.Exec("UPDATE users SET state = 'blocked', public_email = 'stan@shown.example' WHERE id = ?", w.Stranger.UserID)
		u := &account.User{ID: w.Reporter.UserID, Username: "rita", Name: "Rita", Email: "rita@example.com"}
		renamed := *u
		renamed.Username = "margarita"
		m := &namespace.Member{UserID: u.ID, NamespaceID: w.GroupID, Level: authz.Maintainer, ExpiresOn: new("2030-01-02")}
		group := authz.Place{Group: true, ID: int64(w.GroupID), Namespace: w.GroupID}
		of := namespace.MemberUser{ID: u.ID, Username: u.Username, Name: u.Name}
		k := &sshkey.Key{ID: 4, Kind: sshkey.UserKey, UserID: &u.ID, PublicKey: "ssh-ed25519 AAAA"}
		w.publish(
			account.UserCreated{Of: change.Created(w.Owner, now, authz.Place{}, u)},
			account.UserUpdated{Of: change.Between(w.Owner, now, authz.Place{}, u, u)},
			account.UserUpdated{Of: change.Between(w.Owner, now, authz.Place{}, u, &renamed)},
			account.SignOnFailed{Stamp: w.Reporter.Stamp(now)},
			account.SignOnFailed{Stamp: w.Stranger.Stamp(now)},
			sshkey.Added{Of: change.Created(w.Reporter, now, authz.Place{}, k)},
			namespace.MemberAdded{Of: change.Created(w.Owner, now, group, m), User: of},
			namespace.MemberRemoved{Of: change.Deleted(w.Owner, now, p.Place(), m), User: of},
			namespace.AccessRequested{Stamp: w.Reporter.Stamp(now), Place: group},
			account.UserRemoved{Of: change.Deleted(w.Owner, now, authz.Place{}, u)},
		)
		approvaltest.Equal(t, "people", w.lines("username", "old_username", "email", "state", "key", "user_username", "user_email", "group_path", "group_access", "project_path", "access_level", "expires_at"), strings.Join([]string{
			"system_events user_create rita rita@example.com",
			"system_events user_rename margarita rita rita@example.com",
			"system_events user_failed_login stan stan@example.com blocked",
			"system_events key_create rita ssh-ed25519 AAAA",
			"system_events user_add_to_group rita [REDACTED] group Maintainer 2030-01-02T00:00:00Z",
			"member_events user_add_to_group rita [REDACTED] group Maintainer 2030-01-02T00:00:00Z",
			"system_events user_remove_from_team rita [REDACTED] shop Maintainer",
			"system_events user_access_request_to_group rita [REDACTED] group",
			"member_events user_access_request_to_group rita [REDACTED] group",
			"system_events user_destroy rita rita@example.com",
		}, "\n"))
	})
}

// TestService_places tells of projects, groups and milestones, also of those that no longer exist when their hooks are notified.
func TestService_places(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p, now := w.As(w.Developer), w.Now()
		w.drain()
		w.listener.triggers = []payload.Trigger{payload.System, payload.Project, payload.Subgroup, payload.Milestone}
		moved := *p
		moved.Path, moved.FullPath = "market", "group/market"
		w.Member(w.GroupID, w.Owner, authz.Owner)
		g := &namespace.Group{ID: 99, ParentID: &w.GroupID, Name: "Sub", Path: "sub", FullPath: "group/sub"}
		old := *g
		old.Path, old.FullPath = "old", "group/old"
		ms := &milestone.Milestone{ID: 3, IID: 1, Title: "v1", State: milestone.Active, DueDate: new("2030-01-01"), NamespaceID: w.GroupID}
		done := *ms
		done.State = milestone.Closed
		w.publish(
			project.Updated{Fact: change.Between(w.Owner, now, p.Place(), p, p)},
			project.Updated{Fact: change.Between(w.Owner, now, p.Place(), p, &moved)},
			project.Deleted{Fact: change.Deleted(w.Owner, now, p.Place(), p)},
			namespace.GroupCreated{GroupFact: change.Created(w.Owner, now, authz.Place{}, g)},
			namespace.GroupUpdated{GroupFact: change.Between(w.Owner, now, authz.Place{}, &old, g)},
			milestone.Created{Of: change.Created(w.Owner, now, p.Place(), ms)},
			milestone.Updated{Of: change.Between(w.Owner, now, authz.Place{Group: true, ID: int64(w.GroupID), Namespace: w.GroupID}, ms, &done)},
		)
		approvaltest.Equal(t, "places", w.lines("path_with_namespace", "old_path_with_namespace", "owner_name", "owners", "full_path", "old_full_path", "parent_path",
			"object_attributes/title", "group/full_path", "project/path_with_namespace"), strings.Join([]string{
			"system_events project_update group/shop group [map[email:[REDACTED] name:Olga]]",
			"project_events project_update group/shop [map[email:[REDACTED] name:Olga]]",
			"system_events project_rename group/market group/shop group [map[email:[REDACTED] name:Olga]]",
			"project_events project_rename group/market group/shop [map[email:[REDACTED] name:Olga]]",
			"system_events project_destroy group/shop group [map[email:[REDACTED] name:Olga]]",
			"project_events project_destroy group/shop [map[email:[REDACTED] name:Olga]]",
			"system_events group_create group/sub",
			"subgroup_events subgroup_create group/sub group",
			"system_events group_rename group/sub group/old",
			"milestone_events create v1 group/shop",
			"milestone_events close v1 group",
		}, "\n"))
	})
}
