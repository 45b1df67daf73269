package graphql

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// code makes a public project with files in folders, and a private one with the same.
func (s *server) code(paths ...string) {
	s.t.Helper()
	for _, name := range []string{"alice", "bob"} {
		s.user(name)
	}
	type action struct {
		Action  string `json:"action"`
		Path    string `json:"file_path"`
		Content string `json:"content"`
	}
	actions := make([]action, len(paths))
	for i, path := range paths {
		actions[i] = action{"create", path, "content of " + path + "\n"}
	}
	body, err := json.Marshal(map[string]any{"branch": "main", "commit_message": "Add files\n\nThey are *new*.", "actions": actions, "author_name": "Alice", "author_email": "alice@example.com"})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range []string{"open", "closed"} {
		visibility := map[string]string{"open": "public", "closed": "private"}[name]
		s.rest("root", "POST", "/projects", fmt.Sprintf(`{"path":%q,"visibility":%q}`, name, visibility))
		s.rest("root", "POST", "/projects/root%2F"+name+"/members", fmt.Sprintf(`{"user_id":%d,"access_level":30}`, s.ids["alice"]))
		s.rest("root", "POST", "/projects/root%2F"+name+"/repository/commits", string(body))
	}
}

// TestRepository reads folders, files, commits and branches, as REST gives them.
func TestRepository(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.code("README.md", "docs/CODEOWNERS", "docs/guide.md", "src/main.go")
		s.branch("root", "root%2Fopen", "feature")
		tip := at(s.rest("root", "GET", "/projects/root%2Fopen/repository/branches/main", ""), "commit", "id").(string)
		const query = `query($p: ID!) { project(fullPath: $p) { repository { rootRef empty exists codeOwnersPath branchNames(searchPattern: "*e*", limit: 10, offset: 0)
			tree(recursive: true) { trees { nodes { path type webPath } } blobs { nodes { path name mode lfsOid } } submodules { nodes { path } } lastCommit { sha title description author { username } authorName webPath signature { verificationStatus } } }
			blobs(paths: ["README.md", "none", "docs", "src/main.go"], ref: "feature") { nodes { path name size rawSize mode rawBlob rawTextBlob webPath rawPath canCurrentUserPushToBranch canModifyBlob lfsOid } } } } }`
		const files = `{"path":"README.md","name":"README.md","mode":"100644","lfsOid":null},{"path":"docs/CODEOWNERS","name":"CODEOWNERS","mode":"100644","lfsOid":null},{"path":"docs/guide.md","name":"guide.md","mode":"100644","lfsOid":null},{"path":"src/main.go","name":"main.go","mode":"100644","lfsOid":null}`
		content := func(path string, size int, may bool) string {
			name := path[strings.LastIndexByte(path, '/')+1:]
			return fmt.Sprintf(`{"path":%q,"name":%q,"size":"%d","rawSize":"%d","mode":"100644","rawBlob":"content of %s\n","rawTextBlob":"content of %s\n","webPath":"/root/open/-/blob/feature/%s","rawPath":"/root/open/-/raw/feature/%s","canCurrentUserPushToBranch":%t,"canModifyBlob":%t,"lfsOid":null}`,
				path, name, size, size, path, path, path, path, may, may)
		}
		for as, may := range map[string]bool{"": false, "bob": false, "alice": true} {
			s.want(as, query, variables{"p": "root/open"}, `{"data":{"project":{"repository":{"rootRef":"main","empty":false,"exists":true,"codeOwnersPath":"docs/CODEOWNERS","branchNames":["feature"],`+
				`"tree":{"trees":{"nodes":[{"path":"docs","type":"tree","webPath":"/root/open/-/tree/main/docs"},{"path":"src","type":"tree","webPath":"/root/open/-/tree/main/src"}]},"blobs":{"nodes":[`+files+`]},"submodules":{"nodes":[]},`+
				`"lastCommit":{"sha":"`+tip+`","title":"Add files","description":"They are *new*.","author":{"username":"alice"},"authorName":"Alice","webPath":"/root/open/-/commit/`+tip+`","signature":null}},`+
				`"blobs":{"nodes":[`+content("README.md", 21, may)+`,`+content("src/main.go", 23, may)+`]}}}}}`)
		}
		for _, as := range []string{"", "bob"} {
			s.want(as, query, variables{"p": "root/closed"}, `{"data":{"project":null}}`)
		}
		s.rest("root", "PUT", "/projects/root%2Fopen", `{"repository_access_level":"private","merge_requests_access_level":"private","builds_access_level":"private"}`)
		s.want("bob", query, variables{"p": "root/open"}, `{"data":{"project":{"repository":null}}}`)
		for _, args := range []string{`ref: "none"`, `ref: "main", refType: TAGS`} {
			s.want("alice", `{ project(fullPath: "root/open") { repository { tree(`+args+`) { blobs { nodes { path } } } } } }`, nil, `{"data":{"project":{"repository":{"tree":null}}}}`)
		}
		got := s.ask("alice", `{ project(fullPath: "root/open") { repository { tree(path: "docs", ref: "main", refType: HEADS) { blobs { count: nodes { path webPath } } lastCommit { fullTitle titleHtml descriptionHtml shortId } } } languages { name share } } }`, nil)
		for _, want := range []string{`"path":"docs/guide.md","webPath":"/root/open/-/blob/main/docs/guide.md"`, `"titleHtml":"Add files"`, `<em>new</em>`, `"languages":[{"name":"Go","share":100}]`} {
			if !strings.Contains(got, want) {
				t.Errorf("got %s\nwant %s in it", got, want)
			}
		}
	})
}

