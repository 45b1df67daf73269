package app

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/sshkey"
)

// labels is an external authorization service.
type labels struct {
	*httptest.Server

	mu     sync.Mutex
	denied map[string]bool // by address of the user and label
	status int             // of what is denied; 0 does not answer
	asked  []string
}

func newLabels(t *testing.T) *labels {
	t.Helper()
	l := &labels{denied: map[string]bool{}, status: http.StatusForbidden}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			User       string `json:"user_identifier"`
			Label      string `json:"project_classification_label"`
			Identities []any  `json:"identities"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Identities == nil {
			t.Errorf("question: %+v %v", q, err)
		}
		l.mu.Lock()
		key := q.User + " " + q.Label
		l.asked = append(l.asked, key)
		denied, status := l.denied[key], l.status
		l.mu.Unlock()
		switch {
		case !denied:
		case status == 0:
			<-r.Context().Done()
		default:
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"reason":"not cleared"}`))
		}
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *labels) deny(status int, keys ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status = status
	clear(l.denied)
	for _, key := range keys {
		l.denied[key] = true
	}
}

func (l *labels) questions() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.asked
	l.asked = nil
	return out
}

// TestExternalAuthorization asks a service about projects by their labels. What it denies is not found over any transport and in no list but that of
// projects; administrators see all.
func TestExternalAuthorization(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			database := ""
			if engine == "postgres" {
				database = dbtest.PostgresURL(t)
			}
			testExternalAuthorization(t, database)
		})
	}
}

