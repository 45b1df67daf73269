// Package schedule makes pipelines at set times.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/crontab"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/base/secret"
	"tenon/internal/base/timezone"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/project"
)

// ID identifies a schedule.
type ID = ci.ScheduleID

// Schedule is one row.
type Schedule struct {
	ID          ID           `db:"id"`
	ProjectID   project.ID   `db:"project_id"`
	OwnerID     authz.UserID `db:"owner_id"` // the user who runs the pipelines
	Description string       `db:"description"`
	Ref         string       `db:"ref"` // full or short name of a branch or tag, which need not exist
	Cron        string       `db:"cron"`
	Timezone    string       `db:"cron_timezone"`
	Active      bool         `db:"active"`
	NextRunAt   *db.Time     `db:"next_run_at"` // nil is never
	CreatedAt   db.Time      `db:"created_at"`
	UpdatedAt   db.Time      `db:"updated_at"`
}

// Input is what a schedule is made of.
type Input struct {
	Description string
	Ref         string // short or full name of a branch or tag
	Cron        string
	Timezone    string // "" is UTC
	Inactive    bool
	Variables   []VariableEdit
}

// Changes changes a schedule; nil leaves a value alone.
type Changes struct {
	Description, Ref, Cron, Timezone *string
	Active                           *bool
	Variables                        []VariableEdit
}

const (
	maxText      = 255
	maxSchedules = 50               // of one project, unless its plan allows fewer
	interval     = 10 * time.Minute // least time between two runs of a schedule
)

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Plans    *planlimit.Service
	Accounts *account.Service
	Projects *project.Service
	CI       *ci.Service
	Jobs     job.Enqueuer
	Box      *secret.Box
	Now      func() time.Time
	Log      *slog.Logger
}

// Service keeps schedules and runs them. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

var columns = db.Columns[Schedule]("s")

// Change says what happened to a schedule. Before is nil where it was made, After where it was deleted.
type Change struct {
	change.Of[Schedule]

	Project *project.Project
}

// Changed is published when a schedule was made, changed or deleted.
type Changed struct{ Change }

// readable requires the right to read pipelines of a project.
func (s *Service) readable(ctx context.Context, as authz.Actor, p *project.Project) error {
	return s.Policy.Require(ctx, as, reading(p), p.Subject())
}

// reading is the ability to read the schedules of a project.
func reading(p *project.Project) authz.Ability {
	if p.Settings().PublicJobs {
		return authz.ReadSchedules
	}
	return authz.ReadPrivateSchedules
}

// Filter selects from the schedules of a project; the zero value selects all.
type Filter struct {
	Active *bool
	IDs    []ID
	page.Range
}

// List returns the schedules of a project by id.
func (s *Service) List(ctx context.Context, as authz.Actor, p *project.Project, f Filter) (page.Page[Schedule], error) {
	if err := s.readable(ctx, as, p); err != nil {
		return page.Page[Schedule]{}, err
	}
	var w db.Where
	w.And("s.project_id = ?", p.ID)
	if f.Active != nil {
		w.And("s.active = ?", *f.Active)
	}
	if f.IDs != nil {
		w.In("s.id", f.IDs)
	}
	list, err := page.Select[Schedule](ctx, s.DB, page.Query{Columns: columns, From: "pipeline_schedules s", Where: w, Order: page.Order{page.ID("s.id")}}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list schedules: %w", err)
	}
	return list, nil
}

// Find returns a schedule of a project.
func (s *Service) Find(ctx context.Context, as authz.Actor, p *project.Project, id ID) (*Schedule, error) {
	if err := s.readable(ctx, as, p); err != nil {
		return nil, err
	}
	return s.find(ctx, p, id)
}

func (s *Service) find(ctx context.Context, p *project.Project, id ID) (*Schedule, error) {
	row, err := db.Get[Schedule](ctx, s.DB, "SELECT "+columns+" FROM pipeline_schedules s WHERE s.project_id = ? AND s.id = ?", p.ID, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Pipeline Schedule")
	}
	if err != nil {
		return nil, fmt.Errorf("find schedule: %w", err)
	}
	return &row, nil
}

