package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/transport/rest/api"
)

// bearer sends a body as npm does.
func (s *server) bearer(method, path, token string, body io.Reader, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(s.tb.Context(), method, api.Prefix+path, body)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	return w
}

func (s *server) npmPut(path, token, name string, doc obj) *httptest.ResponseRecorder {
	s.tb.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		s.tb.Fatal(err)
	}
	return s.bearer("PUT", path+"/packages/npm/"+strings.Replace(name, "/", "%2f", 1), token, bytes.NewReader(text))
}

// TestNPM publishes, finds, tags, deprecates and deletes npm packages.
func TestNPM(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		dave, mona := s.keys["dave"], s.keys["mona"]
		want := func(a *httptest.ResponseRecorder, status int, text string) {
			t.Helper()
			if a.Code != status || !strings.Contains(a.Body.String(), text) {
				t.Errorf("got %d %.600s, want %d %s", a.Code, a.Body, status, text)
			}
		}
		get := func(path, token string, headers ...string) *httptest.ResponseRecorder {
			return s.bearer("GET", path, token, http.NoBody, headers...)
		}
		base := d.at + "/packages/npm/"
		want(s.npmPut(d.at, dave, "@tools/left", npmDocument("@tools/left", "1.0.0")), 200, `{"ok":true}`)
		want(s.npmPut(d.at, dave, "@tools/left", npmDocument("@tools/left", "1.0.0")), 403, `{"message":"Package already exists."}`)
		want(s.npmPut(d.at, dave, "@tools/left", npmDocument("@tools/left", "1.1.0-rc.1")), 200, "")
		want(s.npmPut(d.at, dave, "left", npmDocument("left", "0.1.0")), 200, "")

		// The metadata, in full and as installers read it.
		a := get(base+"@tools%2fleft", dave)
		want(a, 200, `"dist-tags":{"latest":"1.1.0-rc.1"}`)
		want(a, 200, `"time":{"created":"`)
		var m struct {
			Versions map[string]struct {
				Dependencies map[string]string
				Dist         struct{ Integrity, Shasum, Tarball string }
			}
		}
		if err := json.Unmarshal(a.Body.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		one := m.Versions["1.0.0"]
		if len(m.Versions) != 2 || one.Dependencies["constructor"] != "^1.0.0" || len(one.Dist.Shasum) != 40 || !strings.HasPrefix(one.Dist.Integrity, "sha512-") {
			t.Fatalf("metadata: %s", a.Body)
		}
		_, tarball, ok := strings.Cut(one.Dist.Tarball, api.Prefix)
		if !ok || !strings.HasPrefix(one.Dist.Tarball, s.core.URLs.Root()) || !strings.HasSuffix(tarball, "/packages/npm/@tools/left/-/@tools/left-1.0.0.tgz") {
			t.Errorf("tarball: %s", one.Dist.Tarball)
		}
		file := get(tarball, dave)
		want(file, 200, "tarball of @tools/left")
		if got := file.Header().Get("Content-Disposition"); got != `attachment; filename="left-1.0.0.tgz"` {
			t.Errorf("Content-Disposition: %s", got)
		}
		want(get(base+"@tools%2fleft/-/left-1.0.0.tgz", dave), 200, "tarball")
		want(get(base+"@tools%2fleft/-/left-9.0.0.tgz", dave), 404, `{"message":"404 Package Not Found"}`)
		short := get(base+"@tools/left", dave, "Accept", "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8")
		want(short, 200, `"modified":"`)
		if got := short.Header().Get("Content-Type"); got != "application/vnd.npm.install-v1+json" {
			t.Errorf("Content-Type: %s", got)
		}
		tag := a.Header().Get("Etag")
		if b := get(base+"@tools%2fleft", dave, "If-None-Match", tag); b.Code != 304 || b.Body.Len() != 0 || tag == short.Header().Get("Etag") {
			t.Errorf("got %d %s for %s", b.Code, b.Body, tag)
		}
		want(get(base+"absent", dave), 404, `{"message":"404 Packages Not Found"}`)

		// Tags.
		tags := base + "-/package/@tools%2fleft/dist-tags"
		want(s.bearer("PUT", tags+"/stable", dave, strings.NewReader(`"1.0.0"`)), 204, "")
		want(get(tags, dave), 200, `{"latest":"1.1.0-rc.1","stable":"1.0.0"}`)
		want(s.bearer("PUT", tags+"/stable", dave, strings.NewReader(`"1.1.0-rc.1"`)), 204, "")
		want(s.bearer("PUT", tags+"/latest", dave, strings.NewReader(`"1.0.0"`)), 204, "")
		want(s.bearer("PUT", tags+"/latest", dave, strings.NewReader(`"3.0.0"`)), 404, "")
		for _, name := range []string{"1.0", "v2", "x", "constructor", "__proto__", "a b"} {
			want(s.bearer("PUT", tags+"/"+strings.ReplaceAll(name, " ", "%20"), dave, strings.NewReader(`"1.0.0"`)), 400, "Tag is invalid.")
		}
		want(get(base+"@tools%2fleft", dave), 200, `"dist-tags":{"latest":"1.0.0","stable":"1.1.0-rc.1"}`)
		want(s.bearer("PUT", tags+"/stable", s.keys["rita"], strings.NewReader(`"1.0.0"`)), 403, "")
		want(s.bearer("DELETE", tags+"/stable", dave, http.NoBody), 204, "")
		want(s.bearer("DELETE", tags+"/stable", dave, http.NoBody), 404, "")
		if list := d.all("/packages?package_type=npm&package_version=1.0.0"); len(list) != 1 || len(list[0]["tags"].([]any)) != 1 || list[0]["name"] != "@tools/left" {
			t.Errorf("packages: %v", list)
		}

		// A deprecation comes as the whole document without an attachment; who may delete packages may send it.
		old := func(message string) obj {
			return obj{"name": "@tools/left", "versions": obj{"1.0.0": obj{"deprecated": message}, "7.0.0": obj{"deprecated": "x"}}}
		}
		want(s.npmPut(d.at, dave, "@tools/left", old("no")), 403, "")
		want(s.npmPut(d.at, mona, "@tools/left", old(`use "right"`)), 200, "")
		want(get(base+"@tools%2fleft", dave), 200, `"deprecated":"use \"right\""`)
		for _, query := range []string{"?package_type=npm&package_version=1.0.0", "?status=deprecated"} {
			if list := d.all("/packages" + query); len(list) != 1 || list[0]["status"] != "deprecated" || list[0]["status_message"] != `use "right"` {
				t.Errorf("%s: %v", query, list)
			}
		}
		want(get(base+"@tools%2fleft/-/left-1.0.0.tgz", dave), 200, "")
		want(s.npmPut(d.at, dave, "@tools/left", npmDocument("@tools/left", "1.0.0")), 403, "Package already exists.")
		want(s.npmPut(d.at, mona, "@tools/left", old("")), 200, "")
		if list := d.all("/packages?status=default&package_version=1.0.0"); len(list) == 0 || list[0]["status_message"] != nil {
			t.Errorf("packages: %v", list)
		}
		if a := get(base+"@tools%2fleft", dave); strings.Contains(a.Body.String(), "deprecated") {
			t.Errorf("got %s", a.Body)
		}
		for _, path := range []string{"advisories/bulk", "audits/quick"} {
			want(s.bearer("POST", base+"-/npm/v1/security/"+path, dave, strings.NewReader(`{"left":["1.0.0"]}`)), 200, `[]`)
			want(s.bearer("POST", "/packages/npm/-/npm/v1/security/"+path, dave, strings.NewReader("\x1f\x8b")), 200, `[]`)
		}

		// What is absent is sent to the public registry only where an administrator says so.
		s.do("admin", "PUT", "/application/settings", obj{"npm_package_requests_forwarding": true})
		a = get(base+"@absent%2fx", dave)
		if to := a.Header().Get("Location"); a.Code != 302 || to != "https://registry.npmjs.org/@absent%2Fx" {
			t.Errorf("got %d to %s", a.Code, to)
		}
		a = s.bearer("POST", base+"-/npm/v1/security/audits/quick", dave, http.NoBody)
		if to := a.Header().Get("Location"); a.Code != 307 || to != "https://registry.npmjs.org/-/npm/v1/security/audits/quick" {
			t.Errorf("got %d to %s", a.Code, to)
		}
		s.do("admin", "PUT", "/application/settings", obj{"npm_package_requests_forwarding": false})

		// A version that is deleted is out of the metadata at once, and its tag with it.
		id := number(d.all("/packages?package_type=npm&package_version=1.0.0")[0], "id")
		s.want("mona", "DELETE", d.at+"/packages/"+id, nil, 204, "")
		want(get(base+"@tools%2fleft", dave), 200, `"dist-tags":{"latest":"1.1.0-rc.1"},"versions":{"1.1.0-rc.1"`)
		want(s.npmPut(d.at, dave, "@tools/left", npmDocument("@tools/left", "1.0.0")), 200, "")
		s.drained()
		want(get(tarball, dave), 200, "")
		rows := d.all("/packages?package_name=left&package_version=0.1.0")
		of := d.at + "/packages/" + number(rows[0], "id") + "/package_files"
		s.want("mona", "DELETE", of+"/"+number(d.all(strings.TrimPrefix(of, d.at))[0], "id"), nil, 204, "")
		want(get(base+"left", dave), 404, "")
	})
}

