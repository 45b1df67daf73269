package rest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/transport/rest/api"
)

// maxInvitations is how many people one call may invite or add.
const maxInvitations = 100

func tooMany() error {
	return errs.Plain(fmt.Sprintf("Too many users specified (limit is %d)", maxInvitations))
}

var _ = Resource("invitations", (*Server).invitationRoutes)

func (s *Server) invitationRoutes() []*api.Route {
	out := s.onPlaces("invitations", func(m mount) []*api.Route {
		admin := m.ability(authz.AdminMembers, authz.AdminGroupMembers)
		return []*api.Route{
			api.Get(m.path, m.listInvitations).Doc("List the invitations to a " + m.noun).Needs(admin),
			api.Post(m.path, m.invite).Doc("Create invitations to a " + m.noun).Needs(admin),
			api.Put(m.path+"/:email", m.changeInvitation).Timed().Doc("Update an invitation").Needs(admin),
			api.Delete(m.path+"/:email", m.uninvite).Timed().Doc("Delete an invitation").Needs(admin),
		}
	})
	out = append(out, api.Post("/projects/:id/import_project_members/:project_id", s.importMembers).
		Doc("Add the members of another project").Needs(authz.AdminMembers).Status(200))
	return api.Scoped(nil, out...)
}

// invitationEntity is an address that is invited.
type invitationEntity struct {
	Level         authz.Level `json:"access_level"`
	CreatedAt     api.Time    `json:"created_at"`
	ExpiresAt     *string     `json:"expires_at"`
	Email         string      `json:"invite_email"`
	UserName      *string     `json:"user_name"` // always null: a user with an account is a member
	CreatedByName *string     `json:"created_by_name"`
}

func (s *Server) invitations(ctx context.Context, list []namespace.Invitation) ([]invitationEntity, error) {
	var ids []authz.UserID
	for _, in := range list {
		if in.CreatedByID != nil {
			ids = append(ids, *in.CreatedByID)
		}
	}
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]invitationEntity, len(list))
	for i, in := range list {
		out[i] = invitationEntity{Level: in.Level, CreatedAt: api.Time(in.CreatedAt.Time), ExpiresAt: in.ExpiresOn, Email: in.Email}
		if in.CreatedByID == nil {
			continue
		}
		if u := users[*in.CreatedByID]; u != nil {
			out[i].CreatedByName = &u.Name
		}
	}
	return out, nil
}

type listInvitationsParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	api.Page
	Query string `param:"query" doc:"Search in email addresses"`
}

func (m mount) listInvitations(ctx context.Context, as authz.Actor, p listInvitationsParams) (api.List[invitationEntity], error) {
	none := api.List[invitationEntity]{}
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	list, err := m.s.Namespaces.Invitations(ctx, as, at, p.Query, p.Range())
	if err != nil {
		return none, err
	}
	items, err := m.s.invitations(ctx, list.Items)
	if err != nil {
		return none, err
	}
	return api.Listed(list, items), nil
}

type inviteParams struct {
	ID      string      `param:"id" doc:"ID or URL-encoded path"`
	Level   int         `param:"access_level,required" doc:"Access level"`
	Emails  api.Strings `param:"email" doc:"Email address, or several separated by commas"`
	UserIDs api.Strings `param:"user_id" doc:"ID of the user, or several separated by commas"`
	_       struct{}    `atleastone:"email,user_id"`
	Expires api.Date    `param:"expires_at" doc:"Expiry date of the membership, YYYY-MM-DD"`
	Source  string      `param:"invite_source" doc:"Source of the invitation"`
}

func (m mount) invite(ctx context.Context, as authz.Actor, p inviteParams) (memberOutcome, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return memberOutcome{}, err
	}
	if len(p.Emails)+len(p.UserIDs) > maxInvitations {
		return memberOutcome{}, tooMany()
	}
	var expires *string
	if p.Expires != "" {
		expires = (*string)(&p.Expires)
	}
	out := memberOutcome{Status: "success"}
	note := func(who string, err error) error {
		var e *errs.Error
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &e), e.Kind != errs.Invalid && e.Kind != errs.Conflict && e.Kind != errs.Unprocessable && (e.Kind != errs.NotFound || e.Message != "User"):
			return err
		}
		if out.Message == nil {
			out.Status, out.Message = "error", map[string]string{}
		}
		if out.Message[who] = reason(e); e.Kind == errs.Conflict {
			out.Message[who] = "User already exists in source"
		}
		return nil
	}
	for _, address := range p.Emails {
		err := m.s.Namespaces.Invite(ctx, as, at, namespace.InvitationInput{Email: address, Level: authz.Level(p.Level), ExpiresOn: expires})
		if err := note(address, err); err != nil {
			return out, err
		}
	}
	for _, id := range p.UserIDs {
		user := memberID(strings.TrimSpace(id))
		_, err := m.s.Namespaces.Add(ctx, as, at, namespace.MemberInput{UserID: user, Username: id, Level: authz.Level(p.Level), ExpiresOn: expires})
		if err := note(id, err); err != nil {
			return out, err
		}
	}
	return out, nil
}

// invitationPath names an invitation by place and address.
type invitationPath struct {
	ID    string `param:"id" doc:"ID or URL-encoded path"`
	Email string `param:"email" doc:"Email address"`
}

type changeInvitationParams struct {
	invitationPath
	Level   *int              `param:"access_level" doc:"Access level"`
	Expires api.Opt[api.Date] `param:"expires_at" doc:"Expiry date of the membership, YYYY-MM-DD"`
}

func (m mount) changeInvitation(ctx context.Context, as authz.Actor, p changeInvitationParams) (invitationEntity, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return invitationEntity{}, err
	}
	var c namespace.InvitationChanges
	if p.Level != nil {
		level := authz.Level(*p.Level)
		c.Level = &level
	}
	if p.Expires.Set {
		day := (*string)(p.Expires.Ptr())
		if day != nil && *day == "" {
			day = nil
		}
		c.ExpiresOn = &day
	}
	changed, err := m.s.Namespaces.ChangeInvitation(ctx, as, at, p.Email, c)
	if err != nil {
		return invitationEntity{}, err
	}
	items, err := m.s.invitations(ctx, []namespace.Invitation{*changed})
	if err != nil {
		return invitationEntity{}, err
	}
	return items[0], nil
}

func (m mount) uninvite(ctx context.Context, as authz.Actor, p invitationPath) (api.None, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, m.s.Namespaces.Uninvite(ctx, as, at, p.Email)
}

type importMembersParams struct {
	projectPath
	From string `param:"project_id" doc:"ID or URL-encoded path of the project to import members from"`
}

func (s *Server) importMembers(ctx context.Context, as authz.Actor, p importMembersParams) (memberOutcome, error) {
	into, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return memberOutcome{}, err
	}
	from, err := s.Projects.Find(ctx, as, p.From)
	if err != nil {
		return memberOutcome{}, err
	}
	return memberOutcome{Status: "success"}, s.Namespaces.ImportMembers(ctx, as, into.Place(), from.Place())
}
