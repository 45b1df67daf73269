package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/release"
	"tenon/internal/transport/rest/api"
)

// releaseLink is a link of a release.
type releaseLink struct {
	ID             release.LinkID `json:"id"`
	Name           string         `json:"name"`
	URL            string         `json:"url"`
	DirectAssetURL string         `json:"direct_asset_url"`
	LinkType       string         `json:"link_type"`
}

// linkOf renders a link of the release of a tag, which is "" for those who do not see the tag.
func (s *Server) linkOf(p *project.Project, tag string, l *release.Link) releaseLink {
	out := releaseLink{ID: l.ID, Name: l.Name, URL: l.URL, DirectAssetURL: l.URL, LinkType: l.Type}
	if l.Path != nil && tag != "" {
		out.DirectAssetURL = s.URLs.ReleaseDownload(p.FullPath, tag, *l.Path)
	}
	return out
}

type listReleaseLinksParams struct {
	releasePath
	api.Page
}

func (h releaseHandlers) links(ctx context.Context, as authz.Actor, in listReleaseLinksParams) (api.List[releaseLink], error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[releaseLink]{}, err
	}
	list, err := h.releases.Links(ctx, as, p, in.Tag, in.Range())
	if err != nil {
		return api.List[releaseLink]{}, err
	}
	return api.ListOf(list, func(l *release.Link) releaseLink { return h.server.linkOf(p, in.Tag, l) }), nil
}

type releaseLinkPath struct {
	releasePath
	LinkID release.LinkID `param:"link_id,required" doc:"ID of the link"`
}

func (h releaseHandlers) link(ctx context.Context, as authz.Actor, in releaseLinkPath) (releaseLink, error) {
	return h.oneLink(ctx, as, in.releasePath, func(p *project.Project) (*release.Link, error) {
		return h.releases.FindLink(ctx, as, p, in.Tag, in.LinkID)
	})
}

// oneLink renders a link that a function returns.
func (h releaseHandlers) oneLink(ctx context.Context, as authz.Actor, in releasePath, find func(p *project.Project) (*release.Link, error)) (releaseLink, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return releaseLink{}, err
	}
	l, err := find(p)
	if err != nil {
		return releaseLink{}, err
	}
	return h.server.linkOf(p, in.Tag, l), nil
}

type createReleaseLinkParams struct {
	releasePath
	releaseLinkParams
}

func (h releaseHandlers) createLink(ctx context.Context, as authz.Actor, in createReleaseLinkParams) (releaseLink, error) {
	return h.oneLink(ctx, as, in.releasePath, func(p *project.Project) (*release.Link, error) {
		return h.releases.CreateLink(ctx, as, p, in.Tag, in.input())
	})
}

type updateReleaseLinkParams struct {
	releaseLinkPath
	Name     *string  `param:"name" doc:"Name of the link"`
	URL      *string  `param:"url" doc:"URL of the link"`
	Path     *string  `param:"direct_asset_path" doc:"Path of the asset below the downloads of the release"`
	FilePath *string  `param:"filepath" doc:"Deprecated: use direct_asset_path"`
	Type     *string  `param:"link_type" values:"other,runbook,image,package" doc:"other, runbook, image, or package"`
	_        struct{} `atleastone:"name,url"`
}

func (h releaseHandlers) updateLink(ctx context.Context, as authz.Actor, in updateReleaseLinkParams) (releaseLink, error) {
	c := release.LinkChanges{Name: in.Name, URL: in.URL, Path: in.Path, Type: in.Type}
	if c.Path == nil {
		c.Path = in.FilePath
	}
	return h.oneLink(ctx, as, in.releasePath, func(p *project.Project) (*release.Link, error) {
		return h.releases.UpdateLink(ctx, as, p, in.Tag, in.LinkID, c)
	})
}

func (h releaseHandlers) deleteLink(ctx context.Context, as authz.Actor, in releaseLinkPath) (releaseLink, error) {
	return h.oneLink(ctx, as, in.releasePath, func(p *project.Project) (*release.Link, error) {
		return h.releases.DeleteLink(ctx, as, p, in.Tag, in.LinkID)
	})
}
