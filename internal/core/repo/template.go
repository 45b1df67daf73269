package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/charset"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// TemplateKind is what a text of the repository is a template of.
type TemplateKind string

// The kinds, named like the API's.
const (
	IssueTemplate        TemplateKind = "issues"
	MergeRequestTemplate TemplateKind = "merge_requests"
)

// folder is where the templates of a kind stand on the default branch.
func (k TemplateKind) folder() string {
	if k == MergeRequestTemplate {
		return ".gitlab/merge_request_templates"
	}
	return ".gitlab/issue_templates"
}

// file is where the templates of a kind of file are in the project that the settings name; "" for other kinds.
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

const (
	templateEnding = ".md"
	maxTemplate    = 1 << 20 // bytes
)

// Templates lists the names of the project's own templates, in git's order. It requires
// ReadCode.
func (s *Service) Templates(ctx context.Context, as authz.Actor, p *project.Project, kind TemplateKind, part page.Range) (page.Page[string], error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return page.None[string](part), err
	}
	names, err := templatesIn(ctx, r, p, kind.folder(), templateEnding)
	if err != nil || names == nil {
		return page.None[string](part), err
	}
	return page.Slice(names, part, byName, func(name *string) []any { return []any{*name} })
}

// templatesIn lists the names of the templates in a folder of the default branch.
func templatesIn(ctx context.Context, r *gitcmd.Repo, p *project.Project, folder, ending string) ([]string, error) {
	rev, err := resolve(ctx, r, p, "", "Template")
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := r.List(ctx, rev.Commit, folder)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list templates: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name, ending); ok && name != "" && isFile(e.TreeEntry) {
			names = append(names, strings.ToValidUTF8(name, string(utf8.RuneError)))
		}
	}
	slices.Sort(names)
	return names, nil
}

// FileTemplate names a template of a file.
type FileTemplate struct{ Key, Name string }

// FileTemplates lists the templates of a kind of file for a project: those of the server and, in the order of their keys, those in the project
// that the settings name. It requires ReadProject.
func (s *Service) FileTemplates(ctx context.Context, as authz.Actor, p *project.Project, kind TemplateKind, builtin []FileTemplate, part page.Range) (page.Page[FileTemplate], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadProject, p.Subject()); err != nil {
		return page.None[FileTemplate](part), err
	}
	var own []string
	source, r, err := s.templateProject(ctx)
	if source != nil {
		folder, ending := kind.file()
		own, err = templatesIn(ctx, r, source, folder, ending)
	}
	if err != nil {
		return page.None[FileTemplate](part), err
	}
	if len(own) == 0 {
		return page.Snapshot(builtin, string(kind), part)
	}
	list := make([]FileTemplate, 0, len(own)+len(builtin))
	for _, name := range own {
		list = append(list, FileTemplate{name, name})
	}
	for _, b := range builtin {
		if !slices.Contains(own, b.Key) {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(x, y FileTemplate) int { return strings.Compare(x.Key, y.Key) })
	return page.Slice(list, part, byName, func(t *FileTemplate) []any { return []any{t.Key} })
}

// FileTemplate reads a template of a kind of file in the project that the settings name. It requires ReadProject of the project that asks.
func (s *Service) FileTemplate(ctx context.Context, as authz.Actor, p *project.Project, kind TemplateKind, name string) (string, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadProject, p.Subject()); err != nil {
		return "", err
	}
	source, r, err := s.templateProject(ctx)
	if err != nil {
		return "", err
	}
	if source == nil {
		return "", errs.Missing("Template")
	}
	folder, ending := kind.file()
	return templateIn(ctx, r, source, folder, name, ending)
}

// templateProject finds the project whose files are templates; nil for none. Every user may use them, also one who may not read the project.
func (s *Service) templateProject(ctx context.Context) (*project.Project, *gitcmd.Repo, error) {
	id := s.Settings.Current().FileTemplateProjectID
	if id == nil {
		return nil, nil, nil
	}
	found, err := s.Projects.Load(ctx, []project.ID{project.ID(*id)})
	p := found[project.ID(*id)]
	if p == nil || err != nil {
		return nil, nil, err
	}
	r, err := s.Open(ctx, p)
	return p, r, err
}

// Template reads one of the project's own templates, whose name must match. One that is
// no text file, or longer than a description may be, is not found. It requires ReadCode.
func (s *Service) Template(ctx context.Context, as authz.Actor, p *project.Project, kind TemplateKind, name string) (string, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return "", err
	}
	return templateIn(ctx, r, p, kind.folder(), name, templateEnding)
}

// templateIn reads a template in a folder of the default branch.
func templateIn(ctx context.Context, r *gitcmd.Repo, p *project.Project, folder, name, ending string) (string, error) {
	gone := errs.Missing("Template")
	if name == "" || strings.ContainsRune(name, '/') {
		return "", gone
	}
	rev, err := resolve(ctx, r, p, "", "Template")
	if err != nil {
		return "", err
	}
	e, err := r.Entry(ctx, rev.Commit, folder+"/"+name+ending)
	if err != nil {
		return "", missing(err, "Template")
	}
	if !isFile(e) {
		return "", gone
	}
	text, err := r.Blob(ctx, e.ID, maxTemplate)
	if errors.Is(err, gitstore.ErrTooLarge) {
		return "", gone
	}
	if err != nil {
		return "", fmt.Errorf("read template: %w", err)
	}
	return charset.Text(text, ""), nil
}

// isFile reports whether an entry is a file, and neither a link nor anything else.
func isFile(e gitstore.TreeEntry) bool {
	return e.Mode == gitstore.ModeFile || e.Mode == gitstore.ModeExecutable
}
