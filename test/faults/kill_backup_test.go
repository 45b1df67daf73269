package faults

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/test/servertest"
)

// TestKill_backup kills the commands that make and restore backups, and the server that
// makes one, at random moments: the backup before stays whole, and trying again succeeds.
func TestKill_backup(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		k := &killedBackup{world: newWorld(t, database), random: rand.New(rand.NewPCG(seed, 0)), file: filepath.Join(t.TempDir(), "b.tar.zst")}
		noise := make([]byte, 6<<20) // so that making it takes a while
		if _, err := crand.Read(noise); err != nil {
			t.Fatal(err)
		}
		if _, ok := k.upload(noise); !ok {
			return
		}
		k.create()
		k.killCreate()
		k.killServer()
		k.killRestore()
	})
}

// killedBackup is a world with a backup.
type killedBackup struct {
	*world
	random *rand.Rand
	file   string
	takes  time.Duration // making the backup
	before []byte        // the backup that is there
}

// kills is how often each thing is killed.
const kills = 2

// moment returns a context that ends at a random moment of something that takes so long.
func (k *killedBackup) moment(takes time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(k.t.Context(), time.Duration(k.random.Int64N(int64(takes))))
}

// create makes the backup. The server may still be ending one whose command was killed.
func (k *killedBackup) create() {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), time.Minute)
	defer cancel()
	for {
		began := time.Now()
		out, err := admin(ctx, k.t, k.s.Data, k.s.Database(), "backup", "create", "--with-secret-key", k.file)
		if err == nil {
			k.takes = time.Since(began)
			break
		}
		if !strings.Contains(out, "another backup is being made") {
			k.t.Fatalf("make the backup: %v\n%s", err, out)
		}
	}
	k.before = fileOf(k.t, k.file)
	if left := k.partials(); len(left) > 0 {
		k.t.Errorf("besides the backup there is %v", left)
	}
}

func (k *killedBackup) partials() []string {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(k.file), ".*.partial"))
	if err != nil {
		k.t.Fatal(err)
	}
	return left
}

// kept fails unless the file is the backup before; or the new one, whole, where the command
// was killed after it had named it.
func (k *killedBackup) kept() {
	k.t.Helper()
	if bytes.Equal(fileOf(k.t, k.file), k.before) {
		return
	}
	if left := k.partials(); len(left) > 0 {
		k.t.Fatalf("the backup has changed while %v is there", left)
	}
	adminDone(k.t, k.s.Data, "", "backup", "verify", k.file)
}

func (k *killedBackup) killCreate() {
	k.t.Helper()
	for range kills {
		ctx, cancel := k.moment(k.takes * 2 / 3)
		_, err := admin(ctx, k.t, k.s.Data, k.s.Database(), "backup", "create", "--with-secret-key", k.file)
		cancel()
		k.t.Logf("create: %v, partial files %d", err, len(k.partials()))
		k.kept()
		k.want(200, k.ann, "GET", "/user", "")
		k.create()
	}
}

func (k *killedBackup) killServer() {
	k.t.Helper()
	for range kills {
		type ended struct {
			out string
			err error
		}
		end, gone := make(chan ended, 1), make(chan struct{})
		limit, stop := context.WithTimeout(k.t.Context(), time.Minute)
		go func() {
			out, err := admin(limit, k.t, k.s.Data, k.s.Database(), "backup", "create", "--with-secret-key", k.file)
			end <- ended{out, err}
			close(gone)
		}()
		k.await(gone)
		ctx, cancel := k.moment(k.takes / 4)
		<-ctx.Done()
		cancel()
		k.s.Kill()
		got := <-end
		hung := limit.Err() != nil
		stop()
		k.t.Logf("create without the server: %v %s", got.err, got.out)
		if hung {
			k.t.Fatalf("the command goes on without the server: %s", got.out)
		}
		if got.err != nil && (!strings.Contains(got.out, "the server ended before it answered") || len(k.partials()) > 0) {
			k.t.Errorf("the command says %q and leaves %v, want that the server is gone", got.out, k.partials())
		}
		k.kept()
		k.s.Restart()
		k.moved()
		k.want(200, k.ann, "GET", "/user", "")
		k.create()
	}
}

// await waits until a backup is being made, or its command is gone.
func (k *killedBackup) await(gone chan struct{}) {
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	for len(k.partials()) == 0 {
		select {
		case <-ticks.C:
		case <-gone:
			return
		}
	}
}

func (k *killedBackup) killRestore() {
	k.t.Helper()
	restore := func(ctx context.Context, data, database string) (string, error) {
		return admin(ctx, k.t, data, database, "backup", "restore", k.file)
	}
	whole := another(k.t, k.s.Database())
	began := time.Now()
	adminDone(k.t, filepath.Join(k.t.TempDir(), "whole"), whole, "backup", "restore", k.file)
	takes := time.Since(began)
	for range kills {
		data, database := filepath.Join(k.t.TempDir(), "data"), another(k.t, k.s.Database())
		ctx, cancel := k.moment(takes * 2 / 3)
		out, err := restore(ctx, data, database)
		cancel()
		switch left := k.left(data); {
		case len(left) == 0: // nothing was written
		case left["restoring"]:
			k.refused(data, database)
		default: // it was killed when all was done
			adminDone(k.t, data, database, "check", "--fsck")
			continue
		}
		k.t.Logf("restore: %v %s, in the folder: %d", err, out, len(k.left(data)))
		again, stop := context.WithTimeout(k.t.Context(), time.Minute)
		out, err = restore(again, data, database)
		if err != nil && database != "" && strings.Contains(out, "restore into a new one") {
			database = another(k.t, database)
			out, err = restore(again, data, database)
		}
		stop()
		if err != nil {
			k.t.Fatalf("restore again: %v\n%s", err, out)
		}
		adminDone(k.t, data, database, "check", "--fsck")
	}
}

// left names what a folder has, but for the lock.
func (k *killedBackup) left(data string) map[string]bool {
	entries, err := os.ReadDir(data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.t.Fatal(err)
	}
	out := map[string]bool{}
	for _, e := range entries {
		if e.Name() != "lock" {
			out[e.Name()] = true
		}
	}
	return out
}

// refused starts a server on a folder that is half restored.
func (k *killedBackup) refused(data, database string) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), time.Minute)
	defer cancel()
	args := []string{"serve", "--data", data, "--http", "127.0.0.1:0", "--ssh", "off"}
	if database != "" {
		args = append(args, "--database", database)
	}
	out, err := exec.CommandContext(ctx, servertest.Binary(k.t), args...).CombinedOutput()
	if err == nil || ctx.Err() != nil || !strings.Contains(string(out), "restore") {
		k.t.Fatalf("a server on a half-restored folder: %v\n%s", err, out)
	}
}
