package tenontest_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tenon/tenontest"
	"tenon/test/program"
	"tenon/test/servertest"
)

// Tests of this repository use the program that is built from it.
func TestStart(t *testing.T) {
	t.Parallel()
	var data string
	t.Run("server", func(t *testing.T) {
		s := tenontest.Start(t, tenontest.Binary(servertest.Binary(t)), tenontest.Seed(`
[[users]]
username = "mary"
token = "glpat-token-of-mary-here"
`))
		data = s.Data
		if got := ask(t, s, s.Token); !strings.Contains(got, `"username":"root"`) {
			t.Errorf("the token of root: %s, want root", got)
		}
		mary := s.User(t, "mary")
		if got := ask(t, s, mary.Token); !strings.Contains(got, `"username":"mary"`) || mary.Token != "glpat-token-of-mary-here" {
			t.Errorf("the token of mary, %s: %s, want mary", mary.Token, got)
		}
		if _, err := os.Stat(filepath.Join(data, "tenon.db")); err != nil {
			t.Errorf("Data: %v, want the folder of the server", err)
		}
	})
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("after the test: %v, want the folder gone", err)
	}
}

func ask(t *testing.T, s *tenontest.Server, token string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v4/user", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Private-Token", token)
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// failed is a test that fails: it keeps what the failure says.
type failed struct {
	testing.TB
	said string
}

func (f *failed) Helper()        {}
func (f *failed) Cleanup(func()) {}

func (f *failed) Fatalf(format string, args ...any) {
	f.said = strings.TrimSpace(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
	runtime.Goexit()
}

// TestStart_fails says what the server said, or that there is none.
func TestStart_fails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		opts []tenontest.Option
		want string
	}{
		{"refused seed", []tenontest.Option{tenontest.Binary(servertest.Binary(t)), tenontest.Seed("nonsense = 1")}, "the server did not start: tenon: seed: unknown key"},
		{"no program", []tenontest.Option{tenontest.Binary("/nonexistent/tenon")}, "no such file"},
		{"no answer", []tenontest.Option{tenontest.Binary(sleeper(t)), tenontest.Wait(time.Millisecond)}, "the server is not ready after 1ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &failed{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				tenontest.Start(f, tt.opts...)
			}()
			<-done
			if !strings.Contains(f.said, tt.want) {
				t.Errorf("the failure says %q, want %q in it", f.said, tt.want)
			}
		})
	}
}

// sleeper is a program that never answers.
func sleeper(t *testing.T) string {
	t.Helper()
	return program.Write(t, "tenon", []byte("#!/bin/sh\nexec sleep 600\n"))
}
