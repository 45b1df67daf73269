package clients

import (
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

func (s *story) version(t *testing.T) {
	v := got(s.root.Version.GetVersion()).must(t)
	if v.Version != "16.0.0-ee" || v.Revision == "" {
		t.Errorf("version: got %+v, want 16.0.0-ee and a revision", v)
	}
	m := got(s.root.Metadata.GetMetadata()).must(t)
	if m.Version != v.Version || m.Revision != v.Revision || !m.Enterprise || m.KAS.Enabled {
		t.Errorf("metadata: got %+v", m)
	}
}

func (s *story) users(t *testing.T) {
	s.annID, s.annToken, s.ann = s.person(t, "ann", "Ann Author")
	s.benID, s.benToken, s.ben = s.person(t, "ben", "Ben B\u00fcrger")

	found := got(s.root.Users.ListUsers(&gitlab.ListUsersOptions{Username: new("ben")})).must(t)
	if len(found) != 1 || found[0].ID != s.benID {
		t.Errorf("users called ben: got %+v", found)
	}
	byID := got(s.ann.Users.GetUser(s.benID, nil)).must(t)
	if byID.Username != "ben" || byID.Email != "" || byID.IsAdmin {
		t.Errorf("ben as ann sees him: got %+v, want no address", byID)
	}
	got(s.root.Users.CreateUser(&gitlab.CreateUserOptions{
		Username: new("ben"), Name: new("Other"), Email: new("other@example.com"), Password: new("correct horse other"),
	})).refused(t, 409, "Username has already been taken")
}

// person makes a user with a token and checks all that was written.
func (s *story) person(t *testing.T, username, name string) (int64, string, *gitlab.Client) {
	t.Helper()
	u := got(s.root.Users.CreateUser(&gitlab.CreateUserOptions{
		Username: new(username), Name: new(name), Email: new(username + "@example.com"), Password: new("correct horse " + username),
		SkipConfirmation: new(true), Bio: new("Writes tests."), Location: new("Bern"), Organization: new("Example"),
		JobTitle: new("Tester"), WebsiteURL: new("https://example.com"), ProjectsLimit: new(int64(7)), CanCreateGroup: new(true),
		Note: new("a note"),
	})).must(t)
	s.recent(t, "created_at", u.CreatedAt)
	s.recent(t, "confirmed_at", u.ConfirmedAt)
	same(t, "user", u, &gitlab.User{
		ID: u.ID, Username: username, Name: name, Email: username + "@example.com", State: "active", WebURL: s.url(username),
		CreatedAt: u.CreatedAt, Bio: "Writes tests.", Location: "Bern", Organization: "Example", JobTitle: "Tester",
		WebsiteURL: "https://example.com", ThemeID: u.ThemeID, ColorSchemeID: u.ColorSchemeID, AvatarURL: u.AvatarURL,
		CanCreateGroup: true, CanCreateProject: true, ProjectsLimit: 7, ConfirmedAt: u.ConfirmedAt, Note: "a note",
		Identities: []*gitlab.UserIdentity{}, SCIMIdentities: u.SCIMIdentities, NamespaceID: u.NamespaceID, CreatedBy: u.CreatedBy,
		UsingLicenseSeat: u.UsingLicenseSeat,
	})
	if u.NamespaceID == 0 || u.CreatedBy == nil || u.CreatedBy.Username != "root" {
		t.Errorf("user: got namespace %d, created by %+v", u.NamespaceID, u.CreatedBy)
	}

	expires := gitlab.ISOTime(time.Now().UTC().AddDate(0, 1, 0).Truncate(24 * time.Hour))
	token := got(s.root.Users.CreatePersonalAccessToken(u.ID, &gitlab.CreatePersonalAccessTokenOptions{
		Name: new("work"), Description: new("for work"), Scopes: &[]string{"api", "write_repository"}, ExpiresAt: &expires,
	})).must(t)
	s.recent(t, "token's created_at", token.CreatedAt)
	same(t, "token", token, &gitlab.PersonalAccessToken{
		ID: token.ID, Name: "work", Description: "for work", CreatedAt: token.CreatedAt, Scopes: []string{"api", "write_repository"},
		UserID: u.ID, Active: true, ExpiresAt: &expires, Token: token.Token,
	})
	if len(token.Token) < 20 {
		t.Fatalf("token: got %q", token.Token)
	}
	c := s.client(t, token.Token)
	me := got(c.Users.CurrentUser()).must(t)
	if me.ID != u.ID || me.Username != username || me.Email != username+"@example.com" || me.Bio != "Writes tests." || me.IsAdmin {
		t.Errorf("current user: got %+v", me)
	}
	return u.ID, token.Token, c
}

func (s *story) members(t *testing.T) {
	c := got(s.root.Users.CreateUser(&gitlab.CreateUserOptions{
		Username: new("cleo"), Name: new("Cleo"), Email: new("cleo@example.com"), Password: new("battery staple 4711"), SkipConfirmation: new(true),
	})).must(t)
	added := got(s.ann.ProjectMembers.AddProjectMember(s.project.ID, &gitlab.AddProjectMemberOptions{
		UserID: c.ID, AccessLevel: new(gitlab.ReporterPermissions), ExpiresAt: new("2099-12-31"),
	})).must(t)
	s.recent(t, "member since", added.CreatedAt)
	expires := gitlab.ISOTime(time.Date(2099, 12, 31, 0, 0, 0, 0, time.UTC))
	same(t, "member", added, &gitlab.ProjectMember{
		ID: c.ID, Username: "cleo", Name: "Cleo", State: "active", CreatedAt: added.CreatedAt, CreatedBy: added.CreatedBy,
		ExpiresAt: &expires, AccessLevel: gitlab.ReporterPermissions, WebURL: s.url("cleo"), AvatarURL: c.AvatarURL,
	})
	if added.CreatedBy == nil || added.CreatedBy.Username != "ann" {
		t.Errorf("added by %+v, want ann", added.CreatedBy)
	}
	got(s.ann.ProjectMembers.AddProjectMember(s.project.ID, &gitlab.AddProjectMemberOptions{
		UserID: c.ID, AccessLevel: new(gitlab.ReporterPermissions),
	})).refused(t, 409, "Member already exists")
	changed := got(s.ann.ProjectMembers.EditProjectMember(s.project.ID, c.ID, &gitlab.EditProjectMemberOptions{
		AccessLevel: new(gitlab.MaintainerPermissions),
	})).must(t)
	if changed.AccessLevel != gitlab.MaintainerPermissions {
		t.Errorf("changed level: got %d", changed.AccessLevel)
	}
	read := got(s.ann.ProjectMembers.GetProjectMember(s.project.ID, c.ID)).must(t)
	same(t, "changed member", read, changed)

	inherited := got(s.ann.ProjectMembers.ListAllProjectMembers(s.project.ID, &gitlab.ListProjectMembersOptions{})).must(t)
	levels := map[string]gitlab.AccessLevelValue{}
	for _, m := range inherited {
		levels[m.Username] = m.AccessLevel
	}
	same(t, "all members", levels, map[string]gitlab.AccessLevelValue{"ann": 50, "ben": 30, "cleo": 40})
	direct := got(s.ann.ProjectMembers.ListProjectMembers(s.project.ID, &gitlab.ListProjectMembersOptions{})).must(t)
	if len(direct) != 1 || direct[0].Username != "cleo" {
		t.Errorf("direct members: got %+v, want cleo", direct)
	}
	done(s.ann.ProjectMembers.DeleteProjectMember(s.project.ID, c.ID)).must(t)
	got(s.ann.ProjectMembers.GetProjectMember(s.project.ID, c.ID)).refused(t, 404, "")

	edited := got(s.ann.GroupMembers.EditGroupMember(s.group.ID, s.benID, &gitlab.EditGroupMemberOptions{AccessLevel: new(gitlab.MaintainerPermissions)})).must(t)
	if edited.AccessLevel != gitlab.MaintainerPermissions || edited.Username != "ben" {
		t.Errorf("edited group member: got %+v", edited)
	}
	if p := got(s.ben.Projects.GetProject(s.project.ID, nil)).must(t); p.Permissions == nil || p.Permissions.GroupAccess == nil ||
		p.Permissions.GroupAccess.AccessLevel != gitlab.MaintainerPermissions {
		t.Errorf("ben's permissions: got %+v, want his group's", p.Permissions)
	}
	got(s.ann.GroupMembers.EditGroupMember(s.group.ID, s.benID, &gitlab.EditGroupMemberOptions{AccessLevel: new(gitlab.DeveloperPermissions)})).must(t)
}

func (s *story) sudo(t *testing.T) {
	for _, who := range []any{"ben", s.benID} {
		if u := got(s.root.Users.CurrentUser(gitlab.WithSudo(who))).must(t); u.Username != "ben" {
			t.Errorf("sudo %v: got %s, want ben", who, u.Username)
		}
	}
	got(s.root.Users.CurrentUser(gitlab.WithSudo("nobody"))).refused(t, 404, "")
	got(s.ann.Users.CurrentUser(gitlab.WithSudo("ben"))).refused(t, 403, "")
	made := got(s.root.Issues.CreateIssue(s.project.ID, &gitlab.CreateIssueOptions{Title: new("As ben")}, gitlab.WithSudo("ben"))).must(t)
	if made.Author.Username != "ben" {
		t.Errorf("author: got %s, want ben", made.Author.Username)
	}
}

func (s *story) tokens(t *testing.T) {
	mine := got(s.ann.PersonalAccessTokens.ListPersonalAccessTokens(nil)).must(t)
	if len(mine) != 1 || mine[0].Name != "work" || mine[0].Token != "" {
		t.Fatalf("ann's tokens: got %+v, want one without its secret", mine)
	}
	self := got(s.ann.PersonalAccessTokens.GetSinglePersonalAccessToken()).must(t)
	if self.ID != mine[0].ID || self.UserID != s.annID {
		t.Errorf("self: got %+v", self)
	}
	byID := got(s.ann.PersonalAccessTokens.GetSinglePersonalAccessTokenByID(self.ID)).must(t)
	s.recent(t, "last_used_at", byID.LastUsedAt)
	byID.LastUsedAt = self.LastUsedAt
	same(t, "token by id", byID, self)
	ofBen := got(s.root.PersonalAccessTokens.ListPersonalAccessTokens(&gitlab.ListPersonalAccessTokensOptions{UserID: &s.benID})).must(t)
	if len(ofBen) != 1 || ofBen[0].UserID != s.benID {
		t.Errorf("ben's tokens: got %+v", ofBen)
	}

	rotated := got(s.ann.PersonalAccessTokens.RotatePersonalAccessTokenSelf(nil)).must(t)
	if rotated.Token == "" || rotated.Token == s.annToken || rotated.ID == self.ID || !rotated.Active {
		t.Errorf("rotated: got %+v", rotated)
	}
	got(s.ann.Users.CurrentUser()).refused(t, 401, "Token was revoked")
	s.annToken, s.ann = rotated.Token, s.client(t, rotated.Token)
	if u := got(s.ann.Users.CurrentUser()).must(t); u.ID != s.annID {
		t.Errorf("with the new token: got user %d", u.ID)
	}
	short := got(s.root.Users.CreatePersonalAccessToken(s.benID, &gitlab.CreatePersonalAccessTokenOptions{
		Name: new("short"), Scopes: &[]string{"read_api"},
	})).must(t)
	reader := s.client(t, short.Token)
	got(reader.Projects.GetProject(s.project.ID, nil)).must(t)
	got(reader.Issues.CreateIssue(s.project.ID, &gitlab.CreateIssueOptions{Title: new("no")})).refused(t, 403, "insufficient_scope")
	done(s.root.PersonalAccessTokens.RevokePersonalAccessTokenByID(short.ID)).must(t)
	got(reader.Users.CurrentUser()).refused(t, 401, "")
	got(s.client(t, "glpat-never-given-out-00").Users.CurrentUser()).refused(t, 401, "")
	got(s.client(t, "").Users.CurrentUser()).refused(t, 401, "401 Unauthorized")
	done(s.ben.PersonalAccessTokens.RevokePersonalAccessTokenSelf()).must(t)
	got(s.ben.Users.CurrentUser()).refused(t, 401, "")
}
