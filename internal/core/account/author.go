package account

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// ByAddresses returns the users who proved to read some addresses, for authors of commits, under the
// addresses as they were given. It asks for no permission.
func (s *Service) ByAddresses(ctx context.Context, emails []string) (map[string]*Summary, error) {
	folded := make([]string, len(emails))
	for i, email := range emails {
		folded[i] = db.Fold(email)
	}
	owners, err := s.AddressOwners(ctx, folded)
	if err != nil {
		return nil, err
	}
	ids := make([]authz.UserID, 0, len(owners))
	for _, id := range owners {
		ids = append(ids, id)
	}
	users, err := s.ByIDs(ctx, ids)
	out := make(map[string]*Summary, len(owners))
	for i, email := range emails {
		if u := users[owners[folded[i]]]; u != nil {
			out[email] = u
		}
	}
	return out, err
}
