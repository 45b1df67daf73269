package rest

import (
	"context"
	"path"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/search"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("search", (*Server).searchRoutes)

func (s *Server) searchRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/search", s.searchAll).Doc("Search across the instance").Needs(authz.Search, authz.ListOwnIssues),
		api.Get("/groups/:id/search", s.searchGroup).Alias("/groups/:id/-/search").Doc("Search in a group").Needs(authz.Search, authz.ReadGroup),
		api.Get("/projects/:id/search", s.searchProject).Alias("/projects/:id/-/search").Doc("Search in a project").Needs(authz.Search, authz.ReadIssue, authz.ReadMergeRequest, authz.ReadCode, authz.ReadWiki),
	)
}

// foundEntity is one of what a search found.
type foundEntity interface {
	OneOf(foundProject, foundIssue, foundRequest, foundMilestone, foundUser, foundNote, foundSnippet, foundCommit, foundBlob)
}

type (
	foundProject   struct{ *projectBasic }
	foundIssue     struct{ issueEntity }
	foundRequest   struct{ mergeRequestEntity }
	foundMilestone struct{ milestoneEntity }
	foundUser      struct{ userBasic }
	foundNote      struct{ noteEntity }
	foundSnippet   struct{ snippetEntity }
	foundCommit    struct{ commitDetailEntity }
)

// foundBlob is a file, or a place in one.
type foundBlob struct {
	Basename  string     `json:"basename"` // the path without its ending
	Data      string     `json:"data"`
	Path      string     `json:"path"`
	Filename  string     `json:"filename"` // the same as the path, for older clients
	ID        *string    `json:"id"`       // null: only an index of all repositories has ids
	Ref       string     `json:"ref"`
	Startline int        `json:"startline"`
	ProjectID project.ID `json:"project_id"`
}

// OneOf names what searches find.
func (foundProject) OneOf(foundProject, foundIssue, foundRequest, foundMilestone, foundUser, foundNote, foundSnippet, foundCommit, foundBlob) {
}

// OneOf names what searches find.
func (foundIssue) OneOf(foundProject, foundIssue, foundRequest, foundMilestone, foundUser, foundNote, foundSnippet, foundCommit, foundBlob) {
}

// OneOf names what searches find.
func (foundRequest) OneOf(foundProject, foundIssue, foundRequest, foundMilestone, foundUser, foundNote, foundSnippet, foundCommit, foundBlob) {
}

// OneOf names what searches find.
func (foundMilestone) OneOf(foundProject, foundIssue, foundRequest, foundMilestone, foundUser, foundNote, foundSnippet, foundCommit, foundBlob) {
}

// OneOf names what searches find.
func (foundUser) OneOf(foundProject, foundIssue, foundRequest, foundMilestone, foundUser, foundNote, foundSnippet, foundCommit, foundBlob) {
}

// OneOf names what searches find.
func (foundNote) OneOf(foundProject, foundIssue, foundRequest, foundMilestone, foundUser, foundNote, foundSnippet, foundCommit, foundBlob) {
}

// OneOf names what searches find.
func (foundSnippet) OneOf(foundProject, foundIssue, foundRequest, foundMilestone, foundUser, foundNote, foundSnippet, foundCommit, foundBlob) {
}

// OneOf names what searches find.
func (foundCommit) OneOf(foundProject, foundIssue, foundRequest, foundMilestone, foundUser, foundNote, foundSnippet, foundCommit, foundBlob) {
}

// OneOf names what searches find.
func (foundBlob) OneOf(foundProject, foundIssue, foundRequest, foundMilestone, foundUser, foundNote, foundSnippet, foundCommit, foundBlob) {
}

// searchParams are what every search takes.
type searchParams struct {
	Search       string   `param:"search,required" doc:"Text to search for"`
	State        string   `param:"state" values:"all,opened,closed,merged" doc:"State of issues and merge requests"`
	Confidential *bool    `param:"confidential" doc:"Return only confidential issues, or only issues that are not"`
	OrderBy      string   `param:"order_by" values:"created_at" doc:"created_at; the best match comes first where it is absent"`
	Sort         string   `param:"sort" values:"asc,desc" doc:"asc or desc, with order_by"`
	Fields       []string `param:"fields" doc:"Accepted and ignored"`
	api.Page
}

