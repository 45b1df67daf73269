// Package app builds the server by hand, top to bottom, and runs it.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/config"
	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/instance"
	"tenon/internal/base/job"
	"tenon/internal/base/metrics"
	"tenon/internal/base/secret"
	"tenon/internal/base/spool"
	"tenon/internal/base/tracing"
	"tenon/internal/core"
	"tenon/internal/transport/admin"
	"tenon/internal/transport/gitssh"
	"tenon/migrations"
)

// Build says which program this is.
type Build struct {
	Version  string // of Tenon
	Revision string // short commit, "unknown" where it was not built from a checkout

	Subjects   []core.Subject // that it has beside those of the product
	Migrations fs.FS          // of its schema; nil where that is the product's
}

// App is one server with everything it is made of.
type App struct {
	config  *config.Config
	build   Build
	log     *slog.Logger
	now     func() time.Time
	baseURL string // external URL without a trailing slash
	brief   bool   // its data is gone with it, see Dev

	id       string          // of the instance
	self     instance.Server // this process
	held     *instance.Hold  // keeps other servers off the database
	listener net.Listener
	sshAt    net.Listener // nil where git over SSH is off
	db       *db.DB
	git      *gitcmd.Git
	archives *spool.Cache
	objects  *blob.Store
	packs    *spool.Cache
	box      *secret.Box
	bus      *event.Bus
	jobs     *job.Queue
	metrics  *metrics.Registry
	tracer   *tracing.Tracer // nil where no traces are wanted
	core     *core.Services

	http *http.Server
	ssh  *gitssh.Server // nil where it is off
	idle idleness

	hashed bool // the first administrator's password was hashed, which took 19 MiB

	serving   atomic.Bool // Run has begun
	backingUp sync.Mutex  // held while a backup is made

	closers []func(ctx context.Context) error // in the order in which things were opened
}

// New builds a server: the database is migrated and the first administrator exists when
// it returns. Close what it returns, also after Run.
func New(ctx context.Context, c *config.Config, log *slog.Logger, build Build) (*App, error) {
	a := &App{config: c, build: build, log: log, now: time.Now}
	if err := a.assemble(ctx); err != nil {
		return nil, a.startError(errors.Join(err, a.Close(context.WithoutCancel(ctx))))
	}
	return a, nil
}

// assemble builds everything in the order in which one thing needs another.
func (a *App) assemble(ctx context.Context) error {
	if err := a.listen(ctx); err != nil {
		return err
	}
	if err := a.claim(ctx); err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	if err := a.services(ctx); err != nil {
		return err
	}
	if err := a.firstStart(ctx); err != nil {
		return err
	}
	return a.transports()
}

// listen takes the address first, so that a port in use is reported before anything is
// touched, and so that the external URL is known.
func (a *App) listen(ctx context.Context) error {
	var err error
	if a.listener, err = a.listenOn(ctx, a.config.HTTP); err != nil {
		return fmt.Errorf("%w (choose another address with --http)", err)
	}
	a.baseURL = "http://" + a.listener.Addr().String()
	if a.config.ExternalURL != nil {
		a.baseURL = a.config.ExternalURL.String()
	}
	if a.config.SSH == "" {
		return nil
	}
	if a.sshAt, err = a.listenOn(ctx, a.config.SSH); err != nil {
		return fmt.Errorf("%w (choose another address with --ssh, or off)", err)
	}
	return nil
}

