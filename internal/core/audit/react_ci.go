package audit

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/jobtoken"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
	"tenon/internal/core/schedule"
	"tenon/internal/core/securefile"
	"tenon/internal/core/trigger"
	"tenon/internal/core/variable"
)

// subscribeCI is about what jobs are run with.
func (r *Recorder) subscribeCI(b *event.Bus) {
	event.On(b, name, r.VariableCreated)
	event.On(b, name, r.VariableUpdated)
	event.On(b, name, r.VariableDeleted)
	event.On(b, name, r.RunnerCreated)
	event.On(b, name, r.RunnerDeleted)
	event.On(b, name, r.RunnerTokenReset)
	event.On(b, name, r.RunnerAssigned)
	event.On(b, name, r.RunnerUnassigned)
	event.On(b, name, r.RegistrationReset)
	event.On(b, name, r.TriggerCreated)
	event.On(b, name, r.TriggerUpdated)
	event.On(b, name, r.TriggerDeleted)
	event.On(b, name, r.ScheduleChanged)
	event.On(b, name, r.ResourceGroupChanged)
	event.On(b, name, r.SecureFileCreated)
	event.On(b, name, r.SecureFileDeleted)
	event.On(b, name, r.JobTokenScopeChanged)
	event.On(b, name, r.JobTokenAllowed)
	event.On(b, name, r.JobTokenDisallowed)
}

// aboutVariable is an entry about a variable; %s in the event is the kind of its place.
func aboutVariable(e variable.Fact, done string) Entry {
	out, kind, class := Entry{EntityType: Instance, EntityID: 1}, "ci_instance_variable", "Ci::InstanceVariable"
	if e.Place.Place != nil {
		out, kind, class = at(*e.Place.Place), "ci_variable", "Ci::Variable"
		if e.Place.Group {
			kind, class = "ci_group_variable", "Ci::GroupVariable"
		}
	}
	out.By, out.Event = e.By, kind+"_"+done
	out.TargetType, out.TargetID, out.TargetDetails = class, int64(e.Variable.ID), e.Variable.Key
	return out
}

// VariableCreated records a new CI/CD variable.
func (r *Recorder) VariableCreated(ctx context.Context, e variable.Created) error {
	out := aboutVariable(e.Fact, "created")
	out.Message, out.Details = "Added ci variable", map[string]any{"add": "ci_variable"}
	return r.Record(ctx, out)
}

// VariableUpdated records each attribute of a CI/CD variable that changed, and no value.
func (r *Recorder) VariableUpdated(ctx context.Context, e variable.Updated) error {
	was, is := e.Before, e.Variable
	err := r.changes(ctx, []change{
		{"variable protection", was.Protected, is.Protected},
		{"variable masking", was.Masked, is.Masked},
		{"environment scope", was.Scope, is.Scope},
		{"variable type", was.Type, is.Type},
	}, func() Entry { return aboutVariable(e.Fact, "updated") })
	if err != nil || !e.ValueChanged {
		return err
	}
	out := aboutVariable(e.Fact, "updated")
	out.Message, out.Details = "Changed variable value", map[string]any{"change": "variable value"}
	return r.Record(ctx, out)
}

// VariableDeleted records that a CI/CD variable is gone.
func (r *Recorder) VariableDeleted(ctx context.Context, e variable.Deleted) error {
	out := aboutVariable(e.Fact, "deleted")
	out.Message, out.Details = "Removed ci variable", map[string]any{"remove": "ci_variable"}
	return r.Record(ctx, out)
}

// aboutRunner is an entry about a runner, in its group, in a project or in the instance.
func (r *Recorder) aboutRunner(ctx context.Context, by authz.Actor, of *runner.Runner, in *project.ID) (Entry, error) {
	out := Entry{EntityType: Instance, EntityID: 1}
	switch {
	case in != nil:
		path, err := r.pathOf(ctx, "SELECT r.path FROM projects p JOIN routes r ON r.namespace_id = p.namespace_id WHERE p.id = ?", *in)
		if err != nil {
			return out, err
		}
		out = Entry{EntityType: Project, EntityID: int64(*in), EntityPath: path}
	case of.NamespaceID != nil:
		path, err := r.pathOf(ctx, "SELECT r.path FROM routes r WHERE r.namespace_id = ?", *of.NamespaceID)
		if err != nil {
			return out, err
		}
		out = Entry{EntityType: Group, EntityID: int64(*of.NamespaceID), EntityPath: path}
	}
	out.By, out.TargetType, out.TargetID = by, "Ci::Runner", int64(of.ID)
	out.TargetDetails = fmt.Sprintf("Runner %d", of.ID)
	if of.Description != nil && *of.Description != "" {
		out.TargetDetails = *of.Description
	}
	return out, nil
}

