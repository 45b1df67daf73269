package rest

import (
	"context"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
	"tenon/internal/core/sshkey"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("keys", (*Server).keyRoutes)

func (s *Server) keyRoutes() []*api.Route {
	return api.Scoped([]authz.Scope{authz.ScopeReadUser},
		api.Get("/user/keys", s.listOwnKeys).Doc("List the SSH keys of the current user").Needs(authz.ManageOwnKey),
		api.Get("/user/keys/:key_id", s.getOwnKey).Doc("Get an SSH key of the current user").Needs(authz.ManageOwnKey),
		api.Get("/users/:id/keys", s.listKeys).Doc("List the SSH keys of a user").Needs(authz.ReadUserKeys).Public().Rate(limit.UserSSHKeys),
		api.Get("/users/:id/keys/:key_id", s.getKey).Doc("Get an SSH key of a user").Needs(authz.ReadUserKeys).Public().Rate(limit.UserSSHKey),
		api.Post("/user/keys", s.createOwnKey).Doc("Add an SSH key of the current user").Needs(authz.AddOwnKey),
		api.Delete("/user/keys/:key_id", s.deleteOwnKey).Timed().Doc("Delete an SSH key of the current user").Needs(authz.ManageOwnKey),
		api.Post("/users/:id/keys", s.createKey).Doc("Add an SSH key of a user").Needs(authz.AdminUsers),
		api.Delete("/users/:id/keys/:key_id", s.deleteKey).Timed().Doc("Delete an SSH key of a user").Needs(authz.AdminUsers),
		api.Get("/keys/:id", s.lookUpKey).Doc("Get an SSH key and its user by ID").Needs(authz.LookUpKey, authz.ReadUser).Scope(),
		api.Get("/keys", s.lookUpFingerprint).Doc("Get an SSH key and its user by fingerprint").Needs(authz.LookUpKey, authz.ReadUser).Scope(),
	)
}

// keyEntity is a key; look-ups add its user, and what only deploy keys have.
type keyEntity struct {
	ID         sshkey.ID    `json:"id"`
	Title      string       `json:"title"`
	CreatedAt  api.Time     `json:"created_at"`
	ExpiresAt  *api.Time    `json:"expires_at"`
	LastUsedAt *api.Time    `json:"last_used_at"`
	Key        string       `json:"key"`
	UsageType  sshkey.Usage `json:"usage_type"`
	User       *userEntity  `json:"user,omitempty"`
	*deployKeyPart
}

// deployKeyPart is what a look-up adds to a deploy key.
type deployKeyPart struct {
	Fingerprint string                `json:"fingerprint"`
	SHA256      string                `json:"fingerprint_sha256"`
	Grants      []deployKeyGrantEntry `json:"deploy_keys_projects"`
}

// deployKeyGrantEntry lets a deploy key into a project.
type deployKeyGrantEntry struct {
	ID        int64      `json:"id"`
	KeyID     sshkey.ID  `json:"deploy_key_id"`
	ProjectID project.ID `json:"project_id"`
	CreatedAt api.Time   `json:"created_at"`
	UpdatedAt api.Time   `json:"updated_at"`
	CanPush   bool       `json:"can_push"`
}

func (s *Server) key(k *sshkey.Key) keyEntity {
	e := keyEntity{
		ID: k.ID, Title: k.Title, CreatedAt: api.Time(k.CreatedAt.Time), Key: k.Line(s.URLs.Host()), UsageType: k.Usage,
	}
	if k.ExpiresAt != nil {
		e.ExpiresAt = api.TimePtr(&k.ExpiresAt.Time)
	}
	if k.LastUsedAt != nil {
		e.LastUsedAt = api.TimePtr(&k.LastUsedAt.Time)
	}
	return e
}

func (s *Server) keys(list page.Page[*sshkey.Key], err error) (api.List[keyEntity], error) {
	if err != nil {
		return api.List[keyEntity]{}, err
	}
	return api.ListOf(list, func(k **sshkey.Key) keyEntity { return s.key(*k) }), nil
}

type listOwnKeysParams struct{ api.Page }

func (s *Server) listOwnKeys(ctx context.Context, as authz.Actor, p listOwnKeysParams) (api.List[keyEntity], error) {
	return s.keys(s.Keys.ListOwn(ctx, as, p.Range()))
}

type ownKeyPath struct {
	KeyID sshkey.ID `param:"key_id" doc:"ID of the key"`
}

func (s *Server) getOwnKey(ctx context.Context, as authz.Actor, p ownKeyPath) (keyEntity, error) {
	k, err := s.Keys.FindOwn(ctx, as, p.KeyID)
	if err != nil {
		return keyEntity{}, err
	}
	return s.key(k), nil
}

type keyParams struct {
	Title     string     `param:"title,required" doc:"Title, at most 255 characters"`
	Key       string     `param:"key,required" doc:"Public SSH key"`
	ExpiresAt *time.Time `param:"expires_at" doc:"Expiry time of the key; unset never expires"`
	UsageType string     `param:"usage_type" default:"auth_and_signing" values:"auth,signing,auth_and_signing" doc:"Usage type of the key"`
}

func (p keyParams) input() sshkey.Input {
	return sshkey.Input{Title: p.Title, Key: p.Key, ExpiresAt: p.ExpiresAt, Usage: sshkey.Usage(p.UsageType)}
}

func (s *Server) createOwnKey(ctx context.Context, as authz.Actor, p keyParams) (keyEntity, error) {
	k, err := s.Keys.Create(ctx, as, p.input())
	if err != nil {
		return keyEntity{}, err
	}
	return s.key(k), nil
}

func (s *Server) deleteOwnKey(ctx context.Context, as authz.Actor, p ownKeyPath) (api.None, error) {
	return api.None{}, s.Keys.Delete(ctx, as, p.KeyID)
}

type listKeysParams struct {
	User string `param:"id" doc:"ID or username of the user"`
	api.Page
}

func (s *Server) listKeys(ctx context.Context, as authz.Actor, p listKeysParams) (api.List[keyEntity], error) {
	return s.keys(s.Keys.List(ctx, as, p.User, p.Range()))
}

type keyPath struct {
	User  string    `param:"id" doc:"ID or username of the user"`
	KeyID sshkey.ID `param:"key_id" doc:"ID of the key"`
}

func (s *Server) getKey(ctx context.Context, as authz.Actor, p keyPath) (keyEntity, error) {
	k, err := s.Keys.Find(ctx, as, p.User, p.KeyID)
	if err != nil {
		return keyEntity{}, err
	}
	return s.key(k), nil
}

type createKeyParams struct {
	userPath
	keyParams
}

func (s *Server) createKey(ctx context.Context, as authz.Actor, p createKeyParams) (keyEntity, error) {
	user, err := p.id()
	if err != nil {
		return keyEntity{}, err
	}
	k, err := s.Keys.CreateFor(ctx, as, user, p.input())
	if err != nil {
		return keyEntity{}, err
	}
	return s.key(k), nil
}

type deleteKeyParams struct {
	userPath
	ownKeyPath
}

func (s *Server) deleteKey(ctx context.Context, as authz.Actor, p deleteKeyParams) (api.None, error) {
	user, err := p.id()
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Keys.DeleteFor(ctx, as, user, p.KeyID)
}

type lookUpKeyParams struct {
	ID sshkey.ID `param:"id" doc:"ID of the key"`
}

func (s *Server) lookUpKey(ctx context.Context, as authz.Actor, p lookUpKeyParams) (keyEntity, error) {
	k, err := s.Keys.ByID(ctx, as, p.ID)
	if err != nil {
		return keyEntity{}, err
	}
	return s.keyWithUser(ctx, as, k)
}

type fingerprintParams struct {
	Fingerprint string `param:"fingerprint,required" doc:"Fingerprint: URL-encoded SHA256:..., or MD5 as sixteen pairs of digits joined by colons"`
}

func (s *Server) lookUpFingerprint(ctx context.Context, as authz.Actor, p fingerprintParams) (keyEntity, error) {
	k, err := s.Keys.ByFingerprint(ctx, as, p.Fingerprint)
	if err != nil {
		return keyEntity{}, err
	}
	return s.keyWithUser(ctx, as, k)
}

// keyWithUser adds the user as administrators see it, the maker of a deploy key, and
// where a deploy key is enabled.
func (s *Server) keyWithUser(ctx context.Context, as authz.Actor, k *sshkey.Key) (keyEntity, error) {
	e, owner := s.key(k), k.UserID
	if k.Kind == sshkey.DeployKey {
		grants, err := s.DeployKeys.Grants(ctx, k.ID)
		if err != nil {
			return keyEntity{}, err
		}
		e.deployKeyPart = &deployKeyPart{k.MD5, k.SHA256, []deployKeyGrantEntry{}}
		for _, g := range grants[k.ID] {
			e.Grants = append(e.Grants, deployKeyGrantEntry{g.ID, g.KeyID, g.ProjectID, api.Time(g.CreatedAt.Time), api.Time(g.UpdatedAt.Time), g.CanPush})
		}
		owner = k.MakerID
	}
	if owner == nil {
		return e, nil
	}
	u, err := s.Accounts.Find(ctx, as, *owner)
	if err != nil {
		return keyEntity{}, err
	}
	user, err := s.shownUser(ctx, as, u, account.ViewOptions{})
	e.User = &user
	return e, err
}
