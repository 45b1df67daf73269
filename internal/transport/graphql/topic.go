package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/transport/graphql/exec"
)

// topics binds the topics of projects.
func (b *binder) topics() {
	type search struct {
		paging
		Search *string
	}
	exec.Root(b.Schema, "topics", func(ctx context.Context, c *exec.Call[search]) (*exec.Page[*project.Topic], error) {
		return list(ctx, part(b, c, c.Args.paging, maxPage), func(ctx context.Context, r page.Range) (page.Page[*project.Topic], error) {
			found, err := b.Projects.ListTopics(ctx, c.As, project.TopicFilter{Search: searched(c.Args.Search), Range: r})
			return page.Pointers(found), err
		}, same)
	})
	value(b, "Topic.id", func(t *project.Topic) string { return gid("Projects::Topic", t.ID) })
	value(b, "Topic.descriptionHtml", func(t *project.Topic) *string { return b.described(reference.Scope{}, t.Description) })
	value(b, "Topic.avatarUrl", func(t *project.Topic) *string { return b.avatar("topic", int64(t.ID), t.Avatar) })
	exec.Struct[*project.Topic](b.Schema, "Topic")
	exec.Connection[*project.Topic](b.Schema, "Topic")
}
