package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/core/integration/integrationtest"
	"tenon/internal/core/integration/kind"
)

// integrationSamples has a sample for each kind that can be set up.
func integrationSamples() map[string][]sample {
	out := map[string][]sample{}
	for _, k := range kind.All() {
		body := sample{body: obj(integrationtest.Values(k, false))}
		switch {
		case k.App:
			body.status = http.StatusUnprocessableEntity
		case k.Unavailable != "":
			body.status = http.StatusBadRequest
		}
		out["PUT /projects/:id/integrations/"+k.Slug] = []sample{body}
		if k.ProjectsOnly {
			body.status = http.StatusBadRequest
		}
		out["PUT /groups/:id/integrations/"+k.Slug] = []sample{body}
	}
	for _, chat := range []string{"slack", "mattermost"} {
		out["POST /projects/:id/integrations/"+chat+"_slash_commands/trigger"] = []sample{{body: obj{"token": "none"}, status: http.StatusNotFound}}
	}
	return out
}

// A maintainer sets up one integration of each kind with all its settings. No secret is in an answer, in the log, or in an audit event
// (CVE-2022-1413, CVE-2022-3902, CVE-2024-7586), and answers have the keys of the kind in their order.
func TestIntegrations(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("mia", nil)
		path := "/projects/" + number(s.do("mia", "POST", "/projects", obj{"name": "Shop"}), "id")
		planted := func(what, text string) {
			t.Helper()
			for _, secret := range []string{integrationtest.Secret, "PRIVATE KEY"} {
				if at := strings.Index(text, secret); at >= 0 {
					t.Errorf("%s has a secret: %s", what, around(text, at))
				}
			}
		}
		for _, k := range kind.All() {
			one := path + "/integrations/" + k.Slug
			set := s.send(t.Context(), request{as: "mia", method: "PUT", path: strings.Replace(one, "integrations", "services", 1), body: obj(integrationtest.Values(k, true))})
			if k.Unavailable != "" {
				if set.Code < 400 {
					t.Errorf("%s: got %d %s", one, set.Code, set.Body)
				}
				continue
			}
			read := s.send(t.Context(), get("mia", one))
			if set.Code != http.StatusOK || read.Body.String() != set.Body.String() {
				t.Errorf("%s: set %d %s, and read %d %s", one, set.Code, set.Body, read.Code, read.Body)
			}
			planted(one, set.Body.String())
			checkProperties(t, k, set.Body.Bytes())
			list := s.send(t.Context(), get("mia", path+"/services"))
			if !strings.Contains(list.Body.String(), k.Slug) || strings.Contains(list.Body.String(), "properties") {
				t.Errorf("list after %s: %s", k.Slug, list.Body)
			}
			if k.Class.Exclusive() {
				s.do("mia", "DELETE", one, nil)
			}
			if k.Slug == "harbor" { // the audit trail of what was set up again
				again := integrationtest.Values(k, true)
				again["password"] = integrationtest.Secret + "another"
				s.do("mia", "PUT", one, again)
			}
		}
		planted("the log", s.logs.String())
		audit := s.send(t.Context(), get("mia", path+"/audit_events?per_page=100"))
		planted("the audit trail", audit.Body.String())
		if text := audit.Body.String(); strings.Count(text, "integration_created") < 40 || !strings.Contains(text, "integration_disabled") || !strings.Contains(text, "integration_updated") {
			t.Errorf("audit trail: %d created, %.300s", strings.Count(text, "integration_created"), text)
		}
		for _, tt := range []struct {
			method, path string
			body         obj
			status       int
			want         string
		}{
			{"GET", "/integrations/nothing", nil, 400, `{"error":"slug does not have a valid value"}`},
			{"DELETE", "/integrations/nothing", nil, 400, `{"error":"slug does not have a valid value"}`},
			{"GET", "/integrations/zentao", nil, 404, `{"message":"404 Integration Not Found"}`},
			{"DELETE", "/integrations/zentao", nil, 204, ""},
			{"PUT", "/integrations/emails-on-push", obj{"disable_diffs": true}, 400, `{"error":"recipients is missing"}`},
			{"PUT", "/integrations/external-wiki", obj{"external_wiki_url": ""}, 400, `{"message":"400 Bad Request"}`},
			{"POST", "/services/slack_slash_commands/trigger", obj{"token": "x"}, 404, `{"message":"404 Integration Not Found"}`},
			{"POST", "/integrations/mattermost_slash_commands/trigger", nil, 400, `{"error":"token is missing"}`},
			{"PUT", "/integrations/zentao", obj(integrationtest.Values(kind.Find("zentao"), false)), 400, `{"message":"400 Integration not available"}`},
			{"PUT", "/integrations/gitlab-slack-application", obj{}, 422, `{"message":"You cannot create the GitLab for Slack app integration from the API"}`},
		} {
			got := s.send(t.Context(), request{as: "mia", method: tt.method, path: path + tt.path, body: tt.body})
			if got.Code != tt.status || got.Body.String() != tt.want {
				t.Errorf("%s %s: got %d %s, want %d %s", tt.method, tt.path, got.Code, got.Body, tt.status, tt.want)
			}
		}
	})
}

