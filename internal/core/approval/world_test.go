package approval_test

import (
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/approval"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// world has the approvals of a project.
type world struct {
	*approvaltest.World
	approvals *approval.Service
	names     map[authz.UserID]string
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { fn(t, newWorld(t, d)) })
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: approvaltest.New(t, d), names: map[authz.UserID]string{}}
	w.approvals = approval.New(approval.Deps{
		DB: d, Policy: w.Policy, Bus: w.Bus, Accounts: w.Accounts, MergeRequests: w.MergeRequests, Protections: w.Protections, Settings: w.Settings, Now: w.Now,
	})
	w.MergeRequests.Connect(mergerequest.Above{Approvals: w.approvals, Requirements: []mergerequest.Requirement{w.approvals}})
	w.approvals.Subscribe(w.Bus)
	for _, who := range []authz.Actor{w.Owner, w.Maintainer, w.Developer, w.Reviewer, w.Reporter, w.Guest, w.Stranger} {
		w.names[who.UserID] = who.Username
	}
	w.Start()
	return w
}

func (w *world) approve(who authz.Actor, iid mergerequest.IID, in approval.Input) (*approval.State, error) {
	w.T.Helper()
	projects, err := w.Projects.Load(w.T.Context(), []project.ID{w.ID}) // without the level of an actor
	approvaltest.Check(w.T, err)
	return w.approvals.Approve(w.T.Context(), who, projects[w.ID], iid, in)
}

func (w *world) state(iid mergerequest.IID) *approval.State {
	w.T.Helper()
	st, err := w.approvals.State(w.T.Context(), w.Owner, w.As(w.Owner), iid)
	approvaltest.Check(w.T, err)
	return st
}

// set changes the approval settings of the project.
func (w *world) set(c approval.Changes) *approval.Settings {
	w.T.Helper()
	out, err := w.approvals.UpdateSettings(w.T.Context(), w.Maintainer, w.As(w.Maintainer).Place(), c)
	approvaltest.Check(w.T, err)
	return out
}
