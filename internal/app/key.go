package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/base/db"
	"tenon/internal/base/job"
	"tenon/internal/base/secret"
	"tenon/internal/core/audit"
	"tenon/internal/core/lfs"
	"tenon/internal/core/project"
)

// loadKey reads the key that encrypts stored secrets, and makes one for a new instance
// alone: with users in the database the key was lost.
func (a *App) loadKey(ctx context.Context) error {
	var err error
	a.box, err = secret.Load(a.config.Data)
	if errors.Is(err, secret.ErrNoKey) {
		var users int
		if users, err = countUsers(ctx, a.db); err == nil && users > 0 {
			return fmt.Errorf("the key file %s is missing, while the database has %d users: restore it from a backup "+
				"(where there is none, \"tenon admin key replace\" makes another key and says what is lost with the old one)",
				filepath.Join(a.config.Data, secret.KeyFile), users)
		}
		if err == nil {
			a.box, err = secret.Make(a.config.Data)
		}
	}
	if err != nil {
		return fmt.Errorf("load secret key: %w", err)
	}
	return nil
}

// countUsers works on a schema of any age.
func countUsers(ctx context.Context, d *db.DB) (int, error) {
	if there, err := d.HasTable(ctx, "users"); err != nil || !there {
		return 0, err
	}
	return db.Get[int](ctx, d, "SELECT count(*) FROM users")
}

// countSealed counts the rows of a table whose column is encrypted with the key. It works on a schema of any age.
func countSealed(ctx context.Context, d *db.DB, table, column string) (int, error) {
	if there, err := d.HasTable(ctx, table); err != nil || !there {
		return 0, err
	}
	n, err := db.Get[int](ctx, d, "SELECT count(*) FROM "+table+" WHERE "+column+" IS NOT NULL")
	if err != nil {
		return 0, fmt.Errorf("count what %s.%s keeps: %w", table, column, err)
	}
	return n, nil
}

// ReplacedKey says what became of a key and of what it had encrypted or signed.
type ReplacedKey struct {
	Kept    string `json:"kept,omitempty"` // where the old key file is now, "" where there was none
	Users   int    `json:"users"`          // whose passwords, tokens and keys still work: they do not depend on the key
	Imports int    `json:"imports"`        // lost: imports that wait with an encrypted user name and password
	Checks  int    `json:"status_checks"`  // lost: shared secrets of external status checks

	// Lost likewise: values of CI/CD variables and of those of schedules, files, runner registration tokens, deploy tokens as jobs get them,
	// and keys that sign ID tokens. Tokens that start pipelines still do, but are not shown any more.
	Variables         int `json:"variables"`
	ScheduleVariables int `json:"schedule_variables"`
	PipelineVariables int `json:"pipeline_variables"` // that pipelines and jobs were started with, or reported: jobs that need them fail
	SecureFiles       int `json:"secure_files"`
	Triggers          int `json:"triggers"`
	Registrations     int `json:"registration_tokens"`
	DeployTokens      int `json:"deploy_tokens"`
	IDTokenKeys       int `json:"id_token_keys"`
	DebianKeys        int `json:"debian_keys"` // that sign Debian distributions

	Minutes int `json:"lfs_minutes_max"` // lost: signed grants for large files of at most this age
}

// ReplaceKey makes another key for the data of c, on which no server may run.
func ReplaceKey(ctx context.Context, c *config.Config, log *slog.Logger) (out *ReplacedKey, err error) {
	a := &App{config: c, log: log, now: time.Now}
	defer func() { err = a.startError(errors.Join(err, a.Close(context.WithoutCancel(ctx)))) }()
	if err := a.inhabited(ctx); err != nil {
		return nil, err
	}
	if err := a.claim(ctx); err != nil {
		return nil, err
	}
	if a.db, err = db.Open(ctx, db.Config{URL: c.Database, Logger: log}); err != nil {
		return nil, err
	}
	a.closing(func(context.Context) error { return a.db.Close() })
	if err := a.takeDatabase(ctx); err != nil {
		return nil, err
	}
	if err := a.adopt(ctx); err != nil {
		return nil, err
	}
	if err := a.match(ctx); err != nil {
		return nil, err
	}
	out = &ReplacedKey{Minutes: int(lfs.TokenLife.Minutes())}
	if out.Users, err = countUsers(ctx, a.db); err != nil {
		return nil, fmt.Errorf("count users: %w", err)
	}
	if out.Users == 0 {
		return nil, errors.New("the database has no users: the first start makes a key")
	}
	jobVariables := 0
	for n, at := range map[*int][2]string{
		&out.Checks: {"external_status_checks", "sealed_secret"}, &out.Variables: {"ci_variables", "sealed"},
		&out.ScheduleVariables: {"pipeline_schedule_variables", "sealed"}, &out.SecureFiles: {"secure_files", "object"},
		&out.Triggers: {"pipeline_triggers", "sealed"}, &out.Registrations: {"registration_tokens", "sealed"},
		&out.PipelineVariables: {"pipeline_variables", "value"}, &jobVariables: {"job_variables", "value"},
		&out.DeployTokens: {"deploy_token_secrets", "sealed"}, &out.IDTokenKeys: {"id_token_keys", "sealed"},
		&out.DebianKeys: {"debian_distribution_keys", "sealed"},
	} {
		if *n, err = countSealed(ctx, a.db, at[0], at[1]); err != nil {
			return nil, err
		}
	}
	out.PipelineVariables += jobVariables
	jobs, err := a.db.HasTable(ctx, "river_job")
	if err != nil {
		return nil, err
	}
	if jobs {
		waiting, err := job.Waiting[project.Import](ctx, a.db)
		if err != nil {
			return nil, err
		}
		for _, w := range waiting {
			if w.Sealed != "" {
				out.Imports++
			}
		}
	}
	if err := audit.Trust(ctx, a.db); err != nil {
		return nil, err
	}
	out.Kept, err = secret.Replace(c.Data)
	return out, err
}
