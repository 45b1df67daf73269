package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("projects", (*Server).projectRoutes)

func (s *Server) projectRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/projects", s.listProjects).Doc("List projects").Needs(authz.ListProjects).Public(),
		api.Post("/projects", s.createProject).Doc("Create a project").Needs(authz.CreateProject),
		api.Post("/projects/user/:user_id", s.createProjectFor).Doc("Create a project for a user").Needs(authz.AdminUsers, authz.CreateProject),
		api.Get("/users/:user_id/projects", s.listUserProjects).Scope(authz.ScopeReadUser).Doc("List the projects of a user").
			Needs(authz.ListProjects).Public().Rate(limit.UserProjects),
		api.Get("/projects/:id", s.getProject).Doc("Get a project").Needs(authz.ReadProject).Public().Rate(limit.ProjectGet),
		api.Put("/projects/:id", s.updateProject).Timed().Doc("Update a project").Needs(authz.EditProject, authz.AdminProject, authz.ChangeVisibility),
		api.Delete("/projects/:id", s.deleteProject).Timed().Doc("Delete a project").Needs(authz.DeleteProject).Status(http.StatusAccepted),
		api.Post("/projects/:id/restore", s.restoreProject).Doc("Restore a project").Needs(authz.DeleteProject),
		api.Post("/projects/:id/archive", s.archiveProject).Doc("Archive a project").Needs(authz.ArchiveProject),
		api.Post("/projects/:id/unarchive", s.unarchiveProject).Doc("Unarchive a project").Needs(authz.ArchiveProject),
	)
}

// projectPath names a project by its number or its full path.
type projectPath struct {
	ID string `param:"id" doc:"ID or URL-encoded path of the project"`
}

type listProjectsParams struct {
	api.Page
	projectFilter
}

// projectFilter are the parameters of every list of projects.
type projectFilter struct {
	OrderBy            string            `param:"order_by" default:"created_at" values:"id,name,path,created_at,updated_at,last_activity_at,similarity,star_count,storage_size,repository_size,wiki_size,packages_size" doc:"Column to order by; storage sizes are for administrators"`
	Sort               string            `param:"sort" default:"desc" values:"asc,desc" doc:"asc or desc"`
	Archived           *bool             `param:"archived" doc:"Filter by archived status"`
	Active             *bool             `param:"active" doc:"Filter by projects that are neither archived nor marked for deletion"`
	Visibility         *string           `param:"visibility" values:"private,internal,public" doc:"Filter by visibility"`
	Search             string            `param:"search" doc:"Search in names, paths and descriptions"`
	SearchNamespaces   bool              `param:"search_namespaces" doc:"Include ancestor namespaces in the search"`
	Owned              bool              `param:"owned" default:"false" doc:"Return only those owned by the current user"`
	Starred            bool              `param:"starred" default:"false" doc:"Return only projects starred by the current user"`
	Imported           bool              `param:"imported" default:"false" doc:"Return only projects imported by the current user"`
	Membership         bool              `param:"membership" default:"false" doc:"Return only projects the current user is a member of"`
	WithIssues         bool              `param:"with_issues_enabled" default:"false" doc:"Return only projects with issues enabled"`
	WithMergeRequests  bool              `param:"with_merge_requests_enabled" default:"false" doc:"Return only projects with merge requests enabled"`
	Language           string            `param:"with_programming_language" doc:"Return projects that use this programming language"`
	MinAccessLevel     *int              `param:"min_access_level" values:"10,15,20,25,30,40,50" doc:"Minimum access level of the current user"`
	IDAfter            int64             `param:"id_after" doc:"Return projects with IDs greater than this"`
	IDBefore           int64             `param:"id_before" doc:"Return projects with IDs less than this"`
	LastActivityAfter  *time.Time        `param:"last_activity_after" doc:"Return projects with last activity after this time"`
	LastActivityBefore *time.Time        `param:"last_activity_before" doc:"Return projects with last activity before this time"`
	UpdatedAfter       *time.Time        `param:"updated_after" doc:"Return items updated after this time; requires order_by=updated_at"`
	UpdatedBefore      *time.Time        `param:"updated_before" doc:"Return items updated before this time; requires order_by=updated_at"`
	Topic              api.Strings       `param:"topic" doc:"Topics, separated by commas; return projects with all of them"`
	TopicID            project.TopicID   `param:"topic_id" doc:"Return projects with this topic ID"`
	Attributes         map[string]string `param:"custom_attributes" doc:"Return those with these custom attributes (administrators only)"`
	RepositoryStorage  string            `param:"repository_storage" doc:"Return projects on this repository storage (administrators only)"`
	PendingDelete      bool              `param:"include_pending_delete" doc:"Include projects pending deletion (administrators only)"`
	Hidden             bool              `param:"include_hidden" default:"false" doc:"Include hidden projects; no project is hidden"`
	ChecksumFailed     bool              `param:"repository_checksum_failed" default:"false" doc:"Return only projects whose repository checksum failed; no checksum fails"`
	WikiChecksumFailed bool              `param:"wiki_checksum_failed" default:"false" doc:"Return only projects whose wiki checksum failed; no checksum fails"`
	MarkedOn           api.Date          `param:"marked_for_deletion_on" doc:"Return items marked for deletion on this date, YYYY-MM-DD"`
	Simple             bool              `param:"simple" default:"false" doc:"Return only limited fields"`
	Statistics         bool              `param:"statistics" default:"false" doc:"Include statistics"`
	Custom             bool              `param:"with_custom_attributes" default:"false" doc:"Include custom attributes (administrators only)"`
}

