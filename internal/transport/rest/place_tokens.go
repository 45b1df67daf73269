package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/accesstoken"
	"tenon/internal/core/authz"
	"tenon/internal/core/token"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("access_tokens", (*Server).placeTokenRoutes)

func (s *Server) placeTokenRoutes() []*api.Route {
	return api.Scoped(nil, s.onPlaces("access_tokens", func(m mount) []*api.Route {
		read, admin := m.ability(authz.ReadProjectTokens, authz.ReadGroupTokens), m.ability(authz.AdminProjectTokens, authz.AdminGroupTokens)
		return []*api.Route{
			api.Get(m.path, m.listTokens).Doc("List the access tokens of a " + m.noun).Needs(read),
			api.Post(m.path, m.createToken).Doc("Create an access token of a " + m.noun).Needs(admin),
			api.Get(m.path+"/:token_id", m.getToken).Doc("Get an access token of a " + m.noun).Needs(read),
			api.Delete(m.path+"/:token_id", m.revokeToken).Timed().Doc("Revoke an access token of a " + m.noun).Needs(admin),
			api.Post(m.path+"/self/rotate", m.rotateOwnToken).Doc("Rotate the token of the request").
				Needs(authz.ManageOwnToken).Scope(authz.ScopeSelfRotate).Status(http.StatusOK),
			api.Post(m.path+"/:token_id/rotate", m.rotateToken).Doc("Rotate an access token of a " + m.noun).
				Needs(admin).Status(http.StatusOK),
		}
	})...)
}

// placeTokenEntity is the access token of a project or group.
type placeTokenEntity struct {
	tokenEntity
	Level        authz.Level `json:"access_level"`
	ResourceType string      `json:"resource_type"`
	ResourceID   int64       `json:"resource_id"`
}

func (m mount) token(t *accesstoken.Token, resource int64, key string) placeTokenEntity {
	e := placeTokenEntity{m.s.token(&t.Token, key), t.Level, "project", resource}
	if m.group {
		e.ResourceType = "group"
	}
	return e
}

type listPlaceTokensParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	tokenFilterParams
}

func (m mount) listTokens(ctx context.Context, as authz.Actor, p listPlaceTokensParams) (api.List[placeTokenEntity], error) {
	none := api.List[placeTokenEntity]{}
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	list, err := m.s.BotTokens.List(ctx, as, at, p.filter())
	if err != nil {
		return none, err
	}
	return api.ListOf(list, func(t *accesstoken.Token) placeTokenEntity { return m.token(t, at.ID, "") }), nil
}

type createPlaceTokenParams struct {
	ID          string      `param:"id" doc:"ID or URL-encoded path"`
	Name        string      `param:"name,required" doc:"Name of the token"`
	Description *string     `param:"description" doc:"Description"`
	Scopes      api.Strings `param:"scopes,required" values:"api,read_api,create_runner,manage_runner,read_repository,write_repository,read_registry,write_registry,k8s_proxy,self_rotate" doc:"Scopes of the token"`
	Level       int         `param:"access_level" default:"40" values:"10,15,20,25,30,40,50" doc:"Access level of the bot user"`
	ExpiresAt   api.Date    `param:"expires_at" doc:"Expiry date, YYYY-MM-DD"`
}

func (m mount) createToken(ctx context.Context, as authz.Actor, p createPlaceTokenParams) (placeTokenEntity, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return placeTokenEntity{}, err
	}
	in := accesstoken.Input{Level: authz.Level(p.Level)}
	in.Name, in.Description, in.ExpiresOn = p.Name, p.Description, dayOf(p.ExpiresAt)
	for _, name := range p.Scopes {
		in.Scopes = append(in.Scopes, authz.Scope(name))
	}
	t, key, err := m.s.BotTokens.Create(ctx, as, at, in)
	if err != nil {
		return placeTokenEntity{}, err
	}
	return m.token(t, at.ID, key), nil
}

// placeTokenPath names a token by place and number.
type placeTokenPath struct {
	ID      string   `param:"id" doc:"ID or URL-encoded path"`
	TokenID token.ID `param:"token_id" doc:"ID of the token"`
}

func (m mount) getToken(ctx context.Context, as authz.Actor, p placeTokenPath) (placeTokenEntity, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return placeTokenEntity{}, err
	}
	t, err := m.s.BotTokens.Find(ctx, as, at, p.TokenID)
	if err != nil {
		return placeTokenEntity{}, err
	}
	return m.token(t, at.ID, ""), nil
}

func (m mount) revokeToken(ctx context.Context, as authz.Actor, p placeTokenPath) (api.None, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, m.s.BotTokens.Revoke(ctx, as, at, p.TokenID)
}

type rotatePlaceTokenParams struct {
	placeTokenPath
	ExpiresAt api.Date `param:"expires_at" doc:"Expiry date of the new token, YYYY-MM-DD; defaults to one week from now"`
}

func (m mount) rotateToken(ctx context.Context, as authz.Actor, p rotatePlaceTokenParams) (placeTokenEntity, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return placeTokenEntity{}, err
	}
	t, key, err := m.s.BotTokens.Rotate(ctx, as, at, p.TokenID, dayOf(p.ExpiresAt))
	if err != nil {
		return placeTokenEntity{}, err
	}
	return m.token(t, at.ID, key), nil
}

type rotateOwnPlaceTokenParams struct {
	ID        string   `param:"id" doc:"ID or URL-encoded path"`
	ExpiresAt api.Date `param:"expires_at" doc:"Expiry date of the new token, YYYY-MM-DD; defaults to one week from now"`
}

func (m mount) rotateOwnToken(ctx context.Context, as authz.Actor, p rotateOwnPlaceTokenParams) (placeTokenEntity, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return placeTokenEntity{}, err
	}
	t, key, err := m.s.BotTokens.RotateOwn(ctx, as, at, dayOf(p.ExpiresAt))
	if err != nil {
		return placeTokenEntity{}, err
	}
	return m.token(t, at.ID, key), nil
}
