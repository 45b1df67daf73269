package repo_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sort"
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/repo"
)

// odd makes a branch with a name that has a slash and files of every mode.
func (w *world) odd() string {
	w.T.Helper()
	w.put("main", "README.md", "hello\n")
	script := "#!/bin/sh\n"
	c, err := w.repos.Commit(w.T.Context(), w.owner, w.as(w.owner), repo.CommitInput{
		Branch: "feature/odd", StartBranch: "main", Message: "odd",
		Actions: []repo.Action{
			{Kind: repo.ActionCreate, Path: "bin/run", Content: &script, Executable: ptr(true)},
			{Kind: repo.ActionCreate, Path: "docs/ä b.md", Content: ptr(strings.Repeat("text\n", 20_000))},
			{Kind: repo.ActionCreate, Path: "docs/deep/er/x", Content: ptr("")},
		},
	})
	check(w.T, err)
	return c.ID.String()
}

// listing returns name, mode and size of every file of an archive.
func tarListing(t *testing.T, in io.Reader) string {
	t.Helper()
	var out []string
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			sort.Strings(out)
			return strings.Join(out, "\n")
		}
		check(t, err)
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		out = append(out, fmt.Sprintf("%s %o %d", h.Name, h.Mode, h.Size))
	}
}

func (w *world) archive(who authz.Actor, ref, path, suffix string) (*repo.Archive, []byte) {
	w.T.Helper()
	a, err := w.repos.Archive(w.T.Context(), who, w.as(who), repo.ArchiveInput{Ref: ref, Path: path, Suffix: suffix})
	check(w.T, err)
	b, err := io.ReadAll(a.Reader)
	check(w.T, errors.Join(err, a.Reader.Close()))
	return a, b
}

// Every format holds what git itself puts into an archive.
func TestService_Archive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		sha := w.odd()
		folder := "shop-feature-odd-" + sha
		git := exec.CommandContext(t.Context(), "git", "-C", w.open().Path(), "archive", "--format=tar", "--prefix="+folder+"/", sha)
		git.Env = []string{"GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "PATH=/usr/bin:/bin"}
		printed, err := git.Output()
		check(t, err)
		want := tarListing(t, bytes.NewReader(printed))
		for suffix, name := range map[string]string{
			"": "tar.gz", "tar.gz": "tar.gz", "tgz": "tar.gz", "gz": "tar.gz", "tar": "tar", "zip": "zip",
			"tar.bz2": "tar.bz2", "tbz": "tar.bz2", "tbz2": "tar.bz2", "tb2": "tar.bz2", "bz2": "tar.bz2",
		} {
			a, b := w.archive(w.reporter, "feature/odd", "", suffix)
			if a.Name != folder+"."+name {
				t.Errorf("%q: name %s", suffix, a.Name)
			}
			var in io.Reader = bytes.NewReader(b)
			switch name {
			case "tar.gz":
				in, err = gzip.NewReader(in)
				check(t, err)
			case "tar.bz2":
				in = bzip2.NewReader(in)
			case "zip":
				z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
				check(t, err)
				var names []string
				for _, f := range z.File {
					names = append(names, f.Name)
				}
				sort.Strings(names)
				if lines := strings.Split(want, "\n"); len(lines) != len(names) || !strings.HasPrefix(lines[1], names[1]+" ") {
					t.Errorf("zip holds %q, want %q", names, lines)
				}
				if a.Type != "application/zip" {
					t.Errorf("zip is %s", a.Type)
				}
				continue
			}
			if got := tarListing(t, in); got != want {
				t.Errorf("%q\n got %s\nwant %s", suffix, got, want)
			}
		}
	})
}

