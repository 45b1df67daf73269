package rest

import (
	"context"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/transport/rest/api"
)

// memberEntity is a user as a member.
type memberEntity struct {
	userBasic
	Level           authz.Level `json:"access_level"`
	CreatedAt       api.Time    `json:"created_at"`
	CreatedBy       *userBasic  `json:"created_by,omitempty"`
	ExpiresAt       *string     `json:"expires_at"`
	MembershipState string      `json:"membership_state"`
	IsUsingSeat     *bool       `json:"is_using_seat,omitempty"` // where asked for
	SAMLIdentity    *struct{}   `json:"group_saml_identity" later:"single sign-on of groups"`
}

// members returns the entities of some members in one statement more.
func (s *Server) members(ctx context.Context, list []namespace.Member, seats bool) ([]memberEntity, error) {
	ids := make([]authz.UserID, 0, 2*len(list))
	for _, m := range list {
		ids = append(ids, m.UserID)
		if m.CreatedByID != nil {
			ids = append(ids, *m.CreatedByID)
		}
	}
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]memberEntity, 0, len(list))
	for _, m := range list {
		u := users[m.UserID]
		if u == nil {
			continue // deleted since
		}
		e := memberEntity{
			userBasic: newUserBasic(u), Level: m.Level, CreatedAt: api.Time(m.CreatedAt.Time), ExpiresAt: m.ExpiresOn,
			MembershipState: namespace.StateActive,
		}
		if u.State == account.PendingApproval {
			e.MembershipState = namespace.StateAwaiting
		}
		if m.CreatedByID != nil {
			e.CreatedBy = s.user(users[*m.CreatedByID])
		}
		if seats {
			using := u.UsesSeat
			e.IsUsingSeat = &using
		}
		out = append(out, e)
	}
	return out, nil
}

func (s *Server) member(ctx context.Context, m *namespace.Member, seats bool) (memberEntity, error) {
	list, err := s.members(ctx, []namespace.Member{*m}, seats)
	if err != nil || len(list) == 0 {
		return memberEntity{}, err
	}
	return list[0], nil
}
