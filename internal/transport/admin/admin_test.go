package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/errs"
)

func start(t *testing.T, run string, handlers map[string]Handler, streams map[string]Streamer) *Server {
	t.Helper()
	s, err := Listen(run, handlers, streams, slog.New(slog.DiscardHandler))
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
						return nil, errs.Plain("say who")
					}
					tell("one moment")
					return "hello " + name, nil
				},
				"break": func(context.Context, json.RawMessage, func(string)) (any, error) { panic("broken") },
			}, nil)
			if err := Call(t.Context(), run, "greet", "ann", &out, tell); err != nil || out != "hello ann" || !slices.Equal(told, []string{"one moment"}) {
				t.Errorf("got %q, %q, %v", out, told, err)
			}
			for command, want := range map[string]string{"greet": "say who", "break": "could not finish", "dance": "does not know"} {
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

// Bytes arrive as they were written, among lines of progress; a client that cannot keep them
// ends the command.
func TestStream(t *testing.T) {
	t.Parallel()
	run := filepath.Join(t.TempDir(), "run")
	content := bytes.Repeat([]byte("{\"done\":true}\n"), 100_000)
	ended := make(chan error, 2)
	start(t, run, nil, map[string]Streamer{"give": func(ctx context.Context, _ json.RawMessage, out io.Writer, tell func(string)) (any, error) {
		var err error
		for at := 0; at < len(content) && err == nil; at += 1000 {
			_, err = out.Write(content[at:min(at+1000, len(content))])
			tell("more")
		}
		ended <- err
		return "given", err
	}})
	var out bytes.Buffer
	var result string
	lines := 0
	err := Stream(t.Context(), run, Command{Name: "give", Result: &result, Out: &out, Tell: func(string) { lines++ }})
	if err != nil || <-ended != nil || result != "given" || lines != len(content)/1000 || !bytes.Equal(out.Bytes(), content) {
		t.Errorf("got %v, %q, %d lines, %d bytes of %d", err, result, lines, out.Len(), len(content))
	}
	full := errors.New("full")
	err = Stream(t.Context(), run, Command{
		Name: "give", Result: &result, Out: writerFunc(func([]byte) (int, error) { return 0, full }), Tell: func(string) {},
	})
	if !errors.Is(err, full) || <-ended == nil {
		t.Errorf("a disk that is full: got %v", err)
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
	}}, nil)
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

// A server that is killed is named as the cause, wherever its answer breaks off.
func TestCall_serverEnded(t *testing.T) {
	t.Parallel()
	for _, sent := range []string{"", `{"line":"on`, "{\"bytes\":9}\n", "{\"bytes\":9}\nabcd", "{\"bytes\":4}\nabcd"} {
		conn := struct {
			io.Reader
			io.Writer
		}{strings.NewReader(sent), io.Discard}
		err := ask(conn, Command{Name: "give", Out: new(bytes.Buffer), Tell: func(string) {}})
		if !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "the server ended before it answered") {
			t.Errorf("after %q: got %v, want that the server ended", sent, err)
		}
	}
}
