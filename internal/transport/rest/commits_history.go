package rest

import (
	"context"
	"errors"
	"net/http"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("commits", (*Server).commitHistoryRoutes)

func (s *Server) commitHistoryRoutes() []*api.Route {
	const path = "/projects/:id/repository/commits/:sha"
	return api.Scoped(nil,
		api.Get(path+"/refs", s.commitRefs).Doc("List the references that contain a commit").Public().Needs(authz.ReadCode),
		api.Get(path+"/sequence", s.commitSequence).Doc("Get the sequence of a commit").Public().Needs(authz.ReadCode),
		api.Get(path+"/merge_requests", s.commitRequests).Doc("List the merge requests of a commit").Needs(authz.ReadCode, authz.ReadMergeRequest),
		api.Post(path+"/cherry_pick", s.cherryPick).Doc("Cherry-pick a commit").Needs(authz.PushCode),
		api.Post(path+"/revert", s.revert).Doc("Revert a commit").Needs(authz.PushCode),
	)
}

// findCommit returns the project and the commit that a path names.
func (s *Server) findCommit(ctx context.Context, as authz.Actor, in commitParams) (*project.Project, *gitstore.Commit, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.Repos.FindCommit(ctx, as, p, in.SHA)
	return p, c, err
}

type commitRefsParams struct {
	commitParams
	Type string `param:"type" values:"branch,tag,all" default:"all" doc:"Type of members"`
	api.Page
}

type refEntity struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

func (s *Server) commitRefs(ctx context.Context, as authz.Actor, in commitRefsParams) (api.List[refEntity], error) {
	var none api.List[refEntity]
	p, c, err := s.findCommit(ctx, as, in.commitParams)
	if err != nil {
		return none, err
	}
	part := in.Range()
	part.Uncounted = true
	refs, err := s.Repos.Holding(ctx, as, p, c, in.Type, part)
	if err != nil {
		return none, err
	}
	return api.ListOf(refs, func(ref *gitstore.RefName) refEntity {
		if ref.IsTag() {
			return refEntity{"tag", ref.Short()}
		}
		return refEntity{"branch", ref.Short()}
	}), nil
}

type commitSequenceParams struct {
	commitParams
	FirstParent bool `param:"first_parent" doc:"Follow only the first parent commit of a merge commit"`
}

type countEntity struct {
	Count int `json:"count"`
}

func (s *Server) commitSequence(ctx context.Context, as authz.Actor, in commitSequenceParams) (countEntity, error) {
	p, c, err := s.findCommit(ctx, as, in.commitParams)
	if err != nil {
		return countEntity{}, err
	}
	n, err := s.Repos.Sequence(ctx, as, p, c, repo.CommitFilter{FirstParent: in.FirstParent})
	return countEntity{n}, err
}

type commitRequestsParams struct {
	commitParams
	State string `param:"state" values:"opened,closed,locked,merged,all" default:"all" doc:"State"`
	api.Page
}

func (s *Server) commitRequests(ctx context.Context, as authz.Actor, in commitRequestsParams) (api.List[requestForm], error) {
	p, c, err := s.findCommit(ctx, as, in.commitParams)
	if err != nil {
		return api.List[requestForm]{}, err
	}
	f := mergerequest.Filter{Range: in.Range()}
	if in.State != "all" {
		f.State = mergerequest.State(in.State)
	}
	page, err := s.MergeRequests.OfCommit(ctx, as, p, c, f)
	if err != nil {
		return api.List[requestForm]{}, err
	}
	return s.requestPage(ctx, as, requestFilterParams{}, p.FullPath, page)
}

type pickParams struct {
	commitParams
	Branch string `param:"branch,required,nonempty" doc:"Branch to commit to"`
	DryRun bool   `param:"dry_run" doc:"Check without committing"`
}

type cherryPickParams struct {
	pickParams
	Message string `param:"message" doc:"Custom commit message"`
}

func (s *Server) cherryPick(ctx context.Context, as authz.Actor, in cherryPickParams) (api.Reply[pickForm], error) {
	return s.pick(ctx, as, in.pickParams, in.Message, s.Repos.CherryPick)
}

func (s *Server) revert(ctx context.Context, as authz.Actor, in pickParams) (api.Reply[pickForm], error) {
	return s.pick(ctx, as, in, "", s.Repos.Revert)
}

// pickForm is what came of a cherry-pick or revert: the commit, or that it would succeed.
type pickForm interface {
	OneOf(made commitEntity, dry dryRun)
}

// dryRun is the answer to a cherry-pick or revert that was only tried.
type dryRun struct {
	Outcome string `json:"dry_run"`
}

// OneOf names the outcomes of a cherry-pick or revert.
func (commitEntity) OneOf(commitEntity, dryRun) {}

// OneOf names the outcomes of a cherry-pick or revert.
func (dryRun) OneOf(commitEntity, dryRun) {}

type picker func(context.Context, authz.Actor, *project.Project, string, repo.PickInput) (*gitstore.Commit, error)

// pick cherry-picks or reverts and says what came of it.
func (s *Server) pick(ctx context.Context, as authz.Actor, in pickParams, message string, how picker) (api.Reply[pickForm], error) {
	var out api.Reply[pickForm]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return out, err
	}
	c, err := how(ctx, as, p, in.SHA, repo.PickInput{Branch: in.Branch, Message: message, DryRun: in.DryRun})
	if failure, ok := errors.AsType[*repo.PickError](err); ok {
		body := struct {
			Message string `json:"message"`
			Code    string `json:"error_code"`
		}{failure.Text, failure.Code}
		return out, &api.Answer{Status: http.StatusBadRequest, Body: body}
	}
	switch {
	case err != nil:
		return out, err
	case in.DryRun:
		out.Status, out.Body = http.StatusOK, dryRun{"success"}
		return out, nil
	}
	out.Body = s.commitEntity(p, c)
	return out, nil
}