// TestNPM_refused has documents refused that are none, or that harm who reads them.
func TestNPM_refused(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	d := s.deployer()
	dave := s.keys["dave"]
	objects := func() (n int) {
		for range s.objects.List(t.Context(), "package") {
			n++
		}
		return n
	}
	const doc = `{"name":"x","versions":{"1.0.0":{"name":"x","version":"1.0.0"%s}},"_attachments":{"x-1.0.0.tgz":{"data":"eHg="%s}}%s}`
	for name, c := range map[string]struct {
		text   string
		status int
		says   string
	}{
		"__proto__":          {fmt.Sprintf(doc, `,"__proto__":{"a":1}`, "", ""), 400, "a key that is not allowed"},
		"escaped __proto__":  {fmt.Sprintf(doc, `,"bin":{"\u005f_proto__":"x"}`, "", ""), 400, "a key that is not allowed"},
		"constructor":        {fmt.Sprintf(doc, `,"constructor":{"prototype":{"a":1}}`, "", ""), 400, "a key that is not allowed"},
		"after the data":     {fmt.Sprintf(doc, "", "", `,"a":{"__proto__":1}`), 400, "a key that is not allowed"},
		"no JSON":            {"{", 403, ""},
		"cut off":            {strings.TrimSuffix(fmt.Sprintf(doc, "", "", ""), `="}}}`), 400, "not valid JSON"},
		"UTF-8":              {fmt.Sprintf(doc, ",\"description\":\"\xff\"", "", ""), 400, "not valid JSON"},
		"deep":               {strings.Repeat("[", 1000), 400, "not valid JSON"},
		"base64":             {strings.Replace(fmt.Sprintf(doc, "", "", ""), "eHg=", "e!!=", 1), 400, "not valid base64"},
		"two attachments":    {fmt.Sprintf(doc, "", `},"y":{"data":"eHg="`, ""), 400, "more than one attachment"},
		"length":             {fmt.Sprintf(doc, "", `,"length":3`, ""), 400, "Checksums do not match"},
		"shasum":             {fmt.Sprintf(doc, `,"dist":{"shasum":"00"}`, "", ""), 400, "Checksums do not match"},
		"integrity":          {fmt.Sprintf(doc, `,"dist":{"integrity":"sha512-AA=="}`, "", ""), 400, "Checksums do not match"},
		"no version":         {`{"name":"x","versions":{},"_attachments":{"x-1.0.0.tgz":{"data":"eHg="}}}`, 400, "Version is empty."},
		"no attachment":      {`{"name":"x"}`, 403, ""}, // a deprecation, which is for maintainers
		"another name":       {strings.Replace(fmt.Sprintf(doc, "", "", ""), `{"name":"x"`, `{"name":"y"`, 1), 400, "Package name is invalid."},
		"a path for version": {strings.ReplaceAll(fmt.Sprintf(doc, "", "", ""), `"1.0.0"`, `"../1.0.0"`), 400, "Version is invalid."},
		"large":              {fmt.Sprintf(doc, `,"description":"`+strings.Repeat("x", 300<<10)+`"`, "", ""), 400, "Package json is too large."},
		"larger":             {fmt.Sprintf(doc, `,"readme":"`+strings.Repeat("x", 11<<20)+`"`, "", ""), 400, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			if a := s.bearer("PUT", d.at+"/packages/npm/x", dave, strings.NewReader(c.text)); a.Code != c.status || !strings.Contains(a.Body.String(), c.says) {
				t.Errorf("got %d %.300s, want %d %s", a.Code, a.Body, c.status, c.says)
			}
		})
	}
	for _, name := range []string{"..", ".x", "_x", "@a%2f..%2fb", "a%2fb", "@%2fx", "%5cx", "x%0a", strings.Repeat("x", 215)} {
		if a := s.bearer("PUT", d.at+"/packages/npm/"+name, dave, strings.NewReader(fmt.Sprintf(doc, "", "", ""))); a.Code < 400 || a.Code > 499 {
			t.Errorf("%s: got %d %s", name, a.Code, a.Body)
		}
	}
	if n := objects(); n != 0 {
		t.Errorf("%d objects were kept", n)
	}
	s.do("admin", "PUT", "/application/plan_limits", obj{"plan_name": "default", "npm_max_file_size": 10})
	if a := s.npmPut(d.at, dave, "big", npmDocument("big", "1.0.0")); a.Code != 400 || !strings.Contains(a.Body.String(), `{"message":"File is too large."}`) {
		t.Errorf("got %d %s", a.Code, a.Body)
	}
}

