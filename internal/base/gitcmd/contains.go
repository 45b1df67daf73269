package gitcmd

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/gitstore"
)

// maxContaining bounds the output of RefsContaining.
const maxContaining = 16 << 20

// RefsContaining lists the references below some prefixes from which a commit can be
// reached, in the order of their bytes.
func (r *Repo) RefsContaining(ctx context.Context, commit gitstore.ObjectID, prefixes ...string) ([]gitstore.RefName, error) {
	for _, prefix := range prefixes {
		if !gitstore.ValidPrefix(prefix) {
			return nil, fmt.Errorf("references below %q: %w", clip(prefix), gitstore.ErrBadName)
		}
	}
	args := append([]string{"for-each-ref", "--format=%(refname)", "--contains=" + commit.String()}, prefixes...)
	out, err := r.git.output(ctx, call{repo: r, args: args}, maxContaining)
	if err != nil {
		return nil, missing(err)
	}
	var names []gitstore.RefName
	for line := range strings.Lines(string(out)) {
		if name := gitstore.RefName(strings.TrimSuffix(line, "\n")); name.Valid() {
			names = append(names, name)
		}
	}
	return names, nil
}
