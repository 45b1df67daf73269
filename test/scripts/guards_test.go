package scripts

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/test/servertest"
)

// start runs "tenon serve" on a folder and a database where it is refused, and returns what it says.
func start(t *testing.T, data, database string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, servertest.Binary(t), "serve", "--http", "127.0.0.1:0", "--ssh", "off", "--data", data, "--database", database)
	out, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		t.Fatalf("it was not refused: %v\n%s", err, out)
	}
	return string(out)
}

func wantAll(t *testing.T, said string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(said, w) {
			t.Errorf("got %q, want %q in it", said, w)
		}
	}
}

func makeProject(t *testing.T, s *servertest.Server, name string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/v4/projects?initialize_with_readme=true&name="+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Private-Token", servertest.RootToken)
	res, err := http.DefaultClient.Do(req) //nolint:forbidigo // a test client without needs
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("make project: status %d", res.StatusCode)
	}
}

// A folder and a database of different instances do not serve together, and a second server
// does not use what the first one has.
func TestGuards(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		database := servertest.Postgres(t)
		first := servertest.Start(t, database)
		makeProject(t, first, "shop")
		second := t.TempDir()
		wantAll(t, start(t, second, database), "another server, process ", first.Data, "--database")
		first.Stop()
		// Nothing runs any more; the folder is still another one.
		wantAll(t, start(t, second, database), "belongs to the instance", first.Data, second, "--data")
		foreign := servertest.Start(t, "")
		foreign.Stop()
		wantAll(t, start(t, foreign.Data, database), "belongs to the instance", foreign.Data, first.Data)
		wantAll(t, start(t, first.Data, servertest.Postgres(t)), first.Data, "is empty: name the database of this instance with --database")
		first.Restart()
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		database := filepath.Join(t.TempDir(), "shared.db")
		first := servertest.Start(t, "sqlite:"+database)
		wantAll(t, start(t, t.TempDir(), "sqlite:"+database), "lock database "+database, "process ", first.Data)
	})
}

// A start says which repositories are gone, and with what command to see them all.
func TestGuards_missingRepositories(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		t.Parallel()
		s := servertest.Start(t, database)
		makeProject(t, s, "kept")
		kept, err := filepath.Glob(filepath.Join(s.Data, "repositories", "@hashed", "*"))
		if err != nil {
			t.Fatal(err)
		}
		makeProject(t, s, "lost")
		s.Stop()
		all, err := filepath.Glob(filepath.Join(s.Data, "repositories", "@hashed", "*"))
		if err != nil || len(all) != 2 || len(kept) != 1 {
			t.Fatalf("folders %v and %v, %v", kept, all, err)
		}
		for _, folder := range all {
			if folder != kept[0] {
				if err := os.RemoveAll(folder); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.Restart()
		// The first start may have told of the project that was just being made.
		for !strings.Contains(s.Log(), `"first":["root/lost"]`) {
			if t.Context().Err() != nil {
				t.Fatalf("not reported:\n%s", s.Log())
			}
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // until the log has it
		}
		wantAll(t, s.Log(), `"missing":1`, `"projects":2`, `"first":["root/lost"]`, "tenon admin repo check --data "+s.Data)
	})
}

// What the first start makes up is in a file that its user alone reads, and not in what
// collects the log.
func TestFirstStart_log(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	cmd := exec.CommandContext(t.Context(), servertest.Binary(t), "migrate", "--data", data)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	name := filepath.Join(data, "initial_root_credentials")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v, want the mode 0600", info, err)
	}
	made := 0
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name == "user" {
			continue
		}
		made++
		if strings.Contains(string(out), value) {
			t.Errorf("the %s is in the log:\n%s", name, out)
		}
	}
	if made != 2 {
		t.Errorf("the file has %q, want a password and a token", text)
	}
	wantAll(t, string(out), `"credentials_file":"`+name+`"`)
}
