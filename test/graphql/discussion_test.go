package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// TestDiscussions comments on a line of a diff, resolves the thread and opens it again.
func TestDiscussions(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.requests(3)
		found := s.data("dev", `{ project(fullPath: "root/open") { mergeRequest(iid: "1") { id diffRefs { baseSha headSha startSha } } } }`, nil)
		request, refs := at(found, "project", "mergeRequest", "id"), at(found, "project", "mergeRequest", "diffRefs").(map[string]any)
		position := func(line int) variables {
			return variables{"baseSha": refs["baseSha"], "headSha": refs["headSha"], "startSha": refs["startSha"], "paths": variables{"newPath": "feature1.txt"}, "newLine": line}
		}
		const create = `mutation($id: NoteableID!, $at: DiffPositionInput!) { createDiffNote(input: {noteableId: $id, body: "look", position: $at}) { note { id body resolvable resolved position { newLine oldLine newPath filePath positionType diffRefs { headSha } } discussion { id resolvable resolved resolvedBy { username } noteable { ... on MergeRequest { iid } } } } errors } }`
		s.refused("", create, variables{"id": request, "at": position(1)})
		made := s.data("stranger", create, variables{"id": request, "at": position(1)})
		note, thread := at(made, "createDiffNote", "note", "id"), at(made, "createDiffNote", "note", "discussion", "id")
		if got := fmt.Sprint(at(made, "createDiffNote")); !strings.Contains(got, "filePath:feature1.txt newLine:1 newPath:feature1.txt oldLine:<nil> positionType:text") || !strings.Contains(got, "noteable:map[iid:1] resolvable:true resolved:false resolvedBy:<nil>") {
			t.Errorf("made %s", got)
		}
		if got := s.ask("stranger", create, variables{"id": request, "at": position(7)}); !strings.Contains(got, `"note":null,"errors":["Line code can't be blank","Line code must be a valid line code"]`) {
			t.Errorf("a line that is not there: got %s", got)
		}
		if got := s.ask("stranger", create, variables{"id": request, "at": variables{"headSha": "x", "startSha": "x", "paths": variables{}}}); !strings.Contains(got, `"At least one of [oldPath, newPath] arguments is required."`) {
			t.Errorf("no path: got %s", got)
		}

		const toggle = `mutation($id: DiscussionID!, $to: Boolean!) { discussionToggleResolve(input: {id: $id, resolve: $to}) { discussion { resolved resolvedBy { username } notes { nodes { resolved resolvedBy { username } } } } errors } }`
		s.rest("root", "PUT", "/projects/root%2Fopen/merge_requests/1", `{"discussion_locked":false}`)
		for _, as := range []string{"", "guest"} {
			s.refused(as, toggle, variables{"id": thread, "to": true})
		}
		s.refused("dev", toggle, variables{"id": "gid://gitlab/Discussion/" + strings.Repeat("a", 40), "to": true})
		s.want("dev", toggle, variables{"id": thread, "to": true}, `{"data":{"discussionToggleResolve":{"discussion":{"resolved":true,"resolvedBy":{"username":"dev"},"notes":{"nodes":[{"resolved":true,"resolvedBy":{"username":"dev"}}]}},"errors":[]}}}`)
		if got := s.rest("dev", "GET", "/projects/root%2Fopen/merge_requests/1/discussions/"+strings.TrimPrefix(thread.(string), "gid://gitlab/Discussion/"), ""); at(got["notes"], 0, "resolved") != true {
			t.Errorf("REST says %v", got)
		}
		s.want("stranger", toggle, variables{"id": thread, "to": false}, `{"data":{"discussionToggleResolve":{"discussion":{"resolved":false,"resolvedBy":null,"notes":{"nodes":[{"resolved":false,"resolvedBy":null}]}},"errors":[]}}}`)

		const one = `query($id: NoteID!) { note(id: $id) { body maxAccessLevelOfAuthor userPermissions { readNote adminNote awardEmoji createNote repositionNote resolveNote } discussion { userPermissions { createNote resolveNote } } } }`
		for as, want := range map[string]string{
			"dev":      `"userPermissions":{"readNote":true,"adminNote":false,"awardEmoji":true,"createNote":true,"repositionNote":false,"resolveNote":true},"discussion":{"userPermissions":{"createNote":true,"resolveNote":true}}`,
			"stranger": `"userPermissions":{"readNote":true,"adminNote":true,"awardEmoji":true,"createNote":true,"repositionNote":false,"resolveNote":true},"discussion":{"userPermissions":{"createNote":true,"resolveNote":true}}`,
			"guest":    `"userPermissions":{"readNote":true,"adminNote":false,"awardEmoji":true,"createNote":true,"repositionNote":false,"resolveNote":false},"discussion":{"userPermissions":{"createNote":true,"resolveNote":false}}`,
		} {
			s.want(as, one, variables{"id": note}, `{"data":{"note":{"body":"look","maxAccessLevelOfAuthor":null,`+want+`}}}`)
		}
		s.want("", one, variables{"id": note}, `{"data":{"note":null}}`)

		for _, iid := range []string{"2", "3"} {
			found := at(s.data("dev", `query($i: String!) { project(fullPath: "root/open") { mergeRequest(iid: $i) { id diffRefs { baseSha headSha startSha } } } }`, variables{"i": iid}), "project", "mergeRequest")
			refs := at(found, "diffRefs").(map[string]any)
			refs["paths"], refs["newLine"] = variables{"newPath": "feature" + iid + ".txt"}, 1
			s.data("dev", create, variables{"id": at(found, "id"), "at": refs})
		}
		const many = `{ project(fullPath: "root/open") { mergeRequests(first: %d) { nodes { discussions { nodes { resolved resolvedBy { username } userPermissions { resolveNote } noteable { ... on MergeRequest { iid } } notes { nodes { maxAccessLevelOfAuthor userPermissions { adminNote } discussion { id } } } } } } } } }`
		if few, all := s.statements("dev", fmt.Sprintf(many, 1), nil), s.statements("dev", fmt.Sprintf(many, 3), nil); few != all {
			t.Errorf("%d statements for one merge request, %d for three", few, all)
		}
		if got := s.ask("dev", `{ project(fullPath: "root/open") { mergeRequest(iid: "2") { notes { nodes { maxAccessLevelOfAuthor } } } } }`, nil); !strings.Contains(got, `"maxAccessLevelOfAuthor":"Developer"`) {
			t.Errorf("a developer comments: got %s", got)
		}
	})
}

