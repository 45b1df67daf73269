package gitcmd

import (
	"context"
	"fmt"
	"strings"
)

// maxContaining bounds the output of RefsContaining.
const maxContaining = 16 << 20

// RefsContaining lists the references below a prefix from which a commit can be reached,
// in the order of their bytes.
func (r *Repo) RefsContaining(ctx context.Context, commit ObjectID, prefix string) ([]RefName, error) {
	if !validPrefix(prefix) {
		return nil, fmt.Errorf("references below %q: %w", clip(prefix), ErrBadName)
	}
	out, err := r.git.output(ctx, call{repo: r, args: []string{
		"for-each-ref", "--format=%(refname)", "--contains=" + commit.String(), prefix,
	}}, maxContaining)
	if err != nil {
		return nil, missing(err)
	}
	var names []RefName
	for line := range strings.Lines(string(out)) {
		if name := RefName(strings.TrimSuffix(line, "\n")); name.Valid() {
			names = append(names, name)
		}
	}
	return names, nil
}
