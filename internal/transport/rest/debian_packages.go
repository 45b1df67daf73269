package rest

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("debian_packages", (*Server).debianPackageRoutes)

func (s *Server) debianPackageRoutes() []*api.Route {
	h := debianHandlers{s, core.Part[*packages.Service](s.Services)}
	read := []authz.Ability{authz.ReadPackage, authz.ReadPrivatePackage}
	ofGroup := []authz.Ability{authz.ReadGroupPackage, authz.ReadPrivateGroupPackage}
	routes := []*api.Route{
		api.Get("/projects/:id/packages/debian/dists/*dists_path", h.dist(h.project)).Doc("Get a file of a Debian distribution of a project").Needs(read...),
		api.Get("/projects/:id/packages/debian/pool/*pool_path", h.pool(h.project)).Doc("Download a file of a Debian package of a project").Needs(read...),
		api.Get("/groups/:id/-/packages/debian/dists/*dists_path", h.dist(h.group)).Doc("Get a file of a Debian distribution of a group").Needs(ofGroup...),
		api.Get("/groups/:id/-/packages/debian/pool/*pool_path", h.pool(h.group)).Doc("Download a file of a Debian package of a group").
			Needs(ofGroup...).Needs(read...),
	}
	for _, r := range routes {
		r.Scope(authz.ScopeReadPackages, authz.ScopeWritePackages).Basic().Public().Gives("application/octet-stream", nil)
	}
	return append(routes,
		api.Put("/projects/:id/packages/debian/:file_name", h.upload).Doc("Upload a file of a Debian package").Needs(authz.CreatePackage).
			Scope(authz.ScopeWritePackages).Basic().Status(http.StatusCreated).MaxBodyNow(h.maxBody),
	)
}

type debianHandlers struct {
	server   *Server
	packages *packages.Service
}

// maxBody is more than a file may have, so that core refuses one that is too large.
func (h debianHandlers) maxBody() int64 { return h.packages.MaxDebian() + 1<<20 }

type uploadDebianParams struct {
	projectPath
	Name         string      `param:"file_name,required,free" doc:"Name of the file"`
	Distribution string      `param:"distribution" doc:"Codename or suite that a deb, udeb or ddeb goes straight into"`
	Component    string      `param:"component" doc:"Component of the distribution; required with distribution"`
	Body         api.RawBody `doc:"Content of the file"`
}

func (h debianHandlers) upload(ctx context.Context, as authz.Actor, in uploadDebianParams) (messageEntity, error) {
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return messageEntity{}, err
	}
	return messageEntity{"201 Created"}, h.packages.UploadDebian(ctx, as, p, packages.DebianFile{Name: in.Name, Distribution: in.Distribution, Component: in.Component}, in.Body)
}

// project finds the project of a repository, group the group.
func (h debianHandlers) project(ctx context.Context, as authz.Actor, ref string) (authz.Place, error) {
	p, err := h.packages.Project(ctx, as, ref)
	if err != nil {
		return authz.Place{}, err
	}
	return p.Place(), nil
}

func (h debianHandlers) group(ctx context.Context, as authz.Actor, ref string) (authz.Place, error) {
	g, err := h.server.Namespaces.Find(ctx, as, ref)
	if err != nil {
		return authz.Place{}, err
	}
	return g.Place(), nil
}

// finder finds what a repository belongs to.
type finder func(ctx context.Context, as authz.Actor, ref string) (authz.Place, error)

type distParams struct {
	ID   string `param:"id" doc:"ID or URL-encoded path of the project or group"`
	Path string `param:"dists_path,required,free" doc:"Path below dists: the codename or suite, and a file such as InRelease or main/binary-amd64/Packages"`
}

func (h debianHandlers) dist(find finder) api.Handler[distParams, api.RawOrContent] {
	return func(ctx context.Context, as authz.Actor, in distParams) (api.RawOrContent, error) {
		at, err := find(ctx, as, in.ID)
		if err != nil {
			return api.RawOrContent{}, packages.Challenge(as, err)
		}
		file, err := h.packages.Dist(ctx, as, at, in.Path)
		if err != nil {
			return api.RawOrContent{}, err
		}
		if file.Empty {
			return api.RawOrContent{Raw: api.Raw{Status: http.StatusNoContent}}, nil
		}
		c := &api.Content{Type: "text/plain; charset=utf-8", Modified: file.Modified, Header: http.Header{"X-Content-Type-Options": {"nosniff"}, "Content-Security-Policy": {"default-src 'none'; sandbox"}}}
		if c.From = file.Object; file.Object == nil {
			c.From = textContent{strings.NewReader(file.Text)}
		} else {
			c.Type, c.ETag = "application/octet-stream", strconv.Quote(file.Digest)
		}
		return api.RawOrContent{Content: c}, nil
	}
}

// textContent is a text that needs no closing.
type textContent struct{ *strings.Reader }

// Close does nothing.
func (textContent) Close() error { return nil }

type poolParams struct {
	ID   string `param:"id" doc:"ID or URL-encoded path of the project or group"`
	Path string `param:"pool_path,required,free" doc:"Path below pool, as indices have it"`
}

func (h debianHandlers) pool(find finder) api.Handler[poolParams, api.Content] {
	return func(ctx context.Context, as authz.Actor, in poolParams) (api.Content, error) {
		at, err := find(ctx, as, in.ID)
		if err != nil {
			return api.Content{}, packages.Challenge(as, err)
		}
		f, o, err := h.packages.OpenPool(ctx, as, at, in.Path)
		return packageContent(f, o, err)
	}
}
