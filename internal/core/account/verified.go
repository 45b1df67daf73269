package account

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// OwnAddresses returns the folded addresses that a user has proved to read, and the private
// one. It asks for no permission.
func (s *Service) OwnAddresses(ctx context.Context, id authz.UserID) (map[string]bool, error) {
	list, err := db.Select[string](ctx, s.DB, "SELECT email_fold FROM emails WHERE user_id = ? AND confirmed_at IS NOT NULL ORDER BY id", id)
	if err != nil {
		return nil, fmt.Errorf("read addresses: %w", err)
	}
	users, err := s.Load(ctx, []authz.UserID{id})
	if err != nil {
		return nil, err
	}
	out := make(map[string]bool, len(list)+1)
	for _, email := range list {
		out[email] = true
	}
	if u := users[id]; u != nil {
		out[db.Fold(u.PrivateAddress(s.CommitHost()))] = true
	}
	return out, nil
}

// chunk is how many addresses are looked up in one statement.
const chunk = 2000

// KnownAddresses says which of some folded addresses are those of users. It asks for no
// permission.
func (s *Service) KnownAddresses(ctx context.Context, emails []string) (map[string]bool, error) {
	owners, err := s.AddressOwners(ctx, emails)
	out := make(map[string]bool, len(owners))
	for email := range owners {
		out[email] = true
	}
	return out, err
}

// AddressOwners returns the users who proved to read some folded addresses, or whose private
// ones they are. Other addresses are left out. It asks for no permission.
func (s *Service) AddressOwners(ctx context.Context, emails []string) (map[string]authz.UserID, error) {
	type row struct {
		Email  string       `db:"email_fold"`
		UserID authz.UserID `db:"user_id"`
	}
	out := map[string]authz.UserID{}
	var private []authz.UserID
	suffix := "@" + db.Fold(s.CommitHost())
	for _, email := range emails {
		if local, ok := strings.CutSuffix(email, suffix); ok {
			digits, _, _ := strings.Cut(local, "-")
			if id, err := strconv.ParseInt(digits, 10, 64); err == nil {
				private = append(private, authz.UserID(id))
			}
		}
	}
	for start := 0; start < len(emails); start += chunk {
		marks, args := db.Marks(emails[start:min(start+chunk, len(emails))])
		found, err := db.Select[row](ctx, s.DB, "SELECT email_fold, user_id FROM emails WHERE email_fold IN ("+marks+") AND confirmed_at IS NOT NULL", args...)
		if err != nil {
			return nil, fmt.Errorf("look for addresses: %w", err)
		}
		for _, r := range found {
			out[r.Email] = r.UserID
		}
	}
	for start := 0; start < len(private); start += chunk {
		users, err := s.Load(ctx, private[start:min(start+chunk, len(private))])
		if err != nil {
			return nil, err
		}
		for _, u := range users {
			out[db.Fold(u.PrivateAddress(s.CommitHost()))] = u.ID
		}
	}
	return out, nil
}
