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
	Search             *string  `param:"search" doc:"Search in names and usernames, or for an exact email address"`
	Username           *string  `param:"username" doc:"Return the user with this username, case-insensitive"`
	PublicEmail        *string  `param:"public_email" doc:"Return the user with exactly this public email"`
	ExternUID          string   `param:"extern_uid" doc:"External UID at the provider (administrators only)"`
	Provider           string   `param:"provider" doc:"Name of the external provider"`
	_                  struct{} `allornone:"extern_uid,provider"`
	Active             bool     `param:"active" doc:"Return only active users"`
	Blocked            bool     `param:"blocked" doc:"Return only blocked users"`
	External           bool     `param:"external" doc:"Return only external users"`
	Humans             bool     `param:"humans" doc:"Return only human users"`
	ExcludeActive      bool     `param:"exclude_active" doc:"Exclude active users"`
	ExcludeExternal    bool     `param:"exclude_external" doc:"Exclude external users"`
	ExcludeHumans      bool     `param:"exclude_humans" doc:"Exclude human users"`
	ExcludeInternal    bool     `param:"exclude_internal" doc:"Exclude internal users"`
	WithoutProjectBots bool     `param:"without_project_bots" doc:"Exclude bot users of projects and groups"`
	SkipLDAP           bool     `param:"skip_ldap" doc:"Exclude LDAP users"`

	Admins          bool              `param:"admins" doc:"Return only administrators (administrators only)"`
	Auditors        bool              `param:"auditors" doc:"Return only auditors"`
	TwoFactor       string            `param:"two_factor" values:"enabled,disabled" doc:"Filter by two-factor authentication status"`
	SAMLProvider    int64             `param:"saml_provider_id" doc:"Return users created by this SAML provider ID"`
	WithoutProjects bool              `param:"without_projects" doc:"Return only users without projects"`
	CreatedAfter    *time.Time        `param:"created_after" doc:"Return items created on or after this time"`
	CreatedBefore   *time.Time        `param:"created_before" doc:"Return items created on or before this time"`
	Custom          bool              `param:"with_custom_attributes" doc:"Include custom attributes"`
	Attributes      map[string]string `param:"custom_attributes" doc:"Return those with these custom attributes"`
	OrderBy         string            `param:"order_by" values:"id,name,username,created_at,updated_at" doc:"Column to order by; defaults to id"`
	Sort            string            `param:"sort" default:"desc" values:"asc,desc" doc:"asc or desc"`
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
		OrderBy: p.OrderBy, Asc: p.Sort == "asc", Range: p.Range(),
		SkipLDAP: p.SkipLDAP, SAMLProvider: p.SAMLProvider, Attributes: p.Attributes,
	}
	page, err := s.Accounts.List(ctx, as, filter)
	if err != nil {
		return api.List[userEntity]{}, err
	}
	items, err := s.shownUsers(ctx, as, page.Items, account.ViewOptions{CustomAttributes: p.Custom})
	return api.Listed(page, items), err
}
