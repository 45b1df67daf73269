package admin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/errs"
)

func start(t *testing.T, run string, handlers map[string]Handler) *Server {
	t.Helper()
	s, err := Listen(run, handlers, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background()) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestCall(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]string{
		"short path": filepath.Join(t.TempDir(), "run"),
		"long path":  filepath.Join(t.TempDir(), strings.Repeat("long/", 20), "run"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out string
			var told []string
			tell := func(line string) { told = append(told, line) }
			if err := Call(t.Context(), run, "greet", "ann", &out, tell); !errors.Is(err, ErrNotRunning) {
				t.Errorf("without a server: got %v", err)
			}
			start(t, run, map[string]Handler{
				"greet": func(_ context.Context, args json.RawMessage, tell func(string)) (any, error) {
					var name string
					if err := json.Unmarshal(args, &name); err != nil {
						return nil, err
					}
					if name == "" {
						return nil, errs.Plain("say whom")
					}
					tell("one moment")
					return "hello " + name, nil
				},
				"break": func(context.Context, json.RawMessage, func(string)) (any, error) { panic("broken") },
			})
			if err := Call(t.Context(), run, "greet", "ann", &out, tell); err != nil || out != "hello ann" || !slices.Equal(told, []string{"one moment"}) {
				t.Errorf("got %q, %q, %v", out, told, err)
			}
			for command, want := range map[string]string{"greet": "say whom", "break": "could not finish", "dance": "does not know"} {
				if err := Call(t.Context(), run, command, "", &out, tell); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: got %v, want %q", command, err, want)
				}
			}
			place, err := os.ReadFile(filepath.Join(run, placeName))
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(strings.TrimSpace(string(place)))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the socket: %v, %v", info.Mode(), err)
			}
		})
	}
}

// A client that goes away ends what runs for it.
func TestCall_cancelled(t *testing.T) {
	t.Parallel()
	run := filepath.Join(t.TempDir(), "run")
	begun := make(chan struct{})
	ended := make(chan struct{})
	start(t, run, map[string]Handler{"wait": func(ctx context.Context, _ json.RawMessage, _ func(string)) (any, error) {
		close(begun)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if err := Call(ctx, run, "wait", nil, nil, func(string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-ended
}
