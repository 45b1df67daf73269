package coretest

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// Kinds makes kinds of descriptions alone: nothing of them is found.
func Kinds(list ...noteable.Description) *noteable.Kinds {
	k := &noteable.Kinds{}
	for _, d := range list {
		k.Add(described{d})
	}
	return k
}

type described struct{ is noteable.Description }

func (d described) Describe() noteable.Description { return d.is }

func (described) Locate(context.Context, authz.Actor, authz.Place, noteable.Key) (noteable.Target, error) {
	return noteable.Target{}, errs.Missing("")
}

func (described) Subjects(context.Context, authz.Actor, []noteable.Ref) (map[noteable.Ref]authz.Subject, error) {
	return nil, nil
}
