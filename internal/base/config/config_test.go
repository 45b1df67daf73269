package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenon/internal/base/logging"
	"tenon/internal/base/mail"
)

// written makes a file and returns its name.
func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "tenon.toml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func problems(t *testing.T, s Sources) []Problem {
	t.Helper()
	c, err := Load(s)
	var p *ProblemsError
	if !errors.As(err, &p) || c != nil {
		t.Fatalf("Load = %v, %v, want a *ProblemsError", c, err)
	}
	return p.Problems
}

func TestLoad_defaults(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{Environ: []string{"HOME=/root", "TENON_HTTP=", "TENON_TEST_DATABASE_URL=x", "TENON_CONTRACT_DIR=y", "TENON_BIN=z"}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Abs("tenon-data")
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Data: data, HTTP: "127.0.0.1:8080", SSH: "127.0.0.1:2222", Database: "sqlite:" + data + "/tenon.db",
		RateLimits: true, MetricsFrom: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, Git: Git{Fetches: 32, FetchesPerAddress: 16, PackCache: 2048, ImportSize: 20480}, Mail: Mail{Port: 587, Security: mail.StartTLS, Timeout: 30 * time.Second}, Log: Log{Level: slog.LevelInfo, Format: logging.JSON},
	}
	c.sources = nil
	if diff := cmp.Diff(want, *c, cmp.AllowUnexported(Config{}), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestLoad_order(t *testing.T) {
	t.Parallel()
	name := written(t, `
data = "/srv/file"
http = "127.0.0.1:1001"
ssh = "127.0.0.1:1002"
database_url = "postgres://tenon@db/tenon"
rate_limits = false
[root]
token = "ACCTEST1234567890123"
[log]
level = "debug"
`)
	c, err := Load(Sources{
		File:    name,
		Environ: []string{"TENON_HTTP=127.0.0.1:2001", "TENON_SSH=off", "TENON_LOG_FORMAT=text", "TENON_EXTERNAL_URL=https://code.example.com/"},
		Flags:   map[string]string{"http": "127.0.0.1:0", "log-level": "warn"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(c.Data, " ", c.HTTP, " ", c.SSH, " ", c.Database, " ", c.ExternalURL, " ", string(c.Root.Token), " ", c.RateLimits, " ", c.Log)
	const want = "/srv/file 127.0.0.1:0  postgres://tenon@db/tenon https://code.example.com ACCTEST1234567890123 false {WARN text}"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLoad_fileFromEnvironment(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{Environ: []string{"TENON_CONFIG=" + written(t, `http = "127.0.0.1:4711"`)}})
	if err != nil || c.HTTP != "127.0.0.1:4711" {
		t.Errorf("Load = %v, %v, want the address of the file", c, err)
	}
}

func TestLoad_everyProblemAtOnce(t *testing.T) {
	t.Parallel()
	name := written(t, `
http = 8080
databse_url = "x"
level = "debug"
ssh = ["127.0.0.1:22"]
[log]
level = "loud"
`)
	got := problems(t, Sources{
		File: name,
		Environ: []string{
			"TENON_ROOT_PASSWORD=hunter2", "TENON_ROOT_TOKEN=glpat-short", "TENON_DATABASE_URL=mysql://u:s3cr3tpass@db/x",
			"TENON_EXTERNAL_URL=https://u:s3cr3tpass@code.example.com/sub", "TENON_DATABSE_URL=x", "TENON_RATE_LIMITS=maybe",
		},
		Flags: map[string]string{"log-format": "xml", "colour": "red"},
	})
	var lines []string
	for _, p := range got {
		lines = append(lines, p.String())
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		`TENON_DATABSE_URL (environment): there is no such variable; did you mean TENON_DATABASE_URL?`,
		`databse_url (` + name + `): there is no such key; did you mean database_url?`,
		`level (` + name + `): there is no such key; did you mean log.level?`,
		`ssh (` + name + `): write one value, as text in quotes`,
		`--colour: there is no such flag`,
		`http = "8080" (` + name + `): write host:port`,
		`log.level = "loud" (` + name + `): write debug, info, warn or error`,
		`log.format = "xml" (--log-format): write json or text`,
		`root.password = "[masked]" (TENON_ROOT_PASSWORD): choose a password of 8 to 128 characters`,
		`root.token = "[masked]" (TENON_ROOT_TOKEN): choose a token of 20`,
		`database_url = "mysql://u:[masked]@db/x" (TENON_DATABASE_URL): write sqlite:`,
		`external_url = "https://u:[masked]@code.example.com/sub" (TENON_EXTERNAL_URL): leave user and password out`,
		`rate_limits = "maybe" (TENON_RATE_LIMITS): write on or off`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if len(got) != 13 {
		t.Errorf("%d problems, want 13:\n%s", len(got), text)
	}
	for _, secret := range []string{"hunter2", "s3cr3tpass", "glpat-short"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is shown in\n%s", secret, text)
		}
	}
	if whole := (&ProblemsError{Problems: got}).Error(); !strings.HasPrefix(whole, "the configuration has 13 problems:\n  ") {
		t.Errorf("Error() = %q", whole)
	}
}

// Keys that mean nothing are reported wherever they stand, with all other problems.
func TestLoad_unknownKeys(t *testing.T) {
	t.Parallel()
	name := written(t, `
http = "nowhere"
unknown = 3
HTTP = "127.0.0.1:0"
root = { passwort = "x" }
[nonsense]
[server.deep]
port = 80
since = 2020-01-01
[[list]]
a = 1
[git.fetches]
most = 1
`)
	var text []string
	for _, p := range problems(t, Sources{File: name}) {
		text = append(text, p.Key)
	}
	want := []string{"HTTP", "git.fetches.most", "list", "nonsense", "root.passwort", "server.deep.port", "server.deep.since", "unknown", "http"}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("keys of the problems (-want +got):\n%s", diff)
	}
}

func TestLoad_values(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env, value string
		ok         bool
	}{
		{"TENON_DATA", "/srv/tenon", true},
		{"TENON_DATA", "   ", false},
		{"TENON_DATA", "a\nb", false},
		{"TENON_HTTP", ":8080", true},
		{"TENON_HTTP", "[::1]:8080", true},
		{"TENON_HTTP", "localhost:0", true},
		{"TENON_HTTP", "8080", false},
		{"TENON_HTTP", "localhost", false},
		{"TENON_HTTP", "localhost:http", false},
		{"TENON_HTTP", "localhost:65536", false},
		{"TENON_HTTP", "localhost:-1", false},
		{"TENON_HTTP", "localhost:080", false},
		{"TENON_HTTP", "http://localhost:80", false},
		{"TENON_HTTP", "off", false},
		{"TENON_SSH", "off", true},
		{"TENON_SSH", "127.0.0.1:8080", false}, // the port of HTTP
		{"TENON_DATABASE_URL", "sqlite:/srv/x.db", true},
		{"TENON_DATABASE_URL", "sqlite:x.db", true},
		{"TENON_DATABASE_URL", "sqlite:", false},
		{"TENON_DATABASE_URL", "sqlite:///srv/x.db", false},
		{"TENON_DATABASE_URL", "sqlite::memory:", false},
		{"TENON_DATABASE_URL", "postgres://u:p%40ss@db:5432/tenon?sslmode=require", true},
		{"TENON_DATABASE_URL", "postgresql://u@db/tenon", true},
		{"TENON_DATABASE_URL", "postgres://u@/tenon?host=/run/postgresql", true},
		{"TENON_DATABASE_URL", "postgres:///tenon", false},
		{"TENON_DATABASE_URL", "postgres://db", false},
		{"TENON_DATABASE_URL", "postgres://u:p w@db/x%zz", false},
		{"TENON_DATABASE_URL", "tenon.db", false},
		{"TENON_EXTERNAL_URL", "http://localhost:8080", true},
		{"TENON_EXTERNAL_URL", "https://code.example.com", true},
		{"TENON_EXTERNAL_URL", "code.example.com", false},
		{"TENON_EXTERNAL_URL", "ftp://code.example.com", false},
		{"TENON_EXTERNAL_URL", "https://code.example.com/tenon", false},
		{"TENON_EXTERNAL_URL", "https://code.example.com?x", false},
		{"TENON_EXTERNAL_URL", "https://code.example.com/?", false},
		{"TENON_EXTERNAL_URL", "https://code.example.com:99999", false},
		{"TENON_EXTERNAL_URL", "https://:443", false},
		{"TENON_ROOT_PASSWORD", "correct horse", true},
		{"TENON_ROOT_PASSWORD", "seven77", false},
		{"TENON_ROOT_PASSWORD", strings.Repeat("x", 129), false},
		{"TENON_ROOT_TOKEN", "glpat-python-gitlab-token_", true},
		{"TENON_ROOT_TOKEN", "ACCTEST1234567890123", true},
		{"TENON_ROOT_TOKEN", "nineteen-characters", false},
		{"TENON_ROOT_TOKEN", "twenty characters and blanks", false},
		{"TENON_RATE_LIMITS", "OFF", true},
		{"TENON_RATE_LIMITS", "0", true},
		{"TENON_LOG_LEVEL", "verbose", false},
	} {
		t.Run(tt.env+"="+tt.value, func(t *testing.T) {
			t.Parallel()
			_, err := Load(Sources{Environ: []string{tt.env + "=" + tt.value}})
			if (err == nil) != tt.ok {
				t.Errorf("Load: %v, want ok %v", err, tt.ok)
			}
			var p *ProblemsError
			if err != nil && (!errors.As(err, &p) || len(p.Problems) != 1 || p.Problems[0].Advice == "") {
				t.Errorf("Load: %v, want one problem with advice", err)
			}
		})
	}
}

func TestLoad_unreadable(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none.toml")
	if got := problems(t, Sources{File: missing}); len(got) != 1 || got[0].Value != missing || !strings.Contains(got[0].Advice, "no such file") {
		t.Errorf("a missing file: %v", got)
	}
	got := problems(t, Sources{File: written(t, "http = \"x\"\nssh = = 1\n"), Environ: []string{"TENON_LOG_LEVEL=loud"}})
	if len(got) != 2 || !strings.Contains(got[0].Advice, "line 2") {
		t.Errorf("a broken file: %v, want the line, and the other problem too", got)
	}
}

func TestConfig_Print(t *testing.T) {
	t.Parallel()
	const password = "s3cr3tpass"
	c, err := Load(Sources{Environ: []string{
		"TENON_DATA=/srv/tenon", "TENON_ROOT_PASSWORD=" + password, "TENON_ROOT_TOKEN=token-" + password + "-token",
		"TENON_DATABASE_URL=postgres://tenon:" + password + "@db/tenon?sslmode=require&sslpassword=" + password,
	}, Flags: map[string]string{"ssh": "off"}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	const want = `data = "/srv/tenon" # TENON_DATA
http = "127.0.0.1:8080" # default
ssh = "off" # --ssh
ssh_external = "" # default
database_url = "postgres://tenon:[masked]@db/tenon?sslmode=require&sslpassword=[masked]" # TENON_DATABASE_URL
external_url = "" # default
rate_limits = "on" # default
anonymous_introspection = "on" # default
metrics_from = "127.0.0.0/8,::1/128" # default
trusted_proxies = "" # default
otlp_endpoint = "" # default

[root]
password = "[masked]" # TENON_ROOT_PASSWORD
token = "[masked]" # TENON_ROOT_TOKEN

[git]
fetches = "32" # default
fetches_per_address = "16" # default
pack_cache_mb = "2048" # default
import_size_mb = "20480" # default

[features]
remote_import = "on" # default
remote_import_s3 = "on" # default
s3_endpoint = "" # default
debian = "on" # default

[log]
level = "info" # default
format = "json" # default

[mail]
host = "" # default
port = "587" # default
security = "starttls" # default
user = "" # default
password_file = "" # default
from = "" # default
reply_to = "" # default
incoming_address = "" # default
timeout_seconds = "30" # default
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("Print (-want +got):\n%s", diff)
	}
	again, err := Load(Sources{File: written(t, strings.ReplaceAll(b.String(), masked, "long-enough-for-a-token"))})
	if err != nil {
		t.Fatalf("what was printed does not load: %v\n%s", err, b.String())
	}
	if again.Data != c.Data || again.SSH != "" {
		t.Errorf("printed and loaded again: %+v", again)
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	c := Config{Root: Root{Password: "s3cr3tpass", Token: "s3cr3tpass"}}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "password", c.Root.Password, "config", c)
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v %s %q", c, c, c.Root.Token, c.Root.Password), string(raw), b.String()} {
		if strings.Contains(text, "s3cr3t") || !strings.Contains(text, masked) {
			t.Errorf("%s", text)
		}
	}
	if got := Secret("").String(); got != "" {
		t.Errorf("an empty secret prints %q", got)
	}
}
