package rest

import (
	"context"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

func (s *Server) userEmailRoutes() []*api.Route {
	return api.Scoped([]authz.Scope{authz.ScopeReadUser},
		api.Get("/user/emails", s.listOwnEmails).Doc("List the email addresses of the current user").Needs(authz.UpdateOwnUser),
		api.Get("/user/emails/:email_id", s.getOwnEmail).Doc("Get an email address of the current user").Needs(authz.UpdateOwnUser),
		api.Get("/users/:id/emails", s.listEmails).Doc("List the email addresses of a user").Needs(authz.AdminUsers),
		api.Post("/user/emails", s.createOwnEmail).Doc("Create an email address of the current user").Needs(authz.UpdateOwnUser),
		api.Delete("/user/emails/:email_id", s.deleteOwnEmail).Timed().Doc("Delete an email address of the current user").Needs(authz.UpdateOwnUser),
		api.Post("/users/:id/emails", s.createEmail).Doc("Create an email address of a user").Needs(authz.AdminUsers),
		api.Delete("/users/:id/emails/:email_id", s.deleteEmail).Timed().Doc("Delete an email address of a user").Needs(authz.AdminUsers),
		api.Post("/users/:id/approve", s.approveUser).Doc("Approve a pending user sign-up").Needs(authz.AdminUsers),
		api.Delete("/users/:id/identities/:provider", s.deleteIdentity).Timed().Doc("Delete an identity of a user").Needs(authz.AdminUsers),
	)
}

type emailEntity struct {
	ID          int64     `json:"id"`
	Email       string    `json:"email"`
	ConfirmedAt *api.Time `json:"confirmed_at"`
}

func emailOf(a account.Address) emailEntity {
	return emailEntity{ID: a.ID, Email: a.Email, ConfirmedAt: api.TimePtr(a.ConfirmedAt.Ptr())}
}

func (s *Server) emails(ctx context.Context, as authz.Actor, user authz.UserID, p api.Page) (api.List[emailEntity], error) {
	list, err := s.Accounts.Emails(ctx, as, user, p.Range())
	if err != nil {
		return api.List[emailEntity]{}, err
	}
	return api.ListOf(list, func(a *account.Address) emailEntity { return emailOf(*a) }), nil
}

type ownEmailsParams struct{ api.Page }

func (s *Server) listOwnEmails(ctx context.Context, as authz.Actor, p ownEmailsParams) (api.List[emailEntity], error) {
	return s.emails(ctx, as, 0, p.Page)
}

type userEmailsParams struct {
	userPath
	api.Page
}

func (s *Server) listEmails(ctx context.Context, as authz.Actor, p userEmailsParams) (api.List[emailEntity], error) {
	user, err := p.id()
	if err != nil {
		return api.List[emailEntity]{}, err
	}
	return s.emails(ctx, as, user, p.Page)
}

type emailPath struct {
	EmailID int64 `param:"email_id" doc:"ID of the email address"`
}

func (s *Server) getOwnEmail(ctx context.Context, as authz.Actor, p emailPath) (emailEntity, error) {
	a, err := s.Accounts.Email(ctx, as, 0, p.EmailID)
	return emailOf(a), err
}

type ownEmailParams struct {
	Email string `param:"email,required" doc:"Email address"`
}

func (s *Server) createOwnEmail(ctx context.Context, as authz.Actor, p ownEmailParams) (emailEntity, error) {
	a, err := s.Accounts.AddEmail(ctx, as, 0, account.EmailInput{Address: p.Email})
	return emailOf(a), err
}

func (s *Server) deleteOwnEmail(ctx context.Context, as authz.Actor, p emailPath) (api.None, error) {
	return api.None{}, s.Accounts.DeleteEmail(ctx, as, 0, p.EmailID)
}

type createEmailParams struct {
	userPath
	Email            string `param:"email,required" doc:"Email address"`
	SkipConfirmation bool   `param:"skip_confirmation" doc:"Skip confirmation and treat the email address as verified"`
}

func (s *Server) createEmail(ctx context.Context, as authz.Actor, p createEmailParams) (emailEntity, error) {
	user, err := p.id()
	if err != nil {
		return emailEntity{}, err
	}
	a, err := s.Accounts.AddEmail(ctx, as, user, account.EmailInput{Address: p.Email, Confirmed: p.SkipConfirmation})
	return emailOf(a), err
}

type deleteEmailParams struct {
	userPath
	emailPath
}

func (s *Server) deleteEmail(ctx context.Context, as authz.Actor, p deleteEmailParams) (api.None, error) {
	user, err := p.id()
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Accounts.DeleteEmail(ctx, as, user, p.EmailID)
}

type successEntity struct {
	Message string `json:"message"` // Success
}

func (s *Server) approveUser(ctx context.Context, as authz.Actor, p userPath) (successEntity, error) {
	id, err := p.id()
	if err != nil {
		return successEntity{}, err
	}
	return successEntity{"Success"}, s.Accounts.Approve(ctx, as, id)
}

type identityParams struct {
	userPath
	Provider string `param:"provider" doc:"Name of the external provider"`
}

func (s *Server) deleteIdentity(ctx context.Context, as authz.Actor, p identityParams) (api.None, error) {
	id, err := p.id()
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Accounts.DeleteIdentity(ctx, as, id, p.Provider)
}
