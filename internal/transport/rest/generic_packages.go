package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("generic_packages", (*Server).genericPackageRoutes)

func (s *Server) genericPackageRoutes() []*api.Route {
	h := genericHandlers{s, core.Part[*packages.Service](s.Services)}
	const file = "/projects/:id/packages/generic/:package_name/:package_version/*file_name"
	return []*api.Route{
		api.Put(file, h.publish).Doc("Publish a file of a generic package").Needs(authz.CreatePackage).Scope(authz.ScopeWritePackages).Basic().
			Status(http.StatusCreated).MaxBodyNow(h.maxBody).Gives("application/json", genericFileEntity{}),
		api.Get(file, h.download).Doc("Download a file of a generic package").Needs(authz.ReadPackage, authz.ReadPrivatePackage).
			Scope(authz.ScopeReadPackages, authz.ScopeWritePackages).Basic().Public().Gives("application/octet-stream", nil),
	}
}

type genericHandlers struct {
	server   *Server
	packages *packages.Service
}

func (h genericHandlers) maxBody() int64 { return roomFor(h.packages.MaxGeneric(), 1<<20) }

// roomFor is the bound of a body that has a file of most bytes and more beside it, so that core refuses a file that is too large; 0 is no limit.
func roomFor(most, more int64) int64 {
	if most > 0 {
		return most + more
	}
	return 1 << 50
}

// baseName is a file name without its folders.
func baseName(name string) string { return path.Base(name) }

type genericPath struct {
	projectPath
	Package string `param:"package_name,required,free" doc:"Name of the package"`
	Version string `param:"package_version,required,free" doc:"Version of the package"`
	File    string `param:"file_name,required,free" doc:"Name of the file, which may be in folders"`
}

func (p *genericPath) file() packages.GenericFile {
	return packages.GenericFile{Package: p.Package, Version: p.Version, File: p.File}
}

type genericFileURL struct {
	URL string `json:"url"`
}

// genericFileEntity is a published file.
type genericFileEntity struct {
	packageFileEntity
	UpdatedAt api.Time       `json:"updated_at"`
	File      genericFileURL `json:"file"`
}

type publishGenericParams struct {
	genericPath
	Status string      `param:"status" values:"default,hidden" doc:"Status of the package"`
	Select string      `param:"select" values:"package_file" doc:"package_file returns the file"`
	Body   api.RawBody `doc:"Content of the file"`
}

func (h genericHandlers) publish(ctx context.Context, as authz.Actor, in publishGenericParams) (api.Raw, error) {
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return api.Raw{}, err
	}
	f, err := h.packages.PublishGeneric(ctx, as, p, in.file(), packages.Status(in.Status), in.Body)
	if err != nil {
		return api.Raw{}, err
	}
	var out any = messageEntity{"201 Created"}
	if in.Select == "package_file" {
		url := fmt.Sprintf("%s%s/projects/%d/packages/%d/package_files/%d/download", h.server.URLs.Root(), api.Prefix, p.ID, f.PackageID, f.ID)
		out = genericFileEntity{packageFileOf(f), api.Time(f.UpdatedAt.Time), genericFileURL{url}}
	}
	text, err := json.Marshal(out)
	return api.Raw{Type: "application/json", Bytes: text}, err
}

func (h genericHandlers) download(ctx context.Context, as authz.Actor, in genericPath) (api.Content, error) {
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return api.Content{}, err
	}
	return packageContent(h.packages.OpenGeneric(ctx, as, p, in.file()))
}