// Texts and pages of a project lead to the tracker and the wiki that it has elsewhere.
func TestIntegrations_links(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("mia", nil)
		path := "/projects/" + number(s.do("mia", "POST", "/projects", obj{"name": "Shop", "visibility": "public"}), "id")
		s.do("mia", "POST", path+"/issues", obj{"title": "Its own"})
		// refs are what the links of a text lead to.
		refs := func(text string) string {
			t.Helper()
			html := s.do("mia", "POST", "/markdown", obj{"text": text, "gfm": true, "project": "mia/shop"})["html"].(string)
			var out []string
			for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(html, -1) {
				out = append(out, regexp.MustCompile(`^http://127\.0\.0\.1:\d+`).ReplaceAllString(m[1], ""))
			}
			return strings.Join(out, " ")
		}
		const own = "/mia/shop/-/issues/1"
		tracker := func(slug string) string {
			s.do("mia", "PUT", path+"/integrations/"+slug, obj{"project_url": "https://x.example.com", "issues_url": "https://x.example.com/:id", "new_issue_url": "https://x.example.com/new"})
			return slug
		}
		const x = "https://x.example.com/"
		for _, tt := range []struct{ slug, text, want string }{
			{"", "PROJ-1 and #1", own},
			{"redmine", "PROJ-1, #1, proj-2, A-3, xPROJ-4 PROJ-5x a/PROJ-6 PROJ-7-8 `PROJ-9` [PROJ-10](http://a.example.com)", x + "PROJ-1 " + own + " " + x + "PROJ-7 http://a.example.com"},
			{"youtrack", "Proj-1 #1", x + "Proj-1 " + own},
			{"ewm", "bug 12, work item 13, debug 14, A_B-1", x + "12 " + x + "13 " + x + "A_B-1"},
			{"clickup", "#abc and CU-1x and #1", x + "abc " + x + "1x " + own},
			{"phorge", "T12 and xT13", x + "T12"},
		} {
			if tt.slug != "" {
				tracker(tt.slug)
			}
			if got := refs(tt.text); got != tt.want {
				t.Errorf("%s: %s leads to %q, want %q", tt.slug, tt.text, got, tt.want)
			}
			if tt.slug != "" {
				s.do("mia", "DELETE", path+"/integrations/"+tt.slug, nil)
			}
		}
		tracker("redmine")
		s.do("mia", "PUT", path, obj{"issues_access_level": "disabled"})
		if got := refs("#1, PROJ-1 and mia/shop#1"); got != x+"1 "+x+"PROJ-1" {
			t.Errorf("without issues of its own: %s", got)
		}
		s.do("mia", "PUT", path+"/integrations/redmine", obj{
			"project_url": "https://x.example.com", "issues_url": "https://x.example.com/\"><script>:id", "new_issue_url": "https://x.example.com/new",
		})
		html := s.do("mia", "POST", "/markdown", obj{"text": "P2-1", "gfm": true, "project": "mia/shop"})["html"].(string)
		if strings.Contains(html, "<script>") || !strings.Contains(html, `title="Issue in Redmine" class="gfm gfm-issue" data-original="P2-1" data-reference-type="external_issue"`) {
			t.Errorf("link: %s", html)
		}
		s.do("mia", "PUT", path+"/integrations/external-wiki", obj{"external_wiki_url": "https://wiki.example.com/shop"})
		page := s.send(t.Context(), request{method: "GET", path: "/mia/shop/-/branches", whole: true}).Body.String()
		for _, want := range []string{`href="https://wiki.example.com/shop"`, ">External wiki<", `href="https://x.example.com"`, ">Redmine<"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page has no %s", want)
			}
		}
		if strings.Contains(page, ">Issues<") {
			t.Error("the page has a link to issues that there are not")
		}
	})
}

