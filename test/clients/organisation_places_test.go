package clients

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

func number(id int64) string { return strconv.FormatInt(id, 10) }

// nextMonth is a day a month from now.
func nextMonth() gitlab.ISOTime {
	return gitlab.ISOTime(time.Now().UTC().AddDate(0, 1, 0).Truncate(24 * time.Hour))
}

func (o *organisation) tree(t *testing.T) {
	olga := o.as["olga"]
	for i, path := range []string{"company", "department", "team"} {
		opt := &gitlab.CreateGroupOptions{Name: new(strings.ToUpper(path[:1]) + path[1:]), Path: &path, Visibility: new(gitlab.PrivateVisibility)}
		if i > 0 {
			opt.ParentID = &o.groups[i-1].ID
		}
		g := got(olga.Groups.CreateGroup(opt)).must(t)
		o.groups = append(o.groups, g)
		o.projects = append(o.projects, got(olga.Projects.CreateProject(&gitlab.CreateProjectOptions{
			Name: new("App of " + path), Path: new("app"), NamespaceID: &g.ID, Visibility: new(gitlab.PrivateVisibility),
		})).must(t))
	}
	deep := got(olga.Groups.GetGroup("company/department/team", nil)).must(t)
	if deep.FullName != "Company / Department / Team" || deep.ParentID != o.groups[1].ID || o.projects[2].PathWithNamespace != "company/department/team/app" {
		t.Errorf("three deep: got %+v, %s", deep, o.projects[2].PathWithNamespace)
	}
	below := got(olga.Groups.ListDescendantGroups("company", nil)).must(t)
	if len(below) != 2 {
		t.Errorf("descendants: got %+v", below)
	}
	if list := got(olga.Groups.ListGroupProjects("company", &gitlab.ListGroupProjectsOptions{IncludeSubGroups: new(true)})).must(t); len(list) != 3 {
		t.Errorf("projects below: got %+v", list)
	}
	edited := got(olga.Groups.UpdateGroup(o.groups[1].ID, &gitlab.UpdateGroupOptions{Description: new("Makes things"), ProjectCreationLevel: new(gitlab.MaintainerProjectCreation)})).must(t)
	if edited.Description != "Makes things" || edited.ProjectCreationLevel != gitlab.MaintainerProjectCreation {
		t.Errorf("edited: got %+v", edited)
	}
	kinds := map[string]int{}
	for _, n := range got(olga.Namespaces.ListNamespaces(nil)).must(t) {
		kinds[n.Kind]++
	}
	same(t, "namespaces", kinds, map[string]int{"user": 1, "group": 3})
	got(o.root.CustomAttribute.SetCustomGroupAttribute(o.groups[0].ID, gitlab.CustomAttribute{Key: "cost", Value: "7"})).must(t)
	got(o.root.CustomAttribute.SetCustomProjectAttribute(o.projects[0].ID, gitlab.CustomAttribute{Key: "cost", Value: "8"})).must(t)
	if a := got(o.root.CustomAttribute.GetCustomProjectAttribute(o.projects[0].ID, "cost")).must(t); a.Value != "8" {
		t.Errorf("attribute: got %+v", a)
	}
}

// levels returns who belongs to a place and how.
func (o *organisation) levels(list []*gitlab.ProjectMember) map[string]int {
	out := map[string]int{}
	for _, m := range list {
		out[m.Username] = int(m.AccessLevel)
	}
	return out
}

