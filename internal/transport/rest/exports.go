package rest

import (
	"context"
	"io"
	"net/http"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/importexport"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("exports", (*Server).exportRoutes)

type exports struct {
	s  *Server
	of *importexport.Service
}

func (s *Server) exportRoutes() []*api.Route {
	e := exports{s, core.Part[*importexport.Service](s.Services)}
	const path, group = "/projects/:id/export", "/groups/:id/export"
	return api.Scoped(nil,
		api.Post(path, e.schedule).Doc("Schedule an export of a project").Status(http.StatusAccepted).Needs(authz.ExportProject),
		api.Get(path, e.status).Doc("Get the export status of a project").Needs(authz.ExportProject),
		api.Get(path+"/download", e.download).Doc("Download the export of a project").Needs(authz.ExportProject),
		api.Post(group, e.scheduleGroup).Doc("Schedule an export of a group").Status(http.StatusAccepted).Needs(authz.ExportGroup),
		api.Get(group+"/download", e.downloadGroup).Doc("Download the export of a group").Needs(authz.ExportGroup),
	)
}

type exportParams struct {
	ID          string        `param:"id" doc:"ID or URL-encoded path"`
	Description *string       `param:"description" doc:"Description in place of that of the project"`
	Upload      *uploadTarget `param:"upload" doc:"Where the archive is uploaded to"`
}

// uploadTarget is where an archive goes.
type uploadTarget struct {
	URL    string `param:"url,required" doc:"URL that the archive is uploaded to"`
	Method string `param:"http_method" values:"PUT,POST" default:"PUT" doc:"HTTP method of the upload"`
}

func (e exports) schedule(ctx context.Context, as authz.Actor, p exportParams) (messageEntity, error) {
	in := importexport.Input{Description: p.Description}
	if p.Upload != nil {
		in.Upload = &importexport.Upload{URL: p.Upload.URL, Method: p.Upload.Method}
	}
	return messageEntity{"202 Accepted"}, e.of.Schedule(ctx, as, p.ID, in)
}

// exportEntity says how far the export of a project has come.
type exportEntity struct {
	ID                project.ID   `json:"id"`
	Description       *string      `json:"description"`
	Name              string       `json:"name"`
	NameWithNamespace string       `json:"name_with_namespace"`
	Path              string       `json:"path"`
	PathWithNamespace string       `json:"path_with_namespace"`
	CreatedAt         api.Time     `json:"created_at"`
	Status            string       `json:"export_status"`
	Links             *exportLinks `json:"_links,omitempty"` // of a finished export only
}

type exportLinks struct {
	API string `json:"api_url"`
	Web string `json:"web_url"`
}

func (e exports) status(ctx context.Context, as authz.Actor, p projectPath) (exportEntity, error) {
	v, err := e.of.Find(ctx, as, p.ID)
	if err != nil {
		return exportEntity{}, err
	}
	of := v.Project
	out := exportEntity{
		ID: of.ID, Description: of.Description, Name: of.Name, NameWithNamespace: of.FullName, Path: of.Path, PathWithNamespace: of.FullPath,
		CreatedAt: api.Time(of.CreatedAt.Time), Status: string(v.Status),
	}
	if v.Status == importexport.Finished {
		out.Links = &exportLinks{e.s.URLs.ProjectAPI(int64(of.ID), "export", "download"), e.s.URLs.ProjectExport(of.FullPath)}
	}
	return out, nil
}

func (e exports) scheduleGroup(ctx context.Context, as authz.Actor, p groupPath) (messageEntity, error) {
	return messageEntity{"202 Accepted"}, e.of.ScheduleGroup(ctx, as, p.ID)
}

func (e exports) download(ctx context.Context, as authz.Actor, p projectPath) (api.Content, error) {
	return sendArchive(e.of.Download(ctx, as, p.ID))
}

func (e exports) downloadGroup(ctx context.Context, as authz.Actor, p groupPath) (api.Content, error) {
	return sendArchive(e.of.DownloadGroup(ctx, as, p.ID))
}

func sendArchive(a *importexport.Archive, err error) (api.Content, error) {
	if err != nil {
		return api.Content{}, err
	}
	return sendFile(a.Name, a.Object), nil
}

// sendFile is the answer with a compressed file for the caller alone.
func sendFile(name string, from io.ReadSeekCloser) api.Content {
	h := http.Header{"Content-Disposition": {`attachment; filename="` + name + `"`}, "Cache-Control": {"private, no-store"}}
	return api.Content{Type: "application/gzip", Header: h, From: from}
}
