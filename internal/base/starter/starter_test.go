package starter_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tenon/internal/base/starter"
)

func TestFind(t *testing.T) {
	t.Parallel()
	for kind, name := range map[starter.Kind]string{starter.Gitignores: "C++", starter.Dockerfiles: "Golang", starter.Pipelines: "Go"} {
		names := starter.Names(kind)
		if len(names) < 25 || !slices.Contains(names, name) || !slices.IsSorted(names) {
			t.Errorf("%s: %v", kind, names)
		}
		for _, n := range names {
			if text, ok := starter.Find(kind, n); !ok || !strings.HasSuffix(text, "\n") {
				t.Errorf("%s %s: %t, %q", kind, n, ok, text)
			}
		}
		for _, n := range []string{"", "go", "../starter", "nothing"} {
			if _, ok := starter.Find(kind, n); ok {
				t.Errorf("%s: found %q", kind, n)
			}
		}
	}
}

// pipeline checks that a text is a pipeline: YAML whose jobs have scripts and stand in stages
// that there are.
func pipeline(t *testing.T, what, text string) {
	t.Helper()
	var all map[string]any
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	stages, _ := all["stages"].([]any)
	if stages == nil {
		stages = []any{"build", "test", "deploy"}
	}
	jobs := 0
	for name, value := range all {
		job, ok := value.(map[string]any)
		if !ok || job["script"] == nil {
			continue
		}
		jobs++
		lines, ok := job["script"].([]any)
		for _, line := range lines {
			_, isText := line.(string)
			ok = ok && isText
		}
		if !ok || len(lines) == 0 {
			t.Errorf("%s: job %s has the script %v", what, name, job["script"])
		}
		stage := job["stage"]
		if stage == nil {
			stage = "test"
		}
		if !slices.Contains(stages, stage) {
			t.Errorf("%s: job %s stands in the stage %v, which is none of %v", what, name, stage, stages)
		}
	}
	if jobs == 0 && !strings.HasPrefix(what, "Workflows-") { // which are included beside jobs
		t.Errorf("%s: no job", what)
	}
}

// build checks that a text builds a container: every line is an instruction, the first one
// says what from, and the image that is made does not need the root user to be said.
func build(t *testing.T, what, text string) {
	t.Helper()
	known := strings.Fields("FROM WORKDIR COPY RUN ENV USER EXPOSE CMD ENTRYPOINT ARG")
	var last string
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		word, _, _ := strings.Cut(line, " ")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if i == 0 && word != "FROM" || !slices.Contains(known, word) {
			t.Errorf("%s: line %d is %q", what, i+1, line)
		}
		last = line
	}
	if !strings.HasPrefix(last, "CMD [") && !strings.HasPrefix(last, "ENTRYPOINT [") && !strings.HasPrefix(last, "EXPOSE") {
		t.Errorf("%s: ends in %q", what, last)
	}
}

func TestFind_texts_are_what_they_say(t *testing.T) {
	t.Parallel()
	for _, name := range starter.Names(starter.Pipelines) {
		text, _ := starter.Find(starter.Pipelines, name)
		pipeline(t, name, text)
	}
	for _, name := range starter.Names(starter.Dockerfiles) {
		text, _ := starter.Find(starter.Dockerfiles, name)
		build(t, name, text)
	}
}

