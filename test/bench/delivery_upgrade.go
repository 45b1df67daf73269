package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/migrations"
)

// beforeDeployments is the first migration that is not applied yet where jobs have deployed, and nothing was kept of it.
const beforeDeployments = "0133_"

// earlierSchema has the migrations before that one.
type earlierSchema struct{ fs.FS }

// ReadDir lists them.
func (e earlierSchema) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(e.FS, name)
	return slices.DeleteFunc(list, func(f fs.DirEntry) bool { return f.Name() >= beforeDeployments }), err
}

// measureUpgrade measures the start of a server whose jobs deployed before it knew of deployments, and how it makes their deployments meanwhile.
func measureUpgrade(ctx context.Context, o options, folder string, jobs int, out *report) (err error) {
	data := filepath.Join(folder, "upgraded")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	address := filepath.Join(data, "tenon.db")
	if o.database != "" {
		if address, err = anotherDatabase(ctx, o.database); err != nil {
			return err
		}
		o.database = address
	}
	base, err := db.Open(ctx, db.Config{URL: address, Stall: time.Hour})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, base.Close()) }()
	if err := timed(ctx, "jobs with environments", func(ctx context.Context) (int, error) {
		return jobs, base.Loosely(ctx, func() error { return writeJobs(ctx, base, jobs) })
	}); err != nil {
		return err
	}
	if err := vacuum(ctx, o.database); err != nil {
		return err
	}
	s, err := startServer(ctx, o, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	out.line("\n| %d jobs with environments, of before there were deployments | | goal |\n|---|--:|---|", jobs)
	out.line("| start with the migration, to the first answer | %.2f s | %s |", s.answer.Seconds(), met(s.answer <= 10*time.Second, "10 s"))
	began := time.Now()
	l := &loader{server: s, length: o.length}
	ready := request(s.url, rootToken, "GET", "/projects/1/deployments?per_page=20", nil)
	m, err := l.measure(ctx, operation{wants: 200, sends: func(int) []byte { return ready }})
	if err != nil {
		return err
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		left, err := db.Select[int64](ctx, base, "SELECT b.after_id FROM deployment_backfills b ORDER BY b.id")
		if err != nil {
			return err
		}
		done := int64(jobs)
		if len(left) > 0 {
			done = left[0]
		}
		if len(left) == 0 || time.Now().After(deadline) {
			took := time.Since(began)
			out.line("| jobs whose deployments were made by then, in %.0f s | %d, %.0f/s | |", took.Seconds(), done, float64(done)/took.Seconds())
			break
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	out.line("| deployments, page of 20, meanwhile, p50 / p95 / p99 | %s ms | |", percentiles(m.one))
	return nil
}

// anotherDatabase makes an empty database beside that of an address.
func anotherDatabase(ctx context.Context, address string) (string, error) {
	base, err := db.Open(ctx, db.Config{URL: address})
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("bench_upgraded_%d", os.Getpid())
	if _, err := base.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", errors.Join(err, base.Close())
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.Join(err, base.Close())
	}
	u.Path = "/" + name
	return u.String(), base.Close()
}

// perPipeline is how many of the jobs a pipeline has.
const perPipeline = 10

// writeJobs writes a project of the schema of then, and jobs that have deployed to 200 environments of it, one in ten to production. One in a hundred
// succeeded: the merge requests that they shipped would be looked for.
func writeJobs(ctx context.Context, base *db.DB, jobs int) error {
	if err := base.Migrate(ctx, earlierSchema{migrations.FS}); err != nil {
		return err
	}
	now := db.At(time.Now())
	exec := func(query string, args ...any) error {
		if _, err := base.Exec(ctx, query, args...); err != nil {
			return fmt.Errorf("%.60s: %w", query, err)
		}
		return nil
	}
	at := "'2026-01-01 00:00:00.000001+00:00'"
	if base.Dialect() == db.Postgres {
		at = "TIMESTAMPTZ " + at
	}
	numbered := func(table, columns, values string, n int) error {
		const step = 50_000
		for from := 1; from <= n; from += step {
			query := fmt.Sprintf(`INSERT INTO %s (%s) WITH RECURSIVE n(i) AS (SELECT CAST(%d AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT %s FROM n`,
				table, columns, from, min(from+step-1, n), values)
			if err := exec(query); err != nil {
				return err
			}
		}
		return nil
	}
	const environment = "CASE WHEN i % 10 = 0 THEN 'production' ELSE 'review/' || (i % 200) END"
	err := errors.Join(
		exec("INSERT INTO namespaces (id, kind, parent_id, path, name, name_fold, visibility, created_at, updated_at) VALUES (1, 'group', NULL, 'acme', 'Acme', 'acme', 0, ?, ?), (2, 'project', 1, 'shop', 'Shop', 'shop', 0, ?, ?)",
			now, now, now, now),
		exec("INSERT INTO namespace_ancestors (namespace_id, ancestor_id, depth) VALUES (1, 1, 0), (2, 2, 0), (2, 1, 1)"),
		exec("INSERT INTO routes (namespace_id, path, path_fold, name) VALUES (1, 'acme', 'acme', 'Acme'), (2, 'acme/shop', 'acme/shop', 'Acme / Shop')"),
		exec(`INSERT INTO projects (id, namespace_id, parent_id, name, name_fold, path, description_fold, avatar, default_branch, storage, archived, star_count, forks_count, open_issues_count, topics,
			issues_access, merge_requests_access, repository_access, forking_access, wiki_access, builds_access, snippets_access, features, merge_method, squash_option,
			only_allow_merge_if_pipeline_succeeds, only_allow_merge_if_all_discussions_are_resolved, remove_source_branch_after_merge, printing_merge_request_link_enabled,
			request_access_enabled, lfs_enabled, autoclose_referenced_issues, emails_enabled, approvals_before_merge, settings, pending_delete, import_status,
			last_activity_at, created_at, updated_at)
			VALUES (1, 2, 1, 'Shop', 'shop', 'shop', '', '', 'main', 'default', false, 0, 0, 0, '[]', 20, 20, 20, 20, 20, 20, 20, '{}', 'merge', 'default_off', false, false, true, true,
			true, true, true, true, 0, '{}', false, 'none', ?, ?, ?)`, now, now, now),
	)
	if err != nil {
		return err
	}
	if base.Dialect() == db.Postgres {
		for _, table := range []string{"namespaces", "projects"} {
			if _, err := db.Get[int64](ctx, base, "SELECT setval(pg_get_serial_sequence('"+table+"', 'id'), 10)"); err != nil {
				return err
			}
		}
	}
	return errors.Join(
		numbered("pipelines", "iid, project_id, sha, ref, source, status, created_at, updated_at", "i, 1, '6104942438c14ec7bd21c6cd5bd995272b3faff6', 'main', 'push', 'failed', "+at+", "+at, jobs/perPipeline),
		numbered("commit_statuses", "pipeline_id, project_id, kind, name, stage, stage_idx, ref, status, retried, environment, created_at, updated_at, finished_at",
			fmt.Sprintf("1 + (i - 1) / %d, 1, 'job', 'ship-' || (i %% %d), 'deploy', 2, 'main', CASE WHEN i %% 100 = 0 THEN 'success' ELSE 'failed' END, false, %s, %s, %s, %s", perPipeline, perPipeline, environment, at, at, at), jobs),
		numbered("jobs", "job_id, definition, run_when, by_needs, interruptible, timeout, attempt, cancelable, log_size",
			`i, '{"name":"ship","stage":"deploy","script":["make ship"],"environment":{"name":"' || `+environment+` || '"}}', 'on_success', false, false, 3600, 0, false, 0`, jobs),
	)
}