func (p *projectFilter) filter() project.Filter {
	f := project.Filter{
		Search: p.Search, SearchNamespaces: p.SearchNamespaces, Visibility: visibilityOf(p.Visibility), Archived: p.Archived,
		Active: p.Active, Owned: p.Owned, Membership: p.Membership, Starred: p.Starred, Imported: p.Imported, Language: p.Language,
		Issues: p.WithIssues, MergeRequests: p.WithMergeRequests, Topics: p.Topic, TopicID: p.TopicID, Attributes: p.Attributes, MarkedOn: string(p.MarkedOn),
		PendingDelete: p.PendingDelete, Storage: p.RepositoryStorage, IDAfter: project.ID(p.IDAfter), IDBefore: project.ID(p.IDBefore),
		ActiveAfter: p.LastActivityAfter, ActiveBefore: p.LastActivityBefore, UpdatedAfter: p.UpdatedAfter,
		UpdatedBefore: p.UpdatedBefore, OrderBy: p.OrderBy, Asc: p.Sort == "asc",
	}
	f.Nothing = p.ChecksumFailed || p.WikiChecksumFailed
	if p.MinAccessLevel != nil {
		f.MinLevel = authz.Level(*p.MinAccessLevel)
	}
	return f
}

func (p *projectFilter) view() project.ViewOptions {
	return project.ViewOptions{Basic: p.Simple, Permissions: true, Statistics: p.Statistics, CustomAttributes: p.Custom}
}

func (s *Server) listProjects(ctx context.Context, as authz.Actor, p listProjectsParams) (api.List[projectForm], error) {
	return s.pageOfProjects(ctx, as, p.Page, &p.projectFilter, p.filter())
}

// pageOfProjects answers every list of projects, by offset or by id.
func (s *Server) pageOfProjects(ctx context.Context, as authz.Actor, page api.Page, p *projectFilter, f project.Filter) (api.List[projectForm], error) {
	none := api.List[projectForm]{}
	if err := page.CheckOffset("Project"); err != nil {
		return none, err
	}
	if page.Keyset() && p.OrderBy != "id" { // the only order that the contract knows cursors of
		return none, api.NoKeyset()
	}
	f.Range = page.Range()
	list, err := s.Projects.List(ctx, as, f)
	if err != nil {
		return none, err
	}
	items, err := s.projects(ctx, as, list.Items, p.view())
	if err != nil {
		return none, err
	}
	out := api.Listed(list, items)
	if n := len(list.Items); page.Keyset() && n > 0 {
		bound := map[bool]string{true: "id_after", false: "id_before"}[f.Asc]
		out = out.LedBy(bound, strconv.FormatInt(int64(list.Items[n-1].ID), 10))
	}
	return out, nil
}

type listUserProjectsParams struct {
	UserID string `param:"user_id" doc:"ID or username of the user"`
	api.Page
	projectFilter
}

func (s *Server) listUserProjects(ctx context.Context, as authz.Actor, p listUserProjectsParams) (api.List[projectForm], error) {
	place, err := s.Namespaces.Personal(ctx, as, p.UserID)
	if err != nil {
		return api.List[projectForm]{}, err
	}
	f := p.filter()
	f.Parent = &place
	return s.pageOfProjects(ctx, as, p.Page, &p.projectFilter, f)
}

type getProjectParams struct {
	projectPath
	Statistics bool `param:"statistics" doc:"Include statistics"`
	License    bool `param:"license" doc:"Include the license"`
	Custom     bool `param:"with_custom_attributes" doc:"Include custom attributes (administrators only)"`
}

func (s *Server) getProject(ctx context.Context, as authz.Actor, p getProjectParams) (projectForm, error) {
	found, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	return s.project(ctx, as, found, project.ViewOptions{Permissions: true, Statistics: p.Statistics, CustomAttributes: p.Custom, License: p.License})
}

type createProjectParams struct {
	projectParams
	newProject
	NamespaceID *namespace.ID `param:"namespace_id" doc:"ID of the namespace; defaults to that of the current user"`
	_           struct{}      `atleastone:"name,path"`
}

