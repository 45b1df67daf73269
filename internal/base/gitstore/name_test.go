package gitstore_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"tenon/internal/base/gitstore"
)

func TestParseObjectID(t *testing.T) {
	t.Parallel()
	good := "0123456789abcdef0123456789ABCDEF01234567"
	id, err := gitstore.ParseObjectID(good)
	if err != nil || id.String() != strings.ToLower(good) {
		t.Errorf("got %s, %v", id, err)
	}
	for _, bad := range []string{"", "0123", good + "0", good[:39] + "g", "-" + good[1:], good[:39] + "\n", "HEAD"} {
		if _, err := gitstore.ParseObjectID(bad); !errors.Is(err, gitstore.ErrBadName) {
			t.Errorf("%q: got %v, want ErrBadName", bad, err)
		}
	}
	if got := gitstore.EmptyTree().String(); got != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" {
		t.Errorf("empty tree: got %s", got)
	}
	var back gitstore.ObjectID
	value, err := id.Value()
	if err != nil {
		t.Fatal(err)
	}
	if err := back.Scan(value); err != nil || back != id {
		t.Errorf("scan: got %s, %v", back, err)
	}
}

func TestBranchRef(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"main", "feature/x", "a.b", "ü/λ", "v1.0-rc1", "a@b", "x{y}", "a-", "with#hash", "a'b\"c$d;e&f|g"} {
		ref, err := gitstore.BranchRef(name)
		if err != nil || ref.Short() != name || !ref.IsBranch() {
			t.Errorf("%q: got %q, %v", name, ref, err)
		}
	}
	bad := []string{
		"", "-x", "--exec=touch", "a/-x", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[b", `a\b`, "a.lock", "a.lock/b", "@{u}", "a@{1}",
		".a", "a/.b", "a.", "/a", "a/", "a//b", "a\x00b", "a\nb", "a\x7f", "@", strings.Repeat("x", 2000), "../../etc/passwd", "..",
	}
	for _, name := range bad {
		if _, err := gitstore.BranchRef(name); !errors.Is(err, gitstore.ErrBadName) {
			t.Errorf("%q: got %v, want ErrBadName", name, err)
		}
	}
	for _, name := range []string{strings.Repeat("a", 40), strings.Repeat("0", 64), "HEAD"} {
		if gitstore.ValidBranchName(name) || gitstore.ValidTagName(name) {
			t.Errorf("%q is taken for a valid name", name)
		}
	}
	for _, name := range []string{"", "heads/x", "refs", "/etc/passwd", "refs/../HEAD", "config"} {
		if gitstore.RefName(name).Valid() {
			t.Errorf("%q is taken for a valid reference", name)
		}
	}
}

// Whatever we accept, git accepts.
func FuzzParseRefName(f *testing.F) {
	for _, s := range []string{"refs/heads/main", "refs/heads/-x", "refs/heads/a..b", "refs/heads/a.lock", "refs/tags/@", "HEAD", "refs/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := gitstore.ParseRefName(s)
		if err != nil || ref == gitstore.HEAD {
			return
		}
		if err := exec.Command("git", "check-ref-format", s).Run(); err != nil {
			t.Errorf("%q is accepted by us and refused by git", s)
		}
	})
}

func TestValidPath(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"a", "a/b", ".gitignore", "a b", "-x", "...", "ü", "\xff\xfe", ".github/x", "git"} {
		if !gitstore.ValidPath(p) {
			t.Errorf("%q is refused", p)
		}
	}
	for _, p := range []string{"", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", ".git", ".GIT/config", "a/.git/hooks/x", "git~1", ".git ", ".git.", ".git::$INDEX", "a\x00", "a\\.git", ".g\u200cit"} {
		if gitstore.ValidPath(p) {
			t.Errorf("%q is accepted", p)
		}
	}
}
