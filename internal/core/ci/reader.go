package ci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// defaultPath is where a project keeps its configuration unless it says otherwise.
const defaultPath = ".gitlab-ci.yml"

// maxListed bounds the paths of a commit that wildcards and rules are compared with.
const maxListed = 100_000

// reader reads the files of configurations as an actor.
type reader struct {
	*Service
	as       authz.Actor
	projects map[string]*project.Project // read so far, by full path
	paths    map[ciconfig.Location][]string
}

func (s *Service) newReader(as authz.Actor, p *project.Project) *reader {
	return &reader{Service: s, as: as, projects: map[string]*project.Project{p.FullPath: p}, paths: map[ciconfig.Location][]string{}}
}

// configuration reads the configuration of a project at a commit: from the path that the project names, which may be of another
// project (path@group/project:ref) or a URL.
func (r *reader) configuration(ctx context.Context, p *project.Project, sha string) ([]byte, ciconfig.Location, error) {
	path := configPath(p, r.Settings.Current().DefaultCIConfigPath)
	var f ciconfig.File
	var err error
	switch file, at, other := strings.Cut(path, "@"); {
	case strings.HasPrefix(path, "https://"), strings.HasPrefix(path, "http://"):
		f, err = r.remote(ctx, path)
	case other:
		in, ref, _ := strings.Cut(at, ":")
		f, err = r.file(ctx, in, ref, file)
	default:
		f, err = r.file(ctx, p.FullPath, sha, path)
	}
	return f.Text, f.Location, err
}

// find returns a project that the actor may read.
func (r *reader) find(ctx context.Context, path string) (*project.Project, error) {
	if p := r.projects[path]; p != nil {
		return p, nil
	}
	p, err := r.Service.Projects.Find(ctx, r.as, path)
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		return nil, ciconfig.ErrNoProject
	}
	if err != nil {
		return nil, err
	}
	r.projects[path] = p
	return p, nil
}

// Read returns an included file.
func (r *reader) Read(ctx context.Context, of ciconfig.Reference) (ciconfig.File, error) {
	switch of.Kind {
	case ciconfig.Local:
		if of.From.Project == "" {
			return ciconfig.File{}, ciconfig.ErrNoFile
		}
		return r.file(ctx, of.From.Project, of.From.Commit, of.Path)
	case ciconfig.ProjectFile:
		return r.file(ctx, of.Project, of.Ref, of.Path)
	case ciconfig.Remote:
		return r.remote(ctx, of.Path)
	case ciconfig.Component:
		return r.component(ctx, of)
	}
	return ciconfig.File{}, ciconfig.ErrUnavailable
}

// file reads a file of a project at a reference, "" for the default branch.
func (r *reader) file(ctx context.Context, in, ref, path string) (ciconfig.File, error) {
	p, err := r.find(ctx, in)
	if err != nil {
		return ciconfig.File{}, err
	}
	if ref == "" && p.DefaultBranch == nil {
		return ciconfig.File{}, ciconfig.ErrNoReference
	}
	f, err := r.Repos.File(ctx, r.as, p, strings.TrimPrefix(path, "/"), ref, repo.WithoutHistory)
	var missing *errs.Error
	if errors.As(err, &missing) && missing.Kind == errs.NotFound {
		if missing.Message == "File" {
			return ciconfig.File{}, ciconfig.ErrNoFile
		}
		return ciconfig.File{}, ciconfig.ErrNoReference
	}
	if errs.Is(err, errs.Forbidden) {
		return ciconfig.File{}, ciconfig.ErrNoProject
	}
	if err != nil {
		return ciconfig.File{}, fmt.Errorf("read configuration: %w", err)
	}
	defer func() { _ = f.Blob.Close() }()
	text, err := io.ReadAll(io.LimitReader(f.Blob, ciconfig.MaxBytes+1))
	if err != nil {
		return ciconfig.File{}, fmt.Errorf("read configuration: %w", err)
	}
	if len(text) > ciconfig.MaxBytes {
		return ciconfig.File{}, ciconfig.ErrTooLarge
	}
	commit := f.CommitID.String()
	return ciconfig.File{
		Text: text, Location: ciconfig.Location{Project: p.FullPath, Commit: commit, Path: f.Path},
		Blob: r.URLs.Blob(p.FullPath, commit, f.Path), Raw: r.URLs.Raw(p.FullPath, commit, f.Path),
	}, nil
}

// component reads templates/NAME.yml or templates/NAME/template.yml of the project that a component's address names.
func (r *reader) component(ctx context.Context, of ciconfig.Reference) (ciconfig.File, error) {
	host, path, _ := strings.Cut(of.Path, "/")
	if host != r.URLs.Host() && !strings.HasSuffix(r.URLs.Root(), "//"+host) {
		return ciconfig.File{}, ciconfig.ErrUnavailable
	}
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return ciconfig.File{}, ciconfig.ErrNoFile
	}
	in, name := path[:i], path[i+1:]
	f, err := r.file(ctx, in, of.Ref, "templates/"+name+".yml")
	if errors.Is(err, ciconfig.ErrNoFile) {
		f, err = r.file(ctx, in, of.Ref, "templates/"+name+"/template.yml")
	}
	return f, err
}

// Paths lists the files of a commit.
func (r *reader) Paths(ctx context.Context, at ciconfig.Location) ([]string, error) {
	at.Path = ""
	if known, ok := r.paths[at]; ok || at.Project == "" {
		return known, nil
	}
	p, err := r.find(ctx, at.Project)
	if err != nil {
		return nil, err
	}
	g, err := r.Repos.Read(ctx, r.as, p)
	if err != nil {
		return nil, err
	}
	rev, err := g.Resolve(ctx, at.Commit)
	if err != nil {
		return nil, ciconfig.ErrNoReference
	}
	var out []string
	err = g.Walk(ctx, rev.Commit, "", func(e gitcmd.PathEntry) error {
		if e.Kind() == gitstore.KindTree {
			return nil
		}
		if len(out) == maxListed {
			return errEnough
		}
		out = append(out, e.Path)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("list files: %w", err)
	}
	r.paths[at] = out
	return out, nil
}

var errEnough = errors.New("enough files")
