package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/repo"
	"tenon/internal/transport/rest/api"
)

func (s *Server) submoduleRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Put("/projects/:id/repository/submodules/:submodule", s.updateSubmodule).Doc("Make a submodule name another commit").
			Needs(authz.PushCode),
	)
}

type updateSubmoduleParams struct {
	projectPath
	Submodule string `param:"submodule,required,free" doc:"Path of the submodule, with %2F for slashes"`
	Branch    string `param:"branch,required" doc:"Branch to commit to"`
	CommitSHA string `param:"commit_sha,required" doc:"Commit that the submodule shall name"`
	Message   string `param:"commit_message" doc:"Message, what is done if not given"`
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
