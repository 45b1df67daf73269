package graphql

import (
	"context"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/iteration"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/transport/graphql/exec"
)

// iterations binds iterations, their cadences and the lists of projects and groups.
func (b *binder) iterations() {
	exec.Root(b.Schema, "iteration", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (*iteration.Iteration, error) {
		return byID(ctx, c.As, c.Args.ID, b.Iterations.WholeByIDs)
	})
	value(b, "Iteration.id", func(i *iteration.Iteration) string { return gid("Iteration", i.ID) })
	value(b, "Iteration.state", func(i *iteration.Iteration) iteration.State { return i.StateAt(b.Now()) })
	value(b, "Iteration.webUrl", func(i *iteration.Iteration) string { return b.URLs.Iteration(i.Path, int64(i.ID)) })
	value(b, "Iteration.webPath", func(i *iteration.Iteration) string { return b.URLs.Path(b.URLs.Iteration(i.Path, int64(i.ID))) })
	rendered(b, "Iteration.descriptionHtml", func(i *iteration.Iteration) (reference.Scope, *string) {
		return reference.Scope{Group: i.NamespaceID}, i.Description
	})
	one(b, "Iteration.iterationCadence", "cadences", func(i *iteration.Iteration) iteration.CadenceID { return i.CadenceID }, b.Iterations.CadencesByIDs)
	exec.Struct[*iteration.Iteration](b.Schema, "Iteration")
	exec.Connection[*iteration.Iteration](b.Schema, "Iteration")

	value(b, "IterationCadence.id", func(c *iteration.Cadence) string { return gid("Iterations::Cadence", c.ID) })
	value(b, "IterationCadence.durationInWeeks", func(c *iteration.Cadence) *int64 { return positive(c.Weeks) })
	value(b, "IterationCadence.iterationsInAdvance", func(c *iteration.Cadence) *int64 { return positive(c.Advance) })
	exec.Struct[*iteration.Cadence](b.Schema, "IterationCadence")
	exec.Connection[*iteration.Cadence](b.Schema, "IterationCadence")
	b.iterationLists()
	b.cadenceLists()
	b.iterationMutations()
	b.cadenceMutations()
}

// positive returns a number that is null where it is zero.
func positive(n int64) *int64 {
	if n <= 0 {
		return nil
	}
	return &n
}

// iterationFilter is the arguments of lists of iterations.
type iterationFilter struct {
	paging
	ID, IID             *string
	In                  []string
	IncludeAncestors    *bool
	IterationCadenceIDs []globalID
	Search, Title, Sort string
	State               string
	Timeframe           *timeframe
}

func (a *iterationFilter) filter() (iteration.Filter, error) {
	in := a
	f := iteration.Filter{
		Search: in.Search, Title: in.Title, Ancestors: in.IncludeAncestors == nil || *in.IncludeAncestors,
		ByCadence: in.Sort != "", Desc: in.Sort == "CADENCE_AND_DUE_DATE_DESC",
	}
	if in.State != "all" {
		f.State = iteration.State(in.State)
	}
	for _, field := range in.In {
		f.In = append(f.In, map[string]string{"TITLE": "title", "CADENCE_TITLE": "cadence_title"}[field])
	}
	for _, id := range in.IterationCadenceIDs {
		f.Cadences = append(f.Cadences, iteration.CadenceID(id.ID))
	}
	if in.ID != nil {
		ids, err := idsOf[iteration.ID]("Iteration", []string{*in.ID})
		if err != nil {
			return f, err
		}
		f.IDs = ids
	}
	if in.IID != nil {
		f.IIDs = []iteration.IID{iteration.IID(number(*in.IID))}
	}
	if in.Timeframe != nil {
		if in.Timeframe.Start > in.Timeframe.End {
			return f, errTimeframe
		}
		f.From, f.To = in.Timeframe.Start, in.Timeframe.End
	}
	return f, nil
}

