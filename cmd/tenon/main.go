// Command tenon is a code-collaboration server in one binary.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // time zones of users, where the machine has no table of them

	"github.com/alecthomas/kong"

	"tenon/internal/app"
	"tenon/internal/base/config"
	"tenon/internal/base/logging"
	"tenon/internal/transport/hook"
)

// version is set when a release is built.
var version = "dev"

func main() {
	// git starts this program under a hook's name; that path must stay short.
	if status, ok := hook.Main(filepath.Base(os.Args[0])); ok {
		os.Exit(status)
	}
	os.Exit(run())
}

// flags are those of every command that touches data.
type flags struct {
	Data        string `help:"Data folder." placeholder:"./tenon-data"`
	HTTP        string `help:"Address for HTTP; port 0 lets the kernel choose." placeholder:"127.0.0.1:8080"`
	SSH         string `help:"Address for git over SSH, or off." placeholder:"127.0.0.1:2222"`
	Database    string `help:"sqlite:<path> or postgres://... ." placeholder:"sqlite:<data>/tenon.db"`
	ExternalURL string `help:"Address that users reach the server by." placeholder:"http://127.0.0.1:8080"`
	RateLimits  string `help:"on or off." placeholder:"on"`

	MetricsFrom          string `help:"Ranges of addresses that may read /-/metrics, with commas between them." placeholder:"127.0.0.0/8,::1/128"`
	GitFetches           string `help:"Clones and fetches that git works on at a time." placeholder:"32"`
	GitFetchesPerAddress string `help:"Of those, by one address, for people who are not signed in." placeholder:"16"`
	GitPackCacheMB       string `name:"git-pack-cache-mb" help:"Megabytes of answers kept for whoever asks the same." placeholder:"2048"`

	LogLevel  string `help:"debug, info, warn or error." placeholder:"info"`
	LogFormat string `help:"json or text." placeholder:"json"`
	Config    string `help:"TOML file with settings." placeholder:"<file>" type:"path"`
}

type commands struct {
	flags

	Serve   serveCommand   `cmd:"" help:"Run the server."`
	Migrate migrateCommand `cmd:"" help:"Bring the database up to date and stop."`
	Admin   adminCommand   `cmd:"" help:"Look after a server's data."`
	OpenAPI openAPICommand `cmd:"" name:"openapi" help:"Print the description of the REST interface."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

func run() int {
	var c commands
	parser, err := kong.New(&c, kong.Name("tenon"), kong.UsageOnError(),
		kong.Description("A code-collaboration server in one binary that speaks GitLab's interface."))
	if err != nil {
		return report(err)
	}
	k, err := parser.Parse(os.Args[1:])
	if err != nil {
		parser.FatalIfErrorf(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	k.BindTo(ctx, (*context.Context)(nil))
	return report(k.Run(&c.flags, &c))
}

func report(err error) int {
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(os.Stderr, "tenon: "+err.Error())
	return 1
}

// load gathers the configuration from flags, environment and file.
func (f *flags) load() (*config.Config, error) {
	given := map[string]string{}
	for name, value := range map[string]string{
		"data": f.Data, "http": f.HTTP, "ssh": f.SSH, "database": f.Database, "external-url": f.ExternalURL,
		"rate-limits": f.RateLimits, "log-level": f.LogLevel, "log-format": f.LogFormat,
		"metrics-from": f.MetricsFrom, "git-fetches": f.GitFetches, "git-fetches-per-address": f.GitFetchesPerAddress, "git-pack-cache-mb": f.GitPackCacheMB,
	} {
		if value != "" {
			given[name] = value
		}
	}
	return config.Load(config.Sources{File: f.Config, Environ: os.Environ(), Flags: given}) //nolint:wrapcheck // it lists the problems itself
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
		return err //nolint:wrapcheck // it says what was tried
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
