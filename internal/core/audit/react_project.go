package audit

import (
	"fmt"
	"strconv"
	"strings"

	"tenon/internal/core/accesstoken"
	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/deploykey"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/pushrule"
	"tenon/internal/core/statuscheck"
	"tenon/internal/core/upload"
)

// projects is about projects and what gets into them.
func (t table) projects() {
	record[project.Created](t, "project_created", "Added project")
	many(t, projectUpdated)
	record(t, "", "", func(e project.Archived, out *Entry) {
		out.Event = either(e.Undone, "project_unarchived", "project_archived")
		out.Message = either(e.Undone, "Project unarchived", "Project archived")
	})
	record(t, "", "", func(e project.Marked, out *Entry) {
		out.Event = either(e.Restored, "project_restored", "project_deletion_marked")
		out.Message = either(e.Restored, "Project restored", "Project marked for deletion")
		out.EntityPath, out.TargetDetails = e.Before.FullPath, either(e.Restored, e.Row().Name, e.Before.Name)
	})
	record(t, "project_destroyed", "", func(e project.Deleted, out *Entry) { out.Message = "Project '" + e.Row().FullPath + "' was deleted" })
	record(t, "project_namespace_updated", "", func(e project.Transferred, out *Entry) {
		from, to := e.Before.FullPath, e.Row().FullPath
		out.Message = "Changed namespace from " + from + " to " + to
		*out = out.with("change", "namespace", "from", from, "to", to)
	})
	record(t, "project_fork_operation", "", func(e project.Forked, out *Entry) {
		out.Message, out.EntityID, out.EntityPath = "Forked project to "+e.Row().FullPath, int64(e.Source.ID), e.Source.FullPath
		out.TargetID, out.TargetDetails = int64(e.Source.ID), e.Source.FullPath
	})
	record(t, "project_fork_relationship_created", "", func(e project.ForkLinked, out *Entry) { out.Message = "Made a fork of " + e.Source.FullPath })
	record(t, "project_fork_relationship_removed", "Removed fork relationship", func(e project.Unforked, out *Entry) {
		if e.Deleted {
			*out = Entry{}
		}
	})
	record(t, "upload_deleted", "Deleted the uploaded file {title}", func(_ upload.Deleted, out *Entry) { out.TargetDetails = "" })
	record(t, "{kind}_access_token_created", "Created {kind} access token with token_id: {id}", func(e accesstoken.Created, out *Entry) {
		out.Message += " with scopes: [" + list(e.Row().Scopes()) + "]"
		out.TargetDetails = ""
	})
	record(t, "{kind}_access_token_deleted", "Revoked {kind} access token with token_id: {id}", func(_ accesstoken.Revoked, out *Entry) { out.TargetDetails = "" })
	record(t, "deploy_token_created", "Created {kind} deploy token with name: {title} with token_id: {id} with scopes: [", func(e accesstoken.DeployCreated, out *Entry) {
		out.Message += list(e.Row().Scopes()) + "]"
	})
	record(t, "deploy_token_destroyed", "Destroyed {kind} deploy token with name: {title} with token_id: {id} with scopes: [", func(e accesstoken.DeployDestroyed, out *Entry) {
		out.Message += list(e.Row().Scopes()) + "]"
	})
	record(t, "deploy_key_added", "Added deploy key", func(e deploykey.Added, out *Entry) { *out = ofKey(e.Row(), *out) })
	record(t, "deploy_key_updated", "Updated deploy key", func(e deploykey.Updated, out *Entry) { *out = ofKey(e.Row(), *out) })
	record(t, "deploy_key_removed", "Removed deploy key", func(e deploykey.Removed, out *Entry) { *out = ofKey(e.Row(), *out) })
	record(t, "deploy_key_added", "Added public deploy key", func(e deploykey.PublicAdded, out *Entry) { *out = out.with("fingerprint_sha256", e.After.SHA256) })
	record[mergerequest.Merged](t, "merge_request_merged", "Merge request merged")
}

func ofKey(k *deploykey.Key, e Entry) Entry {
	return e.with("fingerprint_sha256", k.SHA256, "can_push", k.CanPush)
}

func list(scopes authz.Scopes) string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = `"` + string(s) + `"`
	}
	return strings.Join(words, ", ")
}

