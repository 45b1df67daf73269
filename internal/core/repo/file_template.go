package repo

import (
	"context"
	"slices"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// file is where the templates of a kind of file are in a project with templates; "" for other kinds.
func (k TemplateKind) file() (folder, ending string) {
	switch k {
	case "dockerfiles":
		return "Dockerfile", ".dockerfile"
	case "gitignores":
		return "gitignore", ".gitignore"
	case "gitlab_ci_ymls":
		return "gitlab-ci", ".yml"
	case "licenses":
		return "LICENSE", ".txt"
	}
	return "", ""
}

// FileTemplate names a template of a file.
type FileTemplate struct{ Key, Name string }

// FileTemplates lists the templates of a kind of file for a project: those of the server and, in the order of their keys, those in the projects
// that its groups and the settings name. It requires ReadProject.
func (s *Service) FileTemplates(ctx context.Context, as authz.Actor, p *project.Project, kind TemplateKind, builtin []FileTemplate, part page.Range) (page.Page[FileTemplate], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadProject, p.Subject()); err != nil {
		return page.None[FileTemplate](part), err
	}
	sources, err := s.templateProjects(ctx, p)
	if err != nil {
		return page.None[FileTemplate](part), err
	}
	folder, ending := kind.file()
	own := map[string]bool{}
	var list []FileTemplate
	for _, source := range sources {
		names, err := templatesIn(ctx, source.repo, source.project, folder, ending)
		if err != nil {
			return page.None[FileTemplate](part), err
		}
		for _, name := range names {
			if !own[name] {
				own[name], list = true, append(list, FileTemplate{name, name})
			}
		}
	}
	if len(list) == 0 {
		return page.Snapshot(builtin, string(kind), part)
	}
	for _, b := range builtin {
		if !own[b.Key] {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(x, y FileTemplate) int { return strings.Compare(x.Key, y.Key) })
	return page.Slice(list, part, byName, func(t *FileTemplate) []any { return []any{t.Key} })
}

// FileTemplate reads a template of a kind of file in the projects that the groups of a project and the settings name; the nearest one
// that has it counts. It requires ReadProject of the project that asks.
func (s *Service) FileTemplate(ctx context.Context, as authz.Actor, p *project.Project, kind TemplateKind, name string) (string, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadProject, p.Subject()); err != nil {
		return "", err
	}
	sources, err := s.templateProjects(ctx, p)
	if err != nil {
		return "", err
	}
	folder, ending := kind.file()
	for _, source := range sources {
		text, err := templateIn(ctx, source.repo, source.project, folder, name, ending)
		if !errs.Is(err, errs.NotFound) {
			return text, err
		}
	}
	return "", errs.Missing("Template")
}

// templateSource is a project whose files are templates.
type templateSource struct {
	project *project.Project
	repo    *gitcmd.Repo
}

// templateProjects finds the projects whose files are templates for a project: those of its groups, the nearest first, then that of the
// instance. Every user who may read the project may use them, also one who may not read where they are.
func (s *Service) templateProjects(ctx context.Context, p *project.Project) ([]templateSource, error) {
	named, err := namespace.FileTemplateProjects(ctx, s.DB, p.NamespaceID)
	if err != nil {
		return nil, err
	}
	if id := s.Settings.Current().FileTemplateProjectID; id != nil {
		named = append(named, namespace.FileTemplateProject{ID: int64(*id)})
	}
	if len(named) == 0 {
		return nil, nil
	}
	ids := make([]project.ID, len(named))
	for i, n := range named {
		ids[i] = project.ID(n.ID)
	}
	found, err := s.Projects.Load(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []templateSource
	for i, n := range named {
		source := found[ids[i]]
		if source == nil || !n.Holds(source.FullPath) || slices.Contains(ids[:i], ids[i]) {
			continue
		}
		r, err := s.Open(ctx, source)
		if err != nil {
			return nil, err
		}
		out = append(out, templateSource{source, r})
	}
	return out, nil
}
