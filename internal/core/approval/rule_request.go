package approval

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// RequestRules lists the rules that a merge request has of its own. It requires ReadMergeRequest.
func (s *Service) RequestRules(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID, r page.Range) (page.Page[*Rule], error) {
	m, err := s.MergeRequests.Find(ctx, as, p, iid)
	if err != nil {
		return page.Page[*Rule]{}, err
	}
	return s.listRules(ctx, scope{p, m}, r)
}

// RequestRule returns one rule of a merge request. It requires ReadMergeRequest.
func (s *Service) RequestRule(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID, id RuleID) (*Rule, error) {
	m, err := s.MergeRequests.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	return s.findRule(ctx, scope{p, m}, id)
}

// overriding finds a merge request whose rules the actor may change: it requires
// UpdateMergeRequest, and is Forbidden where the project wants its own rules to hold.
func (s *Service) overriding(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID) (scope, error) {
	m, err := s.MergeRequests.Find(ctx, as, p, iid)
	if err != nil {
		return scope{}, err
	}
	if err := s.Policy.Require(ctx, as, authz.UpdateMergeRequest, m.Subject(as, p)); err != nil {
		return scope{}, err
	}
	set, err := s.settingsAt(ctx, p.NamespaceID)
	if err != nil {
		return scope{}, err
	}
	if !set.Overrides.On || m.State == mergerequest.StateMerged {
		return scope{}, errs.New(errs.Forbidden, "")
	}
	return scope{p, m}, nil
}

// CreateRequestRule makes a rule for one merge request, whose rules then stand for those of the
// project. It requires UpdateMergeRequest.
func (s *Service) CreateRequestRule(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID, in Ruling) (*Rule, error) {
	o, err := s.overriding(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	in.Type, in.Branches, in.AllProtected = "", nil, nil
	return s.create(ctx, as, o, in)
}

// UpdateRequestRule changes a rule of a merge request. It requires UpdateMergeRequest.
func (s *Service) UpdateRequestRule(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID, id RuleID, in Ruling) (*Rule, error) {
	o, err := s.overriding(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	in.Branches, in.AllProtected = nil, nil
	return s.update(ctx, as, o, id, in)
}

// DeleteRequestRule deletes a rule of a merge request. It requires UpdateMergeRequest.
func (s *Service) DeleteRequestRule(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID, id RuleID) error {
	o, err := s.overriding(ctx, as, p, iid)
	if err != nil {
		return err
	}
	return s.remove(ctx, as, o, id)
}
