package graphql

import (
	"context"
	"strings"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/release"
	"tenon/internal/transport/graphql/exec"
)

// assets is what a release has to download.
type assets struct{ of *release.View }

// releaseAddresses is the pages about a release whose tag the caller sees.
type releaseAddresses struct{ of *release.View }

// evidence is evidence of a release.
type evidence struct {
	*release.Evidence
	of *release.View
}

// releaseSource is an archive of the code of a release.
type releaseSource struct{ Format, URL string }

// releasesOf returns the service of releases.
func (b *binder) releasesOf() *release.Service { return core.Part[*release.Service](b.Services) }

// releaseViews returns releases as the caller sees them: nil where the project is gone.
func (b *binder) releaseViews(as authz.Actor) func(ctx context.Context, rows []release.Release) ([]*release.View, error) {
	return func(ctx context.Context, rows []release.Release) ([]*release.View, error) {
		views, err := b.releasesOf().Views(ctx, as, nil, rows)
		ids := make([]release.ID, len(rows))
		for i := range rows {
			ids[i] = rows[i].ID
		}
		return aligned(ids, views, func(v *release.View) release.ID { return v.ID }), err
	}
}

// releaseOrder is the order that an argument names.
func releaseOrder(sort *string) release.Filter {
	column, asc := page.Sorted(zeroOr(sort))
	f := release.Filter{Asc: asc}
	if strings.HasPrefix(column, "created") {
		f.OrderBy = "created_at"
	}
	return f
}

// releases binds releases of projects and groups.
func (b *binder) releases() {
	type filter struct {
		paging
		Sort *string
	}
	exec.Batch(b.Schema, "Project.releases", func(ctx context.Context, c *exec.Call[filter], of []*project.Project) ([]*exec.Page[*release.View], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[release.Release], error) {
			f := releaseOrder(c.Args.Sort)
			f.Range = r
			return b.releasesOf().List(ctx, c.As, p, f)
		}, b.releaseViews(c.As))
	}, exec.ReadsGit)
	exec.Batch(b.Schema, "Group.releases", func(ctx context.Context, c *exec.Call[filter], of []*namespace.Group) ([]*exec.Page[*release.View], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, g *namespace.Group, r page.Range) (page.Page[release.Release], error) {
			f := releaseOrder(c.Args.Sort)
			f.Range = r
			return b.releasesOf().ListOfGroup(ctx, c.As, g.Place(), f)
		}, b.releaseViews(c.As))
	}, exec.ReadsGit)
	exec.Batch(b.Schema, "Project.release", func(ctx context.Context, c *exec.Call[struct{ TagName string }], of []*project.Project) ([]*release.View, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) (*release.View, error) {
			r, err := b.releasesOf().Find(ctx, c.As, p, c.Args.TagName)
			if err != nil {
				return nil, err
			}
			return b.releasesOf().View(ctx, c.As, p, r)
		})
	}, exec.ReadsGit)
	exec.Batch(b.Schema, "Group.stats", func(ctx context.Context, c *exec.Call[exec.None], of []*namespace.Group) ([]*release.Count, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, g *namespace.Group) (*release.Count, error) {
			return b.releasesOf().CountOfGroup(ctx, c.As, g.Place())
		})
	}, exec.Costly)
	value(b, "GroupStats.releaseStats", func(n *release.Count) release.Count { return *n })
	value(b, "GroupReleaseStats.releasesCount", func(n release.Count) int64 { return n.Releases })
	value(b, "GroupReleaseStats.releasesPercentage", func(n release.Count) int64 {
		if n.Projects == 0 {
			return 0
		}
		return n.With * 100 / n.Projects
	})
	b.releaseFields()
	b.releaseParts()
	b.releaseMutations()
	b.releaseLinkMutations()
}

func (b *binder) releaseFields() {
	value(b, "Release.id", func(v *release.View) string { return gid("Release", v.ID) })
	value(b, "Release.name", func(v *release.View) string { return v.Name })
	value(b, "Release.description", func(v *release.View) *string { return v.Description })
	rendered(b, "Release.descriptionHtml", func(v *release.View) (reference.Scope, *string) { return reference.Of(v.Project), v.Description })
	value(b, "Release.createdAt", func(v *release.View) time.Time { return v.CreatedAt.Time })
	value(b, "Release.releasedAt", func(v *release.View) time.Time { return v.ReleasedAt.Time })
	value(b, "Release.upcomingRelease", func(v *release.View) bool { return v.Announced })
	value(b, "Release.historicalRelease", func(v *release.View) bool { return v.Historical() })
	value(b, "Release.tagName", func(v *release.View) *string { return text(v.Tag) })
	value(b, "Release.tagPath", func(v *release.View) *string {
		if v.Tag == "" {
			return nil
		}
		return new(b.URLs.Path(b.URLs.Tag(v.Project.FullPath, v.Tag)))
	})
	value(b, "Release.commit", func(v *release.View) *commit {
		if v.Commit == nil {
			return nil
		}
		return &commit{v.Commit, v.Project}
	})
	one(b, "Release.author", "users", func(v *release.View) authz.UserID {
		if v.Author == nil {
			return 0
		}
		return v.Author.ID
	}, b.usersByIDs)
	kept(b, "Release.milestones", func(v *release.View) []*milestone.Milestone { return v.Milestones })
	kept(b, "Release.evidences", func(v *release.View) []*evidence {
		out := make([]*evidence, len(v.Evidences))
		for i := range v.Evidences {
			out[i] = &evidence{&v.Evidences[i], v}
		}
		return out
	})
	value(b, "Release.assets", func(v *release.View) *assets { return &assets{v} })
	value(b, "Release.links", func(v *release.View) *releaseAddresses {
		if !v.Code {
			return nil
		}
		return &releaseAddresses{v}
	})
	exec.Connection[*release.View](b.Schema, "Release")
}

