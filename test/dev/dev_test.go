// Package dev tries the server for tests from outside: the built binary, its parents and
// what they leave.
package dev

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tenon/test/servertest"
)

// start starts tenon dev in a folder for temporary files of its own.
func start(t *testing.T, tmp string, args ...string) (cmd *exec.Cmd, out *bufio.Reader) {
	t.Helper()
	cmd = exec.Command(servertest.Binary(t), append([]string{"dev"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // where it has not ended already
		_ = cmd.Wait()
	})
	return cmd, bufio.NewReader(pipe)
}

// lines reads the lines up to DATA.
func lines(t *testing.T, out *bufio.Reader) map[string]string {
	t.Helper()
	found := map[string]string{}
	for found["DATA"] == "" {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("read lines: %v, after %q", err, found)
		}
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok || !strings.HasPrefix(value, "'") || !strings.HasSuffix(value, "'") {
			t.Fatalf("line %q, want NAME='VALUE'", line)
		}
		found[name] = strings.Trim(value, "'")
	}
	return found
}

// get asks the API of a server.
func get(t *testing.T, url, token, path string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url+"/api/v4"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Private-Token", token)
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s %s, %v, want 200", path, res.Status, body, err)
	}
	return string(body)
}

// leftovers lists what is in a folder, and processes that name it.
func leftovers(t *testing.T, tmp string) []string {
	t.Helper()
	entries, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	programs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		if line, err := os.ReadFile(name); err == nil && strings.Contains(string(line), tmp) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// TestDev_signals has the server say where it is, answer, and leave nothing when it is told
// to end.
func TestDev_signals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			cmd, out := start(t, tmp)
			s := lines(t, out)
			if got := get(t, s["URL"], s["TOKEN"], "/user"); !strings.Contains(got, `"username":"root"`) {
				t.Errorf("the token belongs to %s, want root", got)
			}
			if info, err := os.Stat(s["DATA"]); err != nil || !info.IsDir() || !strings.HasPrefix(s["DATA"], tmp) {
				t.Errorf("DATA=%s: %v, want a folder below %s", s["DATA"], err, tmp)
			}
			if !strings.HasPrefix(s["SSH"], "ssh://git@127.0.0.1:") {
				t.Errorf("SSH=%s, want ssh://git@127.0.0.1:<port>", s["SSH"])
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("after the signal: %v, want status 0", err)
			}
			if left := leftovers(t, tmp); len(left) != 0 {
				t.Errorf("left: %q, want nothing", left)
			}
		})
	}
}

// TestDev_parent ends the server with a parent that is killed, which can tell no process.
func TestDev_parent(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	shell := exec.Command("sh", "-c", `"$0" dev --seed /dev/null & echo "PID='$!'"; wait`, servertest.Binary(t))
	shell.Env = append(os.Environ(), "TMPDIR="+tmp)
	pipe, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	s := lines(t, out)
	if err := shell.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The pipe ends when the server, which holds its other end, does.
	if rest, err := io.ReadAll(out); err != nil || len(rest) != 0 {
		t.Errorf("printed %q, %v after its lines, want nothing", rest, err)
	}
	_ = shell.Wait() // it was killed
	if left := leftovers(t, tmp); len(left) != 0 {
		t.Errorf("left: %q, want nothing", left)
	}
	if pid, err := strconv.Atoi(s["PID"]); err != nil || syscall.Kill(pid, 0) == nil && !zombie(pid) {
		t.Errorf("process %s (%v) still runs", s["PID"], err)
	}
}

// zombie reports whether a process has ended and its parent has not asked how.
func zombie(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(text), ") Z ")
}

// TestDev_parent_none goes on without the process that started it.
func TestDev_parent_none(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	shell := exec.Command("sh", "-c", `"$0" dev --parent 0 & echo "PID='$!'"`, servertest.Binary(t))
	shell.Env, shell.Stdout = append(os.Environ(), "TMPDIR="+tmp), write
	if err := errors.Join(shell.Run(), write.Close()); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(read)
	s := lines(t, out)
	pid, err := strconv.Atoi(s["PID"])
	if err != nil {
		t.Fatal(err)
	}
	get(t, s["URL"], s["TOKEN"], "/user")
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(out); err != nil {
		t.Error(err)
	}
	if left := leftovers(t, tmp); len(left) != 0 {
		t.Errorf("left: %q, want nothing", left)
	}
}

