package ci

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// step is a job or status as far as the order of a pipeline goes.
type step struct {
	Status
	When    string `db:"run_when"`
	ByNeeds bool   `db:"by_needs"`

	needs   []need
	entered bool   // the plan gave it another state
	was     Status // before that
}

// need is a job that another waits for.
type need struct {
	JobID    StatusID `db:"job_id"`
	Name     string   `db:"name"`
	Optional bool     `db:"optional"`
}

// plan is the jobs of a pipeline in order of their stages, without those that were replaced.
type plan struct {
	steps  []*step
	byName map[string]*step
}

// plan reads the jobs of a pipeline: in one statement, and one more where a job has needs.
func (s *Service) plan(ctx context.Context, of PipelineID) (*plan, error) {
	rows, err := db.Select[step](ctx, s.DB, "SELECT "+statusColumns+`, COALESCE(j.run_when, '') AS run_when, COALESCE(j.by_needs, false) AS by_needs
		FROM commit_statuses s LEFT JOIN jobs j ON j.job_id = s.id WHERE s.pipeline_id = ? AND NOT s.retried ORDER BY s.stage_idx, s.id`, of)
	if err != nil {
		return nil, fmt.Errorf("jobs of pipeline: %w", err)
	}
	p := &plan{steps: make([]*step, 0, len(rows)), byName: make(map[string]*step, len(rows))}
	byID, needy := make(map[StatusID]*step, len(rows)), false
	for i := range rows {
		st := &rows[i]
		p.add(st)
		byID[st.ID] = st
		needy = needy || st.ByNeeds
	}
	if !needy {
		return p, nil
	}
	needs, err := db.Select[need](ctx, s.DB, `SELECT n.job_id, n.name, n.optional FROM job_needs n JOIN commit_statuses s ON s.id = n.job_id
		WHERE s.pipeline_id = ? AND NOT s.retried ORDER BY n.job_id, n.position`, of)
	if err != nil {
		return nil, fmt.Errorf("needs of jobs: %w", err)
	}
	for _, n := range needs {
		byID[n.JobID].needs = append(byID[n.JobID].needs, n)
	}
	return p, nil
}

// add puts a job behind the others. What another system reported is nothing that a job can need, whatever its name.
func (p *plan) add(st *step) {
	p.steps = append(p.steps, st)
	if st.Kind != ExternalKind {
		p.byName[st.Name] = st
	}
}

// run gives a state to every job whose turn has come, until none is left.
func (p *plan) run(now time.Time) {
	for again := true; again; {
		again = false
		earlier, stage := tally{}, 0
		for i, first := 0, 0; i < len(p.steps); i++ {
			st := p.steps[i]
			if st.StageIndex != stage {
				for ; first < i; first++ {
					earlier[p.steps[first].standing()]++
				}
				stage = st.StageIndex
			}
			if st.Kind == ExternalKind || st.State != Created {
				continue
			}
			if to, ok := st.turn(p.before(st, earlier)); ok {
				st.was = st.Status
				st.enter(to, now)
				st.entered, again = true, true
			}
		}
	}
}

// before returns the state of what a job waits for.
func (p *plan) before(st *step, earlier tally) State {
	if !st.ByNeeds {
		if len(earlier) == 0 {
			return Success
		}
		return earlier.sum()
	}
	t := tally{}
	for _, n := range st.needs {
		if of := p.byName[n.Name]; of != nil {
			t[of.standing()]++
		}
	}
	if len(t) == 0 {
		return Success
	}
	return t.sumOfNeeds()
}

// turn returns the state of a job whose turn has come.
func (s *step) turn(before State) (State, bool) {
	if !before.Complete() {
		return "", false
	}
	var runs []State
	switch s.When {
	case "on_failure":
		runs = []State{Failed}
	case "always":
		runs = []State{Success, Failed, Skipped}
	default:
		runs = []State{Success}
		if !s.ByNeeds {
			runs = append(runs, Skipped)
		}
	}
	switch {
	case !slices.Contains(runs, before):
		return Skipped, true
	case s.When == "manual":
		return Manual, true
	case s.When == "delayed":
		return Scheduled, true
	}
	return s.ready(), true
}

// sum is the state of the pipeline.
func (p *plan) sum() State {
	t := tally{}
	for _, st := range p.steps {
		t[st.standing()]++
	}
	return t.sum()
}

// lock reads a pipeline and keeps it locked until the transaction ends. Whatever changes a job locks
// its pipeline first.
func (s *Service) lock(ctx context.Context, id PipelineID) (*Pipeline, error) {
	p, err := db.ForUpdate[Pipeline](ctx, s.DB, db.Row{Table: "pipelines", ID: id})
	if err != nil {
		return nil, fmt.Errorf("lock pipeline: %w", err)
	}
	return &p, nil
}

