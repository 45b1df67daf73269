package mergerequest

import (
	"context"
	"fmt"

	"tenon/internal/base/db"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// View is a merge request as one caller may see it: a part that is nil is not for the caller or
// not there, and the merge request has no value that a part holds.
type View struct {
	MergeRequest
	Project   *project.Project        // the target
	URL       string                  // of its page
	Detailed  string                  // detailed_merge_status
	Author    *account.Summary        // nil where the account is gone
	MergeUser *account.Summary        // who merged it, or set it to merge
	ClosedBy  *account.Summary        // nil while it is open
	Assignees []*account.Summary      // in the order of their ids
	Reviewers []*account.Summary      // the same
	Reviews   map[authz.UserID]string // how far each of them is, such as ReviewApproved
	Milestone *milestone.Milestone

	Full *FullView // where wanted
}

// FullView is what is shown of one merge request alone.
type FullView struct {
	Subscribed bool       // whether the caller is
	CanMerge   bool       // whether the caller may merge into the target branch
	Builds     *BuildView // for those who may see CI of the project
}

// ViewOptions are the parts of a view that are not always wanted, and what the caller of Views
// has read before for the actor; nil reads it.
type ViewOptions struct {
	Full bool // takes statements for each merge request

	Projects   map[project.ID]*project.Project
	Milestones map[milestone.ID]*milestone.Milestone
}

// Subscriptions are those of users to merge requests.
type Subscriptions interface {
	// Of says which of the things the actor is subscribed to.
	Of(ctx context.Context, as authz.Actor, things ...noteable.Ref) (map[noteable.Ref]bool, error)
}

// Deployments keeps when merge requests were first deployed to production.
type Deployments interface {
	// ImportFirst writes that of merge requests of an archive.
	ImportFirst(ctx context.Context, all map[int64]db.Time) error
}

// Above is what is above merge requests.
type Above struct {
	Deployments   Deployments
	Subscriptions Subscriptions
	Approvals     Approvals
	Commands      noteable.Commands
	Requirements  []Requirement // that merges wait for, the most important first
}

// Connect gives the service what is above it.
func (s *Service) Connect(a Above) { s.above = a }

// relations is what views show of merge requests and is stored elsewhere.
type relations struct {
	projects   map[project.ID]*project.Project
	people     map[authz.UserID]*account.Summary
	milestones map[milestone.ID]*milestone.Milestone
	subscribed map[noteable.Ref]bool
}

// Views returns merge requests as the caller may see them, with as many statements for many as
// for one, but for the full ones. They must have been read for the caller. Those of a project
// that is gone by now are left out.
func (s *Service) Views(ctx context.Context, as authz.Actor, list []*MergeRequest, want ViewOptions) ([]View, error) {
	if len(list) == 0 {
		return nil, nil
	}
	r, err := s.related(ctx, as, list, want)
	if err != nil {
		return nil, fmt.Errorf("views of merge requests: %w", err)
	}
	out := make([]View, 0, len(list))
	for _, m := range list {
		p := r.projects[m.ProjectID]
		if p == nil {
			continue
		}
		v := s.newView(m, p, r)
		if want.Full {
			if v.Full, err = s.fullView(ctx, as, p, m, r); err != nil {
				return nil, fmt.Errorf("views of merge requests: %w", err)
			}
		}
		out = append(out, v)
	}
	return out, nil
}

// related reads what the views of merge requests show of other subjects, each in one look.
func (s *Service) related(ctx context.Context, as authz.Actor, list []*MergeRequest, want ViewOptions) (relations, error) {
	r := relations{projects: want.Projects, milestones: want.Milestones}
	var people []authz.UserID
	var milestones []milestone.ID
	refs := make([]noteable.Ref, len(list))
	for i, m := range list {
		refs[i] = m.Ref()
		people = append(append(append(people, m.AuthorID), m.Assignees...), m.ReviewerIDs()...)
		for _, by := range []*authz.UserID{m.MergeUserID, m.ClosedByID} {
			if by != nil {
				people = append(people, *by)
			}
		}
		if m.MilestoneID != nil {
			milestones = append(milestones, *m.MilestoneID)
		}
	}
	var err error
	if r.projects == nil {
		if r.projects, err = s.targets(ctx, as, list); err != nil {
			return r, err
		}
	}
	if r.people, err = s.Accounts.ByIDs(ctx, people); err != nil {
		return r, err
	}
	if r.milestones == nil {
		if r.milestones, err = s.Milestones.ByIDs(ctx, as, milestones); err != nil {
			return r, err
		}
	}
	if want.Full {
		r.subscribed, err = s.above.Subscriptions.Of(ctx, as, refs...)
	}
	return r, err
}

// targets returns the projects of merge requests. Those that lists have read are not read again.
func (s *Service) targets(ctx context.Context, as authz.Actor, list []*MergeRequest) (map[project.ID]*project.Project, error) {
	known := map[project.ID]*project.Project{}
	for _, m := range list {
		if m.target == nil {
			return s.Projects.ByIDs(ctx, as, projectsOf(list))
		}
		known[m.ProjectID] = m.target
	}
	return known, nil
}

// Ref names the merge request.
func (m *MergeRequest) Ref() noteable.Ref {
	return noteable.Ref{Kind: noteable.MergeRequest, ID: int64(m.ID)}
}

func (s *Service) newView(m *MergeRequest, p *project.Project, r relations) View {
	v := View{
		MergeRequest: *m, Project: p, URL: s.URLs.MergeRequest(p.FullPath, int64(m.IID)), Detailed: m.DetailedStatus(p), Author: r.people[m.AuthorID],
	}
	if m.MergeUserID != nil {
		v.MergeUser = r.people[*m.MergeUserID]
	}
	if m.ClosedByID != nil {
		v.ClosedBy = r.people[*m.ClosedByID]
	}
	for _, id := range m.Assignees {
		if u := r.people[id]; u != nil {
			v.Assignees = append(v.Assignees, u)
		}
	}
	for _, id := range m.ReviewerIDs() {
		if u := r.people[id]; u != nil {
			v.Reviewers = append(v.Reviewers, u)
		}
	}
	if len(m.Reviewers) > 0 {
		v.Reviews = make(map[authz.UserID]string, len(m.Reviewers))
	}
	for _, by := range m.Reviewers {
		v.Reviews[by.UserID] = by.State
	}
	if m.MilestoneID != nil {
		v.Milestone = r.milestones[*m.MilestoneID]
	}
	v.MergeRequest.Assignees, v.MergeRequest.Reviewers, v.MergeUserID, v.ClosedByID, v.MilestoneID = nil, nil, nil, nil, nil
	// What the caller may know of these is in VisibleNotes; how an automatic merge words its
	// commits is for no caller.
	v.NotesCount, v.PublicNotesCount, v.Plan = 0, 0, Plan{}
	return v
}

func (s *Service) fullView(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, r relations) (*FullView, error) {
	full := &FullView{Subscribed: r.subscribed[m.Ref()]}
	var err error
	if full.CanMerge, err = s.CanMerge(ctx, as, p, m); err != nil {
		return nil, err
	}
	full.Builds, err = s.Builds(ctx, as, p, m)
	return full, err
}
