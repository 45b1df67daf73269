// Package intx lets what must not run inside a database transaction say so, without
// knowing the database: a transaction holds SQL only, because on SQLite everybody who
// writes waits until it ends.
package intx

import (
	"context"
	"testing"
)

type key struct{}

// With gives the context in which a transaction runs.
func With[T any](ctx context.Context, tx *T) context.Context {
	return context.WithValue(ctx, key{}, tx)
}

// Of is the transaction of ctx; nil where there is none, or one of another type.
func Of[T any](ctx context.Context) *T {
	tx, _ := ctx.Value(key{}).(*T)
	return tx
}

// MustNot says that what follows never runs inside a transaction. In tests it panics where
// it does; a server that serves goes on.
func MustNot(ctx context.Context, what string) {
	if testing.Testing() && ctx.Value(key{}) != nil {
		panic(what + " inside a database transaction: read or write it before or after, a transaction holds SQL only")
	}
}
