package ci_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/idtoken"
	"tenon/internal/core/project"
	"tenon/internal/core/variable"
)

// claimsOf verifies a token as another system would, with the public keys, and returns what it says.
func (w *world) claimsOf(token string) (standard jwt.Claims, all map[string]any) {
	w.T.Helper()
	keys, err := w.idTokens.Keys(w.T.Context())
	check(w.T, err)
	text, err := json.Marshal(keys)
	check(w.T, err)
	var set jose.JSONWebKeySet
	check(w.T, json.Unmarshal(text, &set))
	if len(set.Keys) != 1 || !set.Keys[0].IsPublic() || set.Keys[0].Use != "sig" {
		w.T.Fatalf("keys %s, want one public one", text)
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	check(w.T, err)
	check(w.T, parsed.Claims(set, &standard, &all))
	return standard, all
}

func TestService_idTokens(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		runnerToken := w.runner("instance_type", nil)
		w.push("work", yml(`
deploy:
  script: x
  timeout: 20m
  environment: {name: review/$CI_COMMIT_REF_NAME, deployment_tier: development}
  id_tokens:
    ONE: {aud: "https://vault.example/$CI_PROJECT_NAME"}
    TWO: {aud: [a, b]}
`), "Begin")
		a := w.take(runnerToken, "deploy")
		one, all := w.claimsOf(value(a, "ONE"))
		check(t, one.ValidateWithLeeway(jwt.Expected{Issuer: "http://tenon.test", AnyAudience: jwt.Audience{"https://vault.example/shop"}, Time: w.now()}, 0))
		equal(t, "subject", one.Subject, "project_path:group/shop:ref_type:branch:ref:work")
		equal(t, "expiry", one.Expiry.Time().Sub(one.IssuedAt.Time()), 20*time.Minute)
		for name, want := range map[string]any{
			"aud": "https://vault.example/shop", "namespace_path": "group", "project_path": "group/shop", "project_id": strconv.FormatInt(int64(w.id), 10),
			"user_login": "mary", "pipeline_source": "push", "job_id": strconv.FormatInt(int64(a.Job.ID), 10), "ref": "work", "ref_type": "branch", "ref_path": "refs/heads/work",
			"ref_protected": "false", "sha": a.Pipeline.SHA, "environment": "review/work", "deployment_tier": "development", "environment_action": "start",
			"project_visibility": "private", "runner_environment": "self-hosted", "ci_config_ref_uri": "tenon.test/group/shop//.gitlab-ci.yml@refs/heads/work",
		} {
			if all[name] != want {
				t.Errorf("claim %s: %v, want %v", name, all[name], want)
			}
		}
		for name := range all {
			if !slices.Contains(ci.TokenClaims(), name) {
				t.Errorf("claim %s is in the token, but not among those that are announced", name)
			}
		}
		two, _ := w.claimsOf(value(a, "TWO"))
		if !slices.Equal(two.Audience, jwt.Audience{"a", "b"}) || two.ID == one.ID {
			t.Errorf("second token: audience %v, id %q; want a, b and another id than %q", two.Audience, two.ID, one.ID)
		}
		at := slices.IndexFunc(a.Variables, func(v ci.Variable) bool { return v.Key == "ONE" })
		if v := a.Variables[at]; !v.Masked || v.Public {
			t.Errorf("variable %+v, want it masked", v)
		}
		// Another server on the same database signs with the same key.
		other := idtoken.New(idtoken.Deps{DB: w.DB, Box: w.box, Now: w.now})
		token, err := other.Sign(t.Context(), map[string]any{"sub": "x"})
		check(t, err)
		w.claimsOf(token)
		if got := w.holding(value(a, "ONE")); len(got) > 0 {
			t.Errorf("the token stands in %v", got)
		}
	})
}

// Attack: variables of a project forge the claims of its ID tokens.
func TestService_idTokens_forged(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, key := range []string{"GITLAB_USER_LOGIN", "GITLAB_USER_ID", "GITLAB_USER_EMAIL", "CI_COMMIT_REF_NAME", "CI_ENVIRONMENT_ACTION"} {
			_, err := w.variables.Create(t.Context(), w.maintainer, w.as(w.maintainer).Place(), variable.Input{Key: key, Value: "forged"})
			check(t, err)
		}
		runnerToken := w.runner("instance_type", nil)
		w.push("work", yml("job: {script: x, environment: {name: here}, variables: {GITLAB_USER_LOGIN: forged}, id_tokens: {ONE: {aud: a}}}\n"), "Begin")
		_, all := w.claimsOf(value(w.take(runnerToken, "job"), "ONE"))
		for name, claim := range all {
			if claim == "forged" {
				t.Errorf("claim %s is what a variable says", name)
			}
		}
		if all["user_login"] != "mary" || all["ref"] != "work" || all["environment_action"] != "start" {
			t.Errorf("claims %v", all)
		}
	})
}

