package mergerequest

import (
	"tenon/internal/base/pattern"
	"tenon/internal/core/project"
)

// Condition is one thing that a merge asks for.
type Condition struct {
	Name   ConditionName
	State  ConditionState
	Reason string // what is in the way; "" where nothing does

	detailed string // what detailed_merge_status says while this is the first thing in the way
}

// ConditionName identifies a condition.
type ConditionName string

// The conditions of a merge, in the order in which they are checked.
const (
	NotOpen              ConditionName = "not_open"
	DraftStatus          ConditionName = "draft_status"
	CommitsStatus        ConditionName = "commits_status" // both branches exist, and the source has new commits
	Conflict             ConditionName = "conflict"
	NeedRebase           ConditionName = "need_rebase" // where only a fast-forward may be merged
	DiscussionsUnsettled ConditionName = "discussions_not_resolved"
	TitleRegex           ConditionName = "title_regex"
	NotApproved          ConditionName = "not_approved"
	BlockedByOthers      ConditionName = "merge_request_blocked"
	StatusChecksMustPass ConditionName = "status_checks_must_pass"
	CIMustPass           ConditionName = "ci_must_pass"
)

// ConditionState says how a condition stands.
type ConditionState string

// The states of a condition.
const (
	ConditionMet      ConditionState = "success"
	ConditionFailed   ConditionState = "failed"
	ConditionChecking ConditionState = "checking" // it is not known yet, or comes by itself
	ConditionInactive ConditionState = "inactive" // the project does not ask for it
)

// conditions lists what a merge of m into p asks for, as far as the row and its last trial
// merge say. The first that is not met is what detailed_merge_status names.
func conditions(p *project.Project, m *MergeRequest) []Condition {
	return []Condition{isOpen(m), isReady(m), hasCommits(m), merges(m), isSettled(p, m), isTitled(p, m), isApproved(m), isUnblocked(m), passesChecks(p, m), passesCI(p, m)}
}

// met returns a condition that is in the way where reason is not "".
func met(name ConditionName, reason, detailed string) Condition {
	if reason == "" {
		return Condition{Name: name, State: ConditionMet}
	}
	return Condition{Name: name, State: ConditionFailed, Reason: reason, detailed: detailed}
}

func isOpen(m *MergeRequest) Condition {
	reason := ""
	if m.State != StateOpened {
		reason = "the merge request is not open"
	}
	return met(NotOpen, reason, "not_open")
}

func isReady(m *MergeRequest) Condition {
	reason := ""
	if m.Draft {
		reason = "the merge request is a draft"
	}
	return met(DraftStatus, reason, "draft_status")
}

// untried reports that the branches have moved since the last trial merge.
func (m *MergeRequest) untried() bool {
	return m.Status == Unchecked || m.Status == CannotBeMergedRecheck
}

func hasCommits(m *MergeRequest) Condition {
	reason := ""
	switch {
	case m.untried():
		return Condition{Name: CommitsStatus, State: ConditionChecking}
	case m.TrialSourceSHA == "" || m.TrialTargetSHA == "":
		reason = "the source or target branch does not exist"
	case m.CommitsCount == 0:
		reason = "the merge request has no commits"
	}
	return met(CommitsStatus, reason, "broken_status")
}

func merges(m *MergeRequest) Condition {
	reason := ""
	switch {
	case m.untried():
		return Condition{Name: Conflict, State: ConditionChecking}
	case m.Status == CannotBeMerged && hasCommits(m).State == ConditionMet:
		reason = "the source branch is in conflict with the target branch"
	}
	return met(Conflict, reason, "broken_status")
}

func isSettled(p *project.Project, m *MergeRequest) Condition {
	reason := ""
	switch {
	case !p.MergeNeedsResolved:
		return Condition{Name: DiscussionsUnsettled, State: ConditionInactive}
	case m.Blocked(p):
		reason = "unresolved threads remain"
	}
	return met(DiscussionsUnsettled, reason, "discussions_not_resolved")
}

// isTitled compares the title with the project's expression. One that was stored and cannot be read is not met.
func isTitled(p *project.Project, m *MergeRequest) Condition {
	text := p.Settings().MergeRequestTitleRegex
	if text == nil || *text == "" {
		return Condition{Name: TitleRegex, State: ConditionInactive}
	}
	reason := ""
	if re, err := pattern.Compile(*text); err != nil || !re.MatchString(m.Title) {
		reason = "the title does not match the pattern of the project"
	}
	return met(TitleRegex, reason, "title_regex")
}

func isApproved(m *MergeRequest) Condition {
	o := m.obstacle(NotApproved)
	return met(NotApproved, o.Reason, o.Status)
}

func passesChecks(p *project.Project, m *MergeRequest) Condition {
	if !p.Settings().OnlyMergeIfAllStatusChecksPassed {
		return Condition{Name: StatusChecksMustPass, State: ConditionInactive}
	}
	o := m.obstacle(StatusChecksMustPass)
	return met(StatusChecksMustPass, o.Reason, o.Status)
}

func isUnblocked(m *MergeRequest) Condition {
	reason := ""
	if m.Blockers > 0 {
		reason = "other merge requests must be merged first"
	}
	return met(BlockedByOthers, reason, "blocked_status")
}

func passesCI(p *project.Project, m *MergeRequest) Condition {
	const reason = "the pipeline must succeed"
	switch {
	case !p.MergeNeedsPipeline && !m.MergeWhenPipelineSucceeds:
		return Condition{Name: CIMustPass, State: ConditionInactive}
	case m.Pipeline.Active():
		return Condition{Name: CIMustPass, State: ConditionChecking, Reason: reason, detailed: "ci_still_running"}
	case p.MergeNeedsPipeline && !passed(p, m):
		return met(CIMustPass, reason, "ci_must_pass")
	}
	return Condition{Name: CIMustPass, State: ConditionMet}
}

// DetailedStatus returns the first thing that is in the way of a merge into p, in the
// words of detailed_merge_status: not_open, unchecked, draft_status, broken_status,
// discussions_not_resolved, title_regex, not_approved, blocked_status, external_status_checks, ci_still_running,
// ci_must_pass or mergeable.
func (m *MergeRequest) DetailedStatus(p *project.Project) string {
	if m.State == StateOpened && m.untried() {
		return "unchecked"
	}
	for _, c := range conditions(p, m) {
		if c.detailed != "" {
			return c.detailed
		}
	}
	return "mergeable"
}

// unfit says what keeps the request from being merged whatever its pipeline says, as far
// as it is not git; "" for nothing.
func unfit(p *project.Project, m *MergeRequest) string {
	for _, c := range []Condition{isOpen(m), isReady(m), hasCommits(m), isTitled(p, m)} {
		if c.Reason != "" {
			return c.Reason
		}
	}
	return ""
}

// notReady says what keeps the request from being merged, or from being set to merge, as
// far as it is not git; "" for nothing.
func notReady(p *project.Project, m *MergeRequest, in MergeInput) string {
	if reason := unfit(p, m); reason != "" {
		return reason
	}
	for _, c := range []Condition{isSettled(p, m), isApproved(m), isUnblocked(m), passesChecks(p, m)} {
		if c.Reason != "" {
			return c.Reason
		}
	}
	switch {
	case in.waits(m), in.train && !in.WhenReady: // a train has a pipeline of its own
		return ""
	case in.WhenReady && m.Pipeline == "":
		return "no pipeline is running for the merge request"
	case (in.WhenReady || p.MergeNeedsPipeline) && !passed(p, m):
		return "the pipeline must succeed"
	}
	return ""
}
