package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("merge_requests", (*Server).requestBlockRoutes)

func (s *Server) requestBlockRoutes() []*api.Route {
	const one = "/projects/:id/merge_requests/:merge_request_iid"
	return api.Scoped(nil,
		api.Get(one+"/blocks", s.requestBlocks).Doc("List merge request dependencies").Needs(authz.ReadMergeRequest),
		api.Post(one+"/blocks", s.createRequestBlock).Doc("Create a merge request dependency").Needs(authz.UpdateMergeRequest, authz.ReadMergeRequest),
		api.Delete(one+"/blocks/:block_id", s.deleteRequestBlock).Timed().Doc("Delete a merge request dependency").
			Needs(authz.UpdateMergeRequest, authz.ReadMergeRequest),
		api.Get(one+"/blockees", s.requestBlockees).Doc("List the merge requests blocked by a merge request").Needs(authz.ReadMergeRequest),
	)
}

// requestBlockEntity is a merge request dependency.
type requestBlockEntity struct {
	ID        mergerequest.BlockID `json:"id"`
	Blocking  *mergeRequestEntity  `json:"blocking_merge_request,omitempty"` // for those who may read it
	Blocked   *mergeRequestEntity  `json:"blocked_merge_request"`
	ProjectID project.ID           `json:"project_id"` // of the blocked one
}

// requestBlockEntities renders dependencies; one whose project is gone by now is left out.
func (s *Server) requestBlockEntities(ctx context.Context, as authz.Actor, from *project.Project, blocks []mergerequest.Block) ([]requestBlockEntity, error) {
	var list []*mergerequest.MergeRequest
	seen := map[mergerequest.ID]bool{}
	for _, b := range blocks {
		for _, m := range []*mergerequest.MergeRequest{b.Blocked, b.Blocking} {
			if m != nil && !seen[m.ID] {
				seen[m.ID], list = true, append(list, m)
			}
		}
	}
	entities, err := s.requestEntities(ctx, as, list, requestShape{from: from.FullPath}, mergerequest.ViewOptions{})
	if err != nil {
		return nil, err
	}
	byID := make(map[mergerequest.ID]*mergeRequestEntity, len(entities))
	for i := range entities {
		byID[entities[i].ID] = &entities[i]
	}
	out := make([]requestBlockEntity, 0, len(blocks))
	for _, b := range blocks {
		e := requestBlockEntity{ID: b.ID, Blocked: byID[b.Blocked.ID], ProjectID: b.Blocked.ProjectID}
		if b.Blocking != nil {
			e.Blocking = byID[b.Blocking.ID]
		}
		if e.Blocked != nil {
			out = append(out, e)
		}
	}
	return out, nil
}

func (s *Server) requestBlocks(ctx context.Context, as authz.Actor, in requestPath) ([]requestBlockEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	blocks, err := s.MergeRequests.Blocks(ctx, as, p, in.IID)
	if err != nil {
		return nil, err
	}
	return s.requestBlockEntities(ctx, as, p, blocks)
}

func (s *Server) requestBlockees(ctx context.Context, as authz.Actor, in requestPath) ([]requestBlockEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	blocks, err := s.MergeRequests.Blockees(ctx, as, p, in.IID)
	if err != nil {
		return nil, err
	}
	return s.requestBlockEntities(ctx, as, p, blocks)
}

type createRequestBlockParams struct {
	requestPath
	Blocking mergerequest.ID `param:"blocking_merge_request_id,required" doc:"ID of the merge request that has to be merged first"`
}

func (s *Server) createRequestBlock(ctx context.Context, as authz.Actor, in createRequestBlockParams) (requestBlockEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return requestBlockEntity{}, err
	}
	b, err := s.MergeRequests.AddBlock(ctx, as, p, in.IID, in.Blocking)
	if err != nil {
		return requestBlockEntity{}, err
	}
	out, err := s.requestBlockEntities(ctx, as, p, []mergerequest.Block{*b})
	if err != nil || len(out) == 0 {
		return requestBlockEntity{}, err
	}
	return out[0], nil
}

type requestBlockPath struct {
	requestPath
	BlockID mergerequest.BlockID `param:"block_id,required" doc:"ID of the dependency"`
}

func (s *Server) deleteRequestBlock(ctx context.Context, as authz.Actor, in requestBlockPath) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.MergeRequests.RemoveBlock(ctx, as, p, in.IID, in.BlockID)
}