func (b *binder) iterationLists() {
	exec.Batch(b.Schema, "Project.iterations", func(ctx context.Context, c *exec.Call[iterationFilter], of []*project.Project) ([]*exec.Page[*iteration.Iteration], error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) (*exec.Page[*iteration.Iteration], error) {
			return b.iterationPage(ctx, c, p.Place())
		})
	})
	exec.Batch(b.Schema, "Group.iterations", func(ctx context.Context, c *exec.Call[iterationFilter], of []*namespace.Group) ([]*exec.Page[*iteration.Iteration], error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, g *namespace.Group) (*exec.Page[*iteration.Iteration], error) {
			return b.iterationPage(ctx, c, g.Place())
		})
	})
}

func (b *binder) iterationPage(ctx context.Context, c *exec.Call[iterationFilter], at authz.Place) (*exec.Page[*iteration.Iteration], error) {
	f, err := c.Args.filter()
	if err != nil {
		return nil, err
	}
	return read(c, c.Args.paging, maxPage, func(r page.Range) (page.Page[*iteration.Iteration], error) {
		f.Range = r
		list, err := b.Iterations.List(ctx, c.As, at, f)
		return page.Pointers(list), err
	})
}

// cadenceFilter is the arguments of lists of cadences.
type cadenceFilter struct {
	paging
	ID                    *globalID
	Title                 string
	DurationInWeeks       int64
	Active, Automatic     *bool
	IncludeAncestorGroups bool
}

func (b *binder) cadenceLists() {
	exec.Batch(b.Schema, "Project.iterationCadences", func(ctx context.Context, c *exec.Call[cadenceFilter], of []*project.Project) ([]*exec.Page[*iteration.Cadence], error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) (*exec.Page[*iteration.Cadence], error) {
			return b.cadencePage(ctx, c, p.Place())
		})
	})
	exec.Batch(b.Schema, "Group.iterationCadences", func(ctx context.Context, c *exec.Call[cadenceFilter], of []*namespace.Group) ([]*exec.Page[*iteration.Cadence], error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, g *namespace.Group) (*exec.Page[*iteration.Cadence], error) {
			return b.cadencePage(ctx, c, g.Place())
		})
	})
}

func (b *binder) cadencePage(ctx context.Context, c *exec.Call[cadenceFilter], at authz.Place) (*exec.Page[*iteration.Cadence], error) {
	f := iteration.CadenceFilter{
		Title: c.Args.Title, Weeks: c.Args.DurationInWeeks, Active: c.Args.Active, Automatic: c.Args.Automatic, Ancestors: c.Args.IncludeAncestorGroups,
	}
	if c.Args.ID != nil {
		f.IDs = []iteration.CadenceID{iteration.CadenceID(c.Args.ID.ID)}
	}
	return read(c, c.Args.paging, maxPage, func(r page.Range) (page.Page[*iteration.Cadence], error) {
		f.Range = r
		list, err := b.Iterations.Cadences(ctx, c.As, at, f)
		return page.Pointers(list), err
	})
}

func (b *binder) iterationMutations() {
	type created struct{ Iteration *iteration.Iteration }
	type input struct {
		parent
		IterationsCadenceID *globalID
		Title, Description  *string
		StartDate, DueDate  string
	}
	create := func(ctx context.Context, c *exec.Call[input]) (created, error) {
		p, g, err := b.parent(ctx, c.As, c.Args.parent)
		if err == nil && p != nil { // iterations are of groups
			err = errNoPlace
		}
		if err != nil {
			return created{}, err
		}
		i, err := b.Iterations.Create(ctx, c.As, g.Place(), iteration.Input{
			Cadence: iteration.CadenceID(zeroOr(c.Args.IterationsCadenceID).ID), Title: c.Args.Title, Description: c.Args.Description, StartDate: c.Args.StartDate, DueDate: c.Args.DueDate,
		})
		return created{b.placed(i, g)}, err
	}
	exec.Mutation(b.Schema, "iterationCreate", create)
	exec.Mutation(b.Schema, "createIteration", create)
	exec.Mutation(b.Schema, "updateIteration", func(ctx context.Context, c *exec.Call[struct {
		GroupPath, ID                          string
		Title, Description, StartDate, DueDate *string
	}],
	) (created, error) {
		g, err := b.group(ctx, c.As, c.Args.GroupPath)
		if err != nil {
			return created{}, err
		}
		ids, err := idsOf[iteration.ID]("Iteration", []string{c.Args.ID})
		if err != nil {
			return created{}, err
		}
		i, err := b.Iterations.Update(ctx, c.As, g.Place(), ids[0], iteration.Changes{
			Title: c.Args.Title, Description: c.Args.Description, StartDate: c.Args.StartDate, DueDate: c.Args.DueDate,
		})
		return created{i}, err
	})
	type deleted struct{ Group *namespace.Group }
	exec.Mutation(b.Schema, "iterationDelete", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (deleted, error) {
		i, err := needed(ctx, c.As, c.Args.ID, b.Iterations.ByIDs)
		if err != nil {
			return deleted{}, err
		}
		g, err := b.Namespaces.FindByID(ctx, c.As, i.NamespaceID)
		if err != nil {
			return deleted{}, err
		}
		return deleted{g}, b.Iterations.Delete(ctx, c.As, g.Place(), i.ID)
	})
}

