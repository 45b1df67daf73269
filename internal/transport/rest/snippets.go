package rest

import (
	"context"
	"net/http"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/snippet"
	"tenon/internal/core/tree"
	"tenon/internal/core/weburl"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/rest/api"
)

// maxSnippetBody bounds the body of a call that writes files, which JSON makes longer.
func (s *Server) maxSnippetBody() int64 { return s.Snippets.MaxBytes()/5*6 + 1<<20 }

var _ = Resource("snippets", (*Server).snippetRoutes)

func (s *Server) snippetRoutes() []*api.Route {
	const path, one = "/projects/:id/snippets", "/projects/:id/snippets/:snippet_id"
	return api.Scoped(nil,
		api.Get("/snippets", s.listOwnSnippets).Doc("List the snippets of the current user").Needs(authz.ListSnippets),
		api.Get("/snippets/public", s.listPublicSnippets).Doc("List all public personal snippets").Needs(authz.ListSnippets),
		api.Get("/snippets/all", s.listAllSnippets).Doc("List all snippets that the current user may read").Needs(authz.ListSnippets),
		api.Post("/snippets", s.createSnippet).Doc("Create a personal snippet").Needs(authz.CreatePersonalSnippet).MaxBodyNow(s.maxSnippetBody),
		api.Get("/snippets/:id", s.getSnippet).Doc("Get a snippet").Needs(authz.ReadSnippet).Public(),
		api.Put("/snippets/:id", s.updateSnippet).Timed().Doc("Update a snippet").Needs(authz.UpdateSnippet, authz.ReadSnippet).MaxBodyNow(s.maxSnippetBody),
		api.Delete("/snippets/:id", s.deleteSnippet).Timed().Doc("Delete a snippet").Needs(authz.UpdateSnippet, authz.ReadSnippet),
		api.Get("/snippets/:id/raw", s.rawSnippet).Doc("Get the raw content of a snippet").Needs(authz.ReadSnippet).Public(),
		api.Get("/snippets/:id/files/:ref/:file_path/raw", s.rawSnippetFile).Doc("Get the raw content of a file of a snippet").Needs(authz.ReadSnippet).Public(),
		api.Get("/snippets/:id/user_agent_detail", s.snippetUserAgent).Doc("Get the user agent details of a snippet").Needs(authz.ReadUserAgent, authz.ReadSnippet),

		api.Get(path, s.listProjectSnippets).Doc("List the snippets of a project").Needs(authz.ReadSnippet).Public(),
		api.Post(path, s.createProjectSnippet).Doc("Create a snippet of a project").Needs(authz.CreateSnippet).MaxBodyNow(s.maxSnippetBody),
		api.Get(one, s.getProjectSnippet).Doc("Get a snippet of a project").Needs(authz.ReadSnippet).Public(),
		api.Put(one, s.updateProjectSnippet).Timed().Doc("Update a snippet of a project").Needs(authz.UpdateSnippet, authz.ReadSnippet).MaxBodyNow(s.maxSnippetBody),
		api.Delete(one, s.deleteProjectSnippet).Timed().Doc("Delete a snippet of a project").Needs(authz.UpdateSnippet, authz.ReadSnippet),
		api.Get(one+"/raw", s.rawProjectSnippet).Doc("Get the raw content of a snippet of a project").Needs(authz.ReadSnippet).Public(),
		api.Get(one+"/files/:ref/:file_path/raw", s.rawProjectSnippetFile).Doc("Get the raw content of a file of a snippet of a project").
			Needs(authz.ReadSnippet).Public(),
		api.Get(one+"/user_agent_detail", s.projectSnippetUserAgent).Doc("Get the user agent details of a snippet of a project").Needs(authz.ReadUserAgent, authz.ReadSnippet),
	)
}

type snippetEntity struct {
	ID                snippet.ID    `json:"id"`
	Title             string        `json:"title"`
	Description       *string       `json:"description"`
	Visibility        string        `json:"visibility"`
	Author            *userBasic    `json:"author"`
	CreatedAt         api.Time      `json:"created_at"`
	UpdatedAt         api.Time      `json:"updated_at"`
	ProjectID         *project.ID   `json:"project_id"`
	WebURL            string        `json:"web_url"`
	RawURL            string        `json:"raw_url"`
	SSHURL            string        `json:"ssh_url_to_repo"`
	HTTPURL           string        `json:"http_url_to_repo"`
	FileName          *string       `json:"file_name"`
	Files             []snippetFile `json:"files"`
	Imported          bool          `json:"imported"`
	ImportedFrom      string        `json:"imported_from"`
	RepositoryStorage *string       `json:"repository_storage,omitempty"` // for administrators
}

