package clients

import (
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

func (s *story) groups(t *testing.T) {
	s.group = got(s.ann.Groups.CreateGroup(&gitlab.CreateGroupOptions{
		Name: new("The Team"), Path: new("team"), Description: new("People"), Visibility: new(gitlab.PrivateVisibility),
	})).must(t)
	g := s.group
	if g.Name != "The Team" || g.Path != "team" || g.FullPath != "team" || g.FullName != "The Team" || g.Description != "People" ||
		g.Visibility != gitlab.PrivateVisibility || g.ParentID != 0 || g.WebURL != s.url("groups/team") || !g.RequestAccessEnabled || !g.LFSEnabled {
		t.Errorf("group: got %+v", g)
	}
	s.recent(t, "group's created_at", g.CreatedAt)
	s.inner = got(s.ann.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Core"), Path: new("core"), ParentID: &g.ID})).must(t)
	if in := s.inner; in.FullPath != "team/core" || in.FullName != "The Team / Core" || in.ParentID != g.ID || in.WebURL != s.url("groups/team/core") {
		t.Errorf("subgroup: got %+v", s.inner)
	}
	byPath := got(s.ann.Groups.GetGroup("team/core", nil)).must(t)
	if byPath.ID != s.inner.ID {
		t.Errorf("by path: got %d, want %d", byPath.ID, s.inner.ID)
	}
	got(s.ben.Groups.GetGroup("team", nil)).refused(t, 404, "")
	m := got(s.ann.GroupMembers.AddGroupMember(g.ID, &gitlab.AddGroupMemberOptions{UserID: &s.benID, AccessLevel: new(gitlab.DeveloperPermissions)})).must(t)
	if m.Username != "ben" || m.AccessLevel != gitlab.DeveloperPermissions || m.State != "active" || m.CreatedBy == nil || m.CreatedBy.ID != s.annID {
		t.Errorf("member: got %+v", m)
	}
	if got(s.ben.Groups.GetGroup("team/core", nil)).must(t).ID != s.inner.ID {
		t.Error("ben does not see the subgroup of his group")
	}
	subs := got(s.ben.Groups.ListSubGroups(g.ID, nil)).must(t)
	if len(subs) != 1 || subs[0].ID != s.inner.ID {
		t.Errorf("subgroups: got %+v", subs)
	}
	got(s.ben.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("X"), Path: new("x"), ParentID: &g.ID})).refused(t, 403, "")
	got(s.ann.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Again"), Path: new("team")})).refused(t, 400, "has already been taken")
}

func (s *story) projects(t *testing.T) {
	s.project = got(s.ann.Projects.CreateProject(&gitlab.CreateProjectOptions{
		Name: new("The App"), Path: new("app"), NamespaceID: &s.inner.ID, Description: new("What we *make*"),
		Visibility: new(gitlab.PrivateVisibility), Topics: &[]string{"go", "tests"},
		MergeMethod: new(gitlab.NoFastForwardMerge), RemoveSourceBranchAfterMerge: new(false),
	})).must(t)
	p := s.project
	host := s.server.URL
	for _, f := range []struct{ name, got, want string }{
		{"name", p.Name, "The App"},
		{"path", p.Path, "app"},
		{"path_with_namespace", p.PathWithNamespace, "team/core/app"},
		{"name_with_namespace", p.NameWithNamespace, "The Team / Core / The App"},
		{"description", p.Description, "What we *make*"},
		{"visibility", string(p.Visibility), "private"},
		{"web_url", p.WebURL, host + "/team/core/app"},
		{"http_url_to_repo", p.HTTPURLToRepo, host + "/team/core/app.git"},
		{"merge_method", string(p.MergeMethod), "merge"},
		{"namespace.full_path", p.Namespace.FullPath, "team/core"},
		{"namespace.kind", p.Namespace.Kind, "group"},
		{"default_branch", p.DefaultBranch, ""},
		{"squash_option", string(p.SquashOption), "default_off"},
		{"issues_access_level", string(p.IssuesAccessLevel), "enabled"},
		{"links.self", p.Links.Self, host + "/api/v4/projects/1"},
	} {
		if f.got != f.want && !(f.name == "default_branch" && f.got == "main") {
			t.Errorf("project %s: got %q, want %q", f.name, f.got, f.want)
		}
	}
	same(t, "topics", p.Topics, []string{"go", "tests"})
	if !p.EmptyRepo || p.Archived || p.CreatorID != s.annID || p.Namespace.ID != s.inner.ID || p.MergeRequestsAccessLevel != gitlab.EnabledAccessControl {
		t.Errorf("project: got %+v", p)
	}
	s.recent(t, "project's created_at", p.CreatedAt)
	byPath := got(s.ben.Projects.GetProject("team/core/app", nil)).must(t)
	if byPath.ID != p.ID || byPath.Name != p.Name {
		t.Errorf("by path: got %d %q", byPath.ID, byPath.Name)
	}
	edited := got(s.ann.Projects.EditProject(p.ID, &gitlab.EditProjectOptions{
		Description: new("What we ship"), Visibility: new(gitlab.PrivateVisibility), OnlyAllowMergeIfAllDiscussionsAreResolved: new(false),
	})).must(t)
	if edited.Description != "What we ship" || edited.Name != p.Name {
		t.Errorf("edited: got %q %q", edited.Description, edited.Name)
	}
	got(s.ben.Projects.EditProject(p.ID, &gitlab.EditProjectOptions{Description: new("mine")})).refused(t, 403, "403 Forbidden")
	got(s.ann.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("The App"), Path: new("app"), NamespaceID: &s.inner.ID})).
		refused(t, 400, "has already been taken")
	list := got(s.ann.Groups.ListGroupProjects("team", &gitlab.ListGroupProjectsOptions{IncludeSubGroups: new(true)})).must(t)
	if len(list) != 1 || list[0].ID != p.ID {
		t.Errorf("projects of the group: got %+v", list)
	}
}

func (s *story) delete(t *testing.T) {
	root := s.root
	done(root.Issues.DeleteIssue(s.project.ID, s.issue.IID)).must(t)
	got(root.Issues.GetIssue(s.project.ID, s.issue.IID)).refused(t, 404, "")
	done(root.Branches.DeleteBranch(s.project.ID, "main")).refused(t, 400, "The default branch of a project cannot be deleted.")
	done(root.Projects.DeleteProject(s.project.ID, nil)).must(t)
	p, res, err := root.Projects.GetProject(s.project.ID, nil)
	if err == nil && p.MarkedForDeletionOn == nil {
		t.Errorf("deleted project: got %d %+v, want it gone or marked", res.StatusCode, p)
	}
	done(root.Groups.DeleteGroup("team", nil)).must(t)
}
