package app

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// player makes the calls of a destination of direct transfers in their order, with its headers and no others, and follows no redirect.
type player struct {
	t       *testing.T
	source  string
	token   string
	batched bool // as releases from 16.2 on; before, files are asked for with HEAD first and statuses are lists

	files map[string]string // what was fetched, by entity and relation
	moved []string          // entities, in their order
}

// rest sends a call of the REST interface. Parameters are in the query, the token too, and there is no body.
func (p *player) rest(method, route string, values url.Values) (*http.Response, []byte) {
	p.t.Helper()
	if values == nil {
		values = url.Values{}
	}
	for key, value := range map[string]string{"page": "1", "per_page": "30", "private_token": p.token} {
		if !values.Has(key) {
			values.Set(key, value)
		}
	}
	return p.send(method, p.source+"/api/v4/"+route+"?"+values.Encode(), nil, http.Header{"Content-Type": {"application/json"}})
}

func (p *player) send(method, address string, body io.Reader, h http.Header) (*http.Response, []byte) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, address, body)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header = h
	client := http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
	}
	a, err := client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return a, text
}

// list reads all pages of a list, of a hundred each; the next one is what the answer says, and nothing ends the list.
func (p *player) list(route string) (out []map[string]any) {
	p.t.Helper()
	for next := "1"; next != ""; {
		a, text := p.rest(http.MethodGet, route, url.Values{"per_page": {"100"}, "page": {next}})
		var part []map[string]any
		if err := json.Unmarshal(text, &part); a.StatusCode != http.StatusOK || err != nil {
			p.t.Fatalf("%s: %d %s", route, a.StatusCode, text)
		}
		out, next = append(out, part...), a.Header.Get("X-Next-Page")
	}
	return out
}

// graphql asks with a document, and returns the data.
func (p *player) graphql(operation any, query string, variables map[string]any) map[string]any {
	p.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "operationName": operation, "variables": variables})
	if err != nil {
		p.t.Fatal(err)
	}
	a, text := p.send(http.MethodPost, p.source+"/api/graphql", bytes.NewReader(body), http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + p.token}})
	var got struct {
		Data   map[string]any `json:"data"`
		Errors []any          `json:"errors"`
	}
	if err := json.Unmarshal(text, &got); a.StatusCode != http.StatusOK || err != nil || len(got.Errors) > 0 || got.Data == nil {
		p.t.Fatalf("%.200s: %d %.500s", query, a.StatusCode, text)
	}
	return got.Data
}

// introspection is the query with which clients of that time read a schema before they send anything else.
const introspection = `query IntrospectionQuery { __schema { queryType { name } mutationType { name } subscriptionType { name } types { ...FullType }
	directives { name description locations args { ...InputValue } onOperation onFragment onField } } }
fragment FullType on __Type { kind name description fields(includeDeprecated: true) { name description args { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason }
	inputFields { ...InputValue } interfaces { ...TypeRef } enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } }`

// The documents of a destination, as it writes them.
const (
	askGroup = `query($full_path: ID!) { group(fullPath: $full_path) { id name path full_path: fullPath description visibility emails_disabled: emailsDisabled lfs_enabled: lfsEnabled
		mentions_disabled: mentionsDisabled project_creation_level: projectCreationLevel request_access_enabled: requestAccessEnabled
		require_two_factor_authentication: requireTwoFactorAuthentication share_with_group_lock: shareWithGroupLock subgroup_creation_level: subgroupCreationLevel
		two_factor_grace_period: twoFactorGracePeriod } }`
	askProject = `query($full_path: ID!) { project(fullPath: $full_path) { id name visibility created_at: createdAt } }`
	askMembers = `query($full_path: ID!, $cursor: String, $per_page: Int) { portable: %s(fullPath: $full_path) { members: %sMembers(relations: [%s], first: $per_page, after: $cursor) {
		page_info: pageInfo { next_page: endCursor has_next_page: hasNextPage } nodes { created_at: createdAt updated_at: updatedAt expires_at: expiresAt
		access_level: accessLevel { integer_value: integerValue } user { user_gid: id public_email: publicEmail username name } } } } }`
	askProjects = `query($full_path: ID!, $cursor: String, $per_page: Int) { group(fullPath: $full_path) { projects(includeSubgroups: false, first: $per_page, after: $cursor) {
		page_info: pageInfo { next_page: endCursor has_next_page: hasNextPage } nodes { id name path full_path: fullPath } } } }`
	askSnippets   = `query($full_path: ID!) { project(fullPath: $full_path) { snippets { page_info: pageInfo { next_page: endCursor has_next_page: hasNextPage } nodes { title createdAt httpUrlToRepo } } } }`
	askRepository = `query($full_path: ID!) { project(fullPath: $full_path) { httpUrlToRepo } }`
)

