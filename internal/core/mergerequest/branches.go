package mergerequest

import (
	"context"

	"tenon/internal/base/budget"
	"tenon/internal/base/charset"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Branches tells what is there of the branches of a merge request.
type Branches struct {
	Source, Target  bool
	SourceProtected bool
	Diverged        bool // the target branch has commits that the source branch lacks
	Behind          bool // so, and the project merges without merge commits
}

// Branches looks at the branches of a merge request that was read for the actor. It reads the repository
// and asks for a statement where the source branch is in a fork.
func (s *Service) Branches(ctx context.Context, as authz.Actor, v *View) (Branches, error) {
	var out Branches
	m, p := &v.MergeRequest, v.Project
	target, err := s.tip(ctx, p, m.TargetBranch)
	if err != nil {
		return out, err
	}
	out.Target = !target.IsZero()
	source, err := s.SourceFor(ctx, as, p, m)
	if err != nil {
		return out, err
	}
	if source != nil {
		tip, err := s.tip(ctx, source, m.SourceBranch)
		if err != nil {
			return out, err
		}
		out.Source = !tip.IsZero()
		rules, err := s.Protections.Rules(ctx, source.ID)
		if err != nil {
			return out, err
		}
		for _, r := range rules {
			out.SourceProtected = out.SourceProtected || r.Matches(m.SourceBranch)
		}
	}
	if m.HeadSHA == "" || !out.Target || m.State == StateMerged {
		return out, nil
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return out, err
	}
	within, err := contains(ctx, r, idOf(m.HeadSHA), target)
	out.Diverged = err == nil && !within
	out.Behind = out.Diverged && p.MergeMethod != project.MergeCommit
	return out, err
}

// Messages are the commit messages of a merge as templates make them.
type Messages struct{ Merge, Squash string }

// Messages returns the messages that a merge by the actor would have, of a request that was read for it.
// It requires AcceptMergeRequest: templates may name people with their addresses.
func (s *Service) Messages(ctx context.Context, as authz.Actor, v *View) (*Messages, error) {
	m, p := v.unviewed(), v.Project
	if err := s.requireOn(ctx, as, authz.AcceptMergeRequest, p, m); err != nil {
		return nil, err
	}
	if m.HeadSHA == "" {
		return nil, nil
	}
	a, err := s.attempt(ctx, as, p, m, MergeInput{})
	if err != nil {
		return nil, err
	}
	out := &Messages{
		Merge:  charset.Text([]byte(a.messages.message(template(p.MergeCommitTemplate, defaultMergeTemplate))), ""),
		Squash: charset.Text([]byte(a.messages.message(template(p.SquashCommitTemplate, defaultSquashTemplate))), ""),
	}
	return out, budget.Of(ctx).Take(ctx, int64(len(out.Merge)+len(out.Squash)))
}

// Strategies returns the ways in which requests may be merged later, of those that were read for the actor:
// none where a request is not open, or nothing is there to wait for.
func (s *Service) Strategies(ctx context.Context, list []*View) (map[ID][]Strategy, error) {
	out := make(map[ID][]Strategy, len(list))
	var open []*MergeRequest
	byID := make(map[ID]*project.Project, len(list))
	for _, v := range list {
		if v.State == StateOpened && v.HeadSHA != "" {
			m := v.MergeRequest
			open, byID[m.ID] = append(open, &m), v.Project
		}
	}
	if err := s.pipelinesOf(ctx, open); err != nil {
		return nil, err
	}
	for _, m := range open {
		switch active, train := m.Pipeline.Active(), trains(byID[m.ID]); {
		case train && active:
			out[m.ID] = []Strategy{TrainWhenSucceeds}
		case train:
			out[m.ID] = []Strategy{InTrain}
		case active:
			out[m.ID] = []Strategy{WhenPipelineSucceeds}
		}
	}
	return out, nil
}
