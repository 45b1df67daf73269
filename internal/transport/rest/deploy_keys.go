package rest

import (
	"context"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/deploykey"
	"tenon/internal/core/project"
	"tenon/internal/core/sshkey"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("deploy_keys", (*Server).deployKeyRoutes)

func (s *Server) deployKeyRoutes() []*api.Route {
	const keys = "/projects/:id/deploy_keys"
	return api.Scoped(nil,
		api.Get("/deploy_keys", s.allDeployKeys).Doc("List all deploy keys").Needs(authz.ListDeployKeys),
		api.Post("/deploy_keys", s.createPublicDeployKey).Doc("Create a public deploy key").Needs(authz.CreateDeployKey),
		api.Get(keys, s.deployKeys).Doc("List the deploy keys of a project").Needs(authz.ReadDeployKeys),
		api.Post(keys, s.createDeployKey).Doc("Create a deploy key of a project").Needs(authz.AdminDeployKeys),
		api.Get(keys+"/:key_id", s.deployKey).Doc("Get a deploy key of a project").Needs(authz.ReadDeployKeys),
		api.Put(keys+"/:key_id", s.updateDeployKey).Timed().Doc("Update a deploy key of a project").Needs(authz.AdminDeployKeys),
		api.Delete(keys+"/:key_id", s.deleteDeployKey).Timed().Doc("Delete a deploy key of a project").Needs(authz.AdminDeployKeys),
		api.Post(keys+"/:key_id/enable", s.enableDeployKey).Doc("Enable a deploy key in a project").Needs(authz.AdminDeployKeys),
		api.Get("/users/:user_id/project_deploy_keys", s.sharedDeployKeys).Scope(authz.ScopeReadUser).
			Doc("List the deploy keys of projects that a user and the caller maintain").Needs(authz.ReadUser),
	)
}

// deployKeyEntity is a deploy key wherever it is shown.
type deployKeyEntity struct {
	ID          sshkey.ID    `json:"id"`
	Title       string       `json:"title"`
	CreatedAt   api.Time     `json:"created_at"`
	ExpiresAt   *api.Time    `json:"expires_at"`
	LastUsedAt  *api.Time    `json:"last_used_at"`
	Key         string       `json:"key"`
	UsageType   sshkey.Usage `json:"usage_type"`
	Fingerprint string       `json:"fingerprint"`
	SHA256      string       `json:"fingerprint_sha256"`
}

// projectDeployKeyEntity is a deploy key as one project has it.
type projectDeployKeyEntity struct {
	deployKeyEntity
	CanPush bool `json:"can_push"`
}

// adminDeployKeyEntity is a deploy key with all projects that it is enabled in.
type adminDeployKeyEntity struct {
	deployKeyEntity
	Write    []projectIdentity `json:"projects_with_write_access"`
	ReadOnly []projectIdentity `json:"projects_with_readonly_access"`
}

// projectIdentity names a project.
type projectIdentity struct {
	ID            project.ID `json:"id"`
	Description   *string    `json:"description"`
	Name          string     `json:"name"`
	NameWithSpace string     `json:"name_with_namespace"`
	Path          string     `json:"path"`
	PathWithSpace string     `json:"path_with_namespace"`
	CreatedAt     api.Time   `json:"created_at"`
}

func identityOf(p *project.Project) projectIdentity {
	return projectIdentity{
		ID: p.ID, Description: p.Description, Name: p.Name, NameWithSpace: p.FullName, Path: p.Path, PathWithSpace: p.FullPath,
		CreatedAt: api.Time(p.CreatedAt.Time),
	}
}

func (s *Server) deployKeyOf(k *sshkey.Key) deployKeyEntity {
	e := s.key(k)
	return deployKeyEntity{
		ID: e.ID, Title: e.Title, CreatedAt: e.CreatedAt, ExpiresAt: e.ExpiresAt, LastUsedAt: e.LastUsedAt, Key: e.Key,
		UsageType: e.UsageType, Fingerprint: k.MD5, SHA256: k.SHA256,
	}
}

func (s *Server) projectDeployKey(k *deploykey.Key, err error) (projectDeployKeyEntity, error) {
	if err != nil {
		return projectDeployKeyEntity{}, err
	}
	return projectDeployKeyEntity{s.deployKeyOf(k.Key), k.CanPush}, nil
}

func (s *Server) projectDeployKeys(list page.Page[deploykey.Key], err error) (api.List[projectDeployKeyEntity], error) {
	if err != nil {
		return api.List[projectDeployKeyEntity]{}, err
	}
	return api.ListOf(list, func(k *deploykey.Key) projectDeployKeyEntity {
		return projectDeployKeyEntity{s.deployKeyOf(k.Key), k.CanPush}
	}), nil
}

type allDeployKeysParams struct {
	Public bool `param:"public" default:"false" doc:"Filter by public deploy keys"`
	api.Page
}

func (s *Server) allDeployKeys(ctx context.Context, as authz.Actor, in allDeployKeysParams) (api.List[adminDeployKeyEntity], error) {
	none := api.List[adminDeployKeyEntity]{}
	var public *bool
	if in.Public {
		public = &in.Public
	}
	list, err := s.DeployKeys.ListAll(ctx, as, public, in.Range())
	if err != nil {
		return none, err
	}
	items, err := s.adminDeployKeys(ctx, as, list.Items...)
	return api.Listed(list, items), err
}

// adminDeployKeys adds the projects of each key.
func (s *Server) adminDeployKeys(ctx context.Context, as authz.Actor, keys ...*sshkey.Key) ([]adminDeployKeyEntity, error) {
	ids := make([]sshkey.ID, len(keys))
	for i, k := range keys {
		ids[i] = k.ID
	}
	grants, err := s.DeployKeys.Grants(ctx, ids...)
	if err != nil {
		return nil, err
	}
	var used []project.ID
	for _, list := range grants {
		for _, g := range list {
			used = append(used, g.ProjectID)
		}
	}
	projects, err := s.Projects.ByIDs(ctx, as, used)
	if err != nil {
		return nil, err
	}
	out := make([]adminDeployKeyEntity, len(keys))
	for i, k := range keys {
		e := adminDeployKeyEntity{s.deployKeyOf(k), []projectIdentity{}, []projectIdentity{}}
		for _, g := range grants[k.ID] {
			switch p := projects[g.ProjectID]; {
			case p == nil: // being deleted
			case g.CanPush:
				e.Write = append(e.Write, identityOf(p))
			default:
				e.ReadOnly = append(e.ReadOnly, identityOf(p))
			}
		}
		out[i] = e
	}
	return out, nil
}

type deployKeyText struct {
	Title     string     `param:"title,required" doc:"Title, at most 255 characters"`
	Key       string     `param:"key,required" doc:"Public SSH key"`
	ExpiresAt *time.Time `param:"expires_at" doc:"Expiry time of the key; unset never expires"`
}

func (p deployKeyText) input() sshkey.Input {
	return sshkey.Input{Title: p.Title, Key: p.Key, ExpiresAt: p.ExpiresAt}
}

func (s *Server) createPublicDeployKey(ctx context.Context, as authz.Actor, in deployKeyText) (adminDeployKeyEntity, error) {
	k, err := s.DeployKeys.CreatePublic(ctx, as, in.input())
	if err != nil {
		return adminDeployKeyEntity{}, err
	}
	list, err := s.adminDeployKeys(ctx, as, k)
	if err != nil {
		return adminDeployKeyEntity{}, err
	}
	return list[0], nil
}

type deployKeysParams struct {
	projectPath
	api.Page
}

func (s *Server) deployKeys(ctx context.Context, as authz.Actor, in deployKeysParams) (api.List[projectDeployKeyEntity], error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[projectDeployKeyEntity]{}, err
	}
	return s.projectDeployKeys(s.DeployKeys.List(ctx, as, p, in.Range()))
}

