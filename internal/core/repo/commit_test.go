package repo_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/repo"
)

// The first commit of an empty repository makes the default branch, protected against
// developers from then on.
func TestService_Commit_first(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, err := w.repos.Commit(ctx, w.developer, w.as(w.developer), repo.CommitInput{
			Branch: "main", Message: "Mine", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "a", Content: ptr("a\n")}},
		})
		if errs.KindOf(err) != errs.Invalid || !strings.HasPrefix(err.Error(), "A default branch (e.g. main) does not yet exist for group/shop\n") {
			t.Fatalf("a developer's first commit: %v", err)
		}
		c := w.put("main", "a", "a\n")
		if p := w.as(w.owner); p.DefaultBranch == nil || *p.DefaultBranch != "main" {
			t.Errorf("default branch %v, want main", p.DefaultBranch)
		}
		if c.Author.Name != "Olga" || c.Author.Email != "olga@example.com" || len(c.Parents) != 0 || c.Title() != "Put a" {
			t.Errorf("commit %+v", c)
		}
		_, err = w.repos.Commit(ctx, w.developer, w.as(w.developer), repo.CommitInput{
			Branch: "main", Message: "Mine", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "b", Content: ptr("b\n")}},
		})
		wants(t, err, errs.Forbidden, "You are not allowed to push into this branch")
		if n := len(w.pushed); n == 0 || w.pushed[n-1].Changes[0].CommitTitle != "Put a" || w.pushed[n-1].Changes[0].CommitCount != 1 {
			t.Errorf("published %+v", w.pushed)
		} else if e := w.pushed[n-1]; e.Project.ID != w.id || e.Project.DefaultBranch == nil || e.By.UserID != w.owner.UserID || e.At.IsZero() {
			t.Errorf("published for project %+v by %d at %s", e.Project, e.By.UserID, e.At)
		}
	})
}

func TestService_Commit_actions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.put("main", "keep", "keep\n")
		w.put("main", "dir/old", "old\n")
		w.put("main", "gone", "gone\n")
		c, err := w.repos.Commit(ctx, w.maintainer, w.as(w.maintainer), repo.CommitInput{
			Branch: "main", Message: "All at once", AuthorName: "Ann", AuthorEmail: "ann@example.org",
			Actions: []repo.Action{
				{Kind: repo.ActionUpdate, Path: "keep", Content: ptr("kept\n")},
				{Kind: repo.ActionMove, Path: "dir/new", PreviousPath: "dir/old"},
				{Kind: repo.ActionDelete, Path: "gone"},
				{Kind: repo.ActionCreate, Path: "run.sh", Content: ptr("IyEvYmluL3NoCg=="), Encoding: "base64"},
				{Kind: repo.ActionChmod, Path: "run.sh", Executable: ptr(true)},
			},
		})
		check(t, err)
		if c.Author.Name != "Ann" || c.Committer.Name != "Mary" {
			t.Errorf("author %q, committer %q", c.Author.Name, c.Committer.Name)
		}
		var got []string
		check(t, w.open().Walk(ctx, c.ID, "", func(e gitcmd.PathEntry) error {
			got = append(got, e.Mode.String()+" "+e.Path)
			return nil
		}))
		want := "040000 dir,100644 dir/new,100644 keep,100755 run.sh"
		if strings.Join(got, ",") != want {
			t.Errorf("tree %v, want %s", got, want)
		}
		check(t, w.open().Fsck(ctx))
	})
}

