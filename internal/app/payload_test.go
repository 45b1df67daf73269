package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// webhook is what a webhook sends. It is made of an event alone: its functions have neither a
// context nor a database.
type webhook struct {
	Kind    string            `json:"object_kind"`
	User    string            `json:"user_username"`
	At      time.Time         `json:"updated_at"`
	Place   string            `json:"path_with_namespace"`
	Object  map[string]any    `json:"object_attributes"`
	Changes map[string]change `json:"changes"`
}

type change struct {
	Previous any `json:"previous"`
	Current  any `json:"current"`
}

// rowColumns adds the values of a row by the names of its columns. The level of the actor is
// not one.
func rowColumns(row any, out map[string]any) map[string]any {
	v := reflect.ValueOf(row)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("db"), ",")
		switch {
		case f.Anonymous:
			rowColumns(v.Field(i).Interface(), out)
		case !f.IsExported() || name == "actor_level": // which is not of the row
		case name != "" && name != "-":
			out[name] = v.Field(i).Interface()
		case f.Type.Kind() == reflect.Slice: // labels and people, which other tables have
			out[strings.ToLower(f.Name)] = v.Field(i).Interface()
		}
	}
	return out
}

// newWebhook is the payload for a row after and, where it is not nil, before a change.
func newWebhook[T any](kind, place string, s authz.Stamp, after T, before *T) webhook {
	w := webhook{Kind: kind, User: s.By.Username, At: s.At, Place: place, Object: rowColumns(after, map[string]any{}), Changes: map[string]change{}}
	if before == nil {
		return w
	}
	for name, was := range rowColumns(*before, map[string]any{}) {
		if now := w.Object[name]; !reflect.DeepEqual(was, now) {
			w.Changes[name] = change{was, now}
		}
	}
	return w
}

// TestWebhookPayload builds payloads with changes from the events of updates.
func TestWebhookPayload(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		var sent []webhook
		event.On(s.bus, "webhooks", func(_ context.Context, e issue.Updated) error {
			sent = append(sent, newWebhook("issue", e.Project.FullPath, e.Stamp, e.Issue, e.Before))
			return nil
		})
		event.On(s.bus, "webhooks", func(_ context.Context, e mergerequest.Updated) error {
			sent = append(sent, newWebhook("merge_request", e.Project.FullPath, e.Stamp, e.MergeRequest, e.Before))
			return nil
		})
		event.On(s.bus, "webhooks", func(_ context.Context, e project.Updated) error {
			sent = append(sent, newWebhook("project", e.Project.FullPath, e.Stamp, e.Project, e.Before))
			return nil
		})
		event.On(s.bus, "webhooks", func(_ context.Context, e namespace.MemberChanged) error {
			sent = append(sent, newWebhook("member", e.Place.Path+" "+e.User.Username, e.Stamp, e.Member, &e.Before))
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
				"issue", "root/shop", "/issues/1",
				obj{"title": "Two", "labels": "new", "weight": 3},
				`labels: title, title: "One" > "Two", updated_by_id: null > 1, weight: null > 3`,
			},
			{"merge_request", "root/shop", "/merge_requests/1", obj{"title": "Two", "squash": true}, `squash: false > true, title: "One" > "Two"`},
			{"project", "root/market", "", obj{"description": "words", "path": "market"}, `description: null > "words", full_path: "root/shop" > "root/market", path: "shop" > "market"`},
			{"member", "root/market bob", fmt.Sprint("/members/", bob), obj{"access_level": 40}, `access_level: 30 > 40`},
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
				if name == "updated_at" || name == "last_activity_at" || strings.HasSuffix(name, "_fold") {
					continue
				}
				from, to := encode(t, w.Changes[name].Previous), encode(t, w.Changes[name].Current)
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
