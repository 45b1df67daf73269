package audit_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"tenon/internal/core/accesstoken"
	"tenon/internal/core/account"
	"tenon/internal/core/appearance"
	"tenon/internal/core/authz"
	"tenon/internal/core/broadcast"
	"tenon/internal/core/change"
	"tenon/internal/core/feature"
	"tenon/internal/core/integration"
	"tenon/internal/core/namespace"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
	"tenon/internal/core/token"
	"tenon/internal/core/variable"
	"tenon/internal/core/webhook"
)

// documented compares the names of the events that are recorded with those in the documentation, before its list of events that are not.
func documented(t *testing.T, recorded map[string]bool) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/audit-events.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllSubmatch(text, -1) {
		if listed[string(m[1])] {
			t.Errorf("docs/audit-events.md has %s twice", m[1])
		}
		listed[string(m[1])] = true
	}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if recorded[name] && !listed[name] {
			t.Errorf("%s is recorded, and not in docs/audit-events.md", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if !recorded[name] {
			t.Errorf("docs/audit-events.md has %s, which is not recorded", name)
		}
	}
}

// recordedAccounts are the events of changes of an account, of its addresses, and of sign-ons.
func recordedAccounts(by authz.Stamp, bob *account.User, ofBob func(event, details string) []entry, onUser func(event, target string, id int64, details string) []entry) []sample {
	now := *bob
	now.Username, now.Name, now.Email, now.Admin, now.Auditor, now.External = "robert", "Robert", "r@example.com", true, true, true
	var all []entry
	for _, name := range []string{"email_address", "password", "username", "name", "admin_status", "auditor_status", "external_status"} {
		e := ofBob("user_"+name+"_updated", "Robert")[0]
		e.Path = "robert"
		all = append(all, e)
	}
	ann := by.By
	as := func(e []entry, id int64, name string) []entry {
		e[0].AuthorID, e[0].Author = id, name
		return e
	}
	onAnn := func(event string) []entry {
		e := onUser(event, "User", int64(ann.UserID), ann.Username)
		e[0].EntityID, e[0].Path = int64(ann.UserID), ann.Username
		return e
	}
	nobody := as(onUser("login_failed_with_standard_authentication", "User", -1, ""), -1, "An unauthenticated user")
	nobody[0].EntityID = -1
	address := func(event string) []entry {
		e := onUser(event, "Email", 9, "b@example.com")
		e[0].Path = "bob"
		return e
	}
	return []sample{
		{account.UserUpdated{Of: change.Of[account.User]{Stamp: by, Before: bob, After: &now}, NewPassword: true, Promoted: true}, all},
		{account.UserUpdated{Of: change.Of[account.User]{Stamp: by, Before: bob, After: bob}}, nil},
		{account.SignedOn{Stamp: by}, onAnn("authenticated_with_password")},
		{account.SignOnFailed{Stamp: by}, onAnn("login_failed_with_standard_authentication")},
		{account.SignOnFailed{Stamp: authz.Actor{}.Stamp(by.At)}, nobody},
		{account.PasswordLinked{Of: change.Of[account.User]{Stamp: by, After: bob}}, ofBob("password_reset_requested", "Bob")},
		{account.AddressAdded{Stamp: by, ID: 9, UserID: bob.ID, Username: "bob", Email: "b@example.com"}, address("email_created")},
		{account.AddressRemoved{Stamp: by, ID: 9, UserID: bob.ID, Username: "bob", Email: "b@example.com"}, address("email_destroyed")},
	}
}