func TestService_Commit_refused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put("main", "dir/file", "x\n")
		old := w.put("main", "other", "y\n")
		w.put("side", "third", "z\n")
		create := func(path string) []repo.Action {
			return []repo.Action{{Kind: repo.ActionCreate, Path: path, Content: ptr("new\n")}}
		}
		for _, tt := range []struct {
			name string
			in   repo.CommitInput
			kind errs.Kind
			want string
		}{
			{"exists", repo.CommitInput{Actions: create("other")}, errs.Invalid, "A file with this name already exists"},
			{"through a file", repo.CommitInput{Actions: create("other/x")}, errs.Invalid, "A file or directory with this name already exists"},
			{"a folder's name", repo.CommitInput{Actions: create("dir")}, errs.Invalid, "A file or directory with this name already exists"},
			{"missing", repo.CommitInput{Actions: []repo.Action{{Kind: repo.ActionDelete, Path: "nope"}}}, errs.Invalid, "A file with this name doesn't exist"},
			{"up", repo.CommitInput{Actions: create("../x")}, errs.Invalid, "Path cannot include directory traversal"},
			{"rooted", repo.CommitInput{Actions: create("/x")}, errs.Invalid, "Path cannot include directory traversal"},
			{"git folder", repo.CommitInput{Actions: create(".git/config")}, errs.Invalid, "Path is invalid: .git/config"},
			{"git folder in capitals", repo.CommitInput{Actions: create("a/.GIT/config")}, errs.Invalid, "Path is invalid: a/.GIT/config"},
			{
				"an address of a submodule that is an option",
				repo.CommitInput{Actions: []repo.Action{{
					Kind: repo.ActionCreate, Path: ".gitmodules", Content: ptr("[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=id\n"),
				}}},
				errs.Invalid, "The file .gitmodules is invalid",
			},
			{"no actions", repo.CommitInput{}, errs.BadRequest, "Provide at least one action, or set allow_empty to true"},
			{"no such branch", repo.CommitInput{Branch: "new", Actions: create("n")}, errs.Invalid, "You can only create or edit files when you are on a branch"},
			{
				"branch exists",
				repo.CommitInput{Branch: "side", StartBranch: "main", Actions: create("n")},
				errs.Invalid,
				"A branch called 'side' already exists. Switch to that branch in order to make changes",
			},
			{"branch name", repo.CommitInput{Branch: "a..b", Actions: create("n")}, errs.Invalid, "Branch name is invalid"},
			{"a message of 16 MiB", repo.CommitInput{Message: strings.Repeat("x", 16<<20), Actions: create("n")}, errs.Invalid, "A commit or tag is larger than 16 MiB, with its message and signature. Shorten its message."},
			{"message", repo.CommitInput{Message: "  ", Actions: create("n")}, errs.Invalid, "You must provide a commit message"},
			{
				"base64",
				repo.CommitInput{Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "n", Content: ptr("%"), Encoding: "base64"}}},
				errs.Invalid, "content is not valid base64: n",
			},
			{
				"stale",
				repo.CommitInput{Actions: []repo.Action{{
					Kind: repo.ActionUpdate, Path: "dir/file", Content: ptr("n"), LastCommitID: old.ID.String(),
				}}},
				errs.Invalid, "The file has changed since you started editing it: dir/file",
			},
		} {
			t.Run(tt.name, func(t *testing.T) {
				if tt.in.Branch == "" {
					tt.in.Branch = "main"
				}
				if tt.in.Message == "" {
					tt.in.Message = "Try"
				}
				_, err := w.repos.Commit(t.Context(), w.owner, w.as(w.owner), tt.in)
				wants(t, err, tt.kind, tt.want)
			})
		}
		if tip, err := w.open().Branch(t.Context(), "main"); err != nil || tip != old.ID {
			t.Errorf("main moved to %v, %v", tip, err)
		}
	})
}

