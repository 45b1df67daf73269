package repo_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"tenon/internal/base/gitstore"
)

// oddNames are names of files that are hard to write, to quote or to match.
var oddNames = []string{
	"-dash", "--output=x", "*star", ":(glob)x", "quote\".txt", "back\\slash", "tab\tname", "new\nline", "\xff\xfe.txt",
	"\u00e4.txt", "a\u0308.txt", "sp ace/in it", " lead", "trail ", "very/deep/er/x", "\u202ebidi", "HEAD", "@{1}", "a..b",
}

// oddRefs are the branches and tags of the odd repository.
var oddRefs = []string{
	"first", "main", "side", "third", "cross1", "cross2", "crossed1", "crossed2", "octopus", "orphan", "hollow", "void", "noted",
}

// command runs the command line on the repository of the world, with its answers as git's own
// programs see them.
func (w *world) command(in string, args ...string) (string, error) {
	w.T.Helper()
	cmd := exec.CommandContext(w.T.Context(), "git", append([]string{"-C", w.open().Path()}, args...)...)
	cmd.Env = []string{
		"PATH=/usr/bin:/bin:/usr/local/bin", "HOME=/nonexistent", "TZ=UTC", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_LITERAL_PATHSPECS=1",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}
	cmd.Stdin = strings.NewReader(in)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %q: %w: %s", args, err, said.Bytes())
	}
	return string(out), err
}

// prints is what the command line prints.
func (w *world) prints(args ...string) string {
	w.T.Helper()
	out, err := w.said(args...)
	check(w.T, err)
	return out
}

// saying is what the command line said.
type saying struct {
	out string
	err error
}

// said is command for a repository that does not change: nothing is asked twice.
func (w *world) said(args ...string) (string, error) {
	w.T.Helper()
	key := strings.Join(args, "\x00")
	if w.sayings == nil {
		w.sayings = map[string]saying{}
	}
	if known, ok := w.sayings[key]; ok {
		return known.out, known.err
	}
	out, err := w.command("", args...)
	w.sayings[key] = saying{out, err}
	return out, err
}

// importer writes a stream for git fast-import.
type importer struct {
	strings.Builder
	mark int
}

// commit begins a commit; what follows are its files. Parents are marks.
func (i *importer) commit(branch, author, message string, at int, parents ...int) int {
	i.mark++
	fmt.Fprintf(i, "commit refs/heads/%s\nmark :%d\nauthor %s %d -0730\ncommitter Carla <c@x.org> %d +0200\ndata %d\n%s\n",
		branch, i.mark, author, at, at, len(message), message)
	for n, p := range parents {
		fmt.Fprintf(i, "%s :%d\n", map[bool]string{true: "from", false: "merge"}[n == 0], p)
	}
	return i.mark
}

// quoted writes a path as fast-import reads it, whatever bytes it has.
func quoted(path string) string {
	var out strings.Builder
	for _, c := range []byte(path) {
		fmt.Fprintf(&out, "\\%03o", c)
	}
	return `"` + out.String() + `"`
}

func (i *importer) file(mode, path, content string) {
	fmt.Fprintf(i, "M %s inline %s\ndata %d\n%s\n", mode, quoted(path), len(content), content)
}

func (i *importer) remove(path string) { fmt.Fprintf(i, "D %s\n", quoted(path)) }

func (i *importer) submodule(path string, digit byte) {
	fmt.Fprintf(i, "M 160000 %s %s\n", strings.Repeat(string(digit), 40), quoted(path))
}

// numbered is a text of so many lines; some say something else.
func numbered(n int, instead map[int]string) string {
	var out strings.Builder
	for i := range n {
		if line, ok := instead[i]; ok {
			out.WriteString(line + "\n")
		} else {
			fmt.Fprintf(&out, "This is line %d of the file\n", i)
		}
	}
	return out.String()
}

