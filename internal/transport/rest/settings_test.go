package rest

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/setting"
	"tenon/internal/transport/rest/api"
)

const settingsPath = "/application/settings"

// settings reads the settings as the administrator does.
func (p *people) settings() map[string]any {
	p.t.Helper()
	w, body := p.call(adminToken, "GET", settingsPath, "")
	var got map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil || w.Code != 200 {
		p.t.Fatalf("settings: %d %s", w.Code, body)
	}
	return got
}

func TestSettings(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		_, ann := p.signUp("ann")
		p.want("", "GET", settingsPath, "", 401, `{"message":"401 Unauthorized"}`)
		p.want(ann, "GET", settingsPath, "", 403, `{"message":"403 Forbidden"}`)
		p.want(ann, "PUT", settingsPath, "default_projects_limit=1", 403, `{"message":"403 Forbidden"}`)
		got := p.settings()
		for name, want := range map[string]any{
			"id": 1.0, "default_branch_protection": 2.0, "default_project_visibility": "private", "default_branch_name": nil,
			"max_personal_access_token_lifetime": nil, "housekeeping_gc_period": 10.0, "default_projects_limit": 100000.0,
		} {
			if got[name] != want {
				t.Errorf("%s is %v at first, want %v", name, got[name], want)
			}
		}
		w, body := p.call(adminToken, "PUT", settingsPath, "default_branch_protection=0&default_branch_name=trunk&repository_size_limit=5"+
			"&restricted_visibility_levels=public,internal&max_personal_access_token_lifetime=30&enabled_git_access_protocol=all"+
			"&allow_local_requests_from_hooks_and_services=true&housekeeping_incremental_repack_period=7&no_such_setting=1&housekeeping_gc_period=200"+
			"&throttle_unauthenticated_web_requests_per_period=77&max_login_attempts=3&session_expire_delay=30&users_get_by_id_limit=0")
		if w.Code != 200 {
			t.Fatalf("changed: %d %s", w.Code, body)
		}
		got = p.settings()
		for name, want := range map[string]any{
			"default_branch_protection": 0.0, "default_branch_name": "trunk", "repository_size_limit": float64(5 << 20), "max_personal_access_token_lifetime": 30.0,
			"enabled_git_access_protocol": "", "allow_local_requests_from_web_hooks_and_services": true, "housekeeping_optimize_repository_period": 7.0,
			"throttle_unauthenticated_requests_per_period": 77.0, "throttle_unauthenticated_web_requests_per_period": 77.0, "max_login_attempts": 3.0, "session_expire_delay": 30.0, "users_get_by_id_limit": 0.0,
		} {
			if got[name] != want {
				t.Errorf("%s is %v afterwards, want %v", name, got[name], want)
			}
		}
		if s := p.Settings.Current(); s.Branch() != "trunk" || s.DefaultBranchProtection != 0 || !slices.Equal(s.RestrictedVisibilityLevels, []string{"public", "internal"}) {
			t.Errorf("in force: %+v", s)
		}
		// What is cleared goes back to nothing, and stays so for who starts next.
		p.call(adminToken, "PUT", settingsPath, "default_branch_name=&max_personal_access_token_lifetime=&restricted_visibility_levels=")
		again := setting.New(d, p.Now)
		if err := again.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := again.Current(); s.Branch() != "main" || s.MaxPersonalAccessTokenLifetime != nil || len(s.RestrictedVisibilityLevels) != 0 || s.RepositorySizeLimit != 5<<20 {
			t.Errorf("after a restart: %+v", s)
		}
	})
}

