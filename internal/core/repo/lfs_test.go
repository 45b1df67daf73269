package repo_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/lfs"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// pointer returns what is in the repository for a large object.
func pointer(content string) lfs.Pointer {
	sum := sha256.Sum256([]byte(content))
	return lfs.Pointer{OID: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

// upload gives a project a large object.
func (w *world) upload(id project.ID, content string) {
	w.T.Helper()
	w.exec("UPDATE projects SET lfs_enabled = ? WHERE id = ?", true, id)
	check(w.T, w.large.Store(w.T.Context(), w.owner, w.Find(w.owner, id), pointer(content), strings.NewReader(content)))
}

// A pointer to what the project has not is kept out of commits of the API as it is out
// of a push, whether the quarantine is in memory or on disk.
func TestService_Commit_pointers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.put("main", "README.md", "hello\n")
		w.upload(w.id, "there")
		absent, there := pointer("absent").Text(), pointer("there").Text()
		commit := func(actions ...repo.Action) error {
			_, err := w.repos.Commit(ctx, w.owner, w.as(w.owner), repo.CommitInput{Branch: "main", Message: "Large", Actions: actions})
			return err
		}
		create := func(path, content string) repo.Action {
			return repo.Action{Kind: repo.ActionCreate, Path: path, Content: &content}
		}
		const missing = `LFS objects are missing. Ensure LFS is properly set up or try a manual "git lfs push --all".`
		wants(t, commit(create("a", there), create("b", absent)), errs.Invalid, missing)
		wants(t, commit(create("big", strings.Repeat("x", 5<<20)), create("b", absent)), errs.Invalid, missing)
		check(t, commit(create("a", there)))
		check(t, commit(create("text", "version https://git-lfs.github.com/spec/v1\n"+strings.Repeat("no pointer\n", 10))))
		w.exec("UPDATE projects SET lfs_enabled = ? WHERE id = ?", false, w.id)
		check(t, commit(create("b", absent))) // it means nothing there
	})
}

// A commit that starts in a relative brings along what its files point to.
func TestService_Commit_pointersOfAnotherProject(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.put("main", "README.md", "hello\n")
		copying := w.fork("fork", w.id, w.owner)
		check(t, w.repos.FillFork(ctx, copying))
		w.exec("UPDATE projects SET lfs_enabled = ?", true)
		w.upload(copying.ProjectID, "of the fork")
		text, more := pointer("of the fork").Text(), "more"
		fork := w.Find(w.owner, copying.ProjectID)
		_, err := w.repos.Commit(ctx, w.owner, fork, repo.CommitInput{
			Branch: "topic", StartBranch: "main", Message: "Large", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "big", Content: &text}},
		})
		check(t, err)
		_, err = w.repos.Commit(ctx, w.owner, w.as(w.owner), repo.CommitInput{
			Branch: "taken", StartIn: fork, StartBranch: "topic", Message: "More", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "more", Content: &more}},
		})
		check(t, err)
		_, b := w.archive(w.reporter, "taken", "big", "tar")
		if !bytes.Contains(b, []byte("of the fork")) {
			t.Error("the large object did not come along")
		}
	})
}

// A hundred thousand pointers to one object are a small commit; its archive is bounded by
// what the project has.
func TestService_Archive_repeatedObject(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		object := strings.Repeat("0123456789abcdef", archiveLarge/128/16)
		w.upload(w.id, object)
		text := pointer(object).Text()
		var actions []repo.Action
		for i := range 200 { // more than an archive may hold
			actions = append(actions, repo.Action{Kind: repo.ActionCreate, Path: fmt.Sprintf("f%03d", i), Content: &text})
		}
		_, err := w.repos.Commit(t.Context(), w.owner, w.as(w.owner), repo.CommitInput{Branch: "main", Message: "Many", Actions: actions})
		check(t, err)
		a, err := w.repos.Archive(t.Context(), w.reporter, w.as(w.reporter), repo.ArchiveInput{Suffix: "zip"})
		check(t, err)
		_, err = io.Copy(io.Discard, a.Reader)
		wants(t, err, errs.TooLarge, "")
		check(t, a.Reader.Close())
		_, b := w.archive(w.reporter, "", "f000", "tar")
		if len(b) < len(object) {
			t.Errorf("one file: %d bytes", len(b))
		}
	})
}

// An archive that was made before a large object arrived is not given out afterwards.
func TestService_Archive_objectComesLater(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put("main", "late.bin", pointer("comes late").Text())
		w.upload(w.id, "another") // the project has large objects, only not this one
		holds := func(suffix string) string {
			_, b := w.archive(w.reporter, "", "", suffix)
			return fileOf(t, suffix, b, "late.bin")
		}
		for range 2 {
			for _, suffix := range []string{"tar.gz", "zip"} {
				if got := holds(suffix); got != pointer("comes late").Text() {
					t.Errorf("%s before: %q", suffix, got)
				}
			}
		}
		w.upload(w.id, "comes late")
		for range 2 {
			for _, suffix := range []string{"tar.gz", "zip"} {
				if got := holds(suffix); got != "comes late" {
					t.Errorf("%s after: %q", suffix, got)
				}
			}
		}
	})
}

// fileOf returns the content of a file of an archive.
func fileOf(t *testing.T, suffix string, archive []byte, name string) string {
	t.Helper()
	if suffix == "zip" {
		z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		check(t, err)
		for _, f := range z.File {
			if strings.HasSuffix(f.Name, "/"+name) {
				in, err := f.Open()
				check(t, err)
				b, err := io.ReadAll(in)
				check(t, errors.Join(err, in.Close()))
				return string(b)
			}
		}
		t.Fatalf("no %s", name)
	}
	in, err := gzip.NewReader(bytes.NewReader(archive))
	check(t, err)
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		check(t, err)
		if strings.HasSuffix(h.Name, "/"+name) {
			b, err := io.ReadAll(r)
			check(t, err)
			return string(b)
		}
	}
}
