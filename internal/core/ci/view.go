package ci

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/runner"
)

// JobView is a job as a caller sees it who may read jobs of its project.
type JobView struct {
	*Job

	Project    *project.Project
	User       *account.Summary // who started it; nil where the account is gone
	Commit     *gitstore.Commit // nil where the caller may not read code
	Of         *Pipeline
	Runner     *runner.Runner // nil where none has it yet, or it is gone
	Artifacts  []Artifact
	Tags       []string
	Downstream *Pipeline // of a bridge, nil where it started none or the caller may not read it

	DownstreamProject *project.Project
	URL               string
	Archived          bool // it is too old to be run again
}

// Duration is how long the job ran, or runs so far, in seconds; nil where it did not start.
func (j *Job) Duration(now time.Time) *float64 {
	return between(j.StartedAt, j.FinishedAt, now)
}

// QueuedDuration is how long the job waited for a runner, in seconds; nil where it did not.
func (j *Job) QueuedDuration(now time.Time) *float64 {
	return between(j.QueuedAt, j.StartedAt, now)
}

func between(from, to *db.Time, now time.Time) *float64 {
	if from == nil {
		return nil
	}
	end := now
	if to != nil {
		end = to.Time
	}
	seconds := end.Sub(from.Time).Seconds()
	return &seconds
}

// Views returns jobs of a project that were read for the caller, with a fixed number of statements.
func (s *Service) Views(ctx context.Context, as authz.Actor, p *project.Project, jobs []*Job) ([]*JobView, error) {
	return s.viewsOf(ctx, as, map[project.ID]*project.Project{p.ID: p}, jobs)
}

// viewsOf is Views for jobs of several projects.
func (s *Service) viewsOf(ctx context.Context, as authz.Actor, projects map[project.ID]*project.Project, jobs []*Job) ([]*JobView, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	out := make([]*JobView, len(jobs))
	r, err := s.related(ctx, as, jobs)
	if err != nil {
		return nil, err
	}
	for i, j := range jobs {
		p := projects[j.ProjectID]
		v := &JobView{Job: j, Project: p, Of: r.pipelines[j.PipelineID], Artifacts: r.artifacts[j.ID], Tags: r.tags[j.ID], URL: s.URLs.Job(p.FullPath, int64(j.ID)), Archived: s.archived(j)}
		if d, ok := r.downstream[j.ID]; ok {
			v.Downstream, v.DownstreamProject = d.Row, d.Project
		}
		if j.AuthorID != nil {
			v.User = r.users[*j.AuthorID]
		}
		if j.RunnerID != nil {
			v.Runner = r.runners[*j.RunnerID]
		}
		if v.Of != nil {
			if id, err := gitstore.ParseObjectID(v.Of.SHA); err == nil {
				v.Commit = r.commits[repo.CommitID{Project: p.ID, ID: id}]
			}
		}
		out[i] = v
	}
	return out, nil
}

// related is what views of many jobs share.
type related struct {
	pipelines  map[PipelineID]*Pipeline
	users      map[authz.UserID]*account.Summary
	runners    map[runner.ID]*runner.Runner
	artifacts  map[StatusID][]Artifact
	tags       map[StatusID][]string
	commits    map[repo.CommitID]*gitstore.Commit
	downstream map[StatusID]project.Found[Pipeline]
}

func (s *Service) related(ctx context.Context, as authz.Actor, jobs []*Job) (related, error) {
	var r related
	ids, of := make([]StatusID, len(jobs)), make([]PipelineID, len(jobs))
	var users []authz.UserID
	var runners []runner.ID
	bridges := false
	for i, j := range jobs {
		ids[i], of[i] = j.ID, j.PipelineID
		if j.AuthorID != nil {
			users = append(users, *j.AuthorID)
		}
		if j.RunnerID != nil {
			runners = append(runners, *j.RunnerID)
		}
		bridges = bridges || j.Kind == BridgeKind
	}
	var err error
	if r.pipelines, err = s.loadPipelines(ctx, of); err != nil {
		return r, err
	}
	if r.users, err = s.Accounts.ByIDs(ctx, users); err != nil {
		return r, err
	}
	if len(runners) > 0 {
		if r.runners, err = s.Runners.Load(ctx, runners); err != nil {
			return r, err
		}
	}
	if r.artifacts, err = s.ArtifactsOf(ctx, ids); err != nil {
		return r, err
	}
	if r.tags, err = s.TagsOf(ctx, ids); err != nil {
		return r, err
	}
	var commits []repo.CommitID
	for _, l := range r.pipelines {
		if id, err := gitstore.ParseObjectID(l.SHA); err == nil {
			commits = append(commits, repo.CommitID{Project: l.ProjectID, ID: id})
		}
	}
	if r.commits, err = s.Repos.CommitsByIDs(ctx, as, commits); err != nil {
		return r, err
	}
	if bridges {
		r.downstream, err = s.DownstreamOf(ctx, as, ids)
	}
	return r, err
}

