package repo_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/repo"
)

// A branch and a tag of one name made a page show other code than a clone gets
// (CVE-2025-5101): every read takes the same of the two, and each can be named in full.
func TestService_sameNameOfBranchAndTag(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		tagged := w.put("main", "who", "the tag\n")
		branched := w.put("twice", "other", "the branch\n")
		check(t, w.open().UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/tags/twice", New: tagged.ID}, {Ref: "refs/tags/main", New: branched.ID}}))
		reads := map[string]func(ref string) gitstore.ObjectID{
			"commit": func(ref string) gitstore.ObjectID {
				c, err := w.repos.FindCommit(ctx, w.reporter, w.as(w.reporter), ref)
				check(t, err)
				return c.ID
			},
			"commits": func(ref string) gitstore.ObjectID {
				list, err := w.repos.Commits(ctx, w.reporter, w.as(w.reporter), repo.CommitFilter{Ref: ref, Range: page.Range{Limit: 1}})
				check(t, err)
				return list.Items[0].ID
			},
			"file": func(ref string) gitstore.ObjectID {
				f, err := w.repos.File(ctx, w.reporter, w.as(w.reporter), "who", ref, repo.WithoutHistory)
				check(t, err)
				check(t, f.Blob.Close())
				return f.CommitID
			},
			"compare": func(ref string) gitstore.ObjectID {
				c, err := w.repos.Compare(ctx, w.reporter, w.as(w.reporter), repo.CompareInput{From: tagged.ID.String(), To: ref, Straight: true})
				check(t, err)
				return c.To
			},
			"merge base": func(ref string) gitstore.ObjectID {
				c, err := w.repos.MergeBase(ctx, w.reporter, w.as(w.reporter), []string{ref, ref})
				check(t, err)
				return c.ID
			},
			"tree": func(ref string) gitstore.ObjectID {
				tree, err := w.repos.Tree(ctx, w.reporter, w.as(w.reporter), repo.TreeFilter{Ref: ref, Range: page.Range{Limit: 10}})
				check(t, err)
				return map[int]gitstore.ObjectID{1: tagged.ID, 2: branched.ID}[len(tree.Items)]
			},
			"archive": func(ref string) gitstore.ObjectID {
				a, _ := w.archive(w.reporter, ref, "", "tar")
				if strings.Contains(a.Name, tagged.ID.String()) {
					return tagged.ID
				}
				return branched.ID
			},
		}
		for name, read := range reads {
			for ref, want := range map[string]gitstore.ObjectID{
				"refs/heads/twice": branched.ID, "refs/tags/twice": tagged.ID, "refs/heads/main": tagged.ID, "refs/tags/main": branched.ID,
			} {
				if got := read(ref); got != want {
					t.Errorf("%s of %s: %s, want %s", name, ref, got, want)
				}
			}
			if got, want := read("twice"), reads["commit"]("twice"); got != want {
				t.Errorf("%s of the short name: %s, where the commit is %s", name, got, want)
			}
			if name != "compare" && name != "merge base" && name != "commit" { // without a name it is the branch, not the tag
				if got := read(""); got != tagged.ID {
					t.Errorf("%s of the default branch: %s, want %s", name, got, tagged.ID)
				}
			}
		}
		// A commit starts from a branch where it is told a branch.
		c, err := w.repos.Commit(ctx, w.owner, w.as(w.owner), repo.CommitInput{
			Branch: "third", StartBranch: "twice", Message: "m", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "c", Content: ptr("1")}},
		})
		if check(t, err); c.Parents[0] != branched.ID {
			t.Errorf("a commit starts from %s, want %s", c.Parents[0], branched.ID)
		}
		b, err := w.repos.FindBranch(ctx, w.reporter, w.as(w.reporter), "twice")
		check(t, err)
		tag, err := w.repos.FindTag(ctx, w.reporter, w.as(w.reporter), "twice")
		check(t, err)
		if b.Tip.ID != branched.ID || tag.Commit.ID != tagged.ID {
			t.Errorf("branch %s, tag %s", b.Tip.ID, tag.Commit.ID)
		}
	})
}

