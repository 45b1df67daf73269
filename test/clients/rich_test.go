package clients

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/servertest"
)

// rich is a server with something of everything that can be read.
type rich struct {
	*story
	values map[string]any // of parameters: by "Service.Method.name", "Service.name" or "name"
}

type fields = map[string]any

// post sends what the client has no plain method for, as root or another caller, and returns
// the number of what was made.
func post(t *testing.T, c *gitlab.Client, path string, body any) int64 {
	t.Helper()
	made, _ := raw[fields](t, c, http.MethodPost, path, body)
	id, _ := made["id"].(float64)
	return int64(id)
}

func newRich(t *testing.T, database string) *rich {
	t.Helper()
	s := &story{server: servertest.Start(t, database), began: time.Now().Add(-time.Second)}
	r := &rich{story: s, values: map[string]any{}}
	s.root = s.client(t, servertest.RootToken)
	got(s.root.Settings.UpdateSettings(&gitlab.UpdateSettingsOptions{
		AllowLocalRequestsFromWebHooksAndServices: new(true), CommitEmailHostname: new("users.example.com"), MaxLoginAttempts: new(int64(9)),
	})).must(t)
	s.annID, s.annToken, s.ann = s.person(t, "ann", "Ann Author")
	s.benID, s.benToken, s.ben = s.person(t, "ben", "Ben Builder")
	r.people(t)
	r.places(t)
	r.code(t)
	r.plans(t)
	r.planning(t)
	r.copies(t)
	r.integrations(t)
	r.packages(t)
	return r
}