func (o *organisation) staff(t *testing.T) {
	olga, expires := o.as["olga"], nextMonth()
	for _, m := range []struct {
		group int
		name  string
		level gitlab.AccessLevelValue
	}{{0, "mike", gitlab.MaintainerPermissions}, {1, "dana", gitlab.DeveloperPermissions}, {2, "rita", gitlab.ReporterPermissions}} {
		id := o.id[m.name]
		added := got(olga.GroupMembers.AddGroupMember(o.groups[m.group].ID, &gitlab.AddGroupMemberOptions{
			UserID: &id, AccessLevel: &m.level, ExpiresAt: new(expires.String()),
		})).must(t)
		if added.AccessLevel != m.level || added.ExpiresAt == nil || added.ExpiresAt.String() != expires.String() || added.CreatedBy.ID != o.id["olga"] {
			t.Errorf("%s: got %+v", m.name, added)
		}
		same(t, m.name, got(olga.GroupMembers.GetGroupMember(o.groups[m.group].ID, id)).must(t), added)
	}
	got(olga.ProjectMembers.AddProjectMember(o.projects[2].ID, &gitlab.AddProjectMemberOptions{UserID: "gus", AccessLevel: new(gitlab.GuestPermissions)})).refused(t, 404, "")
	got(olga.ProjectMembers.AddProjectMember(o.projects[2].ID, &gitlab.AddProjectMemberOptions{UserID: o.id["gus"], AccessLevel: new(gitlab.GuestPermissions)})).must(t)
	same(t, "everybody in the team's project", o.levels(got(olga.ProjectMembers.ListAllProjectMembers(o.projects[2].ID, nil)).must(t)),
		map[string]int{"olga": 50, "mike": 40, "dana": 30, "rita": 20, "gus": 10})
	same(t, "everybody in the company's project", o.levels(got(olga.ProjectMembers.ListAllProjectMembers(o.projects[0].ID, nil)).must(t)),
		map[string]int{"olga": 50, "mike": 40})
	if m := got(olga.GroupMembers.GetInheritedGroupMember(o.groups[2].ID, o.id["mike"])).must(t); m.AccessLevel != gitlab.MaintainerPermissions {
		t.Errorf("inherited: got %+v", m)
	}
	got(olga.GroupMembers.AddGroupMember(o.groups[2].ID, &gitlab.AddGroupMemberOptions{UserID: new(o.id["mike"]), AccessLevel: new(gitlab.GuestPermissions)})).
		refused(t, 400, "should be greater than or equal to Maintainer inherited membership from group Company")
	got(olga.GroupMembers.EditGroupMember(o.groups[0].ID, o.id["olga"], &gitlab.EditGroupMemberOptions{AccessLevel: new(gitlab.DeveloperPermissions)})).refused(t, 403, "")
	done(olga.GroupMembers.RemoveGroupMember(o.groups[0].ID, o.id["olga"], nil)).refused(t, 403, "")
	got(o.as["rita"].Projects.GetProject(o.projects[0].ID, nil)).refused(t, 404, "")
	got(o.as["rita"].Projects.GetProject(o.projects[2].ID, nil)).must(t)

	memberships := map[string]int{}
	for _, m := range got(o.root.Users.GetUserMemberships(o.id["gus"], nil)).must(t) {
		memberships[m.SourceType+" "+m.SourceName] = int(m.AccessLevel)
	}
	same(t, "gus belongs to", memberships, map[string]int{"Project App of team": 10})
	if c := got(o.as["dana"].Users.GetUserAssociationsCount(o.id["dana"])).must(t); c.GroupsCount != 1 || c.ProjectsCount != 0 {
		t.Errorf("dana's associations: got %+v", c)
	}
}