func (a *App) listenOn(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	a.closing(func(context.Context) error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	return l, nil
}

// open prepares the data folder, the key, the database and git.
func (a *App) open(ctx context.Context) error {
	var err error
	if a.db, err = db.Open(ctx, db.Config{URL: a.config.Database, Logger: a.log, NoSync: a.brief}); err != nil {
		return err
	}
	a.closing(func(context.Context) error { return a.db.Close() })
	if err := a.hold(ctx); err != nil {
		return err
	}
	if err := a.loadKey(ctx); err != nil {
		return err
	}
	// Migrations are made again where a crash loses them.
	if err := a.db.Loosely(ctx, func() error { return a.migrate(ctx) }); err != nil {
		return err
	}
	if a.id, err = instance.Join(ctx, a.db, a.config.Data, a.self); err != nil {
		return err
	}
	return a.openFiles(ctx)
}

// openFiles opens everything of the data folder but the key and the database.
func (a *App) openFiles(ctx context.Context) error {
	root := filepath.Join(a.config.Data, "repositories")
	err := os.MkdirAll(root, 0o700)
	if err != nil {
		return fmt.Errorf("make data folder: %w (choose another one with --data)", err)
	}
	if a.git, err = gitcmd.New(ctx, gitcmd.Config{Root: root, Logger: a.log}); err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	a.closing(func(context.Context) error { return a.git.Close() })
	if a.archives, err = spool.New(spool.Config{
		Dir: filepath.Join(a.config.Data, "cache", "archives"), Bytes: 2 << 30,
		OnError: func(err error) { a.log.Warn("archives", "error", err) },
	}); err != nil {
		return fmt.Errorf("open archives: %w", err)
	}
	a.closing(func(context.Context) error { return a.archives.Close() })
	if a.objects, err = blob.Open(filepath.Join(a.config.Data, "objects")); err != nil {
		return err
	}
	if a.packs, err = spool.New(spool.Config{
		Dir: filepath.Join(a.config.Data, "cache", "packs"), Bytes: int64(a.config.Git.PackCache) << 20,
		Makers: 1 << 10, Fresh: true, // whose turn it is is decided elsewhere
		OnError: func(err error) { a.log.Warn("packs", "error", err) },
	}); err != nil {
		return fmt.Errorf("open packs: %w", err)
	}
	a.closing(func(context.Context) error { return a.packs.Close() })
	a.metrics = metrics.New(metrics.Build{Version: a.build.Version, Revision: a.build.Revision, Go: runtime.Version()})
	if a.tracer, err = tracing.Start(ctx, tracing.Config{Endpoint: a.config.OTLP, Version: a.build.Version, Instance: a.id, Log: a.log}); err != nil {
		return err
	}
	a.closing(func(ctx context.Context) error {
		if err := a.tracer.Close(ctx); err != nil {
			a.log.Warn("traces", "error", err) // a collector that is away does not keep the server from ending well
		}
		return nil
	})
	return a.measure()
}

func (a *App) migrate(ctx context.Context) error {
	var steps fs.FS = migrations.FS
	if a.build.Migrations != nil {
		steps = a.build.Migrations
	}
	if _, err := a.db.Pending(ctx, steps); err != nil {
		return fmt.Errorf("migrate database: %w", err)
	}
	// The queue's migrations cannot be part of one transaction, and older programs work
	// with newer tables of the queue. So these come first: what fails leaves a database
	// that the older program opens.
	if err := job.Migrate(ctx, a.db); err != nil {
		return fmt.Errorf("%w (an existing database still works with the program that was used last)", err)
	}
	if err := a.db.Migrate(ctx, steps); err != nil {
		return fmt.Errorf("migrate database: %w", err)
	}
	return a.db.IndexTrigrams(ctx, core.Described(a.build.Subjects...).Texts())
}

// Run serves until ctx ends, then lets requests and jobs finish for at most 30 seconds.
// ready is told the address once requests are answered.
func (a *App) Run(ctx context.Context, ready func(url string)) (err error) {
	a.serving.Store(true)
	commands, err := admin.Listen(filepath.Join(a.config.Data, "run"), a.adminCommands(), a.adminStreams(), a.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, commands.Close()) }()
	if err := a.objects.Sweep(); err != nil {
		return err
	}
	if err := a.settleBefore(ctx, time.Time{}); err != nil {
		return err
	}
	if err := a.jobs.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start jobs: %w", err)
	}
	a.core.Start()
	failed := make(chan error, 5)
	watching, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	var watched sync.WaitGroup
	watched.Go(func() { // ends below, when nothing is served any more
		if err := a.held.Watch(watching); err != nil {
			failed <- err
		}
	})
	defer func() { unwatch(); watched.Wait() }()
	// The loops end when their listener is closed below, the watch with ctx.
	go func() { failed <- a.http.Serve(a.listener) }()
	go func() { failed <- commands.Serve(context.WithoutCancel(ctx)) }()
	if a.ssh != nil {
		go func() { failed <- a.ssh.Serve(db.LimitReads(context.WithoutCancel(ctx), readTime, 0), a.sshAt) }()
	}
	if a.hashed {
		debug.FreeOSMemory()
	}
	a.log.Info("started", "version", a.build.Version, "revision", a.build.Revision, "instance", a.id, "folder", a.config.Data,
		"database", a.db.Place(), "http", a.listener.Addr().String(), "ssh", cmp.Or(a.SSHAddress(), "off"), "external_url", a.baseURL)
	ready("http://" + a.listener.Addr().String())
	go a.idle.watch(ctx, a.trim)
	watched.Go(func() { a.tellMissing(watching) })
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	return errors.Join(err, a.drain(context.WithoutCancel(ctx)))
}

// SSHAddress is the address that git over SSH is served on, "" where it is off.
func (a *App) SSHAddress() string {
	if a.sshAt == nil {
		return ""
	}
	return a.sshAt.Addr().String()
}

// grace is how long requests and jobs may take to finish.
const grace = 30 * time.Second

func (a *App) drain(ctx context.Context) error {
	patience := grace
	if a.brief {
		patience = devGrace
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a.log.Info("stopping")
	var wg sync.WaitGroup
	if a.ssh != nil {
		wg.Go(func() { a.ssh.Shutdown(ctx) })
	}
	err := a.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = a.http.Close()
	}
	wg.Wait()
	return errors.Join(err, a.jobs.Stop(ctx), a.core.Stop(ctx))
}

// Close releases everything, the last opened first.
func (a *App) Close(ctx context.Context) error {
	var all []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		all = append(all, a.closers[i](ctx))
	}
	a.closers = nil
	return errors.Join(all...)
}

func (a *App) closing(fn func(ctx context.Context) error) { a.closers = append(a.closers, fn) }
