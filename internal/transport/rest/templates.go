package rest

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/base/license"
	"tenon/internal/base/starter"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

func (s *Server) templateRoutes() []*api.Route {
	routes := []*api.Route{
		api.Get("/templates/licenses", s.listLicenses).Doc("List licenses for new projects").Public(),
		api.Get("/templates/licenses/:name", s.getLicense).Doc("Get the text of a license").Public(),
	}
	for _, kind := range []starter.Kind{starter.Gitignores, starter.Dockerfiles, starter.Pipelines} {
		h := templateHandlers{kind}
		routes = append(routes,
			api.Get("/templates/"+string(kind), h.list).Doc("List texts for new projects").Public(),
			api.Get("/templates/"+string(kind)+"/:name", h.get).Doc("Get a text for a new project").Public(),
		)
	}
	return api.Scoped(nil, routes...)
}

// licenseTemplate is a license with what it is about and its text.
type licenseTemplate struct {
	licenseEntity
	Popular     bool     `json:"popular"`
	Description string   `json:"description"`
	Conditions  []string `json:"conditions"`
	Permissions []string `json:"permissions"`
	Limitations []string `json:"limitations"`
	Content     string   `json:"content"`
}

func (s *Server) licenseTemplate(l license.License, f license.Filling) licenseTemplate {
	f.Year = s.Now().UTC().Year()
	return licenseTemplate{
		licenseEntity: *aboutLicense(l), Popular: l.Popular, Description: l.Traits.Description, Conditions: l.Traits.Conditions,
		Permissions: l.Traits.Permissions, Limitations: l.Traits.Limitations, Content: l.Text(f),
	}
}

type listLicensesParams struct {
	api.Page
	Popular *bool `param:"popular" doc:"Only those that many take, or only the others"`
}

func (s *Server) listLicenses(_ context.Context, _ authz.Actor, p listLicensesParams) (api.List[licenseTemplate], error) {
	var all []licenseTemplate
	for _, l := range license.List() {
		if p.Popular == nil || *p.Popular == l.Popular {
			all = append(all, s.licenseTemplate(l, license.Filling{}))
		}
	}
	return pageOfTemplates(p.Page, all)
}

// pageOfTemplates answers with a page of a whole list.
func pageOfTemplates[T any](p api.Page, all []T) (api.List[T], error) {
	if p.Keyset() {
		return api.List[T]{}, api.NoKeyset()
	}
	return api.Paged(pageOf(all, p), len(all)), nil
}

type getLicenseParams struct {
	Name     string `param:"name" doc:"Key of the license"`
	Project  string `param:"project" doc:"Name of the project for the text"`
	FullName string `param:"fullname" doc:"Name of the owner for the text"`
}

func (s *Server) getLicense(_ context.Context, _ authz.Actor, p getLicenseParams) (licenseTemplate, error) {
	l, ok := license.Find(p.Name)
	if !ok || l.Text(license.Filling{}) == "" {
		return licenseTemplate{}, errs.Missing("License")
	}
	return s.licenseTemplate(l, license.Filling{Project: p.Project, FullName: p.FullName}), nil
}

type templateHandlers struct{ kind starter.Kind }

type templateName struct {
	Key  string `json:"key"`
	Name string `json:"name"`
}

type templateText struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

type listTemplatesParams struct{ api.Page }

func (h templateHandlers) list(_ context.Context, _ authz.Actor, p listTemplatesParams) (api.List[templateName], error) {
	var all []templateName
	for _, name := range starter.Names(h.kind) {
		all = append(all, templateName{name, name})
	}
	return pageOfTemplates(p.Page, all)
}

type templatePath struct {
	Name string `param:"name" doc:"Name of the text"`
}

func (h templateHandlers) get(_ context.Context, _ authz.Actor, p templatePath) (templateText, error) {
	text, ok := starter.Find(h.kind, p.Name)
	if !ok {
		return templateText{}, errs.Missing("Template")
	}
	return templateText{p.Name, text}, nil
}
