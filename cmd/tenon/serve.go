package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"tenon/internal/app"
)

// Memory settings that hold unless the environment says otherwise.
const (
	gcPercent   = 400
	memoryLimit = 128 << 20
)

// serve runs until it is told to stop.
func (f *flags) serve() *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Run the server", Args: cobra.NoArgs,
		Long: "Run the server until it is told to stop (SIGTERM, SIGINT), then let requests and jobs finish for at most 30 seconds.\n\n" +
			"Flags stand above the environment, the environment above the file of --config, the file above the defaults.",
		Example: "  tenon serve --data /var/lib/tenon --http 127.0.0.1:8080 --external-url https://code.example.com\n" +
			"  tenon serve --config /etc/tenon.toml\n" +
			"  TENON_DATABASE_URL=postgres://tenon@localhost/tenon tenon serve --ssh off",
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context()) },
	}
	f.set(c.Flags())
	return c
}

func (f *flags) run(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	return f.with(ctx, func(a *app.App) error {
		// Without NOTIFY_SOCKET there is no service manager to tell.
		defer context.AfterFunc(ctx, func() { _, _ = daemon.SdNotify(false, daemon.SdNotifyStopping) })()
		return a.Run(ctx, func(url string) {
			_, _ = daemon.SdNotify(false, daemon.SdNotifyReady+"\nSTATUS=ready on "+url)
			if address := a.SSHAddress(); address != "" {
				_, _ = fmt.Fprintln(os.Stderr, "tenon: git over SSH on "+address)
			}
			_, _ = fmt.Fprintln(os.Stderr, "tenon: ready on "+url)
		})
	})
}

// migrate does what building the server does.
func (f *flags) migrate() *cobra.Command {
	c := &cobra.Command{
		Use: "migrate", Short: "Bring the database up to date and stop", Args: cobra.NoArgs,
		Long: "Bring the database up to date and stop, as the start of a server does. Where there is no instance yet, one is made with its " +
			"first administrator. Where it fails, the database is as it was.",
		Example: "  tenon migrate --data /var/lib/tenon",
		RunE: func(c *cobra.Command, _ []string) error {
			*f.given["http"], *f.given["ssh"] = "127.0.0.1:0", "off" // nothing is served
			return f.with(c.Context(), func(a *app.App) error {
				_, _ = fmt.Fprintln(os.Stderr, "tenon: the database is up to date: "+a.Target())
				return nil
			})
		},
	}
	f.set(c.Flags(), place...)
	return c
}

func showVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs, Example: "  tenon version",
		RunE: func(*cobra.Command, []string) error { return printVersion() },
	}
}

func printVersion() error {
	b := build()
	_, err := fmt.Fprintf(os.Stdout, "tenon %s (%s)\n", b.Version, b.Revision)
	return err
}

// openAPI prints the OpenAPI document, which comes from the routes alone.
func openAPI() *cobra.Command {
	version := "3.1"
	cmd := &cobra.Command{
		Use: "openapi", Short: "Print the description of the REST interface", Args: cobra.NoArgs, Example: "  tenon openapi > openapi.json\n  tenon openapi --version 3.0 > openapi.json",
		RunE: func(*cobra.Command, []string) error {
			document, err := app.OpenAPI(version)
			if err != nil {
				return err
			}
			_, err = os.Stdout.Write(document)
			return err
		},
	}
	cmd.Flags().StringVar(&version, "version", version, "version of OpenAPI: 3.1, or 3.0 for programs that read no later one")
	return cmd
}