func TestSettings_refused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		before := p.settings()
		for form, want := range map[string]string{
			"default_branch_protection=9":                             `{"error":"default_branch_protection does not have a valid value"}`,
			"rsa_key_restriction=512":                                 `{"error":"rsa_key_restriction does not have a valid value"}`,
			"default_projects_limit=many":                             `{"error":"default_projects_limit is invalid"}`,
			"default_projects_limit=-1":                               `{"message":{"default_projects_limit":["must be greater than or equal to 0"]}}`,
			"notes_create_limit=-1":                                   `{"message":{"notes_create_limit":["must be greater than or equal to 0"]}}`,
			"session_expire_delay=0":                                  `{"message":{"session_expire_delay":["must be greater than 0"]}}`,
			"max_login_attempts=0":                                    `{"message":{"max_login_attempts":["must be greater than 0"]}}`,
			"throttle_unauthenticated_web_period_in_seconds=0":        `{"message":{"throttle_unauthenticated_period_in_seconds":["must be greater than 0"]}}`,
			"rate_limiting_response_text=" + strings.Repeat("x", 256): `{"message":{"rate_limiting_response_text":["is too long (maximum is 255 characters)"]}}`,
			"deletion_adjourned_period=0":                             `{"message":{"deletion_adjourned_period":["must be greater than 0"]}}`,
			"deletion_adjourned_period=91&default_projects_limit=5":   `{"message":{"deletion_adjourned_period":["must be less than or equal to 90"]}}`,
			"restricted_visibility_levels=private":                    `{"message":{"default_group_visibility":["cannot be set to a restricted visibility level"],"default_project_visibility":["cannot be set to a restricted visibility level"],"default_snippet_visibility":["cannot be set to a restricted visibility level"]}}`,
			"restricted_visibility_levels=secret":                     `{"message":{"restricted_visibility_levels":["'secret' is not a valid visibility level"]}}`,
			"import_sources=moon":                                     `{"message":{"import_sources":["'moon' is not a import source"]}}`,
			"allowed_integrations[]=jira&allowed_integrations[]=moon": `{"message":{"allowed_integrations":["contains unknown integration names"]}}`,
			"allowed_integrations[]=emails-on-push":                   `{"message":{"allowed_integrations":["contains unknown integration names"]}}`,
			"commit_email_hostname=a@b":                               `{"message":{"commit_email_hostname":["is invalid"]}}`,
			"commit_email_hostname=a%0Ab":                             `{"message":{"commit_email_hostname":["is invalid"]}}`,
			"default_branch_name=../main":                             `{"message":{"default_branch_name":["is not a valid branch name"]}}`,
			"max_attachment_size=8796093022208":                       `{"message":{"max_attachment_size":["must be less than or equal to 1048576"]}}`,
			"receive_max_input_size=8796093022208":                    `{"message":{"receive_max_input_size":["must be less than or equal to 1048576"]}}`,
			"personal_access_token_prefix=has+space":                  `{"message":{"personal_access_token_prefix":["can contain only letters of the Base64 alphabet (RFC4648) with the addition of '@', ':' and '.'"]}}`,
			"archive_builds_in_human_readable=23+hours":               `{"message":{"archive_builds_in_seconds":["must be at least 1 day"]}}`,
			"archive_builds_in_human_readable=soon":                   `{"message":{"archive_builds_in_seconds":["must be at least 1 day"]}}`,
			"akismet_enabled=true":                                    `{"error":"akismet_api_key is missing"}`,
			"slack_app_enabled=true&slack_app_id=1":                   `{"error":"slack_app_secret is missing, slack_app_signing_secret is missing, slack_app_verification_token is missing"}`,
			"housekeeping_enabled=true":                               `{"error":"housekeeping_incremental_repack_period, housekeeping_optimize_repository_period are missing, exactly one parameter must be provided"}`,
			"housekeeping_enabled=true&housekeeping_optimize_repository_period=5&housekeeping_gc_period=9": `{"error":"housekeeping_full_repack_period, housekeeping_gc_period, housekeeping_incremental_repack_period provide all or none of parameters"}`,
			"signin_enabled=true&password_authentication_enabled=true":                                     `{"error":"signin_enabled, password_authentication_enabled are mutually exclusive"}`,
			"asset_proxy_enabled=true":                                         `{"message":{"asset_proxy_url":["can't be blank"],"asset_proxy_secret_key":["can't be blank"]}}`,
			"domain_denylist_enabled=true":                                     `{"message":{"domain_denylist":["Domain denylist cannot be empty if denylist is enabled."]}}`,
			"enforce_terms=true":                                               `{"message":{"base":["You need to set terms to be enforced"]}}`,
			"unique_ips_limit_enabled=true&unique_ips_limit_per_user=0":        `{"message":{"unique_ips_limit_per_user":["must be greater than or equal to 1"]}}`,
			"external_authorization_service_enabled=true":                      `{"message":{"external_authorization_service_default_label":["can't be blank"]}}`,
			"external_auth_client_cert=none":                                   `{"message":{"external_auth_client_cert":["is invalid"],"external_auth_client_key":["can't be blank"]}}`,
			"delayed_group_deletion=false&delayed_project_deletion=true":       `{"message":{"delayed_project_deletion":["can't be enabled when delayed group deletion is disabled"]}}`,
			"deactivate_dormant_users=true&deactivate_dormant_users_period=30": `{"message":{"deactivate_dormant_users_period":["'30' days of inactivity must be greater than or equal to 90"]}}`,
			"default_syntax_highlighting_theme=7":                              `{"message":{"default_syntax_highlighting_theme":["must be a valid syntax highlighting theme ID"]}}`,
			"sidekiq_job_limiter_mode=drop":                                    `{"message":{"sidekiq_job_limiter_mode":["is not included in the list"]}}`,
			"home_page_url=ftp://example.com":                                  `{"message":{"home_page_url":["is invalid"]}}`,
			"default_artifacts_expire_in=":                                     `{"message":{"default_artifacts_expire_in":["can't be blank"]}}`,
			"default_artifacts_expire_in=soon":                                 `{"message":{"default_artifacts_expire_in":["is not a correct duration"]}}`,
			"default_ci_config_path=/a":                                        `{"message":{"default_ci_config_path":["cannot include leading slash or directory traversal."]}}`,
			"performance_bar_allowed_group_path=nowhere":                       `{"message":{"performance_bar_allowed_group_id":["not found"]}}`,
			"repository_storages_weighted[moon]=1":                             `{"message":{"repository_storages_weighted":["can't include: moon"]}}`,
			"repository_storages_weighted[default]=101":                        `{"message":{"repository_storages_weighted":["value for 'default' must be between 0 and 100"]}}`,
			"max_attachment_size=":                                             `{"message":{"max_attachment_size":["is not a number"]}}`,
			"lfs_enabled=":                                                     `{"message":{"lfs_enabled":["must be a boolean value"]}}`,
			"user_default_internal_regex=(":                                    `{"message":{"user_default_internal_regex":["is not a valid regular expression"]}}`,
			"repository_size_limit=9223372036854775807":                        `{"message":{"repository_size_limit":["must be less than or equal to 1048576"]}}`,
			"rsa_key_restriction=-1&dsa_key_restriction=-1&ecdsa_key_restriction=-1&ecdsa_sk_key_restriction=-1&ed25519_key_restriction=-1&ed25519_sk_key_restriction=-1": `{"message":{"allowed_key_types":["can't be blank"]}}`,
		} {
			p.want(adminToken, "PUT", settingsPath, form, 400, want)
		}
		w, body := p.call(adminToken, "PUT", settingsPath, "no_such_setting=1&repository_storages=a")
		if w.Code != 400 || !strings.HasPrefix(body, `{"error":"can_create_group, `) || !strings.HasSuffix(body, ` are missing, at least one parameter must be provided"}`) {
			t.Errorf("nothing known sent: %d %s", w.Code, body)
		}
		after := p.settings()
		for name := range before {
			if a, b := before[name], after[name]; !equalJSON(a, b) {
				t.Errorf("a refused change left %s at %v, it was %v", name, b, a)
			}
		}
		if w, body := p.call(adminToken, "PUT", settingsPath, "allowed_integrations[]=jira&allowed_integrations[]=emails_on_push"); w.Code != 200 {
			t.Errorf("integrations that are there: %d %s", w.Code, body)
		}
	})
}