// TestDev_killed removes what a killed server left when the next one runs, and nothing of
// one that runs.
func TestDev_killed(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	killed, out := start(t, tmp)
	old := lines(t, out)
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	if _, err := os.Stat(old["DATA"]); err != nil {
		t.Fatalf("the folder of the killed server: %v, want it left", err)
	}
	running, out := start(t, tmp)
	other := lines(t, out)
	if out, err := run(t.Context(), t, tmp, "--", "true"); err != nil {
		t.Fatalf("the next one: %v\n%s", err, out)
	}
	if _, err := os.Stat(old["DATA"]); !os.IsNotExist(err) {
		t.Errorf("the folder of the killed server: %v, want it gone", err)
	}
	get(t, other["URL"], other["TOKEN"], "/user")
	if err := running.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = running.Wait()
	if left := leftovers(t, tmp); len(left) != 0 {
		t.Errorf("left: %q, want nothing", left)
	}
}

// run runs tenon dev to its end.
func run(ctx context.Context, t *testing.T, tmp string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(ctx, servertest.Binary(t), append([]string{"dev"}, args...)...)
	// None of these may count: the database would be one that a user works with.
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "TENON_DATABASE_URL=postgres://nowhere.invalid/tenon", "TENON_DATA=/nonexistent",
		"TENON_HTTP=127.0.0.1:1", "TENON_CONFIG=/nonexistent.toml")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const seedText = `
token = "glpat-given-administrator"

[[users]]
username = "mary.ann"
token = "glpat-given-token-of-mary"
password = "it's a long one"

[[users]]
username = "paul"
admin = true

[[groups]]
path = "shop"
visibility = "public"
members = { paul = "maintainer" }

[[groups]]
path = "shop/tools"
visibility = "public"

[[projects]]
path = "shop/tools/saw"
visibility = "internal"
description = "Cuts"
default_branch = "trunk"
members = { "mary.ann" = "developer" }
[projects.files]
"README.md" = "# Saw\n"
"src/saw.go" = "package saw\n"

[[projects]]
path = "mary.ann/notes"
`

func seedFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "seed.toml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestDev_seed makes users, groups, projects and files, and says how users sign on.
func TestDev_seed(t *testing.T) {
	t.Parallel()
	_, out := start(t, t.TempDir(), "--json", "--seed", seedFile(t, seedText))
	var s struct {
		URL, Token string
		Users      []struct{ Username, Token, Password string }
	}
	if err := json.NewDecoder(out).Decode(&s); err != nil {
		t.Fatal(err)
	}
	if s.Token != "glpat-given-administrator" || len(s.Users) != 2 || s.Users[0].Token != "glpat-given-token-of-mary" ||
		s.Users[0].Password != "it's a long one" || s.Users[1].Token == "" || s.Users[1].Password == "" {
		t.Fatalf("got %+v, want what was given, and the rest made", s)
	}
	for _, tt := range []struct{ token, path, want string }{
		{s.Users[0].Token, "/projects/shop%2Ftools%2Fsaw/repository/files/src%2Fsaw.go/raw?ref=trunk", "package saw\n"},
		{s.Users[0].Token, "/projects/shop%2Ftools%2Fsaw", `"access_level":30`},
		{s.Users[0].Token, "/projects/shop%2Ftools%2Fsaw", `"description":"Cuts"`},
		{s.Users[0].Token, "/projects/shop%2Ftools%2Fsaw", `"visibility":"internal"`},
		{s.Users[0].Token, "/projects/shop%2Ftools%2Fsaw", `"default_branch":"trunk"`},
		{s.Users[0].Token, "/projects/mary.ann%2Fnotes", `"empty_repo":true`},
		{s.Users[1].Token, "/groups/shop/members", `"username":"paul"`},
		{s.Users[1].Token, "/user", `"is_admin":true`},
	} {
		if got := get(t, s.URL, tt.token, tt.path); !strings.Contains(got, tt.want) {
			t.Errorf("GET %s: got %s, want %s in it", tt.path, got, tt.want)
		}
	}
}