func (b *binder) releaseParts() {
	value(b, "ReleaseAssets.count", func(a *assets) int { return len(a.of.Links) + len(b.sourcesOf(a.of)) })
	kept(b, "ReleaseAssets.links", func(a *assets) []*release.PlacedLink {
		out := make([]*release.PlacedLink, len(a.of.Links))
		for i := range a.of.Links {
			out[i] = &release.PlacedLink{Link: &a.of.Links[i], Tag: a.of.Tag, Project: a.of.Project}
		}
		return out
	})
	kept(b, "ReleaseAssets.sources", func(a *assets) []*releaseSource { return b.sourcesOf(a.of) })
	exec.Struct[*releaseSource](b.Schema, "ReleaseSource")
	exec.Connection[*releaseSource](b.Schema, "ReleaseSource")
	value(b, "ReleaseAssetLink.id", func(l *release.PlacedLink) string { return gid("Releases::Link", l.ID) })
	value(b, "ReleaseAssetLink.name", func(l *release.PlacedLink) string { return l.Name })
	value(b, "ReleaseAssetLink.url", func(l *release.PlacedLink) string { return l.URL })
	value(b, "ReleaseAssetLink.linkType", func(l *release.PlacedLink) string { return strings.ToUpper(l.Type) })
	value(b, "ReleaseAssetLink.external", func(*release.PlacedLink) bool { return true })
	value(b, "ReleaseAssetLink.directAssetPath", func(l *release.PlacedLink) *string { return l.Path })
	value(b, "ReleaseAssetLink.directAssetUrl", func(l *release.PlacedLink) string {
		if l.Path == nil || l.Tag == "" {
			return l.URL
		}
		return b.URLs.ReleaseDownload(l.Project.FullPath, l.Tag, *l.Path)
	})
	exec.Connection[*release.PlacedLink](b.Schema, "ReleaseAssetLink")
	value(b, "ReleaseEvidence.id", func(e *evidence) string { return gid("Releases::Evidence", e.ID) })
	value(b, "ReleaseEvidence.sha", func(e *evidence) string { return e.SHA })
	value(b, "ReleaseEvidence.collectedAt", func(e *evidence) time.Time { return e.CollectedAt.Time })
	value(b, "ReleaseEvidence.filepath", func(e *evidence) string { return b.URLs.ReleaseEvidence(e.of.Project.FullPath, e.of.Tag, int64(e.ID)) })
	exec.Connection[*evidence](b.Schema, "ReleaseEvidence")
	value(b, "ReleaseLinks.selfUrl", func(a *releaseAddresses) string { return b.URLs.Release(a.of.Project.FullPath, a.of.Tag) })
	value(b, "ReleaseLinks.editUrl", func(a *releaseAddresses) string { return b.URLs.EditRelease(a.of.Project.FullPath, a.of.Tag) })
	for field, state := range map[string]string{"openedIssuesUrl": "opened", "closedIssuesUrl": "closed"} {
		value(b, "ReleaseLinks."+field, func(a *releaseAddresses) string { return b.URLs.ReleaseIssues(a.of.Project.FullPath, a.of.Tag, state) })
	}
	for field, state := range map[string]string{"openedMergeRequestsUrl": "opened", "closedMergeRequestsUrl": "closed", "mergedMergeRequestsUrl": "merged"} {
		value(b, "ReleaseLinks."+field, func(a *releaseAddresses) string {
			return b.URLs.ReleaseMergeRequests(a.of.Project.FullPath, a.of.Tag, state)
		})
	}
}

// sourcesOf are the archives of a release, none where the caller does not read the code.
func (b *binder) sourcesOf(v *release.View) []*releaseSource {
	if !v.Code {
		return nil
	}
	out := make([]*releaseSource, len(release.SourceFormats))
	for i, format := range release.SourceFormats {
		out[i] = &releaseSource{format, b.URLs.Archive(v.Project.FullPath, v.Tag, format)}
	}
	return out
}
