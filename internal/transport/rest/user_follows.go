package rest

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/transport/rest/api"
)

func (s *Server) userFollowRoutes() []*api.Route {
	return api.Scoped([]authz.Scope{authz.ScopeReadUser},
		api.Get("/users/:id/followers", s.listFollowers).Doc("List the followers of a user").Needs(authz.ReadUser).Public().Rate(limit.UserFollowers),
		api.Get("/users/:id/following", s.listFollowing).Doc("List the users followed by a user").Needs(authz.ReadUser).Public().Rate(limit.UserFollowing),
		api.Post("/users/:id/follow", s.followUser).Doc("Follow a user").Needs(authz.FollowUser),
		api.Post("/users/:id/unfollow", s.unfollowUser).Doc("Unfollow a user").Needs(authz.FollowUser),
	)
}

type listFollowsParams struct {
	userPath
	api.Page
}

func (s *Server) listFollowers(ctx context.Context, as authz.Actor, p listFollowsParams) (api.List[userBasic], error) {
	return s.listFollows(ctx, as, p, s.Accounts.Followers)
}

func (s *Server) listFollowing(ctx context.Context, as authz.Actor, p listFollowsParams) (api.List[userBasic], error) {
	return s.listFollows(ctx, as, p, s.Accounts.Following)
}

func (s *Server) listFollows(ctx context.Context, as authz.Actor, p listFollowsParams,
	read func(ctx context.Context, as authz.Actor, id authz.UserID, r page.Range) (page.Page[*account.User], error),
) (api.List[userBasic], error) {
	none := api.List[userBasic]{}
	id, err := p.id()
	if err != nil {
		return none, err
	}
	list, err := read(ctx, as, id, p.Range())
	if err != nil {
		return none, err
	}
	return api.ListOf(list, func(u **account.User) userBasic { return s.basic(*u) }), nil
}

func (s *Server) followUser(ctx context.Context, as authz.Actor, p userPath) (userBasic, error) {
	id, err := p.id()
	if err != nil {
		return userBasic{}, err
	}
	u, err := s.Accounts.Follow(ctx, as, id)
	if err != nil {
		return userBasic{}, err
	}
	return s.basic(u), nil
}

func (s *Server) unfollowUser(ctx context.Context, as authz.Actor, p userPath) (userBasic, error) {
	id, err := p.id()
	if err != nil {
		return userBasic{}, err
	}
	u, err := s.Accounts.Unfollow(ctx, as, id)
	if err != nil {
		return userBasic{}, err
	}
	return s.basic(u), nil
}