func equalJSON(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// The answer has every name of the table but what is hidden, and what clients read beside it.
func TestSettings_answer(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	got := p.settings()
	for _, e := range setting.Table() {
		for _, name := range append([]string{e.Name}, e.Aliases...) {
			if _, there := got[name]; there == e.Hidden {
				t.Errorf("%s: answered %t", name, there)
			}
		}
	}
	for name, want := range map[string]any{
		"polling_interval_multiplier": "1.0", "container_registry_import_created_before": nil, "container_registry_import_timeout": 0.0,
		"domain_allowlist": nil, "domain_allowlist_raw": "", "domain_denylist_raw": "", "housekeeping_full_repack_period": 10.0, "housekeeping_bitmaps_enabled": true,
		"signin_enabled": true, "disable_personal_access_token": false, "deletion_adjourned_period": 7.0,
	} {
		if value, there := got[name]; !there || value != want {
			t.Errorf("%s is %v, want %v", name, value, want)
		}
	}
	if got["created_at"] == nil || got["updated_at"] == nil {
		t.Errorf("created_at %v, updated_at %v", got["created_at"], got["updated_at"])
	}
	w, body := p.call(adminToken, "PUT", settingsPath, "polling_interval_multiplier=1.5&domain_denylist=a.example%0Ab.example;c.example&kroki_formats[bpmn]=true&admin_notification_email=abuse@example.com")
	if w.Code != 200 {
		t.Fatalf("changed: %d %s", w.Code, body)
	}
	got = p.settings()
	if got["polling_interval_multiplier"] != "1.5" || got["domain_denylist_raw"] != "a.example\nb.example\nc.example" || got["abuse_notification_email"] != "abuse@example.com" ||
		!equalJSON(got["kroki_formats"], map[string]bool{"blockdiag": false, "bpmn": true, "excalidraw": false, "mermaid": false}) {
		t.Errorf("got %v, %q, %v, %v", got["polling_interval_multiplier"], got["domain_denylist_raw"], got["abuse_notification_email"], got["kroki_formats"])
	}
}

// companions are what some switches need to be turned on.
var companions = map[string]any{
	"akismet_api_key": "x", "eks_account_id": "123456789012", "eks_access_key_id": "AKIAIOSFODNN7EXAMPLE", "eks_secret_access_key": "x", "elasticsearch_aws_region": "x",
	"elasticsearch_url": "http://localhost:9200", "gitpod_url": "https://gitpod.example/", "kroki_url": "https://kroki.example/", "plantuml_url": "https://plantuml.example/",
	"diagramsnet_url": "https://diagrams.example/", "sourcegraph_url": "https://sourcegraph.example/", "recaptcha_site_key": "x", "recaptcha_private_key": "x", "mailgun_signing_key": "x",
	"two_factor_grace_period": 48, "shared_runners_text": "x", "slack_app_id": "x", "slack_app_secret": "x", "slack_app_signing_secret": "x", "slack_app_verification_token": "x",
	"snowplow_collector_hostname": "snow.example", "spam_check_endpoint_url": "grpc://spam.example", "asset_proxy_url": "https://assets.example/", "asset_proxy_secret_key": "x",
	"domain_denylist": []string{"example.net"}, "terms": "x", "external_authorization_service_url": "https://auth.example/", "external_authorization_service_default_label": "x",
	"sentry_dsn": "x", "sentry_environment": "x", "housekeeping_optimize_repository_period": 10,
}

// Each switch is turned to the other side and back, and nothing else changes but its aliases.
func TestSettings_toggle(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	put := func(values map[string]any) {
		t.Helper()
		body, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), "PUT", api.Prefix+settingsPath, bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Private-Token", adminToken)
		w := httptest.NewRecorder()
		if p.kit.ServeHTTP(w, r); w.Code != 200 {
			t.Fatalf("PUT %s: %d %s", body, w.Code, w.Body)
		}
	}
	put(companions)
	before, turned := p.settings(), 0
	for _, e := range setting.Table() {
		was, isSwitch := before[e.Name].(bool)
		if !isSwitch || e.Ignored || e.Name == "delayed_group_deletion" {
			continue
		}
		for _, value := range []bool{!was, was} {
			values := map[string]any{e.Name: value}
			for _, name := range e.With {
				values[name] = companions[name]
			}
			if e.Name == "housekeeping_enabled" {
				values["housekeeping_optimize_repository_period"] = 10
			}
			put(values)
			turned++
			after := p.settings()
			for name, now := range after {
				want := before[name]
				if name == e.Name || slices.Contains(e.Aliases, name) {
					want = value
				}
				if name != "updated_at" && name != "local_markdown_version" && !equalJSON(now, want) {
					t.Errorf("%s=%t: %s is %v, want %v", e.Name, value, name, now, want)
				}
			}
			if len(after) != len(before) {
				t.Errorf("%s=%t: %d names, want %d", e.Name, value, len(after), len(before))
			}
		}
	}
	if turned < 250 {
		t.Errorf("%d changes", turned)
	}
}
