package graphql

import (
	"context"

	"tenon/internal/core/note"
	"tenon/internal/transport/graphql/exec"
)

// notePermissions binds what the caller may do with notes and discussions, and the roles of authors.
func (b *binder) notePermissions() {
	exec.Batch(b.Schema, "Note.userPermissions", func(ctx context.Context, c *exec.Call[exec.None], of []*comment) ([]note.Permissions, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, n *comment) (note.Permissions, error) {
			return b.Notes.Permissions(ctx, c.As, n.on, &n.Note)
		})
	})
	value(b, "NotePermissions.readNote", func(note.Permissions) bool { return true }) // or it is not shown
	value(b, "NotePermissions.adminNote", func(p note.Permissions) bool { return p.Change })
	value(b, "NotePermissions.awardEmoji", func(p note.Permissions) bool { return p.Award })
	value(b, "NotePermissions.createNote", func(p note.Permissions) bool { return p.Comment })
	value(b, "NotePermissions.repositionNote", func(p note.Permissions) bool { return p.Move })
	value(b, "NotePermissions.resolveNote", func(p note.Permissions) bool { return p.Resolve })
	exec.Batch(b.Schema, "Discussion.userPermissions", func(ctx context.Context, c *exec.Call[exec.None], of []*thread) ([]note.Permissions, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, d *thread) (note.Permissions, error) {
			return b.Notes.Permissions(ctx, c.As, d.on, &d.Notes[0])
		})
	})
	value(b, "DiscussionPermissions.createNote", func(p note.Permissions) bool { return p.Comment })
	value(b, "DiscussionPermissions.resolveNote", func(p note.Permissions) bool { return p.Resolve })
	exec.Batch(b.Schema, "Note.maxAccessLevelOfAuthor", func(ctx context.Context, c *exec.Call[exec.None], of []*comment) ([]*string, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, n *comment) (*string, error) {
			role, err := b.Notes.AuthorRole(ctx, c.As, n.on, &n.Note)
			return text(role), err
		})
	})
}
