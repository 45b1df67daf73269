package rest

import (
	"context"
	"errors"
	"math"
	"net/http"

	"tenon/internal/base/bucket"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/importexport"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("imports", (*Server).importRoutes)

type imports struct {
	s  *Server
	of *importexport.Service
}

func (s *Server) importRoutes() []*api.Route {
	i := imports{s, core.Part[*importexport.Service](s.Services)}
	return api.Scoped(nil, append(i.reportRoutes(),
		api.Post("/projects/import", i.file).Doc("Import a project from an archive").Needs(authz.ImportProjects, authz.CreateProject).
			MaxBodyNow(i.maxBody),
		api.Post("/projects/remote-import", i.remote).Doc("Import a project from an archive on another server").Needs(authz.ImportProjects, authz.CreateProject),
		api.Post("/projects/remote-import-s3", i.object).Doc("Import a project from an archive in a bucket").Needs(authz.ImportProjects, authz.CreateProject),
		api.Post("/groups/import", i.group).Doc("Import a group from an archive").Status(http.StatusAccepted).Needs(authz.CreateTopGroup, authz.CreateSubgroup).
			MaxBodyNow(i.maxBody),
		api.Get("/projects/:id/import", i.status).Doc("Get the import status of a project").Needs(authz.ReadImport),
	)...)
}

// maxFields bounds what stands beside the file, in bytes.
const maxFields = 1 << 20

// maxBody bounds a body with an archive.
func (i imports) maxBody() int64 {
	if most := int64(i.s.Settings.Current().MaxImportSize); most > 0 {
		return most<<20 + maxFields
	}
	return math.MaxInt64
}

// importParams are those of all imports of projects.
type importParams struct {
	Path      string         `param:"path,required" doc:"Path and, without a name, name of the project"`
	Name      string         `param:"name" doc:"Name of the project"`
	Namespace string         `param:"namespace" doc:"ID or path of the namespace; defaults to that of the current user"`
	Overwrite bool           `param:"overwrite" doc:"Replace a project that has the path"`
	Override  *projectParams `param:"override_params" doc:"Attributes of the project that go before those of the archive"`
}

func (p *importParams) input() importexport.ImportInput {
	in := importexport.ImportInput{Namespace: p.Namespace, Path: p.Path, Name: p.Name, Overwrite: p.Overwrite}
	if p.Override != nil {
		in.Override = p.Override.changes()
		in.Override.Mirror = project.Mirror{}
	}
	return in
}

type importFileParams struct {
	importParams
	File api.File `param:"file,required" doc:"Archive of a project"`
}

func (i imports) file(ctx context.Context, as authz.Actor, p importFileParams) (_ importEntity, err error) {
	from, err := p.File.Open()
	if err != nil {
		return importEntity{}, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	in := p.input()
	in.FileName, in.File = p.File.Name, from
	made, err := i.of.Import(ctx, as, in)
	if err != nil {
		return importEntity{}, err
	}
	return importedEntity(&importexport.ImportStatus{Project: made}), nil
}

type importURLParams struct {
	importParams
	URL string `param:"url,required" doc:"Address of the archive, https"`
}

func (i imports) remote(ctx context.Context, as authz.Actor, p importURLParams) (importEntity, error) {
	made, err := i.of.ImportURL(ctx, as, p.input(), p.URL)
	if err != nil {
		return importEntity{}, err
	}
	return importedEntity(&importexport.ImportStatus{Project: made}), nil
}

type importObjectParams struct {
	Path      string         `param:"path,required" doc:"Path and, without a name, name of the project"`
	Name      string         `param:"name" doc:"Name of the project"`
	Namespace string         `param:"namespace" doc:"ID or path of the namespace; defaults to that of the current user"`
	Override  *projectParams `param:"override_params" doc:"Attributes of the project that go before those of the archive"`
	Region    string         `param:"region,required" doc:"Region of the bucket"`
	Bucket    string         `param:"bucket_name,required" doc:"Name of the bucket"`
	Key       string         `param:"file_key,required" doc:"Key of the archive"`
	AccessKey string         `param:"access_key_id,required" doc:"ID of the access key"`
	Secret    string         `param:"secret_access_key,required" doc:"Secret of the access key"`
}

func (i imports) object(ctx context.Context, as authz.Actor, p importObjectParams) (importEntity, error) {
	of := importParams{Path: p.Path, Name: p.Name, Namespace: p.Namespace, Override: p.Override}
	made, err := i.of.ImportObject(ctx, as, of.input(), bucket.Object{Region: p.Region, Bucket: p.Bucket, Key: p.Key, AccessKey: p.AccessKey, Secret: p.Secret})
	if err != nil {
		return importEntity{}, err
	}
	return importedEntity(&importexport.ImportStatus{Project: made}), nil
}

type importGroupParams struct {
	Name     string        `param:"name,required" doc:"Name of the group"`
	Path     string        `param:"path,required" doc:"Path of the group"`
	ParentID *namespace.ID `param:"parent_id" doc:"ID of the group that it is made in"`
	File     api.File      `param:"file,required" doc:"Archive of a group"`
}

func (i imports) group(ctx context.Context, as authz.Actor, p importGroupParams) (_ messageEntity, err error) {
	from, err := p.File.Open()
	if err != nil {
		return messageEntity{}, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	in := importexport.GroupImportInput{FileName: p.File.Name, File: from, Name: p.Name, Path: p.Path, ParentID: p.ParentID}
	_, err = i.of.ImportGroup(ctx, as, in)
	return messageEntity{"202 Accepted"}, err
}

// importEntity says how far an import has come.
type importEntity struct {
	ID                project.ID       `json:"id"`
	Description       *string          `json:"description"`
	Name              string           `json:"name"`
	NameWithNamespace string           `json:"name_with_namespace"`
	Path              string           `json:"path"`
	PathWithNamespace string           `json:"path_with_namespace"`
	CreatedAt         api.Time         `json:"created_at"`
	Status            string           `json:"import_status"`
	Type              *string          `json:"import_type"`
	CorrelationID     *string          `json:"correlation_id"`
	FailedRelations   []failedRelation `json:"failed_relations"` // the newest 100, for those who may administer the project
	Error             *string          `json:"import_error"`     // in full for those who may administer the project
	Stats             *struct{}        `json:"stats"`            // of imports from other hosts
}

// failedRelation is a broken row of an archive.
type failedRelation struct {
	ID        int64    `json:"id"`
	CreatedAt api.Time `json:"created_at"`
	Class     string   `json:"exception_class"`
	Message   string   `json:"exception_message"`
	Source    string   `json:"source"`
	Relation  string   `json:"relation_name"`
	Line      int64    `json:"line_number"`
}

func (i imports) status(ctx context.Context, as authz.Actor, p projectPath) (importEntity, error) {
	found, err := i.of.ImportOf(ctx, as, p.ID)
	if err != nil {
		return importEntity{}, err
	}
	return importedEntity(found), nil
}

func importedEntity(of *importexport.ImportStatus) importEntity {
	p := of.Project
	out := importEntity{
		ID: p.ID, Description: p.Description, Name: p.Name, NameWithNamespace: p.FullName, Path: p.Path, PathWithNamespace: p.FullPath,
		CreatedAt: api.Time(p.CreatedAt.Time), Status: importStatus(p), Type: importType(p), CorrelationID: present(p.Settings().ImportID), Error: of.Error,
		FailedRelations: make([]failedRelation, len(of.Failed)),
	}
	for j, f := range of.Failed {
		out.FailedRelations[j] = failedRelation{f.ID, api.Time(f.CreatedAt.Time), "InvalidRelation", f.Reason, "archive", f.Relation, f.Line}
	}
	return out
}

// importType says what a project was imported from, nil for nothing.
func importType(p *project.Project) *string { return present(p.ImportType()) }
