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
	"tenon/internal/core/avatar"
	"tenon/internal/core/gitimport"
	"tenon/internal/core/lfs"
	"tenon/internal/core/note"
	"tenon/internal/core/notify"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/securefile"
	"tenon/internal/core/snippet"
	"tenon/internal/core/upload"
)

// reconcileArgs asks for a look at what crashes left between git and the database.
type reconcileArgs struct{}

// Kind names the job.
func (reconcileArgs) Kind() string { return "reconcile" }

// reconcileEvery is how often that look is taken.
const reconcileEvery = time.Hour

// work registers every kind of background work.
func (a *App) work() error {
	var r job.Registry
	job.Register(&r, func(ctx context.Context, _ reconcileArgs) error {
		return a.reconcile(ctx, a.now().Add(-10*time.Minute))
	}, job.On(job.Maintenance), job.Unique(), job.Low())
	job.Every(&r, reconcileEvery, reconcileArgs{})
	job.Register(&r, a.core.Projects.Touch, job.Unique(), job.Low())
	job.Register(&r, a.core.Accounts.Depart, job.Unique(), job.Timeout(time.Hour))
	job.Register(&r, a.core.Projects.Purge)
	job.Register(&r, a.core.Projects.PurgeGroup)
	job.Register(&r, a.core.Projects.PurgeMarked, job.Unique(), job.Low())
	job.Every(&r, 24*time.Hour, project.PurgeMarked{})
	job.Register(&r, a.core.Projects.StartImports, job.Unique())
	job.Every(&r, time.Hour, project.StartImports{})
	job.Register(&r, a.core.LFS.Sweep, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(&r, 24*time.Hour, lfs.Sweep{})
	job.Register(&r, a.core.Avatars.Sweep, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(&r, 24*time.Hour, avatar.Sweep{})
	job.Register(&r, a.core.Uploads.Sweep, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(&r, 24*time.Hour, upload.Sweep{})
	job.Register(&r, a.core.SecureFiles.Sweep, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(&r, 24*time.Hour, securefile.Sweep{})
	a.core.MergeRequests.RegisterJobs(&r)
	a.core.StatusChecks.RegisterJobs(&r)
	a.core.CI.RegisterJobs(&r)
	a.core.Schedules.RegisterJobs(&r)
	job.Register(&r, a.core.SystemNotes.MentionPushed, job.Low())
	job.Register(&r, a.core.Repos.Housekeep, job.On(job.Maintenance), job.Unique(), job.Low(), job.Attempts(3), job.Timeout(time.Hour))
	job.Register(&r, a.core.Repos.FillTemplate, job.Attempts(5), job.Timeout(5*time.Minute))
	job.Register(&r, a.core.Repos.FillFork, job.Attempts(5), job.Timeout(time.Hour))
	job.Register(&r, a.core.Repos.LeavePool, job.On(job.Maintenance))
	job.Register(&r, a.core.Repos.SweepPools, job.On(job.Maintenance), job.Unique(), job.Low())
	job.Every(&r, 24*time.Hour, repo.PoolSweep{})
	job.Register(&r, a.core.Repos.SweepAll, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(&r, 24*time.Hour, repo.Sweep{})
	job.Register(&r, a.core.Repos.SweepAttached, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Register(&r, a.core.Snippets.Sync, job.Unique())
	job.Register(&r, a.core.Notes.Fold, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(&r, 24*time.Hour, note.Fold{})
	job.Register(&r, a.core.Notes.FollowPositions)
	job.Register(&r, a.core.Snippets.Fold, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(&r, 24*time.Hour, snippet.Fold{})
	job.Register(&r, a.core.Wikis.Sync, job.Unique())
	job.Register(&r, a.core.GitImports.Import, job.On(job.Outbound), job.Unique(), job.Timeout(gitimport.Timeout))
	job.Register(&r, a.core.Repos.Measure, job.Unique(), job.Low(), job.Attempts(3), job.Timeout(10*time.Minute))
	job.Register(&r, a.core.Notifications.Send, job.On(job.Mail), job.Attempts(15), job.Timeout(notify.SendTimeout))
	job.Register(&r, a.core.Notifications.Sweep, job.On(job.Maintenance), job.Unique(), job.Low())
	job.Every(&r, 24*time.Hour, notify.Sweep{})
	job.Register(&r, a.core.Notifications.Due, job.On(job.Mail), job.Unique(), job.Low())
	job.Every(&r, time.Hour, notify.Due{})
	var err error
	if a.jobs, err = job.New(a.db, &r, job.Config{Logger: a.log, Owner: a.owner(), Observe: a.observeJob}); err != nil {
		return fmt.Errorf("make job queue: %w", err)
	}
	if err = a.measureJobs(); err != nil {
		return fmt.Errorf("count jobs: %w", err)
	}
	return nil
}

// reconcile settles pushes and merges that a crash interrupted: all there are at
// start-up (the zero time), later those that began before a moment.
func (a *App) reconcile(ctx context.Context, before time.Time) error {
	if before.IsZero() {
		before = a.now().Add(time.Minute)
	}
	if err := a.core.Repos.Reconcile(ctx, db.At(before)); err != nil {
		return fmt.Errorf("settle pushes: %w", err)
	}
	if err := a.core.MergeRequests.Settle(ctx); err != nil {
		return fmt.Errorf("settle merges: %w", err)
	}
	return nil
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
