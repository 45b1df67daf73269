package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tenon/test/servertest"
)

// TestReadme runs the commands of the README's tour as they are printed, and looks for
// every line that the README says they print.
func TestReadme(t *testing.T) {
	for _, program := range []string{"git", "curl", "bash", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s: skipped (not installed)", program)
		}
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tour, ok := strings.Cut(string(text), "## Five minutes")
	if !ok {
		t.Fatal("the README has no tour")
	}
	tour, _, _ = strings.Cut(tour, "\n## Looking after it")
	commands, output := blocks(tour)
	if len(commands) == 0 || len(output) == 0 {
		t.Fatalf("%d blocks of commands and %d of output, want some of each", len(commands), len(output))
	}

	data, err := os.MkdirTemp("", "tenon-readme-") //nolint:usetesting // servertest removes it once the server's children are gone
	if err != nil {
		t.Fatal(err)
	}
	// The first start makes up the credentials that the tour reads.
	if out, err := exec.CommandContext(t.Context(), servertest.Binary(t), "migrate", "--data", data).CombinedOutput(); err != nil {
		t.Fatalf("first start: %v\n%s", err, out)
	}
	s := servertest.StartOn(t, data, "")
	dir := t.TempDir()
	if err := os.Symlink(s.Data, filepath.Join(dir, "tenon-data")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(servertest.Binary(t), filepath.Join(dir, "bin", "tenon")); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(s.URL, "http://")
	here := strings.NewReplacer("127.0.0.1:8080", address)
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", here.Replace(strings.Join(commands, "\n")))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := map[string]bool{}
	for line := range strings.SplitSeq(string(out), "\n") {
		printed[strings.TrimRight(line, " ")] = true
	}
	for _, block := range output {
		for line := range strings.SplitSeq(strings.TrimSpace(block), "\n") {
			if strings.Contains(line, "...") {
				continue // what differs from build to build
			}
			if !printed[here.Replace(line)] {
				t.Errorf("the README says %q, which is not in\n%s", line, out)
			}
		}
	}
}

// blocks gives the fenced blocks of a text: those marked sh, and those without a mark.
func blocks(text string) (commands, output []string) {
	for i, part := range strings.Split(text, "```") {
		if i%2 == 0 {
			continue
		}
		if script, ok := strings.CutPrefix(part, "sh\n"); ok {
			commands = append(commands, script)
		} else {
			output = append(output, strings.TrimPrefix(part, "\n"))
		}
	}
	return commands, output
}
