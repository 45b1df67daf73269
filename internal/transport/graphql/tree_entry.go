package graphql

import (
	"context"

	"tenon/internal/transport/graphql/exec"
)

// ref is the commit of the folder as it was asked for, the default branch for none.
func (t *tree) ref() string {
	if t.folder.Ref == "" {
		return zeroOr(t.project.DefaultBranch)
	}
	return plainRef(t.folder.Ref)
}

// entries binds what folders hold.
func (b *binder) entries() {
	value(b, "Entry.id", func(e *entry) string { return gid("Entry", e.ID.String()+":"+e.Path) })
	value(b, "Entry.name", func(e *entry) string { return e.Name })
	value(b, "Entry.path", func(e *entry) string { return e.Path })
	value(b, "Entry.flatPath", func(e *entry) string { return e.Path })
	value(b, "Entry.sha", func(e *entry) string { return e.ID.String() })
	value(b, "Entry.type", func(e *entry) string { return string(e.Kind()) })
	blob := func(e *entry) string { return b.URLs.Blob(e.in.project.FullPath, e.in.ref(), e.Path) }
	value(b, "Blob.mode", func(e *entry) string { return e.Mode.String() })
	value(b, "Blob.webUrl", blob)
	value(b, "Blob.webPath", func(e *entry) string { return b.URLs.Path(blob(e)) })
	exec.Batch(b.Schema, "Blob.lfsOid", func(ctx context.Context, c *exec.Call[exec.None], of []*entry) ([]*string, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, e *entry) (*string, error) {
			large, is, err := b.Repos.Pointer(ctx, c.As, e.in.project, e.ID)
			if err != nil || !is {
				return nil, err
			}
			return &large.OID, nil
		})
	}, exec.ReadsGit)
	folder := func(e *entry) string { return b.URLs.Folder(e.in.project.FullPath, e.in.ref(), e.Path) }
	value(b, "TreeEntry.webUrl", folder)
	value(b, "TreeEntry.webPath", func(e *entry) string { return b.URLs.Path(folder(e)) })
	exec.Connection[*entry](b.Schema, "Blob")
	exec.Connection[*entry](b.Schema, "TreeEntry")
	exec.Connection[*entry](b.Schema, "Submodule")
}
