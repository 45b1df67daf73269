package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tenon/internal/app"
	"tenon/internal/base/logging"
	"tenon/internal/core/authz"
	"tenon/internal/core/importexport"
	"tenon/internal/transport/rest"
)

// importCommand looks at archives without a server.
func (f *flags) importCommand() *cobra.Command {
	return group("import", "Look at exported projects and groups", f.importCheck())
}

const importCheckHelp = `Import an archive of a project or group on an empty server in a temporary folder, without network, and print what would become of its rows: how many of each relation would be written, merged with what is there, changed and lost, and the rows that would be changed or lost with the reason.

Exit status: 0 where nothing would be lost, 1 where something would, 2 where the file cannot be imported at all.

The folder is removed in the end. It is made in TMPDIR and needs as much room as the unpacked archive, twice.`

func (f *flags) importCheck() *cobra.Command {
	in := app.ImportCheck{Build: build(), Tell: f.tell}
	visibility, asJSON, lines := "", false, false
	c := &cobra.Command{
		Use: "check FILE", Short: "Say what an import of an archive would lose", Args: cobra.ExactArgs(1), Long: importCheckHelp,
		Example: "  tenon import check export.tar.gz\n  tenon import check export.tar.gz --admin --json > report.json",
		RunE: func(c *cobra.Command, args []string) error {
			level, ok := authz.ParseVisibility(visibility)
			if !ok {
				return usageError{fmt.Errorf("no visibility %q: choose private, internal or public", visibility)}
			}
			in.File, in.Visibility = args[0], level
			if lines {
				in.Lines = os.Stdout
			}
			r, err := app.CheckImport(c.Context(), in, logging.New(f.progress, logging.Text, slog.LevelError))
			f.progress.clear()
			if unreadable := (*app.UnreadableError)(nil); errors.As(err, &unreadable) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			if !lines {
				if err := printLoss(os.Stdout, r, asJSON); err != nil {
					return err
				}
			}
			return lossOf(r)
		},
	}
	c.Flags().BoolVar(&in.Admin, "admin", false, "as an administrator, who recreates members")
	c.Flags().StringVar(&visibility, "visibility", "private", "`visibility` of the group that it would be imported into: private, internal, public")
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON, as the interface answers it")
	c.Flags().BoolVar(&lines, "ndjson", false, "print the rows that would be changed or lost, an object of JSON a line; those that would be lost with the row itself")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print no progress")
	c.MarkFlagsMutuallyExclusive("json", "ndjson")
	return c
}

// lossOf is the error of a report with lost rows.
func lossOf(r *importexport.Report) error {
	lost := r.Sum().Lost
	switch lost {
	case 0:
		return nil
	case 1:
		return errors.New("1 row would be lost")
	}
	return fmt.Errorf("%d rows would be lost", lost)
}

func printLoss(w io.Writer, r *importexport.Report, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(rest.ImportReport(r))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "RELATION\tREAD\tWRITTEN\tMERGED\tCHANGED\tLOST")
	for _, rel := range r.WithRows() {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\n", rel.Name, rel.Read, rel.Written, rel.Merged, rel.Changed, rel.Lost)
	}
	if err := t.Flush(); err != nil || len(r.Items) == 0 {
		return err
	}
	_, _ = fmt.Fprintln(t, "\nACTION\tRELATION\tLINE\tTITLE\tREASON")
	for _, item := range r.Items {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%q\t%s\n", item.Action, item.Relation, item.Line, item.Title, item.Reason)
	}
	return t.Flush()
}
