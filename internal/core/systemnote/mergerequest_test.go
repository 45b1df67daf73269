package systemnote

import (
	"testing"

	"tenon/internal/core/change"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

func TestRequestTitle(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"Greet", "Draft: Greet", "marked this merge request as **draft**"},
		{"[Draft] Greet", "Greet", "marked this merge request as **ready**"},
		{"Draft: Greet", "draft: Greet", "changed title from **{-D-}raft: Greet** to **{+d+}raft: Greet**"},
		{"Greet", "Greet all", "changed title from **Greet** to **Greet{+ all+}**"},
	} {
		if got := RequestTitle(tt.from, tt.to); got != tt.want {
			t.Errorf("%q to %q: %q, want %q", tt.from, tt.to, got, tt.want)
		}
	}
}

func TestCommits(t *testing.T) {
	e := mergerequest.NewVersion{
		Fact:   mergerequest.Fact{Project: &project.Project{FullPath: "group/shop"}, Of: change.Of[mergerequest.MergeRequest]{After: &mergerequest.MergeRequest{IID: 3}}},
		OldSHA: "aaaa", VersionID: 9, CommitsCount: 2,
		Commits: []mergerequest.CommitLine{{SHA: "22222222", Title: "Fix <b>"}, {SHA: "11111111", Title: "Begin"}},
	}
	want := "added 2 commits\n\n<ul><li>11111111 - Begin</li><li>22222222 - Fix &lt;b&gt;</li></ul>\n\n" +
		"[Compare with previous version](/group/shop/-/merge_requests/3/diffs?diff_id=9&start_sha=aaaa)"
	if got := Commits(e); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e.CommitsCount, e.Commits, e.VersionID, e.EarlierFirst, e.EarlierLast = 12, e.Commits[:1], 0, "00000000", "11111111"
	if got, want := Commits(e), "added 12 commits\n\n<ul><li>00000000...11111111 - 11 earlier commits</li><li>22222222 - Fix &lt;b&gt;</li></ul>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e.CommitsCount, e.OldSHA, e.FromTarget, e.TargetSHA, e.Row().TargetBranch = 1, "0123456789abcdef", 3, "33333333", "a<b"
	want = "added 4 commits\n\n<ul><li>01234567...33333333 - 3 commits from branch <code>a&lt;b</code></li><li>22222222 - Fix &lt;b&gt;</li></ul>"
	if got := Commits(e); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e.FromTarget = 1
	if got, want := Commits(e), "added 2 commits\n\n<ul><li>33333333 - 1 commit from branch <code>a&lt;b</code></li><li>22222222 - Fix &lt;b&gt;</li></ul>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
