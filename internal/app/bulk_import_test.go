package app

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tenon/internal/core"
	"tenon/internal/core/importexport"
)

// sourceOf is the address of a server as a source of transfers: what was asked for is exported when its status is asked for.
func sourceOf(t *testing.T, s *server, seen func(r *http.Request)) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen != nil {
			seen(r)
		}
		if strings.HasSuffix(r.URL.Path, "/export_relations/status") {
			if err := s.jobs.Drain(r.Context()); err != nil {
				t.Error(err)
			}
		}
		s.http.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	s.set(obj{"bulk_import_enabled": true})
	return web.URL
}

// transfer moves a group in, and returns the transfer with its entities in the end.
func (s *server) transfer(t *testing.T, as string, body obj) (bulk map[string]any, entities []any) {
	t.Helper()
	made := s.do(as, "POST", "/bulk_imports", body)
	if made["status"] != "created" || made["source_type"] != "gitlab" {
		t.Errorf("answer: %v", made)
	}
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/bulk_imports/%s", number(made, "id"))
	return s.do(as, "GET", path, nil), s.list(as, path+"/entities?sort=asc")
}

// list reads a list.
func (s *server) list(as, path string) (out []any) {
	s.tb.Helper()
	a := s.send(s.tb.Context(), get(as, path))
	if err := json.Unmarshal(a.Body.Bytes(), &out); err != nil {
		s.tb.Fatalf("%s: %d %s", path, a.Code, a.Body)
	}
	return out
}

