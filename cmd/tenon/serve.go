package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"tenon/internal/app"
)

type serveCommand struct{}

// Memory settings that hold unless the environment says otherwise.
const (
	gcPercent   = 400
	memoryLimit = 256 << 20
)

// Run serves until it is told to stop.
func (serveCommand) Run(ctx context.Context, f *flags) error {
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

type migrateCommand struct{}

// Run migrates, which building the server does.
func (migrateCommand) Run(ctx context.Context, f *flags) error {
	f.HTTP, f.SSH = "127.0.0.1:0", "off" // nobody is served
	return f.with(ctx, func(*app.App) error {
		_, _ = fmt.Fprintln(os.Stderr, "tenon: the database is up to date")
		return nil
	})
}

type versionCommand struct{}

// Run prints the build.
func (versionCommand) Run() error {
	b := build()
	_, err := fmt.Fprintf(os.Stdout, "tenon %s (%s)\n", b.Version, b.Revision)
	return err //nolint:wrapcheck // nothing to add
}

type openAPICommand struct{}

// Run prints the OpenAPI document, which comes from the routes alone.
func (openAPICommand) Run() error {
	_, err := os.Stdout.Write(app.OpenAPI())
	return err //nolint:wrapcheck // nothing to add
}
