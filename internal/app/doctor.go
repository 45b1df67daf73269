package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tenon/internal/base/config"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/secret"
	"tenon/internal/transport/admin"
)

// State is how a thing is that a server needs.
type State string

// The states: right, to be changed some day, and in the way of the server.
const (
	OK   State = "ok"
	Warn State = "warn"
	Fail State = "fail"
)

// Finding is what Doctor found about one thing.
type Finding struct {
	State  State  `json:"state"`
	Name   string `json:"name"`
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"` // what to do; "" where nothing is to be done
}

// doctor collects findings.
type doctor struct {
	config  *config.Config
	log     *slog.Logger
	build   Build
	running *Diagnosis // of the server that runs on the folder, nil for none
	found   []Finding
}

func (d *doctor) ok(name, format string, args ...any) {
	d.found = append(d.found, Finding{State: OK, Name: name, Text: fmt.Sprintf(format, args...)})
}

func (d *doctor) warn(name, advice, format string, args ...any) {
	d.found = append(d.found, Finding{State: Warn, Name: name, Text: fmt.Sprintf(format, args...), Advice: advice})
}

func (d *doctor) fail(name, advice, format string, args ...any) {
	d.found = append(d.found, Finding{State: Fail, Name: name, Text: fmt.Sprintf(format, args...), Advice: advice})
}

// Doctor looks at all that a server with the configuration c needs, whether it runs or not. It
// changes nothing.
func Doctor(ctx context.Context, c *config.Config, log *slog.Logger, build Build) []Finding {
	d := &doctor{config: c, log: log, build: build}
	there := d.folder()
	d.server(ctx)
	git := d.git(ctx)
	if git != nil {
		defer func() { _ = git.Close() }() // it keeps nothing open here
	}
	d.database(ctx, there, git)
	d.disk()
	d.ports(ctx)
	d.clock()
	d.external(ctx)
	d.mail(ctx)
	return d.found
}

// server asks the server that runs on the folder, if one does.
func (d *doctor) server(ctx context.Context) {
	var got Diagnosis
	err := admin.Call(ctx, filepath.Join(d.config.Data, "run"), AdminDoctor, struct{}{}, &got, func(string) {})
	switch {
	case errors.Is(err, admin.ErrNotRunning):
		d.ok("server", "none runs on the data folder")
	case err != nil:
		d.fail("server", "restart the server, or run this as its user", "it does not answer: %v", err)
	default:
		d.running = &got
		if got.Version != d.build.Version || got.Revision != d.build.Revision {
			d.warn("server", "restart the server to run this version", "process %d runs the version %s (%s), and this is %s (%s)",
				got.PID, got.Version, got.Revision, d.build.Version, d.build.Revision)
			return
		}
		d.ok("server", "process %d runs the version %s (%s)", got.PID, got.Version, got.Revision)
	}
}

// folder looks at the data folder and reports whether it is there.
func (d *doctor) folder() bool {
	const name = "data folder"
	path := d.config.Data
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.ok(name, "%s is not there yet; the first start makes it", path)
		return false
	case err != nil:
		d.fail(name, "name another one with --data", "%v", err)
		return false
	case !info.IsDir():
		d.fail(name, "name a folder with --data", "%s is no folder", path)
		return false
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() && os.Geteuid() != 0 {
		d.fail(name, fmt.Sprintf("run the server and this as the user %d, or chown -R the folder", stat.Uid), "%s belongs to the user %d, and this runs as %d", path, stat.Uid, os.Geteuid())
		return true
	}
	if err := unix.Access(path, unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
		d.fail(name, "give the user of the server the right to read and write it", "%s: %v", path, err)
		return true
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 {
		d.warn(name, "run chmod 700 "+path, "%s is open to other users (mode %04o)", path, mode)
	} else {
		d.ok(name, "%s can be read and written, by its user alone", path)
	}
	if _, err := secret.Load(path); err != nil && !errors.Is(err, secret.ErrNoKey) {
		d.fail("secret key", "", "%v", err)
	} else if err == nil {
		d.ok("secret key", "%s is there; keep a copy apart from the backups", filepath.Join(path, secret.KeyFile))
	}
	return true
}

// git looks for git, and returns it where it can be used.
func (d *doctor) git(ctx context.Context) *gitcmd.Git {
	g, err := gitcmd.New(ctx, gitcmd.Config{Root: filepath.Join(d.config.Data, "repositories"), Logger: d.log})
	if err != nil {
		d.fail("git", "", "%v", err)
		return nil
	}
	version, err := g.Version(ctx)
	if err != nil {
		d.fail("git", "install git "+gitcmd.MinVersion+" or newer", "%v", err)
		return nil
	}
	d.ok("git", "version %s", version)
	return g
}

// Room on the disk below which Doctor warns.
const (
	lowBytes = 1 << 30
	lowPart  = 20 // one in so many
)

// disk looks at the room on the disk of the data folder.
func (d *doctor) disk() {
	const name, advice = "disk", "make room: the server refuses writes on a full disk"
	path := d.config.Data
	for ; ; path = filepath.Dir(path) { // the folder may not be there yet
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			break
		}
	}
	room, err := roomOf(path)
	if err != nil {
		d.warn(name, "", "%s: %v", path, err)
		return
	}
	text := fmt.Sprintf("%s free of %s at %s", megabytes(room.Free), megabytes(room.Size), path)
	switch {
	case room.Free < fullBytes || room.Files > 0 && room.FreeFiles == 0:
		d.fail(name, advice, "%s, %d files free", text, room.FreeFiles)
	case room.Free < lowBytes || room.Free < room.Size/lowPart || room.Files > 0 && room.FreeFiles < room.Files/lowPart:
		d.warn(name, advice, "%s, %d files free", text, room.FreeFiles)
	default:
		d.ok(name, "%s", text)
	}
}

func megabytes(n uint64) string { return fmt.Sprintf("%d MB", n>>20) }

// clock looks at the clock of the machine.
func (d *doctor) clock() {
	const name = "clock"
	now := time.Now().UTC()
	if now.Year() < 2025 {
		d.fail(name, "set it: tokens and certificates depend on it", "it says %s", now.Format(time.RFC3339))
		return
	}
	var t unix.Timex // with no modes it only reads
	state, err := unix.Adjtimex(&t)
	if err == nil && state == unix.TIME_ERROR && t.Status&unix.STA_UNSYNC != 0 {
		d.warn(name, "run an NTP client on the machine (timedatectl set-ntp true)", "%s, and nothing keeps it right", now.Format(time.RFC3339))
		return
	}
	d.ok(name, "%s", now.Format(time.RFC3339))
}
