package approval_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/approval"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/codeowner"
	"tenon/internal/core/coretest"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
)

// owners are the rules of code owners of a merge request: section, pattern, number, users.
func (w *world) owners(iid mergerequest.IID) string {
	w.T.Helper()
	var out []string
	st := w.state(iid)
	for i := range st.Rules {
		if r := &st.Rules[i]; r.Type == approval.CodeOwner {
			line := fmt.Sprintf("%s %s %d", r.Section, r.Name, r.Required)
			for _, id := range r.Approvers {
				line += " " + w.names[id]
			}
			out = append(out, line)
		}
	}
	return strings.Join(out, ", ")
}

// ownersApprove has code owners approve what goes into main.
func (w *world) ownersApprove(on bool) {
	w.T.Helper()
	_, err := w.Protections.UpdateProtectedBranch(w.T.Context(), w.Maintainer, w.As(w.Maintainer), "main", protection.Changes{CodeOwners: &on})
	approvaltest.Check(w.T, err)
}

// Merge requests have the rules of the CODEOWNERS file of their target branch for the files that
// they change, and wait for them where the branch is protected so.
func TestState_codeOwners(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.Member(w.GroupID, w.Reporter, authz.Developer)
		w.Push("main", "", approvaltest.Files{
			"docs/CODEOWNERS": "*.go @ruth @stan @nobody\n/docs/ @group @Olga\n[Build][2]\nMakefile ruth@example.com @OLGA\n^[Look]\n*.css @ruth\n",
		}, "olga")
		m := w.Open("topic", approvaltest.Files{"a.go": "a\n", "docs/x.css": "x\n", "b": "b\n"})
		approvaltest.Equal(t, "rules", w.owners(m.IID), "codeowners *.go 0 ruth, codeowners /docs/ 0 olga rita, Look *.css 0 ruth")
		approvaltest.Equal(t, "status where they are not asked for", w.Status(m.IID), "mergeable")
		w.ownersApprove(true)
		approvaltest.Equal(t, "rules of a branch with owners", w.owners(m.IID), "codeowners *.go 1 ruth, codeowners /docs/ 1 olga rita, Look *.css 0 ruth")
		approvaltest.Equal(t, "status", w.Status(m.IID), "not_approved")
		_, err := w.approve(w.Reviewer, m.IID, approval.Input{})
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "status with one of two", w.Status(m.IID), "not_approved")
		approvaltest.WantError(t, "merge", w.Merge(m.IID), errs.NotAllowed, "the merge request is not approved")
		_, err = w.approve(w.Reporter, m.IID, approval.Input{}) // a member of the group
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "status with both", w.Status(m.IID), "mergeable")

		// They are not changed or deleted by users.
		for i := range w.state(m.IID).Rules {
			id := w.state(m.IID).Rules[i].ID
			approvaltest.WantError(t, "delete", w.approvals.DeleteRequestRule(ctx, w.Developer, w.As(w.Developer), m.IID, id), errs.Forbidden, "")
			_, err := w.approvals.UpdateRequestRule(ctx, w.Developer, w.As(w.Developer), m.IID, id, approval.Ruling{Required: new(int64(0))})
			approvaltest.WantError(t, "update", err, errs.Forbidden, "")
		}
		approvaltest.Equal(t, "overwritten", w.state(m.IID).Overwritten, false)

		// A new version has the rules of its files; what the source branch says of owners does not count.
		w.Push("topic", "", approvaltest.Files{"Makefile": "all:\n", "docs/CODEOWNERS": "* @dave\n"}, "dave")
		approvaltest.Equal(t, "rules of a new version", w.owners(m.IID),
			"codeowners *.go 1 ruth, codeowners /docs/ 1 olga rita, Look *.css 0 ruth, Build Makefile 2 olga ruth")
		approvaltest.Equal(t, "status of a new version", w.Status(m.IID), "not_approved")

		// Other owners in the target branch are those from then on.
		w.Push("main", "", approvaltest.Files{"CODEOWNERS": "*.go @mary\nb @dave\n"}, "olga")
		approvaltest.Equal(t, "merge after a push to the target", w.Merge(m.IID) == nil, false)
		approvaltest.Equal(t, "rules of the file at the root", w.owners(m.IID), "codeowners *.go 1 mary, codeowners b 1")
		_, err = w.approve(w.Maintainer, m.IID, approval.Input{})
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "status where the author is the only other owner", w.Status(m.IID), "mergeable")

		// Who becomes a member, of the project or of a group, is an owner from then on.
		w.Push("main", "", approvaltest.Files{"CODEOWNERS": "*.go @mary @stan\n"}, "olga")
		approvaltest.Equal(t, "owners", w.owners(m.IID), "codeowners *.go 1 mary")
		w.Join(w.ID, w.Stranger, authz.Developer)
		approvaltest.Check(t, w.DB.InTx(ctx, func(ctx context.Context) error {
			return w.Bus.Publish(ctx, namespace.MemberAdded{Of: change.Of[namespace.Member]{Place: authz.Place{Namespace: w.As(w.Owner).NamespaceID}}})
		}))
		approvaltest.Equal(t, "owners with a new member", w.owners(m.IID), "codeowners *.go 1 mary stan")
		w.Exec("DELETE FROM members WHERE user_id = ?", w.Stranger.UserID)
		approvaltest.Check(t, w.DB.InTx(ctx, func(ctx context.Context) error {
			return w.Bus.Publish(ctx, namespace.MemberRemoved{Of: change.Of[namespace.Member]{Place: authz.Place{Namespace: w.GroupID, Group: true}}})
		}))
		approvaltest.Equal(t, "owners without that member", w.owners(m.IID), "codeowners *.go 1 mary")

		w.ownersChange(m.IID)

		// A file out of bounds holds up merges until it is mended.
		w.Push("main", "", approvaltest.Files{"CODEOWNERS": "* @mary\n" + strings.Repeat("#", codeowner.MaxBytes)}, "olga")
		approvaltest.WantError(t, "merge with a large file", w.Merge(m.IID), errs.NotAllowed, "the CODEOWNERS file of the target branch exceeds the limits")
		approvaltest.Equal(t, "approved", w.state(m.IID).Approved, false)
		w.ownersApprove(false)
		approvaltest.Equal(t, "status without owners", w.Status(m.IID), "mergeable")
		w.ownersApprove(true)
		w.Push("main", "", approvaltest.Files{"CODEOWNERS": "nothing @mary\n"}, "olga")
		approvaltest.Equal(t, "rules for other files", w.owners(m.IID), "")
		approvaltest.Check(t, w.Merge(m.IID))
	})
}