// oddities fills the repository of the world with everything that is odd.
func (w *world) oddities() {
	w.T.Helper()
	w.put("main", "README.md", "hello\n") // which makes main the default branch
	i := &importer{}
	const ann, ben, strange = "Ann <ann@x.org>", "Ben <ben@x.org>", "J\xf6rg <j@x.org>"
	first := i.commit("first", ann, "First\n\nwith a body\n", 1000)
	i.WriteString("deleteall\n")
	for _, name := range oddNames {
		i.file("100644", "odd/"+name, numbered(30, map[int]string{3: name}))
	}
	i.file("100644", "dir/a.txt", numbered(100, nil))
	i.file("100644", "copied.txt", numbered(60, map[int]string{1: "copy"}))
	i.file("100644", "binary.dat", "\x00\x01\x02"+strings.Repeat("\x00\xff", 200))
	i.file("100644", "script.sh", "#!/bin/sh\n")
	i.file("120000", "link", "dir/a.txt")
	i.file("100644", "becomes-link", "dir/a.txt")
	i.file("100644", "becomes-folder", "x\n")
	i.file("100644", "empty", "")
	i.file("100644", "crlf.txt", "one\r\ntwo\r\n")
	i.file("100644", "no-end", "one\ntwo")
	i.submodule("module", '1')
	i.file("100644", ".gitattributes", "*.dat binary\n")

	main := i.commit("main", ben, "Rename, chmod, change types\n\nThis-Is: a trailer\n", 1001, first)
	i.remove("dir/a.txt")
	i.file("100644", "moved/b.txt", numbered(100, map[int]string{50: "changed", 51: "changed"}))
	i.file("100755", "script.sh", "#!/bin/sh\n")
	i.file("100644", "binary.dat", "\x00\x01\x03"+strings.Repeat("\x00\xff", 200))
	i.file("120000", "becomes-link", "dir/a.txt")
	i.remove("becomes-folder")
	i.file("100644", "becomes-folder/inside", "x\n")
	i.remove("odd/\xff\xfe.txt")
	i.file("100644", "odd/\xfe.txt", numbered(30, map[int]string{3: "\xff\xfe.txt"}))
	i.file("100644", "no-end", "one\ntwo\n")
	i.file("100644", "crlf.txt", "one\r\nthree\r\n")
	i.submodule("module", '2')
	i.submodule("second", '3')

	side := i.commit("side", strange, "Side", 1001, first) // at the same time as main
	i.file("100644", "side.txt", "side\n")
	i.file("100644", "copied.txt", numbered(60, map[int]string{1: "copy", 30: "side"}))
	third := i.commit("third", ann, "Third without a change", 999, first) // older than its parent
	cross1 := i.commit("cross1", ann, "Cross one way", 1002, main, side)
	i.file("100644", "side.txt", "side\n")
	cross2 := i.commit("cross2", ben, "Cross the other way", 1002, side, main)
	i.file("100644", "moved/b.txt", numbered(100, map[int]string{50: "changed"}))
	i.commit("crossed1", ann, "After one", 1003, cross1)
	i.file("100644", "one", "1\n")
	i.commit("crossed2", strange, "After the other", 1003, cross2)
	i.file("100644", "other", "2\n")
	i.commit("octopus", ann, "Octopus", 1004, main, side, third)
	i.file("100644", "side.txt", "side\n")
	orphan := i.commit("orphan", ben, "Begin anew", 5)
	i.WriteString("deleteall\n")
	i.file("100644", "moved/b.txt", "nothing in common\n")
	hollow := i.commit("hollow", ann, "Nothing left", 1005, orphan)
	i.WriteString("deleteall\n")
	void := i.commit("void", strange, "", 1006, hollow)
	i.file("100644", "after-nothing", "x\n")
	fmt.Fprintf(i, "tag noted\nfrom :%d\ntagger Carla <c@x.org> 1007 +0000\ndata 5\nNoted\n", void)
	i.WriteString("done\n")
	_, err := w.command(i.String(), "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--force", "--done")
	check(w.T, err)
	w.git.Trim() // it was written behind the server's back
}

// rev returns the commit of an odd reference.
func (w *world) rev(t *testing.T, name string) gitstore.ObjectID {
	t.Helper()
	id, err := gitstore.ParseObjectID(strings.TrimSpace(w.prints("rev-parse", name+"^{commit}")))
	check(t, err)
	return id
}
