package rest

import (
	"context"
	"net/http"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/token"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("personal_access_tokens", (*Server).tokenRoutes)

func (s *Server) tokenRoutes() []*api.Route {
	const path = "/personal_access_tokens"
	return api.Scoped(nil,
		api.Post("/users/:user_id"+path, s.createToken).Scope(authz.ScopeReadUser).Doc("Create a personal access token of a user").Needs(authz.AdminUsers),
		api.Post("/user"+path, s.createOwnToken).Scope(authz.ScopeReadUser).Doc("Create a personal access token of the current user").Needs(authz.ManageOwnToken),
		api.Get(path, s.listTokens).Doc("List personal access tokens").Needs(authz.ManageOwnToken),
		api.Get(path+"/self/associations", s.tokenAssociations).Doc("List the associations of the personal access token of the request").
			Needs(authz.ManageOwnToken, authz.ListGroups, authz.ListProjects),
		api.Get(path+"/self", s.ownToken).Doc("Get the personal access token of the request").Needs(authz.ManageOwnToken).AnyScope(),
		api.Get(path+"/:id", s.getToken).Doc("Get a personal access token").Needs(authz.ManageOwnToken),
		api.Delete(path+"/self", s.revokeOwnToken).Timed().Doc("Revoke the personal access token of the request").Needs(authz.ManageOwnToken).AnyScope(),
		api.Delete(path+"/:id", s.revokeToken).Timed().Doc("Revoke a personal access token").Needs(authz.ManageOwnToken),
		api.Post(path+"/self/rotate", s.rotateOwnToken).Doc("Rotate the token of the request").
			Needs(authz.ManageOwnToken).Scope(authz.ScopeSelfRotate).Status(http.StatusOK),
		api.Post(path+"/:id/rotate", s.rotateToken).Doc("Rotate a personal access token").
			Needs(authz.ManageOwnToken).Status(http.StatusOK),
	)
}

type tokenEntity struct {
	ID          token.ID      `json:"id"`
	Name        string        `json:"name"`
	Revoked     bool          `json:"revoked"`
	CreatedAt   api.Time      `json:"created_at"`
	Description *string       `json:"description"`
	Scopes      []authz.Scope `json:"scopes"`
	UserID      authz.UserID  `json:"user_id"`
	LastUsedAt  *api.Time     `json:"last_used_at"`
	Active      bool          `json:"active"`
	ExpiresAt   api.Date      `json:"expires_at"`
	Token       string        `json:"token,omitempty"` // the secret, in the answer that made it only
}

func (s *Server) token(t *token.Token, key string) tokenEntity {
	e := tokenEntity{
		ID: t.ID, Name: t.Name, Revoked: t.Revoked, CreatedAt: api.Time(t.CreatedAt.Time), Description: t.Description,
		Scopes: t.Scopes(), UserID: t.UserID, Active: t.Active(s.Now()), Token: key,
	}
	if t.LastUsedAt != nil {
		e.LastUsedAt = api.TimePtr(&t.LastUsedAt.Time)
	}
	if t.ExpiresOn != nil {
		e.ExpiresAt = api.Date(*t.ExpiresOn)
	}
	return e
}

type createTokenParams struct {
	UserID      string      `param:"user_id" doc:"ID of the user"`
	Name        string      `param:"name,required" doc:"Name of the token"`
	Description *string     `param:"description" doc:"Description"`
	Scopes      api.Strings `param:"scopes,required" values:"api,read_api,read_user,sudo,admin_mode,create_runner,manage_runner,read_repository,write_repository,read_registry,write_registry,k8s_proxy,self_rotate,read_service_ping" doc:"Scopes of the token"`
	ExpiresAt   api.Date    `param:"expires_at" doc:"Expiry date, YYYY-MM-DD; defaults to one year from now"`
}

func (s *Server) createToken(ctx context.Context, as authz.Actor, p createTokenParams) (tokenEntity, error) {
	user, err := userNumber(p.UserID)
	if err != nil {
		return tokenEntity{}, err
	}
	scopes := make(authz.Scopes, len(p.Scopes))
	for i, name := range p.Scopes {
		scopes[i] = authz.Scope(name)
	}
	t, key, err := s.Tokens.Create(ctx, as, user, token.Input{
		Name: p.Name, Description: p.Description, Scopes: scopes, ExpiresOn: dayOf(p.ExpiresAt),
	})
	if err != nil {
		return tokenEntity{}, err
	}
	return s.token(t, key), nil
}

type createOwnTokenParams struct {
	Name        string      `param:"name,required" doc:"Name of the token"`
	Description *string     `param:"description" doc:"Description"`
	Scopes      api.Strings `param:"scopes,required" values:"k8s_proxy,self_rotate" doc:"Scopes of the token"`
	ExpiresAt   api.Date    `param:"expires_at" doc:"Expiry date, YYYY-MM-DD; defaults to one year from now"`
}

func (s *Server) createOwnToken(ctx context.Context, as authz.Actor, p createOwnTokenParams) (tokenEntity, error) {
	in := token.Input{Name: p.Name, Description: p.Description, ExpiresOn: dayOf(p.ExpiresAt)}
	for _, name := range p.Scopes {
		in.Scopes = append(in.Scopes, authz.Scope(name))
	}
	t, key, err := s.Tokens.CreateOwn(ctx, as, in)
	if err != nil {
		return tokenEntity{}, err
	}
	return s.token(t, key), nil
}

func dayOf(d api.Date) *string {
	if d == "" {
		return nil
	}
	day := string(d)
	return &day
}

// tokenFilterParams select from a list of tokens of any kind.
type tokenFilterParams struct {
	api.Page
	Revoked        *bool      `param:"revoked" doc:"Filter by revoked state"`
	State          string     `param:"state" values:"active,inactive" doc:"active or inactive"`
	CreatedBefore  *time.Time `param:"created_before" doc:"Return items created on or before this time"`
	CreatedAfter   *time.Time `param:"created_after" doc:"Return items created on or after this time"`
	LastUsedBefore *time.Time `param:"last_used_before" doc:"Return tokens last used before this time"`
	LastUsedAfter  *time.Time `param:"last_used_after" doc:"Return tokens last used after this time"`
	ExpiresBefore  api.Date   `param:"expires_before" doc:"Return tokens that expire before this date, YYYY-MM-DD"`
	ExpiresAfter   api.Date   `param:"expires_after" doc:"Return tokens that expire after this date, YYYY-MM-DD"`
	Search         string     `param:"search" doc:"Search in names"`
	Sort           string     `param:"sort" doc:"Sort order: created, expires, last_used, updated, id or name, each with _asc or _desc"`
}

func (p *tokenFilterParams) filter() token.Filter {
	return token.Filter{
		Active: p.State == "active", Inactive: p.State == "inactive", Revoked: p.Revoked,
		CreatedAfter: p.CreatedAfter, CreatedBefore: p.CreatedBefore, LastUsedAfter: p.LastUsedAfter,
		LastUsedBefore: p.LastUsedBefore, ExpiresAfter: string(p.ExpiresAfter), ExpiresBefore: string(p.ExpiresBefore),
		Search: p.Search, Sort: p.Sort, Range: p.Range(),
	}
}

type listTokensParams struct {
	tokenFilterParams
	UserID *authz.UserID `param:"user_id" doc:"ID of the user; other users' tokens are for administrators"`
}

func (s *Server) listTokens(ctx context.Context, as authz.Actor, p listTokensParams) (api.List[tokenEntity], error) {
	filter := p.filter()
	filter.UserID = p.UserID
	list, err := s.Tokens.List(ctx, as, filter)
	if err != nil {
		return api.List[tokenEntity]{}, err
	}
	return api.ListOf(list, func(t **token.Token) tokenEntity { return s.token(*t, "") }), nil
}

type tokenPath struct {
	ID token.ID `param:"id" doc:"ID of the token"`
}

func (s *Server) getToken(ctx context.Context, as authz.Actor, p tokenPath) (tokenEntity, error) {
	t, err := s.Tokens.Find(ctx, as, p.ID)
	if err != nil {
		return tokenEntity{}, err
	}
	return s.token(t, ""), nil
}

func (s *Server) ownToken(ctx context.Context, as authz.Actor, _ struct{}) (tokenEntity, error) {
	t, err := s.Tokens.Own(ctx, as)
	if err != nil {
		return tokenEntity{}, err
	}
	return s.token(t, ""), nil
}

func (s *Server) revokeToken(ctx context.Context, as authz.Actor, p tokenPath) (api.None, error) {
	return api.None{}, s.Tokens.Revoke(ctx, as, p.ID)
}

func (s *Server) revokeOwnToken(ctx context.Context, as authz.Actor, _ struct{}) (api.None, error) {
	return api.None{}, s.Tokens.RevokeOwn(ctx, as)
}

type rotateTokenParams struct {
	tokenPath
	ExpiresAt api.Date `param:"expires_at" doc:"Expiry date of the new token, YYYY-MM-DD; defaults to one week from now"`
}

func (s *Server) rotateToken(ctx context.Context, as authz.Actor, p rotateTokenParams) (tokenEntity, error) {
	t, key, err := s.Tokens.Rotate(ctx, as, p.ID, dayOf(p.ExpiresAt))
	if err != nil {
		return tokenEntity{}, err
	}
	return s.token(t, key), nil
}

type rotateOwnTokenParams struct {
	ExpiresAt api.Date `param:"expires_at" doc:"Expiry date of the new token, YYYY-MM-DD; defaults to one week from now"`
}

func (s *Server) rotateOwnToken(ctx context.Context, as authz.Actor, p rotateOwnTokenParams) (tokenEntity, error) {
	t, key, err := s.Tokens.RotateOwn(ctx, as, dayOf(p.ExpiresAt))
	if err != nil {
		return tokenEntity{}, err
	}
	return s.token(t, key), nil
}
