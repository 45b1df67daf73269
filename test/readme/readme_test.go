// Package readme runs the commands of the README as they stand there.
package readme

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"tenon/test/program"
	"tenon/test/servertest"
)

// TestReadme runs every block of shell commands of the README, one after the other in one shell, and holds what
// each prints against the block that follows. Three dots stand for any text. The address is that of a server on
// a port of its own. What the operator's commands say of their work, on standard error, is left out.
func TestReadme(t *testing.T) {
	for _, name := range []string{"git", "curl", "bash", "ssh-keygen"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s: skipped (not installed)", name)
		}
	}
	source, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	steps := stepsOf(source)
	if len(steps) < 8 {
		t.Fatalf("the README has %d blocks of commands", len(steps))
	}

	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(servertest.Binary(t), filepath.Join(bin, "tenon")); err != nil {
		t.Fatal(err)
	}
	runner, missing := program.Runner(t)
	if missing == "" {
		if err := os.Symlink(runner, filepath.Join(bin, "gitlab-runner")); err != nil {
			t.Fatal(err)
		}
	}
	server := servertest.StartNew(t, filepath.Join(dir, "tenon-data"))
	const address = "127.0.0.1:8080"
	here := strings.TrimPrefix(server.URL, "http://")

	var script strings.Builder
	script.WriteString("set -euo pipefail\n")
	for i := range steps {
		s := &steps[i]
		if missing != "" && strings.Contains(s.commands, "gitlab-runner") {
			t.Logf("gitlab-runner: skipped (%s)", missing)
			s.skipped = true
		} else {
			script.WriteString(strings.ReplaceAll(s.commands, address, here))
		}
		fmt.Fprintf(&script, "echo '%s'\n", end(i))
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the commands: %v\n%s", err, out)
	}
	rest := string(out)
	for i, s := range steps {
		printed, after, ok := strings.Cut(rest, end(i)+"\n")
		if !ok {
			t.Fatalf("not reached:\n%s", s.commands)
		}
		rest = after
		if !s.skipped && !s.expected(here, address).MatchString(notices.ReplaceAllString(printed, "")) {
			t.Errorf("%s\nprints\n%s\nand should\n%s", s.commands, printed, s.output)
		}
	}
}

var notices = regexp.MustCompile(`(?m)^tenon: .*\n`)

// end is the line after what a step prints.
func end(step int) string { return fmt.Sprintf("---- end of step %d", step) }

// step is a block of commands and what the README says that it prints.
type step struct {
	commands, output string
	skipped          bool
}

func (s step) expected(here, address string) *regexp.Regexp {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(s.output, address, here), "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(l, " ")), `\.\.\.`, ".*") + " *"
	}
	return regexp.MustCompile(`\A` + strings.Join(lines, "\n") + `\n*\z`)
}

// stepsOf finds the blocks of shell commands, and the block without a language that may follow at once.
func stepsOf(source []byte) []step {
	var out []step
	for n := goldmark.New().Parser().Parse(text.NewReader(source)).FirstChild(); n != nil; n = n.NextSibling() {
		block, ok := n.(*ast.FencedCodeBlock)
		if !ok || string(block.Language(source)) != "sh" {
			continue
		}
		s := step{commands: string(block.Lines().Value(source))}
		if printed, ok := n.NextSibling().(*ast.FencedCodeBlock); ok && printed.Info == nil {
			s.output = string(printed.Lines().Value(source))
		}
		out = append(out, s)
	}
	return out
}