// rules is about what projects and groups ask of pushes and merge requests.
func (t table) rules() {
	record(t, "push_rule_created", "Added push rule", func(e pushrule.Created, out *Entry) { *out = terms(e.Of, *out) })
	record(t, "push_rule_updated", "Changed push rule", func(e pushrule.Updated, out *Entry) { *out = terms(e.Of, *out) })
	record(t, "push_rule_removed", "Removed push rule", func(e pushrule.Deleted, out *Entry) { *out = terms(e.Of, *out) })
	record(t, "protected_branch_created", "Added", func(e protection.BranchProtected, out *Entry) { *out = branches(e.Row(), *out) })
	record(t, "protected_branch_updated", "Changed", func(e protection.BranchProtectionUpdated, out *Entry) { *out = branches(e.Row(), *out) })
	record(t, "protected_branch_removed", "", func(e protection.BranchUnprotected, out *Entry) {
		*out = branches(e.Row(), *out)
		out.Message = "Unprotected branch"
	})
	record(t, "protected_branch_created", "Added", func(e protection.GroupBranchProtected, out *Entry) { *out = branches(e.After, *out) })
	record(t, "protected_branch_updated", "Changed", func(e protection.GroupBranchProtectionUpdated, out *Entry) { *out = branches(e.After, *out) })
	record(t, "protected_branch_removed", "", func(e protection.GroupBranchUnprotected, out *Entry) {
		*out = branches(e.Before, *out)
		out.Message = "Unprotected branch"
	})
	record(t, "protected_tag_created", "Added protected tag", func(e protection.TagProtected, out *Entry) {
		*out = out.with("create_access_levels", roles(e.Row(), protection.ActionCreateTag))
	})
	record[protection.TagUnprotected](t, "protected_tag_removed", "Unprotected tag")
	record(t, "approval_rule_created", "", func(e approval.RuleCreated, out *Entry) {
		out.Message = "Added approval rule with number of required approvals of " + strconv.FormatInt(e.After.Required, 10)
	})
	record(t, "approval_rule_updated", "", func(e approval.RuleUpdated, out *Entry) {
		out.Message = fmt.Sprintf("Changed number of required approvals from %d to %d", e.Before.Required, e.After.Required)
		*out = out.with("change", "number of required approvals", "from", e.Before.Required, "to", e.After.Required)
	})
	record[approval.RuleDeleted](t, "approval_rule_deleted", "Deleted approval rule")
	many(t, approvalSettings)
	record[statuscheck.Created](t, "create_status_check", "Added external status check {title}")
	many(t, statusCheck)
	record[statuscheck.Deleted](t, "delete_status_check", "Removed external status check {title}")
	record(t, "status_check_response_update", "", func(e statuscheck.Responded, out *Entry) {
		status := string(e.Response.Status)
		out.Message = "Set status of external status check for merge request " + e.MergeRequest.IID.Reference() + " to " + status
		*out = out.with("change", "status", "to", status, "sha", e.Response.SHA)
		if e.Was != nil {
			*out = out.with("from", string(e.Was.Status))
		}
	})
}

// terms adds what a push rule asks for now.
func terms(e change.Of[pushrule.Rule], out Entry) Entry {
	out.TargetDetails, out.Details = e.Place.Name, change.Attributes(&e.Row().Terms)
	return out
}

// branches adds the state of a rule for branches.
func branches(r *protection.Rule, out Entry) Entry {
	push, merge := roles(r, protection.ActionPush), roles(r, protection.ActionMerge)
	out.Message += fmt.Sprintf(" protected branch with [allowed to push: [%s], allowed to merge: [%s], allow force push: %t, code owner approval required: %t]",
		strings.Join(push, ", "), strings.Join(merge, ", "), r.AllowForcePush, r.CodeOwners)
	return out.with("push_access_levels", push, "merge_access_levels", merge, "allow_force_push", r.AllowForcePush, "code_owner_approval_required", r.CodeOwners)
}

// roles returns the words for the levels that a rule has for an action.
func roles(r *protection.Rule, action string) []string {
	out := []string{}
	for _, l := range r.Levels {
		switch {
		case l.Action != action:
		case l.UserID != nil:
			out = append(out, fmt.Sprintf("user %d", *l.UserID))
		case l.GroupID != nil:
			out = append(out, fmt.Sprintf("group %d", *l.GroupID))
		case l.DeployKeyID != nil:
			out = append(out, fmt.Sprintf("deploy key %d", *l.DeployKeyID))
		case l.Level != nil:
			out = append(out, protection.LevelWords(*l.Level))
		}
	}
	return out
}

// approvalSettings has an entry for each setting of approvals that changed.
func approvalSettings(e approval.SettingsChanged) []Entry {
	var out []Entry
	for _, c := range []struct {
		what     string
		old, now bool
	}{
		{"prevent merge request approval from authors", !e.Before.AuthorApproval.On, !e.After.AuthorApproval.On},
		{"prevent merge request approval from committers", !e.Before.CommitterApproval.On, !e.After.CommitterApproval.On},
		{"require new approvals when new commits are added to an MR", !e.Before.RetainOnPush.On, !e.After.RetainOnPush.On},
		{"prevent users from modifying MR approval rules in merge requests", !e.Before.Overrides.On, !e.After.Overrides.On},
		{"require user password for approvals", e.Before.RequirePassword.On, e.After.RequirePassword.On},
	} {
		if c.old != c.now {
			one := in(e.Stamp, e.Place).with("change", c.what, "from", c.old, "to", c.now)
			one.Event = strings.ToLower(one.EntityType) + "_merge_request_approval_setting_updated"
			one.Message = fmt.Sprintf("Changed %s from %t to %t", c.what, c.old, c.now)
			one.TargetType, one.TargetID, one.TargetDetails = one.EntityType, e.Place.ID, e.Place.Path
			out = append(out, one)
		}
	}
	return out
}

// statusCheck has an entry for each attribute of an external status check that changed. Of the shared
// secret it says only that it did.
func statusCheck(e statuscheck.Updated) []Entry {
	var out []Entry
	for _, c := range []struct{ what, old, now string }{
		{"name", e.Before.Name, e.After.Name},
		{"external url", e.Before.URL, e.After.URL},
		{"protected branches", branchesOf(e.Before), branchesOf(e.After)},
	} {
		if c.old != c.now {
			message := "Changed " + c.what + " of external status check from " + c.old + " to " + c.now
			out = append(out, entry(e.Changed(), "update_status_check", message).with("change", c.what, "from", c.old, "to", c.now))
		}
	}
	if f := e.Changed(); f.Has("shared_secret") {
		out = append(out, entry(f, "update_status_check", "Changed shared secret of external status check"))
	}
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
