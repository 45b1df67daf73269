package graphql

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// schema reads the types as the server gives them.
func (s *server) schema() *ast.Schema {
	s.t.Helper()
	text := s.send("root", "GET", "/api/graphql/schema", "").Body.String()
	out, err := gqlparser.LoadSchema(&ast.Source{Name: "schema", Input: text})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// hidden is what the inputs of mutations name: things of a private project and group.
type hidden struct {
	schema *ast.Schema
	ids    map[string]string // global id by the scalar type
}

// hide makes a private project with one thing of every kind.
func (s *server) hide() hidden {
	s.t.Helper()
	s.team(1)
	s.rest("owner", "POST", "/projects/team%2Fapp/repository/commits", `{"branch":"main","commit_message":"first","actions":[{"action":"create","file_path":"README","content":"x"},{"action":"create","file_path":".gitlab-ci.yml","content":"workflow: {rules: [{if: $CI_PIPELINE_SOURCE == \"api\"}]}\nx: {script: [a], when: manual}"}]}`)
	s.branch("dev", "team%2Fapp", "feature")
	request := id(s.rest("dev", "POST", "/projects/team%2Fapp/merge_requests", `{"title":"change","source_branch":"feature","target_branch":"main"}`))
	note := id(s.rest("dev", "POST", "/projects/team%2Fapp/issues/1/notes", `{"body":"a comment"}`))
	milestone := id(s.rest("owner", "POST", "/projects/team%2Fapp/milestones", `{"title":"soon"}`))
	epic := id(s.rest("owner", "POST", "/groups/team/epics", `{"title":"an epic"}`))
	label := id(s.rest("owner", "POST", "/projects/team%2Fapp/labels", `{"name":"own","color":"#00ff00"}`))
	board := id(s.rest("owner", "POST", "/projects/team%2Fapp/boards", `{"name":"b"}`))
	list := id(s.rest("owner", "POST", fmt.Sprintf("/projects/team%%2Fapp/boards/%d/lists", board), fmt.Sprintf(`{"label_id":%d}`, label)))
	snippet := id(s.rest("dev", "POST", "/projects/team%2Fapp/snippets", `{"title":"s","files":[{"file_path":"a","content":"x"}],"visibility":"private"}`))
	issue := id(s.rest("dev", "GET", "/projects/team%2Fapp/issues/1", ""))
	cadence := at(s.data("owner", `mutation { iterationCadenceCreate(input: {groupPath: "team", title: "c", active: true, automatic: false}) { iterationCadence { id } } }`, nil), "iterationCadenceCreate", "iterationCadence", "id").(string)
	iteration := at(s.data("owner", `mutation($c: IterationsCadenceID!) { iterationCreate(input: {groupPath: "team", iterationsCadenceId: $c, startDate: "2030-01-01", dueDate: "2030-01-08"}) { iteration { id } } }`, variables{"c": cadence}), "iterationCreate", "iteration", "id").(string)
	pipeline := id(s.rest("owner", "POST", "/projects/team%2Fapp/pipeline", `{"ref":"main"}`))
	job := id(s.list("owner", fmt.Sprintf("/projects/team%%2Fapp/pipelines/%d/jobs", pipeline))[0])
	schedule := id(s.rest("owner", "POST", "/projects/team%2Fapp/pipeline_schedules", `{"description":"s","cron":"0 4 1 1 *","ref":"main"}`))
	project, group := id(s.rest("owner", "GET", "/projects/team%2Fapp", "")), id(s.rest("owner", "GET", "/groups/team", ""))
	runner := id(s.rest("owner", "POST", "/user/runners", fmt.Sprintf(`{"runner_type":"project_type","project_id":%d,"description":"r"}`, project)))
	environment := id(s.rest("owner", "POST", "/projects/team%2Fapp/environments", `{"name":"live"}`))
	s.rest("owner", "POST", "/projects/team%2Fapp/releases", `{"tag_name":"v1","ref":"main"}`)
	asset := id(s.rest("owner", "POST", "/projects/team%2Fapp/releases/v1/assets/links", `{"name":"a","url":"https://example.com/a"}`))
	file := s.rest("dev", "PUT", "/projects/team%2Fapp/packages/generic/tool/1.0/tool.sh?select=package_file", "x")
	pkg := int64(file["package_id"].(float64))
	gid := func(model string, n int64) string { return fmt.Sprintf("gid://gitlab/%s/%d", model, n) }
	h := hidden{schema: s.schema(), ids: map[string]string{
		"IssueID": gid("Issue", issue), "WorkItemID": gid("WorkItem", issue), "IssuableID": gid("Issue", issue), "NoteableID": gid("Issue", issue), "TodoableID": gid("Issue", issue),
		"AwardableID": gid("Issue", issue), "NoteID": gid("Note", note), "MergeRequestID": gid("MergeRequest", request), "MilestoneID": gid("Milestone", milestone),
		"EpicID": gid("Epic", epic), "LabelID": gid("ProjectLabel", label), "BoardID": gid("Board", board), "BoardsEpicBoardID": gid("Boards::EpicBoard", board), "ListID": gid("List", list),
		"SnippetID": gid("ProjectSnippet", snippet), "UserID": gid("User", s.ids["dev"]), "DiscussionID": gid("Discussion", 1), "IterationsCadenceID": cadence, "IterationID": iteration, "WorkItemsTypeID": "gid://gitlab/WorkItems::Type/1", "EpicTreeSortingID": gid("Epic", epic),
		"CiPipelineID": gid("Ci::Pipeline", pipeline), "CiBuildID": gid("Ci::Build", job), "CiProcessableID": gid("Ci::Build", job), "CiPipelineScheduleID": gid("Ci::PipelineSchedule", schedule),
		"EnvironmentID": gid("Environment", environment), "ReleasesLinkID": gid("Releases::Link", asset), "CiRunnerID": gid("Ci::Runner", runner), "GroupID": gid("Group", group), "ProjectID": gid("Project", project),
		"PackagesPackageID": gid("Packages::Package", pkg), "PackagesPackageFileID": gid("Packages::PackageFile", id(file)),
	}}
	return h
}

// value makes one of a type, for an argument or a field of an input of this name.
func (h *hidden) value(t *ast.Type, name string, depth int) any {
	if t.Elem != nil {
		if depth > 5 {
			return []any{}
		}
		return []any{h.value(t.Elem, name, depth+1)}
	}
	if id, ok := h.ids[t.NamedType]; ok {
		return id
	}
	def := h.schema.Types[t.NamedType]
	lower := strings.ToLower(name)
	switch {
	case strings.HasSuffix(lower, "iid"):
		return "1"
	case lower == "newpath":
		return "README"
	case lower == "grouppath":
		return "team"
	case strings.HasSuffix(lower, "path") && !strings.Contains(lower, "file"):
		return "team/app"
	case def.Kind == ast.Enum:
		return def.EnumValues[0].Name
	case def.Kind == ast.InputObject:
		return h.input(def, depth+1)
	}
	switch t.NamedType {
	case "Boolean":
		return true
	case "Int":
		return 1
	case "Float":
		return 1.5
	case "Time", "Date", "ISO8601Date":
		return "2026-01-02"
	case "Color":
		return "#123456"
	}
	if model, ok := strings.CutSuffix(t.NamedType, "ID"); ok && model != "" {
		return "gid://gitlab/" + model + "/1"
	}
	return "value"
}

// input makes one with the fields that have to be there, and those that name places.
func (h *hidden) input(def *ast.Definition, depth int) map[string]any {
	out := map[string]any{}
	for _, f := range def.Fields {
		place := f.Name == "projectPath" && def.Fields.ForName("namespacePath") == nil || slices.Contains([]string{"boardId", "newPath", "namespacePath"}, f.Name) ||
			def.Name == "RunnerCreateInput" && f.Name == "groupId" || def.Name == "BulkRunnerDeleteInput" && f.Name == "ids"
		if f.Type.NonNull && f.DefaultValue == nil || place {
			out[f.Name] = h.value(f.Type, f.Name, depth)
		}
	}
	return out
}

// form gives an input the things that its mutation is about.
func (h *hidden) form(mutation string, in map[string]any) {
	if strings.HasSuffix(mutation, "DiffNote") {
		in["noteableId"] = h.ids["MergeRequestID"]
	}
	if strings.HasPrefix(strings.ToLower(mutation), "runnersregistrationtokenreset") {
		in["id"] = h.ids["GroupID"]
	}
	if in["id"] == "value" {
		for typ, id := range h.ids {
			model := strings.TrimSuffix(typ, "ID")
			if strings.Contains(strings.ToLower(mutation), strings.ToLower(model)) {
				in["id"] = id
			}
		}
	}
}

// TestMutations_hidden runs every mutation of the schema on things of a private project: for callers
// who do not see it, with a token that may only read, and without signing on. All are refused in
// the same words, and nothing changes.
func TestMutations_hidden(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		h := s.hide()
		s.token("reader", "owner", "read_api")
		s.token("repository", "owner", "read_repository")
		const words = "The resource that you are attempting to access does not exist or you don't have permission to perform this action"
		before := s.state()
		for _, m := range h.schema.Mutation.Fields {
			if m.Name == "echoCreate" {
				continue // changes nothing
			}
			def := h.schema.Types[m.Arguments[0].Type.Name()]
			in := h.input(def, 0)
			h.form(m.Name, in)
			query := fmt.Sprintf("mutation($in: %s!) { %s(input: $in) { clientMutationId errors } }", def.Name, m.Name)
			body, err := json.Marshal(map[string]any{"query": query, "variables": map[string]any{"in": in}})
			if err != nil {
				t.Fatal(err)
			}
			for _, as := range []string{"stranger", "reader", ""} {
				w := s.send(as, "POST", "/api/graphql", string(body))
				var answer struct {
					Data   map[string]any
					Errors []struct{ Message string }
				}
				if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
					t.Fatalf("%s: %v: %s", m.Name, err, w.Body)
				}
				if len(answer.Errors) != 1 || answer.Errors[0].Message != words || answer.Data[m.Name] != nil {
					if as == "stranger" && slices.Contains(forAll, m.Name) {
						continue
					}
					t.Errorf("%s as %q with %v: got %s", m.Name, as, in, w.Body)
				}
			}
			if w := s.send("repository", "POST", "/api/graphql", string(body)); w.Code != 401 {
				t.Errorf("%s with a token for repositories: got %d %s", m.Name, w.Code, w.Body)
			}
		}
		if after := s.state(); after != before {
			t.Errorf("something changed:\nbefore %s\nafter  %s", before, after)
		}
	})
}