// A group moves from one server to another with the groups and projects in it.
func TestBulkImport(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		from := newServer(t, "")
		w := newWorld(from)
		top := w.groups[0].values["groups/:id"]
		w.plan("/projects/" + w.projects[0].values["projects/:id"])
		below := number(from.do("owner", "POST", "/groups", obj{"name": "Below", "path": "below", "parent_id": top, "visibility": "private"}), "id")
		from.do("owner", "POST", "/groups/"+below+"/labels", obj{"name": "deep", "color": "#00ff00"})
		from.publish()
		private := "/projects/" + w.projects[0].values["projects/:id"]
		from.do("owner", "POST", private+"/wikis", obj{"title": "Of the project", "content": "A page"})
		from.do("owner", "POST", "/groups/"+top+"/wikis", obj{"title": "Of the group", "content": "Another page"})
		from.do("owner", "POST", private+"/snippets", obj{"title": "Moving", "visibility": "private", "files": []obj{{"file_path": "a.rb", "content": "puts 1"}, {"file_path": "b.rb", "content": "puts 2"}}})
		from.exec("DELETE FROM relation_exports")
		address := sourceOf(t, from, nil)
		from.do("owner", "POST", private+"/issues", obj{"title": "Of names", "description": fmt.Sprintf("@planner, see %[1]s/in-private/the-private/-/issues/1. Not %[1]s/in-private-not, nor a@planner.example", address)})

		s.once()
		s.user("planner", nil)
		s.do("admin", "PUT", "/users/"+fmt.Sprint(s.ids["planner"]), obj{"username": "schedule"})
		s.set(obj{"bulk_import_enabled": true, "allow_local_requests_from_web_hooks_and_services": true})
		parent := number(s.do("admin", "POST", "/groups", obj{"name": "Parent", "path": "parent", "visibility": "internal"}), "id")
		bulk, entities := s.transfer(t, "admin", obj{
			"configuration": obj{"url": address, "access_token": from.keys["owner"]},
			"entities":      []obj{{"source_type": "group_entity", "source_full_path": "in-private", "destination_slug": "moved", "destination_namespace": "parent"}},
		})
		if bulk["status"] != "finished" {
			t.Fatalf("transfer: %v %v\n%s", bulk, entities, s.logs.last())
		}
		var kinds []string
		for _, e := range entities {
			e := e.(map[string]any)
			kinds = append(kinds, fmt.Sprintf("%v %v %v", e["entity_type"], e["destination_full_path"], e["status"]))
			for _, f := range e["failures"].([]any) {
				t.Logf("failure: %v", f)
			}
		}
		slices.Sort(kinds)
		if want := []string{"group parent/moved finished", "group parent/moved/below finished", "project parent/moved/the-off finished", "project parent/moved/the-private finished"}; !slices.Equal(kinds, want) {
			t.Errorf("entities: %q, want %q", kinds, want)
		}
		moved := s.do("admin", "GET", "/groups/parent%2Fmoved", nil)
		if moved["visibility"] != "private" || fmt.Sprint(moved["parent_id"]) != parent {
			t.Errorf("group: %v", moved)
		}
		project := s.do("admin", "GET", "/projects/parent%2Fmoved%2Fthe-private", nil)
		if project["import_status"] != "finished" || project["import_type"] != "gitlab_project_migration" || project["default_branch"] != "main" || project["empty_repo"] != false {
			t.Errorf("project: %v %v %v %v", project["import_status"], project["import_type"], project["default_branch"], project["empty_repo"])
		}
		for query, want := range map[string]string{
			"SELECT count(*) FROM epics":                                                        from.one("SELECT count(*) FROM epics e JOIN groups g ON g.namespace_id = e.group_id WHERE g.namespace_id = " + top),
			"SELECT count(*) FROM issues":                                                       from.one("SELECT count(*) FROM issues WHERE project_id = " + w.projects[0].values["projects/:id"]),
			"SELECT count(*) FROM labels WHERE title = 'deep'":                                  "1",
			"SELECT count(*) FROM bulk_import_files":                                            "0",
			"SELECT count(*) FROM bulk_imports WHERE token <> ''":                               "0",
			"SELECT count(*) FROM events WHERE action = 'opened'":                               "0",
			"SELECT count(*) FROM wikis WHERE commit_id <> ''":                                  "2",
			"SELECT count(*) FROM issues WHERE imported_from = 'gitlab_migration'":              from.one("SELECT count(*) FROM issues WHERE project_id = " + w.projects[0].values["projects/:id"]),
			"SELECT count(*) FROM snippets WHERE title = 'Moving' AND files LIKE '%a.rb%b.rb%'": "1",
			"SELECT description FROM issues WHERE title = 'Of names'":                           fmt.Sprintf("@schedule, see %s/parent/moved/the-private/-/issues/1. Not %s/in-private-not, nor a@planner.example", s.core.URLs.Root(), address),
		} {
			if got := s.one(query); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
		if logs := s.logs.String(); strings.Contains(logs, from.keys["owner"]) {
			t.Error("the token of the source is in the log")
		}
		pages := s.list("admin", "/projects/parent%2Fmoved%2Fthe-private/wikis")
		if groups := s.list("admin", "/groups/parent%2Fmoved/wikis"); len(groups) != 2 || len(pages) == 0 { // the world has one of its own
			t.Errorf("wikis: %v and %v", pages, groups)
		}
		report := s.do("admin", "GET", "/bulk_imports/"+number(bulk, "id")+"/report", nil)
		sums := map[string]map[string]any{}
		for _, rel := range report["relations"].([]any) {
			rel := rel.(map[string]any)
			sums[fmt.Sprint(rel["name"])] = rel
		}
		if fmt.Sprint(sums["group"]["read"]) != "2" || fmt.Sprint(sums["project"]["read"]) != "2" || fmt.Sprint(sums["wiki"]["written"]) != "2" || len(report["items"].([]any)) == 0 {
			t.Errorf("report: %v", report)
		}
		again := s.send(t.Context(), request{as: "admin", method: http.MethodPost, path: "/bulk_imports", body: obj{
			"configuration": obj{"url": address, "access_token": from.keys["owner"]},
			"entities":      []obj{{"source_type": "group_entity", "source_full_path": "in-private", "destination_slug": "moved", "destination_namespace": "parent"}},
		}})
		if want := "Import failed. 'parent/moved' already exists. Change the destination and try again."; again.Code != 422 || !strings.Contains(again.Body.String(), want) {
			t.Errorf("a second time: %d %s", again.Code, again.Body)
		}
	})
}

