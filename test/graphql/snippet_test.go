package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// TestSnippets makes snippets, reads their files and changes them.
func TestSnippets(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(0)
		const create = `mutation($in: CreateSnippetInput!) { createSnippet(input: $in) { errors snippet { id title description visibilityLevel fileName author { username } project { fullPath } blobs { hasUnretrievableBlobs nodes { path rawPlainData } } } } }`
		made := func(as string, in variables) string {
			t.Helper()
			return at2(t, s.data(as, create, variables{"in": in}), "createSnippet", "snippet", "id")
		}
		files := []variables{{"action": "create", "filePath": "a.txt", "content": "text a"}, {"action": "create", "filePath": "dir/b.bin", "content": "zero \u0000 byte"}}
		ofProject := made("dev", variables{"projectPath": "team/app", "title": "of the project", "description": "**bold** #1", "visibilityLevel": "private", "blobActions": files})
		own := made("dev", variables{"title": "own", "visibilityLevel": "private", "blobActions": files[:1]})
		public := made("dev", variables{"title": "public", "visibilityLevel": "public", "blobActions": files[:1]})
		if !strings.Contains(ofProject, "/ProjectSnippet/") || !strings.Contains(own, "/PersonalSnippet/") {
			t.Errorf("made %s and %s", ofProject, own)
		}
		s.want("dev", create, variables{"in": variables{"title": "no files", "visibilityLevel": "private"}}, `{"data":{"createSnippet":{"errors":["Snippet files count must be from 1 to 10"],"snippet":null}}}`)
		s.want("dev", create, variables{"in": variables{"title": "", "visibilityLevel": "private", "blobActions": files}}, `{"data":{"createSnippet":{"errors":["Title can't be blank"],"snippet":null}}}`)
		for _, as := range []string{"guest", "stranger", ""} {
			if got := s.ask(as, create, variables{"in": variables{"projectPath": "team/app", "title": "x", "visibilityLevel": "private", "blobActions": files}}); !strings.HasPrefix(got, refused("createSnippet")) {
				t.Errorf("%q creates: got %s", as, got)
			}
		}
		const all = `{ title visibilityLevel descriptionHtml webUrl rawUrl httpUrlToRepo blobs { hasUnretrievableBlobs nodes { name path mode size binary renderedAsText rawPath rawPlainData } } notes { nodes { body } } discussions { nodes { id } } commenters { nodes { username } } userPermissions { updateSnippet adminSnippet createNote awardEmoji readSnippet } }`
		s.rest("guest", "POST", "/projects/team%2Fapp/snippets/"+ofProject[strings.LastIndex(ofProject, "/")+1:]+"/notes", `{"body":"nice"}`)
		got := s.ask("guest", `query($i: [SnippetID!]) { snippets(ids: $i) { nodes `+all+` } }`, variables{"i": []string{ofProject}})
		for _, want := range []string{
			`"title":"of the project","visibilityLevel":"private","descriptionHtml":"<p dir=\"auto\"><strong>bold</strong> #1</p>\n"`, `team/app/-/snippets/`,
			`{"name":"b.bin","path":"dir/b.bin","mode":"100644","size":11,"binary":true,"renderedAsText":false,`, `"rawPlainData":"text a"`, `"hasUnretrievableBlobs":false`,
			`"notes":{"nodes":[{"body":"nice"}]}`, `"commenters":{"nodes":[{"username":"guest"}]}`,
			`"userPermissions":{"updateSnippet":false,"adminSnippet":false,"createNote":true,"awardEmoji":true,"readSnippet":true}`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("got %s\nwant %s", got, want)
			}
		}
		s.want("dev", `query($i: [SnippetID!]) { snippets(ids: $i) { nodes { notes { nodes { body } } blobs(paths: ["a.txt", "none"]) { hasUnretrievableBlobs nodes { path } } } } }`, variables{"i": []string{own}},
			`{"data":{"snippets":{"nodes":[{"notes":{"nodes":[]},"blobs":{"hasUnretrievableBlobs":true,"nodes":[{"path":"a.txt"}]}}]}}}`)
		for _, c := range []struct{ as, list, want string }{
			{"dev", `snippets`, "public, own, of the project"},
			{"stranger", `snippets`, "public"},
			{"owner", `snippets`, "public, of the project"},
			{"dev", `snippets(type: project)`, "of the project"},
			{"dev", `snippets(type: personal)`, "public, own"},
			{"dev", `snippets(visibility: private)`, "own, of the project"},
			{"stranger", `snippets(explore: true)`, "public"},
			{"stranger", fmt.Sprintf(`snippets(authorId: "gid://gitlab/User/%d")`, s.ids["dev"]), "public"},
			{"dev", fmt.Sprintf(`snippets(authorId: "gid://gitlab/User/%d")`, s.ids["owner"]), ""},
		} {
			if got := titled(s.data(c.as, "{ "+c.list+" { nodes { title } } }", nil)["snippets"]); got != c.want {
				t.Errorf("%s: %s: got %q, want %q", c.as, c.list, got, c.want)
			}
		}
		of := `query($u: String!) { user(username: $u) { snippets(type: personal) { nodes { title } } } project(fullPath: "team/app") { snippets { nodes { title } } } }`
		s.want("dev", of, variables{"u": "dev"}, `{"data":{"user":{"snippets":{"nodes":[{"title":"public"},{"title":"own"}]}},"project":{"snippets":{"nodes":[{"title":"of the project"}]}}}}`)
		s.want("stranger", of, variables{"u": "dev"}, `{"data":{"user":{"snippets":{"nodes":[{"title":"public"}]}},"project":null}}`)

		const update = `mutation($in: UpdateSnippetInput!) { updateSnippet(input: $in) { errors snippet { title visibilityLevel blobs { nodes { path rawPlainData } } } } }`
		s.want("dev", update, variables{"in": variables{"id": own, "title": "changed", "visibilityLevel": "internal", "blobActions": []variables{
			{"action": "move", "filePath": "c.txt", "previousPath": "a.txt"}, {"action": "update", "filePath": "c.txt", "content": "new"},
		}}}, `{"data":{"updateSnippet":{"errors":[],"snippet":{"title":"changed","visibilityLevel":"internal","blobs":{"nodes":[{"path":"c.txt","rawPlainData":"new"}]}}}}}`)
		const remove = `mutation($id: SnippetID!) { destroySnippet(input: {id: $id}) { errors snippet { id } } }`
		for _, as := range []string{"guest", "stranger", ""} {
			if got := s.ask(as, update, variables{"in": variables{"id": ofProject, "title": "x"}}); !strings.HasPrefix(got, refused("updateSnippet")) {
				t.Errorf("%q changes: got %s", as, got)
			}
			if got := s.ask(as, remove, variables{"id": public}); !strings.HasPrefix(got, refused("destroySnippet")) {
				t.Errorf("%q deletes: got %s", as, got)
			}
		}
		s.want("dev", remove, variables{"id": public}, `{"data":{"destroySnippet":{"errors":[],"snippet":null}}}`)
		s.want("dev", `{ snippets { nodes { title } } }`, nil, `{"data":{"snippets":{"nodes":[{"title":"changed"},{"title":"of the project"}]}}}`)
	})
}

// titled returns the titles of the nodes of a connection.
func titled(connection any) string {
	var out []string
	nodes, _ := at(connection, "nodes").([]any)
	for _, n := range nodes {
		out = append(out, at(n, "title").(string))
	}
	return strings.Join(out, ", ")
}

// TestSnippets_statements counts the statements for the files of one snippet and of five.
func TestSnippets_statements(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(0)
		add := func() {
			s.rest("dev", "POST", "/projects/team%2Fapp/snippets", `{"title":"s","description":"text","files":[{"file_path":"a","content":"x"}],"visibility":"private"}`)
		}
		add()
		const query = `{ project(fullPath: "team/app") { snippets { nodes { title descriptionHtml author { username } userPermissions { updateSnippet } blobs { nodes { size rawPlainData } } notes { nodes { body } } commenters { nodes { name } } } } } }`
		few := s.statements("dev", query, nil)
		for range 4 {
			add()
		}
		if many := s.statements("dev", query, nil); many != few {
			t.Errorf("%d statements for five snippets, %d for one", many, few)
		}
	})
}
