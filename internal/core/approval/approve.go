package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// Input is what an approval may come with.
type Input struct {
	SHA      string // what the source branch must be at; "" for whatever it is
	Password string // of the actor, where the project demands it
}

var errNotEligible = errs.New(errs.Unauthorized, "")

// Approve records that the actor agrees with a merge request as it is, and returns how its
// approvals stand then. It requires ReadMergeRequest. Where the source branch is not at in.SHA
// it is a Conflict; for an actor who may not approve, who already did, or whose password is
// demanded and wrong it is Unauthorized.
func (s *Service) Approve(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID, in Input) (*State, error) {
	m, err := s.MergeRequests.ReadRow(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if in.SHA != "" && in.SHA != m.HeadSHA {
		return nil, mismatch(m)
	}
	if err := s.identify(ctx, as, p, m, in.Password); err != nil {
		return nil, err
	}
	var out *State
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		f, err := s.MergeRequests.Review(ctx, as, p, m.ID, mergerequest.ReviewApproved, func(_ context.Context, row *mergerequest.MergeRequest) error {
			switch {
			case row.State == mergerequest.StateMerged:
				return errNotEligible
			case row.HeadSHA != m.HeadSHA || row.TargetBranch != m.TargetBranch:
				return mismatch(row)
			}
			return nil
		})
		if err != nil {
			return err
		}
		row := *f.Row()
		row.Status = m.Status
		at, err := s.situation(ctx, []*mergerequest.MergeRequest{&row}, map[project.ID]*project.Project{p.ID: p}, nil)
		if err != nil {
			return err
		}
		if err := s.requireApprove(ctx, as, p, at.state(&row, p)); err != nil {
			return err
		}
		former := at.approvals[m.ID]
		if slices.ContainsFunc(former, func(b Approval) bool { return as.Is(b.UserID) }) {
			return errNotEligible
		}
		a := Approval{RequestID: m.ID, UserID: as.UserID, HeadSHA: m.HeadSHA, CreatedAt: db.At(s.Now())}
		if err := db.Create(ctx, s.DB, "approvals", &a); err != nil {
			return err
		}
		at.approvals[m.ID] = append(slices.Clone(former), a)
		out = at.state(&row, p)
		if err := s.Bus.Publish(ctx, Approved{Fact: Fact{Fact: f, Approvals: at.approvals[m.ID], Former: former}, Approval: a, Complete: out.Approved}); err != nil {
			return err
		}
		if !row.MergeWhenPipelineSucceeds {
			return nil
		}
		return s.MergeRequests.Unblock(ctx, m.ID)
	})
	if db.Duplicate(err, "approvals") {
		return nil, errNotEligible
	}
	if err := known("approve merge request", err); err != nil {
		return nil, err
	}
	return out, nil
}

// identify asks for the password of an actor who may approve, where the project demands that.
func (s *Service) identify(ctx context.Context, as authz.Actor, p *project.Project, m *mergerequest.MergeRequest, password string) error {
	set, err := s.settingsAt(ctx, p.NamespaceID)
	if err != nil || !set.RequirePassword.On {
		return err
	}
	st, err := s.stateOf(ctx, p, m)
	if err != nil {
		return err
	}
	if err := s.requireApprove(ctx, as, p, st); err != nil {
		return err
	}
	return s.requirePassword(ctx, as, password)
}

// requireApprove refuses an actor who may not approve.
func (s *Service) requireApprove(ctx context.Context, as authz.Actor, p *project.Project, st *State) error {
	may, err := s.MayApprove(ctx, as, p, st)
	if err == nil && !may {
		err = errNotEligible
	}
	return err
}

// mismatch refuses an approval of another version.
func mismatch(m *mergerequest.MergeRequest) error {
	return errs.New(errs.Conflict, "SHA does not match HEAD of source branch: "+m.HeadSHA)
}

// known leaves refusals as they are and says of other errors what failed.
func known(what string, err error) error {
	var refused *errs.Error
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}

// requirePassword asks the actor who they are once more, with the counters of a sign-in.
func (s *Service) requirePassword(ctx context.Context, as authz.Actor, password string) error {
	if password == "" {
		return errNotEligible
	}
	who, err := s.Accounts.AuthenticatePassword(ctx, as.Username, password, as.Address)
	if errs.Is(err, errs.Forbidden) || err == nil && !as.Is(who.UserID) {
		return errNotEligible
	}
	return err
}