func (p *searchParams) query() search.Query {
	q := search.Query{
		Text: p.Search, State: p.State, Confidential: p.Confidential, Archived: true, ByCreation: p.OrderBy != "", Asc: p.Sort == "asc", Range: p.Range(),
	}
	if p.State == "all" {
		q.State = ""
	}
	return q
}

type withArchivedProjects struct {
	Archived bool `param:"include_archived" default:"false" doc:"Include archived projects"`
}

type searchAllParams struct {
	Scope string `param:"scope,required" values:"projects,issues,merge_requests,milestones,snippet_titles,users,wiki_blobs,commits,blobs,notes" doc:"What to search for; wiki_blobs, commits and blobs are found in one project alone"`
	searchParams
	withArchivedProjects
}

func (s *Server) searchAll(ctx context.Context, as authz.Actor, in searchAllParams) (api.List[foundEntity], error) {
	q := in.query()
	q.Archived = in.Archived
	return s.found(ctx, as, authz.Place{}, search.Scope(in.Scope), q)
}

type searchGroupParams struct {
	ID    string `param:"id,required" doc:"ID or URL-encoded path of the group"`
	Scope string `param:"scope,required" values:"projects,issues,merge_requests,milestones,users,wiki_blobs,commits,blobs,notes" doc:"What to search for; wiki_blobs, commits and blobs are found in one project alone"`
	searchParams
	withArchivedProjects
}

func (s *Server) searchGroup(ctx context.Context, as authz.Actor, in searchGroupParams) (api.List[foundEntity], error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[foundEntity]{}, err
	}
	q := in.query()
	q.Archived = in.Archived
	return s.found(ctx, as, g.Place(), search.Scope(in.Scope), q)
}

type searchProjectParams struct {
	projectPath
	Scope string `param:"scope,required" values:"issues,merge_requests,milestones,notes,wiki_blobs,commits,blobs,users" doc:"What to search for"`
	searchParams
	Ref string `param:"ref" doc:"Branch, tag or commit to search in; defaults to the default branch"`
}

func (s *Server) searchProject(ctx context.Context, as authz.Actor, in searchProjectParams) (api.List[foundEntity], error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[foundEntity]{}, err
	}
	q := in.query()
	q.Ref = in.Ref
	return s.found(ctx, as, p.Place(), search.Scope(in.Scope), q)
}

// found renders what a search finds.
func (s *Server) found(ctx context.Context, as authz.Actor, at authz.Place, scope search.Scope, q search.Query) (out api.List[foundEntity], err error) {
	switch scope {
	case search.Projects:
		out, err = s.foundProjects(ctx, as, at, q)
	case search.Issues:
		out, err = s.foundIssues(ctx, as, at, q)
	case search.MergeRequests:
		out, err = s.foundRequests(ctx, as, at, q)
	case search.Milestones:
		list, failed := s.Search.Milestones(ctx, as, at, q)
		out, err = api.ListOf(list, func(m *milestone.Milestone) foundEntity { return foundMilestone{*s.milestoneOf(m)} }), failed
	case search.Users:
		list, failed := s.Search.Users(ctx, as, at, q)
		out, err = api.ListOf(list, func(u **account.User) foundEntity { return foundUser{s.basic(*u)} }), failed
	case search.Notes:
		out, err = s.foundNotes(ctx, as, at, q)
	case search.Snippets:
		list, failed := s.Search.Snippets(ctx, as, q)
		var snippets api.List[snippetEntity]
		if snippets, err = s.snippetEntities(ctx, as, list, failed); err == nil {
			items := make([]foundEntity, len(snippets.Items))
			for i, e := range snippets.Items {
				items[i] = foundSnippet{e}
			}
			out = api.Listed(list, items)
		}
	case search.Commits:
		out, err = s.foundCommits(ctx, as, at, q)
	case search.Blobs:
		files, failed := s.Search.Blobs(ctx, as, at, q)
		out, err = foundFiles(at, files), failed
	case search.WikiBlobs:
		files, failed := s.Search.WikiBlobs(ctx, as, at, q)
		out, err = foundFiles(at, files), failed
	default:
		err = errs.Bad("scope")
	}
	if err != nil {
		return api.List[foundEntity]{}, err
	}
	return out.With("X-Search-Type", "basic"), nil
}

