// Package gittest has repositories and git itself for the tests of gitstore and gitcmd.
package gittest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
)

// New returns a Git on an empty folder, closed at the end of the test.
func New(t testing.TB, change ...func(*gitcmd.Config)) *gitcmd.Git {
	t.Helper()
	c := gitcmd.Config{Root: t.TempDir()}
	for _, fn := range change {
		fn(&c)
	}
	g, err := gitcmd.New(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if n := g.Running(); n != 0 {
			t.Errorf("%d processes left after Close", n)
		}
	})
	return g
}

// NewRepo returns an empty repository with default branch main.
func NewRepo(t testing.TB, g *gitcmd.Git) *gitcmd.Repo {
	t.Helper()
	r := g.Repo("a/b/" + strings.ReplaceAll(t.Name(), "/", "_") + ".git")
	if err := r.Init(context.Background(), "main"); err != nil {
		t.Fatal(err)
	}
	return r
}

// Run runs the git command itself in a folder and returns its output.
func Run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return RunIn(t, dir, "", args...)
}

// RunIn is Run with an input.
func RunIn(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME=/nonexistent",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@x",
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		"GIT_CONFIG_KEY_1=protocol.file.allow", "GIT_CONFIG_VALUE_1=always",
		"GIT_CONFIG_KEY_2=init.defaultBranch", "GIT_CONFIG_VALUE_2=main")
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, stderr.String())
	}
	return string(out)
}

// Signature is of a person who commits at a time, in seconds.
func Signature(name string, unix int64) gitstore.Signature {
	return gitstore.Signature{Name: name, Email: name + "@example.com", When: time.Unix(unix, 0).In(time.FixedZone("", 5*3600+1800))}
}

// Commit writes a commit of these files (on top of the first parent) and returns its id.
func Commit(t testing.TB, r *gitcmd.Repo, at int64, files map[string]string, parents ...gitstore.ObjectID) gitstore.ObjectID {
	t.Helper()
	ctx := context.Background()
	var base gitstore.ObjectID
	if len(parents) > 0 {
		base = parents[0]
	}
	var changes []gitstore.TreeChange
	for path, content := range files {
		id, err := r.WriteBlob(ctx, []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, gitstore.TreeChange{Path: path, Mode: gitstore.ModeFile, ID: id})
	}
	tree, err := r.BuildTree(ctx, base, changes)
	if err != nil {
		t.Fatal(err)
	}
	id, err := r.CommitTree(ctx, gitstore.CommitInput{Tree: tree, Parents: parents, Author: Signature("Ann", at), Committer: Signature("Bob", at), Message: "at " + time.Unix(at, 0).UTC().String() + "\n"})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Point moves a reference wherever it stands.
func Point(t testing.TB, r *gitcmd.Repo, ref gitstore.RefName, id gitstore.ObjectID) {
	t.Helper()
	if err := r.UpdateRefs(context.Background(), []gitstore.RefUpdate{{Ref: ref, New: id, AnyOld: true}}); err != nil {
		t.Fatal(err)
	}
}

// Must returns a value and fails the test where there is an error.
func Must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Started returns the number of processes that fn starts.
func Started(g *gitcmd.Git, fn func()) int64 {
	before := g.Started()
	fn()
	return g.Started() - before
}

// Clone makes a work tree of a repository.
func Clone(t testing.TB, r *gitcmd.Repo) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	Run(t, t.TempDir(), "clone", "-q", r.Path(), dir)
	return dir
}

// Fsck fails the test where git finds a fault.
func Fsck(t testing.TB, r *gitcmd.Repo) {
	t.Helper()
	if err := r.Fsck(context.Background()); err != nil {
		t.Errorf("fsck: %v", err)
	}
}

// Try runs the git command and returns what it said and whether it worked.
func Try(dir string, args ...string) (string, error) { return TryIn(dir, "", args...) }

// TryIn is Try with an input.
func TryIn(dir, stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0", "HOME=/nonexistent")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
