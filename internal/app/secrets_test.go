package app

import (
	"bytes"
	"encoding/base64"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
	"tenon/internal/transport/rest/api"
)

// anyToken is what every access token that the server makes looks like.
var anyToken = regexp.MustCompile(`gl(?:pat|dt)-[A-Za-z0-9_-]{20}`)

// noSecrets checks that an answer holds no secret of anybody.
func (s *server) noSecrets(what string, a *httptest.ResponseRecorder) {
	s.tb.Helper()
	text := a.Body.String()
	for name, values := range a.Header() {
		text += "\n" + name + ": " + strings.Join(values, ", ")
	}
	if found := anyToken.FindString(text); found != "" || strings.Contains(text, rootPassword) {
		s.tb.Errorf("%s answers with a secret: %d %.500s", what, a.Code, text)
	}
}

// noSecretsLogged checks that nothing secret was logged so far.
func (s *server) noSecretsLogged(more ...string) {
	s.tb.Helper()
	logged := s.logs.String()
	for _, key := range s.keys {
		more = append(more, key)
	}
	for _, secret := range append(more, rootPassword) {
		for _, form := range []string{secret, url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret))} {
			if at := strings.Index(logged, form); at >= 0 {
				s.tb.Errorf("the secret %q is in the log: %s", secret, logged[max(0, at-200):min(len(logged), at+100)])
			}
		}
	}
	if found := anyToken.FindString(logged); found != "" {
		s.tb.Errorf("the log holds a token: %s", found)
	}
}

// plantedSetting is the value of every secret setting after plant.
const plantedSetting = "a secret setting of ours"

// plant gives every secret setting a value that send then looks for in each answer.
func (s *server) plant() {
	s.tb.Helper()
	values := obj{}
	for _, e := range setting.Table() {
		if e.Secret {
			values[e.Name] = plantedSetting
		}
	}
	if len(values) < 15 {
		s.tb.Fatalf("%d secret settings", len(values))
	}
	s.set(values)
}

// notPlanted checks that only administrators read secret settings, and only where settings are.
func (s *server) notPlanted(q request, a *httptest.ResponseRecorder) {
	s.tb.Helper()
	if at := strings.Index(a.Body.String(), plantedSetting); at >= 0 && (strings.TrimSuffix(q.path, ".json") != "/application/settings" || !strings.HasPrefix(q.as, "admin")) {
		s.tb.Errorf("%s %s as %q answers with a secret setting: %s", q.method, q.path, q.as, around(a.Body.String(), at))
	}
}

