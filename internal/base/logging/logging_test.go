package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// planted is a secret that must never come out, in whatever wrapping it goes in.
const planted = "Pl4nt3dS3cr3tV4lu3"

func TestScrub_planted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"token glpat-" + planted + " was used",
		"gldt-" + planted, "glrt-" + planted, "glrtr-" + planted, "glcbt-64_" + planted, "glptt-" + planted, "glft-" + planted,
		"glimt-" + planted, "glagent-" + planted, "glsoat-" + planted, "GR1348941" + planted,
		"https://ci:" + planted + "@example.com/g/p.git",
		"https://" + planted + "@example.com/g/p.git",
		"clone 'ssh://git:" + planted + "@host:22/x' failed",
		"postgres://tenon:" + planted + "@db/tenon?sslmode=disable",
		"postgres://tenon:p@" + planted + "@db/tenon",
		"GET /api/v4/user?private_token=" + planted + "&page=2",
		"GET /api/v4/user?page=2&access_token=" + planted,
		"/feed?feed_token=" + planted + " 200",
		"job_token=" + planted, "TOKEN=" + planted, "token[]=" + planted, "user%5Bpassword%5D=" + planted,
		"client_secret = " + planted, `password="` + planted + ` and more"`, "password='" + planted + "'",
		"Authorization: Bearer " + planted, "authorization: basic " + planted, "Authorization: " + planted,
		"PRIVATE-TOKEN: " + planted, "Job-Token:" + planted, "map[Private-Token:[" + planted + "]]", "Cookie: session=" + planted,
		`{"password":"` + planted + `","name":"x"}`, `{"a":1, "private_token" : "x` + planted + `"}`, `{"variables":{"api_key":"` + planted + `"}}`,
		`{\"token\":\"` + planted + `\"}`, `{"authorization":["Bearer ` + planted + `"]}`,
		"bearer " + planted + " was refused", "Basic " + planted,
		"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n" + planted + "\n-----END OPENSSH PRIVATE KEY-----",
		"-----BEGIN RSA PRIVATE KEY-----\n" + planted,
	} {
		if got := Scrub(text); strings.Contains(got, planted) {
			t.Errorf("Scrub(%q) = %q", text, got)
		}
	}
}

func TestScrub_leavesTheRest(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "ok", "request done", "GET /api/v4/projects/7/issues?page=2&per_page=20",
		"https://example.com/@root/x?y=1", "mail to a@example.com", "basic authentication is required", "bearer",
		"token is expired", "load access token 17: context canceled", "open /data/secret.key: permission denied",
		"glow-worm", "refs/heads/main", "2026-11-20T10:00:00Z",
	} {
		if got := Scrub(text); got != text {
			t.Errorf("Scrub(%q) = %q, want it unchanged", text, got)
		}
	}
	const line, want = "GET /user?private_token=abcdef&page=2 by https://u:p@host/x", "GET /user?private_token=[masked]&page=2 by https://[masked]@host/x"
	if got := Scrub(line); got != want {
		t.Errorf("Scrub = %q, want %q", got, want)
	}
}

func TestSensitive(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		"token": true, "private_token": true, "Private-Token": true, "password": true, "current_password": true, "Authorization": true,
		"client_secret": true, "Set-Cookie": true, "apiKey": true, "variables[password]": true, "DB_PASSWORD": true,
		"token_id": false, "token_name": false, "password_expired": false, "token_expires_at": false, "path": false, "user": false, "key": false,
	} {
		if got := Sensitive(key); got != want {
			t.Errorf("Sensitive(%q) = %v, want %v", key, got, want)
		}
	}
}

type named struct {
	Name  string `json:"name"`
	Token string `json:"token"`
	Inner struct {
		Password string `json:"password"`
		Count    int64  `json:"count"`
	} `json:"inner"`
}

type late struct{ text string }

func (l late) LogValue() slog.Value { return slog.StringValue(l.text) }

type broken struct{}

func (b *broken) Error() string { panic("nil") }