// placed says where a new iteration is.
func (b *binder) placed(i *iteration.Iteration, g *namespace.Group) *iteration.Iteration {
	if i != nil {
		i.Path = g.FullPath
	}
	return i
}

func (b *binder) cadenceMutations() {
	type payload struct{ IterationCadence *iteration.Cadence }
	exec.Mutation(b.Schema, "iterationCadenceCreate", func(ctx context.Context, c *exec.Call[struct {
		GroupPath                            string
		Title                                string
		Description                          *string
		Active, Automatic                    bool
		StartDate                            *time.Time
		DurationInWeeks, IterationsInAdvance int64
	}],
	) (payload, error) {
		g, err := b.group(ctx, c.As, c.Args.GroupPath)
		if err != nil {
			return payload{}, err
		}
		in := c.Args
		made, err := b.Iterations.CreateCadence(ctx, c.As, g.Place(), iteration.CadenceInput{
			Title: in.Title, Description: in.Description, Inactive: !in.Active, Automatic: in.Automatic, StartDate: dayOf(in.StartDate), Weeks: in.DurationInWeeks, Advance: in.IterationsInAdvance,
		})
		return payload{made}, err
	})
	exec.Mutation(b.Schema, "iterationCadenceUpdate", func(ctx context.Context, c *exec.Call[struct {
		ID                                   globalID
		Title, Description                   *string
		Active, Automatic                    *bool
		StartDate                            *time.Time
		DurationInWeeks, IterationsInAdvance *int64
	}],
	) (payload, error) {
		in := c.Args
		g, err := b.groupOfCadence(ctx, c.As, in.ID)
		if err != nil {
			return payload{}, err
		}
		changed, err := b.Iterations.UpdateCadence(ctx, c.As, g.Place(), iteration.CadenceID(in.ID.ID), iteration.CadenceChanges{
			Title: in.Title, Description: in.Description, Active: in.Active, Automatic: in.Automatic, StartDate: dayOf(in.StartDate), Weeks: in.DurationInWeeks, Advance: in.IterationsInAdvance,
		})
		return payload{changed}, err
	})
	type deleted struct{ Group *namespace.Group }
	exec.Mutation(b.Schema, "iterationCadenceDestroy", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (deleted, error) {
		g, err := b.groupOfCadence(ctx, c.As, c.Args.ID)
		if err != nil {
			return deleted{}, err
		}
		return deleted{g}, b.Iterations.DeleteCadence(ctx, c.As, g.Place(), iteration.CadenceID(c.Args.ID.ID))
	})
}

// groupOfCadence finds the group of a cadence that the caller may read.
func (b *binder) groupOfCadence(ctx context.Context, as authz.Actor, id globalID) (*namespace.Group, error) {
	c, err := needed(ctx, as, id, b.Iterations.CadencesByIDs)
	if err != nil {
		return nil, err
	}
	return b.Namespaces.FindByID(ctx, as, c.NamespaceID)
}

// dayOf returns the day of a time, YYYY-MM-DD, nil for nil.
func dayOf(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return new(t.UTC().Format(time.DateOnly))
}
