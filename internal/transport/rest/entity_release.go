package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/release"
	"tenon/internal/transport/rest/api"
)

// releaseEntity is a release. What shows the tag is for those who read the code.
type releaseEntity struct {
	Name            string   `json:"name"`
	TagName         string   `json:"tag_name,omitempty"`
	Description     *string  `json:"description"`
	DescriptionHTML *string  `json:"description_html,omitempty"`
	CreatedAt       api.Time `json:"created_at"`
	ReleasedAt      api.Time `json:"released_at"`
	Upcoming        bool     `json:"upcoming_release"`
	*releaseDetails
}

// releaseDetails are the attributes that a simple list leaves out.
type releaseDetails struct {
	Author     *userBasic         `json:"author"`
	Commit     *commitEntity      `json:"commit,omitempty"`
	Milestones []releaseMilestone `json:"milestones"`
	CommitPath string             `json:"commit_path,omitempty"`
	TagPath    string             `json:"tag_path,omitempty"`
	Assets     releaseAssets      `json:"assets"`
	Evidences  []releaseEvidence  `json:"evidences,omitzero"`
	Links      *releaseAddresses  `json:"_links,omitempty"`
}

type releaseMilestone struct {
	milestoneEntity
	Stats issueStats `json:"issue_stats"`
}

type issueStats struct {
	Total  int64 `json:"total"`
	Closed int64 `json:"closed"`
}

type releaseAssets struct {
	Count   int             `json:"count"`
	Sources []releaseSource `json:"sources,omitempty"`
	Links   []releaseLink   `json:"links"`
}

type releaseEvidence struct {
	SHA         string   `json:"sha"`
	FilePath    string   `json:"filepath"`
	CollectedAt api.Time `json:"collected_at"`
}

type releaseSource struct {
	Format string `json:"format"`
	URL    string `json:"url"`
}

type releaseAddresses struct {
	ClosedIssues string `json:"closed_issues_url"`
	ClosedMRs    string `json:"closed_merge_requests_url"`
	Edit         string `json:"edit_url"`
	MergedMRs    string `json:"merged_merge_requests_url"`
	OpenedIssues string `json:"opened_issues_url"`
	OpenedMRs    string `json:"opened_merge_requests_url"`
	Self         string `json:"self"`
}

// entities renders releases that were read for the actor; nil projects are read.
func (h releaseHandlers) entities(ctx context.Context, as authz.Actor, projects map[project.ID]*project.Project, list []release.Release, html bool) ([]releaseEntity, error) {
	views, err := h.releases.Views(ctx, as, projects, list)
	if err != nil {
		return nil, err
	}
	return h.rendered(ctx, as, views, html)
}

func (h releaseHandlers) entity(ctx context.Context, as authz.Actor, p *project.Project, r *release.Release, html bool) (*releaseEntity, error) {
	list, err := h.entities(ctx, as, map[project.ID]*project.Project{p.ID: p}, []release.Release{*r}, html)
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// rendered renders releases as the actor sees them.
func (h releaseHandlers) rendered(ctx context.Context, as authz.Actor, views []release.View, html bool) ([]releaseEntity, error) {
	var ids []milestone.ID
	for i := range views {
		for _, m := range views[i].Milestones {
			ids = append(ids, m.ID)
		}
	}
	counts, err := h.server.Issues.CountByMilestone(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	out := make([]releaseEntity, len(views))
	for i := range views {
		out[i] = h.one(&views[i], counts)
		if !html || views[i].Description == nil {
			continue
		}
		texts, err := h.server.References.HTML(ctx, as, reference.Of(views[i].Project), *views[i].Description)
		if err != nil {
			return nil, err
		}
		out[i].DescriptionHTML = &texts[0]
	}
	return out, nil
}

func (h releaseHandlers) one(v *release.View, counts map[milestone.ID]issue.MilestoneCount) releaseEntity {
	s := h.server
	d := &releaseDetails{Author: s.user(v.Author), Milestones: []releaseMilestone{}, Assets: releaseAssets{Links: []releaseLink{}}}
	e := releaseEntity{
		Name: v.Name, TagName: v.Tag, Description: v.Description, CreatedAt: api.Time(v.CreatedAt.Time), ReleasedAt: api.Time(v.ReleasedAt.Time),
		Upcoming: v.Announced, releaseDetails: d,
	}
	for _, m := range v.Milestones {
		d.Milestones = append(d.Milestones, releaseMilestone{*s.milestoneOf(m), issueStats{counts[m.ID].Total, counts[m.ID].Closed}})
	}
	for i := range v.Links {
		d.Assets.Links = append(d.Assets.Links, s.linkOf(v.Project, v.Tag, &v.Links[i]))
	}
	if v.Code {
		for _, format := range release.SourceFormats {
			d.Assets.Sources = append(d.Assets.Sources, releaseSource{format, s.URLs.Archive(v.Project.FullPath, v.Tag, format)})
		}
		d.TagPath = s.URLs.Path(s.URLs.Tag(v.Project.FullPath, v.Tag))
		d.Links = h.addresses(v)
		d.Evidences = []releaseEvidence{}
		for _, e := range v.Evidences {
			d.Evidences = append(d.Evidences, releaseEvidence{e.SHA, s.URLs.ReleaseEvidence(v.Project.FullPath, v.Tag, int64(e.ID)), api.Time(e.CollectedAt.Time)})
		}
	}
	if v.Commit != nil {
		c := s.commitEntity(v.Project, v.Commit)
		d.Commit, d.CommitPath = &c, s.URLs.Path(c.WebURL)
	}
	d.Assets.Count = len(d.Assets.Links) + len(d.Assets.Sources)
	return e
}

func (h releaseHandlers) addresses(v *release.View) *releaseAddresses {
	at, path := h.server.URLs, v.Project.FullPath
	return &releaseAddresses{
		ClosedIssues: at.ReleaseIssues(path, v.Tag, "closed"), ClosedMRs: at.ReleaseMergeRequests(path, v.Tag, "closed"), Edit: at.EditRelease(path, v.Tag),
		MergedMRs: at.ReleaseMergeRequests(path, v.Tag, "merged"), OpenedIssues: at.ReleaseIssues(path, v.Tag, "opened"),
		OpenedMRs: at.ReleaseMergeRequests(path, v.Tag, "opened"), Self: at.Release(path, v.Tag),
	}
}
