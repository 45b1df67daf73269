package graphql

import (
	"context"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/runner"
	"tenon/internal/transport/graphql/exec"
)

// maxDeletedRunners is how many runners one mutation deletes.
const maxDeletedRunners = 50

// runnerAttributes are what inputs set of runners.
type runnerAttributes struct {
	AccessLevel                  *string
	Description, MaintenanceNote *string
	Locked, Paused, RunUntagged  *bool
	MaximumTimeout               exec.Opt[int64]
	TagList                      *[]string
}

func (a *runnerAttributes) changes() runner.Changes {
	c := runner.Changes{
		Description: a.Description, MaintenanceNote: a.MaintenanceNote, Locked: a.Locked, Paused: a.Paused, RunUntagged: a.RunUntagged, Tags: a.TagList,
	}
	if a.AccessLevel != nil {
		c.Protected = new(*a.AccessLevel == "REF_PROTECTED")
	}
	if a.MaximumTimeout.Set {
		c.Timeout = &runner.Timeout{Seconds: a.MaximumTimeout.Value}
	}
	return c
}

// runnerPayload is what mutations of runners give.
type runnerPayload struct{ Runner *ciRunner }

// runnerMutations binds what is done with runners.
func (b *binder) runnerMutations() {
	type create struct {
		runnerAttributes
		GroupID, ProjectID *globalID
		RunnerType         string
	}
	exec.Mutation(b.Schema, "runnerCreate", func(ctx context.Context, c *exec.Call[create]) (runnerPayload, error) {
		in := runner.Input{Changes: c.Args.changes()}
		at, err := b.runnerPlace(ctx, c.As, c.Args.RunnerType, c.Args.GroupID, c.Args.ProjectID)
		if err != nil {
			return runnerPayload{}, err
		}
		switch in.Type = runner.TypeIn(at); in.Type {
		case runner.GroupType:
			in.GroupID = at.Namespace
		case runner.ProjectType:
			in.ProjectID = at.ID
		}
		made, token, err := b.Runners.Create(ctx, c.As, in)
		if err != nil {
			return runnerPayload{}, err
		}
		return runnerPayload{&ciRunner{made, token}}, nil
	})
	type update struct {
		runnerAttributes
		ID     globalID
		Active *bool
	}
	exec.Mutation(b.Schema, "runnerUpdate", func(ctx context.Context, c *exec.Call[update]) (runnerPayload, error) {
		r, err := needed(ctx, c.As, c.Args.ID, b.runnersByIDs)
		if err != nil {
			return runnerPayload{}, err
		}
		changes := c.Args.changes()
		if c.Args.Active != nil {
			changes.Paused = new(!*c.Args.Active)
		}
		changed, err := b.Runners.Update(ctx, c.As, r.ID, changes)
		if err != nil {
			return runnerPayload{}, err
		}
		return runnerPayload{&ciRunner{Runner: changed}}, nil
	})
	exec.Mutation(b.Schema, "runnerDelete", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (exec.None, error) {
		r, err := needed(ctx, c.As, c.Args.ID, b.runnersByIDs)
		if err != nil {
			return exec.None{}, err
		}
		return exec.None{}, b.Runners.Delete(ctx, c.As, r.ID)
	})
	exec.Mutation(b.Schema, "bulkRunnerDelete", func(ctx context.Context, c *exec.Call[struct{ IDs []globalID }]) (deletedRunners, error) {
		return b.deleteRunners(ctx, c.As, numbers[runner.ID](c.Args.IDs))
	})
	b.registrationReset()
}

// registrationReset binds the reset of registration tokens.
func (b *binder) registrationReset() {
	type reset struct {
		ID   *string
		Type string
	}
	type resetPayload struct{ Token *string }
	exec.Mutation(b.Schema, "runnersRegistrationTokenReset", func(ctx context.Context, c *exec.Call[reset]) (resetPayload, error) {
		var id *globalID
		if c.Args.ID != nil {
			read, err := readGID(*c.Args.ID)
			if err != nil {
				return resetPayload{}, argumentError(err.Error())
			}
			id = &read
		}
		at, err := b.runnerPlace(ctx, c.As, c.Args.Type, id, id)
		if err != nil {
			return resetPayload{}, err
		}
		token, err := b.Runners.ResetRegistration(ctx, c.As, at)
		if err != nil {
			return resetPayload{}, err
		}
		return resetPayload{&token}, nil
	})
}

// runnerPlace finds the group or project that runners of a type belong to.
func (b *binder) runnerPlace(ctx context.Context, as authz.Actor, kind string, groupID, projectID *globalID) (authz.Place, error) {
	switch kind {
	case "GROUP_TYPE":
		if groupID == nil || groupID.Model != "Group" {
			return authz.Place{}, errNoPlace
		}
		g, err := needed(ctx, as, *groupID, b.Namespaces.ByIDs)
		if err != nil {
			return authz.Place{}, err
		}
		return g.Place(), nil
	case "PROJECT_TYPE":
		if projectID == nil || projectID.Model != "Project" {
			return authz.Place{}, errNoPlace
		}
		p, err := needed(ctx, as, *projectID, b.Projects.ByIDs)
		if err != nil {
			return authz.Place{}, err
		}
		return p.Place(), nil
	}
	return authz.Place{}, nil
}

// deletedRunners says which runners are gone.
type deletedRunners struct {
	DeletedCount *int
	DeletedIDs   []string
}

// deleteRunners deletes those of the runners that the caller may delete, and names the others that it may read.
func (b *binder) deleteRunners(ctx context.Context, as authz.Actor, ids []runner.ID) (deletedRunners, error) {
	out := deletedRunners{DeletedCount: new(0), DeletedIDs: []string{}}
	if len(ids) > maxDeletedRunners {
		return out, argumentError(fmt.Sprintf("Can only delete up to %d runners per call. Please specify fewer runners.", maxDeletedRunners))
	}
	found, err := b.runnersByIDs(ctx, as, ids)
	if err != nil {
		return out, err
	}
	var kept []string
	for _, id := range ids {
		if found[id] == nil {
			continue
		}
		switch err := b.Runners.Delete(ctx, as, id); {
		case errs.Is(err, errs.Forbidden):
			kept = append(kept, fmt.Sprintf("User does not have permission to delete runner #%d", id))
		case err != nil && !errs.Is(err, errs.NotFound):
			return out, err
		case err == nil:
			out.DeletedIDs = append(out.DeletedIDs, gid("Ci::Runner", id))
		}
		delete(found, id)
	}
	*out.DeletedCount = len(out.DeletedIDs)
	switch {
	case len(out.DeletedIDs) == 0:
		return out, errNoPlace
	case len(kept) > 0:
		return out, errs.Sentences(errs.Invalid, kept...)
	}
	return out, nil
}
