package ci

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
)

// InPipelines returns the jobs, bridges and statuses of those of the pipelines that the actor may read, by pipeline and in
// the order in which they were made: those that others took the place of are among them. Definitions are left out.
func (s *Service) InPipelines(ctx context.Context, as authz.Actor, ids []PipelineID) (map[PipelineID][]*Job, error) {
	readable, err := s.ByIDs(ctx, as, ids)
	if err != nil || len(readable) == 0 {
		return nil, err
	}
	var w db.Where
	w.In("s.pipeline_id", slices.Sorted(maps.Keys(readable)))
	list, err := s.withBuilds(ctx, w)
	if err != nil {
		return nil, err
	}
	out := make(map[PipelineID][]*Job, len(readable))
	for i := range list {
		j := &list[i]
		out[j.PipelineID] = append(out[j.PipelineID], j)
	}
	return out, nil
}

// JobsByIDs returns those of the jobs, bridges and statuses with these ids that the actor may read. Definitions are left out.
func (s *Service) JobsByIDs(ctx context.Context, as authz.Actor, ids []StatusID) (map[StatusID]*Job, error) {
	out := make(map[StatusID]*Job, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("s.id", ids)
	list, err := s.withBuilds(ctx, w)
	if err != nil {
		return nil, err
	}
	readable, err := project.Readable(ctx, s.Projects, as, list, project.Rule[Job]{
		Project: func(j *Job) project.ID { return j.ProjectID },
		Needs: func(_ *Job, p *project.Project) (authz.Ability, authz.Subject) {
			return readable(p), p.Subject()
		},
	})
	for _, found := range readable {
		out[found.Row.ID] = found.Row
	}
	return out, err
}

// Environments returns what the configuration says of the environments of jobs of a pipeline, by the job, without those that have none.
// It asks for no permission.
func (s *Service) Environments(ctx context.Context, p *project.Project, of *Pipeline, jobs []*Job) (map[StatusID]ciconfig.Environment, error) {
	byID := make(map[StatusID]*Job, len(jobs))
	for _, j := range jobs {
		byID[j.ID] = j
	}
	var w db.Where
	w.In("j.job_id", slices.Sorted(maps.Keys(byID)))
	w.And("j.definition LIKE ?", `%"environment":{%`)
	rows, err := db.Select[struct {
		ID         StatusID `db:"job_id"`
		Definition string   `db:"definition"`
	}](ctx, s.DB, "SELECT j.job_id, j.definition FROM jobs j"+w.SQL()+" ORDER BY j.job_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read environments of jobs: %w", err)
	}
	var facts list
	out := make(map[StatusID]ciconfig.Environment, len(rows))
	for _, r := range rows {
		config, err := (&Build{JobID: r.ID, Definition: r.Definition}).Config()
		if err != nil {
			return nil, err
		}
		if config.Environment == nil {
			continue
		}
		e := *config.Environment
		switch name := byID[r.ID].Environment; {
		case name != nil:
			e.Name = *name
		case strings.Contains(e.Name, "$"):
			if facts == nil {
				if facts, err = s.factsOf(ctx, of.UserID, p, of); err != nil {
					return nil, err
				}
			}
			e.Name = ciconfig.Expand(e.Name, facts.lookup())
		}
		out[r.ID] = e
	}
	return out, nil
}

// withBuilds reads jobs, bridges and statuses, sorted by id and without their definitions.
func (s *Service) withBuilds(ctx context.Context, w db.Where) ([]Job, error) {
	statuses, err := db.Select[Status](ctx, s.DB, "SELECT "+statusColumns+" FROM commit_statuses s"+w.SQL()+" ORDER BY s.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read statuses: %w", err)
	}
	builds, err := db.Select[Build](ctx, s.DB, "SELECT "+buildColumns+" FROM "+jobTables+w.SQL()+" ORDER BY j.job_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	own := make(map[StatusID]*Build, len(builds))
	for i := range builds {
		own[builds[i].JobID] = &builds[i]
	}
	out := make([]Job, len(statuses))
	for i := range statuses {
		out[i].Status = statuses[i]
		if b := own[statuses[i].ID]; b != nil {
			out[i].Build = *b
		}
	}
	return out, nil
}

// ArtifactsFor returns the artifacts of those of the jobs that the actor may read, without those that are not for it.
func (s *Service) ArtifactsFor(ctx context.Context, as authz.Actor, ids []StatusID) (map[StatusID][]Artifact, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var w db.Where
	w.In("a.job_id", ids)
	rows, err := db.Select[Artifact](ctx, s.DB, "SELECT "+db.Columns[Artifact]("a")+" FROM job_artifacts a"+w.SQL()+" ORDER BY a.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("artifacts of jobs: %w", err)
	}
	readable, err := project.Readable(ctx, s.Projects, as, rows, project.Rule[Artifact]{
		Project: func(a *Artifact) project.ID { return a.ProjectID },
		Needs: func(a *Artifact, p *project.Project) (authz.Ability, authz.Subject) {
			return needs(a.Access, readable(p)), p.Subject()
		},
	})
	out := make(map[StatusID][]Artifact, len(ids))
	for _, found := range readable {
		if a := found.Row; a.Access != NoAccess {
			out[a.JobID] = append(out[a.JobID], *a)
		}
	}
	return out, err
}