// newProject are the parameters that count only when a project is made.
type newProject struct {
	Readme            bool        `param:"initialize_with_readme" doc:"Initialize the repository with a README.md"`
	ObjectFormat      string      `param:"repository_object_format" values:"sha1,sha256" doc:"Object format of the repository"`
	ImportURL         string      `param:"import_url" doc:"URL of the repository to import"`
	TemplateName      string      `param:"template_name" doc:"Built-in template to start with: dotnetcore, express, gomicro, hugo, jekyll, plainhtml, rails or spring"`
	TemplateProjectID *project.ID `param:"template_project_id" doc:"ID of the custom project template"`
	UseCustomTemplate bool        `param:"use_custom_template" doc:"Use a custom project template; requires template_project_id"`
	_                 struct{}    `exclusive:"import_url,template_name,template_project_id"`
}

func (p *newProject) input(c project.Changes) project.Input {
	return project.Input{
		Readme: p.Readme, ObjectFormat: p.ObjectFormat, ImportURL: p.ImportURL, Template: p.TemplateName, TemplateID: p.TemplateProjectID, Changes: c,
	}
}

func (s *Server) createProject(ctx context.Context, as authz.Actor, p createProjectParams) (projectForm, error) {
	in := p.input(p.changes())
	in.NamespaceID = p.NamespaceID
	return s.makeProject(ctx, as, in, p.avatarParam)
}

type createProjectForParams struct {
	UserID string `param:"user_id" doc:"ID of the user"`
	projectParams
	newProject
	NamespaceID *namespace.ID `param:"namespace_id" doc:"ID of the namespace; defaults to that of the user"`
}

func (s *Server) createProjectFor(ctx context.Context, as authz.Actor, p createProjectForParams) (projectForm, error) {
	owner, err := userNumber(p.UserID)
	if err != nil {
		return nil, err
	}
	if p.Name == nil {
		return nil, api.BadParam("name is missing")
	}
	in := p.input(p.changes())
	in.Owner, in.NamespaceID = owner, p.NamespaceID
	return s.makeProject(ctx, as, in, p.avatarParam)
}

func (s *Server) makeProject(ctx context.Context, as authz.Actor, in project.Input, avatar avatarParam) (projectForm, error) {
	sent, err := s.picture(avatar)
	if err != nil {
		return nil, err
	}
	made, err := s.Projects.Create(ctx, as, in)
	var e *errs.Error
	if errors.As(err, &e) && e.Kind == errs.Forbidden && len(e.List) > 0 {
		return nil, &api.Answer{Status: http.StatusForbidden, Body: map[string][]string{"error": e.List}}
	}
	if err != nil {
		return nil, err
	}
	// A caller who makes a project may give it a picture, also where the role allows no more.
	if err := s.projectPortrayed(ctx, authz.System(), made, sent); err != nil {
		return nil, err
	}
	return s.project(ctx, as, made, project.ViewOptions{})
}

type updateProjectParams struct {
	projectPath
	changedProject
}

type changedProject struct {
	projectParams
	ImportURL *string  `param:"import_url" doc:"URL to mirror from; only the import URL of the project is accepted"`
	_         struct{} `atleastone:"*"`
}

func (s *Server) updateProject(ctx context.Context, as authz.Actor, p updateProjectParams) (projectForm, error) {
	sent, err := s.picture(p.avatarParam)
	if err != nil {
		return nil, err
	}
	c := p.changes()
	c.Mirror.From = p.ImportURL
	changed, err := s.Projects.Update(ctx, as, p.ID, c)
	if err != nil {
		return nil, err
	}
	if err := s.projectPortrayed(ctx, as, changed, sent); err != nil {
		return nil, err
	}
	return s.project(ctx, as, changed, project.ViewOptions{})
}

// accepted is the answer for what goes on in the background.
type accepted struct {
	Message string `json:"message"`
}

type deleteProjectParams struct {
	projectPath
	Permanently bool   `param:"permanently_remove" doc:"Delete at once a project that is marked for deletion"`
	FullPath    string `param:"full_path" doc:"Full path of the project; required with permanently_remove"`
}

func (s *Server) deleteProject(ctx context.Context, as authz.Actor, p deleteProjectParams) (accepted, error) {
	if p.Permanently {
		return accepted{"202 Accepted"}, s.Projects.Delete(ctx, as, p.ID, p.FullPath)
	}
	return accepted{"202 Accepted"}, s.Projects.Mark(ctx, as, p.ID)
}

func (s *Server) restoreProject(ctx context.Context, as authz.Actor, p projectPath) (projectForm, error) {
	back, err := s.Projects.Restore(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	return s.project(ctx, as, back, project.ViewOptions{})
}

func (s *Server) archiveProject(ctx context.Context, as authz.Actor, p projectPath) (projectForm, error) {
	archived, err := s.Projects.Archive(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	return s.project(ctx, as, archived, project.ViewOptions{})
}

func (s *Server) unarchiveProject(ctx context.Context, as authz.Actor, p projectPath) (projectForm, error) {
	back, err := s.Projects.Unarchive(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	return s.project(ctx, as, back, project.ViewOptions{})
}