// recordedAttributes are the events of a project and of a group all of whose attributes change.
func recordedAttributes(by authz.Stamp, p *project.Project, g *namespace.Group, onShop, onTeam func(event, target string, id int64, details string) []entry) []sample {
	former, changed := *p, *p
	former.SettingsJSON = `{"packages_enabled":true}`
	changed.SettingsJSON = `{"resolve_outdated_diff_discussions":true,"packages_enabled":false,"merge_requests_template":"Say why"}`
	attributes := []string{
		"approvals_before_merge", "default_branch", "description", "lfs_enabled", "merge_method", "only_allow_merge_if_all_discussions_are_resolved",
		"only_allow_merge_if_pipeline_succeeds", "printing_merge_request_link_enabled", "remove_source_branch_after_merge", "repository_size_limit",
		"request_access_enabled", "squash_option", "suggestion_commit_message", "topics", "settings",
	}
	var features, shop []entry
	names := map[string]string{"settings": "packages_enabled"}
	for _, name := range attributes {
		if other, ok := names[name]; ok {
			name = other
		}
		shop = append(shop, onShop("project_"+name+"_updated", "Project", 5, "Shop")...)
	}
	shop = append(shop, onShop("project_resolve_outdated_diff_discussions_updated", "Project", 5, "Shop")...)
	shop = append(shop, onShop("project_merge_requests_template_updated", "Project", 5, "Shop")...)
	var levels []string
	for _, feature := range []string{
		"analytics", "builds", "container_registry", "environments", "feature_flags", "forking", "infrastructure", "issues", "merge_requests", "model_experiments", "model_registry",
		"monitor", "package_registry", "pages", "releases", "repository", "requirements", "security_and_compliance", "snippets", "wiki",
	} {
		levels = append(levels, feature+"_access_level")
		features = append(features, onShop("project_feature_"+feature+"_access_level_updated", "Project", 5, "Shop")...)
	}
	var team []entry
	list := []string{
		"description", "lfs_enabled", "mentions_disabled", "name", "path", "project_creation_level", "repository_size_limit", "request_access_enabled",
		"require_two_factor_authentication", "share_with_group_lock", "two_factor_grace_period", "visibility",
	}
	for _, name := range list {
		if name == "visibility" {
			name = "visibility_level"
		}
		team = append(team, onTeam("group_"+name+"_updated", "Group", 3, "Team")...)
	}
	locked := *g
	locked.SettingsJSON = `{"membership_lock":true,"shared_runners_minutes_limit":5}`
	return []sample{
		{project.Updated{Fact: project.Fact{Stamp: by, Place: p.Place(), After: &changed, Before: &former}, Attributes: attributes}, shop},
		{project.Updated{Fact: project.Fact{Stamp: by, Place: p.Place(), After: p, Before: p}, Attributes: levels}, features},
		{project.Updated{Fact: project.Fact{Stamp: by, Place: p.Place(), After: p, Before: p}, Attributes: []string{"visibility"}}, onShop("project_visibility_level_updated", "Project", 5, "Shop")},
		{namespace.GroupUpdated{GroupFact: namespace.GroupFact{Stamp: by, Place: g.Place(), After: g, Before: g}, Attributes: list}, team},
		{
			namespace.GroupUpdated{GroupFact: namespace.GroupFact{Stamp: by, Place: g.Place(), After: &locked, Before: g}, Attributes: []string{"settings"}},
			append(onTeam("group_membership_lock_updated", "Group", 3, "Team"), onTeam("group_shared_runners_minutes_limit_updated", "Group", 3, "Team")...),
		},
	}
}

// recordedElsewhere are events in places whose names differ from those in the other samples.
func recordedElsewhere(by authz.Stamp, inTeam authz.Place, author entry) []sample {
	of := func(kind string, id int64, path, event, target string, targetID int64, details string) []entry {
		e := author
		e.EntityType, e.EntityID, e.Path, e.Event = kind, id, path, event
		e.TargetType, e.TargetID, e.Target = target, targetID, details
		return []entry{e}
	}
	onAnn := func(event, target string, id int64, details string) []entry {
		return of("User", int64(by.By.UserID), by.By.Username, event, target, id, details)
	}
	onTeam := func(event, target string, id int64, details string) []entry {
		return of("Group", 3, "team", event, target, id, details)
	}
	key := variable.Variable{ID: 9, Key: "KEY"}
	secret := key
	secret.Protected = true
	instance := variable.Fact{Of: change.Of[variable.Variable]{Stamp: by, Before: &key, After: &secret}}
	group := variable.Fact{Of: change.Of[variable.Variable]{Stamp: by, Place: inTeam, Before: &key, After: &secret}}
	name := "shed"
	registered := change.Of[runner.Runner]{Stamp: by, After: &runner.Runner{ID: 9, Type: runner.InstanceType, Description: &name, Registered: true}}
	made := token.Token{ID: 9, UserID: 7, Kind: token.Project}
	return []sample{
		{variable.Created{Fact: instance}, onAnn("ci_instance_variable_created", "Ci::InstanceVariable", 9, "KEY")},
		{variable.Updated{Fact: instance}, onAnn("ci_instance_variable_updated", "Ci::InstanceVariable", 9, "KEY")},
		{variable.Deleted{Fact: instance}, onAnn("ci_instance_variable_deleted", "Ci::InstanceVariable", 9, "KEY")},
		{variable.Created{Fact: group}, onTeam("ci_group_variable_created", "Ci::GroupVariable", 9, "KEY")},
		{variable.Updated{Fact: group}, onTeam("ci_group_variable_updated", "Ci::GroupVariable", 9, "KEY")},
		{variable.Deleted{Fact: group}, onTeam("ci_group_variable_deleted", "Ci::GroupVariable", 9, "KEY")},
		{runner.Created{Of: registered}, onAnn("ci_runner_registered", "Ci::Runner", 9, "shed")},
		{accesstoken.Created{Of: change.Of[token.Token]{Stamp: by, Place: inTeam, After: &made}}, onTeam("group_access_token_created", "PersonalAccessToken", 9, "")},
		{accesstoken.Revoked{Of: change.Of[token.Token]{Stamp: by, Place: authz.Place{ID: 5, Path: "team/shop"}, After: &made}}, of("Project", 5, "team/shop", "project_access_token_deleted", "PersonalAccessToken", 9, "")},
	}
}