// TestNotes_commands tells what quick actions did, and comments on an epic.
func TestNotes_commands(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.requests(1)
		id := at(s.data("dev", `{ project(fullPath: "root/open") { mergeRequest(iid: "1") { id } } }`, nil), "project", "mergeRequest", "id")
		const create = `mutation($id: NoteableID!, $body: String!) { createNote(input: {noteableId: $id, body: $body}) { note { body } quickActionsStatus { messages commandNames commandsOnly errorMessages } errors } }`
		s.want("dev", create, variables{"id": id, "body": "/draft"}, `{"data":{"createNote":{"note":null,"quickActionsStatus":{"messages":["Marked this merge request as a draft."],"commandNames":["draft"],"commandsOnly":true,"errorMessages":[]},"errors":[]}}}`)
		s.want("dev", create, variables{"id": id, "body": "done\n/ready"}, `{"data":{"createNote":{"note":{"body":"done"},"quickActionsStatus":{"messages":["Marked this merge request as ready."],"commandNames":["ready"],"commandsOnly":false,"errorMessages":[]},"errors":[]}}}`)
		s.want("dev", create, variables{"id": id, "body": "no command"}, `{"data":{"createNote":{"note":{"body":"no command"},"quickActionsStatus":null,"errors":[]}}}`)

		s.rest("owner", "POST", "/groups/team/epics", `{"title":"an epic"}`)
		epic := at(s.data("dev", `{ group(fullPath: "team") { epics { nodes { id } } } }`, nil), "group", "epics", "nodes", 0, "id")
		s.refused("stranger", create, variables{"id": epic, "body": "see @dev"})
		s.data("guest", create, variables{"id": epic, "body": "see @dev"})
		got := s.ask("guest", `{ group(fullPath: "team") { epics { nodes { notes { count nodes { body bodyHtml author { username } url } } discussions { nodes { notes { nodes { body } } } } } } } }`, nil)
		for _, want := range []string{`"count":1,"nodes":[{"body":"see @dev"`, `data-reference-type=\"user\"`, `/groups/team/-/epics/1#note_`, `"discussions":{"nodes":[{"notes":{"nodes":[{"body":"see @dev"}]}}]}`} {
			if !strings.Contains(got, want) {
				t.Errorf("got %s\nwant %s in it", got, want)
			}
		}
	})
}
