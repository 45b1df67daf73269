package rest

import (
	"context"
	"net/http"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/importexport"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("exports", (*Server).relationExportRoutes)

// relationExports are those of projects or of groups.
type relationExports struct {
	of    *importexport.Service
	group bool
}

func (s *Server) relationExportRoutes() []*api.Route {
	of := core.Part[*importexport.Service](s.Services)
	routes := func(path, noun string, e relationExports, needs authz.Ability) []*api.Route {
		path += "/:id/export_relations"
		return api.Scoped(nil,
			api.Post(path, e.schedule).Doc("Export the relations of a "+noun+" for a direct transfer").Status(http.StatusAccepted).Needs(needs),
			api.Get(path+"/status", e.status).Doc("Get the status of the exported relations of a "+noun).Needs(needs),
			api.Get(path+"/download", e.download).Doc("Download an exported relation of a "+noun).Needs(needs),
		)
	}
	return append(
		routes("/projects", "project", relationExports{of, false}, authz.ExportProject),
		routes("/groups", "group", relationExports{of, true}, authz.ExportGroup)...,
	)
}

func (e relationExports) at(id string) importexport.Portable {
	return importexport.Portable{Group: e.group, Ref: id}
}

type exportRelationsParams struct {
	ID      string `param:"id" doc:"ID or URL-encoded path"`
	Batched bool   `param:"batched" doc:"Export in batches of 1,000 lines"`
}

func (e relationExports) schedule(ctx context.Context, as authz.Actor, p exportRelationsParams) (messageEntity, error) {
	return messageEntity{"202 Accepted"}, e.of.ExportRelations(ctx, as, e.at(p.ID), p.Batched)
}

// relationExportEntity says how far the export of a relation has come: 0 started, 1 finished, -1 failed.
type relationExportEntity struct {
	Relation     string                `json:"relation"`
	Status       int64                 `json:"status"`
	Error        *string               `json:"error"`
	UpdatedAt    api.Time              `json:"updated_at"`
	Batched      bool                  `json:"batched"`
	BatchesCount int                   `json:"batches_count"`
	Objects      int64                 `json:"total_objects_count"`
	Batches      []relationBatchEntity `json:"batches,omitempty"`
}

// relationBatchEntity is a batch of a relation.
type relationBatchEntity struct {
	Status    int64    `json:"status"`
	Number    int64    `json:"batch_number"`
	Objects   int64    `json:"objects_count"`
	Error     *string  `json:"error"`
	UpdatedAt api.Time `json:"updated_at"`
}

type relationStatusParams struct {
	ID       string `param:"id" doc:"ID or URL-encoded path"`
	Relation string `param:"relation" doc:"Name of a relation; the answer is an object then"`
}

// relationStatus is a list, or one object where a relation is named.
type relationStatus interface {
	OneOf(relationList, relationExportEntity)
}

type relationList []relationExportEntity

func (relationList) OneOf(relationList, relationExportEntity)         {}
func (relationExportEntity) OneOf(relationList, relationExportEntity) {}

func (e relationExports) status(ctx context.Context, as authz.Actor, p relationStatusParams) (relationStatus, error) {
	found, err := e.of.RelationExports(ctx, as, e.at(p.ID), p.Relation)
	if err != nil {
		return nil, err
	}
	out := make(relationList, len(found))
	for i := range found {
		out[i] = relationEntity(&found[i])
	}
	if p.Relation != "" {
		return out[0], nil
	}
	return out, nil
}

func relationEntity(e *importexport.RelationExport) relationExportEntity {
	out := relationExportEntity{
		Relation: e.Relation, Status: int64(e.Status), Error: e.Error, UpdatedAt: api.Time(e.UpdatedAt.Time), Batched: e.Batched, Objects: e.Objects,
	}
	if !e.Batched {
		return out
	}
	out.BatchesCount = len(e.Files)
	for _, f := range e.Files {
		out.Batches = append(out.Batches, relationBatchEntity{int64(e.Status), f.Number, f.Objects, e.Error, api.Time(f.CreatedAt.Time)})
	}
	return out
}

type relationDownloadParams struct {
	ID       string `param:"id" doc:"ID or URL-encoded path"`
	Relation string `param:"relation,required" doc:"Name of a relation"`
	Batched  bool   `param:"batched" doc:"Download a batch"`
	Batch    int64  `param:"batch_number" doc:"Number of the batch, from 1"`
}

func (e relationExports) download(ctx context.Context, as authz.Actor, p relationDownloadParams) (api.Content, error) {
	a, err := e.of.DownloadRelation(ctx, as, e.at(p.ID), importexport.Wanted{Relation: p.Relation, Batched: p.Batched, Batch: p.Batch})
	if err != nil {
		return api.Content{}, err
	}
	return sendFile(a.Name, a.Object), nil
}
