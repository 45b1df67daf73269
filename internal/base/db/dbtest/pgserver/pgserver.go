// Package pgserver starts a private PostgreSQL cluster for tests. It listens on a
// unix socket in its own folder only, keeps nothing on disk for long, and ends with
// the process that started it, however that ends.
package pgserver

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ErrMissing says that PostgreSQL is not installed here.
var ErrMissing = errors.New("initdb was found neither in PATH nor in /usr/lib/postgresql")

// Server is a running cluster. Keep a reference to it: the cluster ends when the
// garbage collector takes it.
type Server struct {
	URL   string // of the database postgres, as its superuser
	dir   string
	hold  io.Closer
	guard *exec.Cmd
}

// script makes the cluster, says ready, and takes all of it away again when its
// input ends: with Stop, or with the process that holds the other end. Statements are planned
// once for a connection rather than at each of its first five executions: few run more often in a test.
const script = `
"$2/initdb" -D "$1/data" -U tenon --auth=trust --no-sync --locale=C -E UTF8 >"$1/log" 2>&1 &&
"$2/pg_ctl" -D "$1/data" -w -l "$1/log" -o "-c listen_addresses= -c unix_socket_directories='$1' -c fsync=off \
	-c synchronous_commit=off -c full_page_writes=off -c max_connections=200 -c shared_buffers=64MB -c autovacuum=off \
	-c plan_cache_mode=force_generic_plan" \
	start >/dev/null && echo ready || { echo failed; tail -3 "$1/log"; }
exec >/dev/null
read -r _
"$2/pg_ctl" -D "$1/data" -m immediate stop >/dev/null 2>&1
rm -rf "$1"
`

// Start makes and starts a cluster, which takes about a second. As root it runs as
// the user postgres or nobody, because PostgreSQL refuses to run as root.
func Start() (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(cmp.Or(Scratch(), "/tmp"), "tenon-pg-") // short: it becomes a socket's path
	if err != nil {
		return nil, err
	}
	guard := exec.CommandContext(context.Background(), "/bin/sh", "-c", script, "sh", dir, bin)
	guard.Dir = dir
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the tests
	if os.Geteuid() == 0 {
		cred, err := unprivileged()
		if err != nil {
			return nil, err
		}
		guard.SysProcAttr.Credential = cred
		if err := os.Chown(dir, int(cred.Uid), int(cred.Gid)); err != nil {
			return nil, err
		}
	}
	hold, err := guard.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := guard.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := guard.Start(); err != nil {
		return nil, err
	}
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); line != "ready\n" {
		why, _ := io.ReadAll(said)
		_ = hold.Close()
		_ = guard.Wait()
		if err != nil {
			return nil, fmt.Errorf("start PostgreSQL: %w", err)
		}
		return nil, fmt.Errorf("start PostgreSQL: %s", strings.TrimSpace(string(why)))
	}
	address := url.URL{Scheme: "postgres", Path: "/postgres", RawQuery: url.Values{"host": {dir}, "user": {"tenon"}}.Encode()}
	return &Server{URL: address.String(), dir: dir, hold: hold, guard: guard}, nil
}

// Scratch is the folder for the many small files of tests: shared memory, where it has 4 GB of
// room and programs may run, else "". Most of the time of a test with a database goes into making
// and removing its thousand files, which takes a fifth there.
func Scratch() string {
	const shm, room, noExec = "/dev/shm", 4 << 30, 8
	var fs syscall.Statfs_t
	if err := syscall.Statfs(shm, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < room || fs.Flags&noExec != 0 {
		return ""
	}
	return shm
}

// Restart stops the cluster as "pg_ctl stop -m mode" does (fast, immediate), which ends all connections, and starts it
// again with the same address and data.
func (s *Server) Restart(ctx context.Context, mode string) error {
	bin, err := binaries()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "pg_ctl"), "-D", filepath.Join(s.dir, "data"), "-w", "-m", mode, "-l", filepath.Join(s.dir, "log"), "restart")
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.guard.SysProcAttr.Credential}
	if err := cmd.Run(); err != nil { // without its output, which the new server would hold open
		return fmt.Errorf("restart PostgreSQL: %w", err)
	}
	return nil
}

// Stop ends the cluster and removes its folder.
func (s *Server) Stop() error {
	_ = s.hold.Close()
	return s.guard.Wait()
}

// binaries finds the folder of initdb and pg_ctl: in PATH, else Debian's newest.
func binaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	best, newest := "", -1.0
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	for _, path := range found {
		bin := filepath.Dir(path)
		if v, err := strconv.ParseFloat(filepath.Base(filepath.Dir(bin)), 64); err == nil && v > newest {
			best, newest = bin, v
		}
	}
	if best == "" {
		return "", ErrMissing
	}
	return best, nil
}

func unprivileged() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