// Symbolic links were the way by which file interfaces wrote outside of the repository
// (CVE-2024-55947, CVE-2025-8110): no path leads through one here, because nothing is
// ever checked out.
func TestService_Commit_throughLinks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		base := w.put("main", "dir/file", "hello\n")
		link := func(path, to string) string {
			return "M 120000 inline " + path + "\ndata " + string(rune('0'+len(to))) + "\n" + to + "\n"
		}
		tip := w.fastImport(commitOf(1, "a@x.org", "Links", "from "+base.ID.String()+"\n"+link("out", "/tmp")+link("up", "../..")+link("here", "dir")+
			"M 160000 "+base.ID.String()+" module\n"))
		check(t, w.open().UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/heads/links", New: tip}}))
		content := "evil"
		for _, a := range []repo.Action{
			{Kind: repo.ActionCreate, Path: "out/evil", Content: &content},
			{Kind: repo.ActionCreate, Path: "up/evil", Content: &content},
			{Kind: repo.ActionCreate, Path: "here/evil", Content: &content},
			{Kind: repo.ActionUpdate, Path: "here/file", Content: &content},
			{Kind: repo.ActionDelete, Path: "here/file"},
			{Kind: repo.ActionMove, PreviousPath: "dir/file", Path: "here/moved"},
			{Kind: repo.ActionMove, PreviousPath: "here/file", Path: "moved"},
			{Kind: repo.ActionChmod, Path: "here/file", Executable: ptr(true)},
			{Kind: repo.ActionCreate, Path: "out", Content: &content},
			{Kind: repo.ActionUpdate, Path: "module", Content: &content},
			{Kind: repo.ActionChmod, Path: "module", Executable: ptr(true)},
			{Kind: repo.ActionMove, PreviousPath: "module", Path: "moved", Content: &content},
			{Kind: repo.ActionCreate, Path: ".git/config", Content: &content},
			{Kind: repo.ActionCreate, Path: "a/.GIT/hooks/x", Content: &content},
			{Kind: repo.ActionCreate, Path: "git~1/config", Content: &content},
			{Kind: repo.ActionCreate, Path: ".g\u200cit/config", Content: &content},
			{Kind: repo.ActionCreate, Path: "../evil", Content: &content},
			{Kind: repo.ActionCreate, Path: "dir/../../evil", Content: &content},
			{Kind: repo.ActionCreate, Path: "/tmp/evil", Content: &content},
		} {
			_, err := w.repos.Commit(ctx, w.owner, w.as(w.owner), repo.CommitInput{Branch: "links", Message: "Evil", Actions: []repo.Action{a}})
			if err == nil || errs.KindOf(err) != errs.Invalid {
				t.Errorf("%s %s: got %v, want a refusal", a.Kind, a.Path, err)
			}
			if _, err := w.repos.File(ctx, w.reporter, w.as(w.reporter), a.Path, "links", repo.WithoutHistory); a.Path != "out" && !errs.Is(err, errs.NotFound) {
				t.Errorf("%s can be read: %v", a.Path, err)
			}
		}
		// What is in a link is its own content, for those who read it and those who change it.
		_, err := w.repos.Commit(ctx, w.owner, w.as(w.owner), repo.CommitInput{
			Branch: "links", Message: "Turn", Actions: []repo.Action{
				{Kind: repo.ActionUpdate, Path: "out", Content: ptr("dir/file"), Executable: ptr(true)},
				{Kind: repo.ActionChmod, Path: "out", Executable: ptr(false)},
			},
		})
		check(t, err)
		f, err := w.repos.File(ctx, w.reporter, w.as(w.reporter), "out", "links", repo.WithoutHistory)
		check(t, err)
		defer f.Blob.Close()
		if b, err := io.ReadAll(f.Blob); err != nil || !bytes.Equal(b, []byte("dir/file")) || f.Mode != gitstore.ModeSymlink {
			t.Errorf("the link holds %q, mode %s, %v", b, f.Mode, err)
		}
	})
}

// Names that could be taken for a commit or for a full name, or that only look like a
// protected one, get around no rule (CVE-2022-2417, CVE-2023-5226).
func TestService_misleadingNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.put("main", "a", "1")
		for _, name := range []string{
			strings.Repeat("ab", 20), strings.Repeat("AB", 20), strings.Repeat("ab", 32), "refs/heads/main", "refs/tags/v1", "refs/remotes/x",
			"HEAD", "-x", "--exec=x", "a..b", "a b", "a~1", "a^", "a:b", "a\\b", "a\nb", "a\x7fb", ".a", "a.lock", "a/", "/a", "a//b", "@{-1}", "a@{1}", "x/-y", "*",
		} {
			if _, err := w.repos.CreateBranch(ctx, w.owner, w.as(w.owner), name, "main"); err == nil {
				t.Errorf("the API makes a branch %q", name)
			}
			if _, err := w.repos.CreateTag(ctx, w.owner, w.as(w.owner), name, "main", ""); err == nil {
				t.Errorf("the API makes a tag %q", name)
			}
			if _, err := w.repos.Commit(ctx, w.owner, w.as(w.owner), repo.CommitInput{
				Branch: name, StartBranch: "main", Message: "m", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "b", Content: ptr("1")}},
			}); err == nil {
				t.Errorf("a commit makes a branch %q", name)
			}
			for _, prefix := range []string{gitstore.Branches, gitstore.Tags} {
				change := repo.RefChange{Ref: gitstore.RefName(prefix + name), New: c.ID}
				if err := w.repos.Judge(ctx, w.owner, w.as(w.owner), repo.ByPush, w.open(), []repo.RefChange{change}); err == nil {
					t.Errorf("a push makes %q", prefix+name)
				}
			}
		}
		// git takes no reference right below refs/; "main" might then be refs/main.
		for _, name := range []gitstore.RefName{"refs/main", "refs/stash", "HEAD", "refs/", "refs", "main"} {
			change := repo.RefChange{Ref: name, New: c.ID}
			if err := w.repos.Judge(ctx, w.owner, w.as(w.owner), repo.ByPush, w.open(), []repo.RefChange{change}); err == nil {
				t.Errorf("a push makes %q", name)
			}
		}
		refs, err := w.open().Refs(ctx, "refs/")
		if check(t, err); len(refs) != 1 {
			t.Errorf("references: %v", refs)
		}
		// Other letters, composed or not, are other names: nothing is folded, so nothing is gone around.
		access := func(name string) bool {
			a, err := w.protections.BranchAccess(ctx, w.developer, w.as(w.developer), name)
			check(t, err)
			return a.Push
		}
		if access("main") || !access("Main") || !access("ma\u0456n") || !access("ma\u0131n") {
			t.Error("the rule for main does not hold for main alone")
		}
	})
}

