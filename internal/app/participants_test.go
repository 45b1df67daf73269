package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestParticipants mentions users in descriptions and comments: all interfaces name the same
// participants, who are subscribed.
func TestParticipants(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"bob", "cat", "dan"} {
			s.user(name, nil)
		}
		group := number(s.do("admin", "POST", "/groups", obj{"name": "Team", "path": "team", "visibility": "public"}), "id")
		p := "/projects/" + number(s.do("admin", "POST", "/projects", obj{"name": "app", "namespace_id": group, "visibility": "public", "initialize_with_readme": true}), "id")
		s.do("admin", "POST", p+"/repository/branches", obj{"branch": "topic", "ref": "main"})
		described := obj{"title": "One", "description": "For @bob", "source_branch": "topic", "target_branch": "main"}
		for _, tt := range []struct{ list, notes, graph string }{
			{p + "/issues", p + "/issues/%s/notes", `project(fullPath: "team/app") { thing: issue(iid: "1")`},
			{p + "/merge_requests", p + "/merge_requests/%s/notes", `project(fullPath: "team/app") { thing: mergeRequest(iid: "1")`},
			{"/groups/" + group + "/epics", "/groups/" + group + "/epics/%s/notes", `group(fullPath: "team") { thing: epic(iid: "1")`},
		} {
			made := s.do("admin", "POST", tt.list, described)
			one, of := tt.list+"/"+number(made, "iid"), number(made, "iid")
			if strings.HasSuffix(tt.list, "/epics") {
				of = number(made, "id")
			}
			s.do("admin", "POST", fmt.Sprintf(tt.notes, of), obj{"body": "And @cat"})
			want := []string{"bob", "cat", "root"}
			answer := s.send(t.Context(), request{as: "admin", way: bearer, method: http.MethodPost, path: "/api/graphql", whole: true, body: obj{
				"query": "{ place: " + tt.graph + " { participants { nodes { username } } } } }",
			}})
			var graph struct {
				Data struct {
					Place struct {
						Thing struct {
							Participants struct{ Nodes []struct{ Username string } }
						}
					}
				}
			}
			if err := json.Unmarshal(answer.Body.Bytes(), &graph); err != nil {
				t.Fatalf("%s: %d %s", tt.graph, answer.Code, answer.Body)
			}
			if got := names(graph.Data.Place.Thing.Participants.Nodes); !slices.Equal(got, want) {
				t.Errorf("participants of %s over GraphQL: got %q, want %q", tt.list, got, want)
			}
			for who, subscribed := range map[string]bool{"bob": true, "cat": true, "dan": false} {
				if got := s.do(who, "GET", one, nil)["subscribed"]; got != subscribed {
					t.Errorf("%s of %s is subscribed: got %v, want %t", who, one, got, subscribed)
				}
			}
			if strings.HasSuffix(tt.list, "/epics") {
				continue // no such route
			}
			answer = s.send(t.Context(), request{as: "admin", method: http.MethodGet, path: one + "/participants"})
			var people []struct{ Username string }
			if err := json.Unmarshal(answer.Body.Bytes(), &people); err != nil {
				t.Fatalf("%s: %d %s", one, answer.Code, answer.Body)
			}
			if got := names(people); !slices.Equal(got, want) {
				t.Errorf("participants of %s: got %q, want %q", one, got, want)
			}
		}
	})
}

func names(people []struct{ Username string }) []string {
	out := make([]string, len(people))
	for i, u := range people {
		out[i] = u.Username
	}
	slices.Sort(out)
	return out
}