// Commits made at once through the API follow one another; none is lost.
func TestService_Commit_parallel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put("main", "start", "s\n")
		p := w.as(w.owner)
		var wg sync.WaitGroup
		errors := make([]error, 12)
		for i := range errors {
			wg.Go(func() {
				_, errors[i] = w.repos.Commit(t.Context(), w.owner, p, repo.CommitInput{
					Branch: "main", Message: "Parallel",
					Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "f" + string(rune('a'+i)), Content: ptr("x")}},
				})
			})
		}
		wg.Wait()
		for _, err := range errors {
			check(t, err)
		}
		commits, err := w.repos.Commits(t.Context(), w.owner, p, repo.CommitFilter{Range: page.Range{Limit: 100}})
		check(t, err)
		if len(commits.Items) != 13 {
			t.Errorf("%d commits on main, want 13", len(commits.Items))
		}
	})
}

func TestService_Compare(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		base := w.put("main", "a", "a\n")
		side := w.put("side", "b", "b\n")
		w.put("main", "c", "c\n")
		p := w.as(w.reporter)
		c, err := w.repos.Compare(t.Context(), w.reporter, p, repo.CompareInput{From: "main", To: "side"})
		check(t, err)
		if c.From != base.ID || c.Commit == nil || c.Commit.ID != side.ID || len(c.Diff.Files) != 1 || c.Diff.Files[0].NewPath != "b" {
			t.Errorf("from the merge base: %+v", c)
		}
		c, err = w.repos.Compare(t.Context(), w.reporter, p, repo.CompareInput{From: "main", To: "side", Straight: true})
		check(t, err)
		if len(c.Diff.Files) != 2 {
			t.Errorf("straight: %d files, want 2", len(c.Diff.Files))
		}
		c, err = w.repos.Compare(t.Context(), w.reporter, p, repo.CompareInput{From: base.ID.String(), To: "main", Commits: 1})
		check(t, err)
		if len(c.Commits) != 1 || c.Older != 0 {
			t.Errorf("one commit of one: got %d, %d older, want 1 and none", len(c.Commits), c.Older)
		}
		last := w.put("main", "d", "d\n")
		c, err = w.repos.Compare(t.Context(), w.reporter, p, repo.CompareInput{From: base.ID.String(), To: "main", Commits: 1})
		check(t, err)
		if len(c.Commits) != 1 || c.Older != 1 || c.Commits[0].ID != last.ID || c.Commit.ID != last.ID {
			t.Errorf("one commit of two: got %d, %d older, the newest %v, want 1, 1 older, %s", len(c.Commits), c.Older, c.Commit, last.ID)
		}
		_, err = w.repos.Compare(t.Context(), w.reporter, p, repo.CompareInput{From: "main", To: "--help", Straight: true})
		wants(t, err, errs.NotFound, "Ref not found")
		_, err = w.repos.Compare(t.Context(), w.guest, w.as(w.guest), repo.CompareInput{From: "main", To: "side"})
		wants(t, err, errs.Forbidden, "")
	})
}

func TestService_File(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		first := w.put("main", "dir/a", "a\n")
		second := w.put("main", "b", "b\n")
		p := w.as(w.reporter)
		f, err := w.repos.File(t.Context(), w.reporter, p, "dir/a", "HEAD", repo.WithLastCommit)
		check(t, err)
		check(t, f.Blob.Close())
		if f.CommitID != second.ID || f.LastCommit != first.ID || f.Blob.Size != 2 || f.Ref != "main" || f.Name() != "a" {
			t.Errorf("file %+v", f)
		}
		for _, tt := range []struct{ path, ref, want string }{
			{"dir", "main", "File not found"},
			{"nope", "main", "File not found"},
			{"b/c", "main", "File not found"},
			{"../b", "main", "File not found"},
			{"b", "nope", "Commit not found"},
			{"b", "main:b", "Commit not found"},
			{"b", "-x", "Commit not found"},
		} {
			_, err := w.repos.File(t.Context(), w.reporter, p, tt.path, tt.ref, repo.WithoutHistory)
			wants(t, err, errs.NotFound, tt.want)
		}
	})
}

