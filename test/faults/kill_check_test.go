package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/db"
)

// check compares what the clients were told with what the server has.
func (k *killed) check(t *testing.T) {
	t.Helper()
	if err := k.open().Analyze(t.Context()); err != nil { // the clusters of tests do not do so by themselves
		t.Fatal(err)
	}
	k.checkIssues(t)
	k.checkNotes(t)
	k.checkRepository(t)
	k.checkMerges(t)
	k.checkPlanned(t)
	k.checkReviews(t)
	k.checkRemains(t)
	k.checkWorks(t)
	if out := adminDone(t, k.s.Data, k.s.Database(), "check", "--fsck"); !strings.Contains(out, "no problems found") {
		t.Errorf("admin check --fsck: %s, want no problems", out)
	}
}

type found struct {
	ID     int64  `json:"id"`
	IID    int64  `json:"iid"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	State  string `json:"state"`
	Status string `json:"status"`
	Notes  int    `json:"user_notes_count"`

	System      bool   `json:"system"`
	MergeCommit string `json:"merge_commit_sha"`
	Squash      bool   `json:"squash"`
	SquashSHA   string `json:"squash_commit_sha"`
	SHA         string `json:"sha"`
	MergedAt    string `json:"merged_at"`
}

func (k *killed) checkIssues(t *testing.T) {
	rows := all[found](k.world, "/issues?scope=all&order_by=created_at&sort=asc")
	have := map[int64]string{}
	for _, row := range rows {
		have[row.IID] = row.Title
	}
	for iid, title := range k.issues {
		if have[iid] != title {
			t.Errorf("issue %d was answered with the title %q, now it is %q", iid, title, have[iid])
		}
	}
	for iid := range int64(len(rows)) {
		if _, ok := have[iid+1]; !ok {
			t.Errorf("number %d is missing among %d issues", iid+1, len(rows))
		}
	}
}

func (k *killed) checkNotes(t *testing.T) {
	have := map[int64]string{}
	for iid := range noted {
		comments, path := 0, fmt.Sprintf("/issues/%d", iid+1)
		for _, row := range all[found](k.world, path+"/notes") {
			have[row.ID] = row.Body
			if !row.System {
				comments++
			}
		}
		counted := k.want(200, k.ann, "GET", fmt.Sprintf("/projects/%d%s", k.project, path), "").number("user_notes_count")
		if counted != int64(comments) {
			t.Errorf("issue %d counts %d notes and lists %d", iid+1, counted, comments)
		}
	}
	for id, body := range k.notes {
		if have[id] != body {
			t.Errorf("note %d was answered with the text %q, now it is %q", id, body, have[id])
		}
	}
}

func (k *killed) checkRepository(t *testing.T) {
	repository := k.repository()
	for branch, answered := range map[string][]string{"api": k.commits, "pushed": k.pushes} {
		have := lines(k.git(repository, "rev-list", branch))
		for _, sha := range answered {
			if !have[sha] {
				t.Errorf("commit %s was answered and is not on %s", sha, branch)
			}
		}
	}
	if out, err := git(t.Context(), repository, "fsck", "--strict", "--full", "--no-dangling"); err != nil {
		t.Errorf("fsck: %v", err)
	} else if out != "" {
		t.Errorf("fsck says %q, want nothing", out)
	}
}

// checkMerges makes sure that a request is merged exactly if its commit is on main.
func (k *killed) checkMerges(t *testing.T) {
	repository := k.repository()
	onMain := lines(k.git(repository, "rev-list", "main"))
	byNumber := map[int64]string{}
	for entry := range strings.SplitSeq(k.git(repository, "log", "--first-parent", "--merges", "-z", "--format=%H %B", "main"), "\x00") {
		sha, message, _ := strings.Cut(entry, " ")
		_, number, ok := strings.Cut(message, "See merge request team/app!")
		var iid int64
		if _, err := fmt.Sscan(number, &iid); !ok || err != nil {
			continue
		}
		if before, twice := byNumber[iid]; twice {
			t.Errorf("!%d is merged twice: %s and %s", iid, before, sha)
		}
		byNumber[iid] = sha
	}
	requests := all[found](k.world, "/merge_requests?state=all&scope=all")
	states := map[int64]string{}
	for _, m := range requests {
		states[m.IID] = m.State
		sha := byNumber[m.IID]
		switch m.State {
		case "merged":
			if m.MergeCommit == "" || m.MergeCommit != sha || !onMain[m.MergeCommit] {
				t.Errorf("!%d is merged by %q, main has %q", m.IID, m.MergeCommit, sha)
			}
			if m.Squash && !onMain[m.SquashSHA] {
				t.Errorf("!%d: squash commit %q is not on main", m.IID, m.SquashSHA)
			}
			if m.MergedAt == "" {
				t.Errorf("!%d is merged at no time", m.IID)
			}
		case "opened":
			if sha != "" {
				t.Errorf("!%d is open, main has its merge commit %s", m.IID, sha)
			}
		default:
			t.Errorf("!%d is %s", m.IID, m.State)
		}
	}
	for iid, sha := range k.merges {
		if states[iid] != "merged" || byNumber[iid] != sha {
			t.Errorf("!%d was answered as merged by %s; now it is %s, main has %q", iid, sha, states[iid], byNumber[iid])
		}
	}
}

// checkRemains looks for what a crash may leave and no user would clean up.
func (k *killed) checkRemains(t *testing.T) {
	k.await("the locks that crashes left to be removed", func() bool { return len(k.locks(t)) == 0 })
	unfinished := 0
	err := filepath.WalkDir(filepath.Join(k.s.Data, "repositories"), func(path string, _ fs.DirEntry, err error) error {
		if name := filepath.Base(path); strings.HasPrefix(name, "tmp_") || strings.HasPrefix(name, "incoming") {
			unfinished++ // they block nothing; they only take room
		}
		if errors.Is(err, fs.ErrNotExist) { // the server is at work
			return nil
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	k.await("housekeeping to pack objects", func() bool {
		packs, err := filepath.Glob(filepath.Join(k.repository(), "objects", "pack", "*.pack"))
		if err != nil {
			t.Fatal(err)
		}
		return len(packs) > 0 || len(k.commits) <= 100
	})
	t.Logf("unfinished objects and quarantines left over: %d", unfinished)
	d := k.open()
	for _, table := range []string{"merge_leases", "ref_intents"} {
		k.await(table+" to be empty while nothing is in flight", func() bool { return count(t, d, "SELECT count(*) FROM "+table) == 0 })
	}
	for _, tt := range []struct{ name, query string }{
		{"notes of nothing", "SELECT count(*) FROM notes n WHERE n.noteable_type = 'Issue' AND NOT EXISTS (SELECT 1 FROM issues i WHERE i.id = n.noteable_id)"},
		{"merge requests without their version", "SELECT count(*) FROM merge_requests m WHERE m.version_id IS NULL"},
		{"merged requests without an event", "SELECT count(*) FROM merge_requests m WHERE m.state = 'merged' AND NOT EXISTS (SELECT 1 FROM events e WHERE e.target_type = 'MergeRequest' AND e.target_id = m.id AND e.action = 'merged')"},
	} {
		if n := count(t, d, tt.query); n != 0 {
			t.Errorf("%s: got %d, want none", tt.name, n)
		}
	}
	rows, err := db.Select[string](t.Context(), d, "SELECT DISTINCT target_branch FROM merge_requests")
	if err != nil || len(rows) > 1 {
		t.Errorf("target branches: got %v (%v), want main alone", rows, err)
	}
}

// locks lists the lock files in repositories. Those of housekeeping come and go.
func (k *killed) locks(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(k.s.Data, "repositories"), func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if strings.HasSuffix(path, ".lock") || filepath.Base(path) == "packed-refs.new" {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return found
}

// checkWorks does each thing once more on the server that was killed so often.
func (k *killed) checkWorks(t *testing.T) {
	before := len(k.merges)
	dir := k.clone()
	for name, ok := range map[string]bool{
		"issue": k.issue("last issue"), "note": k.note(1, "last note"), "commit": k.commit(1_000_000),
		"push": k.push(dir)(1_000_000), "merge": k.merge(1_000_000),
	} {
		if !ok {
			t.Errorf("%s: the server does not work any more", name)
		}
	}
	if len(k.merges) != before+1 {
		t.Errorf("merges: got %d, want %d", len(k.merges), before+1)
	}
}

func lines(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(text) {
		out[strings.TrimSpace(line)] = true
	}
	return out
}