// own returns a schedule that the actor may change: its owner, who still has the right to make pipelines.
func (s *Service) own(ctx context.Context, as authz.Actor, p *project.Project, id ID, ability authz.Ability) (*Schedule, error) {
	if err := s.Policy.Require(ctx, as, authz.CreatePipeline, p.Subject()); err != nil {
		return nil, err
	}
	row, err := s.find(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return row, s.Policy.Require(ctx, as, ability, s.subject(as, p, row))
}

func (s *Service) subject(as authz.Actor, p *project.Project, row *Schedule) authz.Subject {
	subject := p.Subject()
	subject.Own = as.Is(row.OwnerID)
	return subject
}

// check holds a schedule against its bounds and finds when it runs next.
func (s *Schedule) check(now time.Time) error {
	var f errs.Fields
	f.Check(strings.TrimSpace(s.Description) != "", "description", "can't be blank")
	f.Check(utf8.RuneCountInString(s.Description) <= maxText, "description", fmt.Sprintf("is too long (maximum is %d characters)", maxText))
	zoned := len(s.Timezone) <= maxText && timezone.Load(s.Timezone) != nil
	f.Check(zoned, "cron_timezone", "syntax is invalid")
	at, ok := time.Time{}, len(s.Cron) <= maxText && crontab.Valid(s.Cron)
	if ok && zoned {
		at, ok = crontab.Next(s.Cron, s.Timezone, now)
	}
	f.Check(ok, "cron", "syntax is invalid")
	if err := f.Err(); err != nil {
		return err
	}
	t := db.At(at)
	s.NextRunAt = &t
	return nil
}

// Create makes a schedule of the actor with its variables. It requires CreatePipeline, the right to run pipelines of a protected reference, and
// to set variables the role that the project asks for them.
func (s *Service) Create(ctx context.Context, as authz.Actor, p *project.Project, in Input) (*Schedule, error) {
	if err := s.Policy.Require(ctx, as, authz.CreatePipeline, p.Subject()); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	row := Schedule{
		ProjectID: p.ID, OwnerID: as.UserID, Description: in.Description, Ref: in.Ref, Cron: in.Cron, Timezone: in.Timezone, Active: !in.Inactive, CreatedAt: now, UpdatedAt: now,
	}
	if row.Timezone == "" {
		row.Timezone = "UTC"
	}
	if err := row.check(now.Time); err != nil {
		return nil, err
	}
	if err := s.CI.Runnable(ctx, as, p, row.Ref); err != nil {
		return nil, err
	}
	if err := s.mayEdit(ctx, as, p, in.Variables); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		n := planlimit.Least(s.Plans.InForce().CIPipelineSchedules, maxSchedules)
		full := errs.New(errs.Unprocessable, fmt.Sprintf("Maximum number of pipeline schedules (%d) exceeded", n))
		most := db.Bound{Table: "pipeline_schedules", Most: n, Full: full}
		most.Of.And("project_id = ?", p.ID)
		if err := db.Create(ctx, s.DB, "pipeline_schedules", &row, most); err != nil {
			return err
		}
		if err := s.edit(ctx, row.ID, in.Variables); err != nil {
			return err
		}
		return s.publish(ctx, as, p, nil, &row)
	})
	if err != nil {
		return nil, errs.Wrap(err, "create schedule")
	}
	return &row, nil
}

func (s *Service) publish(ctx context.Context, as authz.Actor, p *project.Project, before, after *Schedule) error {
	return s.Bus.Publish(ctx, Changed{Change{change.Between(as, s.Now(), p.Place(), before, after), p}})
}

