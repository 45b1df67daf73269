package gitcmd_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/gitcmd"
)

// Blame and the references that hold a commit agree with what git prints.
func TestRepo_Blame(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	r := newRepo(t, g)
	commits := []gitcmd.ObjectID{commit(t, r, 1000, nil)}
	for i, text := range []string{"one\ntwo\nthree\n", "one\nTWO\nthree\n", "zero\none\nTWO\nthree", "zero\none\r\nTWO\n\tthree\n\n"} {
		commits = append(commits, commit(t, r, int64(2000+i), map[string]string{"dir/a file.txt": text, "empty": ""}, commits[i]))
	}
	tip := commits[4]
	point(t, r, "refs/heads/main", tip)
	point(t, r, "refs/heads/old", commits[2])
	point(t, r, "refs/tags/v1", commits[3])
	ctx := t.Context()
	for _, lines := range [][2]int{{0, 0}, {2, 3}, {4, 4}, {3, 99}, {90, 99}} {
		ranges, err := r.Blame(ctx, tip, "/dir/a file.txt", lines[0], lines[1])
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, b := range ranges {
			for _, line := range b.Lines {
				fmt.Fprintf(&got, "%s %s\n", b.Commit, line)
			}
		}
		want := ""
		if lines[0] < 90 {
			args := []string{"blame", "-s", "-l", "--root"}
			if lines[0] > 0 {
				args = append(args, fmt.Sprintf("-L%d,%d", lines[0], lines[1]))
			}
			for line := range strings.Lines(runGit(t, r.Path(), append(args, tip.String(), "--", "dir/a file.txt")...)) {
				id, rest, _ := strings.Cut(line, " ")
				_, text, _ := strings.Cut(rest, ") ")
				want += id + " " + text
			}
		}
		if got.String() != want {
			t.Errorf("lines %v\n got %q\nwant %q", lines, got.String(), want)
		}
	}
	if ranges, err := r.Blame(ctx, tip, "empty", 0, 0); err != nil || len(ranges) != 0 {
		t.Errorf("empty file: %v, %v", ranges, err)
	}
	for _, path := range []string{"none", "dir", "", "--help"} {
		if _, err := r.Blame(ctx, tip, path, 0, 0); !errors.Is(err, gitcmd.ErrNotFound) && !errors.Is(err, gitcmd.ErrWrongKind) {
			t.Errorf("%q: got %v", path, err)
		}
	}
	for _, id := range commits {
		for _, prefix := range []string{gitcmd.Branches, gitcmd.Tags} {
			names, err := r.RefsContaining(ctx, id, prefix)
			want := strings.Fields(runGit(t, r.Path(), "for-each-ref", "--format=%(refname)", "--contains", id.String(), prefix))
			if err != nil || fmt.Sprint(names) != fmt.Sprint(want) {
				t.Errorf("%s in %s: got %v, %v, want %v", id, prefix, names, err, want)
			}
		}
	}
}
