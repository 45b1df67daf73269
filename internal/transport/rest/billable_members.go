package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("members", (*Server).billableRoutes)

func (s *Server) billableRoutes() []*api.Route {
	const path = "/groups/:id/billable_members"
	return api.Scoped(nil,
		api.Get(path, s.billableMembers).Doc("List the billable members of a group").Needs(authz.ReadBillable),
		api.Get(path+"/:user_id/memberships", s.billableMemberships).Doc("List the memberships of a billable member of a group").
			Needs(authz.ReadBillable),
		api.Get(path+"/:user_id/indirect", s.billableIndirect).Doc("List the indirect memberships of a billable member of a group").
			Needs(authz.ReadBillable),
		api.Delete(path+"/:user_id", s.removeBillable).Timed().Doc("Remove a billable member from a group").Needs(authz.AdminGroupMembers),
	)
}

// billableEntity is a user who uses a seat.
type billableEntity struct {
	userBasic
	Email          *string   `json:"email"` // public, or for administrators any
	LastActivityOn *string   `json:"last_activity_on"`
	MembershipType string    `json:"membership_type"`
	Removable      bool      `json:"removable"`
	CreatedAt      api.Time  `json:"created_at"`
	LastOwner      bool      `json:"is_last_owner"`
	LastLoginAt    *api.Time `json:"last_login_at"`
}

// groupPlace finds the group.
func (s *Server) groupPlace(ctx context.Context, as authz.Actor, ref string) (authz.Place, error) {
	return mount{s: s, group: true}.place(ctx, as, ref)
}

type billableMembersParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	api.Page
	Search string `param:"search" doc:"Search in names and usernames, or for an exact public email"`
	Sort   string `param:"sort" values:"access_level_asc,access_level_desc,last_joined,name_asc,name_desc,oldest_joined,oldest_sign_in,recent_sign_in,last_activity_on_asc,last_activity_on_desc" doc:"asc or desc"`
}

func (s *Server) billableMembers(ctx context.Context, as authz.Actor, p billableMembersParams) (api.List[billableEntity], error) {
	none := api.List[billableEntity]{}
	at, err := s.groupPlace(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	list, err := s.Namespaces.Billable(ctx, as, at, namespace.BillableFilter{Search: p.Search, Sort: p.Sort, Range: p.Range()})
	if err != nil {
		return none, err
	}
	ids := make([]authz.UserID, len(list.Items))
	for i := range list.Items {
		ids[i] = list.Items[i].UserID
	}
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return none, err
	}
	emails, err := s.Accounts.EmailsFor(ctx, as, ids)
	if err != nil {
		return none, err
	}
	items := make([]billableEntity, 0, len(list.Items))
	for _, b := range list.Items {
		u := users[b.UserID]
		if u == nil {
			continue // deleted since
		}
		e := billableEntity{
			userBasic: newUserBasic(u), LastActivityOn: b.LastActivityOn, MembershipType: b.Means, Removable: b.Removable(),
			CreatedAt: api.Time(b.CreatedAt.Time), LastOwner: b.LastOwner, Email: emails[b.UserID],
		}
		if b.LastSignInAt != nil {
			e.LastLoginAt = api.TimePtr(&b.LastSignInAt.Time)
		}
		items = append(items, e)
	}
	return api.Listed(list, items), nil
}

// seatEntity is a membership by which a user uses a seat.
type seatEntity struct {
	ID         int64     `json:"id"`
	SourceID   int64     `json:"source_id"`
	SourceName string    `json:"source_full_name"`
	MembersURL string    `json:"source_members_url"`
	CreatedAt  api.Time  `json:"created_at"`
	ExpiresAt  *string   `json:"expires_at"`
	Level      seatLevel `json:"access_level"`
}

type seatLevel struct {
	Name  string      `json:"string_value"`
	Value authz.Level `json:"integer_value"`
}

type billableMemberParams struct {
	memberPath
	api.Page
}

func (s *Server) billableMemberships(ctx context.Context, as authz.Actor, p billableMemberParams) (api.List[seatEntity], error) {
	return s.seats(ctx, as, p, namespace.SeatFilter{})
}

func (s *Server) billableIndirect(ctx context.Context, as authz.Actor, p billableMemberParams) (api.List[seatEntity], error) {
	return s.seats(ctx, as, p, namespace.SeatFilter{Invited: true})
}

func (s *Server) seats(ctx context.Context, as authz.Actor, p billableMemberParams, f namespace.SeatFilter) (api.List[seatEntity], error) {
	none := api.List[seatEntity]{}
	at, err := s.groupPlace(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	f.Range = p.Range()
	list, err := s.Namespaces.Seats(ctx, as, at, p.UserID, f)
	if err != nil {
		return none, err
	}
	items := make([]seatEntity, len(list.Items))
	for i, seat := range list.Items {
		url := s.URLs.ProjectMembers(seat.FullPath)
		if seat.Group {
			url = s.URLs.GroupMembers(seat.FullPath)
		}
		items[i] = seatEntity{
			ID: seat.ID, SourceID: seat.SourceID, SourceName: seat.FullName, MembersURL: url, CreatedAt: api.Time(seat.CreatedAt.Time),
			ExpiresAt: seat.ExpiresOn, Level: seatLevel{seat.Level.Name(), seat.Level},
		}
	}
	return api.Listed(list, items), nil
}

func (s *Server) removeBillable(ctx context.Context, as authz.Actor, p memberPath) (api.None, error) {
	at, err := s.groupPlace(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Namespaces.Unseat(ctx, as, at, p.UserID)
}
