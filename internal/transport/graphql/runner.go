package graphql

import (
	"context"
	"strings"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/runner"
	"tenon/internal/transport/graphql/exec"
)

// ciRunner is a runner. Its authentication token is known where it has just been made.
type ciRunner struct {
	*runner.Runner

	token string
}

func (r *ciRunner) key() runner.ID { return r.ID }

// runnerFilter is the arguments of lists of runners.
type runnerFilter struct {
	paging
	Active, Paused             *bool
	Search, Sort, Status, Type *string
	TagList                    []string
}

// filter makes the filter of core: for runners whose details the caller may read.
func (f *runnerFilter) filter(r page.Range) runner.Filter {
	out := runner.Filter{
		Paused: f.Paused, Search: searched(f.Search), Tags: f.TagList, Type: runner.Type(strings.ToLower(zeroOr(f.Type))), Status: strings.ToLower(zeroOr(f.Status)),
		Details: true, OrderBy: "created_at", Desc: true, Range: r,
	}
	if f.Active != nil {
		out.Paused = new(!*f.Active)
	}
	if f.Sort != nil {
		by, asc := page.Sorted(*f.Sort)
		if by == "contacted" {
			by = "contacted_at"
		}
		out.OrderBy, out.Desc = by, !asc
	}
	return out
}

// runners binds runners.
func (b *binder) runners() {
	exec.Root(b.Schema, "runner", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (*ciRunner, error) {
		return byID(ctx, c.As, c.Args.ID, b.runnersByIDs)
	})
	exec.Root(b.Schema, "runners", func(ctx context.Context, c *exec.Call[runnerFilter]) (*exec.Page[*ciRunner], error) {
		return list(ctx, part(b, c, c.Args.paging, maxPage), func(ctx context.Context, r page.Range) (page.Page[*ciRunner], error) {
			return runnersOf(b.Runners.ListAll(ctx, c.As, c.Args.filter(r)))
		}, same)
	})
	exec.Batch(b.Schema, "Project.runners", func(ctx context.Context, c *exec.Call[runnerFilter], of []*project.Project) ([]*exec.Page[*ciRunner], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[*ciRunner], error) {
			return runnersOf(b.Runners.ListOf(ctx, c.As, p.Place(), c.Args.filter(r)))
		}, same)
	})
	type ofGroup struct {
		runnerFilter
		Membership string
	}
	exec.Batch(b.Schema, "Group.runners", func(ctx context.Context, c *exec.Call[ofGroup], of []*namespace.Group) ([]*exec.Page[*ciRunner], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, g *namespace.Group, r page.Range) (page.Page[*ciRunner], error) {
			f := c.Args.filter(r)
			if c.Args.Membership != "ALL_AVAILABLE" {
				f.Members = runner.Membership(strings.ToLower(c.Args.Membership))
			}
			return runnersOf(b.Runners.ListOf(ctx, c.As, g.Place(), f))
		}, same)
	})
	exec.Connection[*ciRunner](b.Schema, "CiRunner")
	one(b, "CiJob.runner", "runners", func(j *job) runner.ID { return zeroOr(j.RunnerID) }, b.runnersByIDs)
	b.runnerFields()
	b.runnerParts()
	exec.Struct[*ciRunner](b.Schema, "CiRunner")
	b.runnerMutations()
}

// runnersOf returns runners of a list of core.
func runnersOf(list page.Page[runner.Runner], err error) (page.Page[*ciRunner], error) {
	return page.Map(list, func(r *runner.Runner) *ciRunner { return &ciRunner{Runner: r} }), err
}

// runnersByIDs returns the runners whose details the caller may read.
func (b *binder) runnersByIDs(ctx context.Context, as authz.Actor, ids []runner.ID) (map[runner.ID]*ciRunner, error) {
	found, err := b.Runners.ByIDs(ctx, as, ids)
	out := make(map[runner.ID]*ciRunner, len(found))
	for id, r := range found {
		out[id] = &ciRunner{Runner: r}
	}
	return out, err
}