// TestNPM_together publishes one version many times at once: one wins, all others are refused.
func TestNPM_together(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		const n = 8
		codes := make(chan int, n)
		for range n {
			go func() { codes <- s.npmPut(d.at, s.keys["dave"], "left", npmDocument("left", "1.0.0")).Code }()
		}
		won := 0
		for range n {
			switch code := <-codes; code {
			case 200:
				won++
			case 403:
			default:
				t.Errorf("got %d", code)
			}
		}
		if won != 1 {
			t.Errorf("%d of %d won", won, n)
		}
		s.checkPackages(t)
		if list := d.all("/packages?package_type=npm"); len(list) != 1 {
			t.Errorf("packages: %v", list)
		}
	})
}

// TestNPM_worlds finds packages in groups and by their scope, and only those that the caller may read: what is hidden looks like what is not there.
func TestNPM_worlds(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"ann", "bob", "carol"} {
			s.user(name, nil)
		}
		group := s.do("ann", "POST", "/groups", obj{"name": "Acme", "path": "acme", "visibility": "public"})
		create := func(name, visibility string) string {
			return "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": name, "namespace_id": group["id"], "visibility": visibility}), "id")
		}
		open, shut := create("open", "public"), create("shut", "private")
		put := func(at, name, version string) {
			t.Helper()
			if a := s.npmPut(at, s.keys["ann"], name, npmDocument(name, version)); a.Code != 200 {
				t.Fatalf("got %d %s", a.Code, a.Body)
			}
		}
		put(open, "@acme/both", "1.0.0")
		put(shut, "@acme/both", "2.0.0")
		put(shut, "@acme/secret", "1.0.0")
		put(shut, "@Acme/Case", "1.0.0")
		s.do("ann", "POST", shut+"/members", obj{"user_id": number(s.do("bob", "GET", "/user", nil), "id"), "access_level": 20})
		made := s.do("ann", "POST", "/groups/"+number(group, "id")+"/deploy_tokens", obj{"name": "reads", "scopes": []string{"read_package_registry"}})
		s.keys["reads"] = made["token"].(string)
		for _, at := range []string{"/groups/acme/-/packages/npm/", "/packages/npm/"} {
			for user, sees := range map[string]bool{"ann": true, "bob": true, "carol": false, "": false, "reads": true} {
				absent := s.bearer("GET", at+"@acme%2fabsent", s.keys[user], http.NoBody)
				if absent.Code != 404 || !strings.Contains(absent.Body.String(), `{"message":"404 Packages Not Found"}`) {
					t.Errorf("%s as %q: absent is %d %s", at, user, absent.Code, absent.Body)
				}
				for _, path := range []string{"@acme%2fsecret", "-/package/@acme%2fsecret/dist-tags"} {
					a := s.bearer("GET", at+path, s.keys[user], http.NoBody)
					if sees && a.Code != 200 || !sees && (a.Code != absent.Code || a.Body.String() != absent.Body.String()) {
						t.Errorf("%s%s as %q: %d %s", at, path, user, a.Code, a.Body)
					}
				}
				a := s.bearer("GET", at+"@acme%2fboth", s.keys[user], http.NoBody)
				if has := strings.Contains(a.Body.String(), `"2.0.0":{`); a.Code != 200 || has != sees || !strings.Contains(a.Body.String(), `"1.0.0":{`) {
					t.Errorf("%s as %q: %d %s", at, user, a.Code, a.Body)
				}
				hidden := s.bearer("PUT", at+"-/package/@acme%2fsecret/dist-tags/beta", s.keys[user], strings.NewReader(`"1.0.0"`)).Code
				if want := map[string]int{"ann": 204, "bob": 403, "carol": 404, "": 401, "reads": 403}[user]; hidden != want {
					t.Errorf("%s as %q: tag: %d, want %d", at, user, hidden, want)
				}
			}
		}
		for path, status := range map[string]int{"@acme%2fCase": 404, "@Acme%2fCase": 200, "@nowhere%2fx": 404, "both": 404} {
			if a := s.bearer("GET", "/packages/npm/"+path, s.keys["ann"], http.NoBody); a.Code != status {
				t.Errorf("%s: %d %s", path, a.Code, a.Body)
			}
		}
		s.do("ann", "PUT", shut, obj{"package_registry_access_level": "disabled"})
		if a := s.bearer("GET", "/packages/npm/@acme%2fsecret", s.keys["ann"], http.NoBody); a.Code != 404 {
			t.Errorf("got %d", a.Code)
		}
	})
}

