package rest

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/base/license"
	"tenon/internal/base/starter"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("templates", (*Server).templateRoutes)

func (s *Server) templateRoutes() []*api.Route {
	routes := []*api.Route{
		api.Get("/templates/licenses", s.listLicenses).Doc("List license templates").Public(),
		api.Get("/templates/licenses/:name", s.getLicense).Doc("Get a license template").Public(),
	}
	for _, kind := range []starter.Kind{starter.Gitignores, starter.Dockerfiles, starter.Pipelines} {
		h := templateHandlers{kind}
		routes = append(routes,
			api.Get("/templates/"+string(kind), h.list).Doc("List templates").Public(),
			api.Get("/templates/"+string(kind)+"/:name", h.get).Doc("Get a template").Public(),
		)
	}
	routes = append(routes,
		api.Get("/projects/:id/templates/:type", s.listProjectTemplates).Doc("List the templates of a project").
			Needs(authz.ReadProject, authz.ReadCode).Public(),
		api.Get("/projects/:id/templates/:type/:name", s.getProjectTemplate).Doc("Get a template of a project").
			Needs(authz.ReadProject, authz.ReadCode).Public(),
	)
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
	Popular *bool `param:"popular" doc:"Filter by popularity"`
}

func (s *Server) listLicenses(_ context.Context, _ authz.Actor, p listLicensesParams) (api.List[licenseTemplate], error) {
	list, err := license.List(p.Popular, p.Range())
	return api.ListOf(list, func(l *license.License) licenseTemplate { return s.licenseTemplate(*l, license.Filling{}) }), err
}

type getLicenseParams struct {
	Name     string `param:"name" doc:"Key of the license template"`
	Project  string `param:"project" doc:"Project name for the template"`
	FullName string `param:"fullname" doc:"Full name of the copyright holder for the template"`
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
	names, err := starter.List(h.kind, p.Range())
	return api.Listed(names, templateNames(names.Items)), err
}

func templateNames(names []string) []templateName {
	out := make([]templateName, len(names))
	for i, name := range names {
		out[i] = templateName{name, name}
	}
	return out
}

type templatePath struct {
	Name string `param:"name" doc:"Name of the template"`
}

func (h templateHandlers) get(_ context.Context, _ authz.Actor, p templatePath) (templateText, error) {
	text, ok := starter.Find(h.kind, p.Name)
	if !ok {
		return templateText{}, errs.Missing("Template")
	}
	return templateText{p.Name, text}, nil
}

// templatesPath names the texts of one kind that a project offers.
type templatesPath struct {
	projectPath
	Type string `param:"type" values:"dockerfiles,gitignores,gitlab_ci_ymls,licenses,issues,merge_requests" doc:"Type of template: dockerfiles, gitignores, gitlab_ci_ymls, licenses, issues or merge_requests"`
}

type projectTemplatesParams struct {
	templatesPath
	api.Page
}

func (s *Server) listProjectTemplates(ctx context.Context, as authz.Actor, p projectTemplatesParams) (api.List[templateName], error) {
	found, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return api.List[templateName]{}, err
	}
	kind := repo.TemplateKind(p.Type)
	if kind == repo.IssueTemplate || kind == repo.MergeRequestTemplate {
		names, err := s.Repos.Templates(ctx, as, found, kind, p.Range())
		return api.Listed(names, templateNames(names.Items)), err
	}
	list, err := s.Repos.FileTemplates(ctx, as, found, kind, builtinTemplates(p.Type), p.Range())
	return api.ListOf(list, func(t *repo.FileTemplate) templateName { return templateName{t.Key, t.Name} }), err
}

// builtinTemplates are those of the server.
func builtinTemplates(kind string) []repo.FileTemplate {
	var out []repo.FileTemplate
	if kind == "licenses" {
		for _, l := range license.All() {
			out = append(out, repo.FileTemplate{Key: l.Key, Name: l.Name})
		}
		return out
	}
	for _, name := range starter.Names(starter.Kind(kind)) {
		out = append(out, repo.FileTemplate{Key: name, Name: name})
	}
	return out
}

type projectTemplateParams struct {
	templatesPath
	Name     string      `param:"name" doc:"Key of the template"`
	Source   *project.ID `param:"source_template_project_id" doc:"ID of the project that has the template; defaults to this project"`
	Project  string      `param:"project" doc:"Project name for the license"`
	FullName string      `param:"fullname" doc:"Full name of the copyright holder for the license"`
}

// templateForm is a template: a text, or a license with more about it.
type templateForm interface {
	OneOf(text templateText, full licenseTemplate)
}

// OneOf names the forms of a template.
func (templateText) OneOf(templateText, licenseTemplate) {}

// OneOf names the forms of a template.
func (licenseTemplate) OneOf(templateText, licenseTemplate) {}

func (s *Server) getProjectTemplate(ctx context.Context, as authz.Actor, p projectTemplateParams) (templateForm, error) {
	found, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	kind := repo.TemplateKind(p.Type)
	if kind == repo.IssueTemplate || kind == repo.MergeRequestTemplate {
		if p.Source != nil {
			if found, err = s.Projects.FindByID(ctx, as, *p.Source); err != nil {
				return nil, err
			}
		}
		text, err := s.Repos.Template(ctx, as, found, kind, p.Name)
		if err != nil {
			return nil, err
		}
		return templateText{p.Name, text}, nil
	}
	text, err := s.Repos.FileTemplate(ctx, as, found, kind, p.Name)
	switch {
	case errs.Is(err, errs.NotFound):
		return s.builtinTemplate(ctx, as, p)
	case err != nil:
		return nil, err
	case p.Type == "licenses":
		return licenseTemplate{
			licenseEntity: licenseEntity{Key: p.Name, Name: p.Name}, Conditions: []string{}, Permissions: []string{}, Limitations: []string{}, Content: text,
		}, nil
	}
	return templateText{p.Name, text}, nil
}

// builtinTemplate is one of the server.
func (s *Server) builtinTemplate(ctx context.Context, as authz.Actor, p projectTemplateParams) (templateForm, error) {
	if p.Type != "licenses" {
		return templateHandlers{starter.Kind(p.Type)}.get(ctx, as, templatePath{p.Name})
	}
	l, ok := license.Find(p.Name)
	if !ok || l.Text(license.Filling{}) == "" {
		return nil, errs.Missing("Template")
	}
	return s.licenseTemplate(l, license.Filling{Project: p.Project, FullName: p.FullName}), nil
}
