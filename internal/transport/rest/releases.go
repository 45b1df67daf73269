package rest

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/core/release"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("releases", (*Server).releaseRoutes)

func (s *Server) releaseRoutes() []*api.Route {
	h := releaseHandlers{s, core.Part[*release.Service](s.Services)}
	const path, one = "/projects/:id/releases", "/projects/:id/releases/:tag_name"
	return api.Scoped(nil,
		api.Get("/groups/:id/releases", h.ofGroup).Doc("List the releases of a group").Needs(authz.ReadGroupReleases),
		api.Get(path, h.list).Doc("List releases").Public().Needs(authz.ReadRelease),
		api.Get(path+"/permalink/latest", h.latest).Doc("Get the latest release").Public().Needs(authz.ReadRelease, authz.ReadCode),
		api.Get(path+"/permalink/latest/*suffix_path", h.latestPart).Doc("Get a part of the latest release").Public().Needs(authz.ReadRelease, authz.ReadCode),
		api.Get(one, h.get).Doc("Get a release").Public().Needs(authz.ReadRelease, authz.ReadCode),
		api.Get(one+"/downloads/*direct_asset_path", h.download).Doc("Download a release asset").Public().Needs(authz.ReadRelease, authz.ReadCode),
		api.Post(path, h.create).Doc("Create a release").Needs(authz.CreateRelease, authz.PushCode),
		api.Put(one, h.update).Timed().Doc("Update a release").Needs(authz.UpdateRelease),
		api.Delete(one, h.delete).Timed().Doc("Delete a release").Needs(authz.DeleteRelease),
		api.Post(one+"/evidence", h.collectEvidence).Status(http.StatusOK).Doc("Create release evidence").Needs(authz.CreateRelease),
		api.Get(one+"/assets/links", h.links).Doc("List the links of a release").Public().Needs(authz.ReadRelease),
		api.Get(one+"/assets/links/:link_id", h.link).Doc("Get a link of a release").Public().Needs(authz.ReadRelease),
		api.Post(one+"/assets/links", h.createLink).Doc("Create a link of a release").Needs(authz.CreateRelease),
		api.Put(one+"/assets/links/:link_id", h.updateLink).Timed().Doc("Update a link of a release").Needs(authz.UpdateRelease),
		api.Delete(one+"/assets/links/:link_id", h.deleteLink).Timed().Doc("Delete a link of a release").Needs(authz.DeleteRelease),
	)
}

type releaseHandlers struct {
	server   *Server
	releases *release.Service
}

type releasePath struct {
	projectPath
	Tag string `param:"tag_name,required,free" doc:"Name of the tag"`
}

type listReleasesParams struct {
	projectPath
	OrderBy       string     `param:"order_by" values:"released_at,created_at" default:"released_at" doc:"Column to order by"`
	Sort          string     `param:"sort" values:"asc,desc" default:"desc" doc:"asc or desc"`
	HTML          bool       `param:"include_html_description" doc:"Include the description as HTML"`
	UpdatedBefore *time.Time `param:"updated_before" doc:"Return releases updated on or before this time"`
	UpdatedAfter  *time.Time `param:"updated_after" doc:"Return releases updated on or after this time"`
	api.Page
}

func (h releaseHandlers) list(ctx context.Context, as authz.Actor, in listReleasesParams) (api.List[releaseEntity], error) {
	var none api.List[releaseEntity]
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := h.releases.List(ctx, as, p, release.Filter{
		OrderBy: in.OrderBy, Asc: in.Sort == "asc", UpdatedAfter: in.UpdatedAfter, UpdatedBefore: in.UpdatedBefore, Range: in.Range(),
	})
	if err != nil {
		return none, err
	}
	items, err := h.entities(ctx, as, map[project.ID]*project.Project{p.ID: p}, list.Items, in.HTML)
	if err != nil {
		return none, err
	}
	return api.Listed(list, items), nil
}

