package ci_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
)

func TestService_Store(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.begin(oneJob)
		a := w.take(w.runner("instance_type", nil), "build")
		content := zipped(t, files{"bin/app": "binary", "log": "text"})
		check(t, w.store(a, ci.ArtifactInput{Filename: `..\..\etc/out.zip`}, content))
		check(t, w.store(a, ci.ArtifactInput{Filename: "out.zip"}, content))
		equal(t, "objects after the same twice", w.kept(), 1)
		wantError(t, "another archive", w.store(a, ci.ArtifactInput{}, zipped(t, files{"x": "y"})), errs.Invalid, "another artifact of the same type already exists")
		equal(t, "objects after another", w.kept(), 1)
		for _, in := range []ci.ArtifactInput{{Type: "nonsense"}, {Type: "junit", Format: "zip"}, {Format: "raw"}, {Access: "all"}, {Type: "junit", Format: "gzip", ExpireIn: "soon"}} {
			wantError(t, in.Type+in.Format+in.Access, w.store(a, in, content), errs.Invalid, "invalid")
		}
		check(t, w.store(a, ci.ArtifactInput{Type: "junit", Format: "gzip"}, gzipped(t, "<testsuite/>")))
		w.set("max_artifacts_size", 1)
		err := w.store(a, ci.ArtifactInput{Type: "metadata", Format: "gzip"}, bytes.Repeat([]byte("x"), 1<<20+1))
		wantError(t, "too large", err, errs.TooLarge, "")
		check(t, w.store(a, ci.ArtifactInput{Type: "metadata", Format: "gzip"}, bytes.Repeat([]byte("x"), 1<<20)))
		w.succeed(a)
		w.drain()
		equal(t, "objects", w.kept(), 3)
		list, err := w.ci.ArtifactsOf(t.Context(), []ci.StatusID{a.Job.ID})
		check(t, err)
		var names []string
		for _, one := range list[a.Job.ID] {
			names = append(names, one.Type+"="+one.Filename)
		}
		equal(t, "artifacts", strings.Join(names, " "), "archive=out.zip junit=junit.xml.gz metadata=metadata.gz")

		open := func(who authz.Actor, name string) (string, error) {
			f, err := w.ci.OpenFile(t.Context(), who, w.as(who), a.Job.ID, name)
			if err != nil {
				return "", err
			}
			text, err := io.ReadAll(f)
			check(t, err)
			check(t, f.Close())
			return string(text), nil
		}
		if text, err := open(w.guest, "bin/app"); err != nil || text != "binary" {
			t.Errorf("file: %q, %v", text, err)
		}
		for _, name := range []string{"../secret", "/etc/passwd", "bin/../log", "", ".", "bin//app"} {
			_, err := open(w.guest, name)
			wantError(t, name, err, errs.BadRequest, "")
		}
		for _, name := range []string{"bin", "nothing"} {
			_, err := open(w.guest, name)
			wantError(t, name, err, errs.NotFound, "")
		}
		tree, err := w.ci.ArchiveTree(t.Context(), w.guest, w.as(w.guest), a.Job.ID, ci.TreeFilter{Recursive: true})
		check(t, err)
		names = nil
		for _, e := range tree.Items {
			names = append(names, e.Path)
		}
		equal(t, "tree", strings.Join(names, " "), "bin bin/app log")

		j, err := w.ci.LatestOf(t.Context(), w.guest, w.as(w.guest), "work", "build")
		if err != nil || j.ID != a.Job.ID {
			t.Errorf("latest: %v, %v", j, err)
		}
		_, err = w.ci.LatestOf(t.Context(), w.guest, w.as(w.guest), "main", "build")
		wantError(t, "latest of another branch", err, errs.NotFound, "")
		_, err = w.ci.LatestOf(t.Context(), w.stranger, w.loaded(), "work", "build")
		wantError(t, "stranger", err, errs.NotFound, "")

		_, err = w.ci.DeleteArtifacts(t.Context(), w.developer, w.as(w.developer), a.Job.ID)
		wantError(t, "delete as developer", err, errs.Forbidden, "")
		deleted, err := w.ci.DeleteArtifacts(t.Context(), w.maintainer, w.as(w.maintainer), a.Job.ID)
		check(t, err)
		if deleted == 0 {
			t.Error("no artifact was deleted")
		}
		equal(t, "objects", w.kept(), 0)
	})
}

