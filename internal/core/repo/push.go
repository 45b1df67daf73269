package repo

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// RefResult is the outcome for one reference; Reason is empty when it moved.
type RefResult struct {
	Ref    gitcmd.RefName
	Reason string
}

// Push is one git push in progress: git's hooks ask it to judge the whole and then to
// move the references.
type Push struct {
	service *Service
	repo    *gitcmd.Repo
	as      authz.Actor // who is judged
	by      authz.Actor // in whose name references move
	project *project.Project

	mu      sync.Mutex
	options []string
	passed  map[RefChange]bool // what Check let through
}

// BeginPush prepares a push. It requires the right to push at all; what may move is
// judged reference by reference when git asks.
func (s *Service) BeginPush(ctx context.Context, as authz.Actor, p *project.Project) (*Push, error) {
	if err := s.requirePush(ctx, as, p); err != nil {
		return nil, err
	}
	by, err := s.pusher(ctx, as, p)
	if err != nil {
		return nil, err
	}
	if p.Filling() {
		return nil, refuse("", textNotReady)
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	return &Push{service: s, repo: r, as: as, by: by, project: p}, nil
}

// requirePush asks for the right to push at all and refuses with what people read.
func (s *Service) requirePush(ctx context.Context, as authz.Actor, p *project.Project) error {
	err := s.policy.Require(ctx, as, authz.PushCode, p.Subject())
	switch {
	case !errs.Is(err, errs.Forbidden):
		return err
	case p.Archived:
		return refuse("", textArchived)
	case as.Deploy.KeyID != 0:
		return refuse("", textNoWriteKey)
	}
	return refuse("", textNoPush)
}

// pusher gives the user in whose name the actor pushes: itself, or the maker of a deploy
// key, who must be able to see the project still.
func (s *Service) pusher(ctx context.Context, as authz.Actor, p *project.Project) (authz.Actor, error) {
	if as.Deploy.KeyID == 0 {
		return as, nil
	}
	by, err := s.keys.Pusher(ctx, as, p)
	if errs.Is(err, errs.Forbidden) || errs.Is(err, errs.NotFound) {
		return authz.Actor{}, refuse("", textNoWriteKey)
	}
	return by, err //nolint:wrapcheck // it says what failed
}

// Repo is the repository that is pushed to.
func (p *Push) Repo() *gitcmd.Repo { return p.repo }

// Check judges the whole push while its objects are in quarantine, the folder objects; it
// is "" where there are none. A refusal is text for the person who pushes; err is a failure of the server.
func (p *Push) Check(ctx context.Context, objects string, changes []RefChange, options []string) (refusal string, err error) {
	inside := p.repo
	if objects != "" { // a push that only deletes brings no objects
		if inside, err = p.repo.View(objects); err != nil {
			return "", fmt.Errorf("open quarantine: %w", err)
		}
		defer inside.CloseView()
	}
	err = p.service.Judge(ctx, p.as, p.project, ByPush, inside, changes)
	if err == nil && objects != "" {
		err = p.service.judgePointers(ctx, p.project, inside)
	}
	if refused, ok := errors.AsType[*Refusal](err); ok {
		return "GitLab: " + refused.Text, nil
	}
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.options = options
	p.passed = make(map[RefChange]bool, len(changes))
	for _, c := range changes {
		p.passed[c] = true
	}
	return "", nil
}

// Apply moves the references that Check let through, all in one transaction, and gives
// a verdict for each and what the person who pushes should know.
func (p *Push) Apply(ctx context.Context, changes []RefChange) (results []RefResult, message string, err error) {
	p.mu.Lock()
	for _, c := range changes {
		if !p.passed[c] {
			p.mu.Unlock()
			return nil, "", fmt.Errorf("reference %q was not checked", c.Ref)
		}
	}
	p.mu.Unlock()
	results = make([]RefResult, len(changes))
	for i, c := range changes {
		results[i].Ref = c.Ref
	}
	wasEmpty := p.project.DefaultBranch == nil
	if err := p.service.MoveRefs(ctx, p.by, p.project, ByPush, changes); err != nil {
		reason := "failed to update ref: it was changed meanwhile"
		switch {
		case errors.Is(err, gitcmd.ErrWrongKind):
			reason = "a branch must point at a commit"
		case errors.Is(err, gitcmd.ErrRefConflict):
			reason = "another branch or tag stands where its name would be a folder"
		case !errors.Is(err, ErrMoved):
			return nil, "", err
		}
		for i := range results {
			results[i].Reason = reason
		}
		return results, "", nil
	}
	if wasEmpty {
		return results, "", nil
	}
	return results, p.hint(ctx, changes), nil
}

// hint gives what people read after pushing branches (facts-3 §31.2).
func (p *Push) hint(ctx context.Context, changes []RefChange) string {
	if p.service.Hint == nil || !p.project.PrintingMergeRequestLinkEnabled {
		return ""
	}
	var branches []string
	for _, c := range changes {
		if c.Ref.IsBranch() && !c.Deleted() && c.Ref.Short() != *p.project.DefaultBranch {
			branches = append(branches, c.Ref.Short())
		}
	}
	if len(branches) == 0 {
		return ""
	}
	text, err := p.service.Hint(ctx, p.by, p.project, branches)
	if err != nil {
		// The references have moved; a missing hint must not make the push look failed.
		p.service.log.Warn("no hint after push", "project_id", p.project.ID, "error", err)
		return ""
	}
	return text
}
