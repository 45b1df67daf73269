package mergerequest

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// attempt is one merge on its way.
type attempt struct {
	as     authz.Actor
	p      *project.Project
	m      *MergeRequest
	in     MergeInput
	repo   *gitcmd.Repo
	kept   *gitcmd.Quarantine // for the first try, with what a trial merge left; nil afterwards
	method string             // of the project
	squash bool
	source *project.Project

	messages messageData
	merger   gitstore.Signature
	author   gitstore.Signature
	remove   bool // delete the source branch as well
	gone     bool // the source branch was deleted meanwhile

	lease lease
}

// attempt gathers what a merge needs to know.
func (s *Service) attempt(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, in MergeInput) (*attempt, error) {
	if in.Squash {
		m.Squash = true
	}
	a := &attempt{as: as, p: p, m: m, in: in, method: p.MergeMethod, squash: m.SquashOnMerge(p)}
	var err error
	if a.repo, err = s.Repos.Open(ctx, p); err != nil {
		return nil, err
	}
	if a.source, err = s.source(ctx, p, m); err != nil {
		return nil, err
	}
	if a.remove, err = s.removesSource(ctx, a); err != nil {
		return nil, err
	}
	commits, err := s.commitsOf(ctx, a.repo, m, 100)
	if err != nil {
		return nil, err
	}
	closes, err := s.closes(ctx, as, p, m, commits)
	if err != nil {
		return nil, err
	}
	people := []authz.UserID{as.UserID, m.AuthorID}
	for _, r := range m.Reviewers {
		people = append(people, r.UserID)
	}
	approvers, err := s.approvers(ctx, p, m)
	if err != nil {
		return nil, err
	}
	people = append(people, approvers...)
	signatures, err := s.signatures(ctx, people)
	if err != nil {
		return nil, err
	}
	a.merger, a.author = signatures[as.UserID], signatures[m.AuthorID]
	a.messages = messageData{
		request: m, issues: closes, path: p.FullPath, url: s.URLs.MergeRequest(p.FullPath, int64(m.IID)),
		author: a.author, merger: a.merger, commits: commits,
	}
	for _, r := range m.Reviewers {
		if r.State != unreviewed {
			a.messages.reviewers = append(a.messages.reviewers, signatures[r.UserID])
		}
	}
	for _, id := range approvers {
		a.messages.approvers = append(a.messages.approvers, signatures[id])
	}
	return a, nil
}

// approvers are the users who approved the present head, the first first, where a template of p
// asks for them.
func (s *Service) approvers(ctx context.Context, p *project.Project, m *MergeRequest) ([]authz.UserID, error) {
	const wanted = "%{approved_by}"
	if !strings.Contains(deref(p.MergeCommitTemplate), wanted) && !strings.Contains(deref(p.SquashCommitTemplate), wanted) {
		return nil, nil
	}
	return s.above.Approvals.ApprovedBy(ctx, m)
}

// removesSource decides whether the merge deletes the source branch: asked for, and the
// actor may, and it is no branch that must stay.
func (s *Service) removesSource(ctx context.Context, a *attempt) (bool, error) {
	wanted := a.m.ForceRemoveSource
	if a.in.RemoveSource != nil {
		wanted = a.in.RemoveSource
	}
	if wanted == nil || !*wanted || a.source == nil {
		return false, nil
	}
	if a.source.DefaultBranch != nil && *a.source.DefaultBranch == a.m.SourceBranch {
		return false, nil
	}
	access, err := s.Protections.BranchAccess(ctx, a.as, a.source, a.m.SourceBranch)
	return access.Delete && !access.Protected, err
}

// signatures returns names and commit addresses of users, with the present time.
func (s *Service) signatures(ctx context.Context, ids []authz.UserID) (map[authz.UserID]gitstore.Signature, error) {
	users, err := s.Accounts.Load(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[authz.UserID]gitstore.Signature, len(users))
	for id, u := range users {
		out[id] = gitstore.Signature{Name: u.Name, Email: u.CommitAddress(s.Accounts.CommitHost()), When: s.Now().UTC()}
	}
	return out, nil
}

// commitsOf reads the request's commits, oldest first, the newest max of them.
func (s *Service) commitsOf(ctx context.Context, r *gitcmd.Repo, m *MergeRequest, limit int) ([]*gitstore.Commit, error) {
	if m.BaseSHA == "" {
		return nil, nil
	}
	commits, err := r.LogCommits(ctx, gitcmd.LogOptions{
		From: []gitstore.ObjectID{idOf(m.HeadSHA)}, Not: []gitstore.ObjectID{idOf(m.StartSHA)}, Limit: limit, Reverse: true,
	})
	if err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	return commits, nil
}