// ownersChange makes stan, named by CODEOWNERS beside mary, an owner, and takes that back, by other means than
// a membership: an invited group, a state of his account, a day that ends an invitation.
func (w *world) ownersChange(iid mergerequest.IID) {
	t, ctx, place := w.T, w.T.Context(), w.As(w.Owner).NamespaceID
	t.Helper()
	publish := func(e event.Event) {
		t.Helper()
		approvaltest.Check(t, w.DB.InTx(ctx, func(ctx context.Context) error { return w.Bus.Publish(ctx, e) }))
	}
	const without, with = "codeowners *.go 1 mary", "codeowners *.go 1 mary stan"
	team := w.Group("team", authz.Private, 0)
	w.Member(team, w.Stranger, authz.Developer)
	w.Insert("shares", coretest.Row{"namespace_id": place, "group_id": team, "access_level": authz.Developer})
	publish(namespace.GroupShared{Place: authz.Place{Namespace: place}, GroupID: team})
	approvaltest.Equal(t, "owners with an invited group", w.owners(iid), with)
	w.Exec("DELETE FROM members WHERE user_id = ?", w.Stranger.UserID)
	publish(namespace.MemberRemoved{Of: change.Of[namespace.Member]{Place: authz.Place{Namespace: team, Group: true}}})
	approvaltest.Equal(t, "owners without the member of the invited group", w.owners(iid), without)
	w.Member(team, w.Stranger, authz.Developer)
	publish(namespace.MemberAdded{Of: change.Of[namespace.Member]{Place: authz.Place{Namespace: team, Group: true}}})
	approvaltest.Equal(t, "owners with a member of the invited group", w.owners(iid), with)

	w.Exec("UPDATE users SET state = 'blocked' WHERE id = ?", w.Stranger.UserID)
	w.Push("main", "", approvaltest.Files{"CODEOWNERS": "*.go @mary  @stan\n"}, "olga")
	approvaltest.Equal(t, "owners while one is blocked", w.owners(iid), without)
	w.Exec("UPDATE users SET state = 'active' WHERE id = ?", w.Stranger.UserID)
	publish(account.UserStateChanged{Of: change.Of[account.User]{After: &account.User{ID: w.Stranger.UserID}}})
	approvaltest.Equal(t, "owners when he is not blocked any more", w.owners(iid), with)

	w.Exec("UPDATE shares SET expires_on = ? WHERE group_id = ?", w.Now().UTC().Format("2006-01-02"), team)
	approvaltest.Check(t, w.Jobs.Enqueue(ctx, mergerequest.OwnerExpiry{}))
	approvaltest.Check(t, w.Jobs.Drain(ctx))
	approvaltest.Equal(t, "owners after the day that ended the invitation", w.owners(iid), without)
	w.Exec("UPDATE shares SET expires_on = NULL WHERE group_id = ?", team)
	publish(project.Transferred{Fact: project.Fact{After: w.As(w.Owner)}})
	approvaltest.Equal(t, "owners in another place", w.owners(iid), with)
	w.Exec("DELETE FROM shares WHERE group_id = ?", team)
	publish(namespace.GroupUnshared{Place: authz.Place{Namespace: place}, GroupID: team})
	approvaltest.Equal(t, "owners without the invited group", w.owners(iid), without)
}

