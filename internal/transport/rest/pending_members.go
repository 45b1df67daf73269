package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("members", (*Server).pendingMemberRoutes)

func (s *Server) pendingMemberRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/groups/:id/pending_members", s.pendingMembers).Doc("List the pending members of a group").Needs(authz.AdminGroupMembers),
		api.Put("/groups/:id/members/:member_id/approve", s.approveMember).Doc("Approve a pending member of a group").
			Needs(authz.AdminGroupMembers, authz.AdminUsers),
		api.Post("/groups/:id/members/approve_all", s.approveMembers).Doc("Approve all pending members of a group").
			Needs(authz.AdminGroupMembers, authz.AdminUsers),
	)
}

// pendingMember is an invited address, or a user whose membership awaits approval.
type pendingMember struct {
	ID        int64   `json:"id"` // of the invitation or membership
	Name      string  `json:"name,omitempty"`
	Username  string  `json:"username,omitempty"`
	Email     *string `json:"email"` // that is invited; of a user the public one, or for administrators any
	AvatarURL *string `json:"avatar_url"`
	WebURL    string  `json:"web_url,omitempty"`
	Approved  bool    `json:"approved"`
	Invited   bool    `json:"invited"`
}

type pendingMembersParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	api.Page
}

func (s *Server) pendingMembers(ctx context.Context, as authz.Actor, p pendingMembersParams) (api.List[pendingMember], error) {
	none := api.List[pendingMember]{}
	at, err := s.groupPlace(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	list, err := s.Namespaces.Pending(ctx, as, at, p.Range())
	if err != nil {
		return none, err
	}
	var ids []authz.UserID
	for _, m := range list.Items {
		if m.UserID != nil {
			ids = append(ids, *m.UserID)
		}
	}
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return none, err
	}
	emails, err := s.Accounts.EmailsFor(ctx, as, ids)
	if err != nil {
		return none, err
	}
	items := make([]pendingMember, 0, len(list.Items))
	for _, m := range list.Items {
		e := pendingMember{ID: m.ID, Approved: m.Invited(), Invited: m.Invited()}
		if m.Invited() {
			e.Email, e.AvatarURL = &m.Email, s.Accounts.Gravatar(m.Email, 80)
		} else {
			u := users[*m.UserID]
			if u == nil {
				continue // deleted since
			}
			basic := newUserBasic(u)
			e.Name, e.Username, e.AvatarURL, e.WebURL, e.Email = basic.Name, basic.Username, basic.AvatarURL, basic.WebURL, emails[u.ID]
		}
		items = append(items, e)
	}
	return api.Listed(list, items), nil
}

type pendingMemberPath struct {
	ID       string `param:"id" doc:"ID or URL-encoded path"`
	MemberID int64  `param:"member_id" doc:"ID of the membership"`
}

func (s *Server) approveMember(ctx context.Context, as authz.Actor, p pendingMemberPath) (memberOutcome, error) {
	at, err := s.groupPlace(ctx, as, p.ID)
	if err != nil {
		return memberOutcome{}, err
	}
	return memberOutcome{Status: "success"}, s.Namespaces.ApprovePending(ctx, as, at, p.MemberID)
}

func (s *Server) approveMembers(ctx context.Context, as authz.Actor, p groupPath) (memberOutcome, error) {
	at, err := s.groupPlace(ctx, as, p.ID)
	if err != nil {
		return memberOutcome{}, err
	}
	return memberOutcome{Status: "success"}, s.Namespaces.ApproveAllPending(ctx, as, at)
}
