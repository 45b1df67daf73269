package gitcmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"tenon/internal/base/gitstore"
)

// Bundle writes references with all that they reach as a bundle of git. HEAD is among them where its branch is. Without any reference
// git makes no bundle: ask Refs before.
func (r *Repo) Bundle(ctx context.Context, refs []gitstore.Ref, out io.Writer) error {
	head, err := r.Head(ctx)
	if err != nil {
		return fmt.Errorf("bundle: %w", err)
	}
	var names strings.Builder
	for _, ref := range refs {
		if ref.Name == head {
			names.WriteString("HEAD\n")
		}
		names.WriteString(string(ref.Name) + "\n")
	}
	err = r.git.run(ctx, call{
		repo: r, args: []string{"bundle", "create", "--quiet", "-", "--stdin"}, stdin: strings.NewReader(names.String()), stdout: out, load: reading,
		config: modest(),
	})
	if err != nil {
		return fmt.Errorf("bundle: %w", err)
	}
	return nil
}
