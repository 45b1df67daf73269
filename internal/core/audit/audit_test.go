package audit_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/core/accesstoken"
	"tenon/internal/core/account"
	"tenon/internal/core/approval"
	"tenon/internal/core/audit"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/coretest"
	"tenon/internal/core/deploy"
	"tenon/internal/core/deploykey"
	"tenon/internal/core/featureflag"
	"tenon/internal/core/gpgkey"
	"tenon/internal/core/jobtoken"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/packages"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/pushrule"
	"tenon/internal/core/release"
	"tenon/internal/core/runner"
	"tenon/internal/core/schedule"
	"tenon/internal/core/securefile"
	"tenon/internal/core/setting"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/statuscheck"
	"tenon/internal/core/token"
	"tenon/internal/core/trigger"
	"tenon/internal/core/upload"
	"tenon/internal/core/variable"
)

// entry is what the test reads of an audit event.
type entry struct {
	AuthorID   int64  `db:"author_id"`
	Author     string `db:"author_name"`
	EntityType string `db:"entity_type"`
	EntityID   int64  `db:"entity_id"`
	Path       string `db:"entity_path"`
	Event      string `db:"event_name"`
	TargetType string `db:"target_type"`
	TargetID   int64  `db:"target_id"`
	Target     string `db:"target_details"`
}

// kept is an event that says itself what is recorded of it.
type kept struct{ change.Of[securefile.File] }

func (kept) Audit() []change.Entry {
	return change.Record("{kind}_file_kept", "Kept {title} of {place}")
}

// TestRecorder publishes each event that the recorder reacts to, and compares what it records.
func TestRecorder(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		ann := w.User("ann")
		var bus event.Bus
		audit.New(audit.Deps{DB: d, Policy: w.Policy, Signer: signer(t), Log: slog.New(slog.DiscardHandler), Now: w.Now}).Subscribe(&bus)
		heard := map[string]bool{}
		for _, r := range bus.Reactions() {
			heard[r.Event] = false
		}
		names := map[string]bool{}
		for _, tt := range recorded(ann) {
			for _, e := range tt.want {
				names[e.Event] = e.Event != "project_file_kept" // which is of the test
			}
			before, err := db.Get[int64](t.Context(), d, "SELECT COALESCE(MAX(id), 0) FROM audit_events")
			if err == nil {
				err = d.InTx(t.Context(), func(ctx context.Context) error { return bus.Publish(ctx, tt.event) })
			}
			if err != nil {
				t.Fatalf("%T: %v", tt.event, err)
			}
			got, err := db.Select[entry](t.Context(), d, `SELECT author_id, author_name, entity_type, entity_id, entity_path, event_name,
				target_type, target_id, target_details FROM audit_events WHERE id > ? ORDER BY id`, before)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%+v:\n got %+v, %v\nwant %+v", tt.event, got, err, tt.want)
			}
			name := fmt.Sprintf("%T", tt.event)
			if _, says := tt.event.(change.Audited); says {
				name = "change.Audited"
			}
			if _, ok := heard[name]; !ok {
				t.Errorf("nothing reacts to %s", name)
			}
			heard[name] = true
		}
		documented(t, names)
		for name, published := range heard {
			if !published {
				t.Errorf("the test does not publish %s", name)
			}
		}
	})
}

type sample struct {
	event event.Event
	want  []entry
}

