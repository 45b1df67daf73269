package gitcmd_test

import (
	"testing"

	"tenon/internal/base/gitcmd"
)

func TestFileDiff_Changed(t *testing.T) {
	t.Parallel()
	patch := "@@ -1,4 +1,5 @@ func\n a\n-b\n+B\n+C\n c\n d\n\\ No newline at end of file\n@@ -20,0 +22,2 @@\n+x\n+@@ y\n@@ -30,2 +33,0 @@\n-p\n--- q\n"
	for _, tt := range []struct {
		name   string
		number int
		old    bool
		want   gitcmd.ChangedLine
		found  bool
	}{
		{"an added line", 3, false, gitcmd.ChangedLine{OldNumber: 3, NewNumber: 3}, true},
		{"a line taken away", 2, true, gitcmd.ChangedLine{OldNumber: 2, NewNumber: 2, Old: true}, true},
		{"a line that stayed", 4, false, gitcmd.ChangedLine{}, false},
		{"in a later hunk", 23, false, gitcmd.ChangedLine{OldNumber: 21, NewNumber: 23}, true},
		{"that looks like a header", 31, true, gitcmd.ChangedLine{OldNumber: 31, NewNumber: 34, Old: true}, true},
		{"outside of all hunks", 100, false, gitcmd.ChangedLine{}, false},
		{"no number of a line", 0, false, gitcmd.ChangedLine{}, false},
		{"below zero", -1, true, gitcmd.ChangedLine{}, false},
	} {
		f := &gitcmd.FileDiff{Patch: []byte(patch)}
		if got, found := f.Changed(tt.number, tt.old); found != tt.found || found && got != tt.want {
			t.Errorf("%s: got %+v, %t, want %+v, %t", tt.name, got, found, tt.want, tt.found)
		}
	}
	for _, patch := range []string{"", "Binary", "@@ -x +1 @@\n+a\n", "@@\n+a\n", "+a\n"} {
		if got, found := (&gitcmd.FileDiff{Patch: []byte(patch)}).Changed(1, false); found {
			t.Errorf("found %+v in %q", got, patch)
		}
	}
}

func TestFileDiff_Numbered(t *testing.T) {
	t.Parallel()
	line := gitcmd.ChangedLine{OldNumber: 1, NewNumber: 1}
	for patch, want := range map[string]gitcmd.ChangedLine{
		"@@ -0,0 +1,2 @@\n+a\n+b\n":             {OldNumber: 0, NewNumber: 1},
		"@@ -0,0 +1 @@\n+a\n":                   {OldNumber: 0, NewNumber: 1},
		"@@ -1,2 +0,0 @@\n-a\n-b\n":             {OldNumber: 1, NewNumber: 0},
		"@@ -1 +1,2 @@\n a\n+@@ -0,0 +0,0 @@\n": line,
		"":                                      line,
	} {
		if got := (&gitcmd.FileDiff{Patch: []byte(patch)}).Numbered(line); got != want {
			t.Errorf("%q: got %+v, want %+v", patch, got, want)
		}
	}
}