// Update changes a schedule and its variables, all or nothing. Its owner alone may, with the right to run pipelines of the reference, and to set
// variables the role that the project asks for them.
func (s *Service) Update(ctx context.Context, as authz.Actor, p *project.Project, id ID, c Changes) (*Schedule, error) {
	row, err := s.own(ctx, as, p, id, authz.UpdateSchedule)
	if err != nil {
		return nil, err
	}
	ref := row.Ref
	if c.Ref != nil {
		ref = *c.Ref
	}
	if err := s.CI.Runnable(ctx, as, p, ref); err != nil {
		return nil, err
	}
	if err := s.mayEdit(ctx, as, p, c.Variables); err != nil {
		return nil, err
	}
	return s.change(ctx, as, p, id, c.Variables, func(row *Schedule) error {
		if c.Ref != nil {
			row.Ref = ref
		}
		for to, from := range map[*string]*string{&row.Description: c.Description, &row.Cron: c.Cron, &row.Timezone: c.Timezone} {
			if from != nil {
				*to = *from
			}
		}
		woken := c.Active != nil && *c.Active && !row.Active
		if c.Active != nil {
			row.Active = *c.Active
		}
		if c.Cron == nil && c.Timezone == nil && c.Description == nil && !woken {
			return nil
		}
		kept := row.NextRunAt
		if err := row.check(s.Now()); err != nil {
			return err
		}
		if c.Cron == nil && c.Timezone == nil && !woken {
			row.NextRunAt = kept
		}
		return nil
	})
}

// TakeOwnership makes the actor the owner of a schedule. It requires AdminSchedules.
func (s *Service) TakeOwnership(ctx context.Context, as authz.Actor, p *project.Project, id ID) (*Schedule, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminSchedules, p.Subject()); err != nil {
		return nil, err
	}
	if _, err := s.find(ctx, p, id); err != nil {
		return nil, err
	}
	return s.change(ctx, as, p, id, nil, func(row *Schedule) error {
		row.OwnerID = as.UserID
		return nil
	})
}

// change writes a schedule of a project and edits its variables.
func (s *Service) change(ctx context.Context, as authz.Actor, p *project.Project, id ID, edits []VariableEdit, fn func(*Schedule) error) (*Schedule, error) {
	var out db.Change[Schedule]
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, db.Row{Table: "pipeline_schedules", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("Pipeline Schedule")}, func(_ context.Context, row *Schedule) error {
			return fn(row)
		})
		if err == nil {
			err = s.edit(ctx, id, edits)
		}
		if err != nil || !out.Any() {
			return err
		}
		return s.publish(ctx, as, p, &out.Before, &out.After)
	})
	if err != nil {
		return nil, errs.Wrap(err, "change schedule")
	}
	return &out.After, nil
}

// Delete deletes a schedule. Its owner may, or who has AdminSchedules.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, id ID) error {
	if _, err := s.own(ctx, as, p, id, authz.DeleteSchedule); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete[Schedule](ctx, s.DB, db.Row{Table: "pipeline_schedules", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("Pipeline Schedule")}, nil)
		if err != nil {
			return err
		}
		return s.publish(ctx, as, p, &was, nil)
	})
	return errs.Wrap(err, "delete schedule")
}

// Pipelines lists the pipelines that a schedule made, the oldest first unless the filter says otherwise.
func (s *Service) Pipelines(ctx context.Context, as authz.Actor, p *project.Project, id ID, f ci.PipelineFilter) (page.Page[ci.Pipeline], error) {
	if _, err := s.Find(ctx, as, p, id); err != nil {
		return page.Page[ci.Pipeline]{}, err
	}
	f.Schedule = id
	return s.CI.List(ctx, as, p, f)
}

// Last returns the newest pipeline of a schedule that was read for the caller, nil where there is none.
func (s *Service) Last(ctx context.Context, as authz.Actor, p *project.Project, id ID) (*ci.Pipeline, error) {
	list, err := s.Pipelines(ctx, as, p, id, ci.PipelineFilter{Range: page.Range{Limit: 1}})
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

// About names it for events.
func (s Schedule) About() change.Subject {
	return change.Subject{Type: "Ci::PipelineSchedule", ID: int64(s.ID), Title: s.Description}
}