type listGroupReleasesParams struct {
	ID     string `param:"id" doc:"ID or URL-encoded path of the group"`
	Sort   string `param:"sort" values:"asc,desc" default:"desc" doc:"asc or desc"`
	Simple bool   `param:"simple" default:"false" doc:"Return limited attributes only"`
	api.Page
}

func (h releaseHandlers) ofGroup(ctx context.Context, as authz.Actor, in listGroupReleasesParams) (api.List[releaseEntity], error) {
	var none api.List[releaseEntity]
	g, err := h.server.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := h.releases.ListOfGroup(ctx, as, g.Place(), release.Filter{Asc: in.Sort == "asc", Range: in.Range()})
	if err != nil {
		return none, err
	}
	items, err := h.entities(ctx, as, nil, list.Items, false)
	if err != nil {
		return none, err
	}
	if in.Simple {
		for i := range items {
			items[i].releaseDetails = nil
		}
	}
	return api.Listed(list, items), nil
}

type getReleaseParams struct {
	releasePath
	HTML bool `param:"include_html_description" doc:"Include the description as HTML"`
}

func (h releaseHandlers) get(ctx context.Context, as authz.Actor, in getReleaseParams) (*releaseEntity, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	r, err := h.releases.Find(ctx, as, p, in.Tag)
	if err != nil {
		return nil, err
	}
	return h.entity(ctx, as, p, r, in.HTML)
}

type latestReleaseParams struct {
	projectPath
	HTML bool `param:"include_html_description" doc:"Include the description as HTML"` // the answer leads to the release with it
}

func (h releaseHandlers) latest(ctx context.Context, as authz.Actor, in latestReleaseParams) (api.Raw, error) {
	return h.toLatest(ctx, as, in.ID, "")
}

type latestPartParams struct {
	projectPath
	Suffix string `param:"suffix_path" doc:"Path below the release, such as downloads/bin/tool"`
}

func (h releaseHandlers) latestPart(ctx context.Context, as authz.Actor, in latestPartParams) (api.Raw, error) {
	return h.toLatest(ctx, as, in.ID, in.Suffix)
}

// toLatest leads to the latest release, or to a path below it, with the query of the request but the order.
func (h releaseHandlers) toLatest(ctx context.Context, as authz.Actor, id, below string) (api.Raw, error) {
	p, err := h.server.Projects.Find(ctx, as, id)
	if err != nil {
		return api.Raw{}, err
	}
	r, err := h.releases.Latest(ctx, as, p)
	if err != nil {
		return api.Raw{}, err
	}
	to := h.server.URLs.ProjectAPI(int64(p.ID), "releases", r.Tag)
	for part := range strings.SplitSeq(below, "/") {
		if part != "" {
			to += "/" + url.PathEscape(part)
		}
	}
	return api.Raw{Status: http.StatusFound, Type: "text/plain", To: to, But: []string{"order_by"}}, nil
}

type downloadParams struct {
	releasePath
	File string `param:"direct_asset_path" doc:"Path of the asset below the downloads"`
}

func (h releaseHandlers) download(ctx context.Context, as authz.Actor, in downloadParams) (api.Raw, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.Raw{}, err
	}
	l, err := h.releases.Download(ctx, as, p, in.Tag, in.File)
	if err != nil {
		return api.Raw{}, err
	}
	return api.Raw{Status: http.StatusFound, Type: "text/plain", To: l.URL}, nil
}

type releaseLinkParams struct {
	Name     string  `param:"name,required" doc:"Name of the link"`
	URL      string  `param:"url,required" doc:"URL of the link"`
	Path     *string `param:"direct_asset_path" doc:"Path of the asset below the downloads of the release"`
	FilePath *string `param:"filepath" doc:"Deprecated: use direct_asset_path"`
	Type     string  `param:"link_type" values:"other,runbook,image,package" default:"other" doc:"other, runbook, image, or package"`
}

