package mergerequest

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Mergeability says whether a merge request can be merged, and what keeps it from that.
type Mergeability struct {
	MergeRequest *MergeRequest
	Status       string // as detailed_merge_status has it
	Reason       string // of the first condition that is not met; "" where all are
	CanMerge     bool   // whether the caller may merge into the target branch
	Conditions   []ConditionView
}

// ConditionView is a condition as one caller may see it.
type ConditionView struct {
	Condition

	Change      Permission     // that those have who can have the condition met; "" where it is met, or can never be
	Level       *authz.Level   // the least role with the permission; nil where rules of the branch decide, or there is no role
	Users       []authz.UserID // who has the permission whatever their role
	HiddenUsers bool           // members of groups that the caller may not see have it as well
	CanChange   bool           // whether the caller has it

	Discussions []string        // open threads that it waits for, the oldest of them
	Blocking    []*MergeRequest // those that it waits for and that the caller may read
	Hidden      int             // how many it waits for beside them
	Build       *BuildView      // the pipeline that it waits for; nil for none, and for callers who may not see it
	Checks      []string        // names of the external status checks that it waits for, for callers who may read them
}

// Permission is what a user needs to have a condition met.
type Permission string

// The permissions that have conditions met.
const (
	ToUpdate  Permission = "update_merge_request"
	ToPush    Permission = "push_to_source_branch"
	ToResolve Permission = "resolve_discussions"
	ToApprove Permission = "approve_merge_request"
	ToBuild   Permission = "run_pipelines"
	ToAnswer  Permission = "answer_status_checks"
)

// maxOpenThreads bounds the threads that are named.
const maxOpenThreads = 20