// transfer moves a group of the server to another place on it, as from another server.
func (r *rich) transfer(t *testing.T) {
	t.Helper()
	got(r.root.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Leaving"), Path: new("leaving"), Visibility: new(gitlab.PublicVisibility)})).must(t)
	got(r.root.Settings.UpdateSettings(&gitlab.UpdateSettingsOptions{BulkImportEnabled: new(true)})).must(t)
	moved := got(r.root.BulkImports.StartMigration(&gitlab.BulkImportStartMigrationOptions{
		Configuration: &gitlab.BulkImportStartMigrationConfiguration{URL: &r.server.URL, AccessToken: new(servertest.RootToken)},
		Entities: []gitlab.BulkImportStartMigrationEntity{{
			SourceType: new("group_entity"), SourceFullPath: new("leaving"), DestinationSlug: new("arrived"), DestinationNamespace: new(""),
		}},
	})).must(t)
	until(t, "the group has moved", func() bool { return got(r.root.BulkImports.GetBulkImport(moved.ID)).must(t).Status == "finished" })
	if g := got(r.root.Groups.GetGroup("arrived", nil)).must(t); g.Name != "Leaving(1)" && g.Name != "Leaving" {
		t.Errorf("the group that moved is called %q", g.Name)
	}
	entities := got(r.root.BulkImports.ListBulkImportsEntitiesByID(moved.ID, nil)).must(t)
	if len(entities) != 1 || entities[0].Status != "finished" || entities[0].NamespaceID == nil || len(entities[0].Failures) != 0 {
		t.Fatalf("entities: %+v", entities)
	}
	maps.Copy(r.values, fields{"BulkImports.id": moved.ID, "BulkImports.entityID": entities[0].ID})
}

// packages publishes a generic package with the client, and downloads it.
func (r *rich) packages(t *testing.T) {
	t.Helper()
	const content = "content of a tool"
	options := &gitlab.PublishPackageFileOptions{Select: new(gitlab.SelectPackageFile)}
	f := got(r.root.GenericPackages.PublishPackageFile(1, "tool", "1.0", "bin/tool.sh", strings.NewReader(content), options)).must(t)
	if f.FileName != "bin/tool.sh" || f.Size != int64(len(content)) || len(f.FileSHA256) != 64 || f.File.URL == "" {
		t.Errorf("published: %+v", f)
	}
	if b := got(r.root.GenericPackages.DownloadPackageFile(1, "tool", "1.0", "bin/tool.sh")).must(t); string(b) != content {
		t.Errorf("downloaded: %q", b)
	}
	r.values["Packages.pkg"] = f.PackageID
}

// picture is a file with a picture.
func picture(t *testing.T) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

func (r *rich) people(t *testing.T) {
	ann := "users/" + number(r.annID)
	raw[fields](t, r.root, http.MethodPut, ann, fields{
		"bio": "Writes.", "location": "Bern", "public_email": "ann@example.com", "organization": "Example", "job_title": "Writer",
		"website_url": "https://example.com", "pronouns": "she", "note": "since 2020", "extern_uid": "a1", "provider": "saml", "linkedin": "ann",
	})
	got(r.ann.Users.UploadAvatar(picture(t), "ann.png")).must(t)
	got(r.root.CustomAttribute.SetCustomUserAttribute(r.annID, gitlab.CustomAttribute{Key: "floor", Value: "3"})).must(t)
	got(r.ann.Users.SetUserStatus(&gitlab.UserStatusOptions{Emoji: new("coffee"), Message: new("Back at nine"), ClearStatusAfter: new(gitlab.ClearStatusAfter30Minutes)})).must(t)
	raw[fields](t, r.ben, http.MethodPost, ann+"/follow", nil)
	email := got(r.root.Users.AddEmailForUser(r.annID, &gitlab.AddEmailOptions{Email: new("ann@home.example"), SkipConfirmation: new(true)})).must(t)

	// The key that signs commits, and one for GPG.
	folder := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ann@example.com", "-f", filepath.Join(folder, "key")).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	public, err := os.ReadFile(filepath.Join(folder, "key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	r.values["signing key"] = filepath.Join(folder, "key")
	expires := gitlab.ISOTime(time.Now().UTC().AddDate(0, 1, 0).Truncate(24 * time.Hour))
	key := got(r.ann.Users.AddSSHKey(&gitlab.AddSSHKeyOptions{Title: new("laptop"), Key: new(strings.TrimSpace(string(public))), ExpiresAt: &expires})).must(t)
	pgp := got(r.ann.Users.AddGPGKey(&gitlab.AddGPGKeyOptions{Key: new(servertest.GPGKey(t, "Ann", "ann@example.com"))})).must(t)
	own := post(t, r.root, ann+"/impersonation_tokens", fields{"name": "as ann", "scopes": []string{"api"}, "expires_at": expires.String()})
	pat := got(r.root.Users.CreatePersonalAccessToken(r.annID, &gitlab.CreatePersonalAccessTokenOptions{
		Name: new("work"), Description: new("For work"), Scopes: &[]string{"api", "read_user"}, ExpiresAt: &expires,
	})).must(t)
	if _, err := r.root.Users.BlockUser(r.benID); err != nil { // and lets him in again: both leave their marks
		t.Fatal(err)
	}
	if _, err := r.root.Users.UnblockUser(r.benID); err != nil {
		t.Fatal(err)
	}
	sha256 := strings.Fields(strings.TrimSpace(output(t, "ssh-keygen", "-l", "-f", filepath.Join(folder, "key.pub"))))[1]
	maps.Copy(r.values, fields{
		"uid": r.annID, "user": r.annID, "username": "ann", "key": key.ID, "email": email.ID,
		"Users.GetEmail.email":       got(r.root.Users.AddEmail(&gitlab.AddEmailOptions{Email: new("root@home.example")})).must(t).ID,
		"Users.GetSSHKey.key":        got(r.root.Users.AddSSHKey(&gitlab.AddSSHKeyOptions{Title: new("root"), Key: new(publicKey(t))})).must(t).ID,
		"Users.GetGPGKey.key":        got(r.root.Users.AddGPGKey(&gitlab.AddGPGKeyOptions{Key: new(servertest.GPGKey(t, "Root", "root@home.example"))})).must(t).ID,
		"Users.GetGPGKeyForUser.key": pgp.ID, "Users.token": own, "PersonalAccessTokens.token": pat.ID,
		"Users.GetAllImpersonationTokens.user": r.annID, "Keys.GetKeyByFingerprint.opt": &gitlab.GetKeyByFingerprintOptions{Fingerprint: sha256},
		"AvatarRequests.GetAvatar.opt": &gitlab.GetAvatarOptions{Email: new("ann@example.com")}, "CustomAttributes.key": "floor",
	})
}

// output runs a program and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

func (r *rich) places(t *testing.T) {
	root := r.root
	r.group = got(root.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Team"), Path: new("team"), Visibility: new(gitlab.PublicVisibility), Description: new("All of *us*")})).must(t)
	partners := got(root.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Partners"), Path: new("partners"), Visibility: new(gitlab.PublicVisibility)})).must(t)
	r.inner = got(root.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Core"), Path: new("core"), ParentID: &r.group.ID, Visibility: new(gitlab.PublicVisibility)})).must(t)
	r.project = got(root.Projects.CreateProject(&gitlab.CreateProjectOptions{
		Name: new("App"), NamespaceID: &r.group.ID, Visibility: new(gitlab.PublicVisibility), Topics: &[]string{"go"}, Description: new("An *app*"),
		ContainerExpirationPolicyAttributes: &gitlab.ContainerExpirationPolicyAttributes{Enabled: new(true), Cadence: new("7d")},
	})).must(t)
	group, project := "groups/"+number(r.group.ID), "projects/"+number(r.project.ID)
	expires := time.Now().UTC().AddDate(0, 1, 0)
	day := expires.Format(time.DateOnly)
	got(root.Groups.UploadAvatar(r.group.ID, picture(t), "team.png")).must(t)
	got(root.Projects.UploadAvatar(r.project.ID, picture(t), "app.png")).must(t)
	topic := post(t, root, "topics", fields{"name": "rich", "title": "Rich", "description": "All there is"})
	for _, place := range []string{group, project} {
		post(t, root, place+"/members", fields{"user_id": r.annID, "access_level": 40, "expires_at": day})
		post(t, root, place+"/invitations", fields{"email": "new@example.com", "access_level": 30})
		post(t, root, place+"/share", fields{"group_id": partners.ID, "group_access": 30, "expires_at": day})
	}
	post(t, r.ben, group+"/access_requests", nil)
	post(t, r.ben, project+"/access_requests", nil)
	attribute := gitlab.CustomAttribute{Key: "floor", Value: "3"}
	got(root.CustomAttribute.SetCustomGroupAttribute(r.group.ID, attribute)).must(t)
	got(root.CustomAttribute.SetCustomProjectAttribute(r.project.ID, attribute)).must(t)
	badge := fields{"name": "build", "link_url": "https://example.com/%{project_path}", "image_url": "https://example.com/%{default_branch}.svg"}
	label := fields{"name": "bug", "color": "#ff0000", "description": "It is broken"}
	token := fields{"name": "ci", "scopes": []string{"api"}, "access_level": 30, "expires_at": day}
	deploy := fields{"name": "deploy", "scopes": []string{"read_repository"}, "username": "deployer", "expires_at": expires.Format(time.RFC3339)}
	rule := fields{"commit_message_regex": ".*", "max_file_size": 50, "deny_delete_tag": true}
	post(t, root, group+"/push_rule", rule)
	post(t, root, project+"/push_rule", rule)
	post(t, root, project+"/star", nil)
	got(root.ProjectMarkdownUploads.UploadProjectMarkdown(r.project.ID, strings.NewReader("text"), "notes.txt")).must(t)
	r.forJobs(t, group, project)
	maps.Copy(r.values, fields{
		"gid": r.group.ID, "pid": r.project.ID, "group": r.group.ID, "project": r.project.ID, "topic": topic, "id": r.group.ID, "lid": "bug",
		"GroupBadges.badge": post(t, root, group+"/badges", badge), "ProjectBadges.badge": post(t, root, project+"/badges", badge),
		"GroupAccessTokens.id": post(t, root, group+"/access_tokens", token), "ProjectAccessTokens.id": post(t, root, project+"/access_tokens", token),
		"DeployTokens.GetGroupDeployToken.deployToken":   post(t, root, group+"/deploy_tokens", deploy),
		"DeployTokens.GetProjectDeployToken.deployToken": post(t, root, project+"/deploy_tokens", deploy),
		"DeployKeys.deployKey":                           post(t, root, project+"/deploy_keys", fields{"title": "deploy", "key": publicKey(t), "can_push": true, "expires_at": expires.Format(time.RFC3339)}),
		"group label":                                    post(t, root, group+"/labels", fields{"name": "urgent", "color": "#00ff00"}),
		"project label":                                  post(t, root, project+"/labels", label),
		"AuditEvents.GetInstanceAuditEvent.event":        firstOf(t, root, "audit_events"),
		"AuditEvents.GetGroupAuditEvent.event":           firstOf(t, root, group+"/audit_events"),
		"AuditEvents.GetProjectAuditEvent.event":         firstOf(t, root, project+"/audit_events"),
		"GroupLabels.lid":                                "urgent", "Issues.ListGroupIssues.pid": r.group.ID,
	})
}

// forJobs makes runners, variables, trigger tokens and secure files.
func (r *rich) forJobs(t *testing.T, group, project string) {
	root := r.root
	for _, of := range []string{"admin/ci", group, project} {
		post(t, root, of+"/variables", fields{"key": "KEY", "value": "masked-value", "masked": true, "protected": true, "raw": true, "description": "a key"})
	}
	made := post(t, root, "user/runners", fields{
		"runner_type": "instance_type", "description": "shed", "tag_list": []string{"linux"}, "maximum_timeout": 900, "maintenance_note": "Rack 7",
	})
	post(t, root, "user/runners", fields{"runner_type": "group_type", "group_id": r.group.ID})
	post(t, root, "user/runners", fields{"runner_type": "project_type", "project_id": r.project.ID})
	got(root.JobTokenScope.AddGroupToJobTokenAllowlist(r.project.ID, &gitlab.AddGroupToJobTokenAllowlistOptions{TargetGroupID: new(r.group.ID)})).must(t)
	got(root.SecureFiles.CreateSecureFile(r.project.ID, strings.NewReader("content"), &gitlab.CreateSecureFileOptions{Name: new("key.jks")})).must(t)
	maps.Copy(r.values, fields{
		"ProjectVariables.key": "KEY", "GroupVariables.key": "KEY", "InstanceVariables.key": "KEY", "Runners.rid": made,
		"PipelineTriggers.trigger": post(t, root, project+"/triggers", fields{"description": "nightly", "expires_at": "2100-01-01T00:00:00Z"}),
	})
}

// code fills the repository: a commit that is signed and has trailers, a rename, a deletion, a
// large object, an annotated tag, and rules for branches and tags.
func (r *rich) code(t *testing.T) {
	r.copy = filepath.Join(r.server.Data, "rich")
	r.git(t, r.server.Data, "", "init", "-q", "-b", "main", r.copy)
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(r.copy, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(message string) {
		t.Helper()
		r.git(t, r.copy, "", "add", "-A")
		r.git(t, r.copy, "", "commit", "-q", "-m", message)
	}
	write("README.md", "# App\n\nText.\n")
	write("LICENSE", "")
	write("main.go", "package main\n\nfunc main() {}\n"+strings.Repeat("// A line of some length.\n", 30))
	write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	write("large.bin", strings.Repeat("large", 1000))
	r.git(t, r.copy, "", "lfs", "install", "--local")
	r.git(t, r.copy, "", "config", "lfs.locksverify", "false")
	commit("First")
	r.git(t, r.copy, "", "mv", "main.go", "moved.go")
	r.git(t, r.copy, "", "rm", "-q", "LICENSE")
	commit("Move and delete\n\nChangelog: changed\nSigned-off-by: Ben <ben@example.com>")
	r.git(t, r.copy, "", "config", "gpg.format", "ssh")
	r.git(t, r.copy, "", "config", "user.signingkey", r.values["signing key"].(string))
	r.git(t, r.copy, "", "commit", "-q", "-S", "--allow-empty", "-m", "Sign\n\nSigned-off-by: Ann Author <ann@example.com>\nSigned-off-by: Ben <ben@example.com>")
	r.git(t, r.copy, "", "tag", "-a", "v1.0", "-m", "The first\n\nSigned-off-by: Ann Author <ann@example.com>")
	r.git(t, r.copy, "", "remote", "add", "origin", r.remote("ann", r.annToken))
	r.git(t, r.copy, "", "push", "-q", "origin", "main", "v1.0")
	sha := r.git(t, r.copy, "", "rev-parse", "HEAD")
	project := "projects/" + number(r.project.ID)
	post(t, r.root, project+"/protected_branches", fields{"name": "release/*", "push_access_level": 40, "merge_access_level": 30})
	post(t, r.root, project+"/protected_tags", fields{"name": "v*", "create_access_level": 40})
	post(t, r.root, project+"/releases", fields{"tag_name": "v1.0", "description": "The *first*", "assets": fields{"links": []fields{
		{"name": "tool", "url": "https://example.com/tool", "direct_asset_path": "/bin/tool", "link_type": "package"},
	}}})
	post(t, r.ann, project+"/repository/commits/"+sha+"/comments", fields{"note": "Well done", "path": "README.md", "line": 1, "line_type": "new"})
	for _, state := range []string{"running", "success"} {
		post(t, r.ann, project+"/statuses/"+sha, fields{"state": state, "name": "ci", "ref": "main", "coverage": 80.5, "target_url": "https://ci.example.com/1", "description": "passed"})
	}
	environment := post(t, r.root, project+"/environments", fields{"name": "review/one", "external_url": "https://one.example.com", "description": "The first"})
	deployment := post(t, r.root, project+"/deployments", fields{"environment": "review/one", "sha": sha, "ref": "main", "tag": false, "status": "success"})
	maps.Copy(r.values, fields{"Environments.environment": environment, "Deployments.deployment": deployment, "DeploymentMergeRequests.deployment": deployment})
	levels := []fields{{"access_level": 40}}
	post(t, r.root, project+"/protected_environments", fields{"name": "review/one", "deploy_access_levels": levels})
	post(t, r.root, "groups/"+number(r.group.ID)+"/protected_environments", fields{"name": "staging", "deploy_access_levels": levels})
	freeze := post(t, r.root, project+"/freeze_periods", fields{"freeze_start": "0 23 * * 5", "freeze_end": "0 7 * * 1", "cron_timezone": "Europe/Berlin"})
	metric := gitlab.GetDORAMetricsOptions{Metric: new(gitlab.DORAMetricDeploymentFrequency)}
	maps.Copy(r.values, fields{
		"ProtectedEnvironments.environment": "review/one", "GroupProtectedEnvironments.environment": "staging", "FreezePeriods.freezePeriod": freeze,
		"DORAMetrics.GetProjectDORAMetrics.opt": metric, "DORAMetrics.GetGroupDORAMetrics.opt": metric,
	})
	r.transfer(t)
	post(t, r.root, "groups/"+number(r.group.ID)+"/export_relations", fields{})
	nightly := post(t, r.root, project+"/pipeline_schedules", fields{"description": "nightly", "ref": "main", "cron": "0 1 * * *", "cron_timezone": "Europe/Berlin"})
	post(t, r.root, fmt.Sprintf("%s/pipeline_schedules/%d/variables", project, nightly), fields{"key": "KEY", "value": "value"})
	ships := post(t, r.root, "projects", fields{"name": "Ships", "initialize_with_readme": true})
	post(t, r.root, "projects/"+number(ships)+"/repository/commits", fields{
		"branch": "main", "commit_message": "Ship",
		"actions": []fields{{"action": "create", "file_path": ".gitlab-ci.yml", "content": "ship: {script: make, resource_group: eu/north}\nagain: {script: make, resource_group: eu/north}\n"}},
	})
	until(t, "one of two jobs waits for its resource group", func() bool {
		return len(got(r.root.Jobs.ListProjectJobs(ships, &gitlab.ListJobsOptions{Scope: &[]gitlab.BuildStateValue{"waiting_for_resource"}})).must(t)) == 1
	})
	got(r.root.Features.SetFeatureFlag("new_thing", &gitlab.SetFeatureFlagOptions{Value: true, Project: r.project.PathWithNamespace})).must(t)
	got(r.root.Features.SetFeatureFlag("new_thing", &gitlab.SetFeatureFlagOptions{Value: 30, Key: "percentage_of_actors"})).must(t)
	friends := got(r.root.FeatureFlagUserLists.CreateFeatureFlagUserList(r.project.ID, &gitlab.CreateFeatureFlagUserListOptions{Name: "Friends", UserXIDs: "ann,bob"})).must(t)
	flagged := got(r.root.ProjectFeatureFlags.CreateProjectFeatureFlag(r.project.ID, &gitlab.CreateProjectFeatureFlagOptions{
		Name: new("checkout"), Description: new("Pay in one step"), Version: new("new_version_flag"),
	})).must(t)
	if friends.IID != 1 || flagged.Name != "checkout" || !flagged.Active {
		t.Errorf("feature flag %+v, user list %+v", flagged, friends)
	}
	post(t, r.root, project+"/feature_flags", fields{"name": "for_friends", "strategies": []fields{{"name": "gitlabUserList", "parameters": fields{}, "user_list_id": friends.ID}}})
	r.values["ProjectFeatureFlag.name"] = "for_friends"
	got(r.root.PlanLimits.ChangePlanLimits(&gitlab.ChangePlanLimitOptions{PlanName: new("default"), NPMMaxFileSize: new(int64(1000))})).must(t)
	got(r.root.Appearance.ChangeAppearance(&gitlab.ChangeAppearanceOptions{
		Title: new("Shipyard"), Description: new("For *staff*"), PWAName: new("Yard"), PWAShortName: new("Y"), PWADescription: new("All ships"),
		MemberGuidelines: new("Be kind"), NewProjectGuidelines: new("Ask first"), ProfileImageGuidelines: new("Show your face"),
		HeaderMessage: new("Closed on Sunday"), FooterMessage: new("Ask Ann"), MessageBackgroundColor: new("#102030"), MessageFontColor: new("#ffffff"),
		EmailHeaderAndFooterEnabled: new(true),
	})).must(t)
	message := got(r.root.BroadcastMessage.CreateBroadcastMessage(&gitlab.CreateBroadcastMessageOptions{
		Message: new("Back at noon"), TargetAccessLevels: []gitlab.AccessLevelValue{gitlab.DeveloperPermissions}, TargetPath: new("team/*"), Theme: new("red"),
	})).must(t)
	accounts := got(r.root.Groups.CreateServiceAccount(r.group.ID, &gitlab.CreateServiceAccountOptions{Name: new("Deployer")})).must(t)
	got(r.root.Groups.CreateServiceAccountPersonalAccessToken(r.group.ID, accounts.ID, &gitlab.CreateServiceAccountPersonalAccessTokenOptions{
		Name: new("ci"), Scopes: new([]string{"api"}),
	})).must(t)
	got(r.root.Users.CreateServiceAccountUser(&gitlab.CreateServiceAccountUserOptions{Email: new("robots@example.com")})).must(t)
	got(r.root.GroupProtectedBranches.ProtectRepositoryBranches(r.group.ID, &gitlab.ProtectGroupRepositoryBranchesOptions{
		Name: new("stable/*"), PushAccessLevel: new(gitlab.MaintainerPermissions),
	})).must(t)
	r.hooks(t)
	maps.Copy(r.values, fields{
		"GroupProtectedBranches.branch": "stable/*",
		"serviceAccount":                accounts.ID,
		"broadcast":                     message.ID, "ResourceGroup.pid": ships, "ResourceGroup.key": "eu/north",
		"schedule": nightly, "sha": sha, "commit": sha, "branch": "main", "tag": "v1.0", "tagName": "v1.0", "fileName": "moved.go", "file": "moved.go", "MergeTrains.ListMergeRequestInMergeTrain.targetBranch": "main",
		"ProtectedBranches.branch": "release/*", "ProtectedTags.tag": "v*",
		"RepositoryFiles.GetFile.opt": &gitlab.GetFileOptions{Ref: new("main")}, "RepositoryFiles.GetFileBlame.opt": &gitlab.GetFileBlameOptions{Ref: new("main")},
		"RepositoryFiles.GetFileMetaData.opt": &gitlab.GetFileMetaDataOptions{Ref: new("main")}, "RepositoryFiles.GetRawFile.opt": &gitlab.GetRawFileOptions{Ref: new("main")},
		"templateType": "licenses", "templateName": "mit", "template": "mit", "CIYMLTemplates.key": "Go", "DockerfileTemplates.key": "Golang", "GitIgnoreTemplates.key": "Go",
		"Commits.ListCommits.opt": &gitlab.ListCommitsOptions{All: new(true), WithStats: new(true)},
		"Projects.GetProject.opt": &gitlab.GetProjectOptions{Statistics: new(true), License: new(true), WithCustomAttributes: new(true)},
		"Groups.GetGroup.opt":     &gitlab.GetGroupOptions{WithCustomAttributes: new(true)},
	})
}

// plans makes issues and merge requests in every state.
func (r *rich) plans(t *testing.T) {
	project := "projects/" + number(r.project.ID)
	issue := got(r.ann.Issues.CreateIssue(r.project.ID, &gitlab.CreateIssueOptions{
		Title: new("Broken"), Description: new("See - [ ] this"), Labels: &gitlab.LabelOptions{"bug", "urgent"}, AssigneeIDs: &[]int64{r.annID},
		DueDate: new(gitlab.ISOTime(time.Now().AddDate(0, 0, 3))),
	})).must(t)
	note := post(t, r.ann, project+"/issues/1/notes", fields{"body": "I look at *it*"})
	raw[fields](t, r.root, http.MethodPost, project+"/issues/1/notes", fields{"body": ":thumbsup:"}) // an award
	got(r.ann.Issues.CreateIssue(r.project.ID, &gitlab.CreateIssueOptions{Title: new("Secret"), Confidential: new(true)})).must(t)
	got(r.ann.Issues.UpdateIssue(r.project.ID, 2, &gitlab.UpdateIssueOptions{StateEvent: new("close")})).must(t)
	requests := map[string]int64{}
	for _, state := range []string{"open", "draft", "conflict", "merged", "closed", "train"} {
		file, content := state+".txt", state
		if state == "conflict" {
			file, content = "merged.txt", "otherwise"
		}
		got(r.ann.Commits.CreateCommit(r.project.ID, &gitlab.CreateCommitOptions{
			Branch: &state, StartBranch: new("main"), CommitMessage: new("Write " + state + "\n\nSigned-off-by: Ann Author <ann@example.com>"),
			Actions: []*gitlab.CommitActionOptions{{Action: new(gitlab.FileCreate), FilePath: &file, Content: &content}},
		})).must(t)
		title := "Take " + state
		if state == "draft" {
			title = "Draft: " + title
		}
		requests[state] = got(r.ann.MergeRequests.CreateMergeRequest(r.project.ID, &gitlab.CreateMergeRequestOptions{
			Title: &title, Description: new("Closes #1"), SourceBranch: &state, TargetBranch: new("main"), Labels: &gitlab.LabelOptions{"bug"},
			AssigneeIDs: &[]int64{r.annID}, ReviewerIDs: &[]int64{r.annID},
		})).must(t).IID
	}
	open := requests["open"]
	at := project + "/merge_requests/" + number(open)
	requestNote := post(t, r.ann, at+"/notes", fields{"body": "Fine"})
	draft := post(t, r.root, at+"/draft_notes", fields{"note": "Why?"})
	rule := post(t, r.ann, project+"/approval_rules", fields{"name": "two eyes", "approvals_required": 1, "user_ids": []int64{r.annID}, "protected_branch_ids": []int64{}})
	raw[fields](t, r.ann, http.MethodPost, at+"/approval_rules", fields{"name": "two eyes", "approvals_required": 1, "approval_project_rule_id": rule})
	post(t, r.ann, project+"/statuses/"+got(r.ann.Branches.GetBranch(r.project.ID, "open")).must(t).Commit.ID, fields{"state": "success", "name": "ci", "ref": "open"})
	got(r.ann.MergeRequests.AcceptMergeRequest(r.project.ID, requests["merged"], &gitlab.AcceptMergeRequestOptions{})).must(t)
	first := got(r.ann.MergeRequests.GetMergeRequest(r.project.ID, requests["merged"], nil)).must(t).ID
	got(r.ann.MergeRequests.CreateMergeRequestDependency(r.project.ID, open, gitlab.CreateMergeRequestDependencyOptions{BlockingMergeRequestID: &first})).must(t)
	got(r.ann.MergeRequests.UpdateMergeRequest(r.project.ID, requests["closed"], &gitlab.UpdateMergeRequestOptions{StateEvent: new("close")})).must(t)
	got(r.ann.Projects.EditProject(r.project.ID, &gitlab.EditProjectOptions{MergePipelinesEnabled: new(true), MergeTrainsEnabled: new(true)})).must(t)
	got(r.ann.MergeTrains.AddMergeRequestToMergeTrain(r.project.ID, requests["train"], nil)).must(t)
	version := got(r.ann.MergeRequests.GetMergeRequestDiffVersions(r.project.ID, open, nil)).must(t)[0].ID
	maps.Copy(r.values, fields{
		"issue": issue.IID, "issueIID": issue.IID, "Issues.GetIssueByID.issue": issue.ID, "note": note, "noteID": note,
		"mergeRequest": open, "mergeRequestIID": open, "mr": open, "version": version, "Notes.GetMergeRequestNote.note": requestNote,
		"DraftNotes.GetDraftNote.note": draft, "Projects.GetProjectApprovalRule.ruleID": rule,
		"MergeTrains.GetMergeRequestOnAMergeTrain.mergeRequest": requests["train"], "MergeTrains.ListMergeRequestInMergeTrain.targetBranch": "main",
	})
}

// copies makes projects out of others: a fork, an import and one from a template.
func (r *rich) copies(t *testing.T) {
	made := []int64{
		got(r.ann.Projects.ForkProject(r.project.ID, &gitlab.ForkProjectOptions{Name: new("Fork"), Path: new("fork")})).must(t).ID,
		post(t, r.root, "projects", fields{"name": "imported", "import_url": r.project.HTTPURLToRepo}),
		post(t, r.root, "projects", fields{"name": "templated", "template_name": "express"}),
	}
	for _, id := range made {
		until(t, "filled", func() bool {
			p := got(r.root.Projects.GetProject(id, nil)).must(t)
			if p.ImportStatus == "failed" {
				t.Fatalf("%s: %s", p.Path, p.ImportError)
			}
			return p.ImportStatus == "finished"
		})
	}
	if file := got(r.root.RepositoryFiles.GetRawFile(made[2], "package.json", nil)).must(t); !bytes.Contains(file, []byte("express")) {
		t.Errorf("from a template: %s", file)
	}
	got(r.root.Projects.ArchiveProject(made[1])).must(t)
}