// TestSecrets presents tokens and passwords in every way there is, good ones and bad
// ones, and then looks for them in the log and in the answers.
func TestSecrets(t *testing.T) {
	walker(t)
	s := newServer(t, "")
	s.user("mona", nil)
	s.token("soon gone", "mona", authz.ScopeAPI)
	s.do("mona", "POST", "/projects", obj{"name": "Tools", "initialize_with_readme": true})
	const wrong, password = "glpat-99999999999999999999", "correct-horse-battery-0"
	raw := func(method, target, body, kind string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w
	}
	s.do("mona", "POST", "/groups", obj{"name": "Workshop", "path": "workshop"})
	for name, request := range map[string]request{
		"project token": {path: "/projects/mona%2Ftools/access_tokens", body: obj{"name": "ci", "scopes": []string{"api"}, "access_level": 10, "expires_at": nextMonth()}},
		"group token":   {path: "/groups/workshop/access_tokens", body: obj{"name": "ci", "scopes": []string{"api"}, "access_level": 10, "expires_at": nextMonth()}},
		"group deploy":  {path: "/groups/workshop/deploy_tokens", body: obj{"name": "ci", "scopes": []string{"read_repository"}, "username": "mona"}},
		"deploy token":  {path: "/projects/mona%2Ftools/deploy_tokens", body: obj{"name": "ci", "scopes": []string{"read_repository"}, "username": "mona"}},
		"impersonation": {as: "admin", path: "/users/2/impersonation_tokens", body: obj{"name": "ci", "scopes": []string{"api"}}},
		"own token":     {path: "/user/personal_access_tokens", body: obj{"name": "ci", "scopes": []string{"self_rotate"}}},
	} {
		request.method = "POST"
		if request.as == "" {
			request.as = "mona"
		}
		made := s.send(t.Context(), request)
		if s.keys[name] = anyToken.FindString(made.Body.String()); s.keys[name] == "" {
			t.Fatalf("create a %s: got %d %s", name, made.Code, made.Body)
		}
		s.noSecrets("list of "+name, s.send(t.Context(), get(request.as, strings.Replace(request.path, "/user/", "/", 1))))
	}
	s.keys["LFS grant"] = s.largeFiles("mona/tools", "mona", s.keys["mona"])
	for name, key := range map[string]string{
		"LFS grant": s.keys["LFS grant"], "group": s.keys["group token"], "group deploy": s.keys["group deploy"],
		"good": s.keys["mona"], "wrong": wrong, "deploy": s.keys["deploy token"], "wrong deploy": "gldt-99999999999999999999",
		"project": s.keys["project token"], "impersonation": s.keys["impersonation"], "own": s.keys["own token"],
	} {
		basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("mona:"+key))
		for _, a := range []*httptest.ResponseRecorder{
			raw("GET", api.Prefix+"/user?private_token="+key, "", ""),
			raw("GET", api.Prefix+"/projects?per_page=1&access_token="+key, "", ""),
			raw("GET", api.Prefix+"/users?per_page=1&private_token="+key, "", ""),
			raw("GET", api.Prefix+"/projects?per_page=1&pagination=keyset&order_by=id&private_token="+key, "", ""),
			raw("GET", api.Prefix+"/nowhere?private_token="+key, "", ""),
			raw("GET", api.Prefix+"/user?%zz&private_token="+key, "", ""),
			raw("POST", api.Prefix+"/projects", "private_token="+key+"&name=x&visibility=none", "application/x-www-form-urlencoded"),
			raw("POST", api.Prefix+"/projects", `{"private_token":"`+key+`","name":7`, "application/json"),
			raw("GET", api.Prefix+"/user", "", "", "Private-Token", key),
			raw("GET", api.Prefix+"/user", "", "", "Authorization", "Bearer "+key),
			raw("GET", api.Prefix+"/user", "", "", "Job-Token", key),
			raw("GET", api.Prefix+"/user", "", "", "Deploy-Token", key),
			raw("GET", "/mona/tools.git/info/refs?service=git-upload-pack", "", "", "Authorization", basic),
			raw("GET", "/mona/tools.git/info/refs?service=git-receive-pack", "", "", "Authorization", basic),
			raw("POST", "/mona/tools.git/info/lfs/objects/batch", `{"operation":"download","objects":[]}`, "application/vnd.git-lfs+json", "Authorization", "Bearer "+key),
			raw("POST", "/mona/tools.git/info/lfs/objects/batch", `{"operation":"download","objects":[]}`, "application/vnd.git-lfs+json", "Authorization", basic),
			raw("GET", "/api/graphql?query=%7BcurrentUser%7Busername%7D%7D&private_token="+key, "", ""),
			raw("POST", "/api/graphql?access_token="+key, `{"query":"{ currentUser { username } }","variables":{"password":"`+key+`"}}`, "application/json"),
			raw("POST", "/api/graphql", "query=%7BcurrentUser%7Busername%7D%7D&private_token="+key, "application/x-www-form-urlencoded"),
			raw("POST", "/api/graphql", `{"query":"mutation($in: CreateIssueInput!) { createIssue(input: $in) { errors } }","variables":{"in":{"projectPath":"mona/none","title":"`+key+`"}}}`, "application/json", "Authorization", "Bearer "+key),
			raw("GET", "/mona/tools", "", "", "Private-Token", key),
			raw("GET", "/mona/tools?private_token="+key, "", ""),
		} {
			s.noSecrets(name, a)
		}
	}
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	for field, value := range map[string]string{"private_token": rootToken, "password": password, "email": "x@example.com", "name": "X", "username": "xaver"} {
		if err := parts.WriteField(field, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := parts.Close(); err != nil {
		t.Fatal(err)
	}
	made := raw("POST", api.Prefix+"/users", form.String(), parts.FormDataContentType())
	if made.Code != http.StatusCreated || strings.Contains(made.Body.String(), password) {
		t.Errorf("create a user: got %d %s", made.Code, made.Body)
	}
	raw("PUT", api.Prefix+"/users/3?password="+password, "", "", "Private-Token", rootToken)
	raw("GET", "/mona/tools.git/info/refs?service=git-upload-pack", "", "", "Authorization",
		"Basic "+base64.StdEncoding.EncodeToString([]byte("xaver:"+password)))

	token := s.send(t.Context(), request{as: "admin", method: "POST", path: "/users/2/personal_access_tokens", body: obj{"name": "ci", "scopes": []string{"api"}}})
	fresh := anyToken.FindString(token.Body.String())
	if fresh == "" {
		t.Fatalf("create a token: got %d %s", token.Code, token.Body)
	}
	s.keys["fresh"] = fresh
	for _, path := range []string{"/personal_access_tokens", "/personal_access_tokens/self", "/user"} {
		a := s.send(t.Context(), get("fresh", path))
		if a.Code != http.StatusOK {
			t.Errorf("%s: got %d %s", path, a.Code, a.Body)
		}
		s.noSecrets(path, a)
	}
	rotated := s.send(t.Context(), request{as: "soon gone", method: "POST", path: "/personal_access_tokens/self/rotate"})
	s.keys["rotated"] = anyToken.FindString(rotated.Body.String())
	if s.keys["rotated"] == "" {
		t.Fatalf("rotate: got %d %s", rotated.Code, rotated.Body)
	}
	if s.logs.String() == "" {
		t.Fatal("nothing was logged, so nothing was checked")
	}
	const imported = "s3cret-of-another-host"
	for _, form := range []string{"https://sam:" + imported + "@git.example.com/a.git", "https://sam:" + imported + "@127.0.0.1/a.git", "ftp://sam:" + imported + "@x/a.git"} {
		a := s.send(t.Context(), request{as: "admin", method: "POST", path: "/projects", body: obj{"name": "From elsewhere", "import_url": form}})
		if strings.Contains(a.Body.String(), imported) {
			t.Errorf("an import answers with the password of the other host: %d %s", a.Code, a.Body)
		}
	}
	if a := s.send(t.Context(), get("admin", "/projects?owned=true")); strings.Contains(a.Body.String(), imported) || !strings.Contains(a.Body.String(), "From elsewhere") {
		t.Errorf("projects show the password of an import: %s", a.Body)
	}
	s.noSecretsLogged(wrong, password, imported)
	s.noSecretsStored(wrong, password, imported)
}

// largeFiles returns a token for the large files of a project, which the server gives out
// with the actions on an object.
func (s *server) largeFiles(path, user, key string) string {
	s.tb.Helper()
	r := httptest.NewRequestWithContext(s.tb.Context(), "POST", "/"+path+".git/info/lfs/objects/batch",
		strings.NewReader(`{"operation":"upload","objects":[{"oid":"`+strings.Repeat("ab", 32)+`","size":5}]}`))
	r.Header.Set("Content-Type", "application/vnd.git-lfs+json")
	r.SetBasicAuth(user, key)
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	found := regexp.MustCompile(`"Authorization":"Bearer ([^"]+)"`).FindStringSubmatch(w.Body.String())
	if found == nil {
		s.tb.Fatalf("no token for large files: %d %s", w.Code, w.Body)
	}
	return found[1]
}

// noSecretsStored looks through every column of every table: a copy of the database must
// sign no user on.
func (s *server) noSecretsStored(more ...string) {
	s.tb.Helper()
	ctx := s.tb.Context()
	columns, err := db.Select[struct {
		Table  string `db:"table_name"`
		Column string `db:"column_name"`
	}](ctx, s.db, "SELECT t.name AS table_name, c.name AS column_name FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE '%!_trigrams' ESCAPE '!' ORDER BY t.name, c.name")
	if err != nil || len(columns) < 100 {
		s.tb.Fatalf("%d columns, %v", len(columns), err)
	}
	for _, key := range s.keys {
		more = append(more, key)
	}
	for _, secret := range append(more, rootPassword) {
		for _, form := range []string{secret, url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret))} {
			for _, c := range columns {
				n, err := db.Get[int](ctx, s.db, `SELECT COUNT(*) FROM "`+c.Table+`" WHERE instr(CAST("`+c.Column+`" AS TEXT), ?) > 0`, form)
				if err != nil {
					s.tb.Fatal(err)
				}
				if n > 0 {
					s.tb.Errorf("the secret %q stands in %s.%s", secret, c.Table, c.Column)
				}
			}
		}
	}
}
