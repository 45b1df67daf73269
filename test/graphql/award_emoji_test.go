package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// TestAwardEmoji awards emoji to a merge request and to a comment, and takes them back.
func TestAwardEmoji(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.requests(3)
		ids := s.data("dev", `{ project(fullPath: "root/open") { mergeRequest(iid: "1") { id } } }`, nil)
		request := at(ids, "project", "mergeRequest", "id")
		s.rest("root", "POST", "/projects/root%2Fopen/merge_requests/1/award_emoji", `{"name":"+1"}`)
		for i := range 3 {
			s.rest("dev", "POST", fmt.Sprintf("/projects/root%%2Fopen/merge_requests/%d/notes", i+1), `{"body":"a comment"}`)
			s.rest("root", "POST", fmt.Sprintf("/projects/root%%2Fopen/merge_requests/%d/award_emoji", i+1), `{"name":"eyes"}`)
		}
		const add = `mutation($id: AwardableID!, $name: String!) { awardEmojiAdd(input: {awardableId: $id, name: $name}) { awardEmoji { name description emoji unicode unicodeVersion user { username } } errors } }`
		tea := variables{"id": request, "name": "tea"}
		s.refused("", add, tea)
		s.want("dev", add, tea, `{"data":{"awardEmojiAdd":{"awardEmoji":{"name":"tea","description":"teacup without handle","emoji":"🍵","unicode":"1f375","unicodeVersion":"6.0","user":{"username":"dev"}},"errors":[]}}}`)
		s.want("dev", add, tea, `{"data":{"awardEmojiAdd":{"awardEmoji":null,"errors":["Name has already been taken"]}}}`)
		s.want("dev", add, variables{"id": request, "name": "no-such-emoji"}, `{"data":{"awardEmojiAdd":{"awardEmoji":null,"errors":["Name is not a valid emoji name"]}}}`)
		if got := s.list("dev", "/projects/root%2Fopen/merge_requests/1/award_emoji"); len(got) != 3 || got[2]["name"] != "tea" {
			t.Errorf("REST says %v", got)
		}
		const read = `{ project(fullPath: "root/open") { mergeRequest(iid: "1") { upvotes awardEmoji(first: 2) { nodes { name user { username } } pageInfo { hasNextPage } } } } }`
		s.want("stranger", read, nil, `{"data":{"project":{"mergeRequest":{"upvotes":1,"awardEmoji":{"nodes":[{"name":"thumbsup","user":{"username":"root"}},{"name":"eyes","user":{"username":"root"}}],"pageInfo":{"hasNextPage":true}}}}}}`)

		const remove = `mutation($id: AwardableID!, $name: String!) { awardEmojiRemove(input: {awardableId: $id, name: $name}) { awardEmoji { name } errors } }`
		s.refused("", remove, tea)
		s.want("root", remove, tea, `{"data":{"awardEmojiRemove":{"awardEmoji":null,"errors":["User has not awarded emoji of type tea on the awardable"]}}}`)
		s.want("dev", remove, tea, `{"data":{"awardEmojiRemove":{"awardEmoji":null,"errors":[]}}}`)

		note := at(s.data("dev", `{ project(fullPath: "root/open") { mergeRequest(iid: "1") { notes(filter: ONLY_COMMENTS) { nodes { id } } } } }`, nil), "project", "mergeRequest", "notes", "nodes", 0, "id")
		const toggle = `mutation($id: AwardableID!, $name: String!) { awardEmojiToggle(input: {awardableId: $id, name: $name}) { awardEmoji { name } toggledOn errors } }`
		up := variables{"id": note, "name": "+1"}
		s.refused("", toggle, up)
		s.want("stranger", toggle, up, `{"data":{"awardEmojiToggle":{"awardEmoji":{"name":"thumbsup"},"toggledOn":true,"errors":[]}}}`)
		const ofNote = `query($id: NoteID!) { note(id: $id) { awardEmoji { nodes { name user { username } } } } }`
		s.want("dev", ofNote, variables{"id": note}, `{"data":{"note":{"awardEmoji":{"nodes":[{"name":"thumbsup","user":{"username":"stranger"}}]}}}}`)
		s.want("", ofNote, variables{"id": note}, `{"data":{"note":null}}`)
		s.want("stranger", toggle, up, `{"data":{"awardEmojiToggle":{"awardEmoji":null,"toggledOn":false,"errors":[]}}}`)
		s.want("dev", ofNote, variables{"id": note}, `{"data":{"note":{"awardEmoji":{"nodes":[]}}}}`)

		// An issue that the caller does not see.
		s.rest("dev", "POST", "/projects/team%2Fapp/issues", `{"title":"an issue"}`)
		issue := at(s.data("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { id } } }`, nil), "project", "issue", "id")
		for _, mutation := range []string{add, remove, toggle} {
			s.refused("stranger", mutation, variables{"id": issue, "name": "tea"})
		}
		s.rest("owner", "POST", "/groups/team/epics", `{"title":"an epic"}`)
		epic := at(s.data("dev", `{ group(fullPath: "team") { epics { nodes { id } } } }`, nil), "group", "epics", "nodes", 0, "id")
		s.refused("stranger", add, variables{"id": epic, "name": "tea"})
		s.data("dev", add, variables{"id": epic, "name": "tea"})
		s.want("guest", `{ group(fullPath: "team") { epics { nodes { awardEmoji { nodes { name } } } } } }`, nil, `{"data":{"group":{"epics":{"nodes":[{"awardEmoji":{"nodes":[{"name":"tea"}]}}]}}}}`)

		snippet := id(s.rest("dev", "POST", "/projects/team%2Fapp/snippets", `{"title":"a snippet","visibility":"private","files":[{"file_path":"a.txt","content":"x"}]}`))
		named := variables{"id": fmt.Sprintf("gid://gitlab/ProjectSnippet/%d", snippet), "name": "tea"}
		s.refused("stranger", add, named)
		s.data("guest", add, named)
		if got := s.list("dev", fmt.Sprintf("/projects/team%%2Fapp/snippets/%d/award_emoji", snippet)); len(got) != 1 || got[0]["name"] != "tea" {
			t.Errorf("REST says %v", got)
		}
		const comment = `mutation($id: NoteableID!) { createNote(input: {noteableId: $id, body: "a comment"}) { note { body noteableType url } errors } }`
		s.refused("stranger", comment, variables{"id": named["id"]})
		if got := s.ask("dev", comment, variables{"id": named["id"]}); !strings.Contains(got, `"body":"a comment","noteableType":"Snippet"`) || !strings.Contains(got, fmt.Sprintf(`/team/app/-/snippets/%d#note_`, snippet)) {
			t.Errorf("a comment on a snippet: got %s", got)
		}

		const many = `{ project(fullPath: "root/open") { mergeRequests(first: %d) { nodes { awardEmoji { nodes { name user { username } } } notes { nodes { awardEmoji { nodes { name } } } } } } } }`
		if few, all := s.statements("dev", fmt.Sprintf(many, 1), nil), s.statements("dev", fmt.Sprintf(many, 3), nil); few != all {
			t.Errorf("%d statements for one merge request, %d for three", few, all)
		}
	})
}