// recorded are the events, with what is recorded of each.
func recorded(ann authz.Actor) []sample {
	const user, group, projectType, shop = "User", "Group", "Project", "team/shop"
	by := ann.Stamp(time.Date(2023, 5, 22, 12, 0, 0, 0, time.UTC))
	author := entry{AuthorID: int64(ann.UserID), Author: "Ann"}
	of := func(kind string, id int64, path, event, target string, targetID int64, details string) []entry {
		e := author
		e.EntityType, e.EntityID, e.Path, e.Event = kind, id, path, event
		e.TargetType, e.TargetID, e.Target = target, targetID, details
		return []entry{e}
	}
	onUser := func(event, target string, id int64, details string) []entry {
		return of(user, 7, "", event, target, id, details)
	}
	onShop := func(event, target string, id int64, details string) []entry {
		return of(projectType, 5, shop, event, target, id, details)
	}
	onTeam := func(event, target string, id int64, details string) []entry {
		return of(group, 3, "team", event, target, id, details)
	}
	system := func(e []entry) []entry {
		e[0].AuthorID, e[0].Author = 0, "(System)"
		return e
	}
	bob := account.User{ID: 7, Username: "bob", Name: "Bob"}
	in := func(state account.State) *account.User { u := bob; u.State = state; return &u }
	state := func(before, after account.State) account.UserStateChanged {
		return account.UserStateChanged{Of: change.Of[account.User]{Stamp: by, Before: in(before), After: in(after)}}
	}
	ofBob := func(event, details string) []entry { return of(user, 7, "bob", event, user, 7, details) }
	inTeam := authz.Place{Group: true, ID: 3, Name: "Team", Path: "team"}
	inShop := authz.Place{ID: 5, Name: "Shop", Path: shop}
	team, former := namespace.Group{ID: 3, Name: "Team", FullPath: "team"}, namespace.Group{ID: 3, Name: "Team", FullPath: "old"}
	groupFact := namespace.GroupFact{Stamp: by, Place: inTeam, After: &team, Before: &former}
	ofTeam := func(event string) []entry { return onTeam(event, group, 3, "Team") }
	place, formerPlace := project.Project{ID: 5, Name: "Shop", FullPath: shop}, project.Project{ID: 5, Name: "Shop", FullPath: "old/shop"}
	fact := project.Fact{Stamp: by, Place: inShop, After: &place, Before: &formerPlace}
	ofShop := func(event string) []entry { return onShop(event, projectType, 5, "Shop") }
	ofFormer := func(event string) []entry { return of(projectType, 5, "old/shop", event, projectType, 5, "Shop") }
	owner := authz.UserID(7)
	key := change.Of[sshkey.Key]{Stamp: by, After: &sshkey.Key{ID: 9, UserID: &owner, SHA256: "SHA256:x"}}
	gpg := change.Of[gpgkey.Key]{Stamp: by, After: &gpgkey.Key{ID: 9, UserID: 7, Fingerprint: "ABC"}}
	ofToken := func(in authz.Place, kind token.Kind) change.Of[token.Token] {
		return change.Of[token.Token]{Stamp: by, Place: in, After: &token.Token{ID: 9, UserID: 7, Kind: kind}}
	}
	personal, ofGroup := ofToken(authz.Place{}, token.Personal), ofToken(authz.Place{}, token.Group)
	deployToken := change.Of[token.DeployToken]{Stamp: by, Place: inShop, After: &token.DeployToken{ID: 9, Name: "ci"}}
	enabled := deploykey.Key{Key: &sshkey.Key{ID: 9, Title: "ci"}}
	deployKey := change.Of[deploykey.Key]{Stamp: by, Place: inShop, After: &enabled}
	rule := change.Of[pushrule.Rule]{Stamp: by, Place: inShop, After: &pushrule.Rule{ID: 9}}
	groupRule := change.Of[pushrule.Rule]{Stamp: by, Place: inTeam, After: &pushrule.Rule{ID: 9}}
	checked := change.Of[statuscheck.Check]{Stamp: by, Place: inShop, After: &statuscheck.Check{ID: 9, Name: "scan"}}
	protected := change.Of[protection.Rule]{Stamp: by, Place: inShop, After: &protection.Rule{ID: 9, Name: "main"}}
	groupBranch := change.Of[protection.Rule]{Stamp: by, Place: inTeam, Before: protected.Row(), After: protected.Row()}
	guarded := change.Of[protection.ProtectedEnvironment]{
		Stamp: by, Place: inShop, Before: &protection.ProtectedEnvironment{ID: 9, Name: "production"}, After: &protection.ProtectedEnvironment{ID: 9, Name: "production", RequiredApprovals: 1},
	}
	required := change.Of[approval.Rule]{Stamp: by, Place: inShop, After: &approval.Rule{ID: 9, Name: "two eyes", Required: 2}, Before: &approval.Rule{ID: 9, Required: 1}}
	lax, strict := approval.Settings{Overrides: approval.Value{On: true}}, approval.Settings{Overrides: approval.Value{On: true}, RequirePassword: approval.Value{On: true}}
	variables := variable.Fact{Of: change.Of[variable.Variable]{
		Stamp: by, Place: inShop, Before: &variable.Variable{ID: 9, Key: "KEY"}, After: &variable.Variable{ID: 9, Key: "KEY", Protected: true},
	}}
	name := "shed"
	machine := change.Of[runner.Runner]{Stamp: by, After: &runner.Runner{ID: 9, Type: runner.InstanceType, Description: &name}}
	ofRunner := func(event string) []entry { return of(user, int64(ann.UserID), "ann", event, "Ci::Runner", 9, "shed") }
	listed := jobtoken.Listing{Stamp: by, Project: place, Namespace: 77, Name: "team/tools"}
	triggers := change.Of[trigger.Trigger]{Stamp: by, Place: inShop, After: &trigger.Trigger{ID: 9, Description: "Nightly"}}
	file := change.Of[securefile.File]{Stamp: by, Place: inShop, After: &securefile.File{ID: 9, Name: "key.jks"}}
	return slices.Concat([]sample{
		{variable.Created{Fact: variables}, onShop("ci_variable_created", "Ci::Variable", 9, "KEY")},
		{variable.Updated{Fact: variables}, onShop("ci_variable_updated", "Ci::Variable", 9, "KEY")},
		{variable.Deleted{Fact: variables}, onShop("ci_variable_deleted", "Ci::Variable", 9, "KEY")},
		{runner.Created{Of: machine}, ofRunner("ci_runner_created")},
		{runner.Deleted{Of: machine}, ofRunner("ci_runner_unregistered")},
		{runner.TokenReset{Of: machine}, ofRunner("ci_runner_token_reset")},
		{runner.Assigned{Of: change.Of[runner.Runner]{Stamp: by, Place: inShop, After: machine.After}}, of(projectType, 5, "", "ci_runner_assigned_to_project", "Ci::Runner", 9, "shed")},
		{runner.Unassigned{Of: change.Of[runner.Runner]{Stamp: by, Place: inShop, After: machine.After}}, of(projectType, 5, "", "ci_runner_unassigned_from_project", "Ci::Runner", 9, "shed")},
		{runner.RegistrationReset{Stamp: by, Type: runner.ProjectType, Place: inShop}, onShop("ci_runner_registration_token_reset", projectType, 5, "Shop")},
	}, recordedTokens(triggers, file, listed, onShop), recordedIntegrations(by, inShop, onShop), recordedAccounts(by, &bob, ofBob, onUser), recordedAttributes(by, &place, &team, onShop, onTeam), recordedElsewhere(by, inTeam, author), []sample{
		{approval.RuleCreated{Of: required}, onShop("approval_rule_created", "ApprovalRule", 9, "two eyes")},
		{approval.RuleUpdated{Of: required}, onShop("approval_rule_updated", "ApprovalRule", 9, "two eyes")},
		{approval.RuleDeleted{Of: required}, onShop("approval_rule_deleted", "ApprovalRule", 9, "two eyes")},
		{
			approval.SettingsChanged{Of: change.Of[approval.Settings]{Stamp: by, Place: authz.Place{ID: 5, Path: shop}, Before: &lax, After: &strict}},
			onShop("project_merge_request_approval_setting_updated", projectType, 5, shop),
		},
		{
			approval.SettingsChanged{Of: change.Of[approval.Settings]{Stamp: by, Place: authz.Place{Group: true, ID: 3, Path: "team"}, Before: &strict, After: &lax}},
			onTeam("group_merge_request_approval_setting_updated", group, 3, "team"),
		},
		{
			setting.Changed{Stamp: by, Name: "signup_enabled", From: true, To: false},
			of(user, int64(ann.UserID), "ann", "application_setting_updated", "ApplicationSetting", 1, "signup_enabled"),
		},
	}, recordedInstance(by, func(event, target string, id int64, title string) []entry {
		return of(user, int64(ann.UserID), "ann", event, target, id, title)
	}), []sample{
		{account.UserCreated{Of: change.Of[account.User]{Stamp: by, After: &bob}}, ofBob("user_created", "Bob")},
		{state(account.Active, account.Blocked), ofBob("user_blocked", "bob")},
		{state(account.Active, account.Deactivated), ofBob("user_deactivate", "bob")},
		{state(account.Blocked, account.Active), ofBob("user_unblocked", "bob")},
		{state(account.PendingApproval, account.Active), ofBob("user_approved", "bob")},
		{state(account.Deactivated, account.Active), ofBob("user_activate", "bob")},
		{state(account.Active, account.Banned), ofBob("user_state_updated", "bob")},
		{account.AccessLocked{Stamp: by, UserID: 7, Username: "bob"}, system(ofBob("user_access_locked", "bob"))},
		{account.AccessUnlocked{Stamp: by, UserID: 7, Username: "bob"}, ofBob("user_access_unlocked", "bob")},
		{account.UserRemoved{Of: change.Of[account.User]{Stamp: by, After: &bob}}, ofBob("user_destroyed", "Bob")},
		{account.UserRemoved{Of: change.Of[account.User]{Stamp: by, After: &bob}, Rejected: true}, ofBob("user_rejected", "Bob")},
		{token.Created{Of: personal}, onUser("personal_access_token_created", "PersonalAccessToken", 9, "")},
		{token.Created{Of: ofGroup}, nil},
		{token.Revoked{Of: personal}, onUser("personal_access_token_revoked", "PersonalAccessToken", 9, "")},
		{token.Revoked{Of: ofGroup}, nil},
		{sshkey.Added{Of: key}, onUser("add_ssh_key", "Key", 9, "SHA256:x")},
		{sshkey.Removed{Of: key}, onUser("remove_ssh_key", "Key", 9, "SHA256:x")},
		{gpgkey.Added{Of: gpg}, onUser("add_gpg_key", "GpgKey", 9, "ABC")},
		{gpgkey.Removed{Of: gpg}, onUser("remove_gpg_key", "GpgKey", 9, "ABC")},

		{namespace.MemberAdded{Of: change.Of[namespace.Member]{Stamp: by, Place: inTeam, After: &namespace.Member{UserID: 7}}}, onTeam("member_created", user, 7, "")},
		{namespace.MemberChanged{Of: change.Of[namespace.Member]{Stamp: by, Place: inShop, Before: &namespace.Member{UserID: 7}, After: &namespace.Member{UserID: 7}}}, onShop("member_updated", user, 7, "")},
		{namespace.MemberRemoved{Of: change.Of[namespace.Member]{Stamp: by, Place: inShop, After: &namespace.Member{UserID: 7}}}, onShop("member_destroyed", user, 7, "")},
		{namespace.AccessDenied{Stamp: by, Place: inShop, UserID: 7}, onShop("access_request_denied", user, 7, "")},
		{namespace.AccessDenied{Stamp: by, Place: inShop, UserID: ann.UserID}, onShop("access_request_withdrawn", user, int64(ann.UserID), "")},
		{namespace.Invited{Stamp: by, Place: inTeam, Email: "x@y"}, onTeam("member_invited", user, 0, "x@y")},
		{namespace.InvitationRemoved{Stamp: by, Place: inTeam, Email: "x@y"}, onTeam("member_invitation_removed", user, 0, "x@y")},
		{
			namespace.GroupShared{Stamp: by, Place: inTeam, GroupID: 4, GroupName: "Other"},
			onTeam("group_share_with_group_link_created", group, 4, "Other"),
		},
		{namespace.GroupShared{Stamp: by, Place: inShop, GroupID: 4, GroupName: "Other"}, onShop("project_group_link_created", group, 4, "Other")},
		{
			namespace.GroupUnshared{Stamp: by, Place: inTeam, GroupID: 4, GroupName: "Other"},
			onTeam("group_share_with_group_link_removed", group, 4, "Other"),
		},
		{namespace.GroupUnshared{Stamp: by, Place: inShop, GroupID: 4, GroupName: "Other"}, onShop("project_group_link_deleted", group, 4, "Other")},
		{namespace.GroupCreated{GroupFact: groupFact}, ofTeam("group_created")},
		{namespace.GroupMarked{GroupFact: groupFact}, of(group, 3, "old", "group_deletion_marked", group, 3, "Team")},
		{namespace.GroupMarked{GroupFact: groupFact, Restored: true}, of(group, 3, "old", "group_restored", group, 3, "Team")},
		{namespace.GroupArchived{GroupFact: groupFact}, ofTeam("group_archived")},
		{namespace.GroupArchived{GroupFact: groupFact, Undone: true}, ofTeam("group_unarchived")},
		{namespace.GroupTransferred{GroupFact: groupFact}, ofTeam("group_transferred")},
		{namespace.GroupDeleted{GroupFact: groupFact}, ofTeam("group_destroyed")},

		{project.Created{Fact: fact}, ofShop("project_created")},
		{project.Updated{Fact: fact, Attributes: []string{"name", "path"}}, append(ofFormer("project_name_updated"), ofFormer("project_path_updated")...)},
		{project.Updated{Fact: fact}, nil},
		{project.Archived{Fact: fact}, ofShop("project_archived")},
		{project.Archived{Fact: fact, Undone: true}, ofShop("project_unarchived")},
		{project.Marked{Fact: fact}, ofFormer("project_deletion_marked")},
		{project.Marked{Fact: fact, Restored: true}, ofFormer("project_restored")},
		{project.Deleted{Fact: fact}, ofShop("project_destroyed")},
		{project.Transferred{Fact: fact}, ofShop("project_namespace_updated")},
		{project.Forked{Fact: project.Fact{Stamp: by, Place: inShop, After: &formerPlace}, Source: &place}, onShop("project_fork_operation", projectType, 5, shop)},
		{project.ForkLinked{Fact: fact, Source: &formerPlace}, ofShop("project_fork_relationship_created")},
		{project.Unforked{Fact: fact}, ofShop("project_fork_relationship_removed")},
		{project.Unforked{Fact: fact, Deleted: true}, nil},
		{upload.Deleted{Of: change.Of[upload.Upload]{Stamp: by, Place: inTeam, Before: &upload.Upload{ID: 9, Name: "a.png"}}}, onTeam("upload_deleted", "Upload", 9, "")},
		{accesstoken.Created{Of: ofToken(inShop, token.Project)}, onShop("project_access_token_created", "PersonalAccessToken", 9, "")},
		{accesstoken.Revoked{Of: ofToken(inTeam, token.Group)}, onTeam("group_access_token_deleted", "PersonalAccessToken", 9, "")},
		{accesstoken.DeployCreated{Of: deployToken}, onShop("deploy_token_created", "DeployToken", 9, "ci")},
		{accesstoken.DeployDestroyed{Of: deployToken}, onShop("deploy_token_destroyed", "DeployToken", 9, "ci")},
		{deploykey.Added{Of: deployKey}, onShop("deploy_key_added", "DeployKey", 9, "ci")},
		{deploykey.Updated{Of: deployKey}, onShop("deploy_key_updated", "DeployKey", 9, "ci")},
		{deploykey.Removed{Of: deployKey}, onShop("deploy_key_removed", "DeployKey", 9, "ci")},
		{deploykey.PublicAdded{Of: change.Of[deploykey.Key]{Stamp: by, After: &enabled}}, of(user, int64(ann.UserID), "ann", "deploy_key_added", "DeployKey", 9, "ci")},
		{pushrule.Created{Of: rule}, onShop("push_rule_created", "PushRule", 9, "Shop")},
		{pushrule.Updated{Of: groupRule}, onTeam("push_rule_updated", "PushRule", 9, "Team")},
		{pushrule.Deleted{Of: rule}, onShop("push_rule_removed", "PushRule", 9, "Shop")},
		{statuscheck.Created{Of: checked}, onShop("create_status_check", "MergeRequests::ExternalStatusCheck", 9, "scan")},
		{
			statuscheck.Updated{Of: change.Of[statuscheck.Check]{Stamp: by, Place: inShop, After: checked.After, Before: &statuscheck.Check{ID: 9, Name: "old", Sealed: new(string)}}},
			slices.Concat(onShop("update_status_check", "MergeRequests::ExternalStatusCheck", 9, "scan"), onShop("update_status_check", "MergeRequests::ExternalStatusCheck", 9, "scan")),
		},
		{statuscheck.Deleted{Of: checked}, onShop("delete_status_check", "MergeRequests::ExternalStatusCheck", 9, "scan")},
		{
			statuscheck.Responded{
				Of: checked, MergeRequest: mergerequest.MergeRequest{ID: 9, IID: 1},
				Response: statuscheck.Response{Status: statuscheck.Passed},
			},
			onShop("status_check_response_update", "MergeRequests::ExternalStatusCheck", 9, "scan"),
		},
		{protection.BranchProtected{Of: protected}, onShop("protected_branch_created", "ProtectedBranch", 9, "main")},
		{protection.BranchProtectionUpdated{Of: protected}, onShop("protected_branch_updated", "ProtectedBranch", 9, "main")},
		{protection.BranchUnprotected{Of: protected}, onShop("protected_branch_removed", "ProtectedBranch", 9, "main")},
		{protection.GroupBranchProtected{Of: groupBranch}, onTeam("protected_branch_created", "ProtectedBranch", 9, "main")},
		{protection.GroupBranchProtectionUpdated{Of: groupBranch}, onTeam("protected_branch_updated", "ProtectedBranch", 9, "main")},
		{protection.GroupBranchUnprotected{Of: groupBranch}, onTeam("protected_branch_removed", "ProtectedBranch", 9, "main")},
		{protection.EnvironmentProtected{Of: guarded}, onShop("environment_protected", "ProtectedEnvironment", 9, "production")},
		{protection.EnvironmentProtectionUpdated{Of: guarded}, onShop("protected_environment_updated", "ProtectedEnvironment", 9, "production")},
		{protection.EnvironmentUnprotected{Of: guarded}, onShop("environment_unprotected", "ProtectedEnvironment", 9, "production")},
		{protection.TagProtected{TagEvent: protection.TagEvent{Of: protected}}, onShop("protected_tag_created", "ProtectedTag", 9, "main")},
		{protection.TagUnprotected{TagEvent: protection.TagEvent{Of: protected}}, onShop("protected_tag_removed", "ProtectedTag", 9, "main")},
		{
			mergerequest.Merged{Fact: mergerequest.Fact{Of: change.Of[mergerequest.MergeRequest]{Stamp: by, Place: place.Place(), After: &mergerequest.MergeRequest{ID: 9, Title: "Add"}}, Project: &place}},
			onShop("merge_request_merged", "MergeRequest", 9, "Add"),
		},
	})
}