// Jobs get the variables of integrations, those of protected branches only where the branch is.
func TestIntegrations_variables(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		path := "/projects/" + number(s.do("admin", "POST", "/projects", obj{"name": "Shop", "initialize_with_readme": true}), "id")
		machine := s.do("admin", "POST", "/user/runners", obj{"runner_type": "instance_type"})
		s.do("admin", "POST", path+"/repository/files/.gitlab-ci.yml", obj{"branch": "main", "commit_message": "Build", "content": "build: {script: x}\n"})
		s.do("admin", "POST", path+"/repository/branches", obj{"branch": "topic", "ref": "main"})
		s.do("", "POST", "/jobs/request", obj{"token": machine["token"]}) // of the push
		for _, slug := range []string{"harbor", "apple-app-store"} {
			s.do("admin", "PUT", path+"/integrations/"+slug, obj(integrationtest.Values(kind.Find(slug), false)))
		}
		for ref, want := range map[string]string{
			"topic": "HARBOR_HOST HARBOR_OCI HARBOR_PASSWORD HARBOR_PROJECT HARBOR_URL HARBOR_USERNAME",
			"main": "APP_STORE_CONNECT_API_KEY_ISSUER_ID APP_STORE_CONNECT_API_KEY_IS_KEY_CONTENT_BASE64 APP_STORE_CONNECT_API_KEY_KEY APP_STORE_CONNECT_API_KEY_KEY_ID " +
				"HARBOR_HOST HARBOR_OCI HARBOR_PASSWORD HARBOR_PROJECT HARBOR_URL HARBOR_USERNAME",
		} {
			s.do("admin", "POST", path+"/pipeline", obj{"ref": ref})
			job := s.do("", "POST", "/jobs/request", obj{"token": machine["token"]})
			var got []string
			for _, v := range job["variables"].([]any) {
				v := v.(map[string]any)
				name := v["key"].(string)
				if strings.HasPrefix(name, "HARBOR_") || strings.HasPrefix(name, "APP_STORE_") {
					got = append(got, name)
				}
				if name == "HARBOR_PASSWORD" && (v["masked"] != true || v["public"] == true) {
					t.Errorf("%s: %v", name, v)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != want {
				t.Errorf("job of %s has %q, want %s", ref, got, want)
			}
		}
	})
}

// checkProperties compares the keys of properties with the settings of a kind.
func checkProperties(t *testing.T, k *kind.Kind, answer []byte) {
	t.Helper()
	var got struct{ Properties json.RawMessage }
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	var keys, want []string
	in := json.NewDecoder(strings.NewReader(string(got.Properties)))
	for depth, name := 0, true; ; {
		token, err := in.Token()
		if err != nil {
			break
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
			name = true
		default:
			if text, ok := token.(string); ok && depth == 1 && name {
				keys, name = append(keys, text), false
				continue
			}
			name = true
		}
	}
	for _, s := range k.Settings {
		switch {
		case s.Legacy, s.Hidden:
		case s.Secret:
			want = append(want, s.Name+"_set")
		default:
			want = append(want, s.Name)
		}
	}
	if !slices.Equal(keys, want) {
		t.Errorf("%s: properties %q, want %q", k.Slug, keys, want)
	}
}

// disabledIntegrations makes a disabled integration of each kind in every project.
func (w *world) disabledIntegrations() {
	w.tb.Helper()
	now := db.At(w.now())
	for _, k := range kind.All() {
		w.exec(`INSERT INTO integrations (namespace_id, kind, active, events, properties, created_at, updated_at)
			SELECT p.namespace_id, CAST(? AS TEXT), ?, '{}', '{}', ?, ? FROM (SELECT namespace_id FROM projects UNION ALL SELECT namespace_id FROM groups) p
			WHERE NOT EXISTS (SELECT 1 FROM integrations i WHERE i.namespace_id = p.namespace_id AND i.kind = ?)`, k.Slug, false, now, now, k.Slug)
	}
}

