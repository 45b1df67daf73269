package rest

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("debian_packages", (*Server).debianPackageRoutes)

func (s *Server) debianPackageRoutes() []*api.Route {
	service := core.Part[*packages.Service](s.Services)
	read := []authz.Ability{authz.ReadPackage, authz.ReadPrivatePackage}
	ofGroup := []authz.Ability{authz.ReadGroupPackage, authz.ReadPrivateGroupPackage}
	routes := func(resource, noun string, dists, pool []authz.Ability) []*api.Route {
		h := debianHandlers{distributionHandlers{s.below(noun, resource), service}, service}
		list := []*api.Route{
			api.Get(h.of.path+"/dists/*dists_path", h.dist).Doc("Get a file of a Debian distribution of a " + noun).Needs(dists...),
			api.Get(h.of.path+"/pool/*pool_path", h.pool).Doc("Download a file of a Debian package of a " + noun).Needs(pool...),
		}
		for _, r := range list {
			r.Scope(authz.ScopeReadPackages, authz.ScopeWritePackages).Basic().Public().Gives("application/octet-stream", nil)
		}
		return list
	}
	h := debianHandlers{distributionHandlers{s.below("project", "packages/debian"), service}, service}
	return append(slices.Concat(routes("packages/debian", "project", read, read), routes("-/packages/debian", "group", ofGroup, slices.Concat(ofGroup, read))),
		api.Put(h.of.path+"/:file_name", h.upload).Doc("Upload a file of a Debian package").Needs(authz.CreatePackage).
			Scope(authz.ScopeWritePackages).Basic().Status(http.StatusCreated).MaxBodyNow(h.maxBody),
	)
}

type debianHandlers struct {
	of       distributionHandlers // of the project or group
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

type distParams struct {
	ID   string `param:"id" doc:"ID or URL-encoded path of the project or group"`
	Path string `param:"dists_path,required,free" doc:"Path below dists: the codename or suite, and a file such as InRelease or main/binary-amd64/Packages"`
}

func (h debianHandlers) dist(ctx context.Context, as authz.Actor, in distParams) (api.RawOrContent, error) {
	at, err := h.of.at(ctx, as, in.ID)
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
		c.From = closed{strings.NewReader(file.Text)}
	} else {
		c.Type, c.ETag = "application/octet-stream", strconv.Quote(file.Digest)
	}
	return api.RawOrContent{Content: c}, nil
}

type poolParams struct {
	ID   string `param:"id" doc:"ID or URL-encoded path of the project or group"`
	Path string `param:"pool_path,required,free" doc:"Path below pool, as indices have it"`
}

func (h debianHandlers) pool(ctx context.Context, as authz.Actor, in poolParams) (api.Content, error) {
	at, err := h.of.at(ctx, as, in.ID)
	if err != nil {
		return api.Content{}, packages.Challenge(as, err)
	}
	f, o, err := h.packages.OpenPool(ctx, as, at, in.Path)
	return packageContent(f, o, err)
}
