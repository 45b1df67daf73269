package app

import (
	"context"
	"fmt"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
)

// AdminDebianKey is the command that gives Debian distributions new signing keys.
const AdminDebianKey = "debian key rotate"

// DebianKeyInput says whose distributions get new keys.
type DebianKeyInput struct {
	Path string `json:"path"` // full path of a project or group, "" for all
}

// DebianKeys says how many distributions have new keys.
type DebianKeys struct {
	Distributions int `json:"distributions"`
}

func (a *App) adminDebianKey(ctx context.Context, in DebianKeyInput, tell func(string)) (DebianKeys, error) {
	p := &progress{tell: tell}
	n, err := core.Part[*packages.Service](a.core).RotateKeys(ctx, authz.System(), in.Path, func(done, all int) {
		p.line(int64(done), int64(all), "%d of %d keys made", done, all)
	})
	if err != nil {
		return DebianKeys{}, fmt.Errorf("rotate keys of distributions: %w", err)
	}
	return DebianKeys{n}, nil
}
