package rest

import (
	"context"
	"time"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

type listUsersParams struct {
	api.Page
	Search             *string  `param:"search" doc:"Part of a name or username, or a whole address"`
	Username           *string  `param:"username" doc:"Exactly this username, whatever its case"`
	PublicEmail        *string  `param:"public_email" doc:"Exactly this public address"`
	ExternUID          string   `param:"extern_uid" doc:"Id with another provider; for administrators"`
	Provider           string   `param:"provider" doc:"The provider of extern_uid"`
	_                  struct{} `allornone:"extern_uid,provider"`
	Active             bool     `param:"active" doc:"Those who may act"`
	Blocked            bool     `param:"blocked" doc:"Those who are blocked"`
	External           bool     `param:"external" doc:"Those from outside"`
	Humans             bool     `param:"humans" doc:"People, no bots"`
	ExcludeActive      bool     `param:"exclude_active" doc:"Those who may not act"`
	ExcludeExternal    bool     `param:"exclude_external" doc:"No one from outside"`
	ExcludeHumans      bool     `param:"exclude_humans" doc:"Bots, no people"`
	ExcludeInternal    bool     `param:"exclude_internal" doc:"No accounts of the server's own"`
	WithoutProjectBots bool     `param:"without_project_bots" doc:"No bots of projects and groups"`
	SkipLDAP           bool     `param:"skip_ldap" doc:"Nobody whom a directory knows"`

	Admins          bool              `param:"admins" doc:"Administrators; this and what follows is for administrators"`
	Auditors        bool              `param:"auditors" doc:"Auditors"`
	TwoFactor       string            `param:"two_factor" values:"enabled,disabled" doc:"By second factor"`
	SAMLProvider    int64             `param:"saml_provider_id" doc:"Those who come through this single sign-on of a group"`
	WithoutProjects bool              `param:"without_projects" doc:"Members of no project"`
	CreatedAfter    *time.Time        `param:"created_after" doc:"Made at this time or later"`
	CreatedBefore   *time.Time        `param:"created_before" doc:"Made at this time or before"`
	Custom          bool              `param:"with_custom_attributes" doc:"With custom attributes"`
	Attributes      map[string]string `param:"custom_attributes" doc:"With these custom attributes, by key"`
	OrderBy         string            `param:"order_by" values:"id,name,username,created_at,updated_at" doc:"Column to sort by, id if not given"`
	Sort            string            `param:"sort" default:"desc" values:"asc,desc" doc:"Direction"`
}

// listUsers answers with summaries, or with the form for administrators.
func (s *Server) listUsers(ctx context.Context, as authz.Actor, p listUsersParams) (api.List[userEntity], error) {
	if err := p.CheckOffset("User"); err != nil {
		return api.List[userEntity]{}, err
	}
	filter := account.Filter{
		Search: p.Search, Username: p.Username, PublicEmail: p.PublicEmail, ExternUID: p.ExternUID, Provider: p.Provider,
		Active: p.Active, Blocked: p.Blocked, External: p.External, Humans: p.Humans, ExcludeActive: p.ExcludeActive,
		ExcludeExternal: p.ExcludeExternal, ExcludeHumans: p.ExcludeHumans, ExcludeInternal: p.ExcludeInternal,
		WithoutProjectBots: p.WithoutProjectBots, Admins: p.Admins, Auditors: p.Auditors, TwoFactor: p.TwoFactor,
		WithoutProjects: p.WithoutProjects, CreatedAfter: p.CreatedAfter, CreatedBefore: p.CreatedBefore,
		OrderBy: p.OrderBy, Ascending: p.Sort == "asc", Range: p.Range(),
		SkipLDAP: p.SkipLDAP, SAMLProvider: p.SAMLProvider, Attributes: p.Attributes,
	}
	page, err := s.Accounts.List(ctx, as, filter)
	if err != nil {
		return api.List[userEntity]{}, err
	}
	items, err := s.listForms(ctx, as, page.Items)
	if err == nil && p.Custom {
		err = s.remarkUsers(ctx, as, items)
	}
	return api.Listed(page, items), err
}

// listForms gives users as lists show them.
func (s *Server) listForms(ctx context.Context, as authz.Actor, users []*account.User) ([]userEntity, error) {
	if as.Admin {
		return s.adminForms(ctx, as, users...)
	}
	items := make([]userEntity, len(users))
	for i, u := range users {
		items[i] = userEntity{userBasic: s.basic(u)}
	}
	return items, nil
}
