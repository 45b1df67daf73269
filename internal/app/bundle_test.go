package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/gittest"
)

// workTree is a repository of git with its files, which an archive may have as a bundle.
type workTree struct {
	t      *testing.T
	folder string
}

// newWorkTree makes an empty repository whose branch is main.
func newWorkTree(t *testing.T) workTree {
	t.Helper()
	w := workTree{t, t.TempDir()}
	w.git("init", "-q", "-b", "main")
	return w
}

func (w workTree) git(args ...string) string {
	w.t.Helper()
	return strings.TrimSpace(gittest.Run(w.t, w.folder, args...))
}

func (w workTree) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.folder, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// commit writes a file, commits all, and returns the commit.
func (w workTree) commit(message, name, text string) string {
	w.t.Helper()
	w.write(name, text)
	w.git("add", ".")
	w.git("commit", "-qm", message)
	return w.git("rev-parse", "HEAD")
}

// bundle returns a bundle of all references.
func (w workTree) bundle() string {
	w.t.Helper()
	name := filepath.Join(w.t.TempDir(), "out.bundle")
	w.git("bundle", "create", "-q", name, "--all")
	text, err := os.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}
