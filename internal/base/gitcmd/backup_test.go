package gitcmd_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// exported is one file of an export.
type exported struct{ name, content string }

func export(t *testing.T, r *gitcmd.Repo, keep bool) []exported {
	t.Helper()
	var out []exported
	err := r.Export(t.Context(), func(*gitcmd.Repo) bool { return keep }, func(name string, size int64, content io.Reader) error {
		all, err := io.ReadAll(content)
		if int64(len(all)) != size {
			t.Errorf("%s: got %d bytes, want %d", name, len(all), size)
		}
		out = append(out, exported{name, string(all)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func files(list []exported) func() (string, io.Reader, error) {
	return func() (string, io.Reader, error) {
		if len(list) == 0 {
			return "", nil, io.EOF
		}
		f := list[0]
		list = list[1:]
		return f.name, strings.NewReader(f.content), nil
	}
}

// TestRepo_Export brings a source, its pool and a fork to another root, loose and packed.
func TestRepo_Export(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		s := newShared(t)
		ctx := t.Context()
		own := gittest.Commit(t, s.fork, 9000, map[string]string{"own": "own\n"}, s.tip)
		gittest.Point(t, s.fork, "refs/heads/own", own)
		if err := s.source.SetHead(ctx, "refs/heads/other"); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"hooks/update": "#!/bin/sh\nexit 1\n", "config.worktree": "x", "objects/info/junk": "x"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(s.source.Path(), name)), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.source.Path(), name), []byte(content), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if packed {
			for _, r := range []*gitcmd.Repo{s.source, s.fork} {
				if err := r.Maintain(ctx, gitcmd.Maintenance{Full: true}); err != nil {
					t.Fatal(err)
				}
			}
		}
		to := gittest.New(t)
		pool, source, linked, whole := to.Repo("p.git"), to.Repo("s.git"), to.Repo("l.git"), to.Repo("w.git")
		for r, list := range map[*gitcmd.Repo][]exported{source: export(t, s.source, false), pool: export(t, s.pool, false), whole: export(t, s.fork, false)} {
			if err := r.Import(ctx, nil, files(list)); err != nil {
				t.Fatal(err)
			}
		}
		fork := export(t, s.fork, true)
		if err := linked.Import(ctx, pool, files(fork)); err != nil {
			t.Fatal(err)
		}
		if err := to.Repo("none.git").Import(ctx, nil, files(fork)); err == nil {
			t.Error("a linked repository without its pool was taken")
		}
		for from, r := range map[*gitcmd.Repo][]*gitcmd.Repo{s.source: {source}, s.fork: {linked, whole}, s.pool: {pool}} {
			for _, r := range r {
				got, want := gittest.Run(t, r.Path(), "show-ref", "-d")+gittest.Run(t, r.Path(), "symbolic-ref", "HEAD"), gittest.Run(t, from.Path(), "show-ref", "-d")+gittest.Run(t, from.Path(), "symbolic-ref", "HEAD")
				if got != want {
					t.Errorf("%s: got\n%swant\n%s", r.Path(), got, want)
				}
				if err := r.Fsck(ctx); err != nil {
					t.Errorf("%s: %v", r.Path(), err)
				}
				if other, err := r.Linked(); err != nil || (other != nil) != (r == linked) {
					t.Errorf("%s: linked to %v, %v", r.Path(), other, err)
				}
			}
		}
		if left, _ := filepath.Glob(filepath.Join(source.Path(), "hooks", "*")); left != nil {
			t.Errorf("hooks came along: %v", left)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.source.Path()), "../../@backup/*")); left != nil {
			t.Errorf("left: %v", left)
		}
	}
}

// TestRepo_Export_housekeeping packs, prunes and deletes the repository while it is exported:
// every object that the references name then is in the export.
func TestRepo_Export_housekeeping(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newShared(t)
	var list []exported
	disturbed := false
	err := s.source.Export(ctx, func(*gitcmd.Repo) bool { return false }, func(name string, _ int64, content io.Reader) error {
		if !disturbed {
			disturbed = true
			if err := s.source.Maintain(ctx, gitcmd.Maintenance{Full: true, Grace: 1}); err != nil {
				return err
			}
			if err := s.source.Remove(ctx); err != nil {
				return err
			}
		}
		all, err := io.ReadAll(content)
		list = append(list, exported{name, string(all)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	to := gittest.New(t).Repo("x.git")
	if err := to.Import(ctx, nil, files(list)); err != nil {
		t.Fatal(err)
	}
	if err := to.Fsck(ctx); err != nil {
		t.Error(err)
	}
	if id, err := to.Ref(ctx, "refs/merge-requests/1/head"); err != nil || id != s.hidden {
		t.Errorf("got %v, %v", id, err)
	}
	err = s.source.Export(ctx, func(*gitcmd.Repo) bool { return false }, func(string, int64, io.Reader) error { return nil })
	if !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("a repository that is gone: got %v", err)
	}
}

// TestRepo_Import_hostile refuses what no export has, above all what git would run or follow.
func TestRepo_Import_hostile(t *testing.T) {
	t.Parallel()
	const id = "0123456789012345678901234567890123456789"
	refs := exported{"refs", "HEAD refs/heads/main\n"}
	for name, list := range map[string][]exported{
		"hook":             {refs, {"hooks/post-receive", "#!/bin/sh"}},
		"configuration":    {refs, {"config", "[core]\nfsmonitor = evil"}},
		"alternates":       {refs, {"objects/info/alternates", "/etc"}},
		"index":            {refs, {"objects/pack/pack-" + id + ".idx", "x"}},
		"climbing":         {refs, {"objects/../../x", "x"}},
		"broken pack":      {refs, {"objects/pack/pack-" + id + ".pack", "PACK\x00\x00\x00\x02\x00\x00\x00\x09"}},
		"object twice":     {refs, {"objects/01/" + id[2:], "x"}, {"objects/01/" + id[2:], "y"}},
		"link":             {refs, {"linked", ""}},
		"no references":    {{"objects/01/" + id[2:], "x"}},
		"no HEAD":          {{"refs", id + " refs/heads/main\n"}},
		"HEAD elsewhere":   {{"refs", "HEAD ../../etc/passwd\n"}},
		"HEAD no branch":   {{"refs", "HEAD refs/tags/v1\n"}},
		"climbing ref":     {{"refs", "HEAD refs/heads/main\n" + id + " refs/heads/../../config\n"}},
		"ref outside":      {{"refs", "HEAD refs/heads/main\n" + id + " config\n"}},
		"unsorted":         {{"refs", "HEAD refs/heads/main\n" + id + " refs/heads/b\n" + id + " refs/heads/a\n"}},
		"symbolic ref":     {{"refs", "HEAD refs/heads/main\nref: refs/heads/b\n"}},
		"ref to nothing":   {{"refs", "HEAD refs/heads/main\n" + id + " refs/heads/a\n^x\n"}},
		"newline in names": {{"refs", "HEAD refs/heads/main\n" + id + " refs/heads/a\rb\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gittest.New(t)
			r := g.Repo("x/y.git")
			if err := r.Import(context.Background(), nil, files(list)); err == nil {
				t.Error("it was taken")
			}
			for _, file := range []string{"hooks", "objects/info/alternates"} {
				if _, err := os.Lstat(filepath.Join(r.Path(), file)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s: %v", file, err)
				}
			}
			if config, err := os.ReadFile(filepath.Join(r.Path(), "config")); err == nil && bytes.Contains(config, []byte("evil")) {
				t.Errorf("config is %s", config)
			}
		})
	}
}
