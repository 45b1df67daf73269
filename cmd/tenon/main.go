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

// version is set when a release is built.
var version = "dev"

func main() {
	os.Exit(run())
}

// flags are those of every command that touches data.
type flags struct {
	given  map[string]*string // by the name of the setting
	config string
	quiet  bool // of the commands that look after data
	json   bool
}

// settings are the flags that stand for a setting: what they are, and what they are by default.
var settings = []struct{ name, usage, standard string }{
	{"data", "data folder", "./tenon-data"},
	{"http", "address for HTTP; port 0 lets the kernel choose", "127.0.0.1:8080"},
	{"ssh", "address for git over SSH, or off", "127.0.0.1:2222"},
	{"database", "sqlite:<path> or postgres://...", "sqlite:<data>/tenon.db"},
	{"external-url", "address that users reach the server by", "http://127.0.0.1:8080"},
	{"rate-limits", "on or off", "on"},
	{"metrics-from", "ranges of addresses that may read /-/metrics, with commas between them", "127.0.0.0/8,::1/128"},
	{"trusted-proxies", "ranges of addresses whose X-Forwarded-For is believed, with commas between them", "none"},
	{"git-fetches", "clones and fetches that git works on at a time", "32"},
	{"git-fetches-per-address", "of those, by one address, for people who are not signed in", "16"},
	{"git-pack-cache-mb", "megabytes of answers kept for whoever asks the same", "2048"},
	{"git-import-size-mb", "megabytes that the import of one project may bring", "20480"},
	{"log-level", "debug, info, warn or error", "info"},
	{"log-format", "json or text", "json"},
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return report(program().ExecuteContext(ctx))
}

// program is the command line. The library is one that does not look for methods by
// name: where anything does, the linker keeps every method of every type.
func program() *cobra.Command {
	f := &flags{given: make(map[string]*string, len(settings))}
	root := group("tenon", "A code-collaboration server in one binary that speaks GitLab's interface",
		f.serve(), f.dev(), f.migrate(), f.admin(), openAPI(), showVersion())
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w (see %s --help)", err, c.CommandPath())
	})
	p := root.PersistentFlags()
	for _, s := range settings {
		f.given[s.name] = p.String(s.name, "", s.usage+" (default "+s.standard+")")
	}
	p.StringVar(&f.config, "config", "", "TOML `file` with settings")
	return root
}

// group is a command that does nothing without one of others.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		c.SetOut(os.Stderr)
		return errors.Join(c.Usage(), errors.New("say which command"))
	}}
	c.AddCommand(commands...)
	return c
}

func report(err error) int {
	if err == nil {
		return 0
	}
	if ended := (*statusError)(nil); errors.As(err, &ended) {
		return ended.status()
	}
	_, _ = fmt.Fprintln(os.Stderr, "tenon: "+err.Error())
	return 1
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
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 11 {
				b.Revision = s.Value[:11]
			}
		}
	}
	return b
}
