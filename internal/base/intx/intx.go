// Package intx lets what must not run inside a database transaction say so, without
// knowing the database: a transaction holds SQL only, because on SQLite everybody who
// writes waits until it ends.
package intx

import (
	"context"
	"testing"
)

type key struct{}

// allowed is a transaction around which everything is.
type allowed[T any] struct{ tx *T }

func (allowed[T]) allows() {}

// With returns the context in which a transaction runs.
func With[T any](ctx context.Context, tx *T) context.Context {
	return context.WithValue(ctx, key{}, tx)
}

// Of is the transaction of ctx; nil where there is none, or one of another type.
func Of[T any](ctx context.Context) *T {
	switch v := ctx.Value(key{}).(type) {
	case *T:
		return v
	case allowed[T]:
		return v.tx
	}
	return nil
}

// Around returns the context for tests that undo whole requests by a transaction around them: what runs
// in it, and not in a transaction of its own that joins this one, may do everything.
func Around[T any](ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, allowed[T]{Of[T](ctx)})
}

// Joining returns the context of what joins tx, the transaction of ctx.
func Joining[T any](ctx context.Context, tx *T) context.Context {
	if _, around := ctx.Value(key{}).(allowed[T]); around {
		return With(ctx, tx)
	}
	return ctx
}

// MustNot says that what follows never runs inside a transaction. In tests it panics where
// it does; a server that serves goes on.
func MustNot(ctx context.Context, what string) {
	if !testing.Testing() {
		return
	}
	switch ctx.Value(key{}).(type) {
	case nil, interface{ allows() }:
	default:
		panic(what + " inside a database transaction: do it before or after, a transaction holds SQL only")
	}
}
