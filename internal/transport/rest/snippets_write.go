package rest

import (
	"context"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/snippet"
	"tenon/internal/transport/rest/api"
)

type newSnippetFile struct {
	FilePath string `param:"file_path,required" doc:"Path of the file"`
	Content  string `param:"content,required" doc:"Content of the file"`
}

// newSnippetParams are those of a new snippet beside its visibility, whose default differs.
type newSnippetParams struct {
	Title       string           `param:"title,required" doc:"Title of the snippet"`
	Description *string          `param:"description" doc:"Description of the snippet"`
	Files       []newSnippetFile `param:"files" doc:"Files of the snippet"`
	Content     *string          `param:"content" doc:"Content of the only file; instead of files"`
	FileName    string           `param:"file_name" doc:"Name of the only file; required with content"`
	_           struct{}         `exactlyone:"files,content"`
}

func (p *newSnippetParams) input(visibility string) (snippet.Input, error) {
	in := snippet.Input{Title: p.Title, Description: p.Description}
	in.Visibility, _ = authz.ParseVisibility(strings.ToLower(visibility))
	for _, f := range p.Files {
		in.Files = append(in.Files, snippet.File{Action: snippet.CreateFile, Path: f.FilePath, Content: &f.Content})
	}
	if p.Content != nil {
		if p.FileName == "" {
			return in, api.BadParam("file_name is missing")
		}
		in.Files = []snippet.File{{Action: snippet.CreateFile, Path: p.FileName, Content: p.Content}}
	}
	return in, nil
}

type createSnippetParams struct {
	newSnippetParams
	Visibility string `param:"visibility" values:"private,internal,public" default:"internal" doc:"Visibility of the snippet"`
}

func (s *Server) createSnippet(ctx context.Context, as authz.Actor, p createSnippetParams) (snippetEntity, error) {
	in, err := p.input(p.Visibility)
	if err != nil {
		return snippetEntity{}, err
	}
	sn, err := s.Snippets.Create(ctx, as, nil, in)
	return s.oneSnippet(ctx, as, sn, err)
}

type createProjectSnippetParams struct {
	projectPath
	newSnippetParams
	Visibility string `param:"visibility,required" values:"private,internal,public" doc:"Visibility of the snippet"`
}

func (s *Server) createProjectSnippet(ctx context.Context, as authz.Actor, p createProjectSnippetParams) (snippetEntity, error) {
	at, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return snippetEntity{}, err
	}
	in, err := p.input(p.Visibility)
	if err != nil {
		return snippetEntity{}, err
	}
	sn, err := s.Snippets.Create(ctx, as, at, in)
	return s.oneSnippet(ctx, as, sn, err)
}

type snippetFileChange struct {
	Action       string  `param:"action,required" values:"create,update,delete,move" doc:"create, update, delete or move"`
	FilePath     string  `param:"file_path" doc:"Path of the file"`
	PreviousPath string  `param:"previous_path" doc:"Original path of a moved file"`
	Content      *string `param:"content" doc:"New content"`
}

type snippetChangeParams struct {
	Title       *string             `param:"title" doc:"Title of the snippet"`
	Description *string             `param:"description" doc:"Description of the snippet"`
	Visibility  *string             `param:"visibility" values:"private,internal,public" doc:"Visibility of the snippet"`
	Files       []snippetFileChange `param:"files" doc:"Changes of files"`
	Content     *string             `param:"content" doc:"Content of the only file"`
	FileName    *string             `param:"file_name" doc:"Name of the only file"`
	_           struct{}            `atleastone:"content,description,files,file_name,title,visibility"`
	_           struct{}            `exclusive:"files,content"`
	_           struct{}            `exclusive:"files,file_name"`
}

func (p *snippetChangeParams) changes() snippet.Changes {
	c := snippet.Changes{Title: p.Title, Description: p.Description, Visibility: visibilityOf(p.Visibility), Content: p.Content, FileName: p.FileName}
	for _, f := range p.Files {
		c.Files = append(c.Files, snippet.File{Action: snippet.Action(f.Action), Path: f.FilePath, Previous: f.PreviousPath, Content: f.Content})
	}
	return c
}

type updateSnippetParams struct {
	snippetPath
	snippetChangeParams
}

func (s *Server) updateSnippet(ctx context.Context, as authz.Actor, p updateSnippetParams) (snippetEntity, error) {
	return s.changeSnippet(ctx, as, nil, p.ID, p.snippetChangeParams)
}

type updateProjectSnippetParams struct {
	projectSnippetPath
	snippetChangeParams
}

func (s *Server) updateProjectSnippet(ctx context.Context, as authz.Actor, p updateProjectSnippetParams) (snippetEntity, error) {
	at, err := s.Projects.Find(ctx, as, p.projectPath.ID)
	if err != nil {
		return snippetEntity{}, err
	}
	return s.changeSnippet(ctx, as, at, p.SnippetID, p.snippetChangeParams)
}

func (s *Server) changeSnippet(ctx context.Context, as authz.Actor, at *project.Project, id snippet.ID, p snippetChangeParams) (snippetEntity, error) {
	sn, err := s.Snippets.Update(ctx, as, at, id, p.changes())
	return s.oneSnippet(ctx, as, sn, err)
}
