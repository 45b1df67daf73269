package ci_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
)

// TestService_DeleteOld lets pipelines become older than ci_delete_pipelines_in_seconds: they go with their jobs and artifacts, but for
// those that run, those of other projects, and all while the project is archived.
func TestService_DeleteOld(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		commit := func(name string) { w.push("work", yml("build: {script: x}\n# "+name), name) }
		commit("first")
		a := w.take(token, "build")
		w.archive(a, files{"a": "a"})
		w.succeed(a)
		commit("runs")
		running := w.take(token, "build")
		commit("by hand")
		w.exec("UPDATE pipelines SET status = 'manual' WHERE id = ?", w.newest("work").ID)
		tools := w.Project("group/tools", authz.Private, w.group)
		w.exec(`INSERT INTO pipelines (project_id, iid, ref, tag, sha, before_sha, source, status, created_at, updated_at)
			SELECT ?, iid, ref, tag, sha, before_sha, source, 'success', created_at, updated_at FROM pipelines WHERE project_id = ?`, tools, w.id)
		w.pass(25 * time.Hour)
		commit("young")
		left := func() string {
			t.Helper()
			w.drain()
			rows, err := db.Select[int64](t.Context(), w.DB, "SELECT iid FROM pipelines WHERE project_id = ? ORDER BY id", w.id)
			check(t, err)
			return strings.Trim(fmt.Sprint(rows), "[]")
		}
		for _, step := range []struct{ name, settings, want string }{
			{"kept by default", `{}`, "1 2 3 4"},
			{"for two days", `{"ci_delete_pipelines_in_seconds":172800}`, "1 2 3 4"},
			{"archived", `{"ci_delete_pipelines_in_seconds":86400}`, "1 2 3 4"},
			{"for a day", `{"ci_delete_pipelines_in_seconds":86400}`, "2 4"},
		} {
			w.settings(w.id, step.settings)
			w.exec("UPDATE projects SET archived = ? WHERE id = ?", step.name == "archived", w.id)
			check(t, w.ci.DeleteOld(t.Context(), ci.OldPipelines{}))
			equal(t, step.name, left(), step.want)
		}
		equal(t, "objects", w.kept(), 0)
		w.succeed(running)
		check(t, w.ci.DeleteOld(t.Context(), ci.OldPipelines{}))
		equal(t, "when it has ended", left(), "4")
		n, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM pipelines WHERE project_id = ?", tools)
		check(t, err)
		equal(t, "pipelines of the other project", n, 3)
	})
}
