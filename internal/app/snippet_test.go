package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tenon/internal/base/db"
)

// TestSnippets tells the story of snippets over REST: bodies, refusals, and who sees what.
func TestSnippets(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"ann", "ben"} {
			s.user(name, nil)
		}
		p := number(s.do("ann", "POST", "/projects", obj{"name": "Shop", "visibility": "public"}), "id")
		want := func(as, method, path string, body obj, status int, answer string) string {
			t.Helper()
			got := s.send(t.Context(), request{as: as, method: method, path: path, body: body})
			if text := got.Body.String(); got.Code != status || !strings.Contains(text, answer) {
				t.Errorf("%s %s %s %v\n got %d %s\nwant %d %s", as, method, path, body, got.Code, text, status, answer)
			}
			return got.Body.String()
		}
		one := s.do("ann", "POST", "/snippets", obj{"title": " One ", "content": "text", "file_name": "one.rb", "visibility": "private"})
		at := "/snippets/" + number(one, "id")
		if one["title"] != "One" || one["file_name"] != "one.rb" || one["project_id"] != nil || one["description"] != nil ||
			one["visibility"] != "private" || one["imported"] != false || one["imported_from"] != "none" || one["repository_storage"] != nil ||
			!strings.HasSuffix(one["web_url"].(string), "/-/snippets/"+number(one, "id")) ||
			!strings.HasSuffix(one["http_url_to_repo"].(string), "/snippets/"+number(one, "id")+".git") {
			t.Errorf("created %v", one)
		}
		if got := want("admin", "GET", at, nil, 200, `"repository_storage":"default"`); !strings.Contains(got, `"files":[{"path":"one.rb","raw_url":"`) {
			t.Errorf("got %s, want the file", got)
		}
		for _, tt := range []struct {
			as, method, path string
			body             obj
			status           int
			answer           string
		}{
			{"ben", "GET", at, nil, 404, `{"message":"404 Snippet Not Found"}`},
			{"", "GET", at, nil, 404, `{"message":"404 Snippet Not Found"}`},
			{"ben", "GET", at + "/raw", nil, 404, `{"message":"404 Snippet Not Found"}`},
			{"ann", "GET", at + "/raw", nil, 200, "text"},
			{"ann", "GET", at + "/files/main/one.rb/raw", nil, 200, "text"},
			{"ann", "GET", at + "/files/main/two.rb/raw", nil, 404, `{"message":"404 File Not Found"}`},
			{"ann", "GET", at + "/files/none/one.rb/raw", nil, 404, `{"message":"404 Reference Not Found"}`},
			{"ann", "GET", at + "/user_agent_detail", nil, 403, `{"message":"403 Forbidden"}`},
			{"", "GET", "/snippets", nil, 401, `{"message":"401 Unauthorized"}`},
			{"ann", "POST", "/snippets", obj{"title": "x"}, 400, `{"error":"files, content are missing, exactly one parameter must be provided"}`},
			{"ann", "POST", "/snippets", obj{"title": "x", "content": "y"}, 400, `{"error":"file_name is missing"}`},
			{"ann", "POST", "/snippets", obj{"title": "x", "content": "y", "files": []obj{{"file_path": "a", "content": "b"}}}, 400, `{"error":"files, content are mutually exclusive"}`},
			{"ann", "POST", "/snippets", obj{"title": "x", "visibility": "some", "content": "y", "file_name": "z"}, 400, `{"error":"visibility does not have a valid value"}`},
			{"ann", "POST", "/snippets", obj{"title": strings.Repeat("x", 256), "content": "y", "file_name": "z"}, 400, `{"message":{"error":"Title is too long (maximum is 255 characters)"}}`},
			{"ann", "POST", "/snippets", obj{"title": "x", "content": "y", "file_name": "../z"}, 400, `{"message":{"error":"Path cannot include directory traversal"}}`},
			{"ann", "POST", "/snippets", obj{"title": "x", "content": "y", "file_name": ".git/config"}, 400, `{"message":{"error":"Path is invalid`},
			{"ann", "PUT", at, obj{}, 400, `{"error":"content, description, files, file_name, title, visibility are missing, at least one parameter must be provided"}`},
			{"ann", "PUT", at, obj{"file_name": "two.rb"}, 200, `"file_name":"two.rb"`},
			{"ann", "GET", at + "/raw", nil, 200, "text"},
			{"ann", "PUT", at, obj{"content": "other", "visibility": "internal", "description": "d"}, 200, `"description":"d","visibility":"internal"`},
			{"ann", "GET", at + "/raw", nil, 200, "other"},
			{"ben", "GET", at, nil, 200, `"title":"One"`},
			{"", "GET", at, nil, 404, `{"message":"404 Snippet Not Found"}`},
			{"ben", "PUT", at, obj{"title": "mine"}, 403, `{"message":"403 Forbidden"}`},
			{
				"ann", "PUT", at,
				obj{"files": []obj{{"action": "create", "file_path": "a", "content": "a"}, {"action": "move", "file_path": "b", "previous_path": "two.rb"}}},
				200,
				`"files":[{"path":"a"`,
			},
			{"ann", "PUT", at, obj{"content": "x"}, 400, "{\"message\":{\"error\":\"To update Snippets with multiple files, you must use the `files` parameter\"}}"},
			{"ann", "PUT", at, obj{"files": []obj{{"action": "update", "file_path": "none", "content": "a"}}}, 400, `{"message":{"error":"A file with this name doesn't exist"}}`},
			{"ann", "PUT", at, obj{"files": []obj{{"action": "create", "file_path": "c"}}}, 400, `{"message":{"error":"Snippet actions have invalid data"}}`},
			{"ann", "PUT", at, obj{"files": []obj{{"action": "delete", "file_path": "a"}, {"action": "delete", "file_path": "b"}}}, 400, `{"message":{"error":"The repository must have a file."}}`},
		} {
			want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}
		many := []obj{}
		for _, name := range strings.Split("abcdefghijk", "") {
			many = append(many, obj{"file_path": name, "content": name})
		}
		want("ann", "POST", "/snippets", obj{"title": "x", "files": many}, 400, `{"message":{"error":"Snippet files count must be from 1 to 10"}}`)

		in := "/projects/" + p + "/snippets"
		want("ann", "POST", in, obj{"title": "x", "content": "y", "file_name": "z"}, 400, `{"error":"visibility is missing"}`)
		want("ben", "POST", in, aSnippet("public"), 403, `{"message":"403 Forbidden"}`)
		open, closed := number(s.do("ann", "POST", in, aSnippet("public")), "id"), number(s.do("ann", "POST", in, aSnippet("private")), "id")
		want("", "GET", in+"/"+open, nil, 200, `"project_id":`+p)
		want("ben", "GET", in+"/"+closed, nil, 404, `{"message":"404 Snippet Not Found"}`)
		want("ben", "GET", "/snippets/"+closed, nil, 404, `{"message":"404 Snippet Not Found"}`)
		want("ann", "GET", in+"/"+number(one, "id"), nil, 404, `{"message":"404 Snippet Not Found"}`)
		for _, tt := range []struct {
			as, path string
			ids      []string
		}{
			{"ann", "/snippets", []string{closed, open, number(one, "id")}},
			{"ben", "/snippets", nil},
			{"ben", "/snippets/all", []string{open, number(one, "id")}},
			{"admin", "/snippets/all", []string{closed, open, number(one, "id")}},
			{"admin", "/snippets/all?repository_storage=other", nil},
			{"ben", "/snippets/public", nil},
			{"ann", "/snippets?created_before=2000-01-01T00:00:00Z", nil},
			{"", in, []string{open}},
			{"ann", in, []string{closed, open}},
		} {
			got := s.send(t.Context(), request{as: tt.as, method: http.MethodGet, path: tt.path}).Body.String()
			if n := strings.Count(got, `"web_url"`) / 2; n != len(tt.ids) {
				t.Errorf("%s %s: got %d snippets %s, want %v", tt.as, tt.path, n, got, tt.ids)
			}
			last := -1
			for _, id := range tt.ids {
				at := strings.Index(got, `"id":`+id+`,"title"`)
				if at <= last {
					t.Errorf("%s %s: got %s, want the snippets %v in this order", tt.as, tt.path, got, tt.ids)
				}
				last = at
			}
		}
		s.commented(t, in, open, closed)
		want("ann", "DELETE", in+"/"+open, nil, 204, "")
		if n, err := db.Get[int](t.Context(), s.db, "SELECT COUNT(*) FROM notes WHERE noteable_type = 'Snippet'"); err != nil || n != 0 {
			t.Errorf("%d notes are left of a deleted snippet (%v), want none", n, err)
		}
		want("admin", "PUT", "/application/settings", obj{"restricted_visibility_levels": []string{"public"}}, 200, "")
		want("ann", "POST", "/snippets", aSnippet("public"), 400, `{"message":{"error":"Visibility level has been restricted by your GitLab administrator"}}`)
		want("admin", "POST", "/snippets", aSnippet("public"), 201, "")
		want("ann", "DELETE", at, nil, 204, "")
		want("ann", "DELETE", at, nil, 404, `{"message":"404 Snippet Not Found"}`)
	})
}

