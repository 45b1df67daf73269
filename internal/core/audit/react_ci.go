package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/jobtoken"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
	"tenon/internal/core/schedule"
	"tenon/internal/core/securefile"
	"tenon/internal/core/trigger"
	"tenon/internal/core/variable"
)

// ci is about what jobs are run with.
func (t table) ci() {
	record(t, "ci_{scope}variable_created", "Added ci variable", detail[variable.Created]("add", "ci_variable"))
	many(t, variableUpdated)
	record(t, "ci_{scope}variable_deleted", "Removed ci variable", detail[variable.Deleted]("remove", "ci_variable"))
	read(t, func(ctx context.Context, e runner.Created) (Entry, error) {
		done := either(e.After.Registered, "registered", "created")
		return t.ofRunner(ctx, e.Stamp, e.Row(), e.ProjectID, "ci_runner_"+done, strings.ToUpper(done[:1])+done[1:]+" "+kinds[e.Row().Type]+" CI runner")
	})
	read(t, func(ctx context.Context, e runner.Deleted) (Entry, error) {
		return t.ofRunner(ctx, e.Stamp, e.Row(), e.ProjectID, "ci_runner_unregistered", "Unregistered "+kinds[e.Row().Type]+" CI runner")
	})
	read(t, func(ctx context.Context, e runner.TokenReset) (Entry, error) {
		return t.ofRunner(ctx, e.Stamp, e.Row(), nil, "ci_runner_token_reset", "Reset CI runner authentication token")
	})
	read(t, func(ctx context.Context, e runner.Assigned) (Entry, error) {
		return t.ofRunner(ctx, e.Stamp, e.Row(), projectOf(e.Place), "ci_runner_assigned_to_project", "Assigned CI runner to project")
	})
	read(t, func(ctx context.Context, e runner.Unassigned) (Entry, error) {
		return t.ofRunner(ctx, e.Stamp, e.Row(), projectOf(e.Place), "ci_runner_unassigned_from_project", "Unassigned CI runner from project")
	})
	one(t, func(e runner.RegistrationReset) Entry {
		out := in(e.Stamp, e.Place)
		if e.Place.IsInstance() {
			out.TargetType = "Ci::Runner"
		} else {
			out.TargetType, out.TargetID, out.TargetDetails = out.EntityType, out.EntityID, e.Place.Name
		}
		out.Event, out.Message = "ci_runner_registration_token_reset", "Reset "+kinds[e.Type]+" runner registration token"
		return out
	})
	record[trigger.Created](t, "ci_pipeline_trigger_created", "Created pipeline trigger token")
	record[trigger.Updated](t, "ci_pipeline_trigger_updated", "Updated pipeline trigger token")
	record[trigger.Deleted](t, "ci_pipeline_trigger_deleted", "Deleted pipeline trigger token")
	many(t, scheduleChanged)
	updates[ci.ResourceGroupChanged](t, "ci_resource_group_updated", [2]string{"process_mode", "process mode"})
	record[securefile.Created](t, "ci_secure_file_created", "Added secure file")
	record[securefile.Deleted](t, "ci_secure_file_deleted", "Removed secure file")
	one(t, func(e jobtoken.ScopeChanged) Entry {
		done := either(e.Inbound, "enabled", "disabled")
		return entry(change.View(e.Stamp, e.Project.Place(), &e.Project, &e.Project), "secure_ci_job_token_inbound_"+done, "Secure ci_job_token was "+done+" for inbound")
	})
	one(t, func(e jobtoken.Allowed) Entry { return listed(&e.Listing, "added", "added to") })
	one(t, func(e jobtoken.Disallowed) Entry { return listed(&e.Listing, "removed", "removed from") })
}

// variableUpdated has an entry for each attribute of a variable that changed, and no value.
func variableUpdated(e variable.Updated) []Entry {
	const event = "ci_{scope}variable_updated"
	f := e.Changed()
	out := changed(f, event, [][2]string{
		{"protected", "variable protection"}, {"masked", "variable masking"}, {"environment_scope", "environment scope"}, {"variable_type", "variable type"},
	})
	if e.ValueChanged {
		out = append(out, entry(f, event, "Changed variable value").with("change", "variable value"))
	}
	return out
}

// scheduleChanged says that a schedule was made or deleted, or each attribute of it that changed.
func scheduleChanged(e schedule.Changed) []Entry {
	const name = "ci_pipeline_schedule_"
	switch f := e.Changed(); {
	case f.Before == nil:
		return []Entry{entry(f, name+"created", "Created pipeline schedule")}
	case f.After == nil:
		return []Entry{entry(f, name+"deleted", "Deleted pipeline schedule")}
	default:
		return changed(f, name+"updated", [][2]string{
			{"owner_id", "owner"}, {"description", "description"}, {"ref", "ref"}, {"cron", "cron"}, {"cron_timezone", "cron timezone"}, {"active", "active"},
		})
	}
}

// kinds are the types of runners in messages.
var kinds = map[runner.Type]string{runner.InstanceType: "instance", runner.GroupType: "group", runner.ProjectType: "project"}

// ofRunner is an entry about a runner, in its group, in a project or in the instance.
func (t table) ofRunner(ctx context.Context, by authz.Stamp, of *runner.Runner, at *project.ID, event, message string) (Entry, error) {
	out := in(by, authz.Place{})
	out.Event, out.Message, out.TargetType, out.TargetID = event, message, "Ci::Runner", int64(of.ID)
	if out.TargetDetails = fmt.Sprintf("Runner %d", of.ID); of.Description != nil && *of.Description != "" {
		out.TargetDetails = *of.Description
	}
	var err error
	switch {
	case at != nil:
		out.EntityType, out.EntityID = Project, int64(*at)
		out.EntityPath, err = t.path(ctx, "SELECT r.path FROM projects p JOIN routes r ON r.namespace_id = p.namespace_id WHERE p.id = ?", *at)
	case of.NamespaceID != nil:
		out.EntityType, out.EntityID = Group, int64(*of.NamespaceID)
		out.EntityPath, err = t.path(ctx, "SELECT r.path FROM routes r WHERE r.namespace_id = ?", *of.NamespaceID)
	}
	return out, err
}

func projectOf(in authz.Place) *project.ID { return new(project.ID(in.ID)) }

// path reads the path of a place, "" for one that is gone.
func (t table) path(ctx context.Context, query string, id any) (string, error) {
	path, err := db.Get[string](ctx, t.s.DB, query, id)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return "", fmt.Errorf("path of place: %w", err)
	}
	return path, nil
}

func listed(e *jobtoken.Listing, done, words string) Entry {
	kind := either(e.Group, "group", "project")
	return entry(change.View(e.Stamp, e.Project.Place(), &e.Project, &e.Project), "secure_ci_job_token_"+kind+"_"+done,
		either(e.Group, "Group ", "Project ")+e.Name+" was "+words+" inbound list of allowed projects for ci_job_token")
}
