package rest

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("issues", (*Server).issueCSVRoutes)

func (s *Server) issueCSVRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/projects/:id/issues/export_csv", s.exportIssues).Doc("Export issues of a project as CSV").Public().
			Needs(authz.ReadIssue),
		api.Post("/projects/:id/issues/import_csv", s.importIssues).Doc("Import issues from a CSV file").
			Needs(authz.ImportIssues, authz.CreateIssue),
	)
}

type exportIssuesParams struct {
	projectPath
	issueFilterParams
	issueScope
}

func (s *Server) exportIssues(ctx context.Context, as authz.Actor, in exportIssuesParams) (api.Raw, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.Raw{}, err
	}
	f, err := in.filter(in.Scope)
	if err != nil {
		return api.Raw{}, err
	}
	var out bytes.Buffer
	if err := s.Issues.Export(ctx, as, p, f, s.Accounts, &out); err != nil {
		return api.Raw{}, err
	}
	h := http.Header{}
	h.Set("Content-Disposition", httpkit.Attachment(p.Path+"-issues.csv"))
	return api.Raw{Type: "text/csv; charset=utf-8", Header: h, Bytes: out.Bytes()}, nil
}

type importIssuesParams struct {
	projectPath
	File api.File `param:"file,required" doc:"CSV file with a column title, and perhaps description, due_date and weight"`
}

type importedIssues struct {
	Imported int         `json:"imported"`
	IIDs     []issue.IID `json:"iids"`        // in the order of the file
	Errors   []int       `json:"error_lines"` // lines of the file whose issues break a rule
}

func (s *Server) importIssues(ctx context.Context, as authz.Actor, in importIssuesParams) (_ importedIssues, err error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return importedIssues{}, err
	}
	from, err := in.File.Open()
	if err != nil {
		return importedIssues{}, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	made, err := s.Issues.Import(ctx, as, p, from)
	if err != nil {
		return importedIssues{}, err
	}
	return importedIssues{Imported: len(made.Issues), IIDs: made.Issues, Errors: made.Errors}, nil
}
