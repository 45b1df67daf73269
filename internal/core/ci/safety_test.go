package ci_test

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/repo"
)

// tables lists the tables of the database.
func (w *world) tables() []string {
	w.T.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
	if w.DB.Dialect() == db.Postgres {
		query = "SELECT CAST(table_name AS TEXT) FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY table_name"
	}
	out, err := db.Select[string](w.T.Context(), w.DB, query)
	check(w.T, err)
	return out
}

// columnsOf lists the columns of a table.
func (w *world) columnsOf(table string) []string {
	w.T.Helper()
	query := "SELECT name FROM pragma_table_info(?)"
	if w.DB.Dialect() == db.Postgres {
		query = "SELECT CAST(column_name AS TEXT) FROM information_schema.columns WHERE table_name = ? AND table_schema = current_schema()"
	}
	out, err := db.Select[string](w.T.Context(), w.DB, query, table)
	check(w.T, err)
	return out
}

// holding lists the columns of the database in which a text stands.
func (w *world) holding(text string) []string {
	w.T.Helper()
	var out []string
	for _, table := range w.tables() {
		for _, column := range w.columnsOf(table) {
			n, err := db.Get[int](w.T.Context(), w.DB, fmt.Sprintf(`SELECT COUNT(*) FROM %q WHERE CAST(%q AS TEXT) LIKE ?`, table, column), "%"+text+"%")
			check(w.T, err)
			if n > 0 {
				out = append(out, table+"."+column)
			}
		}
	}
	return out
}

// Attack: who reads a backup of the database learns the values of variables and the tokens of jobs.
func TestService_secretsAreSealed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		w.push("work", yml("stages: [one, two]\ngate: {stage: one, script: x, when: manual}\nbuild: {stage: one, script: x}\nbridge: {stage: one, trigger: {project: group/library, forward: {pipeline_variables: true}}}\n"), "Begin [skip ci]")
		w.other("group/library", authz.Private, "lib: {script: x}\n")
		p, err := w.ci.Run(t.Context(), w.developer, w.as(w.developer), ci.RunInput{Ref: "work", Source: ci.ByAPI, Variables: []ci.Variable{{Key: "A", Value: "pearl-of-the-run"}}})
		check(t, err)
		_, err = w.ci.PlayJob(t.Context(), w.developer, w.as(w.developer), w.job(p, "gate").ID, []ci.Variable{{Key: "B", Value: "pearl-of-the-play"}})
		check(t, err)
		w.drain()
		var jobs []*ci.Assignment
		for a := w.ask(token); a != nil; a = w.ask(token) {
			jobs = append(jobs, a)
		}
		if len(jobs) != 3 {
			t.Fatalf("%d jobs, want gate, build and lib", len(jobs))
		}
		for _, a := range jobs {
			equal(t, "A of "+a.Job.Name, value(a, "A"), "pearl-of-the-run")
			check(t, w.store(a, ci.ArtifactInput{Type: "dotenv", Format: "gzip"}, gzipped(t, "C=pearl-of-the-report\n")))
			w.fail(a)
		}
		_, err = w.ci.RetryJob(t.Context(), w.developer, w.as(w.developer), w.job(p, "gate").ID)
		check(t, err)
		equal(t, "B of the next attempt", value(w.take(token, "gate"), "B"), "pearl-of-the-play")
		shop := w.as(w.maintainer)
		check(t, w.ci.OnPushed(t.Context(), repo.Pushed{
			Stamp: w.maintainer.Stamp(w.now()), ProjectID: w.id, FullPath: shop.FullPath, Project: shop, Source: repo.ByPush, Options: []string{"ci.variable=D=pearl-of-the-push"},
			Changes: []repo.PushedRef{{RefChange: repo.RefChange{Ref: "refs/heads/work", New: parse(t, p.SHA)}}},
		}))
		if got := w.holding("pearl-of"); len(got) > 0 {
			t.Errorf("values of variables stand in %v before the pipeline is made", got)
		}
		w.drain()
		if got := w.holding("pearl-of"); len(got) > 0 {
			t.Errorf("values of variables stand in %v", got)
		}
		for _, a := range jobs {
			if got := w.holding(a.Token); len(got) > 0 {
				t.Errorf("the token of a job stands in %v", got)
			}
		}
		// What is looked for is found where it is allowed to stand.
		if got := w.holding("group/library"); len(got) == 0 {
			t.Error("the search of tables finds nothing at all")
		}
	})
}

