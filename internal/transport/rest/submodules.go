package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/repo"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("submodules", (*Server).submoduleRoutes)

func (s *Server) submoduleRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Put("/projects/:id/repository/submodules/:submodule", s.updateSubmodule).Doc("Update a submodule reference in a repository").
			Needs(authz.PushCode),
	)
}

type updateSubmoduleParams struct {
	projectPath
	Submodule string `param:"submodule,required,free" doc:"URL-encoded path of the submodule"`
	Branch    string `param:"branch,required" doc:"Branch to commit to"`
	CommitSHA string `param:"commit_sha,required" doc:"Commit SHA to update the submodule to"`
	Message   string `param:"commit_message" doc:"Commit message; has a default"`
}

func (s *Server) updateSubmodule(ctx context.Context, as authz.Actor, in updateSubmoduleParams) (commitDetailEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return commitDetailEntity{}, err
	}
	c, err := s.Repos.UpdateSubmodule(ctx, as, p, repo.SubmoduleInput{
		Path: in.Submodule, Commit: in.CommitSHA, Branch: in.Branch, Message: in.Message,
	})
	if err != nil {
		return commitDetailEntity{}, err
	}
	return s.commitDetail(ctx, as, p, c, true)
}
