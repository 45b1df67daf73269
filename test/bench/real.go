package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// push makes a project of a real repository, of its default branch and its tags, and
// gives the world around it. The repository itself is only read.
func (w *world) push(ctx context.Context, from, source string) (*world, error) {
	began := time.Now()
	if _, err := git(ctx, ".", "clone", "-q", "--bare", "--single-branch", from, source); err != nil {
		return nil, err
	}
	head, err := git(ctx, source, "symbolic-ref", "--short", "HEAD")
	if err != nil {
		return nil, err
	}
	branch := strings.TrimSpace(head)
	out := &world{size: w.size, url: w.url, tokens: w.tokens, users: w.users, source: source, real: true}
	made, err := newAPI(w.url, rootToken).post(ctx, "/projects", map[string]any{"name": "Real", "path": "real", "visibility": "private", "default_branch": branch})
	if err != nil {
		return nil, err
	}
	for i := range 8 {
		if _, err := newAPI(w.url, rootToken).post(ctx, fmt.Sprintf("/projects/%d/members", made.ID), map[string]any{"user_id": w.users[i], "access_level": 40}); err != nil {
			return nil, err
		}
	}
	out.branch = branch
	out.id, out.project, out.clone = made.ID, fmt.Sprintf("/projects/%d", made.ID), w.url+"/root/real.git"
	to, err := signedOn(out.clone, w.tokens[0])
	if err != nil {
		return nil, err
	}
	if _, err := git(ctx, source, "push", "-q", to, branch, "refs/tags/*:refs/tags/*"); err != nil {
		return nil, err
	}
	if err := makePushes(ctx, source, branch); err != nil {
		return nil, err
	}
	count, err := git(ctx, source, "rev-list", "--count", branch)
	if err != nil {
		return nil, err
	}
	if out.commits, err = strconv.Atoi(strings.TrimSpace(count)); err != nil {
		return nil, err
	}
	list, err := git(ctx, source, "rev-list", "--max-count=200", branch)
	out.shas = strings.Fields(list)
	out.archived = out.shas[:min(50, len(out.shas))]
	fmt.Fprintf(os.Stderr, "  %-16s %6d in %6.2f s\n", "real commits", out.commits, time.Since(began).Seconds())
	return out, err
}

// packed waits until housekeeping has packed the repository that was pushed, with a bitmap,
// which comes after the commit graph. A large one takes a minute.
func (w *world) packed(ctx context.Context, s *server) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	for {
		bitmaps, err := filepath.Glob(filepath.Join(w.onDisk(s.data), "objects", "pack", "*.bitmap"))
		if err != nil {
			return err
		}
		if len(bitmaps) > 0 {
			return s.quiet(ctx)
		}
		if err := wait(ctx, time.Second); err != nil {
			return fmt.Errorf("the repository is not packed: %w", err)
		}
	}
}

// makePushes adds the commits that the measurement of pushing sends, one file each.
func makePushes(ctx context.Context, source, branch string) error {
	cmd := exec.CommandContext(ctx, "git", "fast-import", "--quiet")
	cmd.Dir, cmd.Env, cmd.Stderr = source, plainGit(), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	h := &history{out: bufio.NewWriter(in), random: rand.New(rand.NewPCG(3, 4)), when: 100_000_000}
	for i := range pushes {
		h.commit("push", fromFirst(i, "refs/heads/"+branch))
		h.file("pushed.txt", h.lines(2000))
	}
	if err := h.out.Flush(); err != nil {
		return err
	}
	if err := in.Close(); err != nil {
		return err
	}
	return cmd.Wait()
}

// readsOfReal are the operations on a real repository.
func (w *world) readsOfReal(ctx context.Context, o options) ([]operation, error) {
	list, err := git(ctx, w.source, "ls-tree", "-r", "-l", "HEAD")
	if err != nil {
		return nil, err
	}
	var files []string // of about 10 kB
	folders := map[string]int{}
	for line := range strings.Lines(list) {
		meta, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		fields := strings.Fields(meta)
		if len(fields) < 4 || strings.HasPrefix(name, `"`) {
			continue
		}
		folders[path.Dir(name)]++
		if size, err := strconv.Atoi(fields[3]); err == nil && size > 8_000 && size < 12_000 {
			files = append(files, name)
		}
	}
	largest := "."
	for folder, n := range folders {
		if n > folders[largest] {
			largest = folder
		}
	}
	if len(files) == 0 || len(w.shas) < 30 {
		return nil, fmt.Errorf("%s is too small", o.repo)
	}
	warm := goal{rate: 2500, p99: 5 * time.Millisecond, noGit: true}
	at := func(format string, args ...any) string { return w.project + fmt.Sprintf(format, args...) }
	return []operation{
		w.read("tree, page of 100", warm, rows(min(100, folders[largest])), func(int) string {
			return at("/repository/tree?per_page=100&path=%s", url.QueryEscape(largest))
		}),
		w.read("raw file, 10 kB", warm, nil, func(i int) string {
			return at("/repository/files/%s/raw", url.PathEscape(files[i%len(files)]))
		}),
		w.read("get one commit", warm, nil, func(i int) string { return at("/repository/commits/%s", w.shas[i%len(w.shas)]) }),
		w.read("get one branch", warm, nil, func(int) string { return at("/repository/branches/%s", url.PathEscape(w.branch)) }),
		w.read("compare, 10 commits", goal{rate: 800, noGit: true}, nil, func(int) string {
			return at("/repository/compare?from=%s&to=%s", w.shas[10], w.shas[0])
		}),
		w.read("commits, page of 20", goal{}, rows(20), func(int) string { return at("/repository/commits?per_page=20") }),
		w.read("commits of a path, page of 20", goal{rate: 300}, nil, func(i int) string {
			return at("/repository/commits?per_page=20&path=%s", url.QueryEscape(files[i%min(10, len(files))]))
		}),
		w.read("archive tar.gz, again", goal{rate: 100}, nil, func(int) string { return at("/repository/archive.tar.gz?sha=%s", w.archived[0]) }),
	}, nil
}
