package scripts

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tenon/test/servertest"
)

// block is a fenced block of a page.
type block struct{ language, text string }

// fenced returns the blocks of a section, or of a page where the section is "".
func fenced(t *testing.T, page, section string) []block {
	t.Helper()
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	rest := string(text)
	if section != "" {
		_, after, ok := strings.Cut(rest, "\n## "+section+"\n")
		if !ok {
			t.Fatalf("%s has no section %q", page, section)
		}
		rest, _, _ = strings.Cut(after, "\n## ")
	}
	var out []block
	for i, part := range strings.Split("\n"+rest, "\n```") {
		if i%2 == 1 {
			language, text, _ := strings.Cut(part, "\n")
			out = append(out, block{language, text + "\n"})
		}
	}
	return out
}

var fileMark = regexp.MustCompile(`^(?:#|//) file: (\S+)\n`)

// ciFolder is a folder with the files of docs/ci.md and the program in PATH.
func ciFolder(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	bin := filepath.Join(dir, "program")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(servertest.Binary(t), filepath.Join(bin, "tenon")); err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	t.Cleanup(func() {
		if left, err := filepath.Glob(filepath.Join(tmp, "tenon-dev-*")); err != nil || len(left) != 0 {
			t.Errorf("left: %q, %v, want nothing", left, err)
		}
	})
	env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "TMPDIR="+tmp, "TENON_DOWNLOAD=file://"+bin,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "TENON_BIN=")
	for _, b := range fenced(t, "docs/ci.md", "") {
		if m := fileMark.FindStringSubmatch(b.text); m != nil {
			if err := os.WriteFile(filepath.Join(dir, m[1]), []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir, env
}

// execute runs a script as CI systems do.
func execute(ctx context.Context, t *testing.T, dir string, env []string, script string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, "bash", "-e", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

// TestCI runs the examples of docs/ci.md as they are printed.
func TestCI(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		section string
		needs   []string
		want    string // printed, beside what the page says
	}{
		{"Shell", []string{"git", "curl", "ssh-keygen"}, ""},
		{"Go", []string{"go"}, "ok"},
		{"Python", []string{"python3"}, "OK"},
		{"Node", []string{"node"}, "pass 1"},
	} {
		t.Run(tt.section, func(t *testing.T) {
			t.Parallel()
			for _, program := range append(tt.needs, "bash") {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("%s: skipped (not installed)", program)
				}
			}
			root, err := filepath.Abs("../..")
			if err != nil {
				t.Fatal(err)
			}
			dir, env := ciFolder(t)
			ran, printed := 0, ""
			for _, b := range fenced(t, "docs/ci.md", tt.section) {
				switch {
				case fileMark.MatchString(b.text):
				case b.language == "sh":
					printed = execute(t.Context(), t, dir, env, strings.ReplaceAll(b.text, "/path/to/tenon", root))
					ran++
				case b.language == "" && !strings.Contains(printed, b.text[:len(b.text)-1]):
					t.Errorf("printed %q, want %q in it", printed, b.text)
				}
			}
			if ran == 0 || !strings.Contains(printed, tt.want) {
				t.Errorf("%d scripts printed %q, want %q in it", ran, printed, tt.want)
			}
		})
	}
}

// yamlBlock gives the example whose first line is "# <name>".
func yamlBlock(t *testing.T, name string, into any) {
	t.Helper()
	for _, b := range fenced(t, "docs/ci.md", "") {
		if b.language == "yaml" && strings.HasPrefix(b.text, "# "+name+"\n") {
			if err := yaml.Unmarshal([]byte(b.text), into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("docs/ci.md has no example %q", name)
}

// TestCI_github runs the steps, each with a shell of its own, and hands on their environment.
func TestCI_github(t *testing.T) {
	t.Parallel()
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run, If string }
		}
	}
	yamlBlock(t, "github", &workflow)
	dir, env := ciFolder(t)
	file := filepath.Join(t.TempDir(), "env")
	printed := ""
	steps := workflow.Jobs["test"].Steps
	// The server, which was told to end, does so by itself.
	steps = append(steps, struct{ Name, Run, If string }{Run: "tail --pid=$TENON_PID -f /dev/null"})
	for _, step := range steps {
		if step.Run == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		given := append(slices.Clone(env), "GITHUB_ENV="+file)
		given = append(given, strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })...)
		printed += execute(t.Context(), t, dir, given, step.Run)
	}
	if want := "the tests have passed\n"; printed != want {
		t.Errorf("the steps printed %q, want %q", printed, want)
	}
}

// TestCI_gitlab runs the lines of a job.
func TestCI_gitlab(t *testing.T) {
	t.Parallel()
	var jobs map[string]struct {
		Before []string `yaml:"before_script"`
		Script []string
	}
	yamlBlock(t, "gitlab", &jobs)
	dir, env := ciFolder(t)
	job := jobs["test"]
	if len(job.Script) == 0 {
		t.Fatal("the job has no script")
	}
	printed := execute(t.Context(), t, dir, env, strings.Join(append(job.Before, job.Script...), "\n"))
	if want := "the tests have passed\n"; printed != want {
		t.Errorf("the job printed %q, want %q", printed, want)
	}
}