// advance lets a locked pipeline go on: jobs whose turn has come are queued, wait for a user or are
// skipped, and the pipeline gets the state that its jobs have together.
func (s *Service) advance(ctx context.Context, as authz.Actor, p *project.Project, of *Pipeline) error {
	now := s.Now()
	plan, err := s.plan(ctx, of.ID)
	if err != nil {
		return err
	}
	if len(plan.steps) == 0 {
		return nil // its configuration is wrong, or it was skipped
	}
	plan.run(now)
	if err := s.Gate().awaitApprovals(ctx, p, plan); err != nil {
		return err
	}
	if err := s.writeSteps(ctx, of, plan, now); err != nil {
		return err
	}
	out, err := db.Update(ctx, s.DB, db.Row{Table: "pipelines", ID: of.ID}, func(_ context.Context, row *Pipeline) error {
		row.State, row.UpdatedAt = plan.sum(), db.At(now)
		row.HasFailed = row.HasFailed || row.State == Failed
		for _, st := range plan.steps {
			if st.StartedAt != nil && (row.StartedAt == nil || st.StartedAt.Before(row.StartedAt.Time)) {
				row.StartedAt = st.StartedAt
			}
		}
		switch {
		case !row.State.Complete():
			row.FinishedAt = nil
		case row.FinishedAt == nil:
			row.FinishedAt = &row.UpdatedAt
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write state of pipeline: %w", err)
	}
	*of = out.After
	var was []Status
	for _, st := range plan.steps {
		if st.entered {
			was = append(was, st.was)
		}
	}
	if err := s.publishJobs(ctx, as, p, of, was); err != nil {
		return err
	}
	if out.Before.State == out.After.State {
		return nil
	}
	return s.publish(ctx, PipelineChanged{change.Updated(as, now, p.Place(), &out), p})
}

// publish tells of a pipeline. One that has ended takes its reference with it.
func (s *Service) publish(ctx context.Context, e PipelineChanged) error {
	if e.Row().Source != External && e.Row().State.Complete() {
		if err := s.Deps.Jobs.Enqueue(ctx, dropRef{ProjectID: e.Row().ProjectID, PipelineID: e.Row().ID}); err != nil {
			return fmt.Errorf("enqueue end of pipeline: %w", err)
		}
	}
	if e.Row().State.Complete() || e.Before != nil && e.Before.State.Complete() {
		if err := s.tellBridges(ctx, e.Row()); err != nil {
			return err
		}
	}
	return s.Bus.Publish(ctx, e)
}

// writeSteps writes the states that a plan gave.
func (s *Service) writeSteps(ctx context.Context, of *Pipeline, p *plan, now time.Time) error {
	byState := map[State][]StatusID{}
	for _, st := range p.steps {
		if st.entered {
			byState[st.State] = append(byState[st.State], st.ID)
		}
	}
	for _, to := range []State{Skipped, Manual, Scheduled, WaitingForResource} {
		if err := s.enterAll(ctx, byState[to], to, now); err != nil {
			return err
		}
	}
	if err := s.schedule(ctx, byState[Scheduled], now); err != nil {
		return err
	}
	return s.enqueue(ctx, of, byState[Pending], now)
}

// enterAll gives many jobs one state, at a time that is noted where the state is a last one.
func (s *Service) enterAll(ctx context.Context, ids []StatusID, to State, now time.Time) error {
	set, values := "status = ?, updated_at = ?", []any{to, db.At(now)}
	if to == Canceled {
		set, values = set+", finished_at = ?", append(values, db.At(now))
	}
	for chunk := range slices.Chunk(ids, db.MaxArgs) {
		marks, args := db.Marks(chunk)
		_, err := s.DB.Exec(ctx, "UPDATE commit_statuses SET "+set+" WHERE id IN ("+marks+")", append(slices.Clip(values), args...)...)
		if err != nil {
			return fmt.Errorf("write states of jobs: %w", err)
		}
	}
	return nil
}

// enqueue makes jobs pending: runners may take them, and bridges start their pipelines.
func (s *Service) enqueue(ctx context.Context, of *Pipeline, ids []StatusID, now time.Time) error {
	at := db.At(now)
	for chunk := range slices.Chunk(ids, db.MaxArgs) {
		marks, args := db.Marks(chunk)
		_, err := s.DB.Exec(ctx, "UPDATE commit_statuses SET status = ?, queued_at = ?, updated_at = ? WHERE id IN ("+marks+")",
			append([]any{Pending, at, at}, args...)...)
		if err != nil {
			return fmt.Errorf("queue jobs: %w", err)
		}
		_, err = s.DB.Exec(ctx, `INSERT INTO job_queue (job_id, project_id, protected, tags, queued_at)
			SELECT s.id, s.project_id, ?, (SELECT COUNT(*) FROM job_tags t WHERE t.job_id = s.id), s.queued_at
			FROM commit_statuses s WHERE s.kind = 'job' AND s.id IN (`+marks+")", append([]any{of.Protected}, args...)...)
		if err != nil {
			return fmt.Errorf("queue jobs: %w", err)
		}
		bridges, err := db.Select[StatusID](ctx, s.DB, "SELECT id FROM commit_statuses WHERE kind = 'bridge' AND id IN ("+marks+") ORDER BY id", args...)
		if err != nil {
			return fmt.Errorf("find bridges: %w", err)
		}
		if err := s.followUp(ctx, followUps{Bridges: bridges}); err != nil {
			return err
		}
	}
	if len(ids) > 0 {
		s.wake(ctx, len(ids))
	}
	return nil
}

// schedule says when delayed jobs start.
func (s *Service) schedule(ctx context.Context, ids []StatusID, now time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	var w db.Where
	w.In("j.job_id", ids)
	builds, err := db.Select[Build](ctx, s.DB, "SELECT "+db.Columns[Build]("j")+" FROM jobs j"+w.SQL()+" ORDER BY j.job_id", w.Args()...)
	if err != nil {
		return fmt.Errorf("delayed jobs: %w", err)
	}
	for i := range builds {
		c, err := builds[i].Config()
		if err != nil {
			return err
		}
		at := db.At(now.Add(c.StartIn))
		builds[i].ScheduledAt = &at
	}
	// The rows are there: this is one statement for many times.
	if err := db.InsertRows(ctx, s.DB, "jobs", builds, "ON CONFLICT (job_id) DO UPDATE SET scheduled_at = excluded.scheduled_at"); err != nil {
		return fmt.Errorf("schedule jobs: %w", err)
	}
	return s.followUp(ctx, followUps{Delayed: ids})
}