func TestService_Store_dotenv(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const text = `
stages: [one, two, three]
first: {stage: one, script: x}
build: {stage: two, script: x}
test: {stage: three, script: x}
direct: {stage: three, script: x, needs: [build]}
without: {stage: three, script: x, needs: [{job: build, artifacts: false}]}
apart: {stage: three, script: x, needs: [first]}
none: {stage: three, script: x, dependencies: []}
`
		w.begin(text)
		token := w.runner("instance_type", nil)
		w.run(token, "first")
		a := w.take(token, "build")
		equal(t, "its own", value(a, "VERSION"), "")
		wantError(t, "no dotenv", w.store(a, ci.ArtifactInput{Type: "dotenv", Format: "gzip"}, gzipped(t, "no equals sign")), errs.Invalid, "Invalid Format")
		wantError(t, "no gzip", w.store(a, ci.ArtifactInput{Type: "dotenv", Format: "gzip"}, []byte("VERSION=1")), errs.Invalid, "Invalid Format")
		wantError(t, "long", w.store(a, ci.ArtifactInput{Type: "dotenv", Format: "gzip"}, gzipped(t, "A="+strings.Repeat("x", 6000))), errs.Invalid, "Too Big")
		check(t, w.store(a, ci.ArtifactInput{Type: "dotenv", Format: "gzip"}, gzipped(t, "VERSION=1.2\nNAME=\"a $b\"\n")))
		w.succeed(a)
		got := map[string]string{}
		for range 5 {
			one := w.ask(token)
			if one == nil {
				break
			}
			got[one.Job.Name] = value(one, "VERSION") + "/" + value(one, "NAME")
			w.succeed(one)
		}
		for name, want := range map[string]string{"test": "1.2/a $b", "direct": "1.2/a $b", "without": "/", "apart": "/", "none": "/"} {
			equal(t, name, got[name], want)
		}
	})
}

// TestService_Store_limit bounds artifacts by what the project says, else the nearest group that says something, else the instance.
func TestService_Store_limit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		below := w.Group("group/below", authz.Private, w.group)
		w.exec("UPDATE projects SET parent_id = ? WHERE id = ?", below, w.id)
		w.exec("INSERT INTO namespace_ancestors (namespace_id, ancestor_id, depth) SELECT namespace_id, ?, 1 FROM projects WHERE id = ?", below, w.id)
		w.exec("UPDATE namespace_ancestors SET depth = 2 WHERE ancestor_id = ? AND namespace_id = (SELECT namespace_id FROM projects WHERE id = ?)", w.group, w.id)
		w.begin(oneJob)
		a := w.take(w.runner("instance_type", nil), "build")
		w.set("max_artifacts_size", 4)
		for i, step := range []struct {
			project, below, group string
			most                  int // MB
		}{
			{`{}`, `{}`, `{}`, 4},
			{`{}`, `{}`, `{"max_artifacts_size":2}`, 2},
			{`{}`, `{"max_artifacts_size":3}`, `{"max_artifacts_size":1}`, 3},
			{`{}`, `{"default_branch_protection_defaults":{"max_artifacts_size":1}}`, `{"max_artifacts_size":5}`, 5},
			{`{"max_artifacts_size":1}`, `{"max_artifacts_size":3}`, `{}`, 1},
		} {
			w.exec("UPDATE projects SET settings = ? WHERE id = ?", step.project, w.id)
			w.exec("UPDATE groups SET settings = ? WHERE namespace_id = ?", step.below, below)
			w.exec("UPDATE groups SET settings = ? WHERE namespace_id = ?", step.group, w.group)
			content := bytes.Repeat([]byte("x"), step.most<<20+1)
			wantError(t, fmt.Sprint(i, " too large"), w.store(a, ci.ArtifactInput{Type: "metadata", Format: "gzip"}, content), errs.TooLarge, "")
			check(t, w.store(a, ci.ArtifactInput{Type: "metadata", Format: "gzip"}, content[1:]))
			w.exec("DELETE FROM job_artifacts WHERE job_id = ?", a.Job.ID)
		}
	})
}

func TestService_Expire(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		one := func(branch string, in ci.ArtifactInput) *ci.Pipeline {
			t.Helper()
			w.push(branch, yml("build: {script: x}\n# "+w.now().String()), "Change")
			a := w.take(token, "build")
			check(t, w.store(a, in, zipped(t, files{"a": "a"})))
			w.succeed(a)
			w.drain()
			return w.newest(branch)
		}
		open := func(p *ci.Pipeline) string {
			t.Helper()
			_, o, err := w.ci.OpenArtifact(t.Context(), w.guest, w.as(w.guest), w.job(p, "build").ID, "")
			if err != nil {
				return errs.KindOf(err).String()
			}
			check(t, o.Close())
			return "open"
		}
		never, usual := one("a", ci.ArtifactInput{ExpireIn: "never"}), one("b", ci.ArtifactInput{})
		older, latest := one("work", ci.ArtifactInput{ExpireIn: "1 day"}), one("work", ci.ArtifactInput{ExpireIn: "1 day"})
		equal(t, "at first", open(older)+open(latest), "openopen")
		w.pass(25 * time.Hour)
		check(t, w.ci.Expire(t.Context(), ci.Expiring{}))
		equal(t, "objects after a day", w.kept(), 3)
		equal(t, "the older", open(older), "not found")
		equal(t, "the latest is kept", open(latest), "open")
		w.settings(w.id, `{"keep_latest_artifact":false}`)
		check(t, w.ci.Expire(t.Context(), ci.Expiring{}))
		equal(t, "the latest is not kept any more", open(latest), "not found")
		equal(t, "by default", open(usual), "open")
		// Keeping one takes its end away.
		kept := one("work", ci.ArtifactInput{ExpireIn: "1 day"})
		if _, err := w.ci.KeepArtifacts(t.Context(), w.reporter, w.as(w.reporter), w.job(kept, "build").ID); !errs.Is(err, errs.Forbidden) {
			t.Errorf("keep as reporter: %v", err)
		}
		if _, err := w.ci.KeepArtifacts(t.Context(), w.developer, w.as(w.developer), w.job(kept, "build").ID); err != nil {
			t.Error(err)
		}
		w.pass(31 * 24 * time.Hour)
		check(t, w.ci.Expire(t.Context(), ci.Expiring{}))
		equal(t, "kept, never and by default", open(kept)+" "+open(never)+" "+open(usual), "open open not found")
	})
}

