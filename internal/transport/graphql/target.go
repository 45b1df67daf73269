package graphql

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/subscription"
)

// target is something that people comment on and have to-do items about: an issue, a merge request
// or an epic.
type target struct {
	spot

	value any // of the field that returns it
	title string
}

// On names the target for those who subscribe to it and add to-do items.
func (t *target) On() subscription.On {
	return subscription.On{Place: t.on.Place, Kind: t.on.Kind, Key: t.on.Key}
}

// targetKind is how the targets of one kind are read. The file of its type has it.
type targetKind struct {
	kind noteable.Kind
	enum string // of to-do items
	read func(ctx context.Context, as authz.Actor, ids []int64) (map[int64]*target, error)
}

// targets reads things that the caller may see, those of each kind together.
func (b *binder) targets(ctx context.Context, as authz.Actor, refs []noteable.Ref) (map[noteable.Ref]*target, error) {
	out := make(map[noteable.Ref]*target, len(refs))
	for _, kind := range b.targetKinds {
		var ids []int64
		for _, ref := range refs {
			if ref.Kind == kind.kind {
				ids = append(ids, ref.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		found, err := kind.read(ctx, as, ids)
		if err != nil {
			return nil, err
		}
		for id, t := range found {
			out[noteable.Ref{Kind: kind.kind, ID: id}] = t
		}
	}
	return out, nil
}

// targetRef names what a global id names, if it is a target.
func (b *binder) targetRef(id globalID) noteable.Ref {
	model := noteable.Kind(id.Model)
	if id.Model == "WorkItem" {
		model = noteable.Issue
	}
	for _, kind := range b.targetKinds {
		if kind.kind == model {
			return noteable.Ref{Kind: model, ID: id.ID}
		}
	}
	return noteable.Ref{}
}

// targetOf reads the thing that a global id names.
func (b *binder) targetOf(ctx context.Context, as authz.Actor, id globalID) (*target, noteable.Ref, error) {
	ref := b.targetRef(id)
	found, err := b.targets(ctx, as, []noteable.Ref{ref})
	t := found[ref]
	if err == nil && t == nil {
		err = errNoPlace
	}
	return t, ref, err
}

// typed gives ids their type.
func typed[T ~int64](ids []int64) []T {
	out := make([]T, len(ids))
	for i, id := range ids {
		out[i] = T(id)
	}
	return out
}
