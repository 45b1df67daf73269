package audit

import (
	"context"

	"tenon/internal/core/deploykey"
)

func aboutDeployKey(e deploykey.Change, event, message string) Entry {
	out := aboutProject(e.By, e.ProjectID, e.Title, e.FullPath, event, message)
	out.TargetType, out.TargetID = "DeployKey", int64(e.KeyID)
	out.Details = map[string]any{"fingerprint_sha256": e.Fingerprint, "can_push": e.CanPush}
	return out
}

// DeployKeyAdded records that a key was let into a project.
func (r *Recorder) DeployKeyAdded(ctx context.Context, e deploykey.Added) error {
	return r.Record(ctx, aboutDeployKey(e.Change, "deploy_key_added", "Added deploy key"))
}

// DeployKeyUpdated records another title of a key, or what it may do in a project.
func (r *Recorder) DeployKeyUpdated(ctx context.Context, e deploykey.Updated) error {
	return r.Record(ctx, aboutDeployKey(e.Change, "deploy_key_updated", "Updated deploy key"))
}

// DeployKeyRemoved records that a key was shut out of a project.
func (r *Recorder) DeployKeyRemoved(ctx context.Context, e deploykey.Removed) error {
	return r.Record(ctx, aboutDeployKey(e.Change, "deploy_key_removed", "Removed deploy key"))
}

// PublicDeployKeyAdded records a key that every project may enable.
func (r *Recorder) PublicDeployKeyAdded(ctx context.Context, e deploykey.PublicAdded) error {
	return r.Record(ctx, Entry{
		By: e.By, EntityType: Instance, EntityID: 1, Event: "deploy_key_added", Message: "Added public deploy key",
		TargetType: "DeployKey", TargetID: int64(e.KeyID), TargetDetails: e.Title,
		Details: map[string]any{"fingerprint_sha256": e.Fingerprint},
	})
}