// A source that fails for now is asked again; what it does not export is noted; a transfer that is interrupted adds nothing twice; one that is
// canceled ends at once.
func TestBulkImport_source(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.once()
		s.set(obj{"bulk_import_enabled": true, "allow_local_requests_from_web_hooks_and_services": true})
		s.do("admin", "POST", "/groups", obj{"name": "Parent", "path": "parent", "visibility": "private"})
		var asked, labels, downloads int
		source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			say := func(text string) { _, _ = w.Write([]byte(text)) }
			if r.Header.Get("Authorization") != "Bearer s3cret-of-the-source" || r.Header.Get("Content-Type") == "" && r.Method == "POST" {
				w.WriteHeader(401)
				return
			}
			switch relation := r.URL.Query().Get("relation"); {
			case r.URL.Path == "/api/v4/version":
				say(`{"version":"16.0.1-ee","revision":"x"}`)
			case r.URL.Path == "/api/v4/personal_access_tokens/self":
				say(`{"scopes":["api"]}`)
			case r.URL.Path == "/api/graphql":
				body, _ := io.ReadAll(r.Body)
				switch text := string(body); {
				case strings.Contains(text, "members"):
					say(`{"data":{"portable":{"members":{"page_info":{"has_next_page":false},"nodes":[{"access_level":{"integer_value":50},"user":{"user_gid":"gid://gitlab/User/7","public_email":"","username":"x"}}]}}}}`)
				case strings.Contains(text, "projects"):
					say(`{"data":{"group":{"projects":{"page_info":{"has_next_page":false},"nodes":[]}}}}`)
				case strings.Contains(text, `"hidden"`):
					say(`{"data":{"found":null}}`)
				default:
					say(`{"data":{"found":{"id":"gid://gitlab/Group/9","name":"Away","path":"away","full_path":"away","visibility":"public"}}}`)
				}
			case strings.HasSuffix(r.URL.Path, "/subgroups"):
				say("[]")
			case r.Method == "POST":
				w.WriteHeader(202)
				say(`{"message":"202 Accepted"}`)
			case strings.HasSuffix(r.URL.Path, "/status"):
				if asked++; asked == 2 || asked == 3 { // the first is that of the request
					w.Header().Set("Retry-After", "0")
					w.WriteHeader(429)
					return
				}
				say(`[{"relation":"labels","status":1},{"relation":"milestones","status":-1,"error":"Broken"},{"relation":"epics","status":1},{"relation":"boards","status":0}]`)
			case relation == "labels" || relation == "epics":
				downloads++
				w.Header().Set("Content-Type", "application/gzip")
				zip := gzip.NewWriter(w)
				if relation == "labels" {
					labels++
					_, _ = zip.Write([]byte(`{"title":"bug","color":"#5843AD","type":"GroupLabel"}` + "\n" + `{"title":"bad","color":"x"}` + "\n"))
				}
				_ = zip.Close()
			default:
				w.WriteHeader(404)
			}
		}))
		defer source.Close()
		body := func(slug string) obj {
			return obj{
				"configuration": obj{"url": source.URL + "/", "access_token": "s3cret-of-the-source"},
				"entities":      []obj{{"source_type": "group_entity", "source_full_path": "away", "destination_slug": slug, "destination_namespace": "parent"}},
			}
		}
		// due lets what waits for the source come to its turn.
		due := func() {
			s.exec("UPDATE river_job SET state = 'available', scheduled_at = created_at WHERE state = 'scheduled' AND kind = 'bulk_import_entity'")
			if err := s.jobs.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		bulk, entities := s.transfer(t, "admin", body("first"))
		path := "/bulk_imports/" + number(bulk, "id")
		if bulk["status"] != "started" || s.one("SELECT attempts FROM bulk_import_entities") != "1" {
			t.Errorf("a source that is busy: %v %v", bulk, entities)
		}
		due()
		due()
		if got := s.rows("SELECT relation FROM bulk_import_files ORDER BY relation"); !slices.Equal(got, []string{"epics", "labels", "milestones"}) {
			t.Errorf("fetched: %q", got)
		}
		due()
		if downloads != 2 {
			t.Errorf("%d downloads: one that is there is fetched again", downloads)
		}
		s.exec("UPDATE bulk_import_entities SET requested_at = '2020-01-01 00:00:00'")
		due()
		if got := s.do("admin", "GET", path, nil); got["status"] != "finished" || got["has_failures"] != true {
			t.Fatalf("in the end: %v\n%s", got, s.logs.last())
		}
		e := s.list("admin", path+"/entities")[0].(map[string]any)
		var failures []string
		for _, f := range s.list("admin", path+"/entities/"+number(e, "id")+"/failures") {
			f := f.(map[string]any)
			failures = append(failures, fmt.Sprintf("%v %v %v", f["relation"], f["pipeline_class"], f["exception_message"]))
		}
		for _, want := range []string{
			"labels BulkImports::Common::Pipelines::LabelsPipeline color must be a valid color code", "boards BulkImports::Common::Pipelines::BoardsPipeline Pipeline timeout",
			"milestones BulkImports::Common::Pipelines::MilestonesPipeline Export from source instance failed: Broken",
			"self BulkImports::Groups::Pipelines::SelfPipeline Empty export status on source instance",
		} {
			if !slices.Contains(failures, want) {
				t.Errorf("failures: %q lack %q", failures, want)
			}
		}
		if got := s.do("admin", "GET", "/groups/parent%2Ffirst", nil); got["visibility"] != "private" || got["name"] != "Away" {
			t.Errorf("group: %v", got)
		}
		if n := s.one("SELECT count(*) FROM labels"); n != "1" {
			t.Errorf("%s labels", n)
		}

		second, _ := s.transfer(t, "admin", body("second"))
		if got := s.do("admin", "POST", "/bulk_imports/"+number(second, "id")+"/cancel", nil); got["status"] != "canceled" {
			t.Errorf("canceled: %v", got)
		}
		due()
		if got := s.one("SELECT count(*) FROM bulk_imports WHERE token <> ''") + s.one("SELECT count(*) FROM bulk_import_files"); got != "00" {
			t.Errorf("kept: %s", got)
		}
		if got := s.do("admin", "GET", "/groups/parent%2Fsecond", nil)["name"]; got != "Away(1)" {
			t.Errorf("a name that is taken: %v", got)
		}
		third, _ := s.transfer(t, "admin", body("third"))
		s.exec("UPDATE bulk_imports SET updated_at = '2020-01-01 00:00:00' WHERE id = " + number(third, "id"))
		s.exec("UPDATE bulk_import_entities SET updated_at = '2020-01-01 00:00:00'")
		if err := core.Part[*importexport.Service](s.core).Sweep(t.Context(), importexport.Sweep{}); err != nil {
			t.Fatal(err)
		}
		if got := s.do("admin", "GET", "/bulk_imports/"+number(third, "id"), nil); got["status"] != "failed" {
			t.Errorf("without progress: %v", got)
		}
		// What failed goes on where it stopped, with the token that is kept for a week, or with a new one.
		retry := func(token string) ImportRetried {
			t.Helper()
			id, _ := strconv.ParseInt(number(third, "id"), 10, 64)
			got, err := s.adminImportRetry(t.Context(), ImportRetryInput{ID: importexport.BulkID(id), Token: token}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := retry(""); got.Entities != 1 || got.NeedsToken {
			t.Errorf("again: %+v", got)
		}
		due()
		if got := s.do("admin", "GET", "/bulk_imports/"+number(third, "id"), nil); got["status"] != "started" {
			t.Errorf("goes on: %v", got)
		}
		s.exec("UPDATE bulk_imports SET updated_at = '2020-01-01 00:00:00'")
		s.exec("UPDATE bulk_import_entities SET updated_at = '2020-01-01 00:00:00'")
		for range 2 { // the first fails it, the second forgets its token
			if err := core.Part[*importexport.Service](s.core).Sweep(t.Context(), importexport.Sweep{}); err != nil {
				t.Fatal(err)
			}
			s.exec("UPDATE bulk_imports SET updated_at = '2020-01-01 00:00:00'")
		}
		if got := retry(""); !got.NeedsToken || s.one("SELECT status FROM bulk_import_entities WHERE bulk_import_id = "+number(third, "id")) != "failed" {
			t.Errorf("without a token: %+v", got)
		}
		if got := retry("s3cret-of-the-source"); got.Entities != 1 {
			t.Errorf("with a new token: %+v", got)
		}
		due()
		s.exec("UPDATE bulk_import_entities SET requested_at = '2020-01-01 00:00:00'")
		due()
		if got := s.do("admin", "GET", "/bulk_imports/"+number(third, "id"), nil); got["status"] != "finished" || s.one("SELECT count(*) FROM labels") != "2" {
			t.Errorf("in the end: %v, %s labels", got, s.one("SELECT count(*) FROM labels"))
		}
		if got := retry(""); got.Entities != 0 || got.NeedsToken {
			t.Errorf("what is finished: %+v", got)
		}
		if strings.Contains(s.logs.String(), "s3cret-of-the-source") {
			t.Error("the token of the source is in the log")
		}
		if n := labels; n != 5 { // a retry asks the source for its labels again
			t.Errorf("labels were fetched %d times", n)
		}
	})
}