type snippetFile struct {
	Path   string `json:"path"`
	RawURL string `json:"raw_url"`
}

func (s *Server) snippetEntity(as authz.Actor, sn *snippet.Snippet, users map[authz.UserID]*account.Summary) snippetEntity {
	at := weburl.SnippetRepository(sn.ProjectPath, int64(sn.ID))
	page := s.URLs.Snippet(sn.ProjectPath, int64(sn.ID))
	e := snippetEntity{
		ID: sn.ID, Title: sn.Title, Description: sn.Description, Visibility: sn.Visibility.String(), Author: s.user(users[sn.AuthorID]),
		CreatedAt: api.Time(sn.CreatedAt.Time), UpdatedAt: api.Time(sn.UpdatedAt.Time), ProjectID: sn.ProjectID, WebURL: page,
		RawURL: page + "/raw", SSHURL: s.URLs.SSHRepository(at), HTTPURL: s.URLs.HTTPRepository(at), Files: []snippetFile{}, Imported: sn.Origin != tree.Here, ImportedFrom: sn.Origin.String(),
	}
	for _, path := range sn.Files() {
		e.Files = append(e.Files, snippetFile{path, s.URLs.SnippetRaw(sn.ProjectPath, int64(sn.ID), sn.Branch, path)})
	}
	if len(e.Files) > 0 {
		e.FileName = &e.Files[0].Path
	}
	if storage := sn.Storage(as); storage != "" {
		e.RepositoryStorage = &storage
	}
	return e
}

func (s *Server) snippetEntities(ctx context.Context, as authz.Actor, list page.Page[snippet.Snippet], err error) (api.List[snippetEntity], error) {
	if err != nil {
		return api.List[snippetEntity]{}, err
	}
	ids := make([]authz.UserID, len(list.Items))
	for i := range list.Items {
		ids[i] = list.Items[i].AuthorID
	}
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return api.List[snippetEntity]{}, err
	}
	return api.ListOf(list, func(sn *snippet.Snippet) snippetEntity { return s.snippetEntity(as, sn, users) }), nil
}

func (s *Server) oneSnippet(ctx context.Context, as authz.Actor, sn *snippet.Snippet, err error) (snippetEntity, error) {
	if err != nil {
		return snippetEntity{}, snippetRefusal(err)
	}
	users, err := s.Accounts.ByIDs(ctx, []authz.UserID{sn.AuthorID})
	if err != nil {
		return snippetEntity{}, err
	}
	return s.snippetEntity(as, sn, users), nil
}

// snippetRefusal puts what breaks a rule into the frame that the contract has for snippets.
func snippetRefusal(err error) error {
	if !errs.Is(err, errs.Invalid) {
		return err
	}
	type body struct {
		Message struct {
			Error string `json:"error"`
		} `json:"message"`
	}
	var b body
	b.Message.Error = err.Error()
	return &api.Answer{Status: http.StatusBadRequest, Body: b}
}

type listSnippetsParams struct {
	CreatedAfter  *time.Time `param:"created_after" doc:"Return snippets created after this time"`
	CreatedBefore *time.Time `param:"created_before" doc:"Return snippets created before this time"`
	api.Page
}

func (p *listSnippetsParams) filter(scope snippet.Scope) snippet.Filter {
	return snippet.Filter{
		Scope: scope, CreatedAfter: p.CreatedAfter, CreatedBefore: p.CreatedBefore, Range: p.Range(),
	}
}

func (s *Server) listSnippets(ctx context.Context, as authz.Actor, f snippet.Filter) (api.List[snippetEntity], error) {
	list, err := s.Snippets.List(ctx, as, f)
	return s.snippetEntities(ctx, as, list, err)
}

func (s *Server) listOwnSnippets(ctx context.Context, as authz.Actor, p listSnippetsParams) (api.List[snippetEntity], error) {
	return s.listSnippets(ctx, as, p.filter(snippet.Own))
}

func (s *Server) listPublicSnippets(ctx context.Context, as authz.Actor, p listSnippetsParams) (api.List[snippetEntity], error) {
	return s.listSnippets(ctx, as, p.filter(snippet.Public))
}

type listAllSnippetsParams struct {
	listSnippetsParams
	Storage string `param:"repository_storage" doc:"Repository storage to filter by (administrators only)"`
}

func (s *Server) listAllSnippets(ctx context.Context, as authz.Actor, p listAllSnippetsParams) (api.List[snippetEntity], error) {
	f := p.filter(snippet.All)
	f.Storage = p.Storage
	return s.listSnippets(ctx, as, f)
}

type listProjectSnippetsParams struct {
	projectPath
	api.Page
}