func (p releaseLinkParams) input() release.LinkInput {
	out := release.LinkInput{Name: p.Name, URL: p.URL, Path: p.Path, Type: p.Type}
	if out.Path == nil {
		out.Path = p.FilePath
	}
	return out
}

type releaseAssetsParams struct {
	Links []releaseLinkParams `param:"links" doc:"Links of the release"`
}

type createReleaseParams struct {
	projectPath
	Tag          string               `param:"tag_name,required" doc:"Name of the tag"`
	TagMessage   string               `param:"tag_message" doc:"Message of a new annotated tag"`
	Name         string               `param:"name" doc:"Name of the release; the tag where there is none"`
	Description  *string              `param:"description" chars:"1048576" doc:"Description in Markdown"`
	Ref          string               `param:"ref" doc:"Commit, branch or tag to create the tag from"`
	Assets       *releaseAssetsParams `param:"assets" doc:"Assets of the release"`
	Milestones   api.Strings          `param:"milestones" doc:"Titles of milestones"`
	MilestoneIDs api.Ints             `param:"milestone_ids" doc:"IDs of milestones"`
	ReleasedAt   *time.Time           `param:"released_at" doc:"When the release is or was ready; now by default"`
}

// milestonesNamed leaves a parameter nil that a call does not have.
func milestonesNamed(titles api.Strings, ids api.Ints) release.Milestones {
	out := release.Milestones{Titles: titles}
	if ids != nil {
		out.IDs = numbers[milestone.ID](ids)
	}
	return out
}

func (h releaseHandlers) create(ctx context.Context, as authz.Actor, in createReleaseParams) (*releaseEntity, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	input := release.Input{
		Tag: in.Tag, TagMessage: in.TagMessage, Name: in.Name, Description: in.Description, Ref: in.Ref, ReleasedAt: in.ReleasedAt,
		Milestones: milestonesNamed(in.Milestones, in.MilestoneIDs),
	}
	if in.Assets != nil {
		for _, l := range in.Assets.Links {
			input.Links = append(input.Links, l.input())
		}
	}
	r, err := h.releases.Create(ctx, as, p, input)
	if err != nil {
		return nil, err
	}
	return h.entity(ctx, as, p, r, false)
}

type updateReleaseParams struct {
	releasePath
	Name         *string     `param:"name" doc:"Name of the release"`
	Description  *string     `param:"description" chars:"1048576" doc:"Description in Markdown"`
	Milestones   api.Strings `param:"milestones" doc:"Titles of milestones; empty removes all"`
	MilestoneIDs api.Ints    `param:"milestone_ids" doc:"IDs of milestones; empty removes all"`
	ReleasedAt   *time.Time  `param:"released_at" doc:"When the release is or was ready"`
}

func (h releaseHandlers) update(ctx context.Context, as authz.Actor, in updateReleaseParams) (*releaseEntity, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	r, err := h.releases.Update(ctx, as, p, in.Tag, release.Changes{
		Name: in.Name, Description: in.Description, ReleasedAt: in.ReleasedAt, Milestones: milestonesNamed(in.Milestones, in.MilestoneIDs),
	})
	if err != nil {
		return nil, err
	}
	return h.entity(ctx, as, p, r, false)
}

func (h releaseHandlers) collectEvidence(ctx context.Context, as authz.Actor, in releasePath) (*releaseEntity, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	r, err := h.releases.CollectEvidence(ctx, as, p, in.Tag)
	if err != nil {
		return nil, err
	}
	return h.entity(ctx, as, p, r, false)
}

func (h releaseHandlers) delete(ctx context.Context, as authz.Actor, in releasePath) (*releaseEntity, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	v, err := h.releases.Delete(ctx, as, p, in.Tag)
	if err != nil {
		return nil, err
	}
	out, err := h.rendered(ctx, as, []release.View{*v}, false)
	if err != nil {
		return nil, err
	}
	return &out[0], nil
}
