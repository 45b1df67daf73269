// Package approval holds who approved merge requests, and who has to before they are merged.
package approval

import (
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/protection"
	"tenon/internal/core/setting"
)

// ID identifies an approval.
type ID int64

// Approval is that a user agrees with a merge request as it was at one head.
type Approval struct {
	ID        ID              `db:"id"`
	RequestID mergerequest.ID `db:"merge_request_id"`
	UserID    authz.UserID    `db:"user_id"`
	HeadSHA   string          `db:"head_sha"` // "" for a merge request that had no branch yet
	CreatedAt db.Time         `db:"created_at"`
}

// Fact is what the events of this package say beside that.
type Fact struct {
	mergerequest.Fact

	Approvals []Approval // as they are now, the oldest first
	Former    []Approval // as they were before
}

// Approved is published when a user approved a merge request.
type Approved struct {
	Fact

	Approval Approval
	Complete bool // every rule is satisfied now
}

// Outcome is the action that other servers are told of: approved where the approval was the last that was missing or none was, else approval.
func (e Approved) Outcome() string {
	if e.Complete {
		return "approved"
	}
	return "approval"
}

// Unapproved is published when a user took an approval back.
type Unapproved struct {
	Fact

	Approval    Approval
	WasComplete bool // every rule was satisfied before
}

// Outcome is the action that other servers are told of: unapproved where no approval was missing before, else unapproval.
func (e Unapproved) Outcome() string {
	if e.WasComplete {
		return "unapproved"
	}
	return "unapproval"
}

// Reset is published when approvals were removed by something else than their users.
type Reset struct{ Fact }

// Deps is what a Service is made of.
type Deps struct {
	DB            *db.DB
	Policy        *authz.Policy
	Bus           *event.Bus
	Accounts      *account.Service
	MergeRequests *mergerequest.Service
	Protections   *protection.Service
	Settings      *setting.Store
	Now           func() time.Time
}

// Service reads and changes approvals, and what they are asked for. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// State is how the approvals of a merge request stand.
type State struct {
	Request   *mergerequest.MergeRequest
	Settings  Settings
	Approvals []Approval  // of the present head, the oldest first
	Rules     []RuleState // that speak of the merge request, in the order of their ids
	// Overwritten says that the merge request has rules of its own in place of its project's.
	Overwritten bool
	Required    int64 // how many approvals the rules ask for
	Left        int64 // how many of them are missing
	Approved    bool  // every rule is satisfied
	// Unusable says that code owners have to approve and the CODEOWNERS file exceeds the limits.
	Unusable bool

	excluded map[authz.UserID]bool // who may not approve: the author, or who wrote commits
}

// RuleState is how one rule of a merge request stands.
type RuleState struct {
	Rule

	Approvers  []authz.UserID // who can satisfy it, by id; empty for any_approver, which everyone can
	ApprovedBy []authz.UserID // those of them who did, the first first
	Left       int64
	Approved   bool
	Invalid    bool // too few users could satisfy it, so that it counts as satisfied

	fallback bool // approvals_before_merge, in place of rules
}

// Approver returns the approval of a user that counts, nil for none.
func (s *State) Approver(id authz.UserID) *Approval {
	i := slices.IndexFunc(s.Approvals, func(a Approval) bool { return a.UserID == id })
	if i < 0 {
		return nil
	}
	return &s.Approvals[i]
}

// Users are those who approved.
func (s *State) Users() []authz.UserID {
	var out []authz.UserID
	for _, a := range s.Approvals {
		out = append(out, a.UserID)
	}
	return out
}

// Named returns the rules that people can see.
func (s *State) Named() []*Rule {
	var out []*Rule
	for i := range s.Rules {
		if s.Rules[i].Named() {
			out = append(out, &s.Rules[i].Rule)
		}
	}
	return out
}

// Suggested are the users who can satisfy rules that are not satisfied and did not approve
// yet, by id.
func (s *State) Suggested() []authz.UserID {
	var out []authz.UserID
	for i := range s.Rules {
		if r := &s.Rules[i]; !r.Approved {
			out = append(out, slices.DeleteFunc(slices.Clone(r.Approvers), func(id authz.UserID) bool { return slices.Contains(r.ApprovedBy, id) })...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