func TestService_VariablesOf(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.push("work", yml(oneJob), "Begin")
		p, err := w.ci.Run(t.Context(), w.developer, w.as(w.developer), ci.RunInput{Ref: "work", Source: ci.ByAPI, Variables: []ci.Variable{{Key: "A", Value: "1", File: true}, {Key: "A", Value: "2"}}})
		check(t, err)
		for _, who := range []authz.Actor{w.guest, w.reporter} {
			_, err := w.ci.VariablesOf(t.Context(), who, w.as(who), p.ID)
			wantError(t, who.Username, err, errs.Forbidden, "")
		}
		_, err = w.ci.VariablesOf(t.Context(), w.stranger, w.loaded(), p.ID)
		wantError(t, "stranger", err, errs.NotFound, "")
		vars, err := w.ci.VariablesOf(t.Context(), w.developer, w.as(w.developer), p.ID)
		if err != nil || len(vars) != 1 || vars[0].Value != "2" {
			t.Errorf("got %+v, %v", vars, err)
		}
	})
}

// Attack: a job's script sends its token away, and the receiver uses it on other projects of the user, or later.
func TestService_Bearer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		apart := w.Group("apart", authz.Public, 0)
		private := w.Project("apart/private", authz.Private, apart)
		internal := w.Project("apart/internal", authz.Internal, apart)
		public := w.Project("apart/public", authz.Public, apart)
		w.Join(private, w.maintainer, authz.Owner)
		w.exec("UPDATE users SET admin = true WHERE id = ?", w.maintainer.UserID)
		p := w.begin(oneJob)
		a := w.take(w.runner("instance_type", nil), "build")
		as, err := w.ci.Bearer(t.Context(), a.Token)
		check(t, err)
		if as.UserID != w.maintainer.UserID || as.Admin || as.Job.ID != int64(a.Job.ID) {
			t.Errorf("bearer %+v", as)
		}
		own, err := w.Projects.Find(t.Context(), as, "group/shop")
		check(t, err)
		if _, err := w.ci.Find(t.Context(), as, own, p.ID); err != nil {
			t.Errorf("its own pipeline: %v", err)
		}
		for id, want := range map[string]bool{fmt.Sprint(private): false, fmt.Sprint(internal): false, fmt.Sprint(public): true} {
			_, err := w.Projects.Find(t.Context(), as, id)
			if (err == nil) != want || err != nil && !errs.Is(err, errs.NotFound) {
				t.Errorf("project %s: %v", id, err)
			}
		}
		_, err = w.ci.Run(t.Context(), as, own, ci.RunInput{Ref: "work", Source: ci.ByAPI})
		wantError(t, "run a pipeline", err, errs.Forbidden, "")
		wantError(t, "delete its pipeline", w.ci.Delete(t.Context(), as, own, p.ID), errs.Forbidden, "")
		j, of, err := w.ci.Current(t.Context(), as)
		if err != nil || j.ID != a.Job.ID || of.ID != w.id {
			t.Errorf("current: %v, %v, %v", j, of, err)
		}
		_, _, err = w.ci.Current(t.Context(), w.maintainer)
		wantError(t, "current job of a user", err, errs.Unauthorized, "")
		if _, ok, err := w.ci.BearerGit(t.Context(), "gitlab-ci-token", a.Token); !ok || err != nil {
			t.Errorf("git: %v, %v", ok, err)
		}
		if _, ok, _ := w.ci.BearerGit(t.Context(), "mary", a.Token); ok {
			t.Error("git takes the token with another name")
		}
		if _, ok, err := w.ci.BearerGit(t.Context(), "gitlab-ci-token", "glpat-another"); ok || err != nil {
			t.Errorf("git under the name of jobs with an access token: %v, %v", ok, err)
		}
		for name, bad := range map[string]string{"empty": "", "unknown": "glcbt-unknown", "another kind": "glpat-x", "long": "glcbt-" + strings.Repeat("x", 100_000)} {
			_, err := w.ci.Bearer(t.Context(), bad)
			wantError(t, name, err, errs.Unauthorized, "")
		}
		w.exec("UPDATE users SET state = 'blocked' WHERE id = ?", w.maintainer.UserID)
		_, err = w.ci.Bearer(t.Context(), a.Token)
		wantError(t, "of a blocked user", err, errs.Unauthorized, "")
		w.exec("UPDATE users SET state = 'active' WHERE id = ?", w.maintainer.UserID)
		w.succeed(a)
		_, err = w.ci.Bearer(t.Context(), a.Token)
		wantError(t, "after the job", err, errs.Unauthorized, "")
	})
}