// integrationsText is the page about integrations, made from their catalogue.
func integrationsText() string {
	var b strings.Builder
	b.WriteString(`# Integrations

` + generated + `Maintainers connect a project with other services by ` + "`GET`, `PUT` and `DELETE /projects/:id/integrations/:slug`" + `; ` + "`/projects/:id/services`" + ` is the
same. ` + "`PUT`" + ` sets what it sends, leaves the rest, and activates the integration; it has to send all required settings each time. ` + "`DELETE`" + ` disables it and removes
its settings. A project has one active issue tracker and one active wiki at most.

Secrets are encrypted with ` + "`secret.key`" + ` in the database. They are in no answer, log or audit event: ` + "`properties`" + ` has ` + "`NAME_set`" + ` in place of the secret ` + "`NAME`" + `, and
nothing in place of the address of a webhook. A setting that says where secrets are sent is marked as a destination: with another value the secrets that the request
does not send are removed. Addresses are checked as those of all requests of the server ([outbound requests](settings.md)); a name that does not resolve is taken.

`)
	for _, class := range kind.Classes {
		fmt.Fprintf(&b, "## %s\n\n", class)
		for _, k := range kind.All() {
			if k.Class == class {
				kindText(&b, k)
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func kindText(b *strings.Builder, k *kind.Kind) {
	fmt.Fprintf(b, "### %s\n\n`%s`", k.Title, k.Slug)
	if k.Since != "" {
		fmt.Fprintf(b, ", of version %s of the API", k.Since)
	}
	b.WriteString(". ")
	var sentences []string
	for _, text := range []string{k.Does, k.Later, k.Unavailable} {
		if text != "" {
			sentences = append(sentences, text+".")
		}
	}
	b.WriteString(strings.Join(sentences, " ") + "\n\n| setting | type | default | meaning |\n|---|---|---|---|\n")
	for _, s := range k.Settings {
		name := "`" + s.Name + "`"
		for _, alias := range s.Aliases {
			name += ", `" + alias + "`"
		}
		doc := s.Doc
		for _, mark := range []struct {
			on   bool
			text string
		}{{s.Required, "required"}, {s.Secret, "a secret"}, {s.Hidden, "not answered"}, {s.Where, "a destination"}} {
			if mark.on {
				doc += "; " + mark.text
			}
		}
		value := ""
		if s.Default != nil {
			value = fmt.Sprintf("`%v`", s.Default)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, s.Type, value, doc)
	}
	if len(k.Events) > 0 {
		fmt.Fprintf(b, "\nEvents: `%s`.\n", strings.Join(k.Events, "`, `"))
	}
	b.WriteString("\n")
}

// TestIntegrations_told commits, opens a merge request and is told of both in a chat, and by mail of nothing that was rolled back.
func TestIntegrations_told(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		told := make(chan string, 10)
		chat := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var m struct{ Text string }
			_ = json.Unmarshal([]byte(r.FormValue("payload")), &m)
			told <- m.Text
		}))
		t.Cleanup(chat.Close)
		s.user("mia", nil)
		s.do("admin", "PUT", "/application/settings", obj{"outbound_local_requests_whitelist": []string{"127.0.0.1"}})
		path := "/projects/" + number(s.do("mia", "POST", "/projects", obj{"name": "Shop", "initialize_with_readme": true}), "id")
		s.do("mia", "PUT", path+"/integrations/mattermost", obj{"webhook": chat.URL, "branches_to_be_notified": "all"})
		wait := func(want string) {
			t.Helper()
			if err := s.jobs.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			select {
			case text := <-told:
				if !strings.Contains(text, want) {
					t.Errorf("told %q, want %q", text, want)
				}
			default:
				t.Errorf("not told of %q", want)
			}
		}
		s.do("mia", "POST", path+"/repository/commits", obj{
			"branch": "topic", "start_branch": "main", "commit_message": "Fix it", "actions": []obj{{"action": "create", "file_path": "a.txt", "content": "a"}},
		})
		wait("mia (mia) pushed new branch")
		s.do("mia", "POST", path+"/merge_requests", obj{"source_branch": "topic", "target_branch": "main", "title": "Mend"})
		wait("mia (mia) opened merge request")
		s.do("mia", "PUT", path+"/merge_requests/1", obj{"title": "Mend it"}) // no chat wants to know
		s.do("mia", "PUT", path+"/merge_requests/1", obj{"state_event": "close"})
		wait("mia (mia) closed merge request")
	})
}