func TestService_Tree(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		_, err := w.repos.Tree(t.Context(), w.owner, w.as(w.owner), repo.TreeFilter{})
		wants(t, err, errs.NotFound, "Tree not found")
		for _, path := range []string{"a", "b/x", "b/y/z", "c"} {
			w.put("main", path, path)
		}
		paths := func(f repo.TreeFilter) (string, string) {
			t.Helper()
			tree, err := w.repos.Tree(t.Context(), w.reporter, w.as(w.reporter), f)
			check(t, err)
			var out []string
			for _, e := range tree.Items {
				out = append(out, e.Path)
			}
			return strings.Join(out, " "), tree.Token
		}
		for _, tt := range []struct {
			name string
			f    repo.TreeFilter
			want string
			next bool
		}{
			{"root", repo.TreeFilter{}, "b a c", false},
			{"folder", repo.TreeFilter{Path: "b/"}, "b/y b/x", false},
			{"missing folder", repo.TreeFilter{Path: "nope"}, "", false},
			{"deep", repo.TreeFilter{Recursive: true}, "b b/y a b/x b/y/z c", false},
			{"page", repo.TreeFilter{Range: page.Range{Offset: 1, Limit: 1}}, "a", false},
			{"keyset", repo.TreeFilter{Range: page.Range{Keyset: true, Limit: 2}}, "b a", true},
			{"keyset end", repo.TreeFilter{Range: page.Range{Keyset: true, Limit: 2}, After: "b"}, "c", false},
		} {
			if got, next := paths(tt.f); got != tt.want || (next != "") != tt.next {
				t.Errorf("%s: %q next %q, want %q and a next page: %t", tt.name, got, next, tt.want, tt.next)
			}
		}
		// What is read page by page stays that of the commit it began with.
		first, next := paths(repo.TreeFilter{Recursive: true, Range: page.Range{Keyset: true, Limit: 3}})
		_, err = w.repos.Commit(t.Context(), w.owner, w.as(w.owner), repo.CommitInput{Branch: "main", Message: "Move", Actions: []repo.Action{
			{Kind: repo.ActionDelete, Path: "b/x"}, {Kind: repo.ActionMove, Path: "c", PreviousPath: "b/y/z"},
		}})
		if err == nil {
			t.Fatal("c was overwritten by a move")
		}
		_, err = w.repos.Commit(t.Context(), w.owner, w.as(w.owner), repo.CommitInput{Branch: "main", Message: "Move", Actions: []repo.Action{
			{Kind: repo.ActionDelete, Path: "b/x"}, {Kind: repo.ActionMove, Path: "a0", PreviousPath: "c"},
		}})
		check(t, err)
		rest, next := paths(repo.TreeFilter{Recursive: true, After: next, Range: page.Range{Keyset: true, Limit: 10}})
		if first+" "+rest != "b a b/x b/y b/y/z c" || next != "" {
			t.Errorf("while files move: %q, then %q, next %q", first, rest, next)
		}
		for _, token := range []string{"gone", strings.Repeat("0", 40), "b64:", page.Order{page.Text("commit", ""), page.Text("path", "")}.Cursor(strings.Repeat("1", 40), "YQ")} {
			_, err := w.repos.Tree(t.Context(), w.reporter, w.as(w.reporter), repo.TreeFilter{After: token, Range: page.Range{Keyset: true, Limit: 2}})
			wants(t, err, errs.BadRequest, "page_token is invalid")
		}
	})
}

// The object id of the entry that a page showed last leads to the next page, though folders
// are shown before files that git sorts before them, and contents occur twice.
func TestService_Tree_objectID(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for path, content := range map[string]string{"a": "1", "b/x": "2", "b/y": "1", "c": "3", "d/a": "1", "e": "1"} {
			w.put("main", path, content)
		}
		for limit := 4; limit < 9; limit++ { // shorter pages than these end with the same content
			var got []string
			for f := (repo.TreeFilter{Recursive: true, Range: page.Range{Keyset: true, Limit: limit}}); len(got) < 20; {
				tree, err := w.repos.Tree(t.Context(), w.reporter, w.as(w.reporter), f)
				check(t, err)
				for _, e := range tree.Items {
					got = append(got, e.Path)
				}
				if tree.Token == "" {
					break
				}
				f.After = tree.Items[len(tree.Items)-1].ID.String()
			}
			slices.Sort(got)
			if want := "a b b/x b/y c d d/a e"; strings.Join(got, " ") != want {
				t.Errorf("%d a page: got %q, want %q", limit, got, want)
			}
		}
	})
}

