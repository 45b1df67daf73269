package audit

import (
	"context"
	"strings"

	"tenon/internal/core/statuscheck"
)

// StatusCheckCreated records a new external status check.
func (r *Recorder) StatusCheckCreated(ctx context.Context, e statuscheck.Created) error {
	return r.Record(ctx, statusCheck(e.Fact, "create_status_check", "Added external status check "+e.Check.Name))
}

// StatusCheckUpdated records each attribute of an external status check that changed. Of the
// shared secret it says only that it did.
func (r *Recorder) StatusCheckUpdated(ctx context.Context, e statuscheck.Updated) error {
	for _, c := range []struct{ what, old, now string }{
		{"name", e.Before.Name, e.Check.Name},
		{"external url", e.Before.URL, e.Check.URL},
		{"protected branches", branchesOf(e.Before), branchesOf(&e.Check)},
	} {
		if c.old == c.now {
			continue
		}
		out := statusCheck(e.Fact, "update_status_check", "Changed "+c.what+" of external status check from "+c.old+" to "+c.now)
		out.Details = map[string]any{"change": c.what, "from": c.old, "to": c.now}
		if err := r.Record(ctx, out); err != nil {
			return err
		}
	}
	if was, is := e.Before.Sealed, e.Check.Sealed; (was == nil) != (is == nil) || was != nil && *was != *is {
		return r.Record(ctx, statusCheck(e.Fact, "update_status_check", "Changed shared secret of external status check"))
	}
	return nil
}

// StatusCheckDeleted records the end of an external status check.
func (r *Recorder) StatusCheckDeleted(ctx context.Context, e statuscheck.Deleted) error {
	return r.Record(ctx, statusCheck(e.Fact, "delete_status_check", "Removed external status check "+e.Check.Name))
}

// StatusCheckResponded records what a service answered about a merge request.
func (r *Recorder) StatusCheckResponded(ctx context.Context, e statuscheck.Responded) error {
	out := statusCheck(statuscheck.Fact{Stamp: e.Stamp, Project: e.Project, Check: e.Check}, "status_check_response_update",
		"Set status of external status check for merge request "+e.MergeRequest.IID.Reference()+" to "+string(e.Response.Status))
	out.Details = map[string]any{"change": "status", "to": string(e.Response.Status), "sha": e.Response.SHA}
	if e.Before != nil {
		out.Details["from"] = string(e.Before.Status)
	}
	return r.Record(ctx, out)
}

func statusCheck(e statuscheck.Fact, event, message string) Entry {
	out := aboutProject(e.By, e.Project.ID, e.Check.Name, e.Project.FullPath, event, message)
	out.TargetType, out.TargetID = "MergeRequests::ExternalStatusCheck", int64(e.Check.ID)
	return out
}

// branchesOf names the protected branches of a check.
func branchesOf(c *statuscheck.Check) string {
	if len(c.Branches) == 0 {
		return "all branches"
	}
	names := make([]string, len(c.Branches))
	for i, b := range c.Branches {
		names[i] = b.Name
	}
	return strings.Join(names, ", ")
}
