package rest

import (
	"context"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/release"
	"tenon/internal/core/repo"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("tags", (*Server).tagRoutes)

func (s *Server) tagRoutes() []*api.Route {
	const path = "/projects/:id/repository/tags"
	return api.Scoped(nil,
		api.Get(path, s.tags).Doc("List tags").Public().Needs(authz.ReadCode),
		api.Get(path+"/:tag_name", s.tag).Doc("Get a tag").Public().Needs(authz.ReadCode),
		api.Post(path, s.createTag).Doc("Create a tag").Needs(authz.PushCode),
		api.Delete(path+"/:tag_name", s.deleteTag).Timed().Doc("Delete a tag").Needs(authz.DeleteTag, authz.PushCode),
	)
}

type tagEntity struct {
	Name      string       `json:"name"`
	Message   *string      `json:"message"`
	Target    string       `json:"target"`
	Commit    commitEntity `json:"commit"`
	Release   *tagRelease  `json:"release"`
	Protected bool         `json:"protected"`
	CreatedAt *api.Time    `json:"created_at"`
}

// tagRelease is what a tag says of its release.
type tagRelease struct {
	TagName     string `json:"tag_name"`
	Description string `json:"description"`
}

// releasesOf returns the releases of tags by their names.
func (s *Server) releasesOf(ctx context.Context, as authz.Actor, p *project.Project, tags ...*repo.Tag) (map[string]*release.Release, error) {
	names := make([]string, len(tags))
	for i, t := range tags {
		names[i] = t.Name
	}
	releases := core.Part[*release.Service](s.Services)
	if releases == nil {
		return nil, nil // a server of a test
	}
	return releases.ByTags(ctx, as, p, names...)
}

// oneTag renders a tag with its release.
func (s *Server) oneTag(ctx context.Context, as authz.Actor, p *project.Project, t *repo.Tag) (tagEntity, error) {
	releases, err := s.releasesOf(ctx, as, p, t)
	if err != nil {
		return tagEntity{}, err
	}
	return s.tagEntity(p, t, releases[t.Name]), nil
}

func (s *Server) tagEntity(p *project.Project, t *repo.Tag, r *release.Release) tagEntity {
	e := tagEntity{
		Name: t.Name, Message: t.Message, Target: t.Target.String(), Commit: s.commitEntity(p, t.Commit),
		Protected: t.Protected, CreatedAt: api.TimePtr(t.CreatedAt),
	}
	if r != nil {
		e.Release = &tagRelease{TagName: r.Tag}
		if r.Description != nil {
			e.Release.Description = *r.Description
		}
	}
	return e
}

type listTagsParams struct {
	projectPath
	OrderBy string `param:"order_by" values:"updated,name,version" default:"updated" doc:"Column to order by"`
	Sort    string `param:"sort" values:"asc,desc" default:"desc" doc:"asc or desc"`
	Search  string `param:"search" doc:"Search in names; ^term and term$ anchor, * matches anything"`
	After   string `param:"page_token" doc:"Name of the tag to start the page after, with pagination=keyset, or the token from the link to the next page"`
	api.Page
}

func (s *Server) tags(ctx context.Context, as authz.Actor, in listTagsParams) (api.List[tagEntity], error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[tagEntity]{}, err
	}
	list, err := s.Repos.Tags(ctx, as, p, repo.TagFilter{
		Search: in.Search, OrderBy: in.OrderBy, Asc: in.Sort == "asc", After: in.After, Range: in.Range(),
	})
	if err != nil {
		return api.List[tagEntity]{}, err
	}
	releases, err := s.releasesOf(ctx, as, p, list.Items...)
	if err != nil {
		return api.List[tagEntity]{}, err
	}
	return api.ListOf(list.Page, func(t **repo.Tag) tagEntity { return s.tagEntity(p, *t, releases[(*t).Name]) }).LedBy("page_token", list.Token), nil
}

type tagParams struct {
	projectPath
	TagName string `param:"tag_name,required,free" doc:"Name of the tag"`
}

func (s *Server) tag(ctx context.Context, as authz.Actor, in tagParams) (tagEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return tagEntity{}, err
	}
	t, err := s.Repos.FindTag(ctx, as, p, in.TagName)
	if err != nil {
		return tagEntity{}, err
	}
	return s.oneTag(ctx, as, p, t)
}

type createTagParams struct {
	projectPath
	TagName string `param:"tag_name,required" doc:"Name of the new tag"`
	Ref     string `param:"ref,required" doc:"Branch, tag or commit to create the tag from"`
	Message string `param:"message" doc:"Message of the annotated tag; unset creates a lightweight tag"`
}

func (s *Server) createTag(ctx context.Context, as authz.Actor, in createTagParams) (tagEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return tagEntity{}, err
	}
	t, err := s.Repos.CreateTag(ctx, as, p, in.TagName, in.Ref, in.Message)
	if err != nil {
		return tagEntity{}, err
	}
	return s.oneTag(ctx, as, p, t)
}

func (s *Server) deleteTag(ctx context.Context, as authz.Actor, in tagParams) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Repos.DeleteTag(ctx, as, p, in.TagName)
}
