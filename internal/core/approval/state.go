package approval

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
)

// State tells how the approvals of a merge request stand, after a look at its branches. It
// requires ReadMergeRequest.
func (s *Service) State(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID) (*State, error) {
	m, err := s.MergeRequests.ReadRow(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	return s.stateOf(ctx, p, m)
}

// States tells how the approvals of merge requests stand that were read for the actor, in four statements.
// Projects are theirs; of a merge request whose project is missing it tells nothing.
func (s *Service) States(ctx context.Context, page []*mergerequest.MergeRequest, projects map[project.ID]*project.Project) (map[mergerequest.ID]*State, error) {
	page = slices.DeleteFunc(slices.Clone(page), func(m *mergerequest.MergeRequest) bool { return projects[m.ProjectID] == nil })
	if len(page) == 0 {
		return nil, nil
	}
	return s.states(ctx, page, projects, nil)
}

func (s *Service) stateOf(ctx context.Context, p *project.Project, m *mergerequest.MergeRequest) (*State, error) {
	all, err := s.states(ctx, []*mergerequest.MergeRequest{m}, map[project.ID]*project.Project{p.ID: p}, nil)
	if err != nil {
		return nil, err
	}
	return all[m.ID], nil
}

// Unmet is a mergerequest.Requirement: it tells which merge requests lack approvals. Where no
// rule asks for any it takes one statement at most, and none where that is known.
func (s *Service) Unmet(ctx context.Context, page []*mergerequest.MergeRequest, projects map[project.ID]*project.Project) (map[mergerequest.ID]mergerequest.Obstacle, error) {
	page = slices.DeleteFunc(slices.Clone(page), func(m *mergerequest.MergeRequest) bool {
		return m.Unruled && minimum(m, projects[m.ProjectID]) == 0 && !strings.HasPrefix(m.OwnersKey, unusable)
	})
	if len(page) == 0 {
		return nil, nil
	}
	rules, err := s.rulesOf(ctx, page, true)
	if err != nil {
		return nil, err
	}
	ruled, single := map[project.ID]bool{}, map[mergerequest.ID]bool{}
	for _, r := range rules {
		if r.ProjectID != nil {
			ruled[*r.ProjectID] = true
		} else {
			single[*r.RequestID] = true
		}
	}
	var some []*mergerequest.MergeRequest
	for _, m := range page {
		if ruled[m.ProjectID] || single[m.ID] || minimum(m, projects[m.ProjectID]) > 0 || strings.HasPrefix(m.OwnersKey, unusable) {
			some = append(some, m)
		}
	}
	if len(some) == 0 {
		return nil, nil
	}
	states, err := s.states(ctx, some, projects, rules)
	if err != nil {
		return nil, err
	}
	out := map[mergerequest.ID]mergerequest.Obstacle{}
	for id, st := range states {
		switch {
		case st.Unusable:
			out[id] = mergerequest.Obstacle{Condition: mergerequest.NotApproved, Status: "not_approved", Reason: "the CODEOWNERS file of the target branch exceeds the limits"}
		case !st.Approved:
			out[id] = mergerequest.Obstacle{Condition: mergerequest.NotApproved, Status: "not_approved", Reason: "the merge request is not approved"}
		}
	}
	return out, nil
}

// minimum is approvals_before_merge of a merge request: its own, or that of the project.
func minimum(m *mergerequest.MergeRequest, p *project.Project) int64 {
	least := p.ApprovalsBeforeMerge
	if m.ApprovalsBeforeMerge != nil {
		least = max(least, *m.ApprovalsBeforeMerge)
	}
	return least
}

// rulesOf reads the rules of merge requests and of their projects, without what hangs on them.
// Where demanding is set, rules of projects that ask for no approvals are left out.
func (s *Service) rulesOf(ctx context.Context, page []*mergerequest.MergeRequest, demanding bool) ([]*Rule, error) {
	var ids []mergerequest.ID
	var projects []project.ID
	for _, m := range page {
		ids = append(ids, m.ID)
		if !slices.Contains(projects, m.ProjectID) {
			projects = append(projects, m.ProjectID)
		}
	}
	ofProjects, args := db.Marks(projects)
	ofRequests, more := db.Marks(ids)
	cond := "r.project_id IN (" + ofProjects + ")"
	if demanding {
		cond += " AND r.approvals_required > 0"
	}
	rows, err := db.Select[Rule](ctx, s.DB, "SELECT "+db.Columns[Rule]("r")+" FROM approval_rules r WHERE "+cond+
		" UNION ALL SELECT "+db.Columns[Rule]("r")+" FROM approval_rules r WHERE r.merge_request_id IN ("+ofRequests+") ORDER BY id", append(args, more...)...)
	if err != nil {
		return nil, fmt.Errorf("read approval rules: %w", err)
	}
	out := make([]*Rule, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	return out, nil
}

// situation is what the states of merge requests are found from.
type situation struct {
	settings     map[authz.NamespaceID]Settings
	approvals    map[mergerequest.ID][]Approval
	contributors map[mergerequest.ID]map[authz.UserID]bool
	ofProject    map[project.ID][]*Rule
	ofRequest    map[mergerequest.ID][]*Rule
	protected    map[project.ID][]protectedBranch
}

type protectedBranch struct {
	id     protection.RuleID
	name   string
	owners bool // code owners have to approve
}

// states finds how the approvals of merge requests stand, in at most four statements. Rules are
// those of rulesOf, nil to read them.
func (s *Service) states(ctx context.Context, page []*mergerequest.MergeRequest, projects map[project.ID]*project.Project, rules []*Rule) (map[mergerequest.ID]*State, error) {
	at, err := s.situation(ctx, page, projects, rules)
	if err != nil {
		return nil, err
	}
	out := make(map[mergerequest.ID]*State, len(page))
	for _, m := range page {
		out[m.ID] = at.state(m, projects[m.ProjectID])
	}
	return out, nil
}

// situation reads what states are found from.
func (s *Service) situation(ctx context.Context, page []*mergerequest.MergeRequest, projects map[project.ID]*project.Project, rules []*Rule) (*situation, error) {
	var err error
	if rules == nil {
		if rules, err = s.rulesOf(ctx, page, false); err != nil {
			return nil, err
		}
	}
	if err := s.attach(ctx, rules); err != nil {
		return nil, err
	}
	at := &situation{
		approvals: map[mergerequest.ID][]Approval{}, contributors: map[mergerequest.ID]map[authz.UserID]bool{},
		ofProject: map[project.ID][]*Rule{}, ofRequest: map[mergerequest.ID][]*Rule{}, protected: map[project.ID][]protectedBranch{},
	}
	byID := make(map[RuleID]*Rule, len(rules))
	for _, r := range rules {
		byID[r.ID] = r
	}
	for _, r := range rules {
		if r.SourceID != nil {
			r.Source = byID[*r.SourceID]
		}
		if r.ProjectID != nil {
			at.ofProject[*r.ProjectID] = append(at.ofProject[*r.ProjectID], r)
		} else {
			at.ofRequest[*r.RequestID] = append(at.ofRequest[*r.RequestID], r)
		}
	}
	var places []authz.NamespaceID
	for _, m := range page {
		if ns := projects[m.ProjectID].NamespaceID; !slices.Contains(places, ns) {
			places = append(places, ns)
		}
	}
	if at.settings, err = s.settingsOf(ctx, places); err != nil {
		return nil, err
	}
	return at, s.gather(ctx, page, at)
}

// gather reads approvals, contributors and protected branches of merge requests.
func (s *Service) gather(ctx context.Context, page []*mergerequest.MergeRequest, at *situation) error {
	var ids []mergerequest.ID
	var projects []project.ID
	for _, m := range page {
		ids = append(ids, m.ID)
		if !slices.Contains(projects, m.ProjectID) {
			projects = append(projects, m.ProjectID)
		}
	}
	type row struct {
		ID      ID       `db:"id"`    // 0 for a contributor, and for a protected branch of a group
		Of      int64    `db:"of_id"` // the merge request, or the project of a protected branch
		User    int64    `db:"user_id"`
		Text    string   `db:"text"`
		Created *db.Time `db:"created_at"` // of approvals
		Branch  bool     `db:"branch"`
		Owners  bool     `db:"owners"`
	}
	marks, args := db.Marks(ids)
	ofProjects, more := db.Marks(projects)
	rows, err := db.Select[row](ctx, s.DB, `SELECT id, merge_request_id AS of_id, user_id, head_sha AS text, created_at, false AS branch, false AS owners
			FROM approvals WHERE merge_request_id IN (`+marks+`)
		UNION ALL SELECT 0, merge_request_id, user_id, '', NULL, false, false FROM merge_request_contributors WHERE merge_request_id IN (`+marks+`)
		UNION ALL SELECT id, project_id, 0, name, NULL, true, code_owner_approval_required FROM protected_branches WHERE project_id IN (`+ofProjects+`)
		UNION ALL SELECT 0, p.id, 0, g.name, NULL, true, g.code_owner_approval_required FROM projects p
			JOIN namespace_ancestors a ON a.namespace_id = p.namespace_id JOIN group_protected_branches g ON g.group_id = a.ancestor_id
			WHERE p.id IN (`+ofProjects+`)
		ORDER BY id`, slices.Concat(args, args, more, more)...)
	if err != nil {
		return fmt.Errorf("read approvals: %w", err)
	}
	for _, r := range rows {
		id := mergerequest.ID(r.Of)
		switch {
		case r.Branch:
			p := project.ID(r.Of)
			at.protected[p] = append(at.protected[p], protectedBranch{protection.RuleID(r.ID), r.Text, r.Owners})
		case r.Created != nil:
			at.approvals[id] = append(at.approvals[id], Approval{
				ID: r.ID, RequestID: id, UserID: authz.UserID(r.User), HeadSHA: r.Text, CreatedAt: *r.Created,
			})
		default:
			if at.contributors[id] == nil {
				at.contributors[id] = map[authz.UserID]bool{}
			}
			at.contributors[id][authz.UserID(r.User)] = true
		}
	}
	return nil
}

// state judges one merge request.
func (s *situation) state(m *mergerequest.MergeRequest, p *project.Project) *State {
	st := &State{Request: m, Settings: s.settings[p.NamespaceID], excluded: map[authz.UserID]bool{}, Approved: true}
	if !st.Settings.CommitterApproval.On {
		st.excluded = s.contributors[m.ID]
	}
	if !st.Settings.AuthorApproval.On {
		if st.excluded == nil {
			st.excluded = map[authz.UserID]bool{}
		}
		st.excluded[m.AuthorID] = true
	}
	var by []authz.UserID // whose approvals count
	for _, a := range s.approvals[m.ID] {
		if a.HeadSHA != m.HeadSHA {
			continue // given for a version that is no longer the newest
		}
		st.Approvals = append(st.Approvals, a)
		if !st.excluded[a.UserID] {
			by = append(by, a.UserID)
		}
	}
	for _, r := range s.applying(m, st) {
		one := r.judge(by, st.excluded)
		st.Required += one.Required
		st.Left += one.Left
		st.Approved = st.Approved && one.Approved
		st.Rules = append(st.Rules, one)
	}
	if strings.HasPrefix(m.OwnersKey, unusable) && s.ownersApprove(m) {
		st.Unusable, st.Approved = true, false
	}
	if least := minimum(m, p); least > 0 && !slices.ContainsFunc(st.Rules, func(r RuleState) bool { return r.userDefined() }) {
		fallback := Rule{Type: AnyApprover, Required: least}
		one := fallback.judge(by, nil)
		one.fallback = true
		st.Required += one.Required
		st.Left += one.Left
		st.Approved = st.Approved && one.Approved
		st.Rules = append(st.Rules, one)
	}
	return st
}

// Named says that the rule is one that people can see, rather than approvals_before_merge.
func (r *RuleState) Named() bool { return !r.fallback }

// applying returns the rules that speak of a merge request. Its own stand for those of the
// project where the project allows that; a report asks for nothing until there is one.
func (s *situation) applying(m *mergerequest.MergeRequest, st *State) []*Rule {
	var out []*Rule
	for _, r := range s.ofRequest[m.ID] {
		switch {
		case r.Type == CodeOwner:
			one := *r
			if !s.ownersApprove(m) {
				one.Required = 0
			}
			out = append(out, &one)
		case r.userDefined() && st.Settings.Overrides.On:
			st.Overwritten = true
			out = append(out, r)
		}
	}
	if st.Overwritten {
		return out
	}
	for _, r := range s.ofProject[m.ProjectID] {
		if r.userDefined() && r.speaksOf(m.TargetBranch, s.protected[m.ProjectID]) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *Rule) int { return int(a.ID - b.ID) })
	return out
}

// ownersApprove reports whether a rule of the target branch has code owners approve.
func (s *situation) ownersApprove(m *mergerequest.MergeRequest) bool {
	return slices.ContainsFunc(s.protected[m.ProjectID], func(b protectedBranch) bool {
		return b.owners && protection.MatchWildcard(b.name, m.TargetBranch)
	})
}

// speaksOf reports whether the rule of a project applies to merge requests into a branch.
func (r *Rule) speaksOf(branch string, protected []protectedBranch) bool {
	if !r.AllProtected && len(r.Branches) == 0 {
		return true
	}
	return slices.ContainsFunc(protected, func(b protectedBranch) bool {
		return (r.AllProtected || slices.Contains(r.Branches, b.id)) && protection.MatchWildcard(b.name, branch)
	})
}

// judge holds a rule against the approvals of users, in their order.
func (r *Rule) judge(by []authz.UserID, excluded map[authz.UserID]bool) RuleState {
	out := RuleState{Rule: *r}
	if r.Type == AnyApprover {
		out.ApprovedBy = by
	} else {
		for _, id := range r.Members {
			if !excluded[id] {
				out.Approvers = append(out.Approvers, id)
			}
		}
		for _, id := range by {
			if _, ok := slices.BinarySearch(out.Approvers, id); ok {
				out.ApprovedBy = append(out.ApprovedBy, id)
			}
		}
	}
	out.Left = max(0, r.Required-int64(len(out.ApprovedBy)))
	if out.Left > 0 && r.Type != AnyApprover && len(out.Approvers) == len(out.ApprovedBy) {
		out.Invalid, out.Left = true, 0
	}
	out.Approved = out.Left == 0
	return out
}
