package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

const exitCodes = `
Exit codes:
  0  done
  1  failed, refused, or problems were found
  2  the command line or the configuration is wrong, and nothing was done
`

const variables = `
Variables of the environment beside those of the flags:
  TENON_ROOT_PASSWORD, TENON_ROOT_TOKEN  what the first administrator gets at the first start
  OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER, OTEL_SERVICE_NAME and the like, of traces
  GOMEMLIMIT, GOGC                       memory of the process; 128MiB and 400 where they are not set
`

// helpful has the help of every command end with variables and exit codes, and notes when a
// command begins.
func (f *flags) helpful(root *cobra.Command) {
	standard := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		standard(c, args)
		if c.Name() == "serve" {
			_, _ = io.WriteString(c.OutOrStdout(), variables)
		}
		_, _ = io.WriteString(c.OutOrStdout(), exitCodes)
	})
	f.noting(root)
}

// noting wraps what commands do, so that report knows whether one began.
func (f *flags) noting(c *cobra.Command) {
	if work := c.RunE; work != nil && !c.HasSubCommands() {
		c.RunE = func(c *cobra.Command, args []string) error {
			f.began = true
			return work(c, args)
		}
	}
	for _, sub := range c.Commands() {
		f.noting(sub)
	}
}

// manPages writes the manual.
func manPages() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write manual pages into a folder", Args: cobra.ExactArgs(1),
		Long:    "Write a manual page for each command into a folder, which is made where it is missing.",
		Example: "  tenon man /usr/local/share/man/man1\n  man tenon-admin-user-create",
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := c.Root()
			root.InitDefaultCompletionCmd()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Source: "tenon " + version, Manual: "Tenon"}
			if err := doc.GenManTree(root, header, filepath.Clean(args[0])); err != nil {
				return fmt.Errorf("write manual pages: %w", err)
			}
			return nil
		},
	}
}
