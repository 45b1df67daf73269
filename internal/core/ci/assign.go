package ci

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
)

// Ask is what a runner says when it asks for a job.
type Ask struct {
	Token      string
	SystemID   string
	LastUpdate string // value of an earlier answer
	Info       runner.Info
	Features   map[string]bool // what its program can do
	Address    string
}

// candidates is how many jobs a runner tries to take before it is told to come again.
const candidates = 10

// jobTokenPrefix begins the tokens of jobs.
const jobTokenPrefix = "glcbt-"

// Request gives a runner a job to run, nil where there is none, and the value that it sends with its next request. A runner
// that knows that there is none is kept waiting until there is, but not longer than about a minute. A token that is unknown
// is Forbidden.
func (s *Service) Request(ctx context.Context, ask Ask) (found *Assignment, last string, err error) {
	r, err := s.Runners.Authenticate(ctx, ask.Token)
	if err != nil {
		return nil, "", err
	}
	if err := s.countToken(limit.JobRequests, ask.Token); err != nil {
		return nil, "", err
	}
	m, err := s.Runners.Contact(ctx, r, ask.SystemID, ask.Info, ask.Address)
	if err != nil {
		return nil, "", err
	}
	value := s.waiting.value(r.ID)
	if r.Paused {
		return nil, value, nil
	}
	if ask.LastUpdate == value {
		by := s.waiting.wait(ctx, r, value, s.patience())
		defer func() {
			if found == nil {
				s.waiting.pass(by)
			}
		}()
		if ctx.Err() != nil {
			return nil, value, nil
		}
		value = s.waiting.value(r.ID)
		// It may have been paused, reset or deleted meanwhile.
		if r, err = s.Runners.Authenticate(ctx, ask.Token); err != nil {
			return nil, "", err
		}
		if r.Paused {
			return nil, value, nil
		}
	}
	found, err = s.take(ctx, r, m, ask)
	return found, value, err
}