// TestRepository_pages walks through a folder with more entries than a page by the tokens of its pages.
func TestRepository_pages(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		var paths []string
		for i := range 250 {
			paths = append(paths, fmt.Sprintf("many/file-%03d.txt", i))
		}
		s.code(append(paths, "many/more/deep.txt")...)
		const query = `query($after: String) { project(fullPath: "root/open") { repository { paginatedTree(path: "many", first: 100, after: $after) { pageInfo { hasNextPage endCursor } nodes { blobs { nodes { path } } trees { nodes { path } } } } } } }`
		var seen []string
		after, pages := any(nil), 0
		for pages < 5 {
			page := at(s.data("bob", query, variables{"after": after}), "project", "repository", "paginatedTree")
			pages++
			for _, kind := range []string{"trees", "blobs"} {
				for _, n := range at(page, "nodes", 0, kind, "nodes").([]any) {
					seen = append(seen, at(n, "path").(string))
				}
			}
			if at(page, "pageInfo", "hasNextPage") != true {
				break
			}
			after = at(page, "pageInfo", "endCursor")
		}
		if len(seen) != 251 || pages != 3 || seen[0] != "many/file-000.txt" || seen[250] != "many/file-249.txt" {
			t.Errorf("%d entries in %d pages: %.200q", len(seen), pages, seen)
		}
		for args, want := range map[string]string{`after: "gone"`: "page_token is invalid", `last: 3`: "read forwards", `path: "none"`: `"nodes":[{"blobs":{"nodes":[]}}]`} {
			if got := s.ask("bob", `{ project(fullPath: "root/open") { repository { paginatedTree(`+args+`) { nodes { blobs { nodes { path } } } } } } }`, nil); !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want %s", args, got, want)
			}
		}
	})
}

// An answer holds 20 MB of files: who asks for a large file many times over, under many names or in
// many documents of one request, gets no more of them.
func TestRepository_largeBlobs(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.code("README.md")
		const size = 6 << 20
		large := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", size)))
		for _, name := range []string{"a", "b"} {
			s.rest("root", "POST", "/projects/root%2Fopen/repository/files/"+name, fmt.Sprintf(`{"branch":"main","commit_message":"add","encoding":"base64","content":%q}`, large))
		}
		const refused = `"message":"The contents of the files in this answer exceed 20 MB"`
		const one = `{ project(fullPath: "root/open") { repository { blobs(paths: ["a", "b"]) { nodes { path rawBlob } } } } }`
		if got := s.ask("bob", one, nil); strings.Count(got, "xx") < size || strings.Contains(got, refused) {
			t.Errorf("two files: got %d bytes", len(got))
		}
		const aliases = `{ project(fullPath: "root/open") { repository { blobs(paths: ["a", "b", "README.md"]) { nodes { path one: rawBlob two: rawTextBlob size } } } } }`
		got := s.ask("bob", aliases, nil)
		if n := strings.Count(got, refused); n != 1 || len(got) > 20<<20 {
			t.Errorf("four times 6 MB: %d refusals, %d bytes", n, len(got))
		}
		for _, want := range []string{`"path":"README.md","one":"content of README.md\n"`, `"two":null,"size":"6291456"`} {
			if !strings.Contains(got, want) {
				t.Errorf("the rest of the answer lacks %s", want)
			}
		}
		body, err := json.Marshal([]map[string]string{{"query": one}, {"query": one}})
		if err != nil {
			t.Fatal(err)
		}
		w := s.send("bob", "POST", "/api/graphql", string(body))
		if w.Code != http.StatusOK || strings.Count(w.Body.String(), refused) != 1 || w.Body.Len() > 20<<20 {
			t.Errorf("two documents: got %d, %d refusals in %d bytes", w.Code, strings.Count(w.Body.String(), refused), w.Body.Len())
		}
	})
}

