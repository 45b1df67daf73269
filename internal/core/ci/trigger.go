package ci

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// TriggerInput says which pipeline a token starts.
type TriggerInput struct {
	Project   string // ID or full path
	Token     string // of a trigger, or of a job that runs in the project
	Ref       string
	Variables []Variable
	Address   string // of the client
	Payload   string // JSON of all that was sent but the token, which jobs get as TRIGGER_PAYLOAD
}

// payloadKey is the variable with what was sent to start a pipeline.
const payloadKey = "TRIGGER_PAYLOAD"

// Trigger makes a pipeline for the bearer of a token: as the user who owns the trigger, or as the user of the job. A token that is unknown,
// or of another project, is NotFound as a project is that its user may not see.
func (s *Service) Trigger(ctx context.Context, in TriggerInput) (*Pipeline, *project.Project, error) {
	run := RunInput{Ref: in.Ref, Source: ByTrigger, Variables: append(in.Variables, Variable{Key: payloadKey, Value: in.Payload, File: true, Raw: true})}
	var as authz.Actor
	var p *project.Project
	var err error
	if secret.Has(in.Token, jobTokenPrefix) {
		run.Source = ByPipeline
		as, p, err = s.bearing(ctx, in, &run)
	} else {
		as, p, err = s.triggering(ctx, in, &run)
	}
	if err != nil {
		return nil, nil, err
	}
	made, err := s.Run(ctx, as, p, run)
	if errs.Is(err, errs.Forbidden) {
		err = refused(noRights)
	}
	return made, p, err
}

// triggering returns the owner of a trigger token, and its project.
func (s *Service) triggering(ctx context.Context, in TriggerInput, run *RunInput) (authz.Actor, *project.Project, error) {
	t, err := s.Triggers.FindTrigger(ctx, in.Token)
	if err != nil {
		return authz.Actor{}, nil, err
	}
	as, err := s.Accounts.StandIn(ctx, strconv.FormatInt(int64(t.OwnerID), 10))
	if errs.Is(err, errs.Forbidden) {
		return as, nil, refused(noRights)
	}
	if err != nil {
		return as, nil, err
	}
	as.Address = in.Address
	p, err := s.Projects.Find(ctx, as, in.Project)
	if err == nil && p.ID != t.ProjectID {
		err = errs.Missing("")
	}
	run.trigger = &t.ID
	return as, p, err
}

// bearing returns the user of a job by its token, and the project of the job.
func (s *Service) bearing(ctx context.Context, in TriggerInput, run *RunInput) (authz.Actor, *project.Project, error) {
	as, err := s.Bearer(ctx, in.Token)
	if errs.Is(err, errs.Unauthorized) {
		err = errs.Missing("")
	}
	if err != nil {
		return as, nil, err
	}
	j, err := s.loadJob(ctx, StatusID(as.Job.ID))
	if err != nil {
		return as, nil, err
	}
	p, err := s.Projects.Find(ctx, as, in.Project)
	if err == nil && p.ID != j.ProjectID {
		err = errs.Missing("")
	}
	if err != nil {
		return as, nil, err
	}
	hops, _, err := s.above(ctx, j.PipelineID)
	if err == nil && hops >= maxHops {
		err = refused("Too many pipelines have started one another")
	}
	run.upstream, as.Job = &j.ID, authz.JobCredential{}
	return as, p, err
}

// scheduleVariables are about the schedule that started a pipeline.
func (s *Service) scheduleVariables(ctx context.Context, l *list, of *Pipeline) error {
	if of.ScheduleID == nil {
		return nil
	}
	text, err := db.Get[string](ctx, s.DB, "SELECT s.description FROM pipeline_schedules s WHERE s.id = ?", *of.ScheduleID)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("schedule of pipeline: %w", err)
	}
	if text != "" {
		l.text("CI_PIPELINE_SCHEDULE_DESCRIPTION", text)
	}
	return nil
}

// triggerVariables are about the token that started a pipeline.
func (s *Service) triggerVariables(ctx context.Context, l *list, of *Pipeline) error {
	if of.TriggerID == nil {
		return nil
	}
	short, err := s.Triggers.ShortToken(ctx, *of.TriggerID)
	l.optional("CI_TRIGGER_SHORT_TOKEN", short)
	return err
}
