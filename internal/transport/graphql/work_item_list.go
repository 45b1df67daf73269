package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/issue"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// workItemLists binds the work items of places.
func (b *binder) workItemLists() {
	exec.Batch(b.Schema, "Project.workItems", func(ctx context.Context, c *exec.Call[struct {
		paging
		AuthorUsername, IID *string
		IIDs, In            []string
		Search, Sort, State *string
		Types               []string
	}], of []*project.Project,
	) ([]*exec.Page[*workItem], error) {
		in := c.Args
		from := issueFilter{AuthorUsername: in.AuthorUsername, IID: in.IID, IIDs: in.IIDs, In: in.In, Search: in.Search, Sort: in.Sort, State: in.State, Types: in.Types}
		f, err := from.filter()
		if err != nil {
			return nil, err
		}
		return lists(ctx, part(b, c, in.paging, maxPage), of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[workItemRow], error) {
			f := f
			f.Range = r
			found, err := b.Issues.List(ctx, c.As, issue.Place{Project: p}, f)
			return page.Map(found, func(i *issue.Issue) workItemRow { return workItemRow{issue: i} }), err
		}, b.workItemViews(c.As))
	})
}
