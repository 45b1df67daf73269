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
	"tenon/internal/core/authz"
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
	_, err := w.protections.UpdateProtectedBranch(w.T.Context(), w.maintainer, w.as(w.maintainer), "main", protection.Changes{CodeOwners: &on})
	check(w.T, err)
}

// Merge requests have the rules of the CODEOWNERS file of their target branch for the files that
// they change, and wait for them where the branch is protected so.
func TestState_codeOwners(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.Member(w.group, w.reporter, authz.Developer)
		w.push("main", "", files{
			"docs/CODEOWNERS": "*.go @ruth @stan @nobody\n/docs/ @group @Olga\n[Build][2]\nMakefile ruth@example.com @OLGA\n^[Look]\n*.css @ruth\n",
		}, "olga")
		m := w.open("topic", files{"a.go": "a\n", "docs/x.css": "x\n", "b": "b\n"})
		equal(t, "rules", w.owners(m.IID), "codeowners *.go 0 ruth, codeowners /docs/ 0 olga rita, Look *.css 0 ruth")
		equal(t, "status where they are not asked for", w.status(m.IID), "mergeable")
		w.ownersApprove(true)
		equal(t, "rules of a branch with owners", w.owners(m.IID), "codeowners *.go 1 ruth, codeowners /docs/ 1 olga rita, Look *.css 0 ruth")
		equal(t, "status", w.status(m.IID), "not_approved")
		_, err := w.approve(w.reviewer, m.IID, approval.Input{})
		check(t, err)
		equal(t, "status with one of two", w.status(m.IID), "not_approved")
		wantError(t, "merge", w.merge(m.IID), errs.NotAllowed, "the merge request is not approved")
		_, err = w.approve(w.reporter, m.IID, approval.Input{}) // a member of the group
		check(t, err)
		equal(t, "status with both", w.status(m.IID), "mergeable")

		// They are not changed or deleted by users.
		for i := range w.state(m.IID).Rules {
			id := w.state(m.IID).Rules[i].ID
			wantError(t, "delete", w.approvals.DeleteRequestRule(ctx, w.developer, w.as(w.developer), m.IID, id), errs.Forbidden, "")
			_, err := w.approvals.UpdateRequestRule(ctx, w.developer, w.as(w.developer), m.IID, id, approval.Ruling{Required: ptr(int64(0))})
			wantError(t, "update", err, errs.Forbidden, "")
		}
		equal(t, "overwritten", w.state(m.IID).Overwritten, false)

		// A new version has the rules of its files; what the source branch says of owners does not count.
		w.push("topic", "", files{"Makefile": "all:\n", "docs/CODEOWNERS": "* @dave\n"}, "dave")
		equal(t, "rules of a new version", w.owners(m.IID),
			"codeowners *.go 1 ruth, codeowners /docs/ 1 olga rita, Look *.css 0 ruth, Build Makefile 2 olga ruth")
		equal(t, "status of a new version", w.status(m.IID), "not_approved")

		// Other owners in the target branch are those from then on.
		w.push("main", "", files{"CODEOWNERS": "*.go @mary\nb @dave\n"}, "olga")
		equal(t, "merge after a push to the target", w.merge(m.IID) == nil, false)
		equal(t, "rules of the file at the root", w.owners(m.IID), "codeowners *.go 1 mary, codeowners b 1")
		_, err = w.approve(w.maintainer, m.IID, approval.Input{})
		check(t, err)
		equal(t, "status where the author is the only other owner", w.status(m.IID), "mergeable")

		// Who becomes a member, of the project or of a group, is an owner from then on.
		w.push("main", "", files{"CODEOWNERS": "*.go @mary @stan\n"}, "olga")
		equal(t, "owners", w.owners(m.IID), "codeowners *.go 1 mary")
		w.Join(w.id, w.stranger, authz.Developer)
		check(t, w.DB.InTx(ctx, func(ctx context.Context) error {
			return w.Bus.Publish(ctx, namespace.MemberAdded{Place: namespace.Place{Namespace: w.as(w.owner).NamespaceID}})
		}))
		equal(t, "owners with a new member", w.owners(m.IID), "codeowners *.go 1 mary stan")
		w.exec("DELETE FROM members WHERE user_id = ?", w.stranger.UserID)
		check(t, w.DB.InTx(ctx, func(ctx context.Context) error {
			return w.Bus.Publish(ctx, namespace.MemberRemoved{Place: namespace.Place{Namespace: w.group, Group: true}})
		}))
		equal(t, "owners without that member", w.owners(m.IID), "codeowners *.go 1 mary")

		w.ownersChange(m.IID)

		// A file out of bounds holds up merges until it is mended.
		w.push("main", "", files{"CODEOWNERS": "* @mary\n" + strings.Repeat("#", codeowner.MaxBytes)}, "olga")
		wantError(t, "merge with a large file", w.merge(m.IID), errs.NotAllowed, "the CODEOWNERS file of the target branch exceeds the limits")
		equal(t, "approved", w.state(m.IID).Approved, false)
		w.ownersApprove(false)
		equal(t, "status without owners", w.status(m.IID), "mergeable")
		w.ownersApprove(true)
		w.push("main", "", files{"CODEOWNERS": "nothing @mary\n"}, "olga")
		equal(t, "rules for other files", w.owners(m.IID), "")
		check(t, w.merge(m.IID))
	})
}

