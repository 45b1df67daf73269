package issue

import (
	"context"
	"fmt"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/iteration"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/weburl"
)

// View is an issue as one caller may see it: a part that is nil is not for the caller or not
// there, and the issue has no value that a part holds.
type View struct {
	Issue
	Project   *project.Project
	URL       string             // of its page
	Author    *account.Summary   // nil where the account is gone
	ClosedBy  *account.Summary   // nil while the issue is open
	Assignees []*account.Summary // in the order of their ids
	Milestone *milestone.Milestone
	Iteration *iteration.Iteration

	Subscribed *bool // whether the caller is, where wanted
}

// ViewOptions are the parts of a view that cost a statement and are not always wanted, and what
// the caller of Views has read before for the actor; nil reads it.
type ViewOptions struct {
	Subscribed bool

	Projects   map[project.ID]*project.Project
	Milestones map[milestone.ID]*milestone.Milestone
}

// relations is what views show of issues and is stored elsewhere.
type relations struct {
	projects   map[project.ID]*project.Project
	people     map[authz.UserID]*account.Summary
	milestones map[milestone.ID]*milestone.Milestone
	iterations map[iteration.ID]*iteration.Iteration
	subscribed map[noteable.Ref]bool
}

// Views returns issues as the caller may see them, with as many statements for many as for one.
// They must have been read for the caller. Those of a project that is gone by now are left out.
func (s *Service) Views(ctx context.Context, as authz.Actor, issues []Issue, want ViewOptions) ([]View, error) {
	r, err := s.related(ctx, as, issues, want)
	if err != nil {
		return nil, fmt.Errorf("views of issues: %w", err)
	}
	out := make([]View, 0, len(issues))
	for i := range issues {
		if p := r.projects[issues[i].ProjectID]; p != nil {
			out = append(out, s.newView(&issues[i], p, want, r))
		}
	}
	return out, nil
}

// related reads what the views of issues show of other subjects, each in one look.
func (s *Service) related(ctx context.Context, as authz.Actor, issues []Issue, want ViewOptions) (relations, error) {
	r := relations{projects: want.Projects, milestones: want.Milestones}
	var (
		projects   []project.ID
		people     []authz.UserID
		milestones []milestone.ID
		iterations []iteration.ID
		refs       []noteable.Ref
	)
	for n := range issues {
		i := &issues[n]
		projects, refs = append(projects, i.ProjectID), append(refs, i.Ref())
		people = append(append(people, i.AuthorID), i.Assignees...)
		if i.ClosedByID != nil {
			people = append(people, *i.ClosedByID)
		}
		if i.MilestoneID != nil {
			milestones = append(milestones, *i.MilestoneID)
		}
		if i.IterationID != nil {
			iterations = append(iterations, *i.IterationID)
		}
	}
	var err error
	if r.projects == nil {
		if r.projects, err = s.Projects.ByIDs(ctx, as, projects); err != nil {
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
	if r.iterations, err = s.Iterations.ByIDs(ctx, as, iterations); err != nil || !want.Subscribed {
		return r, err
	}
	r.subscribed, err = s.above.Subscriptions.Of(ctx, as, refs...)
	return r, err
}

func (s *Service) newView(i *Issue, p *project.Project, want ViewOptions, r relations) View {
	v := View{Issue: *i, Project: p, URL: i.Type.URL(s.URLs, p.FullPath, i.IID), Author: r.people[i.AuthorID]}
	if i.ClosedByID != nil {
		v.ClosedBy = r.people[*i.ClosedByID]
	}
	for _, id := range i.Assignees {
		if u := r.people[id]; u != nil {
			v.Assignees = append(v.Assignees, u)
		}
	}
	if i.MilestoneID != nil {
		v.Milestone = r.milestones[*i.MilestoneID]
	}
	if i.IterationID != nil {
		v.Iteration = r.iterations[*i.IterationID]
	}
	if want.Subscribed {
		is := r.subscribed[i.Ref()]
		v.Subscribed = &is
	}
	v.Issue.Assignees, v.ClosedByID, v.MilestoneID, v.IterationID = nil, nil, nil, nil
	// What the caller may see of these is in Related and UserNotes; the client of the author
	// has a method of its own.
	v.MovedToID, v.DuplicatedToID, v.NotesCount, v.PublicNotesCount, v.UserAgent, v.UserAddress = nil, nil, 0, 0, nil, nil
	return v
}

// URL is the page of an issue of a project; tasks have pages of their own.
func (t Type) URL(at *weburl.Site, path string, iid IID) string {
	if t == Task {
		return at.WorkItem(path, int64(iid))
	}
	return at.Issue(path, int64(iid))
}
