package deploykey

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Pusher returns the user in whose name a deploy key pushes: the one who made it, as long
// as that account may act and sees the project. Otherwise it is Forbidden or NotFound.
func (s *Service) Pusher(ctx context.Context, as authz.Actor, p *project.Project) (authz.Actor, error) {
	maker, err := db.Get[*authz.UserID](ctx, s.DB, "SELECT created_by_id FROM ssh_keys WHERE id = ?", as.Deploy.KeyID)
	switch {
	case errors.Is(err, db.ErrNotFound) || err == nil && maker == nil:
		return authz.Actor{}, errs.Denied("")
	case err != nil:
		return authz.Actor{}, fmt.Errorf("read maker of deploy key: %w", err)
	}
	by, err := s.Accounts.Admit(ctx, *maker)
	if err != nil {
		return authz.Actor{}, err
	}
	subject := p.Subject()
	subject.Known = false
	if err := s.Policy.Require(ctx, by, authz.ReadCode, subject); err != nil {
		return authz.Actor{}, err
	}
	by.Address = as.Address
	return by, nil
}