// The token of a page goes through an address and back, whatever the file is called.
func TestService_Tree_tokens(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		base := w.put("main", "z", "1")
		names := []string{"\xff\xfe", "a\xe9b", "b64:x", strings.Repeat("ab", 20)}
		files := ""
		for _, name := range names {
			files += "M 100644 inline \"" + strings.NewReplacer("\xff", `\377`, "\xfe", `\376`, "\xe9", `\351`).Replace(name) + "\"\ndata 1\nx\n"
		}
		tip := w.fastImport(commitOf(1, "a@x.org", "Names", "from "+base.ID.String()+"\n"+files))
		check(t, w.open().UpdateRefs(t.Context(), []gitstore.RefUpdate{{Ref: "refs/heads/names", New: tip}}))
		seen := map[string]bool{}
		f := repo.TreeFilter{Ref: "names", Range: page.Range{Keyset: true, Limit: 1}}
		for pages := 0; pages < 10; pages++ {
			tree, err := w.repos.Tree(t.Context(), w.reporter, w.as(w.reporter), f)
			check(t, err)
			for _, e := range tree.Items {
				if seen[e.Path] {
					t.Errorf("%q comes twice", e.Path)
				}
				seen[e.Path] = true
			}
			if f.After = tree.Token; f.After == "" {
				break
			}
			if !utf8.ValidString(tree.Token) {
				t.Errorf("no request may hold %q", tree.Token)
			}
		}
		if len(seen) != len(names)+1 {
			t.Errorf("got %q", slices.Sorted(maps.Keys(seen)))
		}
	})
}

// Warm reads start no process.
func TestService_reads_warm(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.put("main", "dir/a", "a\n")
		w.put("side", "b", "b\n")
		p := w.as(w.reporter)
		read := func() {
			_, err := w.repos.Tree(ctx, w.reporter, p, repo.TreeFilter{Recursive: true})
			check(t, err)
			f, err := w.repos.File(ctx, w.reporter, p, "dir/a", "main", repo.WithLastCommit)
			check(t, err)
			check(t, f.Blob.Close())
			_, err = w.repos.FindBranch(ctx, w.reporter, p, "side")
			check(t, err)
			_, err = w.repos.Branches(ctx, w.reporter, p, repo.BranchFilter{})
			check(t, err)
			_, err = w.repos.Compare(ctx, w.reporter, p, repo.CompareInput{From: "main", To: "side"})
			check(t, err)
			_, err = w.repos.Commits(ctx, w.reporter, p, repo.CommitFilter{Range: page.Range{Limit: 20}})
			check(t, err)
		}
		read()
		before := w.git.Started()
		read()
		if n := w.git.Started() - before; n != 0 {
			t.Errorf("%d processes started by warm reads, want 0", n)
		}
	})
}

func TestService_Read_hidden(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put("main", "a", "a\n")
		p := w.as(w.owner)
		hidden := *p
		hidden.LevelKnown = false
		_, err := w.repos.Read(t.Context(), w.stranger, &hidden)
		wants(t, err, errs.NotFound, "Project not found")
		_, err = w.repos.Read(t.Context(), authz.Actor{}, &hidden)
		wants(t, err, errs.NotFound, "Project not found")
		_, err = w.repos.Read(t.Context(), w.guest, w.as(w.guest))
		wants(t, err, errs.Forbidden, "")
	})
}