func (s *Server) listProjectSnippets(ctx context.Context, as authz.Actor, p listProjectSnippetsParams) (api.List[snippetEntity], error) {
	at, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return api.List[snippetEntity]{}, err
	}
	list, err := s.Snippets.ListOf(ctx, as, at, snippet.Filter{Range: p.Range()})
	return s.snippetEntities(ctx, as, list, err)
}

type snippetPath struct {
	ID snippet.ID `param:"id" doc:"ID of the snippet"`
}

type projectSnippetPath struct {
	projectPath
	SnippetID snippet.ID `param:"snippet_id" doc:"ID of the snippet"`
}

func (s *Server) getSnippet(ctx context.Context, as authz.Actor, p snippetPath) (snippetEntity, error) {
	sn, err := s.Snippets.Find(ctx, as, nil, p.ID)
	return s.oneSnippet(ctx, as, sn, err)
}

func (s *Server) getProjectSnippet(ctx context.Context, as authz.Actor, p projectSnippetPath) (snippetEntity, error) {
	at, err := s.Projects.Find(ctx, as, p.projectPath.ID)
	if err != nil {
		return snippetEntity{}, err
	}
	sn, err := s.Snippets.Find(ctx, as, at, p.SnippetID)
	return s.oneSnippet(ctx, as, sn, err)
}

func (s *Server) deleteSnippet(ctx context.Context, as authz.Actor, p snippetPath) (api.None, error) {
	return api.None{}, s.Snippets.Delete(ctx, as, nil, p.ID)
}

func (s *Server) deleteProjectSnippet(ctx context.Context, as authz.Actor, p projectSnippetPath) (api.None, error) {
	at, err := s.Projects.Find(ctx, as, p.projectPath.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Snippets.Delete(ctx, as, at, p.SnippetID)
}

type snippetFilePath struct {
	Ref      string `param:"ref,required,free" doc:"Branch, tag or commit"`
	FilePath string `param:"file_path,required,free" doc:"URL-encoded path of the file"`
}

type snippetFileParams struct {
	snippetPath
	snippetFilePath
}

type projectSnippetFileParams struct {
	projectSnippetPath
	snippetFilePath
}

// snippetContent sends a file. Browsers save it and take it for plain text.
func (s *Server) snippetContent(ctx context.Context, as authz.Actor, at *project.Project, id snippet.ID, file snippetFilePath) (api.Content, error) {
	f, err := s.Snippets.Open(ctx, as, at, id, file.Ref, file.FilePath)
	if err != nil {
		return api.Content{}, err
	}
	raw, err := rawBlob(f.Blob)
	if err != nil {
		return api.Content{}, err
	}
	raw.Type = "text/plain; charset=utf-8"
	raw.Header.Set("Content-Disposition", httpkit.Attachment(f.Name()))
	raw.Header.Set("X-Content-Type-Options", "nosniff")
	return raw, nil
}

func (s *Server) rawSnippet(ctx context.Context, as authz.Actor, p snippetPath) (api.Content, error) {
	return s.snippetContent(ctx, as, nil, p.ID, snippetFilePath{})
}

func (s *Server) rawSnippetFile(ctx context.Context, as authz.Actor, p snippetFileParams) (api.Content, error) {
	return s.snippetContent(ctx, as, nil, p.ID, p.snippetFilePath)
}

func (s *Server) rawProjectSnippet(ctx context.Context, as authz.Actor, p projectSnippetPath) (api.Content, error) {
	return s.rawProjectSnippetFile(ctx, as, projectSnippetFileParams{projectSnippetPath: p})
}

func (s *Server) rawProjectSnippetFile(ctx context.Context, as authz.Actor, p projectSnippetFileParams) (api.Content, error) {
	at, err := s.Projects.Find(ctx, as, p.projectPath.ID)
	if err != nil {
		return api.Content{}, err
	}
	return s.snippetContent(ctx, as, at, p.SnippetID, p.snippetFilePath)
}

func (s *Server) snippetUserAgent(ctx context.Context, as authz.Actor, p snippetPath) (userAgentDetail, error) {
	agent, address, err := s.Snippets.UserAgent(ctx, as, nil, p.ID)
	return userAgentDetail{UserAgent: agent, Address: address}, err
}

func (s *Server) projectSnippetUserAgent(ctx context.Context, as authz.Actor, p projectSnippetPath) (userAgentDetail, error) {
	at, err := s.Projects.Find(ctx, as, p.projectPath.ID)
	if err != nil {
		return userAgentDetail{}, err
	}
	agent, address, err := s.Snippets.UserAgent(ctx, as, at, p.SnippetID)
	return userAgentDetail{UserAgent: agent, Address: address}, err
}
