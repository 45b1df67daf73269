package intx_test

import (
	"context"
	"testing"

	"tenon/internal/base/intx"
)

type transaction struct{ name string }

func TestMustNot(t *testing.T) {
	tx := &transaction{"outer"}
	inside := intx.With(t.Context(), tx)
	around := intx.Around[transaction](inside)
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		of     *transaction
		panics bool
	}{
		{"outside", t.Context(), nil, false},
		{"inside", inside, tx, true},
		{"joining", intx.Joining(inside, tx), tx, true},
		{"a transaction of a test around all", around, tx, false},
		{"joining that", intx.Joining(around, tx), tx, true},
	} {
		func() {
			defer func() {
				if got := recover() != nil; got != tt.panics {
					t.Errorf("%s: panics %t, want %t", tt.name, got, tt.panics)
				}
			}()
			if got := intx.Of[transaction](tt.ctx); got != tt.of {
				t.Errorf("%s: the transaction is %v, want %v", tt.name, got, tt.of)
			}
			intx.MustNot(tt.ctx, "git")
		}()
	}
	if intx.Of[int](inside) != nil {
		t.Error("a transaction of another type was given")
	}
}
