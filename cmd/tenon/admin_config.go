package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"tenon/internal/app"
	"tenon/internal/base/config"
	"tenon/internal/base/logging"
)

// configCheck shows what the server would run with.
func (f *flags) configCheck() *cobra.Command {
	c := &cobra.Command{
		Use: "check", Short: "Check the configuration and print it", Args: cobra.NoArgs,
		Long: "Check flags, environment and file together and print the configuration that a server would have, as a file, with the source of " +
			"each value. Secrets are masked. All problems are reported at once. Nothing is opened.",
		Example: "  tenon admin config check --config /etc/tenon.toml",
		RunE: func(*cobra.Command, []string) error {
			c, err := f.load()
			if err != nil {
				return err
			}
			shown := c.Shown()
			return printed(f, &shown, func(w io.Writer, _ *[]config.Shown) error { return c.Print(w) })
		},
	}
	f.set(c.Flags())
	return c
}

// doctor looks at all that a server needs.
func (f *flags) doctor() *cobra.Command {
	c := &cobra.Command{
		Use: "doctor", Short: "Check what the server needs: git, database, folder, disk, ports, clock, address", Args: cobra.NoArgs,
		Long: "Check what the server needs, whether it runs or not, and say for each thing whether it is right (ok), should be changed (warn) or " +
			"keeps the server from working (fail), and what to do. Give it the flags and the environment of the server. It changes nothing.",
		Example: "  tenon admin doctor --config /etc/tenon.toml\n  tenon admin doctor --json",
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := f.load()
			if err != nil {
				return err
			}
			log := logging.New(os.Stderr, config.Log.Format, max(config.Log.Level, slog.LevelError))
			found := app.Doctor(c.Context(), config, log, build())
			err = printed(f, &found, func(w io.Writer, found *[]app.Finding) error {
				for _, x := range *found {
					advice := ""
					if x.Advice != "" {
						advice = ": " + x.Advice
					}
					_, _ = fmt.Fprintf(w, "%-4s %s: %s%s\n", x.State, x.Name, x.Text, advice)
				}
				return nil
			})
			failed := 0
			for _, x := range found {
				if x.State == app.Fail {
					failed++
				}
			}
			if err == nil && failed > 0 {
				err = fmt.Errorf("%d checks failed", failed)
			}
			return errors.Join(err, c.Context().Err())
		},
	}
	f.set(c.Flags())
	return c
}