// A change in a file whose name a terminal, a page or a parser of diffs takes for something
// else is a change like any other: it is shown, under its own name (CVE-2026-6976).
func TestService_hidingNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		base := w.put("main", "plain", "1\n")
		names := []string{
			" ", " a b ", `"quoted"`, `'; touch x; '`, "a\nb", "a\nGIT binary patch", "a\r", "a\tb", "a\u00a0b", "a\u202egpj.exe", "a\u200b", "a\x01b", "a\x1b[2Kb",
			"a\x7fb", "b/ b", "dev/null", "diff --git a", "e\u0301", "\u00e9", `c:\d`,
		}
		slices.Sort(names)
		var changes strings.Builder
		for _, name := range names {
			quoted := `"`
			for _, b := range []byte(name) {
				quoted += fmt.Sprintf(`\%03o`, b)
			}
			changes.WriteString(inline(quoted+`"`, "evil\n"))
		}
		tip := w.fastImport(commitOf(1, "a@x.org", "Hide", "from "+base.ID.String()+"\n"+changes.String()))
		check(t, w.open().UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/heads/hiding", New: tip}}))
		compared, err := w.repos.Compare(ctx, w.reporter, w.as(w.reporter), repo.CompareInput{From: "main", To: "hiding"})
		check(t, err)
		commit, err := w.repos.FindCommit(ctx, w.reporter, w.as(w.reporter), "hiding")
		check(t, err)
		shown, err := w.repos.CommitDiff(ctx, w.reporter, w.as(w.reporter), commit)
		check(t, err)
		for where, diff := range map[string]*gitcmd.Diff{"compare": compared.Diff, "commit": shown} {
			var got []string
			for _, f := range diff.Files {
				got = append(got, f.NewPath)
				if !f.New() || f.Additions != 1 || !bytes.Contains(f.Patch, []byte("+evil\n")) {
					t.Errorf("%s, %q: %+v", where, f.NewPath, f)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, names) {
				t.Errorf("%s:\n got %q\nwant %q", where, got, names)
			}
		}
		for _, name := range names {
			f, err := w.repos.File(ctx, w.reporter, w.as(w.reporter), name, "hiding", repo.WithoutHistory)
			if err != nil {
				t.Errorf("%q cannot be read: %v", name, err)
				continue
			}
			check(t, f.Blob.Close())
		}
	})
}

// The attack: a user begins to read large files and takes nothing, so that no other user
// gets any. Each of them holds a process.
func TestService_Blob_heldBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.put("main", "small", "1")
		w.put("main", "large", strings.Repeat("content\n", 200_000))
		w.exec("UPDATE namespaces SET visibility = 20")
		open := func(as authz.Actor, path string) (*repo.File, error) {
			return w.repos.File(ctx, as, w.as(as), path, "main", repo.WithoutHistory)
		}
		anybody := authz.Actor{Address: "192.0.2.1"}
		var held []*repo.File
		for range 16 {
			f, err := open(anybody, "large")
			check(t, err)
			held = append(held, f)
		}
		if _, err := open(anybody, "large"); !errs.Is(err, errs.Unavailable) {
			t.Errorf("one more: %v", err)
		}
		for name, read := range map[string]struct {
			as   authz.Actor
			path string
		}{
			"a small file": {anybody, "small"}, "another address": {authz.Actor{Address: "192.0.2.2"}, "large"}, "a member": {w.reporter, "large"},
		} {
			f, err := open(read.as, read.path)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			content, err := io.ReadAll(f.Blob)
			if err := errors.Join(err, f.Blob.Close()); err != nil || int64(len(content)) != f.Blob.Size {
				t.Errorf("%s: %d bytes of %d, %v", name, len(content), f.Blob.Size, err)
			}
		}
		for range 2 { // the second time is nothing
			check(t, held[0].Blob.Close())
		}
		f, err := open(anybody, "large")
		check(t, err)
		for _, h := range append(held[1:], f) {
			check(t, h.Blob.Close())
		}
	})
}