// begin makes the calls at the creation of a transfer.
func (p *player) begin(group string) {
	p.t.Helper()
	var version struct{ Version, Revision string }
	a, text := p.rest(http.MethodGet, "version", nil)
	if err := json.Unmarshal(text, &version); a.StatusCode != http.StatusOK || err != nil || version.Version == "" || version.Revision == "" {
		p.t.Fatalf("version: %d %s", a.StatusCode, text)
	}
	if major, _ := strconv.Atoi(strings.Split(version.Version, ".")[0]); major < 16 {
		p.t.Errorf("version %q is too old for what is asked here", version.Version)
	}
	var token struct{ Scopes []string }
	if _, text := p.rest(http.MethodGet, "personal_access_tokens/self", nil); json.Unmarshal(text, &token) != nil || !slices.Contains(token.Scopes, "api") {
		p.t.Fatalf("token: %s", text)
	}
	schema := p.graphql("IntrospectionQuery", introspection, map[string]any{})["__schema"].(map[string]any)
	want := map[string]string{"include": "false true true", "skip": "false true true", "deprecated": "false false false", "specifiedBy": "false false false"}
	for _, one := range schema["directives"].([]any) {
		one := one.(map[string]any)
		name := one["name"].(string)
		if got := fmt.Sprint(one["onOperation"], one["onFragment"], one["onField"]); got != want[name] {
			p.t.Errorf("directive %s stands on operation, fragment, field: %s, want %s", name, got, want[name])
		}
	}
	if p.graphql(nil, askGroup, map[string]any{"full_path": group})["group"] == nil {
		p.t.Fatalf("group %s is not found", group)
	}
	if a, text := p.rest(http.MethodGet, "groups/"+url.PathEscape(group)+"/export_relations/status", nil); a.StatusCode != http.StatusOK {
		p.t.Fatalf("status of exports: %d %s", a.StatusCode, text)
	}
}

// relations that a destination of 16.0 reads of files, in the order of its stages.
var (
	playedInGroups   = strings.Fields("self namespace_settings labels milestones badges iterations_cadences boards uploads epics")
	playedInProjects = strings.Fields(`repository self labels milestones project_badges issues snippets boards merge_requests external_pull_requests protected_branches project_feature
		container_expiration_policy service_desk_setting releases push_rule ci_pipelines commit_notes uploads lfs_objects design auto_devops pipeline_schedules`)
)

