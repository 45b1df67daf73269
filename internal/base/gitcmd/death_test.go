package gitcmd_test

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gittest"
	"tenon/test/program"
)

// helperRoot names the folder of repositories to a test that is run as a server to be killed.
const helperRoot = "TENON_TEST_DOOMED_SERVER"

// A server that is killed takes its git processes along, those too that look at no pipe.
func TestGit_endsWithServer(t *testing.T) {
	t.Parallel()
	if root := os.Getenv(helperRoot); root != "" {
		doomed(t, root)
		return
	}
	script := "#!/bin/sh\n[ \"$1\" = version ] && exec echo git version 2.40.0\necho $$ >> \"${0%/*}/pids\"\nexec sleep 600\n"
	root := filepath.Dir(program.Write(t, "git", []byte(script)))
	server := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGit_endsWithServer$")
	server.Env = append(os.Environ(), helperRoot+"="+root)
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the server said %q, %v", line, err)
	}
	pids := gittest.Must[[]byte](t)(os.ReadFile(filepath.Join(root, "pids")))
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	for _, pid := range strings.Fields(string(pids)) {
		wait(t, func() bool {
			state, err := os.ReadFile("/proc/" + pid + "/stat")
			return errors.Is(err, fs.ErrNotExist) || strings.Contains(string(state), ") Z ")
		})
	}
}

// wait looks again and again until something is so.
func wait(t *testing.T, so func() bool) {
	t.Helper()
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for end := time.After(30 * time.Second); !so(); {
		select {
		case <-ticks.C:
		case <-end:
			t.Fatal("it did not come about")
		}
	}
}

// doomed starts processes that end with nothing but the server.
func doomed(t *testing.T, root string) {
	t.Helper()
	g, err := gitcmd.New(t.Context(), gitcmd.Config{Root: root, Binary: filepath.Join(root, "git")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "r.git"), 0o750); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		go func() { _ = g.Repo("r.git").Fsck(context.WithoutCancel(t.Context())) }()
	}
	wait(t, func() bool {
		pids, err := os.ReadFile(filepath.Join(root, "pids"))
		return err == nil && len(strings.Fields(string(pids))) == 3
	})
	_, _ = os.Stdout.WriteString("ready\n")
	select {} // until it is killed
}
