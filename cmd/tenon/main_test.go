package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tenon/internal/base/config"
)

func TestProgram_refusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ line, want string }{
		{"", "say which command"},
		{"nonsense", `unknown command "nonsense" for "tenon" (see tenon --help)`},
		{"serv", `unknown command "serv" for "tenon", did you mean serve?`},
		{"admin usr", `unknown command "usr" for "tenon admin", did you mean user?`},
		{"admin user blok ann", `did you mean block`},
		{"serve now", `unknown command "now" for "tenon serve"`},
		{"serve --dat x", "unknown flag: --dat, did you mean --data?"},
		{"version --data x", "unknown flag: --data"},
		{"openapi --http x", "unknown flag: --http"},
		{"migrate --ssh off", "unknown flag: --ssh"},
		{"admin user list --http x", "unknown flag: --http"},
		{"admin user delete ann", "add --yes"},
		{"admin token revoke ci", "is not the id of a token"},
		{"serve --no-such-flag", "unknown flag: --no-such-flag (see tenon serve --help)"},
		{"admin", "say which command"},
		{"admin nonsense", `unknown command "nonsense" for "tenon admin"`},
		{"admin user create --email ann@example.com", "accepts 1 arg(s), received 0"},
		{"admin user create ann", `required flag(s) "email" not set`},
		{"admin token create --user ann", `required flag(s) "name", "scopes" not set`},
		{"admin repo check one two", "accepts at most 1 arg(s), received 2"},
		{"admin audit list --entity-id 7", "--entity-id needs --entity-type"},
		{"admin audit export --entity-type Issue", "--entity-type is User, Group or Project"},
		{"admin audit list --after yesterday", "is no time such as"},
		{"admin audit list --limit -1", "--limit is 0 or more"},
		{"serve --rate-limits maybe", "rate"},
	} {
		f := newFlags()
		p := f.program()
		p.SetArgs(strings.Fields(tt.line))
		p.SetOut(io.Discard)
		err := p.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("tenon %s: got %v, want %s", tt.line, err, tt.want)
		}
		if code := f.report(err); code != exitUsage {
			t.Errorf("tenon %s: got the exit code %d, want %d", tt.line, code, exitUsage)
		}
	}
}

// Settings may stand before the command or after it.
func TestProgram_settings(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	for _, line := range []string{"--data " + data + " migrate", "migrate --data=" + data} {
		p := newFlags().program()
		p.SetArgs(strings.Fields(line))
		if err := p.ExecuteContext(t.Context()); err != nil {
			t.Errorf("tenon %s: %v", line, err)
		}
	}
	if found, err := filepath.Glob(filepath.Join(data, "tenon.db")); err != nil || len(found) != 1 {
		t.Errorf("got %v, %v, want a database", found, err)
	}
}

func TestProgram_help(t *testing.T) {
	t.Parallel()
	for line, wanted := range map[string][]string{
		"admin user create":  {"tenon admin user create USERNAME", "--password-stdin", "--email address", "--json", "(default ./tenon-data) [$TENON_DATA]", "Examples:", "Exit codes:"},
		"admin token create": {"Scopes:", "read_repository    clone and fetch over HTTP", "self_rotate"},
		"serve":              {"--ssh-external host", "[$TENON_SSH_EXTERNAL]", "TENON_ROOT_PASSWORD", "[$TENON_CONFIG]", "  2  the command line or the configuration is wrong"},
	} {
		help := helpOf(t, line)
		for _, want := range wanted {
			if !strings.Contains(help, want) {
				t.Errorf("no %q in the help of %s\n%s", want, line, help)
			}
		}
	}
	if help := helpOf(t, "version"); strings.Contains(help, "--data") {
		t.Errorf("the help of version has flags that do not apply:\n%s", help)
	}
}

func helpOf(t *testing.T, line string) string {
	t.Helper()
	p := newFlags().program()
	var out bytes.Buffer
	p.SetOut(&out)
	p.SetArgs(append(strings.Fields(line), "--help"))
	if err := p.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Every command has examples that it understands.
func TestProgram_examples(t *testing.T) {
	t.Parallel()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if c.HasSubCommands() || !c.IsAvailableCommand() || c.Parent().Name() == "completion" {
			return
		}
		name := c.CommandPath()
		if !strings.Contains(c.Example, name) {
			t.Errorf("%s: the examples are %q, want one of the command", name, c.Example)
		}
		for line := range strings.Lines(c.Example) {
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: the example %q is not indented by two blanks", name, line)
			}
		}
	}
	walk(newFlags().program())
}

// Every flag of a setting, and no other, is a flag of serve.
func TestProgram_serveFlags(t *testing.T) {
	t.Parallel()
	serve, _, err := newFlags().program().Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	for name, variable := range config.Variables() {
		if flag := serve.Flags().Lookup(name); flag == nil || !strings.HasSuffix(flag.Usage, "[$"+variable+"]") {
			t.Errorf("--%s: got %+v, want a flag that names %s", name, flag, variable)
		}
	}
}