// A token tells what other accounts its user has where the user wants that.
func TestService_idTokens_identities(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		runnerToken := w.runner("instance_type", nil)
		w.exec("INSERT INTO identities (user_id, provider, extern_uid, created_at) VALUES (?, 'github', '4711', ?)", w.maintainer.UserID, db.At(w.now()))
		claim := func() any {
			t.Helper()
			w.push("work", yml("job: {script: x, id_tokens: {ONE: {aud: a}}}\nn: {script: '"+w.now().String()+"', tags: [none]}\n"), "Begin")
			_, all := w.claimsOf(value(w.take(runnerToken, "job"), "ONE"))
			return all["user_identities"]
		}
		if got := claim(); got != nil {
			t.Errorf("by default: %v", got)
		}
		yes := true
		_, err := w.accounts.Prefer(t.Context(), w.maintainer, account.Preferences{PassIdentities: &yes})
		check(t, err)
		equal(t, "identities", fmt.Sprint(claim()), "[map[extern_uid:4711 provider:github]]")
	})
}

func TestService_idTokens_subject(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.settings(w.id, `{"ci_id_token_sub_claim_components":["project_path","ref_protected","unknown"]}`)
		runnerToken := w.runner("instance_type", nil)
		w.push("work", yml("job: {script: x, id_tokens: {ONE: {aud: a}}}\n"), "Begin")
		one, _ := w.claimsOf(value(w.take(runnerToken, "job"), "ONE"))
		equal(t, "subject", one.Subject, "project_path:group/shop:ref_protected:false")
	})
}

// bearer returns the actor of the token of a job that runs in the project.
func (w *world) bearer() authz.Actor {
	w.T.Helper()
	token := w.runner("instance_type", nil)
	w.push("work", yml("job: {script: x}\n"), "Begin")
	as, err := w.ci.Bearer(w.T.Context(), w.take(token, "job").Token)
	check(w.T, err)
	return as
}

// Attack: a job reads every private project that the user who started it may read.
func TestService_Bearer_allowlist(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := w.Group("other", authz.Private, 0)
		tools, strange, open := w.Project("group/tools", authz.Private, w.group), w.Project("other/strange", authz.Private, other), w.Project("group/open", authz.Public, w.group)
		w.staff(tools)
		job := w.bearer()
		reads := func(what string, id project.ID, want bool) {
			t.Helper()
			_, err := w.Projects.FindByID(t.Context(), job, id)
			if want && err != nil || !want && !errs.Is(err, errs.NotFound) {
				t.Errorf("%s: project %d is read: %v, want %v", what, id, err, want)
			}
		}
		reads("own", w.id, true)
		reads("public", open, true)
		reads("not listed", tools, false)

		admin := w.maintainer
		of := w.Find(admin, tools)
		_, err := w.scopes.AllowProject(t.Context(), w.developer, w.Find(w.developer, tools), w.id)
		wantError(t, "developer", err, errs.Forbidden, "")
		_, err = w.scopes.AllowProject(t.Context(), admin, of, strange)
		wantError(t, "a project that the maintainer cannot read", err, errs.NotFound, "")
		_, err = w.scopes.AllowProject(t.Context(), admin, of, w.id)
		check(t, err)
		_, err = w.scopes.AllowProject(t.Context(), admin, of, w.id)
		wantError(t, "twice", err, errs.BadRequest, "already")
		reads("listed", tools, true)
		list, err := w.scopes.Projects(t.Context(), admin, of, page.Range{Limit: 20})
		check(t, err)
		if len(list.Items) != 2 || list.Items[0].ID != w.id || list.Items[1].ID != tools {
			t.Errorf("allowlist %+v, want the project and the one let in", list.Items)
		}
		check(t, w.scopes.DisallowProject(t.Context(), admin, of, w.id))
		reads("removed", tools, false)
		wantError(t, "removed twice", w.scopes.DisallowProject(t.Context(), admin, of, w.id), errs.NotFound, "")

		// A group lets in what is below it.
		w.Member(w.group, admin, authz.Guest)
		_, err = w.scopes.AllowGroup(t.Context(), admin, of, w.group)
		check(t, err)
		reads("by its group", tools, true)
		check(t, w.scopes.DisallowGroup(t.Context(), admin, of, w.group))

		check(t, w.scopes.SetInbound(t.Context(), admin, of, false))
		reads("open to all jobs where the instance allows lists alone", tools, false)
		if scope, err := w.scopes.Scope(t.Context(), admin, of); err != nil || !scope.Inbound {
			t.Errorf("scope where the instance enforces lists: %+v, %v", scope, err)
		}
		w.set("enforce_ci_inbound_job_token_scope_enabled", false)
		if scope, err := w.scopes.Scope(t.Context(), admin, of); err != nil || scope.Inbound {
			t.Errorf("scope that is open: %+v, %v", scope, err)
		}
		reads("open to all jobs", tools, true)
		reads("another one", strange, false)
		// What the user of the job may not read is not read by the job either.
		w.Join(strange, w.owner, authz.Owner)
		check(t, w.scopes.SetInbound(t.Context(), w.owner, w.Find(w.owner, strange), false))
		reads("open, but not to the user", strange, false)
		check(t, w.scopes.SetInbound(t.Context(), admin, of, true))
		reads("closed again", tools, false)
		// The job writes nowhere else than where rules open that to jobs.
		if may, err := w.Policy.Can(t.Context(), job, authz.PushCode, w.Find(w.owner, w.id).Subject()); err != nil || may {
			t.Errorf("a job may push: %v, %v", may, err)
		}
	})
}
