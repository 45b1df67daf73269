package systemnote

import (
	"testing"

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
		Fact:   mergerequest.Fact{Project: &project.Project{FullPath: "group/shop"}, MergeRequest: mergerequest.MergeRequest{IID: 3}},
		OldSHA: "aaaa", VersionID: 9, CommitsCount: 2,
		Commits: []mergerequest.CommitLine{{SHA: "22222222", Title: "Fix <b>"}, {SHA: "11111111", Title: "Begin"}},
	}
	want := "added 2 commits\n\n<ul><li>11111111 - Begin</li><li>22222222 - Fix &lt;b&gt;</li></ul>\n\n" +
		"[Compare with previous version](/group/shop/-/merge_requests/3/diffs?diff_id=9&start_sha=aaaa)"
	if got := Commits(e); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e.CommitsCount, e.Commits, e.VersionID = 12, e.Commits[:1], 0
	if got, want := Commits(e), "added 12 commits\n\n<ul><li>11 earlier commits</li><li>22222222 - Fix &lt;b&gt;</li></ul>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
