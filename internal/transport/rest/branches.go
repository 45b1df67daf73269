package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("branches", (*Server).branchRoutes)

func (s *Server) branchRoutes() []*api.Route {
	const path = "/projects/:id/repository/branches"
	return api.Scoped(nil,
		api.Get(path, s.branches).Doc("List branches").Public().Needs(authz.ReadCode),
		api.Head(path+"/:branch", s.hasBranch).Doc("Check whether a branch exists").Public().Needs(authz.ReadCode),
		api.Get(path+"/:branch", s.branch).Doc("Get a branch").Public().Needs(authz.ReadCode),
		api.Post(path, s.createBranch).Doc("Create a branch").Needs(authz.PushCode, authz.ReadCode),
		api.Delete(path+"/:branch", s.deleteBranch).Timed().Doc("Delete a branch").Needs(authz.PushCode),
		api.Delete("/projects/:id/repository/merged_branches", s.deleteMergedBranches).
			Doc("Delete merged branches").Status(http.StatusAccepted).Needs(authz.PushCode, authz.ReadCode),
	)
}

type branchEntity struct {
	Name               string       `json:"name"`
	Commit             commitEntity `json:"commit"`
	Merged             bool         `json:"merged"`
	Protected          bool         `json:"protected"`
	DevelopersCanPush  bool         `json:"developers_can_push"`
	DevelopersCanMerge bool         `json:"developers_can_merge"`
	CanPush            bool         `json:"can_push"`
	Default            bool         `json:"default"`
	WebURL             string       `json:"web_url"`
}

func (s *Server) branchEntity(p *project.Project, b *repo.Branch) branchEntity {
	return branchEntity{
		Name: b.Name, Commit: s.commitEntity(p, b.Tip), Merged: b.Merged, Protected: b.Protected,
		DevelopersCanPush: b.DevelopersCanPush, DevelopersCanMerge: b.DevelopersCanMerge, CanPush: b.CanPush,
		Default: b.Default, WebURL: s.URLs.Tree(p.FullPath, b.Name),
	}
}

type listBranchesParams struct {
	projectPath
	Search    string   `param:"search" doc:"Search in names; ^term and term$ anchor, * matches anything"`
	Regex     string   `param:"regex" doc:"RE2 regular expression of branch names"`
	Sort      string   `param:"sort" values:"name_asc,updated_asc,updated_desc" default:"name_asc" doc:"asc or desc"`
	PageToken string   `param:"page_token" doc:"Name of the branch to start the page after, with pagination=keyset, or the token from the link to the next page"`
	_         struct{} `exclusive:"search,regex"`
	api.Page
}

func (s *Server) branches(ctx context.Context, as authz.Actor, in listBranchesParams) (api.List[branchEntity], error) {
	var none api.List[branchEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := s.Repos.Branches(ctx, as, p, repo.BranchFilter{
		Search: in.Search, Regex: in.Regex, Sort: in.Sort, After: in.PageToken, Range: in.Range(),
	})
	if err != nil {
		return none, err
	}
	return api.ListOf(list.Page, func(b **repo.Branch) branchEntity { return s.branchEntity(p, *b) }).LedBy("page_token", list.Token), nil
}

type branchParams struct {
	projectPath
	Branch string `param:"branch,required,free" doc:"Name of the branch"`
}

func (s *Server) branch(ctx context.Context, as authz.Actor, in branchParams) (branchEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return branchEntity{}, err
	}
	b, err := s.Repos.FindBranch(ctx, as, p, in.Branch)
	if err != nil {
		return branchEntity{}, err
	}
	return s.branchEntity(p, b), nil
}

func (s *Server) hasBranch(ctx context.Context, as authz.Actor, in branchParams) (api.None, error) {
	_, err := s.branch(ctx, as, in)
	return api.None{}, err
}

type createBranchParams struct {
	projectPath
	Branch string `param:"branch,required" doc:"Name of the new branch"`
	Ref    string `param:"ref,required" doc:"Branch, tag or commit to create the branch from"`
}

func (s *Server) createBranch(ctx context.Context, as authz.Actor, in createBranchParams) (branchEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return branchEntity{}, err
	}
	b, err := s.Repos.CreateBranch(ctx, as, p, in.Branch, in.Ref)
	if err != nil {
		return branchEntity{}, err
	}
	return s.branchEntity(p, b), nil
}

func (s *Server) deleteBranch(ctx context.Context, as authz.Actor, in branchParams) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Repos.DeleteBranch(ctx, as, p, in.Branch)
}

type messageEntity struct {
	Message string `json:"message"`
}

func (s *Server) deleteMergedBranches(ctx context.Context, as authz.Actor, in projectPath) (messageEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return messageEntity{}, err
	}
	return messageEntity{"202 Accepted"}, s.Repos.DeleteMerged(ctx, as, p)
}