// pathOf reads the path of a place, "" for one that is gone.
func (r *Recorder) pathOf(ctx context.Context, query string, id any) (string, error) {
	path, err := db.Get[string](ctx, r.db, query, id)
	if errors.Is(err, db.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("path of place: %w", err)
	}
	return path, nil
}

// kinds are the types of runners in messages.
var kinds = map[runner.Type]string{runner.InstanceType: "instance", runner.GroupType: "group", runner.ProjectType: "project"}

// RunnerCreated records a runner that was registered or created.
func (r *Recorder) RunnerCreated(ctx context.Context, e runner.Created) error {
	out, err := r.aboutRunner(ctx, e.By, &e.Runner, e.ProjectID)
	if err != nil {
		return err
	}
	out.Event, out.Message = "ci_runner_created", fmt.Sprintf("Created %s CI runner", kinds[e.Runner.Type])
	if e.Runner.Registered {
		out.Event, out.Message = "ci_runner_registered", fmt.Sprintf("Registered %s CI runner", kinds[e.Runner.Type])
	}
	return r.Record(ctx, out)
}

// RunnerDeleted records that a runner is gone.
func (r *Recorder) RunnerDeleted(ctx context.Context, e runner.Deleted) error {
	out, err := r.aboutRunner(ctx, e.By, &e.Runner, e.ProjectID)
	if err != nil {
		return err
	}
	out.Event, out.Message = "ci_runner_unregistered", fmt.Sprintf("Unregistered %s CI runner", kinds[e.Runner.Type])
	return r.Record(ctx, out)
}

// RunnerTokenReset records another authentication token of a runner.
func (r *Recorder) RunnerTokenReset(ctx context.Context, e runner.TokenReset) error {
	out, err := r.aboutRunner(ctx, e.By, &e.Runner, nil)
	if err != nil {
		return err
	}
	out.Event, out.Message = "ci_runner_token_reset", "Reset CI runner authentication token"
	return r.Record(ctx, out)
}

// RunnerAssigned records that a runner serves a further project.
func (r *Recorder) RunnerAssigned(ctx context.Context, e runner.Assigned) error {
	out, err := r.aboutRunner(ctx, e.By, &e.Runner, &e.Project.ID)
	if err != nil {
		return err
	}
	out.Event, out.Message = "ci_runner_assigned_to_project", "Assigned CI runner to project"
	return r.Record(ctx, out)
}

// RunnerUnassigned records that a runner does not serve a project any more.
func (r *Recorder) RunnerUnassigned(ctx context.Context, e runner.Unassigned) error {
	out, err := r.aboutRunner(ctx, e.By, &e.Runner, &e.Project.ID)
	if err != nil {
		return err
	}
	out.Event, out.Message = "ci_runner_unassigned_from_project", "Unassigned CI runner from project"
	return r.Record(ctx, out)
}

// RegistrationReset records another registration token of a place.
func (r *Recorder) RegistrationReset(ctx context.Context, e runner.RegistrationReset) error {
	out := Entry{EntityType: Instance, EntityID: 1, TargetType: "Ci::Runner"}
	if e.Place != nil {
		out = at(*e.Place)
		out.TargetType, out.TargetID, out.TargetDetails = out.EntityType, out.EntityID, e.Place.Name
	}
	out.By, out.Event = e.By, "ci_runner_registration_token_reset"
	out.Message = fmt.Sprintf("Reset %s runner registration token", kinds[e.Type])
	return r.Record(ctx, out)
}

func aboutTrigger(e trigger.Change, done, message string) Entry {
	out := aboutProject(e.By, e.Project.ID, e.Description, e.Project.FullPath, "ci_pipeline_trigger_"+done, message)
	out.TargetType, out.TargetID = "Ci::Trigger", int64(e.TriggerID)
	return out
}

// TriggerCreated records a new pipeline trigger token.
func (r *Recorder) TriggerCreated(ctx context.Context, e trigger.Created) error {
	return r.Record(ctx, aboutTrigger(e.Change, "created", "Created pipeline trigger token"))
}

// TriggerUpdated records another description of a pipeline trigger token.
func (r *Recorder) TriggerUpdated(ctx context.Context, e trigger.Updated) error {
	return r.Record(ctx, aboutTrigger(e.Change, "updated", "Updated pipeline trigger token"))
}

// TriggerDeleted records that a pipeline trigger token is gone.
func (r *Recorder) TriggerDeleted(ctx context.Context, e trigger.Deleted) error {
	return r.Record(ctx, aboutTrigger(e.Change, "deleted", "Deleted pipeline trigger token"))
}

