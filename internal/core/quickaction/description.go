package quickaction

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// cut takes the commands out of a description, which may be nil.
func (s *Service) cut(kind noteable.Kind, description *string) (*string, []Command) {
	if description == nil {
		return nil, nil
	}
	text := s.Parse(kind, *description)
	return &text.Rest, text.Commands
}

// CreateIssue makes an issue and runs the commands of its description. One without a description
// that follows up threads lists them.
func (s *Service) CreateIssue(ctx context.Context, as authz.Actor, p *project.Project, in issue.Input) (*issue.Issue, error) {
	var commands []Command
	in.Description, commands = s.cut(noteable.Issue, in.Description)
	if in.Description == nil && in.Resolves.Request != 0 {
		text, err := s.above.Threads.FollowUp(ctx, as, p, in.Resolves)
		if err != nil {
			return nil, err
		}
		if text != "" {
			in.Description = &text
		}
	}
	i, err := s.issues.Create(ctx, as, p, in)
	if err != nil || len(commands) == 0 {
		return i, err
	}
	return s.OnIssue(ctx, as, p, i.IID, commands)
}

// UpdateIssue changes an issue and runs the commands of its new description.
func (s *Service) UpdateIssue(ctx context.Context, as authz.Actor, p *project.Project, iid issue.IID, c issue.Changes) (*issue.Issue, error) {
	commands := s.CutIssue(&c)
	i, err := s.issues.Update(ctx, as, p, iid, c)
	if err != nil || len(commands) == 0 {
		return i, err
	}
	return s.OnIssue(ctx, as, p, iid, commands)
}

// CutIssue removes the commands from the new description in c and returns them, for OnIssue. A caller
// that changes an issue in a transaction runs them after it, because they may write to the repository.
func (s *Service) CutIssue(c *issue.Changes) (commands []Command) {
	c.Description, commands = s.cut(noteable.Issue, c.Description)
	return commands
}

// OnIssue runs commands on an issue that the actor just wrote, and returns it as it is then.
func (s *Service) OnIssue(ctx context.Context, as authz.Actor, p *project.Project, iid issue.IID, commands []Command) (*issue.Issue, error) {
	as = as.Unconditional()
	t, err := s.issues.Locate(ctx, as, noteable.Place{Project: p}, noteable.Key{Number: int64(iid)})
	if err == nil {
		_, err = s.Done(ctx, as, On{Project: p, Target: t}, commands)
	}
	if err != nil {
		return nil, err
	}
	return s.issues.Find(ctx, as, p, iid)
}

// CreateRequest makes a merge request and runs the commands of its description. The project
// is the one that it is from, the other result the one that it goes to.
func (s *Service) CreateRequest(ctx context.Context, as authz.Actor, p *project.Project, in mergerequest.Input) (*mergerequest.MergeRequest, *project.Project, error) {
	var commands []Command
	in.Description, commands = s.cut(noteable.MergeRequest, in.Description)
	m, to, err := s.requests.Create(ctx, as, p, in)
	if err != nil || len(commands) == 0 {
		return m, to, err
	}
	m, err = s.onRequest(ctx, as, to, m.IID, commands)
	return m, to, err
}

// UpdateRequest changes a merge request and runs the commands of its new description.
func (s *Service) UpdateRequest(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID, c mergerequest.Changes) (*mergerequest.MergeRequest, error) {
	var commands []Command
	c.Description, commands = s.cut(noteable.MergeRequest, c.Description)
	m, err := s.requests.Update(ctx, as, p, iid, c)
	if err != nil || len(commands) == 0 {
		return m, err
	}
	return s.onRequest(ctx, as, p, iid, commands)
}

// onRequest runs commands on a merge request that the actor just wrote.
func (s *Service) onRequest(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID, commands []Command) (*mergerequest.MergeRequest, error) {
	as = as.Unconditional()
	t, err := s.requests.Locate(ctx, as, noteable.Place{Project: p}, noteable.Key{Number: int64(iid)})
	if err == nil {
		_, err = s.Done(ctx, as, On{Project: p, Target: t}, commands)
	}
	if err != nil {
		return nil, err
	}
	return s.requests.Read(ctx, as, p, iid)
}

// CreateEpic makes an epic and runs the commands of its description.
func (s *Service) CreateEpic(ctx context.Context, as authz.Actor, g *namespace.Group, in epic.Input) (*epic.Epic, error) {
	var commands []Command
	in.Description, commands = s.cut(noteable.Epic, in.Description)
	e, err := s.epics.Create(ctx, as, g, in)
	if err != nil || len(commands) == 0 {
		return e, err
	}
	return s.OnEpic(ctx, as, g, e.IID, commands)
}

// UpdateEpic changes an epic and runs the commands of its new description.
func (s *Service) UpdateEpic(ctx context.Context, as authz.Actor, g *namespace.Group, iid epic.IID, c epic.Changes) (*epic.Epic, error) {
	commands := s.CutEpic(&c)
	e, err := s.epics.Update(ctx, as, g, iid, c)
	if err != nil || len(commands) == 0 {
		return e, err
	}
	return s.OnEpic(ctx, as, g, iid, commands)
}

// CutEpic is CutIssue for an epic.
func (s *Service) CutEpic(c *epic.Changes) (commands []Command) {
	c.Description, commands = s.cut(noteable.Epic, c.Description)
	return commands
}

// OnEpic runs commands on an epic that the actor just wrote, and returns it as it is then.
func (s *Service) OnEpic(ctx context.Context, as authz.Actor, g *namespace.Group, iid epic.IID, commands []Command) (*epic.Epic, error) {
	as = as.Unconditional()
	t, err := s.epics.Locate(ctx, as, noteable.Place{Group: g}, noteable.Key{IID: int64(iid)})
	if err == nil {
		_, err = s.Done(ctx, as, On{Group: g, Target: t}, commands)
	}
	if err != nil {
		return nil, err
	}
	return s.epics.Find(ctx, as, g, iid)
}