func (s *Server) foundProjects(ctx context.Context, as authz.Actor, at authz.Place, q search.Query) (out api.List[foundEntity], err error) {
	list, err := s.Search.Projects(ctx, as, at, q)
	if err != nil {
		return out, err
	}
	views, err := s.Projects.Views(ctx, as, list.Items, project.ViewOptions{})
	if err != nil {
		return out, err
	}
	items := make([]foundEntity, len(views))
	for i := range views {
		items[i] = foundProject{s.projectBasic(&views[i])}
	}
	return api.Listed(list, items), nil
}

func (s *Server) foundIssues(ctx context.Context, as authz.Actor, at authz.Place, q search.Query) (out api.List[foundEntity], err error) {
	list, err := s.Search.Issues(ctx, as, at, q)
	if err != nil {
		return out, err
	}
	entities, err := s.issueEntities(ctx, as, list.Items, issueShape{from: at.Path}, issue.ViewOptions{Projects: oneProject(project.Of(at))})
	if err != nil {
		return out, err
	}
	items := make([]foundEntity, len(entities))
	for i, e := range entities {
		items[i] = foundIssue{e}
	}
	return api.Listed(list, items), nil
}

func (s *Server) foundRequests(ctx context.Context, as authz.Actor, at authz.Place, q search.Query) (out api.List[foundEntity], err error) {
	list, err := s.Search.MergeRequests(ctx, as, at, q)
	if err != nil {
		return out, err
	}
	entities, err := s.requestEntities(ctx, as, list.Items, requestShape{from: at.Path}, mergerequest.ViewOptions{})
	if err != nil {
		return out, err
	}
	items := make([]foundEntity, len(entities))
	for i, e := range entities {
		items[i] = foundRequest{e}
	}
	return api.Listed(list, items), nil
}

func (s *Server) foundNotes(ctx context.Context, as authz.Actor, at authz.Place, q search.Query) (out api.List[foundEntity], err error) {
	list, err := s.Search.Notes(ctx, as, at, q)
	if err != nil {
		return out, err
	}
	notes := make([]note.Note, len(list.Items))
	for i := range list.Items {
		notes[i] = *list.Items[i].Note
	}
	views, err := s.Notes.Views(ctx, notes, note.ViewOptions{})
	if err != nil {
		return out, err
	}
	items := make([]foundEntity, len(views))
	for i := range views {
		items[i] = foundNote{s.noteEntity(&views[i], noteable.Target{IID: list.Items[i].IID})}
	}
	return api.Listed(list, items), nil
}

func (s *Server) foundCommits(ctx context.Context, as authz.Actor, at authz.Place, q search.Query) (out api.List[foundEntity], err error) {
	list, err := s.Search.Commits(ctx, as, at, q)
	if err != nil {
		return out, err
	}
	ids := make([]gitstore.ObjectID, len(list.Items))
	for i, c := range list.Items {
		ids[i] = c.ID
	}
	p := project.Of(at)
	pipelines, err := s.CI.LastOf(ctx, as, p, ids)
	if err != nil {
		return out, err
	}
	return api.ListOf(list, func(c **gitstore.Commit) foundEntity {
		e := commitDetailEntity{commitEntity: s.commitEntity(p, *c), ProjectID: p.ID}
		if pipeline := pipelines[(*c).ID]; pipeline != nil {
			e.Status, e.LastPipeline = &pipeline.State, s.pipeline(p, pipeline)
		}
		return foundCommit{e}
	}), nil
}

func foundFiles(at authz.Place, files search.Files) api.List[foundEntity] {
	return api.ListOf(files.Page, func(f *repo.Found) foundEntity {
		return foundBlob{
			Basename: strings.TrimSuffix(f.Path, path.Ext(f.Path)), Data: f.Data, Path: f.Path, Filename: f.Path,
			Ref: files.Ref, Startline: f.Line, ProjectID: project.ID(at.ID),
		}
	})
}