// entity moves a group or project.
func (p *player) entity(kind, full string) {
	p.t.Helper()
	p.moved = append(p.moved, full)
	var id string
	asked := p.graphql(nil, map[string]string{"group": askGroup, "project": askProject}[kind], map[string]any{"full_path": full})[kind].(map[string]any)
	id = path.Base(asked["id"].(string))
	route := kind + "s/" + id
	values := url.Values{}
	if p.batched {
		values.Set("batched", "true")
	}
	if a, text := p.rest(http.MethodPost, route+"/export_relations", values); a.StatusCode != http.StatusAccepted {
		p.t.Fatalf("%s: %d %s", route, a.StatusCode, text)
	}
	relations := map[string]string{"group": "DIRECT INHERITED SHARED_FROM_GROUPS", "project": "DIRECT INHERITED INVITED_GROUPS SHARED_INTO_ANCESTORS"}[kind]
	members := 0
	for cursor := any(nil); ; {
		list := p.graphql(nil, fmt.Sprintf(askMembers, kind, kind, relations), map[string]any{"full_path": full, "cursor": cursor, "per_page": 500})["portable"].(map[string]any)["members"].(map[string]any)
		members += len(list["nodes"].([]any))
		info := list["page_info"].(map[string]any)
		if cursor = info["next_page"]; info["has_next_page"] != true {
			break
		}
	}
	if members == 0 {
		p.t.Errorf("%s has no members", full)
	}
	names := playedInGroups
	if kind == "project" {
		names = playedInProjects
	}
	for _, relation := range names {
		p.files[full+" "+relation] = p.relation(route, relation)
	}
	if a, text := p.rest(http.MethodGet, route+"/wikis", nil); a.StatusCode == http.StatusOK && string(text) != "[]" {
		p.git(p.source + "/" + full + ".wiki.git")
	} else if a.StatusCode != http.StatusOK && a.StatusCode != http.StatusForbidden && a.StatusCode != http.StatusNotFound { // these two mean none
		p.t.Errorf("wikis of %s: %d %s", full, a.StatusCode, text)
	}
	if kind == "project" {
		address, _ := p.graphql(nil, askRepository, map[string]any{"full_path": full})["project"].(map[string]any)["httpUrlToRepo"].(string)
		if !strings.HasSuffix(address, "/"+full+".git") {
			p.t.Errorf("repository of %s: %q", full, address)
		}
		for _, one := range p.graphql(nil, askSnippets, map[string]any{"full_path": full})["project"].(map[string]any)["snippets"].(map[string]any)["nodes"].([]any) {
			one := one.(map[string]any)
			if u, err := url.Parse(one["httpUrlToRepo"].(string)); err == nil {
				p.git(p.source + u.Path)
			}
		}
		return
	}
	p.list(route + "/badges")
	for _, one := range p.list(route + "/subgroups") {
		p.entity("group", one["full_path"].(string))
	}
	found := p.graphql(nil, askProjects, map[string]any{"full_path": full, "cursor": nil, "per_page": 500})["group"].(map[string]any)["projects"].(map[string]any)
	for _, one := range found["nodes"].([]any) {
		p.entity("project", one.(map[string]any)["full_path"].(string))
	}
}

// git reads a repository as a destination does.
func (p *player) git(address string) {
	p.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		p.t.Fatal(err)
	}
	u.User = url.UserPassword("oauth2", p.token)
	if out, err := exec.CommandContext(p.t.Context(), "git", "clone", "-q", "--mirror", u.String(), p.t.TempDir()).CombinedOutput(); err != nil {
		p.t.Errorf("%s: %v %s", address, err, out)
	}
}

// relation reads the files of a relation once its export is finished.
func (p *player) relation(route, relation string) string {
	p.t.Helper()
	state := p.state(route, relation)
	for n := 0; state["status"] == 0.0 && n < 10; n++ {
		state = p.state(route, relation)
	}
	if state == nil || state["status"] != 1.0 {
		p.t.Errorf("%s of %s: %v", relation, route, state)
		return ""
	}
	if state["batched"] != true {
		return p.download(route, url.Values{"relation": {relation}})
	}
	var out strings.Builder
	for _, one := range state["batches"].([]any) {
		number := strconv.FormatFloat(one.(map[string]any)["batch_number"].(float64), 'f', -1, 64)
		out.WriteString(p.download(route, url.Values{"relation": {relation}, "batched": {"true"}, "batch_number": {number}}))
	}
	return out.String()
}

// state is what the source says of a relation: the one of a list, or an object where releases ask for one.
func (p *player) state(route, relation string) map[string]any {
	p.t.Helper()
	if p.batched {
		var one map[string]any
		_, text := p.rest(http.MethodGet, route+"/export_relations/status", url.Values{"relation": {relation}})
		if err := json.Unmarshal(text, &one); err != nil {
			p.t.Fatalf("%s of %s: %s", relation, route, text)
		}
		return one
	}
	var list []map[string]any
	_, text := p.rest(http.MethodGet, route+"/export_relations/status", nil)
	if err := json.Unmarshal(text, &list); err != nil {
		p.t.Fatalf("%s: %s", route, text)
	}
	for _, one := range list {
		if one["relation"] == relation {
			return one
		}
	}
	return nil
}