// runnerFields binds what runners tell of themselves.
func (b *binder) runnerFields() {
	value(b, "CiRunner.id", func(r *ciRunner) string { return gid("Ci::Runner", r.ID) })
	value(b, "CiRunner.accessLevel", func(r *ciRunner) string { return strings.ToUpper(r.AccessLevel()) })
	value(b, "CiRunner.active", func(r *ciRunner) bool { return !r.Paused })
	value(b, "CiRunner.architectureName", func(r *ciRunner) *string { return r.Architecture })
	value(b, "CiRunner.platformName", func(r *ciRunner) *string { return r.Platform })
	value(b, "CiRunner.contactedAt", func(r *ciRunner) *time.Time { return r.ContactedAt.Ptr() })
	value(b, "CiRunner.createdAt", func(r *ciRunner) time.Time { return r.CreatedAt.Time })
	value(b, "CiRunner.tokenExpiresAt", func(r *ciRunner) *time.Time { return r.TokenExpiresAt.Ptr() })
	value(b, "CiRunner.ephemeralAuthenticationToken", func(r *ciRunner) *string { return text(r.token) })
	value(b, "CiRunner.runnerType", func(r *ciRunner) string { return strings.ToUpper(string(r.Type)) })
	exec.ValueWith(b.Schema, "CiRunner.status", func(r *ciRunner, in struct{ LegacyMode *string }) string {
		if in.LegacyMode != nil && r.Paused {
			return "PAUSED"
		}
		return strings.ToUpper(string(r.Status(b.Now())))
	})
	one(b, "CiRunner.jobExecutionStatus", "runners with jobs", (*ciRunner).key, func(ctx context.Context, as authz.Actor, ids []runner.ID) (map[runner.ID]string, error) {
		found, err := b.CI.Executing(ctx, as, ids)
		out := make(map[runner.ID]string, len(found))
		for id, busy := range found {
			if out[id] = "IDLE"; busy {
				out[id] = "RUNNING"
			}
		}
		return out, err
	})
	value(b, "CiRunner.tagList", func(r *ciRunner) []string { return r.Tags() })
	one(b, "CiRunner.createdBy", "users", func(r *ciRunner) authz.UserID { return zeroOr(r.CreatorID) }, b.usersByIDs)
	one(b, "CiRunner.ownerProject", "first projects of runners", (*ciRunner).key, b.Runners.OwnerProjects)
	one(b, "CiRunner.userPermissions", "permissions on runners", (*ciRunner).key, b.Runners.Permissions)
	value(b, "RunnerPermissions.assignRunner", func(may runner.Permissions) bool { return may.Assign })
	value(b, "RunnerPermissions.deleteRunner", func(may runner.Permissions) bool { return may.Delete })
	value(b, "RunnerPermissions.readRunner", func(runner.Permissions) bool { return true })
	value(b, "RunnerPermissions.updateRunner", func(may runner.Permissions) bool { return may.Update })
}

