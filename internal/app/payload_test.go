package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/event"
	"tenon/internal/core/change"
)

// webhook is what a webhook sends. It is made of an event alone: its functions have neither a
// context nor a database.
type webhook struct {
	Kind    string                   `json:"object_kind"`
	User    string                   `json:"user_username"`
	At      time.Time                `json:"updated_at"`
	Place   string                   `json:"path_with_namespace"`
	Object  map[string]any           `json:"object_attributes"`
	Changes map[string]change.Values `json:"changes"`
}

// newWebhook is the payload of any update.
func newWebhook(f change.Fact) webhook {
	return webhook{
		Kind: f.Subject.Type, User: f.By.Username, At: f.At, Place: f.Place.Path, Object: change.Attributes(f.After), Changes: f.Changes(),
	}
}

// TestWebhookPayload builds payloads with changes from the events of updates, by code that knows of no subject.
func TestWebhookPayload(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		var sent []webhook
		event.On(s.bus, "webhooks", func(_ context.Context, e change.Event) error {
			if f := e.Changed(); f.Before != nil && f.After != nil && len(f.Columns()) > 0 {
				sent = append(sent, newWebhook(f))
			}
			return nil
		})
		bob := s.user("bob", nil)
		p := "/projects/" + number(s.do("admin", "POST", "/projects", obj{"name": "Shop", "initialize_with_readme": true}), "id")
		s.do("admin", "POST", p+"/repository/branches", obj{"branch": "topic", "ref": "main"})
		s.do("admin", "POST", p+"/repository/commits", obj{
			"branch": "topic", "commit_message": "Add a", "actions": []obj{{"action": "create", "file_path": "a", "content": "a"}},
		})
		s.do("admin", "POST", p+"/issues", obj{"title": "One", "labels": "old"})
		s.do("admin", "POST", p+"/merge_requests", obj{"source_branch": "topic", "target_branch": "main", "title": "One"})
		s.do("admin", "POST", p+"/members", obj{"user_id": bob, "access_level": 30})
		for _, tt := range []struct {
			kind, place, path string
			body              obj
			changes           string // name: from > to
		}{
			{
				"Issue", "root/shop", "/issues/1",
				obj{"title": "Two", "labels": "new", "weight": 3},
				`labels: title, last_edited_by_id: null > 1, title: "One" > "Two", updated_by_id: null > 1, weight: null > 3`,
			},
			{"MergeRequest", "root/shop", "/merge_requests/1", obj{"title": "Two", "squash": true}, `last_edited_by_id: null > 1, squash: false > true, title: "One" > "Two", updated_by_id: null > 1`},
			{"Project", "root/market", "", obj{"description": "words", "path": "market"}, `description: null > "words", full_path: "root/shop" > "root/market", path: "shop" > "market"`},
			{"User", "root/market", fmt.Sprint("/members/", bob), obj{"access_level": 40}, `access_level: 30 > 40`},
		} {
			sent = nil
			s.do("admin", "PUT", p+tt.path, tt.body)
			if len(sent) != 1 {
				t.Fatalf("%s: %d payloads, want one", tt.kind, len(sent))
			}
			w := sent[0]
			if w.Kind != tt.kind || w.User != "root" || w.Place != tt.place || w.At.IsZero() || len(w.Object) == 0 {
				t.Errorf("%s: payload of %q by %q at %s in %q", tt.kind, w.Kind, w.User, w.At, w.Place)
			}
			var got []string
			for _, name := range slices.Sorted(maps.Keys(w.Changes)) {
				if strings.HasSuffix(name, "_at") {
					continue
				}
				from, to := encode(t, w.Changes[name].Before), encode(t, w.Changes[name].After)
				if name == "labels" {
					if !strings.Contains(from, `"old"`) || !strings.Contains(to, `"new"`) || strings.Contains(to, `"old"`) {
						t.Errorf("labels changed from %s to %s", from, to)
					}
					got = append(got, "labels: title")
					continue
				}
				got = append(got, name+": "+from+" > "+to)
			}
			if text := strings.Join(got, ", "); text != tt.changes {
				t.Errorf("%s: changes\n got %s\nwant %s", tt.kind, text, tt.changes)
			}
		}
	})
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
