package graphql

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestNotes comments on an issue, replies, changes and deletes; internal notes are for those who may
// read them, in lists and counts alike.
func TestNotes(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(0)
		s.rest("dev", "POST", "/projects/team%2Fapp/issues", `{"title":"an issue"}`)
		issue := at(s.data("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { id } } }`, nil), "project", "issue", "id")
		const create = `mutation($in: CreateNoteInput!) { createNote(input: $in) { note { id body internal system author { username } discussion: noteableType url } errors } }`
		made := s.data("dev", create, variables{"in": variables{"noteableId": issue, "body": "first, @owner"}})
		first, _ := at(made, "createNote", "note", "id").(string)
		if !strings.HasPrefix(first, "gid://gitlab/Note/") || at(made, "createNote", "note", "author", "username") != "dev" || at(made, "createNote", "note", "internal") != false {
			t.Errorf("created %v", made)
		}
		s.data("dev", create, variables{"in": variables{"noteableId": issue, "body": "secret", "internal": true}})
		const list = `{ project(fullPath: "team/app") { issue(iid: "1") { userNotesCount notes(filter: ONLY_COMMENTS) { count nodes { body } } discussions { nodes { notes { nodes { body author { username } } } } } } } }`
		s.want("dev", list, nil, `{"data":{"project":{"issue":{"userNotesCount":2,"notes":{"count":2,"nodes":[{"body":"first, @owner"},{"body":"secret"}]},"discussions":{"nodes":[{"notes":{"nodes":[{"body":"first, @owner","author":{"username":"dev"}}]}},{"notes":{"nodes":[{"body":"secret","author":{"username":"dev"}}]}}]}}}}}`)
		s.want("guest", list, nil, `{"data":{"project":{"issue":{"userNotesCount":1,"notes":{"count":1,"nodes":[{"body":"first, @owner"}]},"discussions":{"nodes":[{"notes":{"nodes":[{"body":"first, @owner","author":{"username":"dev"}}]}}]}}}}}`)
		if html := s.ask("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { notes(first: 1) { nodes { bodyHtml } } } } }`, nil); !strings.Contains(html, `data-reference-type=\"user\"`) {
			t.Errorf("bodyHtml: got %s", html)
		}

		discussion := at(s.data("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { discussions { nodes { id replyId } } } } }`, nil), "project", "issue", "discussions", "nodes", 0, "replyId")
		s.want("guest", `mutation($n: NoteableID!, $d: DiscussionID!) { createNote(input: {noteableId: $n, body: "a reply", discussionId: $d}) { note { body } errors } }`, variables{"n": issue, "d": discussion},
			`{"data":{"createNote":{"note":{"body":"a reply"},"errors":[]}}}`)
		s.want("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { discussions { nodes { notes { nodes { body } } } } } } }`, nil,
			`{"data":{"project":{"issue":{"discussions":{"nodes":[{"notes":{"nodes":[{"body":"first, @owner"},{"body":"a reply"}]}},{"notes":{"nodes":[{"body":"secret"}]}}]}}}}}`)

		const hidden = `"message":"The resource that you are attempting to access does not exist or you don't have permission to perform this action"`
		update := fmt.Sprintf(`mutation { updateNote(input: {id: %q, body: "changed"}) { note { body } errors } }`, first)
		destroy := fmt.Sprintf(`mutation { destroyNote(input: {id: %q}) { note { body } errors } }`, first)
		for _, query := range []string{update, destroy} {
			for _, as := range []string{"", "stranger", "guest"} {
				if got := s.ask(as, query, nil); !strings.Contains(got, hidden) {
					t.Errorf("%q: %s: got %s", as, query, got)
				}
			}
		}
		if got := s.ask("stranger", create, variables{"in": variables{"noteableId": issue, "body": "x"}}); !strings.Contains(got, hidden) {
			t.Errorf("a stranger comments: got %s", got)
		}
		s.want("dev", update, nil, `{"data":{"updateNote":{"note":{"body":"changed"},"errors":[]}}}`)
		s.want("dev", destroy, nil, `{"data":{"destroyNote":{"note":null,"errors":[]}}}`)
		if got := s.ask("dev", create, variables{"in": variables{"noteableId": issue, "body": ""}}); !strings.Contains(got, `"errors":["Note can't be blank"]`) {
			t.Errorf("an empty note: got %s", got)
		}
		s.want("dev", create, variables{"in": variables{"noteableId": issue, "body": "/close"}}, `{"data":{"createNote":{"note":null,"errors":[]}}}`)
		s.want("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { state } } }`, nil, `{"data":{"project":{"issue":{"state":"closed"}}}}`)
	})
}

// Callers without an account read the public notes, discussions and reactions of public issues and epics, as many as are counted. They
// write none, and read none of merge requests, of what is confidential, or by REST.
func TestNotes_anonymous(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.user("ann")
		s.rest("root", "POST", "/groups", `{"name":"open","path":"open","visibility":"public"}`)
		s.rest("root", "POST", "/projects", fmt.Sprintf(`{"name":"app","namespace_id":%v,"visibility":"public","initialize_with_readme":true}`, s.rest("root", "GET", "/groups/open", "")["id"]))
		const project = "/projects/open%2Fapp"
		s.branch("root", "open%2Fapp", "feature")
		s.rest("root", "POST", project+"/merge_requests", `{"title":"a request","source_branch":"feature","target_branch":"main"}`)
		s.rest("root", "POST", project+"/issues", `{"title":"an issue"}`)
		s.rest("root", "POST", project+"/issues", `{"title":"a secret","confidential":true}`)
		epic := id(s.rest("root", "POST", "/groups/open/epics", `{"title":"an epic"}`))
		for _, path := range []string{project + "/issues/1", project + "/issues/2", project + "/merge_requests/1", fmt.Sprintf("/groups/open/epics/%d", epic)} {
			s.rest("root", "POST", path+"/notes", `{"body":"for all"}`)
			if strings.Contains(path, "merge_requests") {
				continue
			}
			s.rest("root", "POST", path+"/notes", `{"body":"for few","internal":true}`)
		}
		s.rest("root", "POST", project+"/issues/1/award_emoji", `{"name":"tea"}`)
		const notes = `userNotesCount notes(filter: ONLY_COMMENTS) { count nodes { body } } discussions { nodes { notes { nodes { body } } } }`
		const said = `"userNotesCount":1,"notes":{"count":1,"nodes":[{"body":"for all"}]},"discussions":{"nodes":[{"notes":{"nodes":[{"body":"for all"}]}}]}`
		s.want("", `{ project(fullPath: "open/app") { issue(iid: "1") { `+notes+` userDiscussionsCount commenters { nodes { username } } } } }`, nil,
			`{"data":{"project":{"issue":{`+said+`,"userDiscussionsCount":1,"commenters":{"nodes":[{"username":"root"}]}}}}}`)
		s.want("", `{ group(fullPath: "open") { epic(iid: "1") { `+notes+` } } }`, nil, `{"data":{"group":{"epic":{`+said+`}}}}`)
		s.want("", `{ project(fullPath: "open/app") { issue(iid: "2") { `+notes+` } mergeRequest(iid: "1") { `+notes+` } } }`, nil, `{"data":{"project":{"issue":null,"mergeRequest":null}}}`)
		s.want("", `{ project(fullPath: "open/app") { workItems(iid: "1") { nodes { widgets { ... on WorkItemWidgetNotes { discussions { nodes { notes { nodes { body } } } } } ... on WorkItemWidgetAwardEmoji { upvotes awardEmoji { nodes { name } } } } } } } }`, nil,
			`{"data":{"project":{"workItems":{"nodes":[{"widgets":[{},{"upvotes":0,"awardEmoji":{"nodes":[{"name":"tea"}]}},{},{},{},{},{},{},{},{},{"discussions":{"nodes":[{"notes":{"nodes":[{"body":"for all"}]}}]}},{},{},{}]}]}}}}`)
		found := at(s.data("root", `{ project(fullPath: "open/app") { issue(iid: "1") { notes { nodes { id } } } } }`, nil), "project", "issue", "notes", "nodes")
		for i, want := range []string{`{"data":{"note":{"body":"for all","discussion":{"notes":{"nodes":[{"body":"for all"}]}},"userPermissions":{"createNote":false,"adminNote":false,"awardEmoji":false}}}}`, `{"data":{"note":null}}`} {
			s.want("", `query($id: NoteID!) { note(id: $id) { body discussion { notes { nodes { body } } } userPermissions { createNote adminNote awardEmoji } } }`, variables{"id": at(found, i, "id")}, want)
		}
		s.refused("", `mutation($id: NoteID!) { updateNote(input: {id: $id, body: "x"}) { errors } }`, variables{"id": at(found, 0, "id")})
		for _, path := range []string{project + "/issues/1/notes", project + "/issues/1/discussions", project + "/issues/1/award_emoji", project + "/merge_requests/1/notes"} {
			if w := s.send("", "GET", "/api/v4"+path, ""); w.Code != http.StatusUnauthorized {
				t.Errorf("%s: got %d, want 401", path, w.Code)
			}
		}
	})
}

// Notes of many issues take the statements of those of one.
func TestNotes_statements(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(4)
		for i := range 4 {
			for range 2 {
				s.rest("dev", "POST", fmt.Sprintf("/projects/team%%2Fapp/issues/%d/notes", i+1), `{"body":"a comment"}`)
			}
		}
		const query = `{ project(fullPath: "team/app") { issues(first: %d) { nodes { notes(first: 1) { nodes { body bodyHtml author { username } } } discussions { nodes { notes { nodes { body } } } } } } } }`
		few, many := s.statements("dev", fmt.Sprintf(query, 1), nil), s.statements("dev", fmt.Sprintf(query, 3), nil)
		if few != many {
			t.Errorf("%d statements for one issue, %d for three", few, many)
		}
	})
}