// TestDev_command runs a command beside the server and ends as the command does.
func TestDev_command(t *testing.T) {
	t.Parallel()
	script := `curl -fsS -H "PRIVATE-TOKEN: $TOKEN_MARY_ANN" "$URL/api/v4/user" | grep -o '"username":"[^"]*"'
		echo "$PASSWORD_MARY_ANN"; read -r line; echo "read $line"; exit 7`
	tmp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), servertest.Binary(t), "dev", "--seed", seedFile(t, seedText), "--", "sh", "-c", script)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.Stdin = strings.NewReader("input\n")
	out, err := cmd.Output()
	if want := "\"username\":\"mary.ann\"\nit's a long one\nread input\n"; string(out) != want {
		t.Errorf("the command printed %q (%v), want %q", out, err, want)
	}
	if got := cmd.ProcessState.ExitCode(); got != 7 {
		t.Errorf("status %d, want 7", got)
	}
	if left := leftovers(t, tmp); len(left) != 0 {
		t.Errorf("left: %q, want nothing", left)
	}
	if out, err := run(t.Context(), t, tmp, "--", "sh", "-c", "kill -KILL $$"); err == nil || !strings.Contains(err.Error(), "137") {
		t.Errorf("a killed command: %v, %s, want status 137", err, out)
	}
	if out, err := run(t.Context(), t, tmp, "--", "/nonexistent"); err == nil || !strings.Contains(out, "no such file") {
		t.Errorf("a missing command: %v, %s, want that there is none", err, out)
	}
}

// TestDev_refusals says what is wrong, and leaves nothing.
func TestDev_refusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, seed, want string }{
		{"unknown key", "[[users]]\nusername = \"ann\"\ntoken_ = \"x\"", "token_"},
		{"broken TOML", "token = ", "seed: line 1"},
		{"short token", "[[users]]\nusername = \"ann\"\ntoken = \"short\"", `user "ann": token: Secret must have 20 to 512 printable characters`},
		{"token twice", "[[users]]\nusername = \"ann\"\ntoken = \"glpat-aaaaaaaaaaaaaaaa\"\n[[users]]\nusername = \"bob\"\ntoken = \"glpat-aaaaaaaaaaaaaaaa\"", `user "bob": token`},
		{"short token of root", `token = "short"`, "root.token"},
		{"name that is taken", "[[users]]\nusername = \"root\"", `seed: user "root"`},
		{"no parent", "[[groups]]\npath = \"a/b\"", `seed: group "a/b": group "a" (list it before its subgroups)`},
		{"unknown role", "[[groups]]\npath = \"aa\"\nmembers = { root = \"boss\" }", `role "boss": write developer, guest, maintainer, owner, planner, reporter`},
		{"unknown visibility", "[[groups]]\npath = \"a\"\nvisibility = \"secret\"", `visibility "secret": write private, internal or public`},
		{"project at the top", "[[projects]]\npath = \"a\"", "write the path of its group or user before the name"},
		{"same variable", "[[users]]\nusername = \"a-b\"\n[[users]]\nusername = \"a.b\"", "have the same variable TOKEN_A_B"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			out, err := run(t.Context(), t, tmp, "--seed", seedFile(t, tt.seed))
			if err == nil || !strings.Contains(out, tt.want) {
				t.Errorf("got %v, %s, want %s", err, out, tt.want)
			}
			if left := leftovers(t, tmp); len(left) != 0 {
				t.Errorf("left: %q, want nothing", left)
			}
		})
	}
	for _, args := range [][]string{{"--data", "x"}, {"--database", "sqlite:x"}, {"--config", "x"}, {"sh"}} {
		tmp := t.TempDir()
		if out, err := run(t.Context(), t, tmp, args...); err == nil || !strings.Contains(out, args[0]) {
			t.Errorf("tenon dev %q: %v, %s, want a refusal that names it", args, err, out)
		}
	}
}
