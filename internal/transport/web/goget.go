package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/core/project"
)

// goGets reports whether the go command asks where a package comes from.
func goGets(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.URL.Query().Get("go-get") == "1" && len(importParts(r.URL.Path)) >= 2
}

// importParts are the parts at the beginning of a path that may name groups and a project.
func importParts(path string) []string {
	var out []string
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if part == "" || part == "-" || strings.ContainsFunc(part, func(c rune) bool {
			return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '.' && c != '-' && c != '_'
		}) {
			break
		}
		out = append(out, part)
	}
	return out
}

// module is what the go command has to know of a project.
type module struct{ Path, Import, Source string }

// getModule says where the module is that a path is in: the one of the longest beginning that names a project which
// the caller may read, and otherwise of the first two parts, so that hidden and absent look alike.
func (x *visit) getModule() (templ.Component, error) {
	parts := importParts(x.r.URL.Path)
	prefix := strings.Join(parts[:2], "/")
	path, branch := prefix, "main"
	p, beginning, err := x.Projects.Beginning(x.r.Context(), x.as, strings.Join(parts, "/"))
	switch {
	case err == nil:
		prefix, path, branch = beginning, p.FullPath, moduleBranch(p)
	case !errs.Is(err, errs.NotFound):
		return nil, err
	}
	remote := x.URLs.HTTPRepository(path)
	if x.Settings.Current().EnabledGitAccessProtocol == "ssh" && x.URLs.HasSSH() {
		remote = x.URLs.SSHRepositoryURL(path)
	}
	root := x.URLs.ImportPath(prefix)
	x.sent = true
	page := modulePage(module{
		Path:   root,
		Import: root + " git " + remote,
		Source: root + " " + x.URLs.Project(path) + " " + x.URLs.Folder(path, branch, "") + "{/dir} " + strings.Replace(x.URLs.Folder(path, branch, ""), "/-/tree/", "/-/blob/", 1) + "{/dir}/{file}#L{line}",
	})
	return nil, page.Render(context.WithoutCancel(x.r.Context()), x.w)
}

func moduleBranch(p *project.Project) string {
	if branch := branchOf(p); branch != "" {
		return branch
	}
	return "main"
}
