package clients

import (
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// hooks makes a hook of the group, of the project and of the instance, with everything that the client knows.
func (r *rich) hooks(t *testing.T) {
	headers := []*gitlab.HookCustomHeader{{Key: "X-Who", Value: "ann"}}
	group := got(r.root.Groups.AddGroupHook(r.group.ID, &gitlab.AddGroupHookOptions{
		URL: new("http://8.8.8.8/group"), Name: new("group"), Description: new("Tells of the group"), PushEvents: new(true), PushEventsBranchFilter: new("main"), CustomHeaders: &headers,
		CustomWebhookTemplate: new("{}"), TagPushEvents: new(true), MergeRequestsEvents: new(true), IssuesEvents: new(true), SubGroupEvents: new(true), MemberEvents: new(true),
	})).must(t)
	if _, err := r.root.Groups.SetGroupHookURLVariable(r.group.ID, group.ID, "who", &gitlab.SetHookURLVariableOptions{Value: new("ann")}); err != nil {
		t.Fatal(err)
	}
	project := got(r.root.Projects.AddProjectHook(r.project.ID, &gitlab.AddProjectHookOptions{
		URL: new("http://8.8.8.8/project"), Name: new("project"), Description: new("Tells of the project"), PushEvents: new(true), PushEventsBranchFilter: new("main"), CustomHeaders: &headers,
		CustomWebhookTemplate: new("{}"), TagPushEvents: new(true), MergeRequestsEvents: new(true), IssuesEvents: new(true),
	})).must(t)
	system := got(r.root.SystemHooks.AddHook(&gitlab.AddHookOptions{URL: new("http://8.8.8.8/system"), Name: new("system"), Description: new("Tells of all"), PushEvents: new(false)})).must(t)
	r.values["Groups.hook"], r.values["Projects.hook"], r.values["SystemHooks.hook"] = group.ID, project.ID, system.ID
}
