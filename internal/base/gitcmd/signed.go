package gitcmd

import (
	"context"

	"tenon/internal/base/gitstore"
)

// Signed reads what a commit or an annotated tag is signed with.
func (r *Repo) Signed(ctx context.Context, id gitstore.ObjectID, kind gitstore.Kind) (gitstore.Signed, error) {
	content, err := r.content(ctx, id, kind, MaxCommitBytes)
	if err != nil {
		return gitstore.Signed{}, err
	}
	return gitstore.ParseSigned(kind, content)
}
