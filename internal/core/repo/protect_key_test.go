package repo_test

import (
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/deploykey"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
	"tenon/internal/core/sshkey"
)

// A deploy key has no role: it pushes to what no rule speaks of, and to what a rule
// names it for.
func TestService_Judge_deployKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put("main", "a.txt", "a")
		head := w.put("topic", "b.txt", "b").ID
		id := w.Insert("ssh_keys", map[string]any{
			"kind": sshkey.DeployKey, "title": "ci", "fingerprint_sha256": "SHA256:x", "usage_type": sshkey.Auth, "created_by_id": w.maintainer.UserID,
		})
		key := authz.Actor{Deploy: authz.Deploy{KeyID: id}}
		move := func(branch string) error {
			p, err := w.Projects.FindByID(t.Context(), key, w.id)
			if err != nil {
				return err
			}
			ref, err := gitstore.BranchRef(branch)
			check(t, err)
			change := repo.RefChange{Ref: ref, New: head}
			return w.repos.Judge(t.Context(), key, p, repo.ByPush, w.open(), []repo.RefChange{change})
		}
		wants(t, move("free"), errs.NotFound, "Project not found")
		grant := w.Insert("deploy_key_projects", map[string]any{"key_id": id, "project_id": w.id})
		wants(t, move("free"), errs.Forbidden, "This deploy key does not have write access to this project.")
		if _, err := w.DB.Exec(t.Context(), "UPDATE deploy_key_projects SET can_push = ? WHERE id = ?", true, grant); err != nil {
			t.Fatal(err)
		}
		check(t, move("free"))
		developers := authz.Developer
		_, err := w.protections.ProtectBranch(t.Context(), w.maintainer, w.as(w.maintainer), protection.Input{
			Name: "r/*", Push: []protection.LevelInput{{Level: &developers}},
		})
		check(t, err)
		wants(t, move("r/1"), errs.Forbidden, "You are not allowed to create protected branches on this project.")
		_, err = w.protections.ProtectBranch(t.Context(), w.maintainer, w.as(w.maintainer), protection.Input{
			Name: "r/1", Push: []protection.LevelInput{{DeployKeyID: &id}},
		})
		check(t, err)
		check(t, move("r/1"))
		_, err = w.protections.ProtectBranch(t.Context(), w.maintainer, w.as(w.maintainer), protection.Input{
			Name: "m", Merge: []protection.LevelInput{{DeployKeyID: &id}},
		})
		wants(t, err, errs.Unprocessable, "Merge access levels deploy key is not enabled for this project")

		p := w.as(w.maintainer)
		check(t, w.protections.DropDeployKey(t.Context(), deploykey.Removed{Of: change.Of[deploykey.Key]{Place: p.Place(), Before: &deploykey.Key{Key: &sshkey.Key{ID: sshkey.ID(id)}}}}))
		rule, err := w.protections.ProtectedBranch(t.Context(), w.maintainer, p, "r/1")
		check(t, err)
		for _, l := range rule.Levels {
			if l.DeployKeyID != nil {
				t.Errorf("the rule still names the key: %+v", l)
			}
		}
		for _, act := range []authz.Ability{authz.ReadMembers, authz.ReadIssue, authz.CreateIssue, authz.AdminProject, authz.ReadMergeRequest} {
			if err := w.Policy.Require(t.Context(), key, act, w.Subject(int64(w.id))); !errs.Is(err, errs.Forbidden) {
				t.Errorf("%s: got %v, want Forbidden", act, err)
			}
		}
	})
}
