package app

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/payload"
	"tenon/internal/core/project"
)

// hooked is a recipient of all events.
type hooked struct{ received []*payload.Message }

// Listening finds the first user.
func (*hooked) Listening(payload.Audience) (query string, args []any) {
	return "SELECT 1 FROM users u WHERE u.id = ?", []any{1}
}

// Receive keeps a message.
func (h *hooked) Receive(_ context.Context, m *payload.Message) error {
	h.received = append(h.received, m)
	return nil
}

// TestHookEvents makes events of every kind happen on a server, and asks for a sample of each. The client of Go decodes them.
func TestHookEvents(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		hookEvents(t, "")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		hookEvents(t, dbtest.PostgresURL(t))
	})
}

func hookEvents(t *testing.T, database string) {
	h := &hooked{}
	s := newServerOf(t, database, Build{Version: "test", Revision: "unknown", Subjects: []core.Subject{func(*core.Build) any { return h }}})
	p := s.do("admin", "POST", "/projects", obj{"name": "Shop", "initialize_with_readme": true})
	at := "/projects/" + number(p, "id")
	bob := s.user("bob", nil)
	s.do("admin", "POST", at+"/members", obj{"user_id": bob, "access_level": 30})
	s.do("admin", "POST", at+"/milestones", obj{"title": "v1"})
	s.do("admin", "POST", at+"/repository/commits", obj{"branch": "main", "commit_message": "Add CI", "actions": []obj{
		{"action": "create", "file_path": ".gitlab-ci.yml", "content": "test:\n  script: [\"true\"]\n"},
	}})
	drain := func() {
		t.Helper()
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Log(s.logs.String())
			t.Fatal(err)
		}
	}
	drain() // before anything cancels the pipeline
	s.do("admin", "POST", at+"/repository/branches", obj{"branch": "topic", "ref": "main"})
	c := s.do("admin", "POST", at+"/repository/commits", obj{"branch": "topic", "commit_message": "Add a", "actions": []obj{{"action": "create", "file_path": "a", "content": "a"}}})
	s.do("admin", "POST", at+"/repository/tags", obj{"tag_name": "v1", "ref": "main", "message": "One"})
	s.do("admin", "POST", at+"/issues", obj{"title": "One"})
	s.do("admin", "POST", at+"/issues", obj{"title": "Secret", "confidential": true})
	s.do("admin", "POST", at+"/merge_requests", obj{"source_branch": "topic", "target_branch": "main", "title": "One"})
	snippet := s.do("admin", "POST", at+"/snippets", obj{"title": "One", "file_name": "a", "content": "a", "visibility": "private"})
	note := s.do("admin", "POST", at+"/issues/1/notes", obj{"body": "on the issue ![x](/uploads/1/x.png)"})
	s.do("admin", "POST", at+"/issues/1/notes", obj{"body": "within", "internal": true})
	s.do("admin", "POST", at+"/issues/2/notes", obj{"body": "on the secret"})
	s.do("admin", "POST", at+"/merge_requests/1/notes", obj{"body": "on the request"})
	s.do("admin", "POST", at+"/snippets/"+number(snippet, "id")+"/notes", obj{"body": "on the snippet"})
	s.do("admin", "POST", fmt.Sprint(at, "/repository/commits/", c["id"], "/comments"), obj{"note": "on the commit"})
	s.do("admin", "POST", at+"/issues/1/award_emoji", obj{"name": "rocket"})
	s.do("admin", "POST", at+"/issues/2/award_emoji", obj{"name": "rocket"})
	s.do("admin", "POST", at+"/issues/1/notes/"+number(note, "id")+"/award_emoji", obj{"name": "rocket"})
	s.do("admin", "POST", at+"/wikis", obj{"title": "Home page", "content": "words"})
	deployment := s.do("admin", "POST", at+"/deployments", obj{"environment": "production", "sha": c["id"], "ref": "topic", "tag": false, "status": "running"})
	s.do("admin", "PUT", at+"/deployments/"+number(deployment, "id"), obj{"status": "success"})
	s.do("admin", "POST", at+"/releases", obj{
		"tag_name": "v1", "description": "as ![x](a.png)", "assets": obj{"links": []obj{{"name": "a", "url": "https://example.com/a"}}},
	})
	s.do("admin", "PUT", at+"/releases/v1", obj{"name": "One"})
	s.do("admin", "POST", at+"/feature_flags", obj{"name": "dark", "version": "new_version_flag", "description": "at night"})
	s.do("admin", "PUT", at+"/feature_flags/dark", obj{"description": "by night"})
	s.do("admin", "PUT", at+"/feature_flags/dark", obj{"active": false})
	drain()
	small := slices.Clone(h.received)
	s.furnishHookEvents(t, bob, drain)
	s.placeEvents(drain)
	checkPlaceEvents(t, h.received)
	if database == "" {
		compareGolden(t, "../../docs/events.md", eventsText(h.received))
	}
	bodies := &bodyCheck{T: t, blocks: bodiesOfReference(t), seen: map[string]bool{}}
	for _, m := range h.received {
		bodies.message(m)
	}
	seen := map[payload.Trigger]int{}
	for _, m := range small {
		seen[m.Trigger]++
	}
	strict := newStrictDecoding(t)
	for _, m := range h.received {
		strict.decode(m)
	}
	for trigger, least := range map[payload.Trigger]int{
		payload.Push: 2, payload.TagPush: 1, payload.Issue: 1, payload.ConfidentialIssue: 1, payload.Note: 4, payload.ConfidentialNote: 2, payload.MergeRequest: 1,
		payload.Job: 1, payload.Pipeline: 1, payload.WikiPage: 1, payload.Milestone: 1, payload.Emoji: 2, payload.Project: 1, payload.RepositoryUpdate: 2, payload.System: 4,
		payload.Deployment: 2, payload.Release: 2, payload.FeatureFlag: 1,
	} {
		if seen[trigger] < least || slices.Contains([]payload.Trigger{payload.Emoji, payload.Issue, payload.Note, payload.ConfidentialNote, payload.Deployment, payload.Release, payload.FeatureFlag}, trigger) && seen[trigger] != least {
			t.Errorf("%s: %d messages, want %d", trigger, seen[trigger], least)
		}
	}
	n, err := s.core.Projects.FindByID(t.Context(), authz.Actor{UserID: 1, Admin: true}, project.ID(p["id"].(float64)))
	if err != nil {
		t.Fatal(err)
	}
	for trigger, want := range map[payload.Trigger]string{
		payload.Push: "", payload.TagPush: "", payload.Issue: "", payload.ConfidentialIssue: "", payload.Note: "", payload.ConfidentialNote: "", payload.MergeRequest: "",
		payload.Job: "", payload.Pipeline: "", payload.WikiPage: "", payload.Emoji: "", payload.ResourceAccessToken: "",
		payload.Deployment: "", payload.Release: "", payload.FeatureFlag: "",
	} {
		m, err := s.core.Payloads.Sample(t.Context(), authz.Actor{UserID: 1, Admin: true}, n.Place(), trigger)
		switch {
		case want != "" && (!errs.Is(err, errs.Unprocessable) || err.Error() != want):
			t.Errorf("sample of %s: %v, want %q", trigger, err, want)
		case want == "" && (err != nil || len(m.JSON) < 100):
			t.Errorf("sample of %s: %v", trigger, err)
		case want == "":
			bodies.message(m)
			strict.decode(m)
		}
	}
	strict.whole()
	compareGolden(t, "testdata/hook_bodies_empty.txt", bodies.whole())
}