// commented tells the story of notes, discussions and reactions on a public snippet of a project
// and on one that ben does not see.
func (s *server) commented(t *testing.T, in, open, closed string) {
	t.Helper()
	at, hidden := in+"/"+open, in+"/"+closed
	note := s.do("ben", "POST", at+"/notes", obj{"body": "A word\n/close"})
	if note["noteable_type"] != "Snippet" || number(note, "noteable_id") != open || note["noteable_iid"] != nil || note["body"] != "A word\n/close" ||
		note["resolvable"] != false {
		t.Errorf("created %v", note)
	}
	thread := s.do("ann", "POST", at+"/discussions", obj{"body": "A thread"})
	s.do("ann", "POST", hidden+"/notes", obj{"body": "Between us"})
	one, discussion := at+"/notes/"+number(note, "id"), at+"/discussions/"+thread["id"].(string)
	for _, tt := range []struct {
		as, method, path string
		body             obj
		status           int
		answer           string
	}{
		{"", "GET", at + "/notes", nil, 401, `{"message":"401 Unauthorized"}`},
		{"ben", "GET", hidden + "/notes", nil, 404, `{"message":"404 Snippet Not Found"}`},
		{"ben", "POST", hidden + "/notes", obj{"body": "x"}, 404, `{"message":"404 Snippet Not Found"}`},
		{"ben", "GET", hidden + "/discussions", nil, 404, `{"message":"404 Snippet Not Found"}`},
		{"ben", "GET", hidden + "/award_emoji", nil, 404, `{"message":"404 Snippet Not Found"}`},
		{"ann", "POST", at + "/notes", obj{"body": "x", "internal": true}, 400, `{:confidential=>[\"can not be set for this resource\"]}`},
		{"ben", "PUT", one, obj{"body": "Another"}, 200, `"body":"Another"`},
		{"ben", "PUT", at + "/notes/" + firstNote(thread), obj{"body": "Another"}, 403, `{"message":"403 Forbidden"}`},
		{"ben", "POST", discussion + "/notes", obj{"body": "A reply"}, 201, `"type":"DiscussionNote"`},
		{"ann", "POST", at + "/discussions/" + strings.Repeat("0", 40) + "/notes", obj{"body": "x"}, 404, `{"message":"404 Discussion Not Found"}`},
		{"ben", "GET", discussion, nil, 200, `"individual_note":false`},
		{"ann", "PUT", discussion, obj{"resolved": true}, 405, ""},
		{"ben", "POST", at + "/award_emoji", obj{"name": "tada"}, 201, `"awardable_type":"Snippet"`},
		{"ben", "POST", at + "/notes", obj{"body": ":heart:"}, 201, `"awardable_type":"Snippet"`},
		{"ann", "POST", one + "/award_emoji", obj{"name": "tada"}, 201, `"awardable_type":"Note"`},
		{"ann", "GET", at + "/award_emoji", nil, 200, `"name":"heart"`},
		{"ann", "GET", "/users/" + fmt.Sprint(s.ids["ben"]) + "/events?target_type=note", nil, 200, `"noteable_type":"Snippet"`},
	} {
		got := s.send(t.Context(), request{as: tt.as, method: tt.method, path: tt.path, body: tt.body})
		if text := got.Body.String(); got.Code != tt.status || !strings.Contains(text, tt.answer) {
			t.Errorf("%s %s %s %v\n got %d %s\nwant %d %s", tt.as, tt.method, tt.path, tt.body, got.Code, text, tt.status, tt.answer)
		}
	}
	path := "/users/" + fmt.Sprint(s.ids["ann"]) + "/events?target_type=note"
	for as, want := range map[string]int{"ann": 2, "ben": 1} {
		if got := strings.Count(s.send(t.Context(), get(as, path)).Body.String(), `"noteable_type":"Snippet"`); got != want {
			t.Errorf("%s sees %d comments on snippets, want %d", as, got, want)
		}
	}
	if lines, err := s.core.Notes.Check(t.Context()); err != nil || len(lines) > 0 {
		t.Errorf("counters: %q, %v", lines, err)
	}
	s.do("ann", "DELETE", hidden, nil)
}