// A push that leaves approvals takes those of the owners of the files that it changes, and none
// counts while it is not known whose those are.
func TestState_selectiveRemovals(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.set(approval.Changes{RetainOnPush: new(true), SelectiveRemovals: new(true)})
		w.Push("main", "", approvaltest.Files{"CODEOWNERS": "*.go @ruth\n*.c @olga\n"}, "olga")
		w.ownersApprove(true)
		m := w.Open("topic", approvaltest.Files{"a.go": "a\n", "b.c": "b\n"})
		for _, who := range []authz.Actor{w.Reviewer, w.Owner, w.Maintainer} {
			_, err := w.approve(who, m.IID, approval.Input{})
			approvaltest.Check(t, err)
		}
		approved := func() string {
			var out []string
			for _, id := range w.state(m.IID).Users() {
				out = append(out, w.names[id])
			}
			return strings.Join(out, " ")
		}
		approvaltest.Equal(t, "approvals", approved(), "ruth olga mary")
		w.Push("topic", "", approvaltest.Files{"other": "o\n"}, "dave")
		approvaltest.Equal(t, "after a push of a file without owners", approved(), "ruth olga mary")
		w.Push("topic", "", approvaltest.Files{"b.c": "c\n"}, "dave")
		approvaltest.WantError(t, "merge", w.Merge(m.IID), errs.NotAllowed, "the merge request is not approved")
		approvaltest.Equal(t, "after a push of a file of olga's", approved(), "ruth mary")
		approvaltest.Equal(t, "status", w.Status(m.IID), "not_approved")

		// A file that is as before again leaves the merge request, with its rule, and was changed
		// nevertheless.
		_, err := w.approve(w.Owner, m.IID, approval.Input{})
		approvaltest.Check(t, err)
		w.Push("main", "", approvaltest.Files{"x.go": "x\n"}, "olga")
		w.Push("topic", "", approvaltest.Files{"a.go": approvaltest.Removed}, "dave")
		approvaltest.Equal(t, "after a push that takes a file of ruth's back", approved(), "mary olga")

		// Without CODEOWNERS no file has owners.
		w.Push("main", "", approvaltest.Files{"CODEOWNERS": approvaltest.Removed}, "olga")
		w.Push("topic", "", approvaltest.Files{"b.c": "d\n"}, "dave")
		approvaltest.Equal(t, "after the owners are gone", approved(), "mary olga")
		approvaltest.Check(t, w.Merge(m.IID))
	})
}

// Many readers of a new version at once make its rules once, and lose no approval.
func TestState_codeOwners_parallel(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.set(approval.Changes{RetainOnPush: new(true), SelectiveRemovals: new(true)})
		w.Push("main", "", approvaltest.Files{"CODEOWNERS": "*.go @ruth\n*.c @olga\n*.h @mary\n"}, "olga")
		m := w.Open("topic", approvaltest.Files{"a.go": "a\n"})
		for _, who := range []authz.Actor{w.Reviewer, w.Owner} {
			_, err := w.approve(who, m.IID, approval.Input{})
			approvaltest.Check(t, err)
		}
		w.Push("topic", "", approvaltest.Files{"b.c": "b\n", "c.h": "c\n"}, "dave")
		p := w.As(w.Owner)
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				if _, err := w.approvals.State(t.Context(), w.Owner, p, m.IID); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		approvaltest.Equal(t, "rules", w.owners(m.IID), "codeowners *.go 0 ruth, codeowners *.c 0 olga, codeowners *.h 0 mary")
		approvaltest.Equal(t, "approvals", fmt.Sprint(w.state(m.IID).Users()), fmt.Sprint([]authz.UserID{w.Reviewer.UserID}))
	})
}