func TestService_Find_hidden(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin(oneJob)
		j, ctx, hidden := w.job(p, "build"), t.Context(), w.loaded()
		for _, as := range []authz.Actor{w.stranger, {}} {
			for name, call := range map[string]func() error{
				"find":    func() error { _, err := w.ci.Find(ctx, as, hidden, p.ID); return err },
				"list":    func() error { _, err := w.ci.List(ctx, as, hidden, ci.PipelineFilter{}); return err },
				"latest":  func() error { _, err := w.ci.Latest(ctx, as, hidden, ""); return err },
				"job":     func() error { _, _, err := w.ci.FindJob(ctx, as, hidden, j.ID); return err },
				"jobs":    func() error { _, err := w.ci.Jobs(ctx, as, hidden, ci.JobFilter{}); return err },
				"jobs of": func() error { _, err := w.ci.JobsOf(ctx, as, hidden, p.ID, ci.JobFilter{}); return err },
				"log":     func() error { _, err := w.ci.Log(ctx, as, hidden, j.ID); return err },
				"cancel":  func() error { _, err := w.ci.Cancel(ctx, as, hidden, p.ID); return err },
				"retry":   func() error { _, err := w.ci.Retry(ctx, as, hidden, p.ID); return err },
				"delete":  func() error { return w.ci.Delete(ctx, as, hidden, p.ID) },
				"play":    func() error { _, err := w.ci.PlayJob(ctx, as, hidden, j.ID, nil); return err },
				"stop":    func() error { _, err := w.ci.CancelJob(ctx, as, hidden, j.ID); return err },
				"again":   func() error { _, err := w.ci.RetryJob(ctx, as, hidden, j.ID); return err },
				"erase":   func() error { _, err := w.ci.Erase(ctx, as, hidden, j.ID); return err },
				"keep":    func() error { _, err := w.ci.KeepArtifacts(ctx, as, hidden, j.ID); return err },
				"rename":  func() error { _, err := w.ci.Rename(ctx, as, hidden, p.ID, "x"); return err },
			} {
				wantError(t, name+" as "+as.Username, call(), errs.NotFound, "")
			}
			found, err := w.ci.ByIDs(ctx, as, []ci.PipelineID{p.ID})
			if err != nil || len(found) != 0 {
				t.Errorf("by id: %v, %v", found, err)
			}
		}
		// The number of a pipeline or job of another project leads nowhere.
		other := w.Find(w.owner, w.other("group/library", authz.Public, oneJob))
		_, err := w.ci.Find(ctx, w.owner, other, p.ID)
		wantError(t, "pipeline through another project", err, errs.NotFound, "")
		_, _, err = w.ci.FindJob(ctx, w.owner, other, j.ID)
		wantError(t, "job through another project", err, errs.NotFound, "")
		_, err = w.ci.ForceCancelJob(ctx, w.owner, other, j.ID)
		wantError(t, "cancel through another project", err, errs.NotFound, "")
		w.wantStates(p, "after all", "build:pending = pending")
		// Where jobs are not public, guests see none.
		w.settings(w.id, `{"public_jobs":false}`)
		_, err = w.ci.Find(ctx, w.guest, w.as(w.guest), p.ID)
		wantError(t, "guest", err, errs.Forbidden, "")
		_, err = w.ci.Find(ctx, w.reporter, w.as(w.reporter), p.ID)
		check(t, err)
	})
}
