package repo_test

import (
	"strconv"
	"strings"
	"testing"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/coretest"
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
			id        gitstore.ObjectID
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

// No git sends these, and no log is to fill with failures because a user does.
func TestPush_Check_nonsense(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		tip := w.put("main", "a", "a\n").ID
		for want, changes := range map[string][]repo.RefChange{
			"cannot be changed twice":  {{Ref: "refs/heads/x", New: tip}, {Ref: "refs/heads/y", New: tip}, {Ref: "refs/heads/x", Old: tip}},
			"is not there":             {{Ref: "refs/heads/x"}},
			"with an invalid name":     {{Ref: "refs/heads/../x", New: tip}},
			"not refs/x.":              {{Ref: "refs/x", New: tip}},
			"invalid name":             {{Ref: "refs/x", Old: tip}},
			"create a branch with an ": {{Ref: "config", New: tip}},
		} {
			push, err := w.repos.BeginPush(t.Context(), w.developer, w.as(w.developer))
			check(t, err)
			if refusal, err := push.Check(t.Context(), w.open(), changes, nil); err != nil || !strings.Contains(refusal, want) {
				t.Errorf("%v: %q, %v, want %q", changes, refusal, err, want)
			}
		}
	})
}

// The attack: a user begins a push, holds back its end, and is shut out meanwhile. What
// was true when the push began counts for nothing when it ends.
func TestPush_Check_shutOut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		tip := w.put("main", "a", "a\n").ID
		exec := func(query string, args ...any) {
			t.Helper()
			_, err := w.DB.Exec(ctx, query, args...)
			check(t, err)
		}
		token := w.Insert("access_tokens", coretest.Row{
			"kind": "personal", "user_id": w.developer.UserID, "name": "ci", "name_fold": "ci", "scopes": "api", "digest": "d", "created_at": w.Now(), "revoked": false,
		})
		for i, tt := range []struct {
			name, out, back string
			arg             any
			want            string
		}{
			{"archived", "UPDATE projects SET archived = true WHERE id = ?", "UPDATE projects SET archived = false WHERE id = ?", w.id, "archived project"},
			{"no member", "UPDATE members SET access_level = 10 WHERE user_id = ?", "UPDATE members SET access_level = 30 WHERE user_id = ?", w.developer.UserID, "not allowed to push code to this project"},
			{"blocked", "UPDATE users SET state = 'blocked' WHERE id = ?", "UPDATE users SET state = 'active' WHERE id = ?", w.developer.UserID, "not allowed to push code to this project"},
			{"token revoked", "UPDATE access_tokens SET revoked = true WHERE id = ?", "UPDATE access_tokens SET revoked = false WHERE id = ?", token, "not allowed to push code to this project"},
		} {
			as := w.developer
			as.TokenID = token
			push, err := w.repos.BeginPush(ctx, as, w.as(w.developer))
			check(t, err)
			exec(tt.out, tt.arg)
			changes := []repo.RefChange{{Ref: ref(t, "refs/heads/new"+strconv.Itoa(i)), New: tip}}
			refusal, err := push.Check(ctx, w.open(), changes, nil)
			if err != nil || !strings.Contains(refusal, tt.want) {
				t.Errorf("%s: %q, %v", tt.name, refusal, err)
			}
			if _, _, err := push.Apply(ctx, changes); err == nil {
				t.Errorf("%s: what was refused is done", tt.name)
			}
			exec(tt.back, tt.arg)
			if refusal, err = push.Check(ctx, w.open(), changes, nil); err != nil || refusal != "" {
				t.Errorf("%s, and back: %q, %v", tt.name, refusal, err)
			}
		}
	})
}
