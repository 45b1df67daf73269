package noteable

import (
	"context"

	"tenon/internal/core/authz"
)

// Commands are the quick actions of descriptions. A service that creates and updates what has one takes
// them out before, and runs them after its transaction.
type Commands interface {
	// Cut takes the quick actions for a kind out of a text. Run is nil where it has none.
	Cut(kind Kind, text string) (rest string, run Run)
}

// Run runs quick actions with the rights of the actor on a target that the actor may read. They may write to the repository,
// so that it runs in no transaction. What they cannot do is no error.
type Run func(ctx context.Context, as authz.Actor, at authz.Place, t Target) error

// Cut replaces a description, which may be nil, by what its quick actions leave of it.
func Cut(commands Commands, kind Kind, description **string) Run {
	if *description == nil {
		return nil
	}
	rest, run := commands.Cut(kind, **description)
	*description = &rest
	return run
}

// Locator finds what quick actions run on.
type Locator interface {
	Locate(ctx context.Context, as authz.Actor, at authz.Place, key Key) (Target, error)
}

// On runs the quick actions on what the actor has just written: the condition of the request held then. It asks for no permission,
// each quick action does.
func (r Run) On(ctx context.Context, as authz.Actor, in Locator, at authz.Place, key Key) error {
	as = as.Unconditional()
	t, err := in.Locate(ctx, as, at, key)
	if err != nil {
		return err
	}
	return r(ctx, as, at, t)
}
