package mergerequest

import "tenon/internal/core/project"

// MergeStatus says how a merge would go, in the words of merge_status.
type MergeStatus string

// The public values. Unchecked means that the branches have moved since the last trial
// merge; CannotBeMergedRecheck is the same where that trial failed.
const (
	Unchecked             MergeStatus = "unchecked"
	CanBeMerged           MergeStatus = "can_be_merged"
	CannotBeMerged        MergeStatus = "cannot_be_merged"
	CannotBeMergedRecheck MergeStatus = "cannot_be_merged_recheck"
)

// statusAt returns the status of a request whose target branch has the tip target, "" for
// a branch that does not exist. A trial counts only for the commits it was made for; a
// request that is no longer open keeps the last one.
func (m *MergeRequest) statusAt(target string) MergeStatus {
	if m.State == StateMerged || m.State == StateClosed {
		if m.TrialResult == "" {
			return Unchecked
		}
		return m.TrialResult
	}
	// A trial without a source branch was made when that branch was gone.
	if m.TrialResult != "" && (m.TrialSourceSHA == m.HeadSHA || m.TrialSourceSHA == "") && m.TrialTargetSHA == target {
		return m.TrialResult
	}
	if m.TrialResult == CannotBeMerged {
		return CannotBeMergedRecheck
	}
	return Unchecked
}

// Blocked reports whether unresolved threads keep the request from being merged into p.
func (m *MergeRequest) Blocked(p *project.Project) bool {
	return p.MergeNeedsResolved && m.UnresolvedThreads > 0
}

// SquashOnMerge says whether a merge into p would squash: the project's rule, or else
// the request's own wish.
func (m *MergeRequest) SquashOnMerge(p *project.Project) bool {
	switch p.SquashOption {
	case project.SquashAlways:
		return true
	case project.SquashNever:
		return false
	}
	return m.Squash
}
