package rest

import (
	"context"
	"net/http"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/packages/maven"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("maven_packages", (*Server).mavenRoutes)

func (s *Server) mavenRoutes() []*api.Route {
	service, registry := core.Part[*maven.Service](s.Services), core.Part[*packages.Service](s.Services)
	of := func(resource, noun string) mavenHandlers {
		return mavenHandlers{distributionHandlers{s.below(noun, resource), registry}, service}
	}
	inProject, inGroup := of("packages/maven", "project"), of("-/packages/maven", "group")
	read := []authz.Ability{authz.ReadPackage, authz.ReadPrivatePackage}
	list := []*api.Route{
		api.Get(inProject.of.path+"/*path", inProject.download).Doc("Download a file of a Maven package of a project").Needs(read...),
		api.Get(inGroup.of.path+"/*path", inGroup.download).Doc("Download a file of a Maven package of a group").Needs(authz.ReadGroupPackage, authz.ReadPrivateGroupPackage),
		api.Get("/packages/maven/*path", inProject.named).Doc("Download a file of a Maven package that has the path of its project").Needs(read...),
	}
	for _, r := range list {
		r.Scope(authz.ScopeReadPackages, authz.ScopeWritePackages).Basic().Public().Gives("application/octet-stream", nil)
	}
	return append(list, api.Put(inProject.of.path+"/*path", inProject.upload).Doc("Publish a file of a Maven package").Needs(authz.CreatePackage).
		Scope(authz.ScopeWritePackages).Basic().MaxBodyNow(inProject.maxBody).Gives("text/plain", nil))
}

type mavenHandlers struct {
	of    distributionHandlers // finds the project or group
	maven *maven.Service
}

func (h mavenHandlers) maxBody() int64 { return roomFor(h.maven.MaxFile(), 1<<20) }

type mavenFile struct {
	Path string `param:"path,required,free" doc:"Path of the package and name of the file, such as com/example/app/1.0/app-1.0.jar; .sha1, .md5 or .sha256 behind it is a digest of the file"`
}

type mavenPath struct {
	placePath
	mavenFile
}

func (h mavenHandlers) download(ctx context.Context, as authz.Actor, in mavenPath) (api.RawOrContent, error) {
	at, err := h.of.at(ctx, as, in.ID)
	if err != nil {
		return api.RawOrContent{}, packages.Challenge(as, err)
	}
	return mavenAnswer(h.maven.Open(ctx, as, at, in.Path))
}

func (h mavenHandlers) named(ctx context.Context, as authz.Actor, in mavenFile) (api.RawOrContent, error) {
	return mavenAnswer(h.maven.OpenNamed(ctx, as, in.Path))
}

// mavenAnswer is a file, a digest, or the way to another repository.
func mavenAnswer(found *maven.Found, err error) (api.RawOrContent, error) {
	switch {
	case err != nil:
		return api.RawOrContent{}, err
	case found.Else != "":
		return api.RawOrContent{Raw: api.Raw{Status: http.StatusFound, Type: "text/plain", Header: http.Header{"Location": {found.Else}}}}, nil
	case found.Object == nil:
		return api.RawOrContent{Raw: api.Raw{Type: "text/plain", Bytes: []byte(found.Digest)}}, nil
	}
	c, err := packageContent(found.File, found.Object, nil)
	return api.RawOrContent{Content: &c}, err
}

type uploadMavenParams struct {
	projectPath
	mavenFile
	Body api.RawBody `doc:"Content of the file"`
}

func (h mavenHandlers) upload(ctx context.Context, as authz.Actor, in uploadMavenParams) (api.Raw, error) {
	p, err := h.of.packages.Project(ctx, as, in.ID)
	if err != nil {
		return api.Raw{}, err
	}
	taken, err := h.maven.Publish(ctx, as, p, in.Path, in.Body)
	out := api.Raw{Type: "text/plain"}
	if taken == maven.Compared {
		out.Status = http.StatusNoContent
	}
	return out, err
}
