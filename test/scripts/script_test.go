// Package scripts drives the built server with real git and curl. Each file in testdata
// is a story: what people do, and what they must see.
package scripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tenon/test/servertest"
)

func TestMain(m *testing.M) { testscript.Main(m, nil) }

// TestScripts runs every story on a server of its own; those whose names begin with ssh_
// have one that serves git over SSH. There $SSH runs ssh, and a host of any name is the
// server, asked with the key in the file of that name: ann:team/app.git. Those whose names begin
// with limits have a server with limits, behind a proxy on this machine. Besides the commands
// of testscript a story has:
//
//	user NAME            make a user; $NAME is the token from then on
//	api WHO METHOD PATH [JSON]
//	                     call the API with the token of WHO ("root", a user, or "-" for
//	                     nobody); prints the status and the body. "! api" expects 400 or more
//	set VAR PATH         take a field of the last answer, such as "id" or "0.commit.id"
//	sshkey WHO FILE [JSON]
//	                     make a key pair unless FILE is there, and add it to the account of
//	                     WHO; JSON has further parameters, "expires_in" is in seconds
//	deploykey WHO PROJECT FILE [JSON]
//	                     the same for a deploy key of a project
//	eventually COMMAND   run a program until it succeeds; with "!" until it fails
//	logged REGEXP        wait for a line of the server's log; "! logged" wants that there is none yet
//	exec $TENON ...      run the program on the server's data
//	crash, restart       end the server as a power cut would; start it again
func TestScripts(t *testing.T) {
	for _, program := range []string{"git", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s: skipped (not installed)", program)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			var args []string
			if strings.Contains(filepath.Base(e.WorkDir), "lfs") {
				if _, err := exec.LookPath("git-lfs"); err != nil {
					e.T().Skip("git-lfs: skipped (not installed)")
				}
			}
			if strings.HasPrefix(filepath.Base(e.WorkDir), "script-limits") {
				args = []string{"--rate-limits", "on", "--trusted-proxies", "127.0.0.1/32"}
			}
			if strings.HasPrefix(filepath.Base(e.WorkDir), "script-ssh_") {
				if _, err := exec.LookPath("ssh"); err != nil {
					e.T().Skip("ssh: skipped (not installed)")
				}
				args = []string{"--ssh", "127.0.0.1:0"}
				if strings.HasPrefix(filepath.Base(e.WorkDir), "script-ssh_external") {
					args = append(args, "--ssh-external", "git.example.com")
				}
			}
			s := &story{server: servertest.Start(e.T().(testing.TB), "", args...)}
			e.Values[storyKey{}] = s
			e.Setenv("URL", s.server.URL)
			e.Setenv("HOST", strings.TrimPrefix(s.server.URL, "http://"))
			e.Setenv("DATA", s.server.Data)
			e.Setenv("TENON", servertest.Binary(e.T().(testing.TB)))
			e.Setenv("TENON_DATA", s.server.Data)
			e.Setenv("root", servertest.RootToken)
			e.Setenv("HOME", e.WorkDir)
			if s.server.SSH != "" {
				e.Setenv("GIT_SSH_COMMAND", "ssh -F "+e.WorkDir+"/ssh_config")
				if err := s.configureSSH(e.WorkDir, e.Setenv); err != nil {
					return err
				}
			}
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			e.Setenv("GIT_TERMINAL_PROMPT", "0")
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				e.Setenv("GIT_"+who+"_NAME", "Ann")
				e.Setenv("GIT_"+who+"_EMAIL", "ann@example.com")
			}
			return os.WriteFile(e.WorkDir+"/.gitconfig", []byte("[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n"), 0o600)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"user": user, "api": api, "set": set, "sshkey": sshKey, "deploykey": deployKey, "eventually": eventually, "logged": logged,
			"crash": func(ts *testscript.TestScript, _ bool, _ []string) { of(ts).server.Kill() },
			"restart": func(ts *testscript.TestScript, _ bool, _ []string) {
				of(ts).server.Restart()
				ts.Setenv("URL", of(ts).server.URL)
				ts.Setenv("HOST", strings.TrimPrefix(of(ts).server.URL, "http://"))
				if of(ts).server.SSH != "" {
					ts.Check(of(ts).configureSSH(ts.Getenv("WORK"), ts.Setenv))
				}
			},
		},
	})
}

// logged looks for a line of the log, which is written after the answer.
func logged(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: logged REGEXP")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for end := time.Now().Add(20 * time.Second); !pattern.MatchString(of(ts).server.Log()); {
		if neg {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("no line %q in\n%s", args[0], of(ts).server.Log())
		}
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // until the log has it
	}
	if neg {
		ts.Fatalf("a line %q is in\n%s", args[0], of(ts).server.Log())
	}
}

// story is what the commands of one script share.
type story struct {
	server *servertest.Server
	last   []byte // body of the last answer
}

type storyKey struct{}

func of(ts *testscript.TestScript) *story { return ts.Value(storyKey{}).(*story) }

func call(ts *testscript.TestScript, token, method, path, body string) (int, []byte) {
	req, err := http.NewRequest(method, of(ts).server.URL+"/api/v4"+path, strings.NewReader(body))
	ts.Check(err)
	if token != "" {
		req.Header.Set("Private-Token", token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req) //nolint:forbidigo // a test client without needs
	ts.Check(err)
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	ts.Check(err)
	return res.StatusCode, out
}

func api(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: api WHO METHOD PATH [JSON]")
	}
	token := ""
	if args[0] != "-" {
		if token = ts.Getenv(args[0]); token == "" {
			ts.Fatalf("nobody is called %s", args[0])
		}
	}
	body := ""
	if len(args) == 4 {
		body = args[3]
	}
	status, out := call(ts, token, args[1], args[2], body)
	of(ts).last = out
	_, _ = fmt.Fprintf(ts.Stdout(), "%d %s\n", status, out)
	if failed := status >= 400; failed != neg {
		ts.Fatalf("%s %s: status %d: %s", args[1], args[2], status, out)
	}
}

func user(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: user NAME")
	}
	name, root := args[0], ts.Getenv("root")
	status, out := call(ts, root, "POST", "/users", fmt.Sprintf(
		`{"username":%q,"name":%q,"email":"%s@example.com","password":"Staple-battery-77","skip_confirmation":true}`, name, name, name))
	var made struct {
		ID    int64  `json:"id"`
		Token string `json:"token"`
	}
	if err := json.Unmarshal(out, &made); err != nil || status != http.StatusCreated {
		ts.Fatalf("create user: %d %s", status, out)
	}
	ts.Setenv(name+"_id", fmt.Sprint(made.ID))
	status, out = call(ts, root, "POST", fmt.Sprintf("/users/%d/personal_access_tokens", made.ID), `{"name":"story","scopes":["api"]}`)
	if err := json.Unmarshal(out, &made); err != nil || status != http.StatusCreated {
		ts.Fatalf("create token: %d %s", status, out)
	}
	ts.Setenv(name, made.Token)
}

func set(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: set VAR PATH")
	}
	var at any
	dec := json.NewDecoder(bytes.NewReader(of(ts).last))
	dec.UseNumber()
	ts.Check(dec.Decode(&at))
	for key := range strings.SplitSeq(args[1], ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[key]
		case []any:
			var i int
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(v) {
				ts.Fatalf("no element %s in %s", key, of(ts).last)
			}
			at = v[i]
		default:
			ts.Fatalf("no %s in %s", args[1], of(ts).last)
		}
	}
	ts.Setenv(args[0], fmt.Sprint(at))
}
