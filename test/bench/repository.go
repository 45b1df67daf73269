package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
)

// plainGit is the environment in which no user's configuration counts.
func plainGit() []string {
	return append(foreign(os.Environ()), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// git runs one command and returns its output.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, plainGit()
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, exit.Stderr)
	}
	return string(out), err
}

const perFolder = 100

func filePath(i int) string {
	return fmt.Sprintf("src/part%02d/file%03d.txt", i/perFolder, i%perFolder)
}

// tenKB reports which files have ten kilobytes.
func tenKB(i int) bool { return i%10 == 0 }

func featureBranch(i int) string { return fmt.Sprintf("feature/%03d", i) }
func mergeBranch(i int) string   { return fmt.Sprintf("merge/%03d", i) }
func loadBranch(i int) string    { return fmt.Sprintf("load/%d", i) }

// pushes is how many commits the measurement of pushing has at hand.
const pushes = 48

// makeRepository makes the repository with one git fast-import; it is the same each time.
func (f *filler) makeRepository(ctx context.Context) (int, error) {
	if err := os.MkdirAll(f.source, 0o700); err != nil {
		return 0, err
	}
	if _, err := git(ctx, f.source, "init", "-q", "--bare", "-b", "main", "."); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, "git", "fast-import", "--quiet")
	cmd.Dir, cmd.Env, cmd.Stderr = f.source, plainGit(), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	h := &history{out: bufio.NewWriter(in), random: rand.New(rand.NewPCG(1, 2))}
	h.write(f.size)
	if err := errors.Join(h.out.Flush(), in.Close(), cmd.Wait()); err != nil {
		return 0, fmt.Errorf("git fast-import: %w", err)
	}
	return f.commits, nil
}

// history writes what git fast-import reads. Errors of the writer stay until Flush.
type history struct {
	out    *bufio.Writer
	random *rand.Rand
	when   int
	marks  int
	files  [][]string // lines of the files on main
}

// write makes main, then the branches that leave it.
func (h *history) write(s size) {
	h.files = make([][]string, s.files)
	for i := range s.commits {
		h.commit("main", "")
		if i < s.files {
			bytes := 4000 + h.random.IntN(8000)
			if tenKB(i) {
				bytes = 10_000
			}
			h.files[i] = h.lines(bytes)
			h.file(filePath(i), h.files[i])
		} else {
			h.change(h.random.IntN(s.files))
		}
		if i%2 == 0 {
			h.change(h.random.IntN(min(i+1, s.files)))
		}
	}
	h.branches(s)
}

func (h *history) branches(s size) {
	old := s.commits - s.commits/10
	for i := range s.requests {
		h.commit(featureBranch(i), mark(old+i%(s.commits/10)))
		h.file(fmt.Sprintf("feature/%03d.txt", i), h.lines(2000))
		h.commit(featureBranch(i), "")
		h.file(fmt.Sprintf("feature/%03d.txt", i), h.lines(2500))
	}
	for i := range s.merges {
		h.commit(mergeBranch(i), mark(s.commits))
		h.file(fmt.Sprintf("merged/%03d.txt", i), h.lines(2000))
	}
	h.reset("compare/base", mark(s.commits))
	for i := range 10 {
		h.commit("compare/head", fromFirst(i, mark(s.commits)))
		for j := range 2 {
			n := i*2 + j
			lines := append([]string{h.line()}, h.files[n]...)
			h.file(filePath(n), append(lines, h.line()))
		}
	}
	for i := range 8 {
		h.reset(loadBranch(i), mark(s.commits))
	}
	for i := range pushes {
		h.commit("push", fromFirst(i, mark(s.commits)))
		h.file("pushed.txt", h.lines(2000))
	}
}

// fromFirst names the parent of a branch's first commit; later ones have their branch.
func fromFirst(i int, parent string) string {
	if i == 0 {
		return parent
	}
	return ""
}

func mark(n int) string { return fmt.Sprintf(":%d", n) }

func (h *history) reset(branch, at string) {
	fmt.Fprintf(h.out, "reset refs/heads/%s\nfrom %s\n\n", branch, at)
}

func (h *history) commit(branch, parent string) {
	h.marks++
	h.when += 600
	message := fmt.Sprintf("%s: change %d\n\n%s\n", branch, h.marks, "Why this was done, in a sentence or two that somebody may read.")
	fmt.Fprintf(h.out, "commit refs/heads/%s\nmark :%d\ncommitter User %d <user%02d@example.com> %d +0000\ndata %d\n%s",
		branch, h.marks, h.marks%50+1, h.marks%50+1, 1_600_000_000+h.when, len(message), message)
	if parent != "" {
		fmt.Fprintf(h.out, "from %s\n", parent)
	}
}

func (h *history) file(path string, lines []string) {
	text := strings.Join(lines, "")
	fmt.Fprintf(h.out, "M 100644 inline %s\ndata %d\n", path, len(text))
	_, _ = io.WriteString(h.out, text+"\n")
}

// change replaces a line of a file on main.
func (h *history) change(i int) {
	lines := h.files[i]
	lines[h.random.IntN(len(lines))] = h.line()
	h.file(filePath(i), lines)
}

// lines makes text of about so many bytes.
func (h *history) lines(bytes int) []string {
	var out []string
	for n := 0; n < bytes; {
		line := h.line()
		n += len(line)
		out = append(out, line)
	}
	return out
}

func (h *history) line() string {
	words := [...]string{"commit", "branch", "release", "order", "server", "reader", "column", "answer", "merge", "review"}
	return fmt.Sprintf("%s %s = %x, %s\n", words[h.random.IntN(len(words))], words[h.random.IntN(len(words))],
		h.random.Uint64(), words[h.random.IntN(len(words))])
}