func (o *organisation) sharing(t *testing.T) {
	paul, olga, expires := o.as["paul"], o.as["olga"], nextMonth()
	o.partners = got(paul.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Partners"), Path: new("partners"), Visibility: new(gitlab.PublicVisibility)})).must(t)
	shared := got(olga.Groups.ShareGroupWithGroup(o.groups[1].ID, &gitlab.ShareGroupWithGroupOptions{
		GroupID: &o.partners.ID, GroupAccess: new(gitlab.ReporterPermissions), ExpiresAt: &expires,
	})).must(t)
	if len(shared.SharedWithGroups) != 1 || shared.SharedWithGroups[0].GroupID != o.partners.ID || shared.SharedWithGroups[0].GroupAccessLevel != int64(gitlab.ReporterPermissions) {
		t.Errorf("shared: got %+v", shared.SharedWithGroups)
	}
	got(paul.Projects.GetProject(o.projects[2].ID, nil)).must(t)
	got(paul.Projects.GetProject(o.projects[0].ID, nil)).refused(t, 404, "")
	if level := o.levels(got(olga.ProjectMembers.ListAllProjectMembers(o.projects[1].ID, nil)).must(t))["paul"]; level != 20 {
		t.Errorf("paul through the share: got level %d, want 20", level)
	}
	if list := got(olga.Groups.ListInvitedGroups(o.groups[1].ID, nil)).must(t); len(list) != 1 || list[0].ID != o.partners.ID {
		t.Errorf("invited groups: got %+v", list)
	}
	done(olga.GroupMembers.DeleteShareWithGroup(o.groups[1].ID, o.partners.ID)).must(t)
	got(paul.Projects.GetProject(o.projects[2].ID, nil)).refused(t, 404, "")

	got(olga.GroupMembers.AddGroupMember(o.groups[0].ID, &gitlab.AddGroupMemberOptions{UserID: new(o.id["paul"]), AccessLevel: new(gitlab.GuestPermissions)})).must(t)
	got(paul.GroupMembers.AddGroupMember(o.partners.ID, &gitlab.AddGroupMemberOptions{UserID: new(o.id["olga"]), AccessLevel: new(gitlab.GuestPermissions)})).must(t)
	done(olga.Projects.ShareProjectWithGroup(o.projects[0].ID, &gitlab.ShareWithGroupOptions{GroupID: &o.partners.ID, GroupAccess: new(gitlab.DeveloperPermissions)})).must(t)
	p := got(olga.Projects.GetProject(o.projects[0].ID, nil)).must(t)
	if len(p.SharedWithGroups) != 1 || p.SharedWithGroups[0].GroupFullPath != "partners" || p.SharedWithGroups[0].GroupAccessLevel != int64(gitlab.DeveloperPermissions) {
		t.Errorf("shared project: got %+v", p.SharedWithGroups)
	}
	if level := o.levels(got(olga.ProjectMembers.ListAllProjectMembers(o.projects[0].ID, nil)).must(t))["paul"]; level != 30 {
		t.Errorf("paul in the shared project: got level %d, want 30", level)
	}
	done(olga.Projects.DeleteSharedProjectFromGroup(o.projects[0].ID, o.partners.ID)).must(t)
}

func (o *organisation) requests(t *testing.T) {
	paul, gus := o.as["paul"], o.as["gus"]
	asked := got(gus.AccessRequests.RequestGroupAccess(o.partners.ID)).must(t)
	if asked.Username != "gus" || asked.RequestedAt == nil {
		t.Errorf("request: got %+v", asked)
	}
	if list := got(paul.AccessRequests.ListGroupAccessRequests(o.partners.ID, nil)).must(t); len(list) != 1 || list[0].ID != o.id["gus"] {
		t.Errorf("requests: got %+v", list)
	}
	approved := got(paul.AccessRequests.ApproveGroupAccessRequest(o.partners.ID, o.id["gus"], &gitlab.ApproveAccessRequestOptions{AccessLevel: new(gitlab.DeveloperPermissions)})).must(t)
	if approved.AccessLevel != gitlab.DeveloperPermissions {
		t.Errorf("approved: got %+v", approved)
	}
	if res := got(paul.Invites.GroupInvites(o.partners.ID, &gitlab.InvitesOptions{Email: new("new@example.com"), AccessLevel: new(gitlab.ReporterPermissions)})).must(t); res.Status != "success" {
		t.Errorf("invitation: got %+v", res)
	}
	if list := got(paul.Invites.ListPendingGroupInvitations(o.partners.ID, nil)).must(t); len(list) != 1 || list[0].InviteEmail != "new@example.com" || list[0].AccessLevel != gitlab.ReporterPermissions {
		t.Errorf("invitations: got %+v", list)
	}
	u := got(o.root.Users.CreateUser(&gitlab.CreateUserOptions{
		Username: new("newcomer"), Name: new("New"), Email: new("new@example.com"), Password: new("battery staple 4711"), SkipConfirmation: new(true),
	})).must(t)
	if m := got(paul.GroupMembers.GetGroupMember(o.partners.ID, u.ID)).must(t); m.AccessLevel != gitlab.ReporterPermissions {
		t.Errorf("invited: got %+v", m)
	}
	done(o.root.Users.DeleteUser(u.ID)).must(t)
	got(paul.Invites.GroupInvites(o.partners.ID, &gitlab.InvitesOptions{Email: new("dana@home.example"), AccessLevel: new(gitlab.DeveloperPermissions)})).must(t)
	got(o.root.Users.AddEmailForUser(o.id["dana"], &gitlab.AddEmailOptions{Email: new("dana@home.example"), SkipConfirmation: new(true)})).must(t)
	if m := got(paul.GroupMembers.GetGroupMember(o.partners.ID, o.id["dana"])).must(t); m.AccessLevel != gitlab.DeveloperPermissions {
		t.Errorf("invited at another address: got %+v", m)
	}
}

func (o *organisation) personalTokens(t *testing.T) {
	rita := o.as["rita"]
	expires := time.Now().UTC().AddDate(0, 1, 0)
	made := got(o.root.Users.CreateImpersonationToken(o.id["rita"], &gitlab.CreateImpersonationTokenOptions{Name: new("support"), Scopes: &[]string{"api"}, ExpiresAt: &expires})).must(t)
	if made.ExpiresAt == nil || made.ExpiresAt.String() != expires.Format(time.DateOnly) || !made.Active || made.Token == "" {
		t.Errorf("impersonation: got %+v", made)
	}
	if me := got(o.client(t, made.Token).Users.CurrentUser()).must(t); me.Username != "rita" {
		t.Errorf("as rita: got %+v", me)
	}
	list := got(o.root.Users.GetAllImpersonationTokens(o.id["rita"], &gitlab.GetAllImpersonationTokensOptions{State: new("active")})).must(t)
	if len(list) != 1 || list[0].ID != made.ID || list[0].Token != "" || list[0].LastUsedAt == nil {
		t.Errorf("impersonations: got %+v", list)
	}
	done(o.root.Users.RevokeImpersonationToken(o.id["rita"], made.ID)).must(t)
	got(o.client(t, made.Token).Users.CurrentUser()).refused(t, 401, "Token was revoked")

	narrow := got(rita.Users.CreatePersonalAccessTokenForCurrentUser(&gitlab.CreatePersonalAccessTokenForCurrentUserOptions{Name: new("rotator"), Scopes: &[]string{"self_rotate"}})).must(t)
	rotated := got(o.client(t, narrow.Token).PersonalAccessTokens.RotatePersonalAccessTokenSelf(&gitlab.RotatePersonalAccessTokenOptions{ExpiresAt: new(nextMonth())})).must(t)
	if rotated.Name != "rotator" || !slices.Equal(rotated.Scopes, []string{"self_rotate"}) {
		t.Errorf("rotated: got %+v", rotated)
	}
	names := func(opt *gitlab.ListPersonalAccessTokensOptions) (out []string) {
		for _, tok := range got(rita.PersonalAccessTokens.ListPersonalAccessTokens(opt)).must(t) {
			out = append(out, tok.Name)
		}
		return out
	}
	if active := names(&gitlab.ListPersonalAccessTokensOptions{State: new("active")}); !slices.Equal(active, []string{"work", "rotator"}) {
		t.Errorf("active tokens: got %v", active)
	}
	if revoked := names(&gitlab.ListPersonalAccessTokensOptions{Revoked: new(true), Search: new("rot")}); !slices.Equal(revoked, []string{"rotator"}) {
		t.Errorf("revoked tokens: got %v", revoked)
	}
	associations, _ := raw[struct {
		Groups   []struct{ Name string }
		Projects []struct{ Path string }
	}](t, rita, "GET", "personal_access_tokens/self/associations", nil)
	if len(associations.Groups) != 1 || associations.Groups[0].Name != "Team" || len(associations.Projects) != 1 {
		t.Errorf("associations: got %+v", associations)
	}
}

func (o *organisation) placeTokens(t *testing.T) {
	olga, expires := o.as["olga"], nextMonth()
	ofProject := got(olga.ProjectAccessTokens.CreateProjectAccessToken(o.projects[1].ID, &gitlab.CreateProjectAccessTokenOptions{
		Name: new("ci"), Description: new("builds"), Scopes: &[]string{"api", "write_repository"}, AccessLevel: new(gitlab.DeveloperPermissions), ExpiresAt: &expires,
	})).must(t)
	bot := o.client(t, ofProject.Token)
	if me := got(bot.Users.CurrentUser()).must(t); !me.Bot || me.Name != "ci" || me.ID != ofProject.UserID {
		t.Errorf("bot: got %+v", me)
	}
	got(bot.Projects.GetProject(o.projects[1].ID, nil)).must(t)
	got(bot.Projects.GetProject(o.projects[0].ID, nil)).refused(t, 404, "")
	read := got(olga.ProjectAccessTokens.GetProjectAccessToken(o.projects[1].ID, ofProject.ID)).must(t)
	if read.Name != "ci" || read.Description != "builds" || read.AccessLevel != gitlab.DeveloperPermissions || read.Token != "" || read.LastUsedAt == nil {
		t.Errorf("project token: got %+v", read)
	}
	next := got(olga.ProjectAccessTokens.RotateProjectAccessToken(o.projects[1].ID, ofProject.ID, nil)).must(t)
	got(bot.Users.CurrentUser()).refused(t, 401, "Token was revoked")
	self := got(o.client(t, next.Token).ProjectAccessTokens.RotateProjectAccessTokenSelf(o.projects[1].ID, nil)).must(t)
	got(o.as["dana"].ProjectAccessTokens.ListProjectAccessTokens(o.projects[1].ID, nil)).refused(t, 401, "")
	if list := got(olga.ProjectAccessTokens.ListProjectAccessTokens(o.projects[1].ID, &gitlab.ListProjectAccessTokensOptions{State: new("active")})).must(t); len(list) != 1 || list[0].ID != self.ID {
		t.Errorf("project tokens: got %+v", list)
	}
	done(olga.ProjectAccessTokens.RevokeProjectAccessToken(o.projects[1].ID, self.ID)).must(t)
	got(olga.ProjectAccessTokens.GetProjectAccessToken(o.projects[1].ID, self.ID)).refused(t, 404, "")

	ofGroup := got(olga.GroupAccessTokens.CreateGroupAccessToken(o.groups[0].ID, &gitlab.CreateGroupAccessTokenOptions{
		Name: new("audit"), Scopes: &[]string{"read_api"}, AccessLevel: new(gitlab.ReporterPermissions), ExpiresAt: &expires,
	})).must(t)
	reader := o.client(t, ofGroup.Token)
	got(reader.Projects.GetProject(o.projects[2].ID, nil)).must(t)
	got(reader.Issues.CreateIssue(o.projects[2].ID, &gitlab.CreateIssueOptions{Title: new("no")})).refused(t, 403, "insufficient_scope")
	got(o.as["mike"].GroupAccessTokens.CreateGroupAccessToken(o.groups[0].ID, &gitlab.CreateGroupAccessTokenOptions{
		Name: new("more"), Scopes: &[]string{"api"}, AccessLevel: new(gitlab.OwnerPermissions), ExpiresAt: &expires,
	})).refused(t, 400, "User does not have permission to create group access token")
	if list := got(olga.GroupAccessTokens.ListGroupAccessTokens(o.groups[0].ID, nil)).must(t); len(list) != 1 || list[0].Name != "audit" {
		t.Errorf("group tokens: got %+v", list)
	}
	done(olga.GroupAccessTokens.RevokeGroupAccessToken(o.groups[0].ID, ofGroup.ID)).must(t)
	got(reader.Users.CurrentUser()).refused(t, 401, "")
}

func (o *organisation) deploying(t *testing.T) {
	olga, expires := o.as["olga"], time.Time(nextMonth())
	ofProject := got(olga.DeployTokens.CreateProjectDeployToken(o.projects[0].ID, &gitlab.CreateProjectDeployTokenOptions{
		Name: new("mirror"), Username: new("mirror-user"), Scopes: &[]string{"read_repository"}, ExpiresAt: &expires,
	})).must(t)
	if ofProject.Username != "mirror-user" || ofProject.Token == "" || ofProject.ExpiresAt == nil || !ofProject.ExpiresAt.Equal(expires) {
		t.Errorf("deploy token: got %+v", ofProject)
	}
	ofGroup := got(olga.DeployTokens.CreateGroupDeployToken(o.groups[0].ID, &gitlab.CreateGroupDeployTokenOptions{Name: new("all"), Scopes: &[]string{"read_repository"}})).must(t)
	if ofGroup.Username != fmt.Sprintf("gitlab+deploy-token-%d", ofGroup.ID) {
		t.Errorf("deploy token of a group: got %+v", ofGroup)
	}
	ofProject.Token, ofGroup.Token = "", ""
	same(t, "deploy token", got(olga.DeployTokens.GetProjectDeployToken(o.projects[0].ID, ofProject.ID)).must(t), ofProject)
	same(t, "deploy tokens of a group", got(olga.DeployTokens.ListGroupDeployTokens(o.groups[0].ID, nil)).must(t), []*gitlab.DeployToken{ofGroup})
	if all := got(o.root.DeployTokens.ListAllDeployTokens()).must(t); len(all) != 2 {
		t.Errorf("all deploy tokens: got %+v", all)
	}
	done(olga.DeployTokens.DeleteProjectDeployToken(o.projects[0].ID, ofProject.ID)).must(t)
	done(olga.DeployTokens.DeleteGroupDeployToken(o.groups[0].ID, ofGroup.ID)).must(t)

	key := got(olga.DeployKeys.AddDeployKey(o.projects[0].ID, &gitlab.AddDeployKeyOptions{Title: new("deploy"), Key: new(publicKey(t)), CanPush: new(true)})).must(t)
	if !key.CanPush || key.Title != "deploy" || !strings.HasPrefix(key.FingerprintSHA256, "SHA256:") {
		t.Errorf("deploy key: got %+v", key)
	}
	enabled := got(olga.DeployKeys.EnableDeployKey(o.projects[1].ID, key.ID)).must(t)
	if enabled.CanPush || enabled.ID != key.ID {
		t.Errorf("enabled: got %+v, want it to read", enabled)
	}
	renamed := got(olga.DeployKeys.UpdateDeployKey(o.projects[0].ID, key.ID, &gitlab.UpdateDeployKeyOptions{CanPush: new(false)})).must(t)
	if renamed.CanPush {
		t.Errorf("changed: got %+v", renamed)
	}
	if all := got(o.root.DeployKeys.ListAllDeployKeys(nil)).must(t); len(all) != 1 || len(all[0].ProjectsWithReadonlyAccess) != 2 {
		t.Errorf("all deploy keys: got %+v", all)
	}
	for _, p := range o.projects[:2] {
		done(olga.DeployKeys.DeleteDeployKey(p.ID, key.ID)).must(t)
	}
	got(olga.DeployKeys.GetDeployKey(o.projects[0].ID, key.ID)).refused(t, 404, "")
}

func (o *organisation) seats(t *testing.T) {
	olga := o.as["olga"]
	means := map[string]string{}
	for _, b := range got(olga.Groups.ListBillableGroupMembers(o.groups[0].ID, &gitlab.ListBillableGroupMembersOptions{Sort: new("name_asc")})).must(t) {
		means[b.Username] = b.MembershipType
		if b.IsLastOwner != (b.Username == "olga") {
			t.Errorf("%s: last owner is %v", b.Username, b.IsLastOwner)
		}
	}
	same(t, "who uses a seat", means, map[string]string{
		"olga": "group_member", "mike": "group_member", "dana": "group_member", "rita": "group_member", "gus": "project_member", "paul": "group_member",
	})
	list := got(olga.Groups.ListMembershipsForBillableGroupMember(o.groups[0].ID, o.id["rita"], nil)).must(t)
	if len(list) != 1 || list[0].SourceID != o.groups[2].ID || list[0].SourceFullName != "Company / Department / Team" || list[0].AccessLevel.StringValue != "Reporter" {
		t.Errorf("rita's seat: got %+v", list)
	}
	done(olga.Groups.RemoveBillableGroupMember(o.groups[0].ID, o.id["paul"])).must(t)
	got(olga.GroupMembers.GetGroupMember(o.groups[0].ID, o.id["paul"])).refused(t, 404, "")
}

func (o *organisation) moving(t *testing.T) {
	olga := o.as["olga"]
	moved := got(olga.Groups.TransferSubGroup(o.groups[2].ID, &gitlab.TransferSubGroupOptions{})).must(t)
	if moved.FullPath != "team" || moved.ParentID != 0 {
		t.Errorf("moved: got %+v", moved)
	}
	same(t, "who is left in its project", o.levels(got(olga.ProjectMembers.ListAllProjectMembers(o.projects[2].ID, nil)).must(t)),
		map[string]int{"olga": 50, "rita": 20, "gus": 10})
	back := got(olga.Groups.TransferSubGroup(o.groups[2].ID, &gitlab.TransferSubGroupOptions{GroupID: &o.groups[1].ID})).must(t)
	if back.FullPath != "company/department/team" {
		t.Errorf("back: got %+v", back)
	}
	whole := o.levels(got(olga.ProjectMembers.ListAllProjectMembers(o.projects[2].ID, nil)).must(t))
	if names := slices.Sorted(maps.Keys(whole)); !slices.Equal(names, []string{"dana", "gus", "mike", "olga", "rita"}) {
		t.Errorf("who is in it again: got %v", names)
	}
}
