package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schemas reads the reference's schemas. They are of a later release than the
// interface, so they say what type a field has, but not which fields there are.
type schemas struct{ root string }

// Load reads one schema, without what it says about further fields.
func (s schemas) Load(address string) (any, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(u.Path)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return loose(doc), nil
}

// loose takes additionalProperties out of a schema and what it holds.
func loose(doc any) any {
	switch v := doc.(type) {
	case map[string]any:
		delete(v, "additionalProperties")
		for _, part := range v {
			loose(part)
		}
	case []any:
		for _, part := range v {
			loose(part)
		}
	}
	return doc
}

// different lists, schema by schema, the fields in which the contract or the facts
// differ from it, with the reason.
func different() map[string]map[string]string {
	locked := map[string]string{"author.locked": "newer than the contract"}
	code := map[string]string{
		"forks_count": "left out where the caller does not see the code",
		"readme_url":  "left out where the caller does not see the code",
	}
	bots := map[string]string{"namespace_id": "bots have no namespace of their own"}
	return map[string]map[string]string{"issue": locked, "issues": locked, "projects": code, "user/admins": bots}
}

// TestContract holds answers against the reference's schemas.
func TestContract(t *testing.T) {
	walker(t)
	root := os.Getenv("TENON_CONTRACT_DIR")
	if root == "" {
		t.Skip("contract schemas: skipped (TENON_CONTRACT_DIR is not set)")
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4)
	c.AssertFormat()
	c.UseLoader(schemas{root})
	w := newWorld(newServer(t, ""))
	project, epics := w.projects[2].values, w.groups[2].values
	path := "/projects/" + project["projects/:id"]
	group := "/groups/" + project["groups/:id"]
	w.decorate(path, 3)
	issue, request := "/issues/"+project[":issue_iid"], "/merge_requests/"+project[":merge_request_iid"]
	w.do("owner", "POST", path+"/repository/commits/main/comments", obj{"note": "Well done"})
	w.do("owner", "POST", path+"/statuses/main", obj{"state": "success"})
	w.do("owner", "PUT", path+"/packages/generic/"+project[":package_name"]+"/2.0/tool.txt", obj{"content": "newer"})
	w.exec("UPDATE package_files SET pipeline_id = (SELECT MAX(p.id) FROM pipelines p WHERE p.project_id = package_files.project_id)")
	aPackage := path + "/packages/" + project[":package_id"]
	for _, tc := range []struct{ schema, as, path string }{
		{"metadata", "guest", "/metadata"},
		{"user/public", "guest", "/user"},
		{"user/basics", "guest", "/users"},
		{"user/admins", "admin", "/users"},
		{"user/admin", "admin", "/users/" + project["users/:id"]},
		{"project", "", path},
		{"projects", "", "/projects"},
		{"project", "owner", path},
		{"projects", "owner", "/projects"},
		{"projects", "owner", group + "/projects"},
		{"members", "owner", path + "/members/all"},
		{"members", "owner", group + "/members"},
		{"branch", "owner", path + "/repository/branches/main"},
		{"branches", "owner", path + "/repository/branches"},
		{"tag", "owner", path + "/repository/tags/v1"},
		{"tags", "owner", path + "/repository/tags"},
		{"commits", "owner", path + "/repository/commits"},
		{"commit_notes", "guest", path + "/repository/commits/main/comments"},
		{"commit/detail", "owner", path + "/repository/commits/main"},
		{"commits_with_stats", "owner", path + "/repository/commits?with_stats=true"},
		{"issue", "owner", path + issue},
		{"issues", "owner", path + "/issues"},
		{"issues", "owner", "/issues?scope=all"},
		{"snippets", "owner", path + "/snippets"},
		{"snippets", "mate", "/snippets"},
		{"notes", "owner", path + issue + "/notes"},
		{"notes", "owner", path + request + "/notes"},
		{"issues", "owner", group + "/epics/" + epics[":epic_iid"] + "/issues"},
		{"merge_request", "owner", path + request},
		{"merge_requests", "owner", path + "/merge_requests"},
		{"merge_requests", "owner", "/merge_requests?scope=all"},
		{"commits", "owner", path + request + "/commits"},
		{"packages/packages", "", path + "/packages"},
		{"packages/packages", "owner", path + "/packages?package_type=npm"},
		{"packages/group_packages", "owner", group + "/packages"},
		{"packages/package", "owner", aPackage},
		{"packages/package_with_build", "owner", aPackage},
		{"packages/package_files", "", aPackage + "/package_files"},
		{"packages/pipelines", "owner", aPackage + "/pipelines"},
		{"packages/npm_package", "", path + "/packages/npm/" + project["npm/:package_name"]},
		{"packages/npm_package_tags", "", path + "/packages/npm/-/package/" + project["npm/:package_name"] + "/dist-tags"},
		{"environments", "owner", path + "/environments"},
		{"environment", "owner", path + "/environments/" + project[":environment_id"]},
		{"deployment", "owner", path + "/deployments/" + project[":deployment_id"]},
		{"freeze_periods", "owner", path + "/freeze_periods"},
		{"freeze_period", "owner", path + "/freeze_periods/" + project[":freeze_period_id"]},
		{"releases", "owner", path + "/releases"},
		{"release", "owner", path + "/releases/" + project["releases/:tag_name"]},
		{"releases", "owner", group + "/releases"},
		{"feature_flags", "owner", path + "/feature_flags"},
		{"feature_flag", "owner", path + "/feature_flags/" + project[":feature_flag_name"]},
		{"deploy_keys", "admin", "/deploy_keys"},
		{"deploy_tokens", "owner", path + "/deploy_tokens"},
		{"deploy_token", "owner", path + "/deploy_tokens/" + project["deploy_tokens/:token_id"]},
	} {
		t.Run(tc.schema+" "+tc.path, func(t *testing.T) {
			schema, err := c.Compile("file://" + filepath.Join(root, "schemas/public_api/v4", tc.schema+".json"))
			if err != nil {
				t.Fatal(err)
			}
			a := w.send(t.Context(), get(tc.as, tc.path))
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body.Bytes()))
			if err != nil || a.Code != http.StatusOK {
				t.Fatalf("got %d %.300s", a.Code, a.Body)
			}
			if list, ok := doc.([]any); ok && len(list) == 0 {
				t.Fatal("an empty list shows nothing")
			}
			for _, problem := range problems(schema.Validate(doc), different()[tc.schema]) {
				t.Error(problem)
			}
		})
	}
}

// problems lists what a validation found, but for the fields that are known to differ.
func problems(err error, known map[string]string) []string {
	var found *jsonschema.ValidationError
	if err == nil {
		return nil
	}
	if !errors.As(err, &found) {
		return []string{err.Error()}
	}
	var out []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		place := slices.DeleteFunc(slices.Clone(e.InstanceLocation), func(s string) bool { return strings.Trim(s, "0123456789") == "" })
		if missing, ok := e.ErrorKind.(*kind.Required); ok {
			for _, name := range missing.Missing {
				field := strings.Join(append(slices.Clone(place), name), ".")
				if known[field] == "" {
					out = append(out, field+" is missing")
				}
			}
			return
		}
		field := strings.Join(place, ".")
		if known[field] == "" {
			b, _ := json.Marshal(e.ErrorKind)
			out = append(out, fmt.Sprintf("%s: %s", field, b))
		}
	}
	walk(found)
	slices.Sort(out)
	return slices.Compact(out)
}
