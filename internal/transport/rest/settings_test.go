package rest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/setting"
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
			"default_branch_protection=9":                                        `{"error":"default_branch_protection does not have a valid value"}`,
			"rsa_key_restriction=512":                                            `{"error":"rsa_key_restriction does not have a valid value"}`,
			"default_projects_limit=many":                                        `{"error":"default_projects_limit is invalid"}`,
			"default_projects_limit=-1":                                          `{"message":{"default_projects_limit":["must be greater than or equal to 0"]}}`,
			"notes_create_limit=-1":                                              `{"message":{"notes_create_limit":["must be greater than or equal to 0"]}}`,
			"session_expire_delay=0":                                             `{"message":{"session_expire_delay":["must be greater than 0"]}}`,
			"max_login_attempts=0":                                               `{"message":{"max_login_attempts":["must be greater than 0"]}}`,
			"throttle_unauthenticated_web_period_in_seconds=0":                   `{"message":{"throttle_unauthenticated_period_in_seconds":["must be greater than 0"]}}`,
			"rate_limiting_response_text=" + strings.Repeat("x", 256):            `{"message":{"rate_limiting_response_text":["is too long (maximum is 255 characters)"]}}`,
			"deletion_adjourned_period=0":                                        `{"message":{"deletion_adjourned_period":["must be greater than 0"]}}`,
			"deletion_adjourned_period=91&default_projects_limit=5":              `{"message":{"deletion_adjourned_period":["must be less than or equal to 90"]}}`,
			"restricted_visibility_levels=private":                               `{"message":{"default_group_visibility":["cannot be set to a restricted visibility level"],"default_project_visibility":["cannot be set to a restricted visibility level"],"default_snippet_visibility":["cannot be set to a restricted visibility level"]}}`,
			"restricted_visibility_levels=secret":                                `{"message":{"restricted_visibility_levels":["'secret' is not a valid visibility level"]}}`,
			"import_sources=moon":                                                `{"message":{"import_sources":["'moon' is not a import source"]}}`,
			"commit_email_hostname=a@b":                                          `{"message":{"commit_email_hostname":["is invalid"]}}`,
			"commit_email_hostname=a%0Ab":                                        `{"message":{"commit_email_hostname":["is invalid"]}}`,
			"default_branch_name=../main":                                        `{"message":{"default_branch_name":["is not a valid branch name"]}}`,
			"max_attachment_size=8796093022208":                                  `{"message":{"max_attachment_size":["must be less than or equal to 1048576"]}}`,
			"receive_max_input_size=8796093022208":                               `{"message":{"receive_max_input_size":["must be less than or equal to 1048576"]}}`,
			"personal_access_token_prefix=has+space":                             `{"message":{"personal_access_token_prefix":["can contain only letters of the Base64 alphabet (RFC4648) with the addition of '@', ':' and '.'"]}}`,
			"archive_builds_in_human_readable=23+hours":                          `{"message":{"archive_builds_in_seconds":["must be at least 1 day"]}}`,
			"archive_builds_in_human_readable=soon":                              `{"message":{"archive_builds_in_seconds":["must be at least 1 day"]}}`,
			"user_default_internal_regex=(":                                      `{"message":{"user_default_internal_regex":["is not a valid regular expression"]}}`,
			"repository_size_limit=9223372036854775807":                          `{"error":"repository_size_limit does not have a valid value"}`,
			"signup_enabled=false":                                               `{"message":{"signup_enabled":["is not supported by this server"]}}`,
			"terms=x&default_projects_limit=1&admin_mode=true&no_such_setting=1": `{"message":{"admin_mode":["is not supported by this server"],"terms":["is not supported by this server"]}}`,
			"rsa_key_restriction=-1&dsa_key_restriction=-1&ecdsa_key_restriction=-1&ecdsa_sk_key_restriction=-1&ed25519_key_restriction=-1&ed25519_sk_key_restriction=-1": `{"message":{"allowed_key_types":["can't be blank"]}}`,
		} {
			p.want(adminToken, "PUT", settingsPath, form, 400, want)
		}
		p.want(adminToken, "PUT", settingsPath, "kroki_formats[bpmn]=true&can_create_group=false", 400, `{"message":{"kroki_formats":["is not supported by this server"]}}`)
		w, body := p.call(adminToken, "PUT", settingsPath, "no_such_setting=1&housekeeping_gc_period=200")
		if w.Code != 400 || !strings.HasPrefix(body, `{"error":"can_create_group, `) || !strings.HasSuffix(body, ` are missing, at least one parameter must be provided"}`) {
			t.Errorf("nothing known sent: %d %s", w.Code, body)
		}
		after := p.settings()
		for name := range before {
			if a, b := before[name], after[name]; !equalJSON(a, b) {
				t.Errorf("a refused change left %s at %v, it was %v", name, b, a)
			}
		}
	})
}

func equalJSON(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}