// Need is a job that another one waits for.
type Need struct {
	JobID    StatusID `db:"job_id"` // of the one that waits
	Position int64    `db:"position"`
	Name     string   `db:"name"`
}

// NeedsOf returns what jobs wait for that were read for the actor, in the order of the configuration.
func (s *Service) NeedsOf(ctx context.Context, ids []StatusID) (map[StatusID][]Need, error) {
	out := make(map[StatusID][]Need, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("n.job_id", ids)
	rows, err := db.Select[Need](ctx, s.DB, "SELECT n.job_id, n.position, n.name FROM job_needs n"+w.SQL()+" ORDER BY n.job_id, n.position", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("needs of jobs: %w", err)
	}
	for _, n := range rows {
		out[n.JobID] = append(out[n.JobID], n)
	}
	return out, nil
}

// Counts says how many pipelines are in which state.
type Counts struct{ All, Running, Pending, Finished int }

// Count counts pipelines of a project by state: those that a filter selects.
func (s *Service) Count(ctx context.Context, as authz.Actor, p *project.Project, f PipelineFilter) (*Counts, error) {
	if err := s.Policy.Require(ctx, as, readable(p), p.Subject()); err != nil {
		return nil, err
	}
	var w db.Where
	w.And("p.project_id = ?", p.ID)
	f.where(&w)
	type row struct {
		State State `db:"status"`
		N     int   `db:"n"`
	}
	rows, err := db.Select[row](ctx, s.DB, "SELECT p.status, COUNT(*) AS n FROM pipelines p"+w.SQL()+" GROUP BY p.status ORDER BY p.status", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("count pipelines: %w", err)
	}
	out := &Counts{}
	for _, r := range rows {
		out.All += r.N
		switch r.State {
		case Running:
			out.Running += r.N
		case Pending:
			out.Pending += r.N
		case Success, Failed, Canceled:
			out.Finished += r.N
		}
	}
	return out, nil
}

// Permissions is what an actor may do with a pipeline and its jobs.
type Permissions struct {
	Admin, Update, Delete bool
	Artifacts             bool // read those that are not for everyone
}

// Permissions tells what the actor may do with those of the pipelines that it may read.
func (s *Service) Permissions(ctx context.Context, as authz.Actor, ids []PipelineID) (map[PipelineID]Permissions, error) {
	found, err := s.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	places := make([]project.ID, 0, len(found))
	for _, of := range found {
		places = append(places, of.ProjectID)
	}
	projects, err := s.Projects.ByIDs(ctx, as, places)
	if err != nil {
		return nil, err
	}
	changeable, err := s.changeableOf(ctx, as, projects, slices.Collect(maps.Values(found)))
	if err != nil {
		return nil, err
	}
	out := make(map[PipelineID]Permissions, len(found))
	for id, of := range found {
		p := projects[of.ProjectID]
		if p == nil {
			continue
		}
		var may Permissions
		for ability, to := range map[authz.Ability]*bool{
			authz.UpdatePipeline: &may.Update, authz.DeletePipeline: &may.Delete, authz.ErasePipeline: &may.Admin, authz.ReadPrivateArtifacts: &may.Artifacts,
		} {
			if *to, err = s.Policy.Can(ctx, as, ability, p.Subject()); err != nil {
				return nil, fmt.Errorf("permissions of pipelines: %w", err)
			}
		}
		may.Update = may.Update && changeable[id]
		out[id] = may
	}
	return out, nil
}

// Stage is a stage of a pipeline.
type Stage struct {
	ID    StatusID // of its first job, by which the stage goes
	Name  string
	Index int
	Jobs  []*Job // that no other took the place of, by name
}

// Stages sorts the jobs of a pipeline into its stages.
func Stages(jobs []*Job) []*Stage {
	var out []*Stage
	for _, j := range jobs {
		at := slices.IndexFunc(out, func(s *Stage) bool { return s.Index == j.StageIndex && s.Name == j.Stage })
		if at < 0 {
			at, out = len(out), append(out, &Stage{ID: j.ID, Name: j.Stage, Index: j.StageIndex})
		}
		if !j.Retried {
			out[at].Jobs = append(out[at].Jobs, j)
		}
	}
	slices.SortStableFunc(out, func(a, b *Stage) int { return cmp.Compare(a.Index, b.Index) })
	for _, s := range out {
		slices.SortStableFunc(s.Jobs, func(a, b *Job) int { return cmp.Compare(a.Name, b.Name) })
	}
	return out
}

// Sum returns the state that jobs have together, those left out that others took the place of, and whether
// it is Success although some of them failed.
func Sum(jobs []*Job) (state State, withWarnings bool) {
	t := tally{}
	for _, j := range jobs {
		if j.Retried {
			continue
		}
		st := j.standing()
		t[st]++
		withWarnings = withWarnings || st == warned
	}
	state = t.sum()
	return state, withWarnings && state == Success
}

// CourseOf tells how a pipeline went from all its jobs.
func CourseOf(of *Pipeline, jobs []*Job) Course {
	list := make([]Status, 0, len(jobs))
	for _, j := range jobs {
		if !j.Retried {
			list = append(list, j.Status)
		}
	}
	return course(of, list)
}

// CanBeCanceled reports whether canceling the job would end it.
func (j *Job) CanBeCanceled() bool {
	return j.Kind != ExternalKind && !j.Retried && slices.Contains(cancelable, j.State)
}
