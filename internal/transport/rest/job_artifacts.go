package rest

import (
	"context"
	"fmt"
	"net/http"
	"path"

	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("job_artifacts", (*Server).jobArtifactRoutes)

func (s *Server) jobArtifactRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/projects/:id/jobs/:job_id/artifacts", s.downloadArtifacts).Gives("application/zip", nil).Doc("Download the artifacts of a job").
			Needs(authz.ReadPipeline).Public(),
		api.Get("/projects/:id/jobs/artifacts/:ref_name/download", s.downloadLatest).Gives("application/zip", nil).Doc("Download the artifacts of the latest successful pipeline").
			Needs(authz.ReadPipeline).Public(),
		api.Get("/projects/:id/jobs/artifacts/:ref_name/raw/*artifact_path", s.latestFile).Doc("Download an artifact file of the latest successful pipeline").
			Needs(authz.ReadPipeline).Public(),
		api.Get("/projects/:id/jobs/:job_id/artifacts/tree", s.artifactTree).Doc("List the artifact files of a job").
			Needs(authz.ReadPipeline).Public(),
		api.Get("/projects/:id/jobs/:job_id/artifacts/*artifact_path", s.artifactFile).Doc("Download an artifact file of a job").
			Needs(authz.ReadPipeline).Public(),
		api.Post("/projects/:id/jobs/:job_id/artifacts/keep", s.keepArtifacts).Status(http.StatusOK).Doc("Keep the artifacts of a job").
			Needs(authz.UpdatePipeline, authz.ReadPipeline),
		api.Delete("/projects/:id/jobs/:job_id/artifacts", s.deleteArtifacts).Doc("Delete the artifacts of a job").
			Needs(authz.ErasePipeline, authz.ReadPipeline),
		api.Delete("/projects/:id/artifacts", s.deleteAllArtifacts).Status(http.StatusAccepted).Doc("Delete the job artifacts of a project").Needs(authz.ErasePipeline),
	)
}

func (s *Server) archiveOf(ctx context.Context, as authz.Actor, id string, job ci.StatusID) (api.RawOrContent, error) {
	p, err := s.Projects.Find(ctx, as, id)
	if err != nil {
		return api.RawOrContent{}, err
	}
	a, o, err := s.CI.OpenArtifact(ctx, as, p, job, "")
	if err != nil {
		return api.RawOrContent{}, err
	}
	return api.RawOrContent{Content: &api.Content{Type: "application/zip", ETag: fmt.Sprintf("%q", a.SHA256), From: o, Header: http.Header{"Content-Disposition": {httpkit.Attachment(a.Filename)}}}}, nil
}

func (s *Server) downloadArtifacts(ctx context.Context, as authz.Actor, in jobPath) (api.RawOrContent, error) {
	return s.archiveOf(ctx, as, in.ID, in.JobID)
}

type latestArtifactsParams struct {
	projectPath
	Ref string `param:"ref_name" doc:"Branch or tag"`
	Job string `param:"job,required" doc:"Name of the job"`
}

func (s *Server) latestJob(ctx context.Context, as authz.Actor, in latestArtifactsParams) (ci.StatusID, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return 0, err
	}
	j, err := s.CI.LatestOf(ctx, as, p, in.Ref, in.Job)
	if err != nil {
		return 0, err
	}
	return j.ID, nil
}

func (s *Server) downloadLatest(ctx context.Context, as authz.Actor, in latestArtifactsParams) (api.RawOrContent, error) {
	id, err := s.latestJob(ctx, as, in)
	if err != nil {
		return api.RawOrContent{}, err
	}
	return s.archiveOf(ctx, as, in.ID, id)
}

type latestFileParams struct {
	latestArtifactsParams
	Path string `param:"artifact_path" doc:"Path of the file"`
}

func (s *Server) latestFile(ctx context.Context, as authz.Actor, in latestFileParams) (api.Raw, error) {
	id, err := s.latestJob(ctx, as, in.latestArtifactsParams)
	if err != nil {
		return api.Raw{}, err
	}
	return s.oneFile(ctx, as, in.ID, id, in.Path)
}

type artifactFileParams struct {
	jobPath
	Path string `param:"artifact_path" doc:"Path of the file"`
}

func (s *Server) artifactFile(ctx context.Context, as authz.Actor, in artifactFileParams) (api.Raw, error) {
	return s.oneFile(ctx, as, in.ID, in.JobID, in.Path)
}

// oneFile sends a file of an archive. It is never shown by a browser: who may push may write its content.
func (s *Server) oneFile(ctx context.Context, as authz.Actor, id string, job ci.StatusID, name string) (api.Raw, error) {
	p, err := s.Projects.Find(ctx, as, id)
	if err != nil {
		return api.Raw{}, err
	}
	f, err := s.CI.OpenFile(ctx, as, p, job, name)
	if err != nil {
		return api.Raw{}, err
	}
	return api.Raw{Type: "application/octet-stream", Header: http.Header{"Content-Disposition": {httpkit.Attachment(path.Base(f.Name))}}, Stream: f, Length: f.Size}, nil
}

// archiveEntryEntity is a file or folder in an archive.
type archiveEntryEntity struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Type string `json:"type"` // file or directory
	Size int64  `json:"size"`
	Mode string `json:"mode"`
}

type artifactTreeParams struct {
	jobPath
	Path      string `param:"path" doc:"Path of a folder"`
	Recursive bool   `param:"recursive" default:"false" doc:"List files of all folders below"`
	api.Page
}

func (s *Server) artifactTree(ctx context.Context, as authz.Actor, in artifactTreeParams) (api.List[archiveEntryEntity], error) {
	var none api.List[archiveEntryEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := s.CI.ArchiveTree(ctx, as, p, in.JobID, ci.TreeFilter{Folder: in.Path, Recursive: in.Recursive, Range: in.Range()})
	if err != nil {
		return none, err
	}
	return api.ListOf(list, func(e *ci.ArchiveEntry) archiveEntryEntity {
		out := archiveEntryEntity{Name: e.Name(), Path: e.Path, Type: "file", Size: e.Size, Mode: fmt.Sprintf("%06o", 0o100000|e.Mode)}
		if e.Folder {
			out.Type, out.Mode = "directory", fmt.Sprintf("%06o", 0o040000|e.Mode)
		}
		return out
	}), nil
}

func (s *Server) keepArtifacts(ctx context.Context, as authz.Actor, in jobPath) (*jobEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	j, err := s.CI.KeepArtifacts(ctx, as, p, in.JobID)
	return s.job(ctx, as, p, j, err)
}

func (s *Server) deleteArtifacts(ctx context.Context, as authz.Actor, in jobPath) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	_, err = s.CI.DeleteArtifacts(ctx, as, p, in.JobID)
	return api.None{}, err
}

func (s *Server) deleteAllArtifacts(ctx context.Context, as authz.Actor, in projectPath) (accepted, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return accepted{}, err
	}
	return accepted{"202 Accepted"}, s.CI.DeleteAllArtifacts(ctx, as, p)
}