func testExternalAuthorization(t *testing.T, database string) {
	t.Helper()
	l, s := newLabels(t), newServer(t, database)
	s.user("ann", nil)
	s.user("ben", nil)
	paths := map[string]string{}
	for _, name := range []string{"crane", "plain"} {
		p := s.do("ann", "POST", "/projects", obj{"name": name, "initialize_with_readme": true, "visibility": "public"})
		paths[name] = "/projects/" + number(p, "id")
		s.do("ann", "POST", paths[name]+"/issues", obj{"title": "x"})
	}
	s.do("ann", "PUT", paths["crane"], obj{"external_authorization_classification_label": "secret"})
	s.want("ann", "GET", paths["plain"], nil, 200, `"external_authorization_classification_label":null`)
	if asked := l.questions(); asked != nil {
		t.Errorf("asked while it is off: %q", asked)
	}
	s.set(obj{
		"external_authorization_service_enabled": true, "external_authorization_service_url": l.URL, "external_authorization_service_default_label": "open",
		"outbound_local_requests_whitelist": []string{"127.0.0.1"},
	})
	l.deny(403, "ann@example.com secret")
	graphql := func(as, document string) string {
		t.Helper()
		a := s.send(t.Context(), request{as: as, method: "POST", path: "/api/graphql", whole: true, body: obj{"query": document}})
		return a.Body.String()
	}
	lfs := func(as string) int {
		body := strings.NewReader(`{"operation":"download","objects":[{"oid":"` + strings.Repeat("0", 64) + `","size":1}]}`)
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/ann/crane.git/info/lfs/objects/batch", body)
		r.Header.Set("Content-Type", "application/vnd.git-lfs+json")
		r.SetBasicAuth(as, s.keys[as])
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w.Code
	}
	const crane = "/ann/crane"
	check := func(as string, seen bool) {
		t.Helper()
		status := map[bool]int{true: 200, false: 404}[seen]
		s.want(as, "GET", paths["crane"], nil, status, "")
		s.want(as, "GET", paths["crane"]+"/issues", nil, status, "")
		s.want(as, "GET", paths["crane"]+"/repository/files/README.md/raw", nil, status, "")
		s.wantOf(request{as: as, method: "GET", path: crane, whole: true, way: bearer}, status, "")
		if got := graphql(as, `{ project(fullPath: "ann/crane") { path } }`); strings.Contains(got, `"crane"`) != seen {
			t.Errorf("%s: GraphQL: %s", as, got)
		}
		if got := s.gitRequest(as, "GET", crane+".git/info/refs?service=git-upload-pack").Code; got != status {
			t.Errorf("%s: fetch: %d", as, got)
		}
		if got := lfs(as); got != status {
			t.Errorf("%s: LFS: %d", as, got)
		}
		if got := graphql(as, `{ issues(state: all) { nodes { webPath } } }`); strings.Contains(got, crane+"/") != seen {
			t.Errorf("%s: issues over GraphQL: %s", as, got)
		}
		for _, list := range []string{"/issues?scope=all", "/search?scope=issues&search=x", "/todos"} {
			if a := s.send(t.Context(), request{as: as, method: "GET", path: list}); a.Code != 200 || list != "/todos" && strings.Contains(a.Body.String(), crane+"/") != seen {
				t.Errorf("%s: %s: %d %s, want the issue %v", as, list, a.Code, a.Body, seen)
			}
		}
		s.want(as, "GET", "/projects?simple=true", nil, 200, `"path":"crane"`)
	}
	check("ann", false)
	check("ben", true)
	check("admin", true)
	s.want("ann", "GET", paths["plain"], nil, 200, `"external_authorization_classification_label":"open"`)
	s.want("", "GET", paths["plain"], nil, 404, "")
	want := []string{"ann@example.com secret", "ann@example.com open", "ben@example.com secret", "ben@example.com open"} // each once
	if asked := l.questions(); strings.Join(asked, ", ") != strings.Join(want, ", ") {
		t.Errorf("asked %q, want %q", asked, want)
	}

	s.want("ann", "PUT", paths["plain"], obj{"external_authorization_classification_label": "secret"}, 400, `"is unavailable: not cleared"`)
	s.want("ann", "POST", "/projects", obj{"name": "more", "external_authorization_classification_label": "secret"}, 400, `"is unavailable: not cleared"`)
	fork := s.do("ben", "POST", paths["crane"]+"/fork", obj{})
	if label := fork["external_authorization_classification_label"]; label != "secret" {
		t.Errorf("label of a fork: %v", label)
	}

	for _, status := range []int{500, 302, 0} { // a failure denies, is not kept, and has the service left alone for a second
		s.set(obj{"external_authorization_service_url": l.URL + "/" + http.StatusText(status), "external_authorization_service_timeout": 0.2})
		l.deny(status, "ben@example.com secret")
		s.want("ben", "GET", paths["crane"], nil, 404, "")
		l.deny(0)
		s.want("ben", "GET", paths["crane"], nil, 404, "")
		deadline := time.Now().Add(20 * time.Second)
		for s.send(t.Context(), request{as: "ben", method: "GET", path: paths["crane"]}).Code != 200 {
			if time.Now().After(deadline) {
				t.Fatalf("status %d: not asked again", status)
			}
			select {
			case <-t.Context().Done():
				t.Fatal(t.Context().Err())
			case <-time.After(50 * time.Millisecond):
			}
		}
	}

	token := s.do("ann", "POST", paths["plain"]+"/deploy_tokens", obj{"name": "d", "scopes": []string{"read_repository"}})
	deploys := func() int {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/ann/plain.git/info/refs?service=git-upload-pack", http.NoBody)
		r.SetBasicAuth(token["username"].(string), token["token"].(string))
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w.Code
	}
	for _, c := range []struct {
		set  obj
		want int
	}{
		{obj{"allow_deploy_tokens_and_keys_with_external_authn": true}, 404},
		{obj{"external_authorization_service_url": ""}, 200},
		{obj{"allow_deploy_tokens_and_keys_with_external_authn": false}, 404},
		{obj{"external_authorization_service_enabled": false}, 200},
	} {
		s.set(c.set)
		if got := deploys(); got != c.want {
			t.Errorf("%v: deploy token: %d, want %d", c.set, got, c.want)
		}
	}
	check("ann", true)
}

