package gitcmd

import "testing"

// TestFileDiff_Lines maps lines through patches with and without lines of context.
func TestFileDiff_Lines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, patch string
		toNew       map[int]int // 0: removed
		toOld       map[int]int // 0: added
	}{
		{"empty", "", map[int]int{1: 1, 9: 9}, map[int]int{1: 1, 9: 9}},
		{"insert at the front", "@@ -0,0 +1,2 @@\n+a\n+b\n", map[int]int{1: 3, 5: 7}, map[int]int{1: 0, 2: 0, 3: 1}},
		{"remove", "@@ -3,2 +2,0 @@\n-c\n-d\n", map[int]int{2: 2, 3: 0, 4: 0, 5: 3}, map[int]int{2: 2, 3: 5}},
		{"replace, no context", "@@ -2 +2,3 @@\n-b\n+x\n+y\n+z\n@@ -7 +9 @@\n-g\n+G\n", map[int]int{1: 1, 2: 0, 3: 5, 6: 8, 7: 0, 8: 10}, map[int]int{2: 0, 4: 0, 5: 3, 9: 0, 10: 8}},
		{
			"two changes in one hunk", "@@ -1,6 +1,5 @@\n a\n-b\n c\n d\n-e\n+E\n f\n\\ No newline at end of file\n",
			map[int]int{1: 1, 2: 0, 3: 2, 5: 0, 6: 5, 7: 6},
			map[int]int{2: 3, 4: 0, 5: 6},
		},
	} {
		m := (&FileDiff{Patch: []byte(tt.patch)}).Lines()
		for from, want := range tt.toNew {
			if got, ok := m.New(from); got != want || ok != (want > 0) {
				t.Errorf("%s: old line %d is new line %d, %v, want %d", tt.name, from, got, ok, want)
			}
			if _, removed := m.Removed(from); removed != (want == 0) {
				t.Errorf("%s: old line %d removed: %v", tt.name, from, removed)
			}
		}
		for from, want := range tt.toOld {
			if got, ok := m.Old(from); got != want || ok != (want > 0) {
				t.Errorf("%s: new line %d is old line %d, %v, want %d", tt.name, from, got, ok, want)
			}
			if _, added := m.Added(from); added != (want == 0) {
				t.Errorf("%s: new line %d added: %v", tt.name, from, added)
			}
		}
	}
}
