package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/mail"
	"tenon/internal/base/secret"
	"tenon/internal/core"
	"tenon/internal/core/importexport"
	"tenon/internal/core/notify"
	"tenon/internal/core/repo"
)

// services builds the product: what answers calls, reacts to events and does jobs.
func (a *App) services(ctx context.Context) error {
	a.bus = &event.Bus{}
	var err error
	a.core, err = core.New(core.Deps{
		DB: a.db, Git: a.git, Bus: a.bus, Objects: a.objects, Archives: a.archives, Packs: a.packs, Box: a.box, Hasher: a.hasher(), Log: a.log, Now: a.now,
		// The queue is made later, because it runs what the services do.
		Jobs: job.EnqueuerFunc(func(ctx context.Context, args job.Args, options ...job.Option) error {
			return a.jobs.Enqueue(ctx, args, options...)
		}),
		Queues:  queues{a},
		BaseURL: a.baseURL, SSH: a.sshAddress(), Revision: a.build.Revision,
		Fetches:   repo.FetchLimits{Running: a.config.Git.Fetches, PerAddress: a.config.Git.FetchesPerAddress},
		Scratch:   filepath.Join(a.config.Data, "scratch"),
		MaxImport: int64(a.config.Git.ImportSize) << 20,
		Remote:    importexport.RemoteImports{NoURL: a.config.Features.NoRemoteImport, NoS3: a.config.Features.NoRemoteImportS3, Buckets: a.config.Features.S3},
		NoDebian:  a.config.Features.NoDebian, SigningKeyBits: a.signingKeyBits(),
		RateLimits: a.config.RateLimits, Refused: a.metrics.Limited, Mail: a.mail(),
	}, a.build.Subjects...)
	if err != nil {
		return fmt.Errorf("build services: %w", err)
	}
	if err := errors.Join(
		a.metrics.Counter("tenon_git_fetch_requests_total", "Requests of git clients that fetch.",
			func() uint64 { n, _ := a.core.Repos.FetchCounts(); return n }),
		a.metrics.Counter("tenon_git_fetch_runs_total", "Of those, the ones that git worked on; the others had the same answer.",
			func() uint64 { _, n := a.core.Repos.FetchCounts(); return n }),
	); err != nil {
		return fmt.Errorf("count fetches: %w", err)
	}
	a.core.Subscribe(a.bus)
	if err := a.work(); err != nil {
		return err
	}
	return a.core.Open(ctx)
}

// queues are the queues of jobs, which are made later than the services.
type queues struct{ app *App }

// Figures returns how the queues do.
func (q queues) Figures(ctx context.Context, now time.Time) (*job.Figures, error) {
	return q.app.jobs.Figures(ctx, now)
}

// hasher makes the hashes of passwords; those of a brief instance are not worth a guess.
func (a *App) hasher() *secret.Hasher {
	if a.brief {
		return secret.NewWeakHasher()
	}
	return secret.NewHasher()
}

// signingKeyBits is how long the keys of Debian distributions are; those of a brief instance are made fast.
func (a *App) signingKeyBits() int {
	if a.brief {
		return 2048
	}
	return 0
}

// mail is where mail goes out, if it does.
func (a *App) mail() notify.Out {
	m := &a.config.Mail
	if !m.On() {
		return notify.Out{}
	}
	name, err := a.host()
	if err != nil {
		name = "localhost"
	}
	return notify.Out{Sender: mail.New(m.Config(name)), ReplyTo: m.ReplyTo, Incoming: m.Incoming, IncomingKey: config.IncomingKey}
}

// host is the name that clients reach the server by, without a port.
func (a *App) host() (string, error) {
	u, err := url.Parse(a.baseURL)
	if err != nil {
		return "", fmt.Errorf("external URL %q: %w", a.baseURL, err)
	}
	return u.Hostname(), nil
}