// TestPackages_externalAuthorization lists the packages of a group whose members may read them, but for those of a project that the service denies.
func TestPackages_externalAuthorization(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		l := newLabels(t)
		s.user("ann", nil)
		s.user("ben", nil)
		group := s.do("ann", "POST", "/groups", obj{"name": "Works", "path": "works"})
		at := "/groups/" + number(group, "id")
		s.do("ann", "POST", at+"/members", obj{"user_id": s.ids["ben"], "access_level": 20})
		var projects []string
		for name, label := range map[string]string{"crane": "secret", "plain": "open"} {
			p := s.do("ann", "POST", "/projects", obj{"name": name, "namespace_id": group["id"], "external_authorization_classification_label": label})
			in := "/projects/" + number(p, "id")
			projects = append(projects, in)
			s.do("ann", "PUT", in+"/packages/generic/"+name+"/1/x", obj{"x": "y"})
			if a := s.twine(in, "ann:"+s.keys["ann"], name+"-1.0.tar.gz", "x", "name", "tool", "version", "1.0"); a.Code != 201 {
				t.Fatalf("publish: %d %s", a.Code, a.Body)
			}
		}
		s.set(obj{
			"external_authorization_service_enabled": true, "external_authorization_service_url": l.URL, "external_authorization_service_default_label": "open",
			"outbound_local_requests_whitelist": []string{"127.0.0.1"},
		})
		l.deny(403, "ben@example.com secret")
		for as, crane := range map[string]bool{"ann": true, "ben": false} {
			for _, p := range projects { // lists have the answers that were given before
				s.send(t.Context(), get(as, p))
			}
			for _, path := range []string{"/packages", "/-/packages/pypi/simple/tool"} {
				a := s.send(t.Context(), get(as, at+path))
				if body := a.Body.String(); a.Code != 200 || !strings.Contains(body, "plain") || strings.Contains(body, "crane") != crane {
					t.Errorf("%s: %s: %d %s, want the packages of crane %v", as, path, a.Code, body, crane)
				}
			}
		}
	})
}

// TestSSH_externalAuthorization denies a project over SSH.
func TestSSH_externalAuthorization(t *testing.T) {
	t.Parallel()
	l := newLabels(t)
	a, _ := newSSH(t)
	ctx := t.Context()
	root, err := a.core.Accounts.ActorFor(ctx, "root")
	if err != nil {
		t.Fatal(err)
	}
	password := annPassword
	u, err := a.core.Accounts.Create(ctx, root, account.Input{Username: "ann", Name: "Ann", Email: "ann@example.com", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	ann := authz.Actor{UserID: u.ID, Username: "ann"}
	if _, err := a.core.Keys.Create(ctx, ann, sshkey.Input{Title: "t", Key: string(ssh.MarshalAuthorizedKey(signer.PublicKey()))}); err != nil {
		t.Fatal(err)
	}
	name := "box"
	if _, err := a.core.Projects.Create(ctx, ann, project.Input{Readme: true, Changes: project.Changes{Attributes: project.Attributes{Name: &name}}}); err != nil {
		t.Fatal(err)
	}
	client, err := ssh.Dial("tcp", a.SSHAddress(), &ssh.ClientConfig{
		User: "git", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	run := runner(t, client)
	for _, denied := range []bool{true, false} {
		l.deny(401)
		url := l.URL + "/open"
		if denied {
			l.deny(401, "ann@example.com open")
			url = l.URL
		}
		for setting, value := range map[string]any{
			"outbound_local_requests_whitelist": []string{"127.0.0.1"}, "external_authorization_service_default_label": "open",
			"external_authorization_service_url": url, "external_authorization_service_enabled": true,
		} {
			if err := a.core.Settings.Set(ctx, setting, value); err != nil {
				t.Fatal(err)
			}
		}
		for _, command := range []string{"git-upload-pack 'ann/box.git'", "git-receive-pack 'ann/box.git'", "git-lfs-authenticate 'ann/box.git' download"} {
			if text, err := run(command); (err != nil) != denied {
				t.Errorf("%s: %v %q, want denied %v", command, err, text, denied)
			}
		}
	}
	if n, err := db.Get[int](ctx, a.db, "SELECT COUNT(*) FROM settings WHERE name LIKE 'external_%'"); err != nil || n != 3 {
		t.Errorf("%d settings, %v", n, err)
	}
}
