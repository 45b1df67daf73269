package app

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// notSame are attributes that differ after an import: numbers of the database, users, and names and times of the run.
var notSame = strings.Fields("project_id source_project_id target_project_id group_id source_id discussion_id next_run_at id author_id user_id owner_id merge_user_id user " +
	"relative_position")

// onPurpose are those that an import changes, or does not keep.
var onPurpose = []string{
	"auto_devops.created_at", "auto_devops.updated_at", "container_expiration_policy.created_at", "container_expiration_policy.updated_at",
	"project_feature.created_at", "project_feature.updated_at", "pipeline_schedules.active", "project_members.",
	"ci_pipelines.stages.builds.status", "ci_pipelines.stages.status", "merge_requests.metrics.merged_at",
	"packages.",
}

// values are those of an object of an archive, with their places.
func values(at string, value any, to map[string]int) {
	switch v := value.(type) {
	case map[string]any:
		for name, one := range v {
			if !slices.Contains(notSame, name) && !strings.HasSuffix(name, "_by_id") && (name != "commit_id" || at == "commit_notes") {
				values(at+"."+name, one, to)
			}
		}
	case []any:
		for _, one := range v {
			values(at, one, to)
		}
	default:
		if !slices.ContainsFunc(onPurpose, func(path string) bool { return strings.HasPrefix(at, path) }) {
			to[fmt.Sprintf("%s: %v", at, v)]++
		}
	}
}

// A project with something of everything is exported and imported. What was written is exported again, and is the same, but for what an
// import changes on purpose.
func TestImport_there_and_back(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		s.publish()
		p := w.projects[0].values
		archive := s.export(t, "admin", "/projects/"+p["projects/:id"])
		_, before := unpack(t, archive)
		status := s.imported(t, "admin", "back", string(archive), obj{"namespace": path.Dir(p["full_path"])})
		if failed, _ := status["failed_relations"].([]any); status["import_status"] != "finished" || len(failed) != 0 {
			for _, f := range failed {
				t.Errorf("failed: %v", f)
			}
			t.Fatalf("%v: %v\n%s", status["import_status"], status["import_error"], s.logs.last())
		}
		// Packages do not move: the report says how many there were.
		packages := strings.Count(before["./tree/project/packages.ndjson"], "\n")
		if packages < 2 {
			t.Errorf("the archive names %d packages", packages)
		}
		s.want("admin", "GET", "/projects/"+number(status, "id")+"/import/report", nil, 200,
			fmt.Sprintf(`{"name":"packages","read":%[1]d,"written":0,"merged":0,"changed":0,"lost":%[1]d`, packages))
		_, after := unpack(t, s.export(t, "admin", "/projects/"+number(status, "id")))
		for _, name := range slices.Sorted(maps.Keys(before)) {
			relation, ok := strings.CutPrefix(name, "./tree/project/")
			if !ok {
				continue
			}
			relation = strings.TrimSuffix(relation, ".ndjson")
			want, got := map[string]int{}, map[string]int{}
			for _, one := range lines(t, strings.TrimPrefix(before[name], "null")) {
				values(relation, one, want)
			}
			for _, one := range lines(t, strings.TrimPrefix(after[name], "null")) {
				values(relation, one, got)
			}
			for value, n := range want {
				if got[value] != n {
					t.Errorf("%s: %d times, want %d", value, got[value], n)
				}
			}
			for value, n := range got {
				if want[value] == 0 {
					t.Errorf("%s: %d times, want 0", value, n)
				}
			}
		}
		for name := range before {
			if _, ok := after[name]; !ok && !strings.Contains(name, "snippets/") && !strings.Contains(name, "uploads/") {
				t.Errorf("the file %s is lost", name)
			}
		}
	})
}
