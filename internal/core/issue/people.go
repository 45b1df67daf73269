package issue

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// UserAgent returns the client that made an issue, and its address. It is for administrators.
func (s *Service) UserAgent(ctx context.Context, as authz.Actor, p *project.Project, iid IID) (agent, address string, err error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return "", "", err
	}
	if err := s.Policy.Require(ctx, as, authz.ReadUserAgent, i.subject(as, p)); err != nil {
		return "", "", err
	}
	if i.UserAgent == nil || i.UserAddress == nil {
		return "", "", errs.Missing("UserAgentDetail")
	}
	return *i.UserAgent, *i.UserAddress, nil
}