// ScheduleChanged records that a pipeline schedule was made or deleted, or each attribute of it that changed.
func (r *Recorder) ScheduleChanged(ctx context.Context, e schedule.Changed) error {
	about := func(s *schedule.Schedule, done, message string) Entry {
		out := aboutProject(e.By, e.Project.ID, s.Description, e.Project.FullPath, "ci_pipeline_schedule_"+done, message)
		out.TargetType, out.TargetID = "Ci::PipelineSchedule", int64(s.ID)
		return out
	}
	switch was, is := e.Before, e.After; {
	case was == nil:
		return r.Record(ctx, about(is, "created", "Created pipeline schedule"))
	case is == nil:
		return r.Record(ctx, about(was, "deleted", "Deleted pipeline schedule"))
	default:
		return r.changes(ctx, []change{
			{"owner", was.OwnerID, is.OwnerID},
			{"description", was.Description, is.Description},
			{"ref", was.Ref, is.Ref},
			{"cron", was.Cron, is.Cron},
			{"cron timezone", was.Timezone, is.Timezone},
			{"active", was.Active, is.Active},
		}, func() Entry { return about(is, "updated", "") })
	}
}

// ResourceGroupChanged records another process mode of a resource group.
func (r *Recorder) ResourceGroupChanged(ctx context.Context, e ci.ResourceGroupChanged) error {
	return r.changes(ctx, []change{{"process mode", e.Before.ProcessMode, e.After.ProcessMode}}, func() Entry {
		out := aboutProject(e.By, e.Project.ID, e.After.Key, e.Project.FullPath, "ci_resource_group_updated", "")
		out.TargetType, out.TargetID = "Ci::ResourceGroup", int64(e.After.ID)
		return out
	})
}

// change is an attribute with its values before and after.
type change struct {
	what     string
	from, to any
}

// changes records an entry for each attribute whose values differ.
func (r *Recorder) changes(ctx context.Context, list []change, entry func() Entry) error {
	for _, c := range list {
		if c.from == c.to {
			continue
		}
		out := entry()
		out.Message = fmt.Sprintf("Changed %s from %v to %v", c.what, c.from, c.to)
		out.Details = map[string]any{"change": c.what, "from": fmt.Sprint(c.from), "to": fmt.Sprint(c.to)}
		if err := r.Record(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

func aboutSecureFile(e securefile.Fact, done, message string) Entry {
	out := aboutProject(e.By, e.Project.ID, e.Name, e.Project.FullPath, "ci_secure_file_"+done, message)
	out.TargetType, out.TargetID = "Ci::SecureFile", int64(e.FileID)
	return out
}

// SecureFileCreated records a new secure file.
func (r *Recorder) SecureFileCreated(ctx context.Context, e securefile.Created) error {
	return r.Record(ctx, aboutSecureFile(e.Fact, "created", "Added secure file"))
}

// SecureFileDeleted records that a secure file is gone.
func (r *Recorder) SecureFileDeleted(ctx context.Context, e securefile.Deleted) error {
	return r.Record(ctx, aboutSecureFile(e.Fact, "deleted", "Removed secure file"))
}

// JobTokenScopeChanged records that a project opens itself to the jobs of all projects, or ends that.
func (r *Recorder) JobTokenScopeChanged(ctx context.Context, e jobtoken.ScopeChanged) error {
	event, message := "secure_ci_job_token_inbound_disabled", "Secure ci_job_token was disabled for inbound"
	if e.Inbound {
		event, message = "secure_ci_job_token_inbound_enabled", "Secure ci_job_token was enabled for inbound"
	}
	return r.Record(ctx, aboutProject(e.By, e.Project.ID, e.Project.Name, e.Project.FullPath, event, message))
}

// JobTokenAllowed records that a project lets the jobs of another one, or of a group, in.
func (r *Recorder) JobTokenAllowed(ctx context.Context, e jobtoken.Allowed) error {
	return r.Record(ctx, aboutListing(&e.Listing, "added", "added to"))
}

// JobTokenDisallowed records that it does so no more.
func (r *Recorder) JobTokenDisallowed(ctx context.Context, e jobtoken.Disallowed) error {
	return r.Record(ctx, aboutListing(&e.Listing, "removed", "removed from"))
}

func aboutListing(e *jobtoken.Listing, done, words string) Entry {
	kind, label := "project", "Project"
	if e.Group {
		kind, label = "group", "Group"
	}
	return aboutProject(e.By, e.Project.ID, e.Project.Name, e.Project.FullPath, "secure_ci_job_token_"+kind+"_"+done,
		fmt.Sprintf("%s %s was %s inbound list of allowed projects for ci_job_token", label, e.Name, words))
}
