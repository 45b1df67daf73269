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
