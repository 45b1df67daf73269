package ci_test

import (
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/runner"
)

func TestService_Run_configPath(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.other("group/library", authz.Private, "of_the_library: {script: x}\n")
		apart := w.Group("apart", authz.Private, 0)
		hidden := w.Project("apart/hidden", authz.Private, apart)
		w.Join(hidden, w.owner, authz.Owner)
		w.Join(hidden, w.maintainer, authz.Maintainer)
		w.pushTo(hidden, "main", yml("hidden: {script: x}\n"), "Begin [skip ci]")
		w.push("work", files{".gitlab-ci.yml": oneJob, "ci/main.yml": "other: {script: x}\n"}, "Begin [skip ci]")
		for _, tt := range []struct {
			path string
			as   authz.Actor
			want string
		}{
			{"ci/main.yml", w.developer, "other:pending = pending"},
			{".gitlab-ci.yml@group/library", w.developer, "of_the_library:pending = pending"},
			{".gitlab-ci.yml@group/library:main", w.developer, "of_the_library:pending = pending"},
			{".gitlab-ci.yml@group/library:nowhere", w.developer, "Missing CI config file"},
			{"nowhere.yml@group/library", w.developer, "Missing CI config file"},
			{".gitlab-ci.yml@apart/hidden", w.maintainer, "hidden:pending = pending"},
			{".gitlab-ci.yml@apart/hidden", w.developer, "Missing CI config file"},
			{"../../etc/passwd", w.developer, "Missing CI config file"},
		} {
			w.settings(w.id, `{"ci_config_path":"`+tt.path+`"}`)
			p, err := w.ci.Run(t.Context(), tt.as, w.as(tt.as), ci.RunInput{Ref: "work", Source: ci.ByAPI})
			if err != nil {
				if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s for %s: %v, want %s", tt.path, tt.as.Username, err, tt.want)
				}
				continue
			}
			w.wantStates(p, tt.path+" for "+tt.as.Username, tt.want)
		}
	})
}

// Attack: a configuration includes files of projects that its user may not read, or of servers inside the network.
func TestService_Run_include(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.other("group/library", authz.Private, oneJob)
		apart := w.Group("apart", authz.Private, 0)
		hidden := w.Project("apart/hidden", authz.Private, apart)
		w.Join(hidden, w.owner, authz.Owner)
		w.Join(hidden, w.maintainer, authz.Maintainer)
		w.pushTo(hidden, "main", yml(oneJob), "Begin [skip ci]")
		for _, tt := range []struct{ name, config, want string }{
			{"a file of the commit", "include: part.yml\n", "part:pending = pending"},
			{"a file with a wildcard", "include: {local: 'part*.yml'}\n", "part:pending = pending"},
			{"a file of a project", "include: {project: group/library, file: .gitlab-ci.yml}\n", "build:pending = pending"},
			{"a hidden project", "include: {project: apart/hidden, file: .gitlab-ci.yml}\n" + oneJob, "not found or access denied"},
			{"no such project", "include: {project: apart/nowhere, file: .gitlab-ci.yml}\n" + oneJob, "not found or access denied"},
			{"this machine", "include: {remote: 'http://127.0.0.1:1/x.yml'}\n" + oneJob, "blocked"},
			{"the metadata of a cloud", "include: {remote: 'http://169.254.169.254/x.yml'}\n" + oneJob, "blocked"},
			{"another scheme", "include: {remote: 'file:///etc/passwd.yml'}\n" + oneJob, "does not have a valid address"},
			{"a path that leaves the repository", "include: {local: '../../etc/passwd.yml'}\n" + oneJob, "does not exist"},
		} {
			w.push("work", files{".gitlab-ci.yml": tt.config, "part.yml": "part: {script: x}\n"}, "Change [skip ci]")
			p, err := w.ci.Run(t.Context(), w.developer, w.as(w.developer), ci.RunInput{Ref: "work", Source: ci.ByAPI})
			if err != nil {
				if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
				}
				continue
			}
			w.wantStates(p, tt.name, tt.want)
		}
	})
}

func TestService_Run_compareTo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		base := w.push("main", files{"a": "a"}, "Begin")
		const text = "doc: {script: x, rules: [{changes: {paths: [doc/*], compare_to: main}}]}\nall: {script: x}\n"
		w.move(w.id, map[string]string{"refs/heads/work": w.commit(w.id, base, files{".gitlab-ci.yml": text, "doc/a": "x"}, "Document")})
		w.drain()
		w.wantStates(w.newest("work"), "another branch than main", "all:pending doc:pending = pending")
		w.push("work", files{"b": "b"}, "Go on")
		w.wantStates(w.newest("work"), "the branch as a whole", "all:pending doc:pending = pending")
		w.move(w.id, map[string]string{"refs/heads/plain": w.commit(w.id, base, files{".gitlab-ci.yml": text}, "Configure")})
		w.drain()
		w.wantStates(w.newest("plain"), "no document", "all:pending = pending")
		w.move(w.id, map[string]string{"refs/heads/apart": w.commit(w.id, "", files{".gitlab-ci.yml": text}, "Begin again")})
		w.drain()
		w.wantStates(w.newest("apart"), "nothing in common with the branch", "all:pending doc:pending = pending")
		w.push("plain", files{".gitlab-ci.yml": strings.Replace(text, "main", "nowhere", 1)}, "Configure")
		w.wantStates(w.newest("plain"), "no such branch", "= failed")
	})
}

// A job whose commit is lost fails, instead of running for ever without a runner.
func TestService_Request_broken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin(oneJob)
		w.exec("UPDATE pipelines SET sha = ?", strings.Repeat("ab", 20))
		token := w.runner(runner.InstanceType, nil)
		a, _, err := w.ci.Request(t.Context(), ci.Ask{Token: token, SystemID: "s"})
		if err != nil || a != nil {
			t.Errorf("got %v, %v, want no job", a, err)
		}
		w.wantStates(p, "asked for", "build:failed = failed")
		equal(t, "reason", reason(w.job(p, "build")), ci.DataIntegrity)
		if a := w.ask(token); a != nil {
			t.Error("it was given again")
		}
	})
}
