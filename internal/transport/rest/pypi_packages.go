package rest

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/packages/pypi"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("pypi_packages", (*Server).pypiRoutes)

func (s *Server) pypiRoutes() []*api.Route {
	service, registry := core.Part[*pypi.Service](s.Services), core.Part[*packages.Service](s.Services)
	read := []authz.Ability{authz.ReadPackage, authz.ReadPrivatePackage}
	routes := func(resource, noun string, needs []authz.Ability) []*api.Route {
		h := pypiHandlers{distributionHandlers{s.below(noun, resource), registry}, service}
		list := []*api.Route{
			api.Get(h.of.path+"/simple", h.names).Doc("List the Python packages of a "+noun+" as pip reads them").Gives("text/html", nil),
			api.Get(h.of.path+"/simple/*package_name", h.files).Doc("List the files of a Python package of a "+noun+" as pip reads them").Gives("text/html", nil),
			api.Get(h.of.path+"/files/:sha256/*file_identifier", h.download).Doc("Download a file of a Python package of a "+noun).Gives("application/octet-stream", nil),
		}
		for _, r := range list {
			r.Needs(needs...).Scope(authz.ScopeReadPackages, authz.ScopeWritePackages).Basic().Public()
		}
		return list
	}
	h := pypiHandlers{distributionHandlers{s.below("project", "packages/pypi"), registry}, service}
	return append(slices.Concat(
		routes("packages/pypi", "project", read), routes("-/packages/pypi", "group", []authz.Ability{authz.ReadGroupPackage, authz.ReadPrivateGroupPackage}),
	),
		api.Post(h.of.path, h.upload).Doc("Publish a file of a Python package").Needs(authz.CreatePackage).Scope(authz.ScopeWritePackages).Basic().MaxBodyNow(h.maxBody),
	)
}

type pypiHandlers struct {
	of   distributionHandlers // finds the project or group
	pypi *pypi.Service
}

func (h pypiHandlers) maxBody() int64 { return roomFor(h.pypi.MaxFile(), maxPyPIFields+2<<20) }

// at finds the project or group. Callers without credentials come again with some where there is none for them.
func (h pypiHandlers) at(ctx context.Context, as authz.Actor, ref string) (authz.Place, error) {
	at, err := h.of.at(ctx, as, ref)
	return at, packages.Challenge(as, err)
}

// address is that of something below the index of a project or group.
func (h pypiHandlers) address(ref string, parts ...string) string {
	path := strings.Replace(h.of.path, ":id", url.PathEscape(ref), 1)
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return h.of.s.URLs.Root() + api.Prefix + path
}

// simplePage is a page that pip reads. Browsers do not run what is in it.
func simplePage(title string, links []string) api.Raw {
	title = html.EscapeString(title)
	text := "<!DOCTYPE html>\n<html>\n<head><meta charset=\"utf-8\"><title>" + title + "</title></head>\n<body>\n<h1>" + title + "</h1>\n" + strings.Join(links, "<br>\n") + "\n</body>\n</html>\n"
	return api.Raw{Type: "text/html; charset=utf-8", Bytes: []byte(text), Tagged: true, Header: http.Header{
		"X-Content-Type-Options": {"nosniff"}, "Content-Security-Policy": {"default-src 'none'; sandbox"},
	}}
}

func (h pypiHandlers) names(ctx context.Context, as authz.Actor, in placePath) (api.Raw, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return api.Raw{}, err
	}
	names, err := h.pypi.Names(ctx, as, at)
	if err != nil {
		return api.Raw{}, err
	}
	links := make([]string, len(names))
	for i, n := range names {
		links[i] = fmt.Sprintf(`<a href="%s">%s</a>`, html.EscapeString(h.address(in.ID, "simple", n.Normalized)), html.EscapeString(n.Name))
	}
	return simplePage("Python packages", links), nil
}

type simplePath struct {
	placePath
	Name string `param:"package_name,required,free" doc:"Name of the package in any spelling"`
}

func (h pypiHandlers) files(ctx context.Context, as authz.Actor, in simplePath) (api.Raw, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return api.Raw{}, err
	}
	list, err := h.pypi.List(ctx, as, at, in.Name)
	if err != nil {
		return api.Raw{}, err
	}
	if list.Else != "" {
		return api.Raw{Status: http.StatusFound, Type: "text/plain", Header: http.Header{"Location": {list.Else}}}, nil
	}
	links := make([]string, len(list.Files))
	for i, f := range list.Files {
		requires := ""
		if f.RequiresPython != "" {
			requires = ` data-requires-python="` + html.EscapeString(f.RequiresPython) + `"`
		}
		address := h.address(in.ID, "files", f.SHA256, f.File) + "#sha256=" + f.SHA256
		links[i] = fmt.Sprintf(`<a href="%s"%s>%s</a>`, html.EscapeString(address), requires, html.EscapeString(f.File))
	}
	return simplePage("Links for "+list.Name, links), nil
}

type pypiFilePath struct {
	placePath
	SHA256 string `param:"sha256,required" doc:"SHA-256 of the file, in hex"`
	File   string `param:"file_identifier,required,free" doc:"Name of the file"`
}

func (h pypiHandlers) download(ctx context.Context, as authz.Actor, in pypiFilePath) (api.Content, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return api.Content{}, err
	}
	return packageContent(h.pypi.Open(ctx, as, at, in.SHA256, in.File))
}
