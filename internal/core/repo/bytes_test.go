package repo_test

import (
	"strings"
	"testing"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/repo"
)

// Author and message of a commit stay as they are, byte for byte, when the server makes the commit again.
func TestService_bytes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		base := w.put("main", "a", "a\n")
		onto := w.put("main", "b", "b\n")
		r := w.open()
		for _, tt := range []struct {
			branch, encoding, author, message string // as stored
			title, name                       string // as read
		}{
			{"latin", "", "J\xfcrgen Gro\xdf", "Gr\xf6\xdfe \xe4ndern\n\nund f\xfcr alle gr\xfcn\n", "Größe ändern", "Jürgen Groß"},
			{"named", "windows-1251", "\xc8\xe2\xe0\xed", "\xc4\xe0\n", "Да", "Иван"},
			{"short", "", "Jos\xe9", "caf\xe9\n", "café", "José"},
			{"sjis", "", "\x93\xfa\x96{", "\x90\xdd\x92\xe8\x83t\x83@\x83C\x83\x8b\x82\xf0\x93\xc7\x82\xdd\x8d\x9e\x82\xde\x8f\x88\x97\x9d\x82\xf0\x92\xc7\x89\xc1\x82\xb7\x82\xe9\n", "設定ファイルを読み込む処理を追加する", "日本"},
		} {
			line := tt.author + " <a@example.com> 1700000000 -0330"
			blob, err := r.WriteBlob(ctx, []byte(tt.branch))
			check(t, err)
			tree, err := r.BuildTree(ctx, base.ID, []gitstore.TreeChange{{Path: tt.branch, Mode: gitstore.ModeFile, ID: blob}})
			check(t, err)
			by := gitstore.Signature{Name: "C", Email: "c@example.com", When: w.Now()}
			id, err := r.CommitTree(ctx, gitstore.CommitInput{
				Tree: tree, Parents: []gitstore.ObjectID{base.ID}, AuthorLine: line, Committer: by, Message: tt.message, Encoding: tt.encoding,
			})
			check(t, err)
			check(t, w.repos.MoveRefs(ctx, w.maintainer, w.as(w.maintainer), repo.ByPush, []repo.RefChange{{Ref: gitstore.RefName(gitstore.Branches + tt.branch), New: id}}))

			same := func(what string, c *gitstore.Commit, message, title string) {
				t.Helper()
				if c.AuthorLine != line || string(c.Raw) != message || c.Encoding != tt.encoding {
					t.Errorf("%s %s: stored as %q, %q, encoding %q; want %q, %q, %q", what, tt.branch, c.AuthorLine, c.Raw, c.Encoding, line, message, tt.encoding)
				}
				if c.Title() != title || c.Author.Name != tt.name || c.Author.When.Unix() != 1700000000 {
					t.Errorf("%s %s: read as %q by %v, want %q by %q", what, tt.branch, c.Title(), c.Author, title, tt.name)
				}
			}
			p := w.as(w.maintainer)
			picked, err := w.repos.CherryPick(ctx, w.maintainer, p, tt.branch, repo.PickInput{Branch: "main"})
			check(t, err)
			same("cherry-pick", picked, strings.TrimRight(tt.message, "\n")+"\n\n(cherry picked from commit "+id.String()+")", tt.title)

			own, err := w.repos.Revert(ctx, w.maintainer, p, picked.ID.String(), repo.PickInput{Branch: "main"})
			check(t, err)
			title, _, _ := strings.Cut(tt.message, "\n")
			if tt.encoding != "" {
				title = tt.title // a commit that names no encoding quotes it in UTF-8
			}
			if got, _, _ := strings.Cut(string(own.Raw), "\n"); got != `Revert "`+title+`"` || own.Encoding != "" {
				t.Errorf("revert %s: %q, encoding %q, want the title %q", tt.branch, own.Raw, own.Encoding, title)
			}
			picked, err = w.repos.CherryPick(ctx, w.maintainer, p, tt.branch, repo.PickInput{Branch: "main", Message: "Прочее"})
			check(t, err)
			if picked.Message != "Прочее" || tt.branch != "sjis" && picked.Author.Name != tt.name || // one word in Shift-JIS is too short to detect
				picked.Encoding != "" {
				t.Errorf("cherry-pick %s with a message: %q by %v, encoding %q", tt.branch, picked.Message, picked.Author, picked.Encoding)
			}

			check(t, w.repos.Rebase(ctx, w.maintainer, p, repo.RebaseInput{Branch: tt.branch, Onto: onto.ID}))
			tip, err := w.open().Branch(ctx, tt.branch)
			check(t, err)
			rebased, err := w.open().Commit(ctx, tip)
			check(t, err)
			same("rebase", rebased, tt.message, tt.title)
			if rebased.ID == id || rebased.Committer.Name != "Mary" {
				t.Errorf("rebase %s: %v by %v", tt.branch, rebased.ID, rebased.Committer)
			}
		}
		check(t, w.open().Fsck(ctx))
	})
}

// A committer whose name the named encoding lacks turns the commit into UTF-8.
func TestService_bytes_committer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		r := w.open()
		for committer, encoding := range map[string]string{"Zoë": "ISO-8859-1", "Иван": ""} {
			id, err := r.CommitTree(ctx, gitstore.CommitInput{
				Tree: gitstore.EmptyTree(), AuthorLine: "Jos\xe9 <j@x> 1 +0000", Committer: gitstore.Signature{Name: committer, Email: "c@x", When: w.Now()},
				Message: "caf\xe9\n", Encoding: "ISO-8859-1",
			})
			check(t, err)
			c, err := r.Commit(ctx, id)
			check(t, err)
			if c.Committer.Name != committer || c.Author.Name != "José" || c.Message != "café\n" || c.Encoding != encoding {
				t.Errorf("%s: %v, %v, %q, encoding %q, want %q", committer, c.Committer, c.Author, c.Message, c.Encoding, encoding)
			}
		}
	})
}