// MayApprove reports whether the actor could approve the merge request of a state now: a
// developer, or a reporter that a rule names. Authors and contributors may where the project
// lets them.
func (s *Service) MayApprove(ctx context.Context, as authz.Actor, p *project.Project, st *State) (bool, error) {
	m := st.Request
	if !as.SignedIn() || m.State == mergerequest.StateMerged || st.excluded[as.UserID] || st.Approver(as.UserID) != nil {
		return false, nil
	}
	may, err := s.Policy.Can(ctx, as, authz.ApproveMergeRequest, m.Subject(as, p))
	if err != nil || !may {
		return false, err
	}
	level, err := s.Policy.Level(ctx, as, p.Subject())
	if err != nil || level >= authz.Developer {
		return err == nil, err
	}
	return slices.ContainsFunc(st.Rules, func(r RuleState) bool { return slices.Contains(r.Approvers, as.UserID) }), nil
}

// Unapprove takes the actor's approval of a merge request back, and returns how its approvals
// stand then. It requires ReadMergeRequest; without an approval it is NotFound.
func (s *Service) Unapprove(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID) (*State, error) {
	m, err := s.MergeRequests.ReadRow(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	var out *State
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		f, err := s.MergeRequests.Review(ctx, as, p, m.ID, mergerequest.ReviewUnapproved, func(_ context.Context, row *mergerequest.MergeRequest) error {
			if row.State == mergerequest.StateMerged {
				return errs.Missing("")
			}
			return nil
		})
		if err != nil {
			return err
		}
		row := *f.Row()
		row.Status = m.Status
		at, err := s.situation(ctx, []*mergerequest.MergeRequest{&row}, map[project.ID]*project.Project{p.ID: p}, nil)
		if err != nil {
			return err
		}
		former := at.approvals[m.ID]
		i := slices.IndexFunc(former, func(a Approval) bool { return as.Is(a.UserID) })
		if i < 0 {
			return errs.Missing("")
		}
		before := at.state(&row, p)
		if _, err := db.Drop(ctx, s.DB, db.Row{Table: "approvals", ID: former[i].ID}); err != nil { // the merge request is locked
			return err
		}
		at.approvals[m.ID] = slices.Delete(slices.Clone(former), i, i+1)
		out = at.state(&row, p)
		return s.Bus.Publish(ctx, Unapproved{
			Fact: Fact{Fact: f, Approvals: at.approvals[m.ID], Former: former}, Approval: former[i], WasComplete: before.Approved,
		})
	})
	if err := known("take approval back", err); err != nil {
		return nil, err
	}
	return out, nil
}

// ResetAll removes all approvals of a merge request. Only bots of projects and groups may that
// may change the merge request; other actors are Unauthorized.
func (s *Service) ResetAll(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID) error {
	m, err := s.MergeRequests.Find(ctx, as, p, iid)
	if err != nil {
		return err
	}
	may, err := s.Policy.Can(ctx, as, authz.SetMergeRequestMetadata, m.Subject(as, p))
	if err != nil {
		return err
	}
	if !as.Bot || !may {
		return errNotEligible
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		f, err := s.MergeRequests.Review(ctx, as, p, m.ID, mergerequest.ReviewUnapproved, func(context.Context, *mergerequest.MergeRequest) error { return nil })
		if err != nil {
			return err
		}
		return s.reset(ctx, f, nil)
	})
	return known("reset approvals", err)
}

// approvalsOf reads all approvals of a merge request, the oldest first.
func (s *Service) approvalsOf(ctx context.Context, id mergerequest.ID) ([]Approval, error) {
	out, err := db.Select[Approval](ctx, s.DB, "SELECT "+db.Columns[Approval]("a")+" FROM approvals a WHERE a.merge_request_id = ? ORDER BY a.id", id)
	if err != nil {
		return nil, fmt.Errorf("read approvals: %w", err)
	}
	return out, nil
}

// reset removes those approvals of a merge request that gone selects, all where it is nil, in
// the transaction of the event whose fact f is.
func (s *Service) reset(ctx context.Context, f mergerequest.Fact, gone func(Approval) bool) error {
	former, err := s.approvalsOf(ctx, f.Row().ID)
	if err != nil {
		return err
	}
	var left []Approval
	var ids []ID
	var users []authz.UserID
	for _, a := range former {
		if gone != nil && !gone(a) {
			left = append(left, a)
			continue
		}
		ids, users = append(ids, a.ID), append(users, a.UserID)
	}
	if len(ids) == 0 {
		return nil
	}
	var w db.Where
	w.In("id", ids)
	if _, err := s.DB.Exec(ctx, "DELETE FROM approvals"+w.SQL(), w.Args()...); err != nil {
		return fmt.Errorf("reset approvals: %w", err)
	}
	if err := s.MergeRequests.Unreview(ctx, f.Row().ID, users); err != nil {
		return err
	}
	return s.Bus.Publish(ctx, Reset{Fact{Fact: f, Approvals: left, Former: former}})
}
