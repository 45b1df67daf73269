package graphql

import (
	"context"
	"fmt"

	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/transport/graphql/exec"
)

// How many packages and files one mutation deletes.
const (
	maxPackagesDeleted = 20
	maxFilesDeleted    = 100
)

// neededAll reads what global ids name, each once; all of it has to be there.
func neededAll[K ~int64, V any](ctx context.Context, as authz.Actor, ids []globalID, read reader[K, *V]) ([]*V, error) {
	keys := make([]K, len(ids))
	for i, id := range ids {
		keys[i] = K(id.ID)
	}
	found, err := read(ctx, as, keys)
	if err != nil {
		return nil, err
	}
	out, taken := make([]*V, 0, len(keys)), map[K]bool{}
	for _, k := range keys {
		if found[k] == nil {
			return nil, errNoPlace
		}
		if !taken[k] {
			out = append(out, found[k])
		}
		taken[k] = true
	}
	return out, nil
}

func (b *binder) packageMutations() {
	exec.Mutation(b.Schema, "destroyPackage", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (exec.None, error) {
		k, err := needed(ctx, c.As, c.Args.ID, b.registry().ByIDs)
		if err != nil {
			return exec.None{}, err
		}
		return exec.None{}, b.registry().Delete(ctx, c.As, k.Project, k.ID)
	})
	exec.Mutation(b.Schema, "destroyPackageFile", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (exec.None, error) {
		f, err := needed(ctx, c.As, c.Args.ID, b.registry().FilesByIDs)
		if err != nil {
			return exec.None{}, err
		}
		return exec.None{}, b.registry().DeleteFile(ctx, c.As, f.Of.Project, f.PackageID, f.ID)
	})
	exec.Mutation(b.Schema, "destroyPackages", func(ctx context.Context, c *exec.Call[struct{ IDs []globalID }]) (exec.None, error) {
		if len(c.Args.IDs) > maxPackagesDeleted {
			return exec.None{}, argumentError(fmt.Sprintf("Cannot delete more than %d packages", maxPackagesDeleted))
		}
		list, err := neededAll[packages.ID](ctx, c.As, c.Args.IDs, b.registry().ByIDs)
		if err != nil {
			return exec.None{}, err
		}
		return exec.None{}, b.registry().DeleteAll(ctx, c.As, list)
	})
	type files struct {
		IDs         []globalID
		ProjectPath string
	}
	exec.Mutation(b.Schema, "destroyPackageFiles", func(ctx context.Context, c *exec.Call[files]) (exec.None, error) {
		if len(c.Args.IDs) > maxFilesDeleted {
			return exec.None{}, argumentError(fmt.Sprintf("Cannot delete more than %d files", maxFilesDeleted))
		}
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return exec.None{}, err
		}
		list, err := neededAll[packages.FileID](ctx, c.As, c.Args.IDs, b.registry().FilesByIDs)
		if err != nil {
			return exec.None{}, err
		}
		return exec.None{}, b.registry().DeleteFiles(ctx, c.As, p, list)
	})
}