// recordedIntegrations are the events of integrations of a project.
func recordedIntegrations(by authz.Stamp, at authz.Place, in func(event, target string, id int64, details string) []entry) []sample {
	row := &integration.Integration{ID: 9, Slug: "jira"}
	of := change.Of[integration.Integration]{Stamp: by, Place: at, Before: row, After: row}
	hook := &webhook.Hook{ID: 9, URL: "https://*****:*****@hooks.example.com/s3cret"}
	hooks := change.Of[webhook.Hook]{Stamp: by, Place: at, Before: hook, After: hook}
	return []sample{
		{webhook.Created{Of: hooks}, in("webhook_created", "WebHook", 9, "Hook 9")},
		{webhook.Updated{Of: hooks}, in("webhook_updated", "WebHook", 9, "Hook 9")},
		{webhook.Deleted{Of: hooks}, in("webhook_destroyed", "WebHook", 9, "Hook 9")},
		{integration.Created{Of: of}, in("integration_created", "Integration", 9, "jira")},
		{integration.Updated{Of: of}, in("integration_updated", "Integration", 9, "jira")},
		{integration.Disabled{Of: of}, in("integration_disabled", "Integration", 9, "jira")},
	}
}

// recordedInstance are the events of what the instance has for all.
func recordedInstance(by authz.Stamp, of func(event, target string, id int64, title string) []entry) []sample {
	gates := &feature.Feature{ID: 9, Name: "new_thing"}
	features := change.Of[feature.Feature]{Stamp: by, Before: gates, After: gates}
	message := &broadcast.Message{ID: 9, Message: "Back at noon\nor later"}
	messages := change.Of[broadcast.Message]{Stamp: by, Before: message, After: message}
	look := &appearance.Appearance{ID: 1, Title: "Yard"}
	gold := &planlimit.Plan{ID: 9, Name: "gold"}
	const featureType, messageType = "Feature::FlipperFeature", "BroadcastMessage"
	return []sample{
		{planlimit.Updated{Of: change.Of[planlimit.Plan]{Stamp: by, Before: gold, After: gold}}, of("plan_limits_updated", "PlanLimits", 9, "gold")},
		{appearance.Updated{Of: change.Of[appearance.Appearance]{Stamp: by, Before: look, After: look}}, of("appearance_updated", "Appearance", 1, "Appearance")},
		{feature.Created{Of: features}, of("feature_created", featureType, 9, "new_thing")},
		{feature.Updated{Of: features}, of("feature_updated", featureType, 9, "new_thing")},
		{feature.Deleted{Of: features}, of("feature_deleted", featureType, 9, "new_thing")},
		{broadcast.Created{Of: messages}, of("broadcast_message_created", messageType, 9, "Back at noon")},
		{broadcast.Updated{Of: messages}, of("broadcast_message_updated", messageType, 9, "Back at noon")},
		{broadcast.Deleted{Of: messages}, of("broadcast_message_deleted", messageType, 9, "Back at noon")},
	}
}