// forAll are the mutations of a user's own things, which need nothing hidden.
var forAll = []string{"todosMarkAllDone", "userPreferencesUpdate"}

// state is what the owner reads of everything that mutations could change.
func (s *server) state() string {
	s.t.Helper()
	var out strings.Builder
	for _, path := range []string{
		"/projects/team%2Fapp/issues/1", "/projects/team%2Fapp/issues/1/notes", "/projects/team%2Fapp/issues/1/discussions", "/projects/team%2Fapp/issues/1/award_emoji", "/projects/team%2Fapp/issues", "/projects/team%2Fapp/merge_requests",
		"/projects/team%2Fapp/merge_requests/1/notes", "/projects/team%2Fapp/merge_requests/1/approvals", "/projects/team%2Fapp/labels", "/projects/team%2Fapp/milestones", "/projects/team%2Fapp/boards",
		"/groups/team/epics", "/groups/team/labels", "/groups/team/iterations", "/projects/team%2Fapp/snippets", "/projects/team%2Fapp/repository/branches", "/projects/team%2Fapp/pipelines", "/projects/team%2Fapp/jobs", "/projects/team%2Fapp/pipeline_schedules", "/projects/team%2Fapp/runners", "/projects/team%2Fapp/packages", "/todos", "/projects?order_by=id", "/groups",
	} {
		fmt.Fprintln(&out, path, s.send("owner", "GET", "/api/v4"+path, "").Body)
	}
	return out.String()
}
