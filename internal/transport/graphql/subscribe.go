package graphql

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/subscription"
)

// subscribe subscribes the caller to a thing or ends that; what is so already stays so.
func (b *binder) subscribe(ctx context.Context, as authz.Actor, on subscription.On, want bool) error {
	change := b.Subscriptions.Remove
	if want {
		change = b.Subscriptions.Add
	}
	if err := change(ctx, as, on); !errs.Is(err, errs.NotModified) {
		return err
	}
	return nil
}
