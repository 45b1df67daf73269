package gitcmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/lru"
)

// Config says how git is run. The zero value of every field but Root has a default.
type Config struct {
	Root         string        // folder of all repositories, absolute
	MaxProcesses int           // short commands at a time; default 16
	MaxServices  int           // processes of each kind of long work at a time, see load; default 64
	KeptOpen     int           // processes kept open for reading, in all; default 32
	IdleAfter    time.Duration // a kept-open process closes after this long without a request; default 60 s
	CacheBytes   int           // for commits, trees, small blobs and results, in all, and as much for packed references; default 16 MiB
	Binary       string        // default "git", looked up in PATH
	Logger       *slog.Logger  // default discards
}

// Git runs git for every repository below one folder. It is safe for concurrent
// use. Close ends what it keeps open.
type Git struct {
	config  Config
	env     []string
	pool    *pool
	permits [loads]chan struct{}
	objects *lru.Cache // commits, trees, tags, object headers
	blobs   *lru.Cache // contents of small blobs
	results *lru.Cache // walks, merge bases, diffs
	store   *gitstore.Store
	started atomic.Int64
	running atomic.Int64
	tending [64]chan struct{} // see Repo.tend; repositories may share one
}

// maxSearches is how many searches of repositories run at a time.
const maxSearches = 4

// MinVersion is the oldest version of git that New takes.
const MinVersion = "2.39"

// New checks that git is there and new enough, see [MinVersion], and prepares its environment.
func New(ctx context.Context, c Config) (*Git, error) {
	if !filepath.IsAbs(c.Root) {
		return nil, fmt.Errorf("git root %q: want an absolute path", c.Root)
	}
	c.MaxProcesses = orDefault(c.MaxProcesses, 16)
	c.MaxServices = orDefault(c.MaxServices, 64)
	c.KeptOpen = orDefault(c.KeptOpen, 32)
	c.CacheBytes = orDefault(c.CacheBytes, 16<<20)
	c.IdleAfter = orDefault(c.IdleAfter, time.Minute)
	c.Binary = orDefault(c.Binary, "git")
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	path, err := exec.LookPath(c.Binary)
	if err != nil {
		return nil, fmt.Errorf("git is not there: %w (install git %s or newer, and have it in PATH)", err, MinVersion)
	}
	if c.Binary, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("look for git: %w", err)
	}
	c.Root = filepath.Clean(c.Root)
	g := &Git{
		config:  c,
		env:     environment(),
		objects: lru.New(c.CacheBytes / 2),
		blobs:   lru.New(c.CacheBytes / 4),
		results: lru.New(c.CacheBytes / 4),
		store:   gitstore.New(c.Root, c.CacheBytes, c.Logger),
	}
	for l := range g.permits {
		g.permits[l] = make(chan struct{}, c.MaxServices)
	}
	g.permits[brief] = make(chan struct{}, c.MaxProcesses)
	g.permits[searching] = make(chan struct{}, maxSearches)
	for i := range g.tending {
		g.tending[i] = make(chan struct{}, 1)
	}
	g.pool = newPool(g)
	if err := g.checkVersion(ctx); err != nil {
		return nil, err
	}
	return g, nil
}

func orDefault[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// Version returns git's own version, such as "2.39.5".
func (g *Git) Version(ctx context.Context) (string, error) {
	out, err := g.output(ctx, call{anywhere: true, args: []string{"version"}}, 1<<10)
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(out))
	if len(fields) < 3 {
		return "", fmt.Errorf("git version: unexpected answer %q", clip(string(out)))
	}
	return fields[2], nil
}

func (g *Git) checkVersion(ctx context.Context) error {
	version, err := g.Version(ctx)
	if err != nil {
		return err
	}
	if !atLeast(version, MinVersion) {
		return fmt.Errorf("%s is git %s, which is too old: install git %s or newer", g.config.Binary, version, MinVersion)
	}
	return nil
}

// atLeast compares the first two numbers of versions. What is not a version is too old.
func atLeast(version, least string) bool {
	have, ok := numbers(version)
	want, _ := numbers(least)
	return ok && slices.Compare(have, want) >= 0
}

// numbers returns the first two numbers of a version.
func numbers(version string) ([]int, bool) {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return nil, false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return []int{major, minor}, err1 == nil && err2 == nil
}

// Caches returns the figures of the caches, by their names.
func (g *Git) Caches() map[string]lru.Stats {
	return map[string]lru.Stats{
		"git_objects": g.objects.Stats(), "git_blobs": g.blobs.Stats(), "git_results": g.results.Stats(), "git_refs": g.store.Stats(),
	}
}

// Started counts the processes started so far, kept-open ones included.
func (g *Git) Started() int64 { return g.started.Load() }

// Running returns the number of processes that run now.
func (g *Git) Running() int64 { return g.running.Load() }

// Trim empties the caches and ends the kept-open processes that are not in use.
func (g *Git) Trim() {
	g.objects.Clear()
	g.blobs.Clear()
	g.results.Clear()
	g.store.Trim()
	g.pool.closeIdle(func(laneKey, *worker) bool { return true })
}

// Close ends the kept-open processes and waits for them. Reads that need one fail
// with ErrClosed from then on; processes of running calls end with their context.
func (g *Git) Close() error {
	g.pool.close()
	return nil
}

// environment is all that a git process sees: no user or system configuration, no
// prompt, no hooks, and durable writes.
func environment() []string {
	env := []string{
		"HOME=/nonexistent", "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_LITERAL_PATHSPECS=1", "GIT_PROTOCOL_FROM_USER=0", "GIT_ASKPASS=", "SSH_ASKPASS=",
	}
	for _, name := range []string{"PATH", "TMPDIR", "LD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	settings := [][2]string{
		{"safe.directory", "*"},
		{"core.fsync", "committed,reference"},
		{"core.fsyncMethod", "fsync"},
		{"core.hooksPath", os.DevNull},
		{"core.quotePath", "true"},
		{"core.logAllRefUpdates", "false"},
		{"core.filesRefLockTimeout", "3000"},
		{"core.packedRefsTimeout", "5000"},
		{"core.alternateRefsCommand", "exit 0 #"},
		{"core.bigFileThreshold", "50m"}, // larger files are never held whole in memory
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"receive.autogc", "false"},
		{"receive.fsckObjects", "true"},
		{"transfer.fsckObjects", "true"},
		{"protocol.allow", "never"},
		{"http.followRedirects", "false"},
		{"submodule.recurse", "false"},
		{"advice.detachedHead", "false"},
		{"init.defaultBranch", "main"},
		{"pack.threads", "2"},
		{"user.useConfigOnly", "true"},
	}
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, kv := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, kv[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, kv[1]))
	}
	return env
}

// call is one git process: args are fixed words, typed names, or values joined to
// their flag with "=".
type call struct {
	repo     *Repo // nil outside any repository
	anywhere bool  // it needs no folder of repositories
	config   []string
	args     []string
	env      []string
	stdin    io.Reader
	stdout   io.Writer
	stderr   io.Writer // besides the kept tail
	load     load      // what it counts against
}
