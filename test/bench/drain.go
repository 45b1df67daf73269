package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// drain reads the answer to a clone and throws it away: what is left without the client's
// own work, which is nearly all of a clone.
func (t *transport) drain(ctx context.Context, from string, _ int) error {
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	size, err := drainClone(ctx, client, from)
	if err == nil && size < 1<<20 {
		err = fmt.Errorf("a clone of %d bytes", size)
	}
	return err
}

// indexing measures that work: git index-pack alone, from a file, as git clone runs it.
func (t *transport) indexing(ctx context.Context, rounds int) (all time.Duration, size int64, err error) {
	folder := filepath.Join(t.folder, "indexed.git")
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if _, err := git(ctx, t.folder, "clone", "-q", "--bare", t.ours, folder); err != nil {
		return 0, 0, err
	}
	packs, err := filepath.Glob(filepath.Join(folder, "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		return 0, 0, errors.Join(err, fmt.Errorf("a clone has the packs %q, want one", packs))
	}
	var took []time.Duration
	for round := range rounds + 1 {
		once, n, err := t.index(ctx, packs[0])
		if err != nil {
			return 0, 0, err
		}
		if size = n; round > 0 { // the first one warms up
			took = append(took, once)
		}
	}
	return median(took), size, nil
}

// index has a pack indexed in an empty repository.
func (t *transport) index(ctx context.Context, pack string) (took time.Duration, size int64, err error) {
	in, err := os.Open(pack)
	if err != nil {
		return 0, 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return 0, 0, err
	}
	to := filepath.Join(t.folder, "empty.git")
	defer func() { err = errors.Join(err, os.RemoveAll(to)) }()
	if _, err := git(ctx, t.folder, "init", "-q", "--bare", to); err != nil {
		return 0, 0, err
	}
	cmd := exec.CommandContext(ctx, "git", "index-pack", "--stdin", "--fix-thin", "--check-self-contained-and-connected")
	cmd.Dir, cmd.Env, cmd.Stdin = to, plainGit(), in
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("git index-pack: %w: %s", err, out)
	}
	return time.Since(began), info.Size(), nil
}
