package repo_test

import (
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenon/internal/base/charset"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/repo"
)

// same fails the test where two answers differ.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s", what, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
	}
}

// Every read of the repository says what the git command line prints, on a repository of
// everything that is odd.
func TestService_differential(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, false))
	w.oddities()
	t.Run("tree", w.sameTrees)
	t.Run("log", w.sameLogs)
	t.Run("merge base", w.sameBases)
	t.Run("compare", w.sameComparisons)
	t.Run("archive", w.sameArchives)
	t.Run("blame", w.sameBlame)
	t.Run("contributors", w.sameContributors)
	check(t, w.open().Fsck(t.Context()))
}

func (w *world) sameTrees(t *testing.T) {
	show := func(entries []gitcmd.PathEntry) string {
		var out strings.Builder
		for _, e := range entries {
			fmt.Fprintf(&out, "%s %s %s\t%q\n", e.Mode, e.Kind(), e.ID, e.Path)
		}
		return out.String()
	}
	// printed returns the entries as they should be shown: folders first, submodules last.
	printed := func(args ...string) (out string, paths []string) {
		kinds := map[string]*strings.Builder{"tree": {}, "blob": {}, "commit": {}}
		for entry := range strings.SplitSeq(strings.TrimSuffix(w.prints(args...), "\x00"), "\x00") {
			if entry == "" {
				continue
			}
			head, path, _ := strings.Cut(entry, "\t")
			fmt.Fprintf(kinds[strings.Fields(head)[1]], "%s\t%q\n", head, path)
			paths = append(paths, path)
		}
		return kinds["tree"].String() + kinds["blob"].String() + kinds["commit"].String(), paths
	}
	list := func(f repo.TreeFilter) string {
		tree, err := w.repos.Tree(t.Context(), w.reporter, w.as(w.reporter), f)
		check(t, err)
		return show(tree.Items)
	}
	for _, ref := range oddRefs {
		want, paths := printed("ls-tree", "-r", "-t", "-z", ref)
		same(t, ref+" as a whole", list(repo.TreeFilter{Ref: ref, Recursive: true}), want)
		want, _ = printed("ls-tree", "-z", ref)
		same(t, ref, list(repo.TreeFilter{Ref: ref}), want)
		for _, folder := range []string{"odd", "odd/sp ace", "moved"} {
			if !slices.Contains(paths, folder) {
				continue
			}
			want, _ := printed("ls-tree", "-z", ref, folder+"/")
			same(t, ref+" in "+folder, list(repo.TreeFilter{Ref: ref, Path: folder}), want)
		}
		// Page by page everything comes once, in git's order.
		var walked []string
		for f := (repo.TreeFilter{Ref: ref, Recursive: true, Range: page.Range{Keyset: true, Limit: 3}}); ; {
			tree, err := w.repos.Tree(t.Context(), w.reporter, w.as(w.reporter), f)
			check(t, err)
			for _, e := range tree.Items {
				walked = append(walked, e.Path)
			}
			if f.After = tree.Token; f.After == "" {
				break
			}
		}
		slices.Sort(walked)
		slices.Sort(paths)
		same(t, ref+" page by page", fmt.Sprintf("%q", walked), fmt.Sprintf("%q", paths))
	}
}

func (w *world) sameLogs(t *testing.T) {
	log := func(f repo.CommitFilter) string {
		f.Limit = 100
		commits, err := w.repos.Commits(t.Context(), w.reporter, w.as(w.reporter), f)
		check(t, err)
		var out strings.Builder
		for _, c := range commits.Items {
			var parents []string
			for _, p := range c.Parents {
				parents = append(parents, p.String())
			}
			fmt.Fprintf(&out, "%s %s %q <%s> %d %q\n", c.ID, strings.Join(parents, " "), c.Author.Name, c.Author.Email, c.Author.When.Unix(), c.Title())
		}
		return out.String()
	}
	prints := func(args ...string) string {
		var out strings.Builder
		for line := range strings.SplitSeq(w.prints(append([]string{"log", "-z", "--encoding=none", "--format=%H%n%P%n%an%n%ae%n%at%n%s"}, args...)...), "\x00") {
			if f := strings.Split(strings.TrimPrefix(line, "\n"), "\n"); len(f) >= 6 {
				fmt.Fprintf(&out, "%s %s %q <%s> %s %q\n", f[0], f[1], readable(f[2]), f[3], f[4], f[5])
			}
		}
		return out.String()
	}
	for _, ref := range oddRefs {
		same(t, ref, log(repo.CommitFilter{Ref: ref}), prints(ref))
		same(t, ref+" by topology", log(repo.CommitFilter{Ref: ref, Topo: true}), prints("--topo-order", ref))
		same(t, ref+" by first parents", log(repo.CommitFilter{Ref: ref, FirstParent: true}), prints("--first-parent", ref))
		same(t, "main.."+ref, log(repo.CommitFilter{Ref: "main.." + ref}), prints("main.."+ref))
		same(t, "main..."+ref, log(repo.CommitFilter{Ref: "main..." + ref}), prints("main..."+ref))
	}
	for _, path := range append([]string{"odd", "odd/", "moved/b.txt", "dir/a.txt", "module", "link", "becomes-link", "side.txt", "none"}, oddNames...) {
		if slices.Contains(oddNames, path) {
			path = "odd/" + path
		}
		for _, ref := range []string{"main", "crossed2", "octopus"} {
			same(t, fmt.Sprintf("%s of %q", ref, path), log(repo.CommitFilter{Ref: ref, Path: path}), prints(ref, "--", strings.TrimSuffix(path, "/")))
		}
	}
	same(t, "all", log(repo.CommitFilter{All: true}), prints("--branches", "--tags"))
	same(t, "an author", log(repo.CommitFilter{All: true, Author: "ben@x.org"}), prints("--branches", "--tags", "--fixed-strings", "--author=ben@x.org"))
}

