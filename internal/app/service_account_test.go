package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/core/authz"
)

// TestServiceAccount lets a program sign on with the token of a service account over each transport. It reaches what
// the account is a member of and nothing else, and nothing at all once the token, the account or its group is gone.
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("ann", nil)
		s.token("ann", "ann", authz.ScopeAPI)
		group := "/groups/" + number(s.do("ann", "POST", "/groups", obj{"name": "Team", "path": "team", "visibility": "private"}), "id")
		project := s.do("ann", "POST", "/projects", obj{"name": "App", "namespace_id": s.do("ann", "GET", group, nil)["id"], "initialize_with_readme": true, "visibility": "private"})
		s.do("ann", "POST", "/projects", obj{"name": "Public", "visibility": "internal", "initialize_with_readme": true})
		made := s.do("ann", "POST", group+"/service_accounts", obj{"name": "Deployer", "username": "deployer"})
		account := group + "/service_accounts/" + number(made, "id")
		token := s.do("ann", "POST", account+"/personal_access_tokens", obj{"name": "ci", "scopes": []string{"api"}})
		s.keys["deployer"] = token["token"].(string)
		path := "/projects/" + number(project, "id")

		basic := map[string]string{"Authorization": basicAuth("deployer", s.keys["deployer"])}
		lfs := map[string]string{"Authorization": basic["Authorization"], "Content-Type": "application/vnd.git-lfs+json", "Accept": "application/vnd.git-lfs+json"}
		bearer := map[string]string{"Authorization": "Bearer " + s.keys["deployer"], "Content-Type": "application/json"}
		objects := `{"operation":"%","objects":[{"oid":"` + strings.Repeat("a", 64) + `","size":1}]}`
		transports := []struct {
			name, method, path, body string
			header                   map[string]string
			none, open, gone         int // status without membership, as a Developer, and after the end
		}{
			{"REST", "GET", "/api/v4" + path, "", map[string]string{"Private-Token": s.keys["deployer"]}, 404, 200, 403},
			{"REST, bearer", "GET", "/api/v4" + path, "", bearer, 404, 200, 403},
			{"page", "GET", "/team/app", "", map[string]string{"Private-Token": s.keys["deployer"]}, 404, 200, 404},
			{"raw file", "GET", "/team/app/-/raw/main/README.md", "", basic, 404, 200, 404},
			{"archive", "GET", "/team/app/-/archive/main/app-main.tar.gz", "", basic, 404, 200, 404},
			{"fetch", "GET", "/team/app.git/info/refs?service=git-upload-pack", "", basic, 404, 200, 403},
			{"push", "GET", "/team/app.git/info/refs?service=git-receive-pack", "", basic, 404, 200, 403},
			{"LFS, down", "POST", "/team/app.git/info/lfs/objects/batch", strings.Replace(objects, "%", "download", 1), lfs, 404, 200, 403},
			{"LFS, up", "POST", "/team/app.git/info/lfs/objects/batch", strings.Replace(objects, "%", "upload", 1), lfs, 404, 200, 403},
		}
		ask := func(when string, status func(i int) int) {
			t.Helper()
			for i, tt := range transports {
				r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, strings.NewReader(tt.body))
				for name, value := range tt.header {
					r.Header.Set(name, value)
				}
				w := httptest.NewRecorder()
				s.http.Handler.ServeHTTP(w, r)
				if want := status(i); w.Code != want {
					t.Errorf("%s, %s: got %d %.200s, want %d", tt.name, when, w.Code, w.Body, want)
				}
			}
		}
		graphql := func() string {
			t.Helper()
			body, err := json.Marshal(obj{"query": `{currentUser{username bot} project(fullPath:"team/app"){name}}`})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/graphql", strings.NewReader(string(body)))
			for name, value := range bearer {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			s.http.Handler.ServeHTTP(w, r)
			return strings.TrimSpace(w.Body.String())
		}
		ask("not a member", func(i int) int { return transports[i].none })
		if got, want := graphql(), `{"data":{"currentUser":{"username":"deployer","bot":true},"project":null}`; !strings.HasPrefix(got, want) {
			t.Errorf("GraphQL, not a member: got %s", got)
		}
		s.want("deployer", "GET", "/projects/ann%2Fpublic", nil, 404, "")
		s.do("ann", "POST", group+"/members", obj{"user_id": made["id"], "access_level": 30})
		ask("as a Developer", func(i int) int { return transports[i].open })
		if got, want := graphql(), `{"data":{"currentUser":{"username":"deployer","bot":true},"project":{"name":"App"}}`; !strings.HasPrefix(got, want) {
			t.Errorf("GraphQL, as a Developer: got %s", got)
		}

		// What only people may, and what would outlive the token.
		s.want("deployer", "POST", "/groups", obj{"name": "Own", "path": "own"}, 403, "")
		s.want("deployer", "POST", "/projects", obj{"name": "Own"}, 403, "")
		s.want("deployer", "POST", "/user/keys", obj{"title": "k", "key": deployKey()}, 403, "")
		s.want("deployer", "POST", group+"/service_accounts", nil, 403, "")
		s.want("deployer", "POST", account+"/personal_access_tokens", obj{"name": "more", "scopes": []string{"api"}}, 403, "")
		if b := s.browse(t); b.signIn("deployer", s.keys["deployer"]).status == http.StatusSeeOther {
			t.Error("a token signs on at the form")
		}

		second := s.do("ann", "POST", account+"/personal_access_tokens", obj{"name": "second", "scopes": []string{"api"}})
		s.do("ann", "DELETE", account+"/personal_access_tokens/"+number(token, "id"), nil)
		s.want("deployer", "GET", path, nil, 401, "")
		for _, tt := range transports {
			for name := range tt.header {
				switch name {
				case "Private-Token":
					tt.header[name] = second["token"].(string)
				case "Authorization":
					if strings.HasPrefix(tt.header[name], "Bearer") {
						tt.header[name] = "Bearer " + second["token"].(string)
					} else {
						tt.header[name] = basicAuth("deployer", second["token"].(string))
					}
				}
			}
		}
		ask("with another token", func(i int) int { return transports[i].open })
		s.do("ann", "DELETE", account, nil)
		ask("after its end", func(i int) int { return transports[i].gone })
	})
}
