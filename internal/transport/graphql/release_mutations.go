package graphql

import (
	"context"
	"strings"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/release"
	"tenon/internal/transport/graphql/exec"
)

// releasePayload is what mutations of releases give.
type releasePayload struct{ Release *release.View }

// releaseName names a release of a project.
type releaseName struct{ ProjectPath, TagName string }

// releaseText is what a release is made or changed with.
type releaseText struct {
	Name, Description *string
	ReleasedAt        *time.Time
	Milestones        []string
}

// releaseLink is a link that an input adds.
type releaseLink struct {
	DirectAssetPath     *string
	LinkType, Name, URL string
}

func (l releaseLink) input() release.LinkInput {
	return release.LinkInput{Name: l.Name, URL: l.URL, Path: l.DirectAssetPath, Type: strings.ToLower(l.LinkType)}
}

// releaseSeen is the payload with a release of a project.
func (b *binder) releaseSeen(ctx context.Context, as authz.Actor, p *project.Project, r *release.Release, err error) (releasePayload, error) {
	if err != nil {
		return releasePayload{}, err
	}
	v, err := b.releasesOf().View(ctx, as, p, r)
	return releasePayload{v}, err
}

func (b *binder) releaseMutations() {
	type create struct {
		releaseName
		releaseText
		Ref, TagMessage *string
		Assets          *struct{ Links []releaseLink }
	}
	exec.Mutation(b.Schema, "releaseCreate", func(ctx context.Context, c *exec.Call[create]) (releasePayload, error) {
		in := c.Args
		p, err := b.project(ctx, c.As, in.ProjectPath)
		if err != nil {
			return releasePayload{}, err
		}
		input := release.Input{
			Tag: in.TagName, Ref: zeroOr(in.Ref), TagMessage: zeroOr(in.TagMessage), Name: zeroOr(in.Name), Description: in.Description, ReleasedAt: in.ReleasedAt,
			Milestones: release.Milestones{Titles: in.Milestones},
		}
		if in.Assets != nil {
			for _, l := range in.Assets.Links {
				input.Links = append(input.Links, l.input())
			}
		}
		r, err := b.releasesOf().Create(ctx, c.As, p, input)
		return b.releaseSeen(ctx, c.As, p, r, err)
	})
	type update struct {
		releaseName
		releaseText
	}
	exec.Mutation(b.Schema, "releaseUpdate", func(ctx context.Context, c *exec.Call[update]) (releasePayload, error) {
		in := c.Args
		p, err := b.project(ctx, c.As, in.ProjectPath)
		if err != nil {
			return releasePayload{}, err
		}
		r, err := b.releasesOf().Update(ctx, c.As, p, in.TagName, release.Changes{
			Name: in.Name, Description: in.Description, ReleasedAt: in.ReleasedAt, Milestones: release.Milestones{Titles: in.Milestones},
		})
		return b.releaseSeen(ctx, c.As, p, r, err)
	})
	exec.Mutation(b.Schema, "releaseDelete", func(ctx context.Context, c *exec.Call[releaseName]) (releasePayload, error) {
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return releasePayload{}, err
		}
		v, err := b.releasesOf().Delete(ctx, c.As, p, c.Args.TagName)
		return releasePayload{v}, err
	})
}

// releaseLinkPayload is what mutations of links give.
type releaseLinkPayload struct{ Link *release.PlacedLink }

func releaseLinkSeen(p *project.Project, tag string, l *release.Link, err error) (releaseLinkPayload, error) {
	if err != nil {
		return releaseLinkPayload{}, err
	}
	return releaseLinkPayload{&release.PlacedLink{Link: l, Tag: tag, Project: p}}, nil
}

func (b *binder) releaseLinkMutations() {
	type create struct {
		releaseName
		releaseLink
	}
	exec.Mutation(b.Schema, "releaseAssetLinkCreate", func(ctx context.Context, c *exec.Call[create]) (releaseLinkPayload, error) {
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return releaseLinkPayload{}, err
		}
		l, err := b.releasesOf().CreateLink(ctx, c.As, p, c.Args.TagName, c.Args.input())
		return releaseLinkSeen(p, c.Args.TagName, l, err)
	})
	type update struct {
		ID                                   globalID
		DirectAssetPath, LinkType, Name, URL *string
	}
	exec.Mutation(b.Schema, "releaseAssetLinkUpdate", func(ctx context.Context, c *exec.Call[update]) (releaseLinkPayload, error) {
		l, err := needed(ctx, c.As, c.Args.ID, b.releasesOf().LinksByIDs)
		if err != nil {
			return releaseLinkPayload{}, err
		}
		change := release.LinkChanges{Name: c.Args.Name, URL: c.Args.URL, Path: c.Args.DirectAssetPath}
		if c.Args.LinkType != nil {
			change.Type = new(strings.ToLower(*c.Args.LinkType))
		}
		changed, err := b.releasesOf().UpdateLink(ctx, c.As, l.Project, l.Tag, l.ID, change)
		return releaseLinkSeen(l.Project, l.Tag, changed, err)
	})
	exec.Mutation(b.Schema, "releaseAssetLinkDelete", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (releaseLinkPayload, error) {
		l, err := needed(ctx, c.As, c.Args.ID, b.releasesOf().LinksByIDs)
		if err != nil {
			return releaseLinkPayload{}, err
		}
		deleted, err := b.releasesOf().DeleteLink(ctx, c.As, l.Project, l.Tag, l.ID)
		return releaseLinkSeen(l.Project, l.Tag, deleted, err)
	})
}