// readable is a text of any bytes as it is shown.
func readable(text string) string { return charset.Text([]byte(text), "") }

func (w *world) sameBases(t *testing.T) {
	base := func(refs ...string) {
		args := []string{"merge-base"}
		if len(refs) > 2 {
			args = append(args, "--octopus") // the ancestor of all of them
		}
		want, failed := w.said(append(args, refs...)...)
		c, err := w.repos.MergeBase(t.Context(), w.reporter, w.as(w.reporter), refs)
		switch {
		case failed != nil:
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("%s: got %v, %v, want none", refs, c, err)
			}
		case err != nil || c.ID.String() != strings.TrimSpace(want):
			t.Errorf("%s: got %v, %v, want %s", refs, c, err, want)
		}
	}
	for i, a := range oddRefs {
		for j, b := range oddRefs {
			base(a, b)
			base(a, b, oddRefs[(i+j)%len(oddRefs)])
		}
	}
}

// raw writes the changes of files as git diff --raw does.
func raw(d *gitcmd.Diff) string {
	var out strings.Builder
	for _, f := range d.Files {
		status, names := string(f.Status), fmt.Sprintf("%q", f.NewPath)
		if f.Status == 'R' {
			status, names = fmt.Sprintf("R%03d", f.Score), fmt.Sprintf("%q %q", f.OldPath, f.NewPath)
		}
		fmt.Fprintf(&out, "%06o %06o %s %s %s %s\n", f.OldMode, f.NewMode, f.OldID, f.NewID, status, names)
	}
	return out.String()
}

// printedRaw reads what git diff --raw -z prints.
func printedRaw(text string) string {
	var out strings.Builder
	fields := strings.Split(text, "\x00")
	for i := 0; i+1 < len(fields); {
		head := strings.TrimPrefix(fields[i], ":")
		names := fmt.Sprintf("%q", fields[i+1])
		i += 2
		if status := head[strings.LastIndexByte(head, ' ')+1:]; status[0] == 'R' {
			names += fmt.Sprintf(" %q", fields[i])
			i++
		}
		if f := strings.Fields(head); f[4] == "T" { // a deletion and an addition
			none := strings.Repeat("0", len(f[2]))
			fmt.Fprintf(&out, "%s 000000 %s %s D %s\n", f[0], f[2], none, names)
			head = "000000 " + f[1] + " " + none + " " + f[3] + " A"
		}
		out.WriteString(head + " " + names + "\n")
	}
	return out.String()
}

func (w *world) sameComparisons(t *testing.T) {
	empty := gitstore.EmptyTree().String()
	for _, from := range oddRefs {
		for _, to := range oddRefs {
			for _, straight := range []bool{false, true} {
				name := fmt.Sprintf("%s to %s, straight %t", from, to, straight)
				c, err := w.repos.Compare(t.Context(), w.reporter, w.as(w.reporter), repo.CompareInput{From: from, To: to, Straight: straight})
				check(t, err)
				var commits strings.Builder
				for _, commit := range c.Commits {
					commits.WriteString(commit.ID.String() + "\n")
				}
				same(t, name+", commits", commits.String(), w.prints("rev-list", "--reverse", to, "^"+from))
				base := w.rev(t, from).String()
				if !straight {
					found, err := w.said("merge-base", from, to)
					if base = strings.TrimSpace(found); err != nil {
						base = empty
					}
				}
				same(t, name+", files", raw(c.Diff), printedRaw(w.prints("diff-tree", "-r", "-M", "--raw", "-z", "--no-abbrev", base, to)))
				if from == "first" || from == "orphan" {
					w.samePatches(t, name, c.Diff, base, to)
				}
			}
		}
	}
}

