package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tenon/internal/app"
	"tenon/internal/core/importexport"
)

const retryHelp = `Let the groups and projects of a direct transfer that failed go on where they stopped. What is there already is not written again.

The token of the source is kept for 7 days after a transfer failed, and not at all where part of it is finished. Where it is not there any more, a new one is read from standard input.`

// importRetry lets a direct transfer go on.
func (f *flags) importRetry() *cobra.Command {
	return &cobra.Command{
		Use: "retry ID", Short: "Let a direct transfer that failed go on where it stopped", Args: cobra.ExactArgs(1), Long: retryHelp,
		Example: "  tenon admin import retry 7\n  tenon admin import retry 7 < token.txt",
		RunE: func(c *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return usageError{fmt.Errorf("%q is not the id of a direct transfer", args[0])}
			}
			in := app.ImportRetryInput{ID: importexport.BulkID(id)}
			show := func(w io.Writer, r *app.ImportRetried) error {
				_, err := fmt.Fprintf(w, "%d groups and projects of the transfer %d go on\n", r.Entities, r.ID)
				return err
			}
			first, err := order[app.ImportRetried](c.Context(), f, app.AdminImportRetry, in)
			if err != nil {
				return err
			}
			if !first.NeedsToken {
				return printed(f, first, show)
			}
			_, _ = fmt.Fprintln(os.Stderr, "tenon: the token of the source is not there any more: give one with the scope api on standard input")
			line, err := firstLine("token")
			if err != nil {
				return err
			}
			if in.Token = strings.TrimSpace(line); in.Token == "" {
				return errors.New("no token on standard input")
			}
			_, err = ask(c.Context(), f, app.AdminImportRetry, in, show)
			return err
		},
	}
}
