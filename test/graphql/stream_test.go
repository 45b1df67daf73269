package graphql

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what has to come.
const patience = 30 * time.Second

// stream is the answer to an operation as a stream of events.
type stream struct {
	t      testing.TB
	lines  *bufio.Reader
	cancel context.CancelFunc
}

// follow sends an operation whose answer is a stream.
func (s *server) follow(web *httptest.Server, as, query string, v variables) *stream {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": v})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	defer time.AfterFunc(patience, cancel).Stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, web.URL+"/api/graphql", strings.NewReader(string(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	if as != "" {
		r.Header.Set("Authorization", "Bearer "+s.tokens[as])
	}
	w, err := web.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cancel(); _ = w.Body.Close() })
	if kind := w.Header.Get("Content-Type"); w.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		raw, _ := io.ReadAll(w.Body)
		s.t.Fatalf("%s: got %d, %s, %s", query, w.StatusCode, kind, raw)
	}
	return &stream{s.t, bufio.NewReader(w.Body), cancel}
}

// next returns the next event, "complete" where it is the last one.
func (s *stream) next() string {
	s.t.Helper()
	defer time.AfterFunc(patience, s.cancel).Stop()
	name, data := "", ""
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			s.t.Fatalf("the stream broke off: %v", err)
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "" && name == "complete":
			_, _ = io.Copy(io.Discard, s.lines) // until the server has let go of it
			return name
		case line == "" && name != "":
			answer, _, found := strings.Cut(data, `,"extensions":{"cost"`)
			if found {
				answer += "}"
			}
			return answer
		case strings.HasPrefix(line, "event: "):
			name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			data = line[len("data: "):]
		}
	}
}

