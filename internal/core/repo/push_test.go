package repo_test

import (
	"strings"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/core/repo"
)

// What git cannot do with a reference is told to the person who pushes; it is no failure
// of the server, and nothing moves.
func TestPush_Apply_impossible(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		tip := w.put("main", "a", "a\n").ID
		w.put("topic/one", "b", "b\n")
		blob, err := w.open().WriteBlob(ctx, []byte("no commit\n"))
		check(t, err)
		for _, tt := range []struct {
			name, ref string
			id        gitcmd.ObjectID
			want      string
		}{
			{"a blob as branch", "refs/heads/blob", blob, "must point at a commit"},
			{"a branch where a folder is", "refs/heads/topic", tip, "stands where"},
			{"a branch below a branch", "refs/heads/main/new", tip, "stands where"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				push, err := w.repos.BeginPush(ctx, w.developer, w.as(w.developer))
				check(t, err)
				changes := []repo.RefChange{{Ref: ref(t, "refs/heads/fine"), New: tip}, {Ref: ref(t, tt.ref), New: tt.id}}
				refusal, err := push.Check(ctx, w.open(), changes, nil)
				if err != nil || refusal != "" {
					t.Fatalf("check: %q, %v", refusal, err)
				}
				results, _, err := push.Apply(ctx, changes)
				check(t, err)
				for _, r := range results {
					if !strings.Contains(r.Reason, tt.want) {
						t.Errorf("%s: got %q, want %q in it", r.Ref, r.Reason, tt.want)
					}
				}
				if _, err := w.open().Branch(ctx, "fine"); err == nil {
					t.Error("one reference of a refused push moved")
				}
			})
		}
	})
}