// Files, folders and commits of many projects take the statements and the processes of those of one.
func TestRepository_statements(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.code("README.md", "src/main.go")
		const query = `query($p: [String!]) { projects(fullPaths: $p) { nodes { openMergeRequestsCount mergeRequestsDisableCommittersApproval pushRules { rejectUnsignedCommits } languages { name } repository { rootRef empty exists branchNames(searchPattern: "*", limit: 5, offset: 0) codeOwnersPath tree { lastCommit { author { username } titleHtml signature { verificationStatus } } blobs { nodes { path lfsOid } } } blobs(paths: ["README.md", "src/main.go"]) { nodes { rawBlob rawSize canModifyBlob } } } } } }`
		few, many := s.statements("alice", query, variables{"p": []string{"root/open"}}), s.statements("alice", query, variables{"p": []string{"root/open", "root/closed"}})
		if few != many {
			t.Errorf("%d statements for one project, %d for two", few, many)
		}
		// An entry more, and a file more, start no process.
		before := s.Processes()
		s.ask("alice", query, variables{"p": []string{"root/open"}})
		one := s.Processes() - before
		s.rest("root", "POST", "/projects/root%2Fopen/repository/commits", `{"branch":"main","commit_message":"more","actions":[{"action":"create","file_path":"a","content":"a"},{"action":"create","file_path":"b","content":"b"},{"action":"create","file_path":"c/d","content":"d"}]}`)
		s.ask("alice", query, variables{"p": []string{"root/open"}})
		wider := strings.Replace(query, `"src/main.go"`, `"src/main.go", "a", "b", "c/d"`, 1)
		before = s.Processes()
		s.ask("alice", wider, variables{"p": []string{"root/open"}})
		if more := s.Processes() - before; more != one {
			t.Errorf("%d processes for two files, %d for five", one, more)
		}
	})
}

// TestCommitCreate writes commits and branches: with the rights and the errors of REST.
func TestCommitCreate(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.code("README.md")
		const commit = `mutation($in: CommitCreateInput!) { commitCreate(input: $in) { commit { title authorName author { username } } content errors } }`
		in := variables{"in": variables{"projectPath": "root/open", "branch": "main", "message": "Change it", "actions": []variables{
			{"action": "UPDATE", "filePath": "README.md", "content": "changed"}, {"action": "CREATE", "filePath": "bin", "content": "AAE=", "encoding": "BASE64"}, {"action": "MOVE", "filePath": "new.md", "previousPath": "README.md"},
		}}}
		const hidden = `"message":"The resource that you are attempting to access does not exist or you don't have permission to perform this action"`
		create := func(name, ref string) string {
			return fmt.Sprintf(`mutation { createBranch(input: {projectPath: "root/open", name: %q, ref: %q}) { branch { name commit { title } } errors } }`, name, ref)
		}
		for _, as := range []string{"", "bob"} {
			if got := s.ask(as, commit, in); !strings.Contains(got, hidden) {
				t.Errorf("%q commits: got %s", as, got)
			}
			if got := s.ask(as, create("mine", "main"), nil); !strings.Contains(got, hidden) {
				t.Errorf("%q makes a branch: got %s", as, got)
			}
		}
		s.want("alice", create("work", "main"), nil, `{"data":{"createBranch":{"branch":{"name":"work","commit":{"title":"Add files"}},"errors":[]}}}`)
		s.want("alice", create("work", "main"), nil, `{"data":{"createBranch":{"branch":null,"errors":["Branch already exists"]}}}`)
		if got := s.ask("alice", create("other", "none"), nil); !strings.Contains(got, `"branch":null,"errors":["Failed to create branch`) {
			t.Errorf("a branch of no commit: got %s", got)
		}
		if got := s.ask("alice", commit, in); !strings.Contains(got, hidden) {
			t.Errorf("alice commits to the protected branch: got %s", got)
		}
		in["in"].(variables)["branch"] = "work"
		s.want("alice", commit, in, `{"data":{"commitCreate":{"commit":{"title":"Change it","authorName":"alice","author":{"username":"alice"}},"content":["changed","AAE="],"errors":[]}}}`)
		s.want("bob", `{ project(fullPath: "root/open") { repository { blobs(paths: ["new.md", "README.md", "bin"], ref: "work") { nodes { path rawTextBlob } } } } }`, nil,
			`{"data":{"project":{"repository":{"blobs":{"nodes":[{"path":"new.md","rawTextBlob":"changed"},{"path":"bin","rawTextBlob":null}]}}}}}`)
		if got := s.ask("alice", commit, in); !strings.Contains(got, `"commit":null,"content":[],"errors":["A file with this name`) {
			t.Errorf("files that are there: got %s", got)
		}
		s.token("reader", "alice", "read_api")
		if got := s.ask("reader", create("third", "main"), nil); !strings.Contains(got, hidden) {
			t.Errorf("a token that may only read: got %s", got)
		}
	})
}