// ownersChange makes stan, named by CODEOWNERS beside mary, an owner, and takes that back, by other means than
// a membership: an invited group, a state of his account, a day that ends an invitation.
func (w *world) ownersChange(iid mergerequest.IID) {
	t, ctx, place := w.T, w.T.Context(), w.as(w.owner).NamespaceID
	t.Helper()
	publish := func(e event.Event) {
		t.Helper()
		check(t, w.DB.InTx(ctx, func(ctx context.Context) error { return w.Bus.Publish(ctx, e) }))
	}
	const without, with = "codeowners *.go 1 mary", "codeowners *.go 1 mary stan"
	team := w.Group("team", authz.Private, 0)
	w.Member(team, w.stranger, authz.Developer)
	w.Insert("shares", coretest.Row{"namespace_id": place, "group_id": team, "access_level": authz.Developer})
	publish(namespace.GroupShared{Place: namespace.Place{Namespace: place}, GroupID: team})
	equal(t, "owners with an invited group", w.owners(iid), with)
	w.exec("DELETE FROM members WHERE user_id = ?", w.stranger.UserID)
	publish(namespace.MemberRemoved{Place: namespace.Place{Namespace: team, Group: true}})
	equal(t, "owners without the member of the invited group", w.owners(iid), without)
	w.Member(team, w.stranger, authz.Developer)
	publish(namespace.MemberAdded{Place: namespace.Place{Namespace: team, Group: true}})
	equal(t, "owners with a member of the invited group", w.owners(iid), with)

	w.exec("UPDATE users SET state = 'blocked' WHERE id = ?", w.stranger.UserID)
	w.push("main", "", files{"CODEOWNERS": "*.go @mary  @stan\n"}, "olga")
	equal(t, "owners while one is blocked", w.owners(iid), without)
	w.exec("UPDATE users SET state = 'active' WHERE id = ?", w.stranger.UserID)
	publish(account.UserStateChanged{User: account.User{ID: w.stranger.UserID}})
	equal(t, "owners when he is not blocked any more", w.owners(iid), with)

	w.exec("UPDATE shares SET expires_on = ? WHERE group_id = ?", w.Now().UTC().Format("2006-01-02"), team)
	check(t, w.jobs.Enqueue(ctx, mergerequest.OwnerExpiry{}))
	check(t, w.jobs.Drain(ctx))
	equal(t, "owners after the day that ended the invitation", w.owners(iid), without)
	w.exec("UPDATE shares SET expires_on = NULL WHERE group_id = ?", team)
	publish(project.Transferred{Fact: project.Fact{Project: *w.as(w.owner)}})
	equal(t, "owners in another place", w.owners(iid), with)
	w.exec("DELETE FROM shares WHERE group_id = ?", team)
	publish(namespace.GroupUnshared{Place: namespace.Place{Namespace: place}, GroupID: team})
	equal(t, "owners without the invited group", w.owners(iid), without)
}

// A push that leaves approvals takes those of the owners of the files that it changes, and none
// counts while it is not known whose those are.
func TestState_selectiveRemovals(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.set(approval.Changes{RetainOnPush: ptr(true), SelectiveRemovals: ptr(true)})
		w.push("main", "", files{"CODEOWNERS": "*.go @ruth\n*.c @olga\n"}, "olga")
		w.ownersApprove(true)
		m := w.open("topic", files{"a.go": "a\n", "b.c": "b\n"})
		for _, who := range []authz.Actor{w.reviewer, w.owner, w.maintainer} {
			_, err := w.approve(who, m.IID, approval.Input{})
			check(t, err)
		}
		approved := func() string {
			var out []string
			for _, id := range w.state(m.IID).Users() {
				out = append(out, w.names[id])
			}
			return strings.Join(out, " ")
		}
		equal(t, "approvals", approved(), "ruth olga mary")
		w.push("topic", "", files{"other": "o\n"}, "dave")
		equal(t, "after a push of a file without owners", approved(), "ruth olga mary")
		w.push("topic", "", files{"b.c": "c\n"}, "dave")
		wantError(t, "merge", w.merge(m.IID), errs.NotAllowed, "the merge request is not approved")
		equal(t, "after a push of a file of olga's", approved(), "ruth mary")
		equal(t, "status", w.status(m.IID), "not_approved")

		// A file that is as before again leaves the merge request, with its rule, and was changed
		// nevertheless.
		_, err := w.approve(w.owner, m.IID, approval.Input{})
		check(t, err)
		w.push("main", "", files{"x.go": "x\n"}, "olga")
		w.push("topic", "", files{"a.go": removed}, "dave")
		equal(t, "after a push that takes a file of ruth's back", approved(), "mary olga")

		// Without CODEOWNERS no file has owners.
		w.push("main", "", files{"CODEOWNERS": removed}, "olga")
		w.push("topic", "", files{"b.c": "d\n"}, "dave")
		equal(t, "after the owners are gone", approved(), "mary olga")
		check(t, w.merge(m.IID))
	})
}

// Many readers of a new version at once make its rules once, and lose no approval.
func TestState_codeOwners_parallel(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.set(approval.Changes{RetainOnPush: ptr(true), SelectiveRemovals: ptr(true)})
		w.push("main", "", files{"CODEOWNERS": "*.go @ruth\n*.c @olga\n*.h @mary\n"}, "olga")
		m := w.open("topic", files{"a.go": "a\n"})
		for _, who := range []authz.Actor{w.reviewer, w.owner} {
			_, err := w.approve(who, m.IID, approval.Input{})
			check(t, err)
		}
		w.push("topic", "", files{"b.c": "b\n", "c.h": "c\n"}, "dave")
		p := w.as(w.owner)
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				if _, err := w.approvals.State(t.Context(), w.owner, p, m.IID); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		equal(t, "rules", w.owners(m.IID), "codeowners *.go 0 ruth, codeowners *.c 0 olga, codeowners *.h 0 mary")
		equal(t, "approvals", fmt.Sprint(w.state(m.IID).Users()), fmt.Sprint([]authz.UserID{w.reviewer.UserID}))
	})
}
