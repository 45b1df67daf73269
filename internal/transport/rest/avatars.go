package rest

import (
	"context"
	"errors"
	"mime"
	"net/http"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/avatar"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("avatars", (*Server).avatarRoutes)

func (s *Server) avatarRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/avatar", s.avatarOf).Doc("Get the avatar URL of an email address").Needs(authz.ListUsers).Public(),
		api.Put("/user/avatar", s.setOwnAvatar).Timed().Scope(authz.ScopeReadUser).Doc("Upload an avatar of the current user").Needs(authz.UpdateOwnUser, authz.ReadUser),
		api.Get("/groups/:id/avatar", s.groupAvatar).Doc("Download the avatar of a group").Needs(authz.ReadGroup).Public(),
		api.Get("/projects/:id/avatar", s.projectAvatar).Doc("Download the avatar of a project").Needs(authz.ReadProject).Public(),
	)
}

// avatarParam is the picture of a user, group or project; an empty one takes it away.
type avatarParam struct {
	Avatar api.Opt[api.File] `param:"avatar" doc:"Avatar image, at most 200 KiB; empty removes it"`
}

// newPicture is a picture that was sent, or the wish to have none; Set says that there was one of
// the two.
type newPicture struct {
	*avatar.Picture
	Set bool
}

// picture reads what was sent, so that a bad one is refused before anything is changed.
func (s *Server) picture(p avatarParam) (out newPicture, err error) {
	if !p.Avatar.Set || p.Avatar.Null {
		return newPicture{Set: p.Avatar.Set}, nil
	}
	from, err := p.Avatar.Value.Open()
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	made, err := s.Avatars.Read(p.Avatar.Value.Name, from)
	return newPicture{made, true}, err
}

// portrayed gives a user that was just made or changed the picture that came with it.
func (s *Server) portrayed(ctx context.Context, as authz.Actor, u *account.User, p newPicture) error {
	if !p.Set {
		return nil
	}
	changed, err := s.Avatars.SetUser(ctx, as.Unconditional(), u.ID, p.Picture)
	if err == nil {
		u.Avatar = changed.Avatar
	}
	return err
}

func (s *Server) groupPortrayed(ctx context.Context, as authz.Actor, g *namespace.Group, p newPicture) error {
	if !p.Set {
		return nil
	}
	changed, err := s.Avatars.SetGroup(ctx, as, g.ID, p.Picture)
	if err == nil {
		g.Avatar = changed.Avatar
	}
	return err
}

func (s *Server) projectPortrayed(ctx context.Context, as authz.Actor, at *project.Project, p newPicture) error {
	if !p.Set {
		return nil
	}
	changed, err := s.Avatars.SetProject(ctx, as, at.ID, p.Picture)
	if err == nil {
		at.Avatar = changed.Avatar
	}
	return err
}

type avatarOfParams struct {
	Email string `param:"email,required,nonempty" doc:"Public email address of the user"`
	Size  int    `param:"size" default:"80" min:"1" max:"2048" doc:"Size in pixels of avatars from external services"`
}

type avatarEntity struct {
	AvatarURL *string `json:"avatar_url"`
}

// avatarOf returns the picture of the user with a public address; no caller learns whose other
// addresses are.
func (s *Server) avatarOf(ctx context.Context, as authz.Actor, p avatarOfParams) (avatarEntity, error) {
	u, err := s.Accounts.WithPublicEmail(ctx, as, p.Email)
	if err != nil {
		return avatarEntity{}, err
	}
	if u != nil && u.Avatar != "" {
		return avatarEntity{s.Accounts.AvatarURL(u)}, nil
	}
	return avatarEntity{s.Accounts.Gravatar(p.Email, p.Size)}, nil
}

type ownAvatarParams struct {
	Avatar api.Opt[api.File] `param:"avatar,required" doc:"Avatar image, at most 200 KiB; empty removes it"`
}

func (s *Server) setOwnAvatar(ctx context.Context, as authz.Actor, p ownAvatarParams) (avatarEntity, error) {
	sent, err := s.picture(avatarParam(p))
	if err != nil {
		return avatarEntity{}, err
	}
	u, err := s.Avatars.SetUser(ctx, as, as.UserID, sent.Picture)
	if err != nil {
		return avatarEntity{}, err
	}
	return avatarEntity{s.Accounts.AvatarURL(u)}, nil
}

func (s *Server) groupAvatar(ctx context.Context, as authz.Actor, p groupPath) (api.Content, error) {
	g, err := s.Namespaces.Find(ctx, as, p.ID)
	if err != nil {
		return api.Content{}, err
	}
	return s.avatarContent(ctx, as, avatar.Group, int64(g.ID), g.Avatar)
}

func (s *Server) projectAvatar(ctx context.Context, as authz.Actor, in projectPath) (api.Content, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.Content{}, err
	}
	return s.avatarContent(ctx, as, avatar.Project, int64(p.ID), p.Avatar)
}

func (s *Server) avatarContent(ctx context.Context, as authz.Actor, kind avatar.Kind, id int64, name string) (api.Content, error) {
	o, err := s.Avatars.Open(ctx, as, kind, id, "")
	if err != nil {
		return api.Content{}, err
	}
	h := http.Header{}
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": avatar.FileName(name)}))
	h.Set("X-Content-Type-Options", "nosniff")
	return api.Content{Type: o.ContentType, Header: h, ETag: `"` + o.Version + `"`, From: o}, nil
}
