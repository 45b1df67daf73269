package scripts

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tenon/test/servertest"
)

// sources returns the text of all programs, without their tests.
func sources(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, root := range []string{"../../internal", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			b.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// A text that goes on in the next line is one text.
	return regexp.MustCompile(`" \+\s*"`).ReplaceAllString(b.String(), "")
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	quoted  = regexp.MustCompile("`([^`]+)`")
	between = regexp.MustCompile(`\.\.\.|%[a-z]`)
)

// TestOperate_words finds the messages and metrics that docs/operate.md quotes in the source.
func TestOperate_words(t *testing.T) {
	t.Parallel()
	page, source := readPage(t, "docs/operate.md"), sources(t)
	_, table, _ := strings.Cut(page, "\n## Troubleshooting\n")
	rows := 0
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 2 || !strings.Contains(cells[0], "`") {
			continue
		}
		rows++
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			for _, part := range between.Split(m[1], -1) {
				if part = strings.Trim(part, " :,"); len(part) > 3 && !strings.Contains(source, part) {
					t.Errorf("the source does not say %q of the message %q", part, m[1])
				}
			}
		}
	}
	if rows < 10 {
		t.Errorf("%d messages, want the table of them", rows)
	}
	metrics := regexp.MustCompile("`(tenon_[a-z_]+)`").FindAllStringSubmatch(page, -1)
	for _, m := range metrics {
		if !strings.Contains(source, `"`+m[1]+`"`) {
			t.Errorf("there is no metric %s", m[1])
		}
	}
	if len(metrics) == 0 {
		t.Error("no metrics, want some")
	}
}

// TestOperate_commands asks the program whether it has the commands and flags that the
// page names, and bash whether it can read them.
func TestOperate_commands(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`(?:^|sudo -u tenon |exec tenon )tenon ([a-z]+(?: [a-z]+)*)((?: \S+)*)`)
	seen := 0
	for _, b := range fenced(t, "docs/operate.md", "") {
		if b.language != "sh" {
			continue
		}
		if out, err := exec.CommandContext(t.Context(), "bash", "-n", "-c", b.text).CombinedOutput(); err != nil {
			t.Errorf("%v: %s\n%s", err, out, b.text)
		}
		for line := range strings.SplitSeq(b.text, "\n") {
			m := call.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			seen++
			help, err := exec.CommandContext(t.Context(), servertest.Binary(t), append(strings.Fields(m[1]), "--help")...).CombinedOutput()
			if err != nil || !strings.Contains(string(help), "tenon "+m[1]) {
				t.Errorf("%s: %v, %s, want a command", line, err, help)
			}
			for _, word := range strings.Fields(m[2]) {
				if strings.HasPrefix(word, "--") && !strings.Contains(string(help), word) {
					t.Errorf("%s: the command has no %s", line, word)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no commands, want some")
	}
}

// TestOperate_links follows the links of pages for people who use and run the server.
func TestOperate_links(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "docs/operate.md", "docs/ci.md"} {
		for _, m := range link.FindAllStringSubmatch(readPage(t, name), -1) {
			if _, err := os.Stat(filepath.Join("../..", filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
}
