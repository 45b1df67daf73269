package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/reference"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("markdown", (*Server).markdownRoutes)

func (s *Server) markdownRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Post("/markdown", s.renderMarkdown).Always().Doc("Render a Markdown document").Needs(authz.RenderMarkdown),
	)
}

type renderMarkdownParams struct {
	Text    string `param:"text,required" doc:"Markdown text to render"`
	GFM     bool   `param:"gfm" doc:"Render references, as texts of issues and merge requests are rendered"`
	Project string `param:"project" doc:"Full path of the project whose references have no path"`
}

type markdownEntity struct {
	HTML string `json:"html"`
}

func (s *Server) renderMarkdown(ctx context.Context, as authz.Actor, in renderMarkdownParams) (markdownEntity, error) {
	html, err := s.References.Preview(ctx, as, reference.Preview{Text: in.Text, References: in.GFM, Project: in.Project})
	return markdownEntity{HTML: html}, err
}
