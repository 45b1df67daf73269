package rest

import (
	"context"
	"net/http"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/gpgkey"
	"tenon/internal/core/limit"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("gpg_keys", (*Server).gpgKeyRoutes)

func (s *Server) gpgKeyRoutes() []*api.Route {
	return api.Scoped([]authz.Scope{authz.ScopeReadUser},
		api.Get("/user/gpg_keys", s.listOwnGPGKeys).Doc("List the GPG keys of the current user").Needs(authz.ManageOwnKey),
		api.Get("/user/gpg_keys/:key_id", s.getOwnGPGKey).Doc("Get a GPG key of the current user").Needs(authz.ManageOwnKey),
		api.Get("/users/:id/gpg_keys", s.listGPGKeys).Doc("List the GPG keys of a user").Needs(authz.ReadUserKeys).Public().Rate(limit.UserGPGKeys),
		api.Get("/users/:id/gpg_keys/:key_id", s.getGPGKey).Doc("Get a GPG key of a user").Needs(authz.ReadUserKeys).Public().Rate(limit.UserGPGKey),
		api.Post("/user/gpg_keys", s.createOwnGPGKey).Doc("Add a GPG key of the current user").Needs(authz.AddOwnKey),
		api.Delete("/user/gpg_keys/:key_id", s.deleteOwnGPGKey).Timed().Doc("Delete a GPG key of the current user").Needs(authz.ManageOwnKey),
		api.Post("/user/gpg_keys/:key_id/revoke", s.revokeOwnGPGKey).Doc("Revoke a GPG key of the current user").Needs(authz.ManageOwnKey).
			Status(http.StatusAccepted),
		api.Post("/users/:id/gpg_keys", s.createGPGKey).Doc("Add a GPG key of a user").Needs(authz.AdminUsers),
		api.Delete("/users/:id/gpg_keys/:key_id", s.deleteGPGKey).Timed().Doc("Delete a GPG key of a user").Needs(authz.AdminUsers),
		api.Post("/users/:id/gpg_keys/:key_id/revoke", s.revokeGPGKey).Doc("Revoke a GPG key of a user").Needs(authz.AdminUsers).
			Status(http.StatusAccepted),
	)
}

type gpgKeyEntity struct {
	ID        gpgkey.ID `json:"id"`
	Key       string    `json:"key"`
	CreatedAt api.Time  `json:"created_at"`
}

func gpgKeyOf(k *gpgkey.Key) gpgKeyEntity {
	return gpgKeyEntity{ID: k.ID, Key: k.PublicKey, CreatedAt: api.Time(k.CreatedAt.Time)}
}

func gpgKeys(list page.Page[gpgkey.Key], err error) (api.List[gpgKeyEntity], error) {
	if err != nil {
		return api.List[gpgKeyEntity]{}, err
	}
	return api.ListOf(list, gpgKeyOf), nil
}

func (s *Server) listOwnGPGKeys(ctx context.Context, as authz.Actor, p listOwnKeysParams) (api.List[gpgKeyEntity], error) {
	return gpgKeys(s.GPGKeys.ListOwn(ctx, as, p.Range()))
}

type ownGPGKeyPath struct {
	KeyID gpgkey.ID `param:"key_id" doc:"ID of the key"`
}

func (s *Server) getOwnGPGKey(ctx context.Context, as authz.Actor, p ownGPGKeyPath) (gpgKeyEntity, error) {
	k, err := s.GPGKeys.FindOwn(ctx, as, p.KeyID)
	if err != nil {
		return gpgKeyEntity{}, err
	}
	return gpgKeyOf(k), nil
}

type gpgKeyParams struct {
	Key string `param:"key,required" doc:"ASCII-armored public key"`
}

func (s *Server) createOwnGPGKey(ctx context.Context, as authz.Actor, p gpgKeyParams) (gpgKeyEntity, error) {
	k, err := s.GPGKeys.Create(ctx, as, p.Key)
	if err != nil {
		return gpgKeyEntity{}, err
	}
	return gpgKeyOf(k), nil
}

func (s *Server) deleteOwnGPGKey(ctx context.Context, as authz.Actor, p ownGPGKeyPath) (api.None, error) {
	return api.None{}, s.GPGKeys.Delete(ctx, as, p.KeyID)
}

// revokeOwnGPGKey does what deleting does, because signatures are verified whenever they
// are asked for. The body is the status, as the reference has it.
func (s *Server) revokeOwnGPGKey(ctx context.Context, as authz.Actor, p ownGPGKeyPath) (int, error) {
	return http.StatusAccepted, s.GPGKeys.Delete(ctx, as, p.KeyID)
}

func (s *Server) listGPGKeys(ctx context.Context, as authz.Actor, p listKeysParams) (api.List[gpgKeyEntity], error) {
	return gpgKeys(s.GPGKeys.List(ctx, as, p.User, p.Range()))
}

type gpgKeyPath struct {
	User  string    `param:"id" doc:"ID or username of the user"`
	KeyID gpgkey.ID `param:"key_id" doc:"ID of the key"`
}

func (s *Server) getGPGKey(ctx context.Context, as authz.Actor, p gpgKeyPath) (gpgKeyEntity, error) {
	k, err := s.GPGKeys.Find(ctx, as, p.User, p.KeyID)
	if err != nil {
		return gpgKeyEntity{}, err
	}
	return gpgKeyOf(k), nil
}

type createGPGKeyParams struct {
	userPath
	gpgKeyParams
}

func (s *Server) createGPGKey(ctx context.Context, as authz.Actor, p createGPGKeyParams) (gpgKeyEntity, error) {
	user, err := p.id()
	if err != nil {
		return gpgKeyEntity{}, err
	}
	k, err := s.GPGKeys.CreateFor(ctx, as, user, p.Key)
	if err != nil {
		return gpgKeyEntity{}, err
	}
	return gpgKeyOf(k), nil
}

type deleteGPGKeyParams struct {
	userPath
	ownGPGKeyPath
}

func (s *Server) deleteGPGKey(ctx context.Context, as authz.Actor, p deleteGPGKeyParams) (api.None, error) {
	user, err := p.id()
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.GPGKeys.DeleteFor(ctx, as, user, p.KeyID)
}

func (s *Server) revokeGPGKey(ctx context.Context, as authz.Actor, p deleteGPGKeyParams) (int, error) {
	_, err := s.deleteGPGKey(ctx, as, p)
	return http.StatusAccepted, err
}
