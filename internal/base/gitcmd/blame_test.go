package gitcmd_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// Blame and the references that hold a commit agree with what git prints.
func TestRepo_Blame(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	commits := []gitstore.ObjectID{gittest.Commit(t, r, 1000, nil)}
	for i, text := range []string{"one\ntwo\nthree\n", "one\nTWO\nthree\n", "zero\none\nTWO\nthree", "zero\none\r\nTWO\n\tthree\n\n"} {
		commits = append(commits, gittest.Commit(t, r, int64(2000+i), map[string]string{"dir/a file.txt": text, "empty": ""}, commits[i]))
	}
	tip := commits[4]
	gittest.Point(t, r, "refs/heads/main", tip)
	gittest.Point(t, r, "refs/heads/old", commits[2])
	gittest.Point(t, r, "refs/tags/v1", commits[3])
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
			for line := range strings.Lines(gittest.Run(t, r.Path(), append(args, tip.String(), "--", "dir/a file.txt")...)) {
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
		if _, err := r.Blame(ctx, tip, path, 0, 0); !errors.Is(err, gitstore.ErrNotFound) && !errors.Is(err, gitstore.ErrWrongKind) {
			t.Errorf("%q: got %v", path, err)
		}
	}
	for _, id := range commits {
		for _, prefix := range []string{gitstore.Branches, gitstore.Tags} {
			names, err := r.RefsContaining(ctx, id, prefix)
			want := strings.Fields(gittest.Run(t, r.Path(), "for-each-ref", "--format=%(refname)", "--contains", id.String(), prefix))
			if err != nil || fmt.Sprint(names) != fmt.Sprint(want) {
				t.Errorf("%s in %s: got %v, %v, want %v", id, prefix, names, err, want)
			}
		}
	}
}