func TestService_Archive_partsAndRefusals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		sha := w.odd()
		a, b := w.archive(w.reporter, sha, "/docs/deep/", "tar")
		if want := "shop-" + sha + "-" + sha + "-docs-deep.tar"; a.Name != want {
			t.Errorf("name %s, want %s", a.Name, want)
		}
		if got, dir := tarListing(t, bytes.NewReader(b)), strings.TrimSuffix(a.Name, ".tar"); !strings.Contains(got, dir+"/docs/deep/er/x 664 0") || strings.Contains(got, "README") {
			t.Errorf("part holds %s", got)
		}
		if a, _ := w.archive(w.reporter, "", "", "tar"); !strings.HasPrefix(a.Name, "shop-main-") {
			t.Errorf("default branch: %s", a.Name)
		}
		// The same again starts no process.
		before := w.git.Started()
		if a, again := w.archive(w.developer, sha, "docs/deep", "tar"); !bytes.Equal(again, b) || !a.Reader.Finished() {
			t.Error("the kept archive differs")
		}
		if n := w.git.Started() - before; n != 0 {
			t.Errorf("%d processes for a kept archive", n)
		}
		for _, tt := range []struct{ ref, path, suffix string }{
			{"none", "", ""},
			{"main", "none", ""},
			{"main", "README.md/x", ""},
			{"main", "", "rar"},
			{"--output=/tmp/x", "", ""},
			{"main", "..\\..\\x", ""},
			{"main^{tree}", "", ""},
		} {
			_, err := w.repos.Archive(ctx, w.reporter, w.as(w.reporter), repo.ArchiveInput{Ref: tt.ref, Path: tt.path, Suffix: tt.suffix})
			wants(t, err, errs.NotFound, "File not found")
		}
		_, err := w.repos.Archive(ctx, w.guest, w.as(w.guest), repo.ArchiveInput{Ref: "main"})
		wants(t, err, errs.Forbidden, "")
	})
}

// Paths that are left out are names, not patterns, and archives without them are kept
// apart from the whole one.
func TestService_Archive_excluded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.odd()
		list := func(suffix string, exclude ...string) string {
			a, err := w.repos.Archive(t.Context(), w.reporter, w.as(w.reporter), repo.ArchiveInput{Ref: "feature/odd", Suffix: suffix, Exclude: exclude})
			check(t, err)
			b, err := io.ReadAll(a.Reader)
			check(t, errors.Join(err, a.Reader.Close()))
			var in io.Reader = bytes.NewReader(b)
			if suffix == "tar.bz2" {
				in = bzip2.NewReader(in)
			}
			return tarListing(t, in)
		}
		whole := list("tar")
		for _, suffix := range []string{"tar", "tar.bz2"} {
			got := list(suffix, "/docs/deep/", "bin/run", "none")
			if strings.Contains(got, "deep") || strings.Contains(got, "run") || !strings.Contains(got, "/docs/ä b.md ") || !strings.Contains(got, "README") {
				t.Errorf("%s holds %s", suffix, got)
			}
			if got := list(suffix, "*", ":(glob)**", "d*", "\x00", ".."); got != whole {
				t.Errorf("%s without patterns holds %s", suffix, got)
			}
		}
		before := w.git.Started()
		if list("tar", "docs/deep", "none", "bin/run", "bin/run"); w.git.Started() != before {
			t.Error("the same archive was made again")
		}
		if list("tar") != whole {
			t.Error("the whole archive lacks something")
		}
		_, err := w.repos.Archive(t.Context(), w.reporter, w.as(w.reporter), repo.ArchiveInput{Exclude: make([]string, 101)})
		wants(t, err, errs.Invalid, "exclude_paths names more than 100 paths")
	})
}

// A user who goes away while an archive is made stops the work.
func TestService_Archive_clientGone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		noise := make([]byte, 6<<20)
		for i, x := 0, uint32(1); i < len(noise); i++ {
			x = x*1664525 + 1013904223
			noise[i] = "0123456789abcdef"[x>>28]
		}
		w.put("main", "big", string(noise))
		a, err := w.repos.Archive(t.Context(), w.reporter, w.as(w.reporter), repo.ArchiveInput{Suffix: "tar.gz"})
		check(t, err)
		finished := a.Reader.Finished()
		check(t, a.Reader.Close())
		check(t, w.archives.Close())
		if n := w.git.Running(); n > 4 || finished {
			t.Errorf("%d processes run, finished %v", n, finished)
		}
	})
}