// samePatches compares the texts of a diff, file by file.
func (w *world) samePatches(t *testing.T, name string, d *gitcmd.Diff, from, to string) {
	t.Helper()
	for _, f := range d.Files {
		printed := w.prints("diff", "-M", "--no-color", from, to, "--", f.OldPath, f.NewPath)
		want := ""
		if at := strings.Index(printed, "\n@@ "); at >= 0 {
			want = printed[at+1:]
		}
		if f.Binary != strings.Contains(printed, "\nBinary files ") {
			t.Errorf("%s: %q is binary: %t", name, f.NewPath, f.Binary)
		}
		if strings.Contains(want, "\ndiff --git ") {
			continue // a type changed: git prints it as two files
		}
		same(t, fmt.Sprintf("%s, patch of %q", name, f.NewPath), string(f.Patch), want)
	}
}

func (w *world) sameArchives(t *testing.T) {
	for _, ref := range oddRefs {
		read := func(suffix string) (string, []byte) {
			a, b := w.archive(w.reporter, ref, "", suffix)
			return strings.TrimSuffix(a.Name, "."+suffix), b
		}
		folder, plain := read("tar")
		want := w.prints("archive", "--format=tar", "--prefix="+folder+"/", ref+"^{commit}")
		if !bytes.Equal(plain, []byte(want)) {
			t.Errorf("%s: the tar differs from git's", ref)
		}
		_, packed := read("tar.gz")
		z, err := gzip.NewReader(bytes.NewReader(packed))
		check(t, err)
		if b, err := io.ReadAll(z); err != nil || string(b) != want {
			t.Errorf("%s: the tar.gz differs from git's tar, %v", ref, err)
		}
		_, packed = read("tar.bz2")
		if b, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(packed))); err != nil || string(b) != want {
			t.Errorf("%s: the tar.bz2 differs from git's tar, %v", ref, err)
		}
		_, packed = read("zip")
		same(t, ref+" as zip", zipListing(t, packed), zipListing(t, []byte(w.prints("archive", "--format=zip", "--prefix="+folder+"/", ref+"^{commit}"))))
	}
}

// zipListing returns names, modes and contents of an archive.
func zipListing(t *testing.T, b []byte) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	check(t, err)
	var out strings.Builder
	for _, f := range z.File {
		in, err := f.Open()
		check(t, err)
		content, err := io.ReadAll(in)
		check(t, errors.Join(err, in.Close()))
		fmt.Fprintf(&out, "%q %s %q\n", f.Name, f.Mode(), content)
	}
	return out.String()
}

func (w *world) sameBlame(t *testing.T) {
	files := []string{"dir/a.txt", "moved/b.txt", "copied.txt", "empty", "crlf.txt", "no-end", "link", "becomes-link", "side.txt"}
	for _, name := range oddNames {
		files = append(files, "odd/"+name)
	}
	for _, ref := range []string{"main", "crossed1", "crossed2", "octopus", "void"} {
		for _, file := range files {
			printed, failed := w.said("blame", "-l", "-s", "--root", ref, "--", file)
			runs, err := w.repos.Blame(t.Context(), w.reporter, w.as(w.reporter), file, ref, repo.Lines{})
			if failed != nil {
				if !errs.Is(err, errs.NotFound) {
					t.Errorf("%s of %q: got %v, want none", ref, file, err)
				}
				continue
			}
			check(t, err)
			var got, want strings.Builder
			for _, run := range runs {
				for range run.Lines {
					got.WriteString(run.Commit.ID.String() + "\n")
				}
			}
			for line := range strings.SplitSeq(strings.TrimSuffix(printed, "\n"), "\n") {
				if id, _, ok := strings.Cut(line, " "); ok {
					want.WriteString(id + "\n")
				}
			}
			same(t, fmt.Sprintf("%s of %q", ref, file), got.String(), want.String())
		}
	}
}

func (w *world) sameContributors(t *testing.T) {
	for _, ref := range oddRefs {
		list, err := w.repos.Contributors(t.Context(), w.reporter, w.as(w.reporter), repo.ContributorFilter{Ref: ref, By: "email"})
		check(t, err)
		var got strings.Builder
		for _, c := range list.Items {
			fmt.Fprintf(&got, "%s %q %d\n", c.Email, c.Name, c.Commits)
		}
		names, commits := map[string]string{}, map[string]int{}
		for line := range strings.SplitSeq(strings.TrimSuffix(w.prints("log", "--no-merges", "--encoding=none", "--format=%ae %an", ref), "\n"), "\n") {
			email, name, _ := strings.Cut(line, " ")
			if commits[email]++; names[email] == "" {
				names[email] = readable(name)
			}
		}
		var want strings.Builder
		for _, email := range []string{"ann@x.org", "ben@x.org", "j@x.org"} {
			if commits[email] > 0 {
				fmt.Fprintf(&want, "%s %q %d\n", email, names[email], commits[email])
			}
		}
		same(t, ref, got.String(), want.String())
	}
}