func (s *stream) want(events ...string) {
	s.t.Helper()
	for _, want := range events {
		if got := s.next(); got != want {
			s.t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestStreams follows an issue, a merge request and notes: each change of what is asked for comes as
// an event, and no other.
func TestStreams(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(1)
		web := httptest.NewServer(s.Handler())
		t.Cleanup(web.Close)
		issue := at(s.data("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { id } } }`, nil), "project", "issue", "id")
		v := variables{"id": issue}
		const issues = "/projects/team%2Fapp/issues/1"

		title := s.follow(web, "dev", `subscription($id: IssuableID!) { issuableTitleUpdated(issuableId: $id) { ... on Issue { title } } }`, v)
		labels := s.follow(web, "guest", `subscription($id: IssuableID!) { issuableLabelsUpdated(issuableId: $id) { ... on Issue { title labels { nodes { title } } } } }`, v)
		s.rest("dev", "PUT", issues, `{"title":"renamed"}`)
		s.rest("dev", "PUT", issues, `{"add_labels":"ux"}`)
		title.want(`{"data":{"issuableTitleUpdated":{"title":"renamed"}}}`)
		labels.want(`{"data":{"issuableLabelsUpdated":{"title":"renamed","labels":{"nodes":[{"title":"bug"},{"title":"ux"}]}}}}`)
		item := s.follow(web, "dev", `subscription($id: WorkItemID!) { workItemUpdated(workItemId: $id) { title state } }`, v)
		s.rest("dev", "PUT", issues, `{"title":"again"}`)
		item.want(`{"data":{"workItemUpdated":{"title":"again","state":"OPEN"}}}`)
		title.want(`{"data":{"issuableTitleUpdated":{"title":"again"}}}`)

		// What one may no longer read ends.
		s.rest("dev", "PUT", issues, `{"confidential":true,"add_labels":"secret"}`)
		labels.want("complete")
		s.rest("dev", "PUT", issues, `{"confidential":false}`)

		const noteArgs = `($id: NoteableID!)`
		made := s.follow(web, "guest", `subscription`+noteArgs+` { workItemNoteCreated(noteableId: $id) { body internal author { username } } }`, v)
		changed := s.follow(web, "guest", `subscription`+noteArgs+` { workItemNoteUpdated(noteableId: $id) { body } }`, v)
		gone := s.follow(web, "guest", `subscription`+noteArgs+` { workItemNoteDeleted(noteableId: $id) { id lastDiscussionNote } }`, v)
		all := s.follow(web, "dev", `subscription`+noteArgs+` { workItemNoteDeleted(noteableId: $id) { id } }`, v)
		secret := id(s.rest("dev", "POST", issues+"/notes", `{"body":"secret","internal":true}`))
		note := id(s.rest("dev", "POST", issues+"/notes", `{"body":"hello"}`))
		made.want(`{"data":{"workItemNoteCreated":{"body":"hello","internal":false,"author":{"username":"dev"}}}}`)
		s.rest("dev", "PUT", fmt.Sprintf("%s/notes/%d", issues, secret), `{"body":"more secret"}`)
		s.rest("dev", "PUT", fmt.Sprintf("%s/notes/%d", issues, note), `{"body":"hello, all"}`)
		changed.want(`{"data":{"workItemNoteUpdated":{"body":"hello, all"}}}`)
		s.rest("dev", "DELETE", fmt.Sprintf("%s/notes/%d", issues, secret), "")
		s.rest("dev", "DELETE", fmt.Sprintf("%s/notes/%d", issues, note), "")
		gone.want(fmt.Sprintf(`{"data":{"workItemNoteDeleted":{"id":"gid://gitlab/Note/%d","lastDiscussionNote":true}}}`, note))
		all.want(fmt.Sprintf(`{"data":{"workItemNoteDeleted":{"id":"gid://gitlab/Note/%d"}}}`, secret), fmt.Sprintf(`{"data":{"workItemNoteDeleted":{"id":"gid://gitlab/Note/%d"}}}`, note))

		s.rest("owner", "DELETE", issues, "")
		for _, st := range []*stream{title, made, changed, gone, all} {
			st.want("complete")
		}
	})
}

// TestStreams_requests follows the approvals and the reviewers of a merge request.
func TestStreams_requests(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(0)
		s.rest("owner", "POST", "/projects/team%2Fapp/repository/commits", `{"branch":"main","commit_message":"first","actions":[{"action":"create","file_path":"README","content":"x"}]}`)
		s.branch("dev", "team%2Fapp", "feature")
		s.rest("dev", "POST", "/projects/team%2Fapp/merge_requests", `{"title":"change","source_branch":"feature","target_branch":"main"}`)
		web := httptest.NewServer(s.Handler())
		t.Cleanup(web.Close)
		request := at(s.data("dev", `{ project(fullPath: "team/app") { mergeRequest(iid: "1") { id } } }`, nil), "project", "mergeRequest", "id")
		follow := func(field, rest string) *stream {
			return s.follow(web, "dev", `subscription($id: IssuableID!) { `+field+`(issuableId: $id) { ... on MergeRequest { `+rest+` } } }`, variables{"id": request})
		}
		reviewers := follow("mergeRequestReviewersUpdated", "reviewers { nodes { username } }")
		approvals := follow("mergeRequestApprovalStateUpdated", "iid")
		status := follow("mergeRequestMergeStatusUpdated", "draft")
		s.rest("dev", "PUT", "/projects/team%2Fapp/merge_requests/1", fmt.Sprintf(`{"reviewer_ids":[%d]}`, s.ids["owner"]))
		reviewers.want(`{"data":{"mergeRequestReviewersUpdated":{"reviewers":{"nodes":[{"username":"owner"}]}}}}`)
		s.rest("owner", "POST", "/projects/team%2Fapp/merge_requests/1/approve", `{}`)
		approvals.want(`{"data":{"mergeRequestApprovalStateUpdated":{"iid":"1"}}}`)
		status.want(`{"data":{"mergeRequestMergeStatusUpdated":{"draft":false}}}`)
	})
}

// TestStreams_refused: streams are for those who may read, and no longer than they may.
func TestStreams_refused(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(1)
		web := httptest.NewServer(s.Handler())
		t.Cleanup(web.Close)
		issue := at(s.data("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { id } } }`, nil), "project", "issue", "id")
		const query = `subscription($id: IssuableID!) { issuableTitleUpdated(issuableId: $id) { ... on Issue { title } } }`
		v := variables{"id": issue}
		for _, as := range []string{"", "stranger"} {
			st := s.follow(web, as, query, v)
			if got := st.next(); !strings.Contains(got, "does not exist or you don't have permission") || !strings.Contains(got, `"data":null`) && !strings.Contains(got, `"data":{"issuableTitleUpdated":null}`) {
				t.Errorf("%q: got %s", as, got)
			}
			st.want("complete")
		}
		// One that is not a stream says how to ask.
		if got := s.ask("dev", query, v); !strings.Contains(got, "Accept: text/event-stream") {
			t.Errorf("not as a stream: got %s", got)
		}
		// Other operations are answered once.
		s.follow(web, "dev", `{ currentUser { username } }`, nil).want(`{"data":{"currentUser":{"username":"dev"}}}`, "complete")
		if st := s.follow(web, "dev", `{ nothing }`, nil); !strings.Contains(st.next(), `"errors":[`) {
			t.Error("a document that is wrong has no errors")
		}

		// Streams end with the token, with the account, and with its place in the project.
		s.token("short", "dev", "read_api")
		revoked := s.follow(web, "short", query, v)
		s.rest("dev", "PUT", "/projects/team%2Fapp/issues/1", `{"title":"for readers too"}`)
		revoked.want(`{"data":{"issuableTitleUpdated":{"title":"for readers too"}}}`)
		self := s.rest("short", "GET", "/personal_access_tokens/self", "")
		s.rest("root", "DELETE", fmt.Sprintf("/personal_access_tokens/%d", id(self)), "")
		revoked.want("complete")

		blocked := s.follow(web, "guest", query, v)
		s.rest("root", "POST", fmt.Sprintf("/users/%d/block", s.ids["guest"]), "{}")
		blocked.want("complete")

		// Ten at once, no more, until one ends.
		var open []*stream
		for range 10 {
			open = append(open, s.follow(web, "dev", query, v))
		}
		if got := s.follow(web, "dev", query, v).next(); !strings.Contains(got, "too many times") && !strings.Contains(got, "Too many") {
			t.Errorf("an eleventh stream: got %s", got)
		}
		s.follow(web, "owner", query, v)
		open[0].cancel()
		for deadline := time.Now().Add(patience); ; {
			st := s.follow(web, "dev", query, v)
			s.rest("dev", "PUT", "/projects/team%2Fapp/issues/1", fmt.Sprintf(`{"title":"at %d"}`, time.Now().UnixNano()))
			if got := st.next(); strings.Contains(got, `"title":"at `) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the place of a stream that ended stays taken")
			}
		}
	})
}