// What is wrong with a request is answered, before anything is made.
func TestBulkImport_refused(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	s.user("stranger", nil)
	post := func(as string, body obj) string {
		a := s.send(t.Context(), request{as: as, method: http.MethodPost, path: "/bulk_imports", body: body})
		return fmt.Sprintf("%d %s", a.Code, strings.TrimSpace(a.Body.String()))
	}
	entity := obj{"source_type": "group_entity", "source_full_path": "a/b", "destination_slug": "moved", "destination_namespace": ""}
	with := func(url string, changes obj) obj {
		e := obj{}
		for key, value := range entity {
			e[key] = value
		}
		for key, value := range changes {
			if e[key] = value; value == nil {
				delete(e, key)
			}
		}
		return obj{"configuration": obj{"url": url, "access_token": "x"}, "entities": []obj{e}}
	}
	const away = "http://127.0.0.1:1"
	if got := post("admin", with(away, nil)); got != `404 {"message":"404 Not found"}` {
		t.Errorf("switched off: %s", got)
	}
	if got := post("", with(away, nil)); got != `401 {"message":"401 Unauthorized"}` {
		t.Errorf("switched off, without a token: %s", got)
	}
	s.set(obj{"bulk_import_enabled": true})
	s.do("admin", "POST", "/groups", obj{"name": "There", "path": "there", "visibility": "private"})
	if got := post("stranger", with("http://127.0.0.1:1", obj{"destination_namespace": "there"})); !strings.HasPrefix(got, "422 ") {
		t.Errorf("local addresses: %s", got)
	}
	s.set(obj{"allow_local_requests_from_web_hooks_and_services": true})
	const unmet = `422 {"message":"Check that the source instance base URL and the personal access token meet the necessary requirements."}`
	for _, tt := range []struct {
		as, want string
		body     obj
	}{
		{"stranger", `400 {"error":"configuration[url] is missing, configuration[access_token] is missing, entities is missing"}`, obj{"configuration": obj{}}},
		{"stranger", `400 {"error":"entities is empty"}`, obj{"configuration": obj{"url": away, "access_token": "x"}, "entities": []obj{}}},
		{"stranger", `400 {"error":"entities[0][source_type] does not have a valid value"}`, with(away, obj{"source_type": "project_entity"})},
		{
			"stranger", `400 {"error":"entities[0][source_full_path] must be a relative path and not include protocol, sub-domain, or domain information. For example, 'source/full/path' not 'https://example.com/source/full/path'"}`,
			with(away, obj{"source_full_path": "https://example.com/a"}),
		},
		{"stranger", `400 {"error":"entities[0][destination_slug], entities[0][destination_name] are missing, exactly one parameter must be provided"}`, with(away, obj{"destination_slug": nil})},
		{"stranger", `400 {"error":"entities[0][destination_slug], entities[0][destination_name] are mutually exclusive"}`, with(away, obj{"destination_name": "x"})},
		{"stranger", `422 {"message":"Import failed. 'there' is invalid, or you do not have permission."}`, with(away, obj{"destination_namespace": "there"})},
		{"stranger", `422 {"message":"Invalid source URL. Enter only the base URL of the source GitLab instance."}`, with("ftp://example.com", nil)},
		{"admin", `422 {"message":"Import failed. 'there' already exists. Change the destination and try again."}`, with(away, obj{"destination_slug": "there"})},
		{"admin", `422 {"message":"Import failed. 'Moved' already exists. Change the destination and try again."}`, obj{
			"configuration": obj{"url": away, "access_token": "x"}, "entities": []obj{entity, {"source_type": "group_entity", "source_full_path": "c", "destination_slug": "Moved", "destination_namespace": ""}},
		}},
		{"admin", unmet, with(away, nil)},
	} {
		if got := post(tt.as, tt.body); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.body, got, tt.want)
		}
	}
	if n := s.one("SELECT count(*) FROM bulk_imports"); n != "0" {
		t.Errorf("%s transfers", n)
	}
	if got := post("admin", with(away, obj{"destination_slug": "-x"})); !strings.HasPrefix(got, `400 {"error":"entities[0][destination_slug] can only include`) {
		t.Errorf("slug: %s", got)
	}
	if got := s.send(t.Context(), get("admin", "/bulk_imports?status=canceled")); got.Code != http.StatusBadRequest {
		t.Errorf("status: %d %s", got.Code, got.Body)
	}
	for _, path := range []string{"/bulk_imports/999", "/bulk_imports/999/entities", "/bulk_imports/999/entities/1"} {
		if got := s.send(t.Context(), get("admin", path)); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}