// runnerParts binds what is read for runners.
func (b *binder) runnerParts() {
	runnerView(b, "maintenanceNote", func(v *runner.View) *string { return v.Note })
	exec.Batch(b.Schema, "CiRunner.maintenanceNoteHtml", func(ctx context.Context, c *exec.Call[exec.None], of []*ciRunner) ([]*string, error) {
		views, err := runnerViews(ctx, b, c, of)
		if err != nil {
			return nil, err
		}
		return renderAll(ctx, b, c.As, b.References.HTML, views, func(v *runner.View) (reference.Scope, *string) {
			if v == nil {
				return reference.Scope{}, nil
			}
			return reference.Scope{}, v.Note
		})
	}, exec.Costly)
	exec.Batch(b.Schema, "CiRunner.projectCount", func(ctx context.Context, c *exec.Call[exec.None], of []*ciRunner) ([]*int, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, r *ciRunner) (*int, error) {
			if r.Type != runner.ProjectType {
				return nil, nil
			}
			list, err := b.Runners.Projects(ctx, c.As, r.ID, page.Range{Limit: 1})
			if err != nil {
				return nil, err
			}
			return &list.Total, nil
		})
	}, exec.Costly)
	exec.Batch(b.Schema, "CiRunner.groups", func(ctx context.Context, c *exec.Call[paging], of []*ciRunner) ([]*exec.Page[*namespace.Group], error) {
		views, err := runnerViews(ctx, b, c, of)
		out := make([]*exec.Page[*namespace.Group], len(of))
		for i, v := range views {
			if err == nil && v != nil && of[i].Type == runner.GroupType {
				var groups []*namespace.Group
				if v.Group != nil {
					groups = append(groups, v.Group)
				}
				out[i], err = listOf(c.Args, maxPage, groups)
			}
		}
		return out, err
	}, exec.Costly)
	exec.Batch(b.Schema, "CiRunner.projects", func(ctx context.Context, c *exec.Call[paging], of []*ciRunner) ([]*exec.Page[*project.Project], error) {
		return lists(ctx, part(b, c, c.Args, maxPage), of, func(ctx context.Context, r *ciRunner, at page.Range) (page.Page[*project.Project], error) {
			return b.Runners.Projects(ctx, c.As, r.ID, at)
		}, same)
	})
	exec.Batch(b.Schema, "CiRunner.managers", func(ctx context.Context, c *exec.Call[paging], of []*ciRunner) ([]*exec.Page[*runner.Manager], error) {
		return lists(ctx, part(b, c, c.Args, maxPage), of, func(ctx context.Context, r *ciRunner, at page.Range) (page.Page[*runner.Manager], error) {
			list, err := b.Runners.Managers(ctx, c.As, r.ID, at)
			return page.Pointers(list), err
		}, same)
	})
	type statuses struct {
		paging
		Statuses []string
	}
	exec.Batch(b.Schema, "CiRunner.jobs", func(ctx context.Context, c *exec.Call[statuses], of []*ciRunner) ([]*exec.Page[*job], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, r *ciRunner, at page.Range) (page.Page[*ci.Job], error) {
			list, err := b.CI.OfRunner(ctx, c.As, r.ID, ci.JobFilter{States: lower[ci.State](c.Args.Statuses), Range: at})
			return page.Pointers(list), err
		}, func(ctx context.Context, rows []*ci.Job) ([]*job, error) { return b.jobsWith(ctx, c.As, rows) })
	})
	exec.Batch(b.Schema, "CiRunner.jobCount", func(ctx context.Context, c *exec.Call[exec.None], of []*ciRunner) ([]*int, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, r *ciRunner) (*int, error) {
			list, err := b.CI.OfRunner(ctx, c.As, r.ID, ci.JobFilter{Range: page.Range{Limit: 1}})
			if err != nil {
				return nil, err
			}
			return &list.Total, nil
		})
	}, exec.Costly)
	b.runnerManagers()
}

// runnerManagers binds the machines of runners.
func (b *binder) runnerManagers() {
	value(b, "CiRunnerManager.id", func(m *runner.Manager) string { return gid("Ci::RunnerManager", m.ID) })
	one(b, "CiRunnerManager.runner", "runners", func(m *runner.Manager) runner.ID { return m.RunnerID }, b.runnersByIDs)
	value(b, "CiRunnerManager.architectureName", func(m *runner.Manager) *string { return m.Architecture })
	value(b, "CiRunnerManager.platformName", func(m *runner.Manager) *string { return m.Platform })
	value(b, "CiRunnerManager.contactedAt", func(m *runner.Manager) time.Time { return m.ContactedAt.Time })
	value(b, "CiRunnerManager.createdAt", func(m *runner.Manager) time.Time { return m.CreatedAt.Time })
	value(b, "CiRunnerManager.status", func(m *runner.Manager) string { return strings.ToUpper(string(m.Status(b.Now()))) })
	exec.Struct[*runner.Manager](b.Schema, "CiRunnerManager")
	exec.Connection[*runner.Manager](b.Schema, "CiRunnerManager")
}

// runnerViews reads what the caller may see of runners.
func runnerViews[A any](ctx context.Context, b *binder, c *exec.Call[A], of []*ciRunner) ([]*runner.View, error) {
	return forEach(ctx, b, c, of, func(ctx context.Context, r *ciRunner) (*runner.View, error) {
		return b.Runners.View(ctx, c.As, r.Runner)
	})
}

// runnerView binds a field of runners that their views tell.
func runnerView[R any](b *binder, field string, f func(v *runner.View) R) {
	exec.Batch(b.Schema, "CiRunner."+field, func(ctx context.Context, c *exec.Call[exec.None], of []*ciRunner) ([]R, error) {
		views, err := runnerViews(ctx, b, c, of)
		out := make([]R, len(of))
		for i, v := range views {
			if v != nil {
				out[i] = f(v)
			}
		}
		return out, err
	}, exec.Costly)
}