// TestStreams_withdrawn follows an issue over a connection from an address that the group then does not let in any more: nothing comes after that.
// A stream that is open in maintenance mode lets no change through either, and goes on after it.
func TestStreams_withdrawn(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(1)
		web := httptest.NewServer(s.Handler()) // which is reached from 127.0.0.1, and changes below come from 192.0.2.1
		t.Cleanup(web.Close)
		v := variables{"id": at(s.data("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { id } } }`, nil), "project", "issue", "id")}
		const query = `subscription($id: IssuableID!) { issuableTitleUpdated(issuableId: $id) { ... on Issue { title } } }`
		const issue = "/projects/team%2Fapp/issues/1"
		readers := map[string]*stream{}
		for _, as := range []string{"guest", "owner", "root"} {
			readers[as] = s.follow(web, as, query, v)
		}
		s.rest("dev", "PUT", issue, `{"title":"for all"}`)
		for _, r := range readers {
			r.want(`{"data":{"issuableTitleUpdated":{"title":"for all"}}}`)
		}
		s.rest("owner", "PUT", "/groups/team", `{"ip_restriction_ranges":"192.0.2.0/24"}`)
		s.rest("dev", "PUT", issue, `{"title":"for those inside"}`)
		for as, r := range readers {
			if got := r.next(); got != "complete" {
				t.Errorf("%s, who is not let in: got %s", as, got)
			}
		}
		if got := s.follow(web, "owner", query, v).next(); !strings.Contains(got, `"errors"`) {
			t.Errorf("a new stream: got %s", got)
		}
		s.rest("owner", "PUT", "/groups/team", `{"ip_restriction_ranges":""}`)

		through := s.follow(web, "dev", query, v)
		s.rest("root", "PUT", "/application/settings", `{"maintenance_mode":true,"maintenance_mode_message":"back at noon"}`)
		change := s.follow(web, "dev", `mutation { updateIssue(input: {projectPath: "team/app", iid: "1", title: "in the dark"}) { errors } }`, nil)
		if got := change.next(); !strings.Contains(got, "back at noon") {
			t.Errorf("a mutation as a stream in maintenance mode: got %s", got)
		}
		s.rest("root", "PUT", "/application/settings", `{"maintenance_mode":false}`)
		s.rest("dev", "PUT", issue, `{"title":"after noon"}`)
		through.want(`{"data":{"issuableTitleUpdated":{"title":"after noon"}}}`)
	})
}
