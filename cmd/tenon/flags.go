package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tenon/internal/base/config"
)

// flags are those of every command that touches data.
type flags struct {
	given  map[string]*string // by the name of the setting
	config string
	quiet  bool // of the commands that look after data
	json   bool
	began  bool // the command line was understood, and a command runs

	progress *progress
}

func newFlags() *flags {
	f := &flags{given: make(map[string]*string, len(settings)), progress: newProgress(os.Stderr)}
	for _, s := range settings {
		f.given[s.name] = new(string)
	}
	return f
}

// settings are the flags that stand for a setting: what they are, and what they are by default.
var settings = []struct{ name, usage, standard string }{
	{"data", "data `folder`", "./tenon-data"},
	{"http", "`address` for HTTP; port 0 lets the kernel choose", "127.0.0.1:8080"},
	{"ssh", "`address` for git over SSH, or off", "127.0.0.1:2222"},
	{"ssh-external", "`host` and perhaps port that users reach git over SSH by", "the host of the external URL"},
	{"database", "`URL`: sqlite:<path> or postgres://...", "sqlite:<data>/tenon.db"},
	{"external-url", "`URL` that users reach the server by", "http://127.0.0.1:8080"},
	{"rate-limits", "`on` or off", "on"},
	{"anonymous-introspection", "`on`, or off to show the types of GraphQL to signed-in callers alone", "on"},
	{"metrics-from", "`ranges` of addresses that may read /-/metrics, with commas between them", "127.0.0.0/8,::1/128"},
	{"trusted-proxies", "`ranges` of addresses whose X-Forwarded-For is believed, with commas between them", "none"},
	{"git-fetches", "`number` of clones and fetches that git works on at a time", "32"},
	{"git-fetches-per-address", "`number` of those by one address, for people who are not signed in", "16"},
	{"git-pack-cache-mb", "`megabytes` of answers kept for callers who ask the same", "2048"},
	{"git-import-size-mb", "`megabytes` that the import of one project may bring", "20480"},
	{"otlp-endpoint", "`URL` of a collector of OpenTelemetry that traces go to", "none, or $OTEL_EXPORTER_OTLP_ENDPOINT"},
	{"log-level", "`level`: debug, info, warn or error", "info"},
	{"log-format", "`format`: json or text", "json"},
}

// place are the settings that say where the data is and how the log looks.
var place = []string{"data", "database", "log-level", "log-format"}

// set adds flags of settings to a command: those of names, or all where there are none. The
// flag of the file comes with the folder.
func (f *flags) set(p *pflag.FlagSet, names ...string) {
	variables := config.Variables()
	for _, s := range settings {
		if (len(names) == 0 || slices.Contains(names, s.name)) && p.Lookup(s.name) == nil {
			p.StringVar(f.given[s.name], s.name, "", fmt.Sprintf("%s (default %s) [$%s]", s.usage, s.standard, variables[s.name]))
		}
	}
	if p.Lookup("data") != nil && p.Lookup("config") == nil {
		p.StringVar(&f.config, "config", "", "TOML `file` with settings [$TENON_CONFIG]")
	}
}

// usage describes the setting of a name.
func usage(name string) string {
	for _, s := range settings {
		if s.name == name {
			return s.usage
		}
	}
	panic("no setting " + name)
}

// flagError says which flag was meant.
func flagError(c *cobra.Command, err error) error {
	hint := ""
	if wrong, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if best := config.Nearest(strings.TrimLeft(wrong.GetSpecifiedName(), "-"), known); best != "" {
			hint = ", did you mean --" + best + "?"
		}
	}
	return usageError{fmt.Errorf("%w%s (see %s --help)", err, hint, c.CommandPath())}
}

// unknownCommand says which command was meant.
func unknownCommand(c *cobra.Command, word string) error {
	var known, begin []string
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		known = append(known, sub.Name())
		if strings.HasPrefix(sub.Name(), word) {
			begin = append(begin, sub.Name())
		}
	}
	hint := strings.Join(begin, " or ")
	if hint == "" {
		hint = config.Nearest(word, known)
	}
	if hint != "" {
		hint = ", did you mean " + hint + "?"
	}
	return usageError{fmt.Errorf("unknown command %q for %q%s (see %s --help)", word, c.CommandPath(), hint, c.CommandPath())}
}
