package app

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// write is a request that a project or group may vanish under; %d in a text is a number
// of its own.
type write struct {
	method, path string
	body         map[string]any
}

// filled returns the write with the number in its texts.
func (w write) filled(n int64) request {
	body := map[string]any{}
	for key, value := range w.body {
		if text, ok := value.(string); ok {
			value = strings.ReplaceAll(text, "%d", strconv.FormatInt(n, 10))
		}
		body[key] = value
	}
	return request{as: "admin", method: w.method, path: w.path, body: body}
}

// whileItGoes makes the writes again and again, several at once, while remove takes away
// what they write to, and then expects each to find nothing. None may fail.
func (s *server) whileItGoes(at string, writes []write, remove func(ctx context.Context) error) {
	s.tb.Helper()
	var wg sync.WaitGroup
	var number atomic.Int64
	removed := make(chan struct{})
	begun := make(chan struct{}, len(writes))
	for _, w := range writes {
		w.path = at + w.path
		wg.Go(func() {
			for first, last := true, false; !last; first = false {
				select {
				case <-removed:
					last = true
				default:
				}
				q := w.filled(number.Add(1))
				got := s.send(s.tb.Context(), q)
				if first {
					begun <- struct{}{}
				}
				if got.Code >= http.StatusInternalServerError || last && got.Code != http.StatusNotFound {
					s.tb.Errorf("%s %s while it goes, or, %t, when it is gone: got %d %s\n%s", q.method, q.path, last, got.Code, got.Body, s.logs.last())
					if !first {
						return
					}
				}
			}
		})
	}
	for range writes {
		<-begun
	}
	if err := remove(s.tb.Context()); err != nil {
		s.tb.Errorf("remove: %v", err)
	}
	close(removed)
	wg.Wait()
}

// A user who writes to a project that is just being deleted learns that it is not there,
// however far the request had come.
func TestProject_goes_while_it_is_written_to(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for round := range 3 {
			user := s.user(fmt.Sprintf("user%d", round), nil)
			p := s.do("admin", "POST", "/projects", map[string]any{"name": fmt.Sprintf("p%d", round), "initialize_with_readme": true})
			id := number(p, "id")
			at := "/projects/" + id
			iid := number(s.do("admin", "POST", at+"/issues", map[string]any{"title": "one"}), "iid")
			sha := s.do("admin", "GET", at+"/repository/commits/main", nil)["id"]
			s.whileItGoes(at, []write{
				{"POST", "/issues", map[string]any{"title": "issue %d", "labels": "new %d"}},
				{"PUT", "/issues/" + iid, map[string]any{"title": "title %d"}},
				{"POST", "/issues/" + iid + "/notes", map[string]any{"body": "note %d"}},
				{"POST", "/labels", map[string]any{"name": "label %d", "color": "#112233"}},
				{"POST", "/members", map[string]any{"user_id": user, "access_level": 30}},
				{"POST", "/badges", map[string]any{"link_url": "https://example.com/%d", "image_url": "https://example.com/i"}},
				{"POST", "/repository/branches", map[string]any{"branch": "b%d", "ref": "main"}},
				{"POST", "/repository/files/f%2Fg", map[string]any{"branch": "c%d", "start_branch": "main", "content": "x", "commit_message": "m"}},
				{"POST", "/protected_branches", map[string]any{"name": "pb%d"}},
				{"POST", "/statuses/" + fmt.Sprint(sha), map[string]any{"state": "success", "name": "s%d"}},
				{"POST", "/uploads", map[string]any{"file": attached{"a.txt", "text"}}},
				{"POST", "/access_tokens", map[string]any{"name": "t%d", "scopes": []string{"api"}, "expires_at": "2027-01-01"}},
				{"PUT", "", map[string]any{"description": "words %d", "topics": "t%d"}},
				{"POST", "/star", nil},
			}, func(ctx context.Context) error {
				s.do("admin", "DELETE", at, nil)
				return s.core.Projects.Purge(ctx, project.Purge{ProjectID: project.ID(int64(p["id"].(float64)))})
			})
		}
	})
}

// The same for a group with all that is in it.
func TestGroup_goes_while_it_is_written_to(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for round := range 3 {
			user := s.user(fmt.Sprintf("user%d", round), nil)
			path := fmt.Sprintf("g%d", round)
			g := s.do("admin", "POST", "/groups", map[string]any{"name": path, "path": path})
			id := number(g, "id")
			s.whileItGoes("/groups/"+id, []write{
				{"POST", "/members", map[string]any{"user_id": user, "access_level": 30}},
				{"POST", "/badges", map[string]any{"link_url": "https://example.com/%d", "image_url": "https://example.com/i"}},
				{"POST", "/invitations", map[string]any{"email": "u%d@example.com", "access_level": 30}},
				{"POST", "/labels", map[string]any{"name": "label %d", "color": "#112233"}},
				{"POST", "/access_tokens", map[string]any{"name": "t%d", "scopes": []string{"api"}, "expires_at": "2027-01-01"}},
				{"PUT", "", map[string]any{"description": "words %d"}},
			}, func(ctx context.Context) error {
				return s.core.Projects.PurgeGroup(ctx, project.PurgeGroup{GroupID: namespace.ID(int64(g["id"].(float64)))})
			})
		}
	})
}
