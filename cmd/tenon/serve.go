package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tenon/internal/app"
)

// Memory settings that hold unless the environment says otherwise.
const (
	gcPercent   = 400
	memoryLimit = 256 << 20
)

// serve runs until it is told to stop.
func (f *flags) serve() *cobra.Command {
	return &cobra.Command{Use: "serve", Short: "Run the server", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		return f.run(c.Context())
	}}
}

func (f *flags) run(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	return f.with(ctx, func(a *app.App) error {
		return a.Run(ctx, func(url string) {
			if address := a.SSHAddress(); address != "" {
				_, _ = fmt.Fprintln(os.Stderr, "tenon: git over SSH on "+address)
			}
			_, _ = fmt.Fprintln(os.Stderr, "tenon: ready on "+url)
		})
	})
}

// migrate does what building the server does.
func (f *flags) migrate() *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Bring the database up to date and stop", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			*f.given["http"], *f.given["ssh"] = "127.0.0.1:0", "off" // nobody is served
			return f.with(c.Context(), func(*app.App) error {
				_, _ = fmt.Fprintln(os.Stderr, "tenon: the database is up to date")
				return nil
			})
		},
	}
}

func showVersion() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		b := build()
		_, err := fmt.Fprintf(os.Stdout, "tenon %s (%s)\n", b.Version, b.Revision)
		return err
	}}
}

// openAPI prints the OpenAPI document, which comes from the routes alone.
func openAPI() *cobra.Command {
	return &cobra.Command{Use: "openapi", Short: "Print the description of the REST interface", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		_, err := os.Stdout.Write(app.OpenAPI())
		return err
	}}
}
