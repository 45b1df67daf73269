package repo_test

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// A push settles whose the addresses of its new commits are, in whatever shape they come, and
// takes at most one process for that.
func TestService_MoveRefs_addresses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx, r := t.Context(), w.open()
		main := w.put("main", "a", "a\n").ID
		commit := func(email string, parents ...gitstore.ObjectID) gitstore.ObjectID {
			t.Helper()
			tree, err := r.BuildTree(ctx, main, nil)
			check(t, err)
			id, err := r.CommitTree(ctx, gitstore.CommitInput{
				Tree: tree, Parents: parents, Message: email, Author: gitstore.Signature{Name: "x", Email: email, When: w.Now()},
			})
			check(t, err)
			return id
		}
		settled := func() string {
			t.Helper()
			type row struct {
				Email string        `db:"email_fold"`
				User  *authz.UserID `db:"user_id"`
			}
			rows, err := db.Select[row](ctx, w.DB, "SELECT email_fold, user_id FROM address_owners WHERE project_id = ? ORDER BY email_fold, id", w.id)
			check(t, err)
			var out []string
			for _, r := range rows {
				name, _, _ := strings.Cut(r.Email, "@")
				switch {
				case r.User == nil:
					name += "=none"
				case *r.User != w.developer.UserID:
					name += fmt.Sprintf("=%d", *r.User)
				}
				out = append(out, name)
			}
			_, err = w.DB.Exec(ctx, "DELETE FROM address_owners")
			check(t, err)
			return strings.Join(out, " ")
		}
		settled() // of the world's own commits
		zero := gitstore.ObjectID{}
		dev := w.developer.Username
		one := commit("one@example.com", main)
		three := commit(strings.ToUpper(dev)+"@Example.com", commit("two@example.com", commit("\xffodd@example.com", one)))
		four := commit(strings.Repeat("x", 300)+"@example.com", commit("four@example.com", three))
		for _, tt := range []struct {
			name      string
			source    repo.Source
			ref       string
			old, new  gitstore.ObjectID
			processes int64
			want      string
		}{
			{"a branch of one commit", repo.ByPush, "refs/heads/b1", zero, one, 0, "one=none"},
			{"a branch of several", repo.ByPush, "refs/heads/b3", zero, three, 1, dev + " two=none \ufffdodd=none"},
			{"a branch of commits that are there", repo.ByPush, "refs/heads/again", zero, three, 1, ""},
			{"commits on top of others", repo.ByPush, "refs/heads/b3", three, four, 0, "four=none"},
			{"back again", repo.ByPush, "refs/heads/b3", four, three, 3, ""}, // as for any push over commits
			{"a tag", repo.ByPush, "refs/tags/v1", zero, three, 1, ""},
			{"what the server made", repo.ByAPI, "refs/heads/api", zero, three, 0, dev},
			{"a deletion", repo.ByPush, "refs/heads/api", three, zero, 0, ""},
		} {
			before := w.git.Started()
			check(t, w.repos.MoveRefs(ctx, w.owner, w.as(w.owner), tt.source, []repo.RefChange{{Ref: ref(t, tt.ref), Old: tt.old, New: tt.new}}))
			processes := w.git.Started() - before
			if got := settled(); got != tt.want || processes > tt.processes {
				t.Errorf("%s: got %q with %d processes, want %q with at most %d", tt.name, got, processes, tt.want, tt.processes)
			}
		}

		// What came in another way is settled when it is asked for, once.
		emails := []string{"two@example.com", dev + "@example.com"}
		owners, err := w.repos.AddressOwners(ctx, []project.ID{w.id}, emails)
		check(t, err)
		_, err = w.DB.Exec(ctx, "UPDATE emails SET email = ?, email_fold = ? WHERE user_id = ?", emails[0], emails[0], w.developer.UserID)
		check(t, err)
		again, err := w.repos.AddressOwners(ctx, []project.ID{w.id}, emails)
		check(t, err)
		want := fmt.Sprint(map[string][]authz.UserID{emails[1]: {w.developer.UserID}})
		if fmt.Sprint(owners) != want || fmt.Sprint(again) != want {
			t.Errorf("owners: got %v, then %v, want %s", owners, again, want)
		}
	})
}