// recordedTokens are the events of trigger tokens, schedules, resource groups and secure files.
func recordedTokens(token change.Of[trigger.Trigger], file change.Of[securefile.File], listed jobtoken.Listing, in func(event, target string, id int64, details string) []entry) []sample {
	group := listed
	group.Group = true
	flag := change.Between(authz.Actor{}, listed.At, file.Place, &featureflag.Flag{ID: 9, Name: "checkout"}, &featureflag.Flag{ID: 9, Name: "checkout", Active: true})
	client := change.Of[featureflag.Client]{Stamp: file.Stamp, Place: file.Place, After: &featureflag.Client{ProjectID: 5}}
	flag.Stamp = file.Stamp
	nightly := schedule.Schedule{ID: 9, Description: "Nightly", Cron: "0 1 * * *"}
	weekly := nightly
	weekly.Cron = "0 1 * * 0"
	planned := func(before, after *schedule.Schedule) schedule.Changed {
		return schedule.Changed{Change: schedule.Change{Of: change.Of[schedule.Schedule]{Stamp: listed.Stamp, Place: listed.Project.Place(), Before: before, After: after}, Project: &listed.Project}}
	}
	winter := deploy.FreezePeriod{ID: 9, Start: "0 0 20 12 *", End: "0 0 3 1 *", Timezone: "UTC"}
	frozen := change.Of[deploy.FreezePeriod]{Stamp: token.Stamp, Place: token.Place, Before: &winter, After: &winter}
	tools := packages.Rule{ID: 9, Kind: packages.Generic, Pattern: "tool-*"}
	guarded := change.Of[packages.Rule]{Stamp: token.Stamp, Place: token.Place, Before: &tools, After: &tools}
	released := change.Of[release.Release]{Stamp: token.Stamp, Place: token.Place, After: &release.Release{ID: 9, Tag: "v1"}}
	return []sample{
		{trigger.Created{Of: token}, in("ci_pipeline_trigger_created", "Ci::Trigger", 9, "Nightly")},
		{trigger.Updated{Of: token}, in("ci_pipeline_trigger_updated", "Ci::Trigger", 9, "Nightly")},
		{trigger.Deleted{Of: token}, in("ci_pipeline_trigger_deleted", "Ci::Trigger", 9, "Nightly")},
		{planned(nil, &nightly), in("ci_pipeline_schedule_created", "Ci::PipelineSchedule", 9, "Nightly")},
		{planned(&nightly, &weekly), in("ci_pipeline_schedule_updated", "Ci::PipelineSchedule", 9, "Nightly")},
		{planned(&nightly, nil), in("ci_pipeline_schedule_deleted", "Ci::PipelineSchedule", 9, "Nightly")},
		{
			ci.ResourceGroupChanged{Of: change.Of[ci.ResourceGroup]{
				Stamp: listed.Stamp, Place: listed.Project.Place(),
				Before: &ci.ResourceGroup{ID: 9, Key: "production", ProcessMode: ci.Unordered}, After: &ci.ResourceGroup{ID: 9, Key: "production", ProcessMode: ci.OldestFirst},
			}},
			in("ci_resource_group_updated", "Ci::ResourceGroup", 9, "production"),
		},
		{packages.Deleted{Of: change.Of[packages.Package]{Stamp: file.Stamp, Place: file.Place, Before: &packages.Package{ID: 9, Name: "tool"}}}, in("package_deleted", "Packages::Package", 9, "tool")},
		{packages.FileDeleted{Of: change.Of[packages.File]{Stamp: file.Stamp, Place: file.Place, Before: &packages.File{ID: 9, Name: "tool.txt"}}}, in("package_file_deleted", "Packages::PackageFile", 9, "tool.txt")},
		{packages.RuleCreated{Of: guarded}, in("package_protection_rule_created", "Packages::Protection::Rule", 9, "tool-*")},
		{packages.RuleUpdated{Of: guarded}, in("package_protection_rule_updated", "Packages::Protection::Rule", 9, "tool-*")},
		{packages.RuleDeleted{Of: guarded}, in("package_protection_rule_deleted", "Packages::Protection::Rule", 9, "tool-*")},
		{securefile.Created{Of: file}, in("ci_secure_file_created", "Ci::SecureFile", 9, "key.jks")},
		{securefile.Deleted{Of: file}, in("ci_secure_file_deleted", "Ci::SecureFile", 9, "key.jks")},
		{deploy.FreezePeriodCreated{Of: frozen}, in("freeze_period_created", "Ci::FreezePeriod", 9, "")},
		{deploy.FreezePeriodUpdated{Of: frozen}, in("freeze_period_updated", "Ci::FreezePeriod", 9, "")},
		{deploy.FreezePeriodDeleted{Of: frozen}, in("freeze_period_deleted", "Ci::FreezePeriod", 9, "")},
		{release.Created{Of: released}, in("release_created", "Release", 9, "v1")},
		{release.Updated{Of: released}, in("release_updated", "Release", 9, "v1")},
		{release.Deleted{Of: released}, in("release_deleted", "Release", 9, "v1")},
		{featureflag.Created{Of: flag}, in("feature_flag_created", "Operations::FeatureFlag", 9, "checkout")},
		{featureflag.Updated{Of: flag}, in("feature_flag_updated", "Operations::FeatureFlag", 9, "checkout")},
		{featureflag.Deleted{Of: flag}, in("feature_flag_deleted", "Operations::FeatureFlag", 9, "checkout")},
		{featureflag.ClientCreated{Of: client}, in("feature_flags_client_created", "Operations::FeatureFlagsClient", 5, "")},
		{featureflag.ClientDeleted{Of: client}, in("feature_flags_client_deleted", "Operations::FeatureFlagsClient", 5, "")},
		{kept{file}, in("project_file_kept", "Ci::SecureFile", 9, "key.jks")},
		{jobtoken.ScopeChanged{Stamp: listed.Stamp, Project: listed.Project, Inbound: true}, in("secure_ci_job_token_inbound_enabled", audit.Project, 5, "Shop")},
		{jobtoken.ScopeChanged{Stamp: listed.Stamp, Project: listed.Project}, in("secure_ci_job_token_inbound_disabled", audit.Project, 5, "Shop")},
		{jobtoken.Allowed{Listing: listed}, in("secure_ci_job_token_project_added", audit.Project, 5, "Shop")},
		{jobtoken.Disallowed{Listing: listed}, in("secure_ci_job_token_project_removed", audit.Project, 5, "Shop")},
		{jobtoken.Allowed{Listing: group}, in("secure_ci_job_token_group_added", audit.Project, 5, "Shop")},
		{jobtoken.Disallowed{Listing: group}, in("secure_ci_job_token_group_removed", audit.Project, 5, "Shop")},
	}
}
