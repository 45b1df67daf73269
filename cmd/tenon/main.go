// Command tenon is a code-collaboration server in one binary.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // time zones of users, where the machine has no table of them

	"github.com/spf13/cobra"

	"tenon/internal/app"
	"tenon/internal/base/config"
	"tenon/internal/base/logging"
)

// version and revision are set when a release is built.
var (
	version  = "dev"
	revision string
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	f := newFlags()
	return f.report(f.program().ExecuteContext(ctx))
}

// program is the command line. The library is one that does not look for methods by
// name: where anything does, the linker keeps every method of every type. Its templates do.
func (f *flags) program() *cobra.Command {
	root := group("tenon", "A code-collaboration server in one binary that speaks GitLab's interface",
		f.serve(), dev(), f.migrate(), f.admin(), f.hooks(), f.importCommand(), ciCommand(), openAPI(), manPages(), showVersion())
	shown := root.Flags().Bool("version", false, "print the version")
	ask := root.RunE
	root.RunE = func(c *cobra.Command, args []string) error {
		if *shown {
			return printVersion()
		}
		return ask(c, args)
	}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	f.helpful(root)
	return root
}

// group is a command that does nothing without one of others.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Args: func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(c, args[0])
	}, RunE: func(c *cobra.Command, _ []string) error {
		c.SetOut(os.Stderr)
		return errors.Join(c.Usage(), usageError{errors.New("say which command")})
	}}
	c.AddCommand(commands...)
	return c
}

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a command line that is wrong.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// report says what is wrong and returns the exit code.
func (f *flags) report(err error) int {
	if err == nil {
		return 0
	}
	if ended := (*statusError)(nil); errors.As(err, &ended) {
		return ended.status()
	}
	_, _ = fmt.Fprintln(os.Stderr, "tenon: "+err.Error())
	var problems *config.ProblemsError
	if !f.began || errors.As(err, &usageError{}) || errors.As(err, &problems) {
		return exitUsage
	}
	return exitFailed
}

// load gathers the configuration from flags, environment and file.
func (f *flags) load() (*config.Config, error) {
	given := map[string]string{}
	for name, value := range f.given {
		if *value != "" {
			given[name] = *value
		}
	}
	return config.Load(config.Sources{File: f.config, Environ: os.Environ(), Flags: given})
}

// with builds the server, hands it to fn and takes it down again.
func (f *flags) with(ctx context.Context, fn func(a *app.App) error) (err error) {
	c, err := f.load()
	if err != nil {
		return err
	}
	log := logging.New(os.Stderr, c.Log.Format, c.Log.Level)
	a, err := app.New(ctx, c, log, build())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close(context.WithoutCancel(ctx))) }()
	return fn(a)
}

// build says which program this is, from what the linker and the toolchain noted.
func build() app.Build {
	b := app.Build{Version: version, Revision: "unknown"}
	if len(revision) >= 11 {
		b.Revision = revision[:11]
		return b
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 11 {
				b.Revision = s.Value[:11]
			}
		}
	}
	return b
}