func TestNew_planted(t *testing.T) {
	t.Parallel()
	link, err := url.Parse("https://u:" + planted + "@example.com/")
	if err != nil {
		t.Fatal(err)
	}
	n := named{Name: "visible", Token: planted}
	n.Inner.Password = planted
	n.Inner.Count = 9007199254740993
	for _, format := range []Format{JSON, Text} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := New(&out, format, slog.LevelDebug)
			log.With("token", planted).WithGroup("g").Info("with", "password", planted)
			log.With(slog.Group("auth", "secret", planted, "user", "root")).Warn("group")
			log.WithGroup("authorization").Error("in a group", "value", "Bearer "+planted)
			log.Info("message with glpat-"+planted, "path", "/x?private_token="+planted)
			log.Info("error", "error", fmt.Errorf("push to %s: %w", link, errors.New("token="+planted)))
			log.Info("text", "error", "dial https://a:"+planted+"@b")
			log.Info("any", "err", fmt.Errorf("get %s", link), "url", link, "struct", n, "pointer", &n)
			log.Info("header", "header", http.Header{"Private-Token": {planted}, "Accept": {"text/html"}})
			log.Info("lists", "args", []string{"--token=" + planted, "visible"}, "bytes", []byte("password="+planted))
			log.Info("maps", "map", map[string]any{"nested": map[string]any{"secret": planted}}, "tokens", []string{planted})
			log.Info("late", "value", late{"glpat-" + planted}, "token", late{planted}, "password", []byte(planted))
			log.Info("no JSON", "f", struct{ F func() }{}, "nil", (*broken)(nil), "none", nil, "inf", []any{make(chan int), "glpat-" + planted})
			if text := out.String(); strings.Contains(text, planted) {
				for line := range strings.Lines(text) {
					if strings.Contains(line, planted) {
						t.Errorf("planted secret in %s", line)
					}
				}
			}
			for _, want := range []string{"visible", "9007199254740993", "dial https://[masked]@b", "text/html", "[masked]"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in\n%s", want, out.String())
				}
			}
		})
	}
}

func TestNew_line(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := New(&out, JSON, slog.LevelInfo).With("request_id", "01HX")
	log.Debug("hidden")
	log.Info("request done", "status", 200, "duration", 3*time.Millisecond, "token_id", 7, "at", time.Unix(0, 0).UTC())
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v in %q, want one line of JSON", err, out.String())
	}
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(line["time"]))
	if err != nil || at.Location() != time.UTC {
		t.Errorf("time = %v, %v, want UTC", line["time"], err)
	}
	delete(line, "time")
	want := map[string]any{
		"level": "INFO", "msg": "request done", "request_id": "01HX", "status": 200.0, "duration": 3e6, "token_id": 7.0,
		"at": "1970-01-01T00:00:00Z",
	}
	if fmt.Sprint(line) != fmt.Sprint(want) {
		t.Errorf("line = %v, want %v", line, want)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	if f, err := ParseFormat("Text"); err != nil || f != Text {
		t.Errorf("ParseFormat = %v, %v", f, err)
	}
	if _, err := ParseFormat("xml"); err == nil {
		t.Error("xml passed for a format")
	}
	for name, want := range map[string]slog.Level{"debug": slog.LevelDebug, "INFO": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError} {
		if got, err := ParseLevel(name); err != nil || got != want {
			t.Errorf("ParseLevel(%q) = %v, %v", name, got, err)
		}
	}
	if _, err := ParseLevel("loud"); err == nil {
		t.Error("loud passed for a level")
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("a=b&token=")
	f.Add(`{"password":"\"`)
	f.Fuzz(func(t *testing.T, text string) {
		if got := Scrub(text + " glpat-" + planted); strings.Contains(got, planted) {
			t.Errorf("Scrub(%q) = %q", text, got)
		}
	})
}

func BenchmarkScrub(b *testing.B) {
	for b.Loop() {
		Scrub("/api/v4/projects/group%2Fproject/issues?page=2&per_page=20")
	}
}
