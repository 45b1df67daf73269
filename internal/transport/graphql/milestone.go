package graphql

import (
	"context"
	"strings"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// milestones binds milestones and the lists of projects and groups.
func (b *binder) milestones() {
	exec.Root(b.Schema, "milestone", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (*milestone.Milestone, error) {
		return byID(ctx, c.As, c.Args.ID, b.Milestones.WholeByIDs)
	})
	value(b, "Milestone.id", func(m *milestone.Milestone) string { return gid("Milestone", m.ID) })
	value(b, "Milestone.expired", func(m *milestone.Milestone) bool { return m.Expired(b.Now()) })
	value(b, "Milestone.upcoming", func(m *milestone.Milestone) bool {
		return m.StartDate != nil && *m.StartDate > b.Now().UTC().Format(time.DateOnly)
	})
	value(b, "Milestone.webPath", func(m *milestone.Milestone) string {
		if m.ProjectID != nil {
			return b.URLs.Path(b.URLs.ProjectMilestone(m.Path, int64(m.IID)))
		}
		return b.URLs.Path(b.URLs.GroupMilestone(m.Path, int64(m.IID)))
	})
	value(b, "Milestone.projectMilestone", func(m *milestone.Milestone) bool { return m.ProjectID != nil })
	value(b, "Milestone.groupMilestone", func(m *milestone.Milestone) bool { return m.ProjectID == nil })
	value(b, "Milestone.subgroupMilestone", func(m *milestone.Milestone) bool { return m.ProjectID == nil && strings.Contains(m.Path, "/") })
	one(b, "Milestone.project", "projects", func(m *milestone.Milestone) project.ID { return zeroOr(m.ProjectID) }, b.Projects.ByIDs)
	one(b, "Milestone.group", "groups", func(m *milestone.Milestone) namespace.ID {
		if m.ProjectID != nil {
			return 0
		}
		return m.NamespaceID
	}, b.Namespaces.ByIDs)
	exec.Struct[*milestone.Milestone](b.Schema, "Milestone")
	exec.Connection[*milestone.Milestone](b.Schema, "Milestone")
	b.milestoneStats()
	b.milestoneLists()
}

// milestoneStats binds how many issues milestones have that the caller may read.
func (b *binder) milestoneStats() {
	one(b, "Milestone.stats", "milestone stats", func(m *milestone.Milestone) milestone.ID { return m.ID }, b.Issues.CountByMilestone)
	value(b, "MilestoneStats.totalIssuesCount", func(n issue.MilestoneCount) int64 { return n.Total })
	value(b, "MilestoneStats.closedIssuesCount", func(n issue.MilestoneCount) int64 { return n.Closed })
}

// timeframe is days, both included.
type timeframe struct{ Start, End string }

const errTimeframe argumentError = "start must be before end"

// milestoneFilter is the arguments that projects and groups have in common.
type milestoneFilter struct {
	paging
	IDs                []string
	State              milestone.State
	Title, SearchTitle string
	IncludeAncestors   bool
	Timeframe          *timeframe
	ContainingDate     *time.Time
	Sort               string
}

func (b *binder) milestoneLists() {
	exec.Batch(b.Schema, "Project.milestones", func(ctx context.Context, c *exec.Call[milestoneFilter], of []*project.Project) ([]*exec.Page[*milestone.Milestone], error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) (*exec.Page[*milestone.Milestone], error) {
			return milestonePage(ctx, b, c, c.Args, p.Place(), false)
		})
	})
	type ofGroup struct {
		milestoneFilter
		IncludeDescendants bool
	}
	exec.Batch(b.Schema, "Group.milestones", func(ctx context.Context, c *exec.Call[ofGroup], of []*namespace.Group) ([]*exec.Page[*milestone.Milestone], error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, g *namespace.Group) (*exec.Page[*milestone.Milestone], error) {
			return milestonePage(ctx, b, c, c.Args.milestoneFilter, g.Place(), c.Args.IncludeDescendants)
		})
	})
}

// milestonePage reads a page of the milestones of a place.
func milestonePage[A any](ctx context.Context, b *binder, c *exec.Call[A], in milestoneFilter, at authz.Place, descendants bool) (*exec.Page[*milestone.Milestone], error) {
	f := milestone.Filter{State: in.State, Title: in.Title, InTitle: in.SearchTitle, Ancestors: in.IncludeAncestors, Descendants: descendants}
	var err error
	if f.IDs, err = idsOf[milestone.ID]("Milestone", in.IDs); err != nil {
		return nil, err
	}
	f.OrderBy, f.Asc = page.Sorted(in.Sort)
	switch {
	case in.Timeframe != nil && in.Timeframe.Start > in.Timeframe.End:
		return nil, errTimeframe
	case in.Timeframe != nil:
		f.From, f.To = in.Timeframe.Start, in.Timeframe.End
	case in.ContainingDate != nil:
		f.From = in.ContainingDate.UTC().Format(time.DateOnly)
		f.To = f.From
	}
	return read(c, in.paging, maxPage, func(r page.Range) (page.Page[*milestone.Milestone], error) {
		f.Range = r
		list, err := b.Milestones.List(ctx, c.As, at, f)
		return page.Pointers(list), err
	})
}