// Mergeability checks all conditions of a merge. It requires ReadMergeRequest.
func (s *Service) Mergeability(ctx context.Context, as authz.Actor, p *project.Project, iid IID) (*Mergeability, error) {
	m, err := s.Read(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	out := &Mergeability{MergeRequest: m, Status: m.DetailedStatus(p)}
	if out.CanMerge, err = s.CanMerge(ctx, as, p, m); err != nil {
		return nil, err
	}
	rebase, err := s.isForward(ctx, p, m)
	if err != nil {
		return nil, err
	}
	for _, c := range conditions(p, m) {
		out.Conditions = append(out.Conditions, ConditionView{Condition: c})
		if c.Name == Conflict {
			out.Conditions = append(out.Conditions, ConditionView{Condition: rebase})
		}
	}
	source, err := s.SourceFor(ctx, as, p, m)
	if err != nil {
		return nil, err
	}
	for i := range out.Conditions {
		c := &out.Conditions[i]
		if c.Reason == "" {
			continue
		}
		if out.Reason == "" {
			out.Reason = c.Reason
		}
		if err := s.explain(ctx, as, p, source, m, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// isForward asks whether the source branch holds the target branch, where the project merges
// in no other way.
func (s *Service) isForward(ctx context.Context, p *project.Project, m *MergeRequest) (Condition, error) {
	switch {
	case p.MergeMethod == project.MergeCommit:
		return Condition{Name: NeedRebase, State: ConditionInactive}, nil
	case m.State != StateOpened, m.TrialSourceSHA == "", m.TrialTargetSHA == "":
		return Condition{Name: NeedRebase, State: ConditionMet}, nil // other conditions say so
	case m.untried():
		return Condition{Name: NeedRebase, State: ConditionChecking}, nil
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return Condition{}, err
	}
	forward, err := contains(ctx, r, idOf(m.TrialSourceSHA), idOf(m.TrialTargetSHA))
	reason := ""
	if !forward {
		reason = "the source branch must be rebased onto the target branch"
	}
	return met(NeedRebase, reason, ""), err
}

// explain adds who can have a condition met, and what it waits for.
func (s *Service) explain(ctx context.Context, as authz.Actor, p, source *project.Project, m *MergeRequest, c *ConditionView) error {
	developer := authz.Developer
	var err error
	switch c.Name {
	case NotOpen, DraftStatus, TitleRegex, BlockedByOthers:
		if m.State != StateOpened && m.State != StateClosed {
			return nil // what is merged stays so
		}
		c.Change, c.Level = ToUpdate, &developer
		c.Users = slices.Compact(slices.Sorted(slices.Values(append([]authz.UserID{m.AuthorID}, m.Assignees...))))
		if c.CanChange, err = s.Policy.Can(ctx, as, authz.UpdateMergeRequest, m.Subject(as, p)); err == nil && c.Name == BlockedByOthers {
			err = s.nameBlocking(ctx, as, m, c)
		}
	case CommitsStatus, Conflict, NeedRebase:
		return s.explainBranch(ctx, as, source, m, c)
	case DiscussionsUnsettled:
		c.Change, c.Level, c.Users = ToResolve, &developer, []authz.UserID{m.AuthorID}
		subject := m.Subject(as, p)
		subject.Own = as.Is(m.AuthorID)
		if c.CanChange, err = s.Policy.Can(ctx, as, authz.ResolveNote, subject); err != nil {
			return err
		}
		c.Discussions, err = s.openThreads(ctx, as, p, m)
	case NotApproved:
		who, err := s.above.Approvals.Approvers(ctx, as, p, m)
		if err != nil {
			return err
		}
		c.Change, c.Users, c.HiddenUsers, c.CanChange = ToApprove, who.Users, who.Hidden, who.CanChange
		if who.Any {
			c.Level = &developer
		}
	case StatusChecksMustPass:
		c.Change, c.Level = ToAnswer, &developer
		if c.CanChange, err = s.Policy.Can(ctx, as, authz.AnswerStatusChecks, m.Subject(as, p)); err != nil {
			return err
		}
		var reads bool
		if reads, err = s.Policy.Can(ctx, as, authz.ReadStatusChecks, m.Subject(as, p)); reads {
			c.Checks = m.obstacle(StatusChecksMustPass).Names
		}
	case CIMustPass:
		c.Change = ToBuild
		if source == nil {
			return nil
		}
		c.Level = &developer
		if c.CanChange, err = s.Policy.Can(ctx, as, authz.SetCommitStatus, source.Subject()); err != nil {
			return err
		}
		c.Build, err = s.Builds(ctx, as, p, m)
	}
	return err
}

// explainBranch is explain for what a push to the source branch mends.
func (s *Service) explainBranch(ctx context.Context, as authz.Actor, source *project.Project, m *MergeRequest, c *ConditionView) error {
	c.Change = ToPush
	if source == nil {
		return nil
	}
	access, err := s.Protections.BranchAccess(ctx, as, source, m.SourceBranch)
	if err != nil {
		return err
	}
	if !access.Protected {
		developer := authz.Developer
		c.Level = &developer
	}
	err = s.Repos.MayCommit(ctx, as, source, m.SourceBranch)
	c.CanChange = err == nil
	if errs.Is(err, errs.Forbidden) || errs.Is(err, errs.NotFound) || errs.Is(err, errs.Unauthorized) {
		return nil
	}
	return err
}

// openThreads lists the oldest threads of a request that are not resolved and that the actor
// may read.
func (s *Service) openThreads(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) ([]string, error) {
	internal, err := s.Policy.SeesInternalNotes(ctx, as, p.Subject())
	if err != nil {
		return nil, err
	}
	hidden := " AND NOT n.internal"
	if internal {
		hidden = ""
	}
	out, err := db.Select[string](ctx, s.DB, `SELECT n.discussion_id FROM notes n WHERE n.noteable_type = 'MergeRequest' AND n.noteable_id = ?
		AND n.type IS NOT NULL AND n.resolved_at IS NULL AND NOT n.system`+hidden+` GROUP BY n.discussion_id ORDER BY MIN(n.id) LIMIT ?`, m.ID, maxOpenThreads)
	if err != nil {
		return nil, fmt.Errorf("open threads of merge request: %w", err)
	}
	return out, nil
}

// nameBlocking adds the requests that have to be merged first.
func (s *Service) nameBlocking(ctx context.Context, as authz.Actor, m *MergeRequest, c *ConditionView) error {
	rows, err := s.blockRows(ctx, "b.blocked_id = ? AND EXISTS (SELECT 1 FROM merge_requests o WHERE o.id = b.blocking_id AND o.state <> 'merged')", m.ID)
	if err != nil {
		return err
	}
	ids := make([]ID, len(rows))
	for i, r := range rows {
		ids[i] = r.BlockingID
	}
	found, err := s.ByIDs(ctx, as, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if other := found[id]; other != nil {
			c.Blocking = append(c.Blocking, other)
		}
	}
	c.Hidden = len(ids) - len(c.Blocking)
	return nil
}
