package scripts

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// configureSSH tells ssh where the server is: every host is the server, with one host
// key, and the host's name is the file of the key to use.
func (s *story) configureSSH(work string, setenv func(key, value string)) error {
	host, port, err := net.SplitHostPort(s.server.SSH)
	if err != nil {
		return err
	}
	setenv("SSHPORT", port)
	return os.WriteFile(filepath.Join(work, "ssh_config"), fmt.Appendf(nil, `Host *
	HostName %s
	Port %s
	User git
	HostKeyAlias tenon
	UserKnownHostsFile %s/known_hosts
	StrictHostKeyChecking accept-new
	IdentityFile %s/%%n
	IdentitiesOnly yes
	IdentityAgent none
	BatchMode yes
	LogLevel ERROR
`, host, port, work, work), 0o600)
}

func sshKey(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: sshkey WHO FILE [JSON]")
	}
	addKey(ts, neg, "/user/keys", args)
}

func deployKey(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: deploykey WHO PROJECT FILE [JSON]")
	}
	addKey(ts, neg, "/projects/"+args[1]+"/deploy_keys", append(args[:1:1], args[2:]...))
}

// addKey posts the key of a file to a path; args are who, the file and perhaps more.
func addKey(ts *testscript.TestScript, neg bool, path string, args []string) {
	file := ts.MkAbs(args[1])
	if _, err := os.Stat(file + ".pub"); err != nil {
		ts.Check(ts.Exec("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "somebody@somewhere", "-f", file))
	}
	public, err := os.ReadFile(file + ".pub")
	ts.Check(err)
	body := map[string]any{"title": args[1], "key": string(public)}
	if len(args) == 3 {
		var more map[string]any
		ts.Check(json.Unmarshal([]byte(args[2]), &more))
		if in, ok := more["expires_in"].(float64); ok {
			delete(more, "expires_in")
			more["expires_at"] = time.Now().Add(time.Duration(in * float64(time.Second))).UTC().Format(time.RFC3339Nano)
		}
		maps.Copy(body, more)
	}
	text, err := json.Marshal(body)
	ts.Check(err)
	status, out := call(ts, ts.Getenv(args[0]), http.MethodPost, path, string(text))
	of(ts).last = out
	_, _ = fmt.Fprintf(ts.Stdout(), "%d %s\n", status, out)
	if failed := status >= http.StatusBadRequest; failed != neg {
		ts.Fatalf("add key: status %d: %s", status, out)
	}
}

func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: eventually COMMAND")
	}
	tick, late := time.NewTicker(200*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"))
		out, err := cmd.CombinedOutput()
		if (err != nil) == neg {
			_, _ = ts.Stdout().Write(out)
			return
		}
		select {
		case <-tick.C:
		case <-late:
			ts.Fatalf("%q still does the same: %v\n%s", args, err, out)
		}
	}
}
