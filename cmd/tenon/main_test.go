package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

func TestProgram_refusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ line, want string }{
		{"", "say which command"},
		{"nonsense", `unknown command "nonsense" for "tenon"`},
		{"serve now", `unknown command "now" for "tenon serve"`},
		{"serve --no-such-flag", "unknown flag: --no-such-flag (see tenon serve --help)"},
		{"admin", "say which command"},
		{"admin nonsense", `unknown command "nonsense" for "tenon admin"`},
		{"admin user create --email ann@example.com", "accepts 1 arg(s), received 0"},
		{"admin user create ann", `required flag(s) "email" not set`},
		{"admin token create --user ann", `required flag(s) "name", "scopes" not set`},
		{"admin repo check one two", "accepts at most 1 arg(s), received 2"},
		{"serve --rate-limits maybe", "rate"},
	} {
		p := program()
		p.SetArgs(strings.Fields(tt.line))
		p.SetOut(io.Discard)
		err := p.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("tenon %s: got %v, want %s", tt.line, err, tt.want)
		}
	}
}

// Settings may stand before the command or after it.
func TestProgram_settings(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	for _, line := range []string{"--data " + data + " migrate", "migrate --data=" + data} {
		p := program()
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
	p := program()
	var out bytes.Buffer
	p.SetOut(&out)
	p.SetArgs([]string{"admin", "user", "create", "--help"})
	if err := p.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tenon admin user create USERNAME", "--password-stdin", "--email address", "--json", "(default ./tenon-data)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}
