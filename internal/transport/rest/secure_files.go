package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"tenon/internal/core/authz"
	"tenon/internal/core/securefile"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("secure_files", (*Server).secureFileRoutes)

func (s *Server) secureFileRoutes() []*api.Route {
	const path = "/projects/:id/secure_files"
	return api.Scoped(nil,
		api.Get(path, s.listSecureFiles).Doc("List the secure files of a project").Needs(authz.ReadSecureFiles),
		api.Post(path, s.createSecureFile).Doc("Create a secure file").Needs(authz.AdminSecureFiles).MaxBody(securefile.MaxSize+1<<20),
		api.Get(path+"/:secure_file_id", s.getSecureFile).Doc("Get a secure file").Needs(authz.ReadSecureFiles),
		api.Get(path+"/:secure_file_id/download", s.downloadSecureFile).Doc("Download a secure file").Needs(authz.ReadSecureFiles),
		api.Delete(path+"/:secure_file_id", s.deleteSecureFile).Timed().Doc("Delete a secure file").Needs(authz.AdminSecureFiles),
	)
}

type secureFileEntity struct {
	ID        securefile.ID           `json:"id"`
	Name      string                  `json:"name"`
	Checksum  string                  `json:"checksum"`
	Algorithm string                  `json:"checksum_algorithm"`
	CreatedAt api.Time                `json:"created_at"`
	ExpiresAt *api.Time               `json:"expires_at"`
	Metadata  *securefile.Certificate `json:"metadata"`
	Extension *string                 `json:"file_extension"`
}

func secureFileOf(f *securefile.File) secureFileEntity {
	return secureFileEntity{
		ID: f.ID, Name: f.Name, Checksum: f.Checksum, Algorithm: "sha256", CreatedAt: api.Time(f.CreatedAt.Time),
		ExpiresAt: api.TimePtr(f.ExpiresAt.Ptr()), Metadata: f.Metadata(), Extension: f.Extension(),
	}
}

type listSecureFilesParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	api.Page
}

func (s *Server) listSecureFiles(ctx context.Context, as authz.Actor, p listSecureFilesParams) (api.List[secureFileEntity], error) {
	none := api.List[secureFileEntity]{}
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	list, err := s.SecureFiles.List(ctx, as, of, p.Range())
	if err != nil {
		return none, err
	}
	return api.ListOf(list, secureFileOf), nil
}

type createSecureFileParams struct {
	ID   string   `param:"id" doc:"ID or URL-encoded path"`
	Name string   `param:"name,required" doc:"Name of the file, which no other secure file of the project has"`
	File api.File `param:"file,required" doc:"File to upload, at most 5 MB"`
}

func (s *Server) createSecureFile(ctx context.Context, as authz.Actor, p createSecureFileParams) (_ secureFileEntity, err error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return secureFileEntity{}, err
	}
	from, err := p.File.Open()
	if err != nil {
		return secureFileEntity{}, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	f, err := s.SecureFiles.Create(ctx, as, of, p.Name, from)
	if err != nil {
		return secureFileEntity{}, err
	}
	return secureFileOf(f), nil
}

type secureFilePath struct {
	ID     string        `param:"id" doc:"ID or URL-encoded path"`
	FileID securefile.ID `param:"secure_file_id" doc:"ID of the secure file"`
}

func (s *Server) getSecureFile(ctx context.Context, as authz.Actor, p secureFilePath) (secureFileEntity, error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return secureFileEntity{}, err
	}
	f, err := s.SecureFiles.Find(ctx, as, of, p.FileID)
	if err != nil {
		return secureFileEntity{}, err
	}
	return secureFileOf(f), nil
}

// closed is a reader with nothing to close.
type closed struct{ io.ReadSeeker }

func (closed) Close() error { return nil }

func (s *Server) downloadSecureFile(ctx context.Context, as authz.Actor, p secureFilePath) (api.Content, error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return api.Content{}, err
	}
	f, content, err := s.SecureFiles.Read(ctx, as, of, p.FileID)
	if err != nil {
		return api.Content{}, err
	}
	h := http.Header{"Content-Disposition": {`attachment; filename="` + f.Name + `"`}, "Cache-Control": {"private, no-store"}, "X-Content-Type-Options": {"nosniff"}}
	return api.Content{Type: "application/octet-stream", Header: h, From: closed{bytes.NewReader(content)}}, nil
}

func (s *Server) deleteSecureFile(ctx context.Context, as authz.Actor, p secureFilePath) (api.None, error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.SecureFiles.Delete(ctx, as, of, p.FileID)
}
