package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
)

// runners is about runners.
func (t table) runners() {
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