// TestNPM_credentials publishes and reads with each kind of credential, as npm sends it.
func TestNPM_credentials(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	d := s.deployer()
	s.user("stan", nil)
	deploy := func(name string, scopes ...string) string {
		made := s.do("mona", "POST", d.at+"/deploy_tokens", obj{"name": name, "username": name, "scopes": scopes})
		return made["token"].(string)
	}
	d.commit("main", ".gitlab-ci.yml", "build:\n  script: [make]\n")
	_, job, _ := d.take()
	if a := s.npmPut(d.at, s.keys["dave"], "x", npmDocument("x", "1.0.0")); a.Code != 200 {
		t.Fatalf("got %d %s", a.Code, a.Body)
	}
	n := 0
	for _, c := range []struct {
		token     string
		get, post int
	}{
		{"", 404, 401},
		{s.keys["stan"], 404, 404},
		{s.keys["rita"], 200, 403},
		{deploy("reads", "read_package_registry"), 200, 403},
		{deploy("writes", "write_package_registry"), 200, 200},
		{deploy("code", "read_repository"), 403, 403},
		{job, 200, 200},
		{"gldt-wrong", 401, 401},
	} {
		if a := s.bearer("GET", d.at+"/packages/npm/x", c.token, http.NoBody); a.Code != c.get {
			t.Errorf("GET with %.12s: %d %s, want %d", c.token, a.Code, a.Body, c.get)
		}
		n++
		if a := s.npmPut(d.at, c.token, "x", npmDocument("x", fmt.Sprintf("2.0.%d", n))); a.Code != c.post {
			t.Errorf("PUT with %.12s: %d %s, want %d", c.token, a.Code, a.Body, c.post)
		}
	}
	if a := s.curl("GET", d.at+"/packages/npm/x", "gitlab-ci-token:"+job, ""); a.Code != 200 {
		t.Errorf("got %d %s", a.Code, a.Body)
	}
	by := d.all("/packages?package_type=npm&package_version=2.0.7")
	if len(by) != 1 {
		t.Fatalf("packages: %v", by)
	}
	s.want("mona", "GET", d.at+"/packages/"+number(by[0], "id")+"/pipelines", nil, 200, `"source":"`)
}