// download reads a file, after its headers.
func (p *player) download(route string, values url.Values) string {
	p.t.Helper()
	route += "/export_relations/download"
	what := values.Encode()
	method := http.MethodHead
	if p.batched {
		method = http.MethodGet
	}
	for {
		a, text := p.rest(method, route, maps.Clone(values))
		kind, disposition := a.Header.Get("Content-Type"), a.Header.Get("Content-Disposition")
		switch {
		case a.StatusCode != http.StatusOK:
			p.t.Errorf("%s %s: %d %s", method, what, a.StatusCode, text)
			return ""
		case a.Header.Get("Content-Length") == "" || len(a.TransferEncoding) > 0 || a.Header.Get("Content-Encoding") != "":
			p.t.Errorf("%s %s: Missing content-length header: %v", method, what, a.Header)
		case kind != "application/gzip" && kind != "application/octet-stream":
			p.t.Errorf("%s %s: Invalid content type %q", method, what, kind)
		case !strings.Contains(disposition, `filename="`+values.Get("relation")):
			p.t.Errorf("%s %s: Remote filename not provided in content-disposition header: %q", method, what, disposition)
		}
		if method == http.MethodHead {
			method = http.MethodGet
			continue
		}
		if strconv.Itoa(len(text)) != a.Header.Get("Content-Length") {
			p.t.Errorf("%s: %d bytes, announced %s", what, len(text), a.Header.Get("Content-Length"))
		}
		zip, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			p.t.Fatalf("%s: %v", what, err)
		}
		content, err := io.ReadAll(zip)
		if err != nil {
			p.t.Fatalf("%s: %v", what, err)
		}
		return string(content)
	}
}

// The reference's calls move a group out, with the groups and projects in it: those of 16.0, and those of releases that ask for batches. What
// they read is what archives have.
func TestBulkExport_played(t *testing.T) {
	t.Parallel()
	for name, batched := range map[string]bool{"16.0": false, "18": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "")
			w := newWorld(s)
			top, project := w.groups[0].values["groups/:id"], w.projects[0].values
			w.plan("/projects/" + project["projects/:id"])
			below := number(s.do("owner", "POST", "/groups", obj{"name": "Below", "path": "below", "parent_id": top, "visibility": "private"}), "id")
			s.do("owner", "POST", "/groups/"+below+"/labels", obj{"name": "deep", "color": "#00ff00"})
			s.do("owner", "POST", "/groups/"+below+"/wikis", obj{"title": "Of the group", "content": "A page"})
			s.do("owner", "POST", "/projects/"+project["projects/:id"]+"/snippets", obj{"title": "Moving", "visibility": "private", "files": []obj{{"file_path": "a.rb", "content": "puts 1"}}})
			s.publish()
			s.exec("DELETE FROM relation_exports")
			p := &player{t: t, source: sourceOf(t, s, nil), token: s.keys["owner"], batched: batched, files: map[string]string{}}
			p.begin("in-private")
			p.entity("group", "in-private")
			if want := []string{"in-private", "in-private/below", "in-private/the-private"}; !containsAll(p.moved, want) {
				t.Errorf("moved: %q, want %q", p.moved, want)
			}

			_, groups := s.groupArchive(t, "owner", "/groups/"+top)
			_, files := unpack(t, s.export(t, "owner", "/projects/"+project["projects/:id"]))
			for _, relation := range playedInProjects {
				want, ok := files["./tree/project/"+relation+".ndjson"]
				if got := p.files["in-private/the-private "+relation]; ok && strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want, "\n") {
					t.Errorf("%s of the project:\n%.300s\nwant\n%.300s", relation, got, want)
				}
			}
			for _, relation := range playedInGroups {
				want, ok := groups["./tree/groups/"+top+"/"+relation+".ndjson"]
				if got := p.files["in-private "+relation]; ok && strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want, "\n") {
					t.Errorf("%s of the group:\n%.300s\nwant\n%.300s", relation, got, want)
				}
			}
			if got := untar(t, []byte(p.files["in-private/the-private repository"])); !strings.HasPrefix(got["./repository.bundle"], "# v2 git bundle\n") {
				t.Errorf("repository: %d files", len(got))
			}
		})
	}
}

func containsAll(list, want []string) bool {
	return !slices.ContainsFunc(want, func(one string) bool { return !slices.Contains(list, one) })
}