// TestWikis tells the story of wikis over REST.
func TestWikis(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"ann", "ben"} {
			s.user(name, nil)
		}
		project := number(s.do("ann", "POST", "/projects", obj{"name": "Shop", "visibility": "public"}), "id")
		group := number(s.do("ann", "POST", "/groups", obj{"name": "club", "path": "club", "visibility": "public"}), "id")
		for _, place := range []string{"/projects/" + project, "/groups/" + group} {
			at := place + "/wikis"
			for _, tt := range []struct {
				as, method, path string
				body             obj
				status           int
				answer           string
			}{
				{"", "GET", "", nil, 200, `[]`},
				{"", "GET", "/home", nil, 404, `{"message":"404 Wiki Page Not Found"}`},
				{"ben", "POST", "", obj{"title": "home", "content": "x"}, 403, `{"message":"403 Forbidden"}`},
				{"ann", "POST", "", obj{"title": "home", "content": " "}, 400, `{"message":{"content":["can't be blank"]}}`},
				{"ann", "POST", "", obj{"title": "uploads/x", "content": "x"}, 400, `{"message":{"title":["'uploads' is a reserved name"]}}`},
				{"ann", "POST", "", obj{"title": strings.Repeat("x", 246), "content": "x"}, 400, `{"message":{"title":["page name is too long (maximum is 245 bytes)"]}}`},
				{"ann", "POST", "", obj{"title": "../../home", "content": "# Hello\n\n[next](next) @ann [[Mine|dir/my page#a]]"}, 201, `{"format":"markdown","slug":"home","title":"home","wiki_page_meta_id":1,"content":"# Hello\n\n[next](next) @ann [[Mine|dir/my page#a]]","encoding":"UTF-8","front_matter":{}}`},
				{"ann", "POST", "", obj{"title": "Home", "content": "x", "format": "org"}, 201, `"format":"org","slug":"Home"`},
				{"ann", "POST", "", obj{"title": "home", "content": "x", "format": "rdoc"}, 400, `{"message":{"base":["Duplicate page: A page with that title already exists in the file home.md"]}}`},
				{"ann", "POST", "", obj{"title": "dir/my page", "content": "body", "front_matter": obj{"title": "Mine"}}, 201, `"slug":"dir/my-page","title":"my page","wiki_page_meta_id":3,"content":"body","encoding":"UTF-8","front_matter":{"title":"Mine"}}`},
				{"", "GET", "", nil, 200, `[{"format":"org","slug":"Home","title":"Home","wiki_page_meta_id":2},{"format":"markdown","slug":"dir/my-page","title":"my page","wiki_page_meta_id":3},{"format":"markdown","slug":"home","title":"home","wiki_page_meta_id":1}]`},
				{"", "GET", "?with_content=1", nil, 200, `"content":"body","encoding":"UTF-8","front_matter":{"title":"Mine"}}`},
				{"", "GET", "/dir%2Fmy-page", nil, 200, `"content":"body"`},
				{"", "GET", "/home?render_html=true", nil, 200, `/-/wikis/next\"`},
				{"", "GET", "/home?render_html=true", nil, 200, `/-/wikis/dir/my-page#a\" class=\"gfm gfm-gollum-wiki-page\">Mine</a>`},
				{"ben", "GET", "/home?render_html=true", nil, 200, `class=\"gfm gfm-project_member js-user-link\"`},
				{"", "GET", "/home?version=nonsense", nil, 404, `{"message":"404 Wiki Page Not Found"}`},
				{"ann", "PUT", "/dir%2Fmy-page", obj{}, 400, `{"error":"content, title, format, front_matter are missing, at least one parameter must be provided"}`},
				{"ann", "PUT", "/dir%2Fmy-page", obj{"content": "more"}, 200, `"content":"more","encoding":"UTF-8","front_matter":{"title":"Mine"}}`},
				{"ann", "PUT", "/dir%2Fmy-page", obj{"title": "your page", "format": "rdoc"}, 200, `{"format":"rdoc","slug":"dir/your-page","title":"your page","wiki_page_meta_id":3`},
				{"ann", "PUT", "/dir%2Fyour-page", obj{"title": "/top"}, 200, `"slug":"top","title":"top","wiki_page_meta_id":3`},
				{"ann", "PUT", "/top", obj{"title": "home"}, 400, `Duplicate page`},
				{"ann", "PUT", "/top", obj{"front_matter": obj{"title": ""}}, 200, `"content":"more","encoding":"UTF-8","front_matter":{}}`},
				{"ben", "PUT", "/top", obj{"content": "x"}, 403, `{"message":"403 Forbidden"}`},
				{"ann", "POST", "/attachments", obj{"file": attached{"../a b.png", "bytes"}}, 201, `"branch":"main","link":{"url":"uploads/`},
				{"ann", "POST", "/attachments", obj{"file": attached{"page.md", "bytes"}, "branch": "other"}, 201, `"branch":"other"`},
				{"ann", "DELETE", "/top", nil, 204, ""},
				{"ann", "DELETE", "/top", nil, 404, `{"message":"404 Wiki Page Not Found"}`},
			} {
				got := s.send(t.Context(), request{as: tt.as, method: tt.method, path: at + tt.path, body: tt.body})
				text := got.Body.String()
				if place != "/projects/"+project { // the ids go on
					text = strings.NewReplacer(`_id":4`, `_id":1`, `_id":5`, `_id":2`, `_id":6`, `_id":3`).Replace(text)
				}
				if got.Code != tt.status || !strings.Contains(text, tt.answer) {
					t.Errorf("%s %s %s %v\n got %d %s\nwant %d %s", tt.as, tt.method, at+tt.path, tt.body, got.Code, text, tt.status, tt.answer)
				}
			}
		}
		for _, tt := range []struct {
			level  string
			status int
		}{{"private", 403}, {"disabled", 403}, {"enabled", 200}} {
			s.do("ann", "PUT", "/groups/"+group, obj{"wiki_access_level": tt.level})
			s.do("ann", "PUT", "/projects/"+project, obj{"wiki_access_level": tt.level})
			for _, path := range []string{"/groups/" + group, "/projects/" + project} {
				if got := s.send(t.Context(), get("ben", path+"/wikis")); got.Code != tt.status {
					t.Errorf("%s of a %s wiki: got %d, want %d", path, tt.level, got.Code, tt.status)
				}
			}
		}
	})
}
