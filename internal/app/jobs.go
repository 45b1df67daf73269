package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/job"
)

// reconcileArgs asks for a look at what crashes left between git and the database.
type reconcileArgs struct{}

// Kind names the job.
func (reconcileArgs) Kind() string { return "reconcile" }

// settleLostArgs asks for a look at what a lost connection to the database interrupted.
type settleLostArgs struct{}

// Kind names the job.
func (settleLostArgs) Kind() string { return "settle_lost" }

// How often these looks are taken.
const (
	reconcileEvery  = time.Hour
	settleLostEvery = time.Minute
)

// work registers every kind of job.
func (a *App) work() error {
	var r job.Registry
	job.Register(&r, func(ctx context.Context, _ reconcileArgs) error {
		return a.settleBefore(ctx, a.now().Add(-10*time.Minute))
	}, job.On(job.Maintenance), job.Unique(), job.Low())
	job.Every(&r, reconcileEvery, reconcileArgs{})
	job.Register(&r, func(ctx context.Context, _ settleLostArgs) error { return a.core.SettleLost(ctx) }, job.On(job.Maintenance), job.Unique(), job.Low())
	job.Every(&r, settleLostEvery, settleLostArgs{})
	a.core.RegisterJobs(&r)
	var err error
	if a.jobs, err = job.New(a.db, &r, job.Config{Logger: a.log, Owner: a.owner(), Observe: a.observeJob, Hold: a.maintained, Background: a.background, Sizes: a.jobSizes}); err != nil {
		return fmt.Errorf("make job queue: %w", err)
	}
	if err = a.measureJobs(); err != nil {
		return fmt.Errorf("count jobs: %w", err)
	}
	return nil
}

// maintained reports whether jobs wait, as they do in maintenance mode.
func (a *App) maintained() bool { return a.core.Settings.Writable() != nil }

// background is how many jobs of maintenance run at a time.
func (a *App) background() int { return a.core.Settings.Current().BackgroundOperationsMaxJobs }

// jobSizes are the bounds of the arguments of jobs.
func (a *App) jobSizes() job.Sizes {
	set := a.core.Settings.Current()
	return job.Sizes{
		Compress: set.SidekiqJobLimiterMode == "compress", Threshold: set.SidekiqJobLimiterCompressionThresholdBytes, Most: set.SidekiqJobLimiterLimitBytes,
	}
}

// settleBefore ends what a crash interrupted: all there is at start-up (the zero time), later what
// began before a moment.
func (a *App) settleBefore(ctx context.Context, before time.Time) error {
	if before.IsZero() {
		before = a.now().Add(time.Minute)
	}
	return a.core.Settle(ctx, db.At(before))
}

// owner names the data folder, which this process has locked, among all that may use the
// same database.
func (a *App) owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	sum := sha256.Sum256([]byte(host + "\x00" + a.config.Data))
	return "tenon-" + hex.EncodeToString(sum[:16])
}
