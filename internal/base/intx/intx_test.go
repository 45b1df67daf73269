package intx_test

import (
	"context"
	"testing"

	"tenon/internal/base/intx"
)

type transaction struct{}

func TestMustNot(t *testing.T) {
	panics := func(ctx context.Context) (yes bool) {
		defer func() { yes = recover() != nil }()
		intx.MustNot(ctx, "git")
		return false
	}
	tx := &transaction{}
	inside := intx.With(t.Context(), tx)
	if panics(t.Context()) || !panics(inside) {
		t.Errorf("outside %t, inside %t; want a panic inside alone", panics(t.Context()), panics(inside))
	}
	if intx.Of[transaction](inside) != tx || intx.Of[transaction](t.Context()) != nil || intx.Of[int](inside) != nil {
		t.Error("the transaction of a context is not the one that it was given")
	}
}