type createDeployKeyParams struct {
	projectPath
	deployKeyText
	CanPush bool `param:"can_push" doc:"The deploy key can push"`
}

func (s *Server) createDeployKey(ctx context.Context, as authz.Actor, in createDeployKeyParams) (projectDeployKeyEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return projectDeployKeyEntity{}, err
	}
	return s.projectDeployKey(s.DeployKeys.Create(ctx, as, p, deploykey.Input{Input: in.input(), CanPush: in.CanPush}))
}

type deployKeyPath struct {
	projectPath
	KeyID sshkey.ID `param:"key_id" doc:"ID of the key"`
}

func (s *Server) deployKey(ctx context.Context, as authz.Actor, in deployKeyPath) (projectDeployKeyEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return projectDeployKeyEntity{}, err
	}
	return s.projectDeployKey(s.DeployKeys.Find(ctx, as, p, in.KeyID))
}

type updateDeployKeyParams struct {
	deployKeyPath
	Title   *string  `param:"title" doc:"Title of the deploy key in all projects"`
	CanPush *bool    `param:"can_push" doc:"The deploy key can push to the repository"`
	_       struct{} `atleastone:"title,can_push"`
}

func (s *Server) updateDeployKey(ctx context.Context, as authz.Actor, in updateDeployKeyParams) (projectDeployKeyEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return projectDeployKeyEntity{}, err
	}
	return s.projectDeployKey(s.DeployKeys.Update(ctx, as, p, in.KeyID, deploykey.Changes{Title: in.Title, CanPush: in.CanPush}))
}

func (s *Server) deleteDeployKey(ctx context.Context, as authz.Actor, in deployKeyPath) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.DeployKeys.Delete(ctx, as, p, in.KeyID)
}

func (s *Server) enableDeployKey(ctx context.Context, as authz.Actor, in deployKeyPath) (projectDeployKeyEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return projectDeployKeyEntity{}, err
	}
	return s.projectDeployKey(s.DeployKeys.Enable(ctx, as, p, in.KeyID))
}

type sharedDeployKeysParams struct {
	UserID string `param:"user_id" doc:"ID or username of the user"`
	api.Page
}

func (s *Server) sharedDeployKeys(ctx context.Context, as authz.Actor, in sharedDeployKeysParams) (api.List[projectDeployKeyEntity], error) {
	user, err := s.Accounts.ActorFor(ctx, in.UserID)
	if err != nil {
		return api.List[projectDeployKeyEntity]{}, err
	}
	return s.projectDeployKeys(s.DeployKeys.ListShared(ctx, as, user, in.Range()))
}
