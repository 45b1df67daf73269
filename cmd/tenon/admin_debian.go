package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tenon/internal/app"
)

const debianKeyHelp = `Give Debian distributions a new signing key each: all of them, or those of the project or group with a full path.

The old key signs beside the new one for 30 days, and key.asc has both of them until then: machines that fetch key.asc again within that time read the repository without a break.`

// debianKeyRotate gives distributions new signing keys.
func (f *flags) debianKeyRotate() *cobra.Command {
	var in app.DebianKeyInput
	c := &cobra.Command{
		Use: "rotate", Short: "Give Debian distributions new signing keys, the old ones sign for 30 days more", Args: cobra.NoArgs, Long: debianKeyHelp,
		Example: "  tenon admin debian key rotate\n  tenon admin debian key rotate --in team/tools",
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := ask(c.Context(), f, app.AdminDebianKey, in, func(w io.Writer, r *app.DebianKeys) error {
				_, err := fmt.Fprintf(w, "%d distributions have a new key; the old ones sign for 30 days more\n", r.Distributions)
				return err
			})
			return err
		},
	}
	c.Flags().StringVar(&in.Path, "in", "", "only distributions of the project or group with this full `path`")
	return c
}