// next returns the oldest job that a runner may take, of the project that has the fewest jobs on instance runners. Its cost is that of the
// projects that wait, not of their jobs.
func (s *Service) next(ctx context.Context, r *runner.Runner, without []StatusID) (*candidate, error) {
	var of, in db.Where
	of.Raw("q.project_id = w.project_id")
	if r.Protected {
		of.Raw("q.protected")
	}
	if tags := r.Tags(); len(tags) > 0 {
		marks, args := db.Marks(tags)
		of.And("(q.tags = 0 OR NOT EXISTS (SELECT 1 FROM job_tags t WHERE t.job_id = q.job_id AND t.tag NOT IN ("+marks+")))", args...)
	} else {
		of.Raw("q.tags = 0")
	}
	if !r.RunUntagged {
		of.Raw("q.tags > 0")
	}
	if len(without) > 0 {
		// Few lengths make few statements, which the database need not read again.
		for n := len(without); n&(n-1) != 0; n++ {
			without = append(without, without[0])
		}
		marks, args := db.Marks(without)
		of.And("q.job_id NOT IN ("+marks+")", args...)
	}
	busy := "0"
	if r.Type == runner.InstanceType {
		busy = `(SELECT COUNT(*) FROM commit_statuses x JOIN jobs y ON y.job_id = x.id JOIN runners z ON z.id = y.runner_id
			WHERE x.project_id = w.project_id AND x.status = 'running' AND z.runner_type = 'instance_type')`
	}
	cond, args := runner.ServesSQL(r, "p")
	in.And(cond, args...)
	in.And("NOT p.archived AND NOT p.pending_delete AND p.builds_access > ?", authz.FeatureDisabled)
	list, err := db.Select[candidate](ctx, s.DB, `WITH RECURSIVE waiting (project_id) AS (
			SELECT MIN(f.project_id) FROM job_queue f
			UNION ALL SELECT (SELECT MIN(f.project_id) FROM job_queue f WHERE f.project_id > v.project_id) FROM waiting v WHERE v.project_id IS NOT NULL)
		SELECT x.job_id, s.pipeline_id FROM (SELECT (SELECT MIN(q.job_id) FROM job_queue q`+of.SQL()+`) AS job_id, `+busy+` AS busy
			FROM waiting w JOIN projects p ON p.id = w.project_id`+in.SQL()+`) x
		JOIN commit_statuses s ON s.id = x.job_id ORDER BY x.busy, x.job_id LIMIT 1`, slices.Concat(of.Args(), in.Args())...)
	if err != nil {
		return nil, fmt.Errorf("find job for runner: %w", err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return &list[0], nil
}

// obstacle returns the reason why a job cannot start on a runner, "" where it can, with the jobs that it depends on.
func (s *Service) obstacle(ctx context.Context, p *project.Project, j *Job, c *ciconfig.Job, can map[string]bool) (deps dependencies, reason string, err error) {
	if s.archived(j) {
		return deps, ArchivedFailure, nil
	}
	if outdated, err := s.outdated(ctx, p, j); err != nil || outdated {
		return deps, OutdatedDeployment, err
	}
	if j.AuthorID != nil {
		state, err := db.Get[string](ctx, s.DB, "SELECT u.state FROM users u WHERE u.id = ?", *j.AuthorID)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return deps, "", fmt.Errorf("state of user: %w", err)
		}
		if state != "active" {
			return deps, UserBlocked, nil
		}
	}
	for _, name := range requiredFeatures(c) {
		if !can[name] {
			return deps, UnsupportedRunner, nil
		}
	}
	if deps, err = s.dependencies(ctx, p, j, c); err != nil {
		return deps, "", err
	}
	if deps.missing {
		return deps, MissingDependency, nil
	}
	return deps, "", nil
}

// requiredFeatures are what the program of a runner must be able to do for a job.
func requiredFeatures(c *ciconfig.Job) []string {
	var out []string
	if c.Artifacts != nil && len(c.Artifacts.Reports) > 0 {
		out = append(out, "upload_multiple_artifacts")
	}
	if c.Artifacts != nil && len(c.Artifacts.Exclude) > 0 {
		out = append(out, "artifacts_exclude")
	}
	if c.Release != nil {
		out = append(out, "multi_build_steps")
	}
	if len(c.AllowExitCodes) > 0 {
		out = append(out, "return_exit_code")
	}
	for _, cache := range c.Cache {
		if len(cache.FallbackKeys) > 0 {
			out = append(out, "fallback_cache_keys")
			break
		}
	}
	return out
}

// dependencies are the jobs whose artifacts a job gets.
type dependencies struct {
	jobs    []Dependency
	ids     []StatusID // of all jobs that it depends on, with artifacts or without
	missing bool       // one of them has lost what the job asks for by name
}

// dependencies finds them: the jobs that it names, those that it needs, or those of earlier stages.
func (s *Service) dependencies(ctx context.Context, p *project.Project, j *Job, c *ciconfig.Job) (dependencies, error) {
	out, err := s.localDependencies(ctx, j, c)
	if err != nil {
		return out, err
	}
	cross, ok, err := s.crossDependencies(ctx, p, j, c)
	out.missing = out.missing || !ok
	for _, d := range cross {
		out.ids, out.jobs = append(out.ids, d.ID), append(out.jobs, d)
	}
	return out, err
}

// localDependencies are those of the same pipeline.
func (s *Service) localDependencies(ctx context.Context, j *Job, c *ciconfig.Job) (dependencies, error) {
	var out dependencies
	var w db.Where
	w.And("s.pipeline_id = ? AND NOT s.retried AND s.kind = 'job'", j.PipelineID)
	var names []string
	switch {
	case byNeeds(c):
		for _, n := range c.Needs {
			if n.Job != "" && n.Artifacts && !n.Elsewhere() && (c.Dependencies == nil || slices.Contains(c.Dependencies, n.Job)) {
				names = append(names, n.Job)
			}
		}
	case c.Dependencies != nil:
		names = c.Dependencies
	default:
		w.And("s.stage_idx < ?", j.StageIndex)
	}
	byName := byNeeds(c) || c.Dependencies != nil
	if byName {
		if len(names) == 0 {
			return out, nil
		}
		w.In("s.name", names)
	}
	type row struct {
		ID       StatusID `db:"id"`
		Name     string   `db:"name"`
		State    State    `db:"status"`
		ErasedAt *db.Time `db:"erased_at"`
		Filename *string  `db:"filename"`
		Size     *int64   `db:"size"`
		ExpireAt *db.Time `db:"expire_at"`
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT s.id, s.name, s.status, j.erased_at, a.filename, a.size, a.expire_at FROM `+jobTables+
		` LEFT JOIN job_artifacts a ON a.job_id = s.id AND a.type = 'archive'`+w.SQL()+" ORDER BY s.stage_idx, s.id", w.Args()...)
	if err != nil {
		return out, fmt.Errorf("dependencies of job: %w", err)
	}
	now := s.Now()
	old := func(r *row) bool { return r.ExpireAt != nil && !r.ExpireAt.After(now) }
	var late []StatusID
	for i := range rows {
		if old(&rows[i]) {
			late = append(late, rows[i].ID)
		}
	}
	lasting, err := s.lasting(ctx, late)
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		out.ids = append(out.ids, r.ID)
		expired := old(&r) && !lasting[r.ID]
		if byName && r.State == Success && c.Dependencies != nil && (r.ErasedAt != nil || expired) {
			out.missing = true
		}
		if r.Filename != nil && !expired {
			out.jobs = append(out.jobs, Dependency{ID: r.ID, Name: r.Name, Filename: *r.Filename, Size: *r.Size})
		}
	}
	return out, nil
}

// projectOf returns the project of a pipeline.
func (s *Service) projectOf(ctx context.Context, of PipelineID) (*project.Project, error) {
	id, err := db.Get[project.ID](ctx, s.DB, "SELECT p.project_id FROM pipelines p WHERE p.id = ?", of)
	if err != nil {
		return nil, fmt.Errorf("project of pipeline: %w", err)
	}
	found, err := s.Projects.Load(ctx, []project.ID{id})
	if err != nil {
		return nil, err
	}
	if found[id] == nil {
		return nil, errs.Missing("Project")
	}
	return found[id], nil
}