func TestService_OpenArtifact_access(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		w.begin("a: {script: x}\nb: {script: x}\nc: {script: x}\n")
		var jobs []*ci.Assignment
		for _, access := range []string{ci.PublicAccess, ci.PrivateAccess, ci.NoAccess} {
			a := w.ask(token)
			check(t, w.store(a, ci.ArtifactInput{Access: access}, zipped(t, files{"a": "a"})))
			w.succeed(a)
			jobs = append(jobs, a)
		}
		// What the configuration says is above what a runner sends, if it sends anything.
		w.push("work", yml(`
public: {script: x, artifacts: {access: all, paths: [a]}}
private: {script: x, artifacts: {public: false, paths: [a]}}
held: {script: x, artifacts: {access: maintainer, paths: [a]}}
none: {script: x, artifacts: {access: none, paths: [a]}}
`), "Change")
		for _, sent := range []string{ci.PrivateAccess, "", ci.PublicAccess, ""} {
			a := w.ask(token)
			check(t, w.store(a, ci.ArtifactInput{Access: sent}, zipped(t, files{"a": "a"})))
			w.succeed(a)
			jobs = append(jobs, a)
		}
		for _, tt := range []struct {
			as   authz.Actor
			want string
		}{
			{w.guest, "open forbidden not found open forbidden forbidden not found"},
			{w.reporter, "open forbidden not found open forbidden forbidden not found"},
			{w.developer, "open open not found open open forbidden not found"},
			{w.maintainer, "open open not found open open open not found"},
			{w.owner, "open open not found open open open not found"},
		} {
			var got []string
			for _, a := range jobs {
				_, o, err := w.ci.OpenArtifact(t.Context(), tt.as, w.as(tt.as), a.Job.ID, "")
				if err != nil {
					got = append(got, errs.KindOf(err).String())
					continue
				}
				check(t, o.Close())
				got = append(got, "open")
			}
			equal(t, tt.as.Username, strings.Join(got, " "), tt.want)
		}
		_, _, err := w.ci.OpenArtifact(t.Context(), w.stranger, w.loaded(), jobs[0].Job.ID, "")
		wantError(t, "stranger", err, errs.NotFound, "")
		w.settings(w.id, `{"public_jobs":false}`)
		_, _, err = w.ci.OpenArtifact(t.Context(), w.guest, w.as(w.guest), jobs[0].Job.ID, "")
		wantError(t, "guest, where jobs are not public", err, errs.Forbidden, "")
	})
}

// A job gets the artifacts of its own pipeline only. Attack: the user of one project has its job ask for the number of a job of another, private project.
func TestService_OpenForJob(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		w.begin("stages: [one, two]\nbuild: {stage: one, script: x}\ntest: {stage: two, script: x}\n")
		build := w.take(token, "build")
		w.archive(build, files{"a": "a"})
		w.succeed(build)
		test := w.take(token, "test")
		_, o, err := w.ci.OpenForJob(t.Context(), w.hold(test), build.Job.ID)
		check(t, err)
		check(t, o.Close())
		_, _, err = w.ci.OpenForJob(t.Context(), w.hold(test), test.Job.ID)
		wantError(t, "a job without artifacts", err, errs.NotFound, "")

		other := w.Project("group/other", authz.Public, w.group)
		w.staff(other)
		w.pushTo(other, "main", yml(oneJob), "Begin")
		foreign := w.take(token, "build")
		_, _, err = w.ci.OpenForJob(t.Context(), w.hold(foreign), build.Job.ID)
		wantError(t, "a job of another project", err, errs.NotFound, "")
		_, err = w.ci.Hold(t.Context(), build.Job.ID, foreign.Token)
		wantError(t, "a token of another job", err, errs.Forbidden, "")
	})
}