func (s *Service) loadPipelines(ctx context.Context, ids []PipelineID) (map[PipelineID]*Pipeline, error) {
	var w db.Where
	w.In("p.id", ids)
	rows, err := db.Select[Pipeline](ctx, s.DB, "SELECT "+pipelineColumns+" FROM pipelines p"+w.SQL()+" ORDER BY p.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read pipelines: %w", err)
	}
	out := make(map[PipelineID]*Pipeline, len(rows))
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, nil
}

// TagsOf returns the tags of jobs that were read for the actor.
func (s *Service) TagsOf(ctx context.Context, ids []StatusID) (map[StatusID][]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	type row struct {
		JobID StatusID `db:"job_id"`
		Tag   string   `db:"tag"`
	}
	marks, args := db.Marks(ids)
	rows, err := db.Select[row](ctx, s.DB, "SELECT job_id, tag FROM job_tags WHERE job_id IN ("+marks+") ORDER BY job_id, tag", args...)
	if err != nil {
		return nil, fmt.Errorf("tags of jobs: %w", err)
	}
	out := map[StatusID][]string{}
	for _, r := range rows {
		out[r.JobID] = append(out[r.JobID], r.Tag)
	}
	return out, nil
}

// DownstreamOf returns the pipelines that bridges started and that the actor may read.
func (s *Service) DownstreamOf(ctx context.Context, as authz.Actor, ids []StatusID) (map[StatusID]project.Found[Pipeline], error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var w db.Where
	w.In("p.upstream_job_id", ids)
	rows, err := db.Select[Pipeline](ctx, s.DB, "SELECT "+pipelineColumns+" FROM pipelines p"+w.SQL()+" ORDER BY p.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("downstream pipelines: %w", err)
	}
	readable, err := project.Readable(ctx, s.Projects, as, rows, project.Rule[Pipeline]{
		Project: func(l *Pipeline) project.ID { return l.ProjectID },
		Needs: func(_ *Pipeline, p *project.Project) (authz.Ability, authz.Subject) {
			return readable(p), p.Subject()
		},
	})
	out := make(map[StatusID]project.Found[Pipeline], len(readable))
	for _, found := range readable {
		out[*found.Row.UpstreamJobID] = found
	}
	return out, err
}

// VariablesOf returns the variables that a pipeline was started with. It requires ReadPipelineDetails, or that the actor started it.
func (s *Service) VariablesOf(ctx context.Context, as authz.Actor, p *project.Project, id PipelineID) ([]Variable, error) {
	of, err := s.Find(ctx, as, p, id)
	if err != nil {
		return nil, err
	}
	subject := p.Subject()
	subject.Own = as.Owns(of.UserID)
	if err := s.Policy.Require(ctx, as, authz.ReadPipelineDetails, subject); err != nil {
		return nil, err
	}
	return s.pipelineVariables(ctx, id)
}

// Rename gives a pipeline a name. It requires UpdatePipeline, and the right to run pipelines of a protected reference.
func (s *Service) Rename(ctx context.Context, as authz.Actor, p *project.Project, id PipelineID, name string) (*Pipeline, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdatePipeline, p.Subject()); err != nil {
		return nil, err
	}
	if _, err := s.changeable(ctx, as, p, id); err != nil {
		return nil, err
	}
	if len([]rune(name)) > maxText {
		return nil, tooLong("name")
	}
	out, err := db.Update(ctx, s.DB, db.Row{Table: "pipelines", ID: id, Now: s.Now}, func(_ context.Context, row *Pipeline) error {
		row.Name = &name
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("rename pipeline: %w", err)
	}
	return &out.After, nil
}

// ViewsByIDs returns the jobs of a project with these ids, by id. It requires the right to read the project's pipelines, without which there are none.
func (s *Service) ViewsByIDs(ctx context.Context, as authz.Actor, p *project.Project, ids []StatusID) (map[StatusID]*JobView, error) {
	out := make(map[StatusID]*JobView, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	if may, err := s.MayRead(ctx, as, p); err != nil || !may {
		return nil, err
	}
	var w db.Where
	w.And("s.project_id = ?", p.ID)
	w.In("s.id", ids)
	rows, err := db.Select[Job](ctx, s.DB, "SELECT "+db.Columns[Status]("s")+", "+buildColumns+" FROM "+jobTables+w.SQL()+" ORDER BY s.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("jobs by id: %w", err)
	}
	jobs := make([]*Job, len(rows))
	for i := range rows {
		jobs[i] = &rows[i]
	}
	views, err := s.Views(ctx, as, p, jobs)
	for _, v := range views {
		out[v.ID] = v
	}
	return out, err
}