func TestProject(t *testing.T) {
	t.Parallel()
	names := starter.Templates()
	for _, name := range []string{"rails", "spring", "express", "gomicro", "plainhtml", "hugo", "jekyll", "dotnetcore"} {
		if !slices.Contains(names, name) {
			t.Errorf("there is no template %s: %v", name, names)
		}
	}
	for _, name := range names {
		p, ok := starter.Project(name)
		if !ok || p.Name != name || p.Title == "" || strings.Contains(p.Title, "\n") {
			t.Errorf("%s: got %+v, %t", name, p, ok)
		}
		seen := map[string]bool{}
		for _, f := range p.Files {
			what := name + " " + f.Path
			if !filepath.IsLocal(f.Path) || path.Clean(f.Path) != f.Path || seen[f.Path] || !strings.HasSuffix(f.Content, "\n") {
				t.Errorf("%s: twice, elsewhere, or without an end", what)
			}
			seen[f.Path] = true
			var err error
			switch path.Ext(f.Path) {
			case ".json":
				var v any
				err = json.Unmarshal([]byte(f.Content), &v)
			case ".xml", ".csproj":
				for d := xml.NewDecoder(strings.NewReader(f.Content)); err == nil; {
					_, err = d.Token()
				}
				if errors.Is(err, io.EOF) {
					err = nil
				}
			case ".yml":
				if f.Path == ".gitlab-ci.yml" {
					pipeline(t, what, f.Content)
				}
			case "":
				if f.Path == "Dockerfile" {
					build(t, what, f.Content)
				}
			}
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if !seen["README.md"] || !seen[".gitlab-ci.yml"] {
			t.Errorf("%s: without README.md or .gitlab-ci.yml", name)
		}
	}
	if p, ok := starter.Project("pages/plain-html"); !ok || p.Name != "plainhtml" {
		t.Errorf("by another name: got %+v, %t", p, ok)
	}
	for _, name := range []string{"", "Rails", "../projects/rails", "nothing"} {
		if _, ok := starter.Project(name); ok {
			t.Errorf("found %q", name)
		}
	}
}

// unfold writes a template to a folder.
func unfold(t *testing.T, name string) (dir string, run func(name string, args ...string) string) {
	t.Helper()
	p, _ := starter.Project(name)
	dir = t.TempDir()
	for _, f := range p.Files {
		to := filepath.Join(dir, f.Path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, []byte(f.Content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off",
			"HUGO_CACHEDIR="+filepath.Join(dir, "cache"), "JEKYLL_NO_BUNDLER_REQUIRE=true")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
}

// The Go template compiles, is formatted, and its tests pass, with no module but its own.
func TestProject_gomicro(t *testing.T) {
	t.Parallel()
	dir, run := unfold(t, "gomicro")
	run("go", "vet", "./...")
	run("go", "test", "./...")
	run("go", "build", "-o", filepath.Join(dir, "service"), ".")
	if unformatted := run("gofmt", "-l", "."); unformatted != "" {
		t.Errorf("gofmt: %s", unformatted)
	}
}

// The start pages of the sites that Hugo and Jekyll make list the first post.
func TestProject_sites(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
	}{
		{"hugo", []string{"hugo", "--destination", "site"}},
		{"jekyll", []string{"jekyll", "build", "--destination", "site", "--disable-disk-cache"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(tt.args[0]); err != nil {
				t.Skip(tt.args[0] + " is not installed")
			}
			dir, run := unfold(t, tt.name)
			said := run(tt.args[0], tt.args[1:]...)
			page, err := os.ReadFile(filepath.Join(dir, "site", "index.html"))
			if err != nil || !strings.Contains(string(page), "The first post") {
				t.Errorf("%v: %v, %s\n%s", tt.args, err, page, said)
			}
		})
	}
}

// Every Ruby file of a template can be parsed.
func TestProject_ruby(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ruby"); err != nil {
		t.Skip("ruby is not installed")
	}
	_, run := unfold(t, "rails")
	p, _ := starter.Project("rails")
	for _, f := range p.Files {
		switch {
		case path.Ext(f.Path) == ".rb", slices.Contains([]string{"Gemfile", "Rakefile", "config.ru", "bin/rails"}, f.Path):
			run("ruby", "-c", f.Path)
		case path.Ext(f.Path) == ".erb":
			run("ruby", "-rerb", "-e", "RubyVM::InstructionSequence.compile(%(def view\n#{ERB.new(File.read(ARGV[0])).src}\nend))", f.Path)
		}
	}
}
