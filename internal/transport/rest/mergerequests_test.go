package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/job"
	"tenon/internal/base/secret"
	"tenon/internal/base/spool"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/draftnote"
	"tenon/internal/core/issue"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/protection"
	"tenon/internal/core/pushrule"
	"tenon/internal/core/quickaction"
	"tenon/internal/core/reference"
	"tenon/internal/core/repo"
	"tenon/internal/core/subscription"
	"tenon/internal/core/suggestion"
	"tenon/internal/core/variable"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/rest/api"
)

// newMerging is newPlanning with a repository whose branch main has one file, a
// developer "dev" and a maintainer "maint".
func newMerging(t *testing.T, d *db.DB) *planning {
	t.Helper()
	p := newPlanning(t, d)
	git, err := gitcmd.New(t.Context(), gitcmd.Config{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := git.Close(); err != nil {
			t.Error(err)
		}
	})
	archives, err := spool.New(spool.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = archives.Close() })
	log := slog.New(slog.DiscardHandler)
	p.PushRules = pushrule.New(pushrule.Deps{DB: d, Policy: p.World.Policy, Bus: p.Bus, Now: p.World.Now})
	discard := job.EnqueuerFunc(func(context.Context, job.Args, ...job.Option) error { return nil })
	p.Protections = protection.New(protection.Deps{DB: d, Policy: p.World.Policy, Bus: p.Bus, Settings: p.Settings, Now: p.World.Now})
	p.Repos = repo.New(repo.Deps{
		PushRules: p.PushRules, Protections: p.Protections, Jobs: discard,
		DB: d, Policy: p.World.Policy, Bus: p.Bus, Git: git, Settings: p.Settings, Projects: p.World.Projects, Accounts: p.Accounts,
		Archives: archives, Limits: p.Limits, Log: log, Now: p.World.Now, URLs: p.URLs,
	})
	box, err := secret.NewBox(secret.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	p.CI = ci.New(ci.Deps{
		Plans:  &planlimit.Service{},
		Limits: &limit.Service{}, DB: d, Policy: p.World.Policy, Bus: p.Bus, Settings: p.Settings, Accounts: p.Accounts, Projects: p.World.Projects, Repos: p.Repos, Protections: p.Protections,
		Variables: variable.New(variable.Deps{DB: d, Policy: p.World.Policy, Bus: p.Bus, Box: box, Now: p.World.Now}), Jobs: discard, Box: box, URLs: p.URLs,
		Now: p.World.Now, Log: log,
	})
	t.Cleanup(p.CI.EndAll)
	p.MergeRequests = mergerequest.New(mergerequest.Deps{
		Limits: p.Limits,
		DB:     d, Policy: p.World.Policy, Bus: p.Bus, Accounts: p.Accounts, Projects: p.World.Projects, Protections: p.Protections, Repos: p.Repos,
		Labels: p.Labels, Milestones: p.Milestones, Times: p.Times, References: p.References, CI: p.CI, Settings: p.Settings, Jobs: discard, Log: log, Now: p.World.Now, URLs: p.URLs,
	})
	p.References.Connect(reference.Above{Finders: []reference.Finder{p.Issues, p.MergeRequests, p.Labels, p.Milestones}})
	p.Protections.Connect(protection.Above{Collaborators: p.MergeRequests})
	p.Repos.Connect(repo.Above{MergeRequests: p.MergeRequests})
	p.Subscriptions = subscription.New(subscription.Deps{
		DB: d, Policy: p.World.Policy, Labels: p.Labels, Now: p.World.Now,
		Kinds: noteable.Collect(p.Issues, p.MergeRequests),
	})
	p.Commands = quickaction.New(quickaction.Deps{
		Times: p.Times, Policy: p.World.Policy, Accounts: p.Accounts, Projects: p.World.Projects, Issues: p.Issues, MergeRequests: p.MergeRequests, Milestones: p.Milestones,
		References: p.References, Awards: p.Awards, Iterations: p.Iterations, Boards: p.Boards, Subscriptions: p.Subscriptions, Repos: p.Repos, Now: p.World.Now,
	})
	p.Kinds = noteable.Collect(p.Issues, p.Epics, p.MergeRequests, p.Snippets, &note.Commits{DB: d, Repos: p.Repos})
	p.Notes = note.New(note.Deps{
		DB: d, Policy: p.World.Policy, Bus: p.Bus, Accounts: p.Accounts, Awards: p.Awards, Projects: p.World.Projects, Repos: p.Repos, Now: p.World.Now, Commands: p.Commands, Jobs: discard,
		Kinds: p.Kinds, Limits: p.Limits,
	})
	p.MergeRequests.Connect(mergerequest.Above{Subscriptions: p.Subscriptions, Approvals: alonetest.Approvals{}, Commands: p.Commands})
	p.Issues.Connect(issue.Above{MergeRequests: p.MergeRequests, Epics: p.Epics, Subscriptions: p.Subscriptions, Commands: p.Commands, Discussions: p.Notes})
	p.Drafts = draftnote.New(draftnote.Deps{DB: d, Notes: p.Notes, MergeRequests: p.MergeRequests, Now: p.World.Now})
	p.Suggestions = suggestion.New(suggestion.Deps{DB: d, Accounts: p.Accounts, Projects: p.World.Projects, MergeRequests: p.MergeRequests, Repos: p.Repos, Notes: p.Notes})
	p.kit = api.New(api.Config{
		ExternalURL: "https://tenon.example", Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		FindUser: (&httpkit.SignOn{Accounts: p.Accounts}).FindUser, Limits: &limit.Service{},
		Authenticate: func(_ context.Context, c httpkit.Credential) (authz.Actor, error) {
			as, ok := p.users[c.Secret]
			if !ok {
				return as, errs.New(errs.Unauthorized, "")
			}
			return as, nil
		},
	}, slices.Concat(p.commitRoutes(), p.commitCommentRoutes(), p.issueRoutes(), p.noteRoutes(), p.discussionRoutes(), p.draftNoteRoutes(), p.suggestionRoutes(), p.awardRoutes(), p.resourceEventRoutes(), p.mergeRequestRoutes(), p.mergeRequestDiffRoutes(), p.timeTrackingRoutes(), p.issueLinkRoutes()))
	for name, level := range map[string]authz.Level{"dev": authz.Developer, "maint": authz.Maintainer} {
		as := p.User(name)
		as.Scopes = authz.AllScopes()
		p.users[name] = as
		p.Join(p.id, as, level)
	}
	p.commit("maint", "main", "", "create", "a.txt", "a\n")
	return p
}

// commit changes one file of a branch, which starts from another where that is given.
func (p *planning) commit(as, branch, start, action, path, content string) string {
	p.T.Helper()
	from := ""
	if start != "" {
		from = fmt.Sprintf(`"start_branch":%q,`, start)
	}
	out := p.do(as, "POST", "/projects/team%2Fapp/repository/commits", fmt.Sprintf(
		`{"branch":%q,%s"commit_message":"Change %s","actions":[{"action":%q,"file_path":%q,"content":%q}]}`,
		branch, from, path, action, path, content))
	return out["id"].(string)
}

const requestsPath = "/projects/team%2Fapp/merge_requests"

// open makes a branch with a file and a merge request from it.
func (p *planning) open(branch string) map[string]any {
	p.T.Helper()
	p.commit("dev", branch, "main", "create", branch+".txt", "x\n")
	return p.do("dev", "POST", requestsPath, fmt.Sprintf(`{"source_branch":%q,"target_branch":"main","title":"Add %s"}`, branch, branch))
}

// keysOf lists the keys of a JSON object in their order.
func keysOf(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	dec := json.NewDecoder(w.Body)
	var out []string
	depth, key := 0, false
	for dec.More() || depth > 0 {
		token, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			key = depth == 1
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			key = depth == 1
			continue
		}
		if depth == 1 {
			if key {
				out = append(out, token.(string))
			}
			key = !key
		}
	}
	return strings.Join(out, " ")
}

func TestMergeRequests_entity(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		head := p.commit("dev", "topic", "main", "create", "b.txt", "b\n")
		body := fmt.Sprintf(`{"source_branch":"topic","target_branch":"main","title":"Draft: Topic","description":"- [x] a\n- [ ] b",`+
			`"labels":"bug, new","assignee_id":%d,"reviewer_ids":[%d],"remove_source_branch":true,"squash_on_merge":true}`,
			p.users["maint"].UserID, p.users["owner"].UserID)
		created := p.do("dev", "POST", requestsPath, body)
		w := p.send("planner", "GET", requestsPath+"/1?include_diverged_commits_count=true&include_rebase_in_progress=1", "")
		const basic = "id iid project_id title description state created_at updated_at merged_by merge_user merged_at closed_by closed_at " +
			"target_branch source_branch user_notes_count upvotes downvotes author assignees assignee reviewers source_project_id " +
			"target_project_id labels draft imported imported_from work_in_progress milestone merge_when_pipeline_succeeds merge_status " +
			"detailed_merge_status merge_after sha merge_commit_sha squash_commit_sha discussion_locked should_remove_source_branch " +
			"force_remove_source_branch prepared_at reference references web_url time_stats squash squash_on_merge task_completion_status " +
			"has_conflicts blocking_discussions_resolved approvals_before_merge"
		const full = basic + " subscribed changes_count latest_build_started_at latest_build_finished_at first_deployed_to_production_at " +
			"pipeline head_pipeline diff_refs merge_error rebase_in_progress diverged_commits_count first_contribution user"
		if got := keysOf(t, w); got != full {
			t.Errorf("keys of one\n got %s\nwant %s", got, full)
		}
		got := p.do("planner", "GET", requestsPath+"/1", "")
		for key, want := range map[string]string{
			"title": `"Draft: Topic"`, "draft": "true", "work_in_progress": "true", "state": `"opened"`, "sha": `"` + head + `"`,
			"merge_status": `"can_be_merged"`, "detailed_merge_status": `"draft_status"`, "has_conflicts": "false",
			"labels": `["bug","new"]`, "reference": `"!1"`, "web_url": `"https://tenon.example/team/app/-/merge_requests/1"`,
			"references":             `{"full":"team/app!1","relative":"!1","short":"!1"}`,
			"task_completion_status": `{"completed_count":1,"count":2}`, "changes_count": `"1"`, "squash": "true", "squash_on_merge": "true",
			"force_remove_source_branch": "true", "should_remove_source_branch": "null", "discussion_locked": "null",
			"user": `{"can_merge":false}`, "merged_by": "null", "pipeline": "null", "merge_error": "null",
		} {
			if b, err := json.Marshal(got[key]); err != nil || string(b) != want {
				t.Errorf("%s: got %s, want %s", key, b, want)
			}
			if key != "user" && key != "merge_status" && fmt.Sprint(created[key]) != fmt.Sprint(got[key]) {
				t.Errorf("%s: %v when created, %v when read", key, created[key], got[key])
			}
		}
		for key, name := range map[string]string{"author": "dev", "assignee": "maint"} {
			if u, ok := got[key].(map[string]any); !ok || u["username"] != name {
				t.Errorf("%s: got %v, want %s", key, got[key], name)
			}
		}
		for path, want := range map[string]string{
			requestsPath:                               basic,
			"/merge_requests?scope=all":                basic,
			"/groups/team/merge_requests":              basic,
			requestsPath + "?view=simple":              "id iid project_id title description state created_at updated_at web_url",
			requestsPath + "?with_labels_details=true": basic,
		} {
			w := p.send("planner", "GET", path, "")
			var list []json.RawMessage
			if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list) != 1 {
				t.Fatalf("%s: %d %s", path, w.Code, w.Body)
			}
			one := httptest.NewRecorder()
			one.Body.Write(list[0])
			if got := keysOf(t, one); got != want {
				t.Errorf("%s: keys\n got %s\nwant %s", path, got, want)
			}
			if w.Header().Get("X-Total") != "1" {
				t.Errorf("%s: X-Total %q", path, w.Header().Get("X-Total"))
			}
		}
		if got := p.pick("planner", "/groups/team/merge_requests", "references"); !strings.Contains(got, `"relative":"app!1"`) {
			t.Errorf("references in the group: got %s", got)
		}
	})
}

func TestMergeRequests_refusals(t *testing.T) {
	t.Parallel()
	p := newMerging(t, dbtest.Open(t, false))
	p.open("one")
	const one = requestsPath + "/1"
	const missing = `{"message":"404 Not found"}`
	for _, path := range []string{"/merge_requests", "/groups/nowhere/merge_requests", "/projects/nowhere%2Fx/merge_requests", one, one + "/commits"} {
		p.want("", "GET", path, "", 401, `{"message":"401 Unauthorized"}`)
	}
	for _, row := range []struct {
		as, method, path, body string
		status                 int
		answer                 string
	}{
		{"dev", "POST", requestsPath, `{}`, 400, `{"error":"title is missing, source_branch is missing, target_branch is missing"}`},
		{"dev", "POST", requestsPath, `{"title":"","source_branch":"a","target_branch":"b"}`, 400, `{"message":{"title":["can't be blank"]}}`},
		{"dev", "POST", requestsPath, `{"title":"x","source_branch":"a","target_branch":"a"}`, 422, `{"message":["You can't use same project/branch for source and target"]}`},
		{"dev", "POST", requestsPath, `{"title":"x","source_branch":"one","target_branch":"main"}`, 409, `{"message":["Another open merge request already exists for this source branch: !1"]}`},
		{"dev", "POST", requestsPath, `{"title":"x","source_branch":"-x","target_branch":"b"}`, 400, `{"message":{"source_branch":["is invalid"]}}`},
		{"dev", "POST", requestsPath, `{"title":"x","source_branch":"a","target_branch":"b","target_project_id":99}`, 404, missing},
		{"guest", "POST", requestsPath, `{"title":"x","source_branch":"a","target_branch":"b"}`, 403, `{"message":"403 Forbidden"}`},
		{"dev", "GET", requestsPath + "/99", "", 404, missing},
		{"dev", "GET", requestsPath + "?state=odd", "", 400, `{"error":"state does not have a valid value"}`},
		{"dev", "GET", requestsPath + "?assignee_id=foo", "", 400, `{"error":"assignee_id should be an integer, none, or any, however got foo"}`},
		{"dev", "GET", requestsPath + "?assignee_username=a,b", "", 400, `{"error":"assignee_username allows one value, but found 2: a, b"}`},
		{"dev", "GET", requestsPath + "?author_id=1&author_username=a", "", 400, `{"error":"author_id, author_username are mutually exclusive"}`},
		{"dev", "PUT", one, `{}`, 400, `{"error":"assignee_id, assignee_ids, reviewer_ids, description, labels, add_labels, remove_labels, milestone_id, ` +
			`remove_source_branch, allow_collaboration, allow_maintainer_to_push, squash, target_branch, title, state_event, discussion_locked are missing, at least one parameter must be provided"}`},
		{"dev", "PUT", one, `{"title":""}`, 400, `{"error":"title is empty"}`},
		{"dev", "PUT", one, `{"title":"  "}`, 400, ""},
		{"dev", "PUT", one, `{"target_branch":"one"}`, 422, `{"message":["You can't use same project/branch for source and target"]}`},
		{"dev", "PUT", one, `{"target_branch":"-x"}`, 400, `{"message":{"target_branch":["is invalid"]}}`},
		{"dev", "PUT", one, `{"squash_on_merge":true}`, 200, ""},
		{"dev", "POST", requestsPath, `{"title":" ","source_branch":"a","target_branch":"b"}`, 400, `{"message":{"title":["can't be blank"]}}`},
		{"dev", "GET", requestsPath + "?not[author_id]=1&not[author_username]=a", "", 400, `{"error":"not[author_id], not[author_username] are mutually exclusive"}`},
		{"dev", "GET", requestsPath + "?not[assignee_id]=1&not[assignee_username]=a", "", 400, `{"error":"not[assignee_id], not[assignee_username] are mutually exclusive"}`},
		{"dev", "GET", requestsPath + "?not[reviewer_id]=1&not[reviewer_username]=a", "", 400, `{"error":"not[reviewer_id], not[reviewer_username] are mutually exclusive"}`},
		{"dev", "GET", requestsPath + "?author_id=0", "", 200, `[]`},
		{"dev", "GET", requestsPath + "?merge_user_id=0", "", 200, `[]`},
		{"guest", "PUT", one, `{"title":"y"}`, 403, `{"message":"403 Forbidden"}`},
		{"dev", "PUT", requestsPath + "/99", `{"title":"y"}`, 404, missing},
		{"maint", "DELETE", one, "", 403, `{"message":"403 Forbidden"}`},
		{"dev", "PUT", one + "/merge", "", 401, `{"message":"401 Unauthorized"}`},
		{"maint", "PUT", one + "/merge", `{"merge_when_pipeline_succeeds":true}`, 405, `{"message":"405 Method Not Allowed - no pipeline is running for the merge request"}`},
		{"maint", "PUT", one + "/merge", `{"sha":"beef"}`, 409, ""},
		{"maint", "POST", one + "/cancel_merge_when_pipeline_succeeds", "", 406, `{"message":"Can't cancel the automatic merge"}`},
		{"guest", "POST", one + "/cancel_merge_when_pipeline_succeeds", "", 401, `{"message":"401 Unauthorized"}`},
	} {
		p.want(row.as, row.method, row.path, row.body, row.status, row.answer)
	}
	p.commit("dev", "two", "main", "update", "a.txt", "theirs\n")
	p.do("dev", "POST", requestsPath, `{"source_branch":"two","target_branch":"main","title":"Two"}`)
	p.commit("maint", "main", "", "update", "a.txt", "ours\n")
	p.want("maint", "PUT", requestsPath+"/2/merge", "", 422, `{"message":"Branch cannot be merged"}`)
	p.want("maint", "GET", requestsPath+"/2/merge_ref", "", 400, `{"message":"Merge request is not mergeable"}`)
	if got := p.do("dev", "GET", requestsPath+"/2", ""); got["has_conflicts"] != true || got["detailed_merge_status"] != "broken_status" {
		t.Errorf("conflict: got %v %v", got["has_conflicts"], got["detailed_merge_status"])
	}
}

// Calls about merge requests need authentication, before anything is looked for.
func TestMergeRequests_signedIn(t *testing.T) {
	t.Parallel()
	kit := api.New(api.Config{ExternalURL: "https://tenon.example", Log: slog.New(slog.DiscardHandler), Limits: &limit.Service{}}, (&Server{Services: &core.Services{Kinds: noteable.Collect(&mergerequest.Service{})}}).Routes())
	n := 0
	for _, route := range kit.Routes() {
		if !strings.Contains(route.Path, "merge_request") && !strings.HasSuffix(route.Path, "/closed_by") {
			continue
		}
		n++
		parts := strings.Split(route.Path, "/")
		for i, part := range parts {
			if strings.HasPrefix(part, ":") {
				parts[i] = "99"
			}
		}
		w := httptest.NewRecorder()
		kit.ServeHTTP(w, httptest.NewRequest(route.Method, "/api/v4"+strings.Join(parts, "/"), nil))
		if want := `{"message":"401 Unauthorized"}`; w.Code != 401 || w.Body.String() != want || route.Public {
			t.Errorf("%s %s: got %d %s, want 401 %s", route.Method, route.Path, w.Code, w.Body, want)
		}
	}
	if n < 60 {
		t.Errorf("%d routes of merge requests: which are missing?", n)
	}
}

func TestMergeRequests_merge(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		m := p.open("one")
		p.want("dev", "POST", requestsPath+"/1/notes", `{"body":"Looks good"}`, 201, "")
		got := p.do("maint", "PUT", requestsPath+"/1/merge", fmt.Sprintf(`{"sha":%q,"should_remove_source_branch":true}`, m["sha"]))
		if got["state"] != "merged" || got["merged_by"] == nil || got["merged_at"] == nil || got["user_notes_count"] != 1.0 ||
			got["detailed_merge_status"] != "not_open" || got["should_remove_source_branch"] != true {
			t.Errorf("merged: got %v", got)
		}
		commit := p.do("dev", "GET", "/projects/team%2Fapp/repository/commits/main", "")
		if commit["id"] != got["merge_commit_sha"] {
			t.Errorf("main: got %v, want %v", commit["id"], got["merge_commit_sha"])
		}
		p.want("dev", "GET", "/projects/team%2Fapp/repository/commits/one", "", 404, "")
		p.want("maint", "PUT", requestsPath+"/1/merge", "", 405, `{"message":"405 Method Not Allowed - the merge request is not open"}`)
		p.want("maint", "POST", requestsPath+"/1/cancel_merge_when_pipeline_succeeds", "", 405, `{"message":"Can't cancel the automatic merge"}`)
		if got := p.pick("dev", requestsPath+"?state=merged", "iid"); got != "1" {
			t.Errorf("merged ones: got %s", got)
		}
		p.want("owner", "DELETE", requestsPath+"/1", "", 204, "")
		p.want("owner", "GET", requestsPath+"/1", "", 404, "")
	})
}

func TestMergeRequests_mergeWhenPipelineSucceeds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		const one = requestsPath + "/1"
		const cannot = `{"message":"Can't cancel the automatic merge"}`
		head := p.open("one")["sha"].(string)
		report := func(state string) {
			p.do("dev", "POST", appPath+"/statuses/"+head, `{"state":"`+state+`","ref":"one"}`)
		}
		report("running")
		for _, name := range []string{"merge_when_pipeline_succeeds", "auto_merge"} {
			got := p.do("maint", "PUT", one+"/merge", `{"`+name+`":true,"should_remove_source_branch":true,"squash":true,"sha":"`+head+`"}`)
			user, _ := got["merge_user"].(map[string]any)
			if got["state"] != "opened" || got["merge_when_pipeline_succeeds"] != true || user["username"] != "maint" || got["merged_by"] != nil ||
				got["detailed_merge_status"] != "ci_still_running" || got["should_remove_source_branch"] != true || got["squash"] != true || got["merge_error"] != nil {
				t.Errorf("%s: got %v", name, got)
			}
		}
		p.rows(one, []codeRow{
			{"maint", "PUT", "/merge", `{"auto_merge":"maybe"}`, 400, `{"error":"merge_when_pipeline_succeeds is invalid"}`},
			{"maint", "PUT", "/merge", `{"auto_merge":true,"sha":"beef"}`, 409, `{"message":"SHA does not match HEAD of source branch: ` + head + `"}`},
			{"dev", "PUT", "/merge", `{"auto_merge":true}`, 401, `{"message":"401 Unauthorized"}`},
			{"guest", "POST", "/cancel_merge_when_pipeline_succeeds", "", 401, `{"message":"401 Unauthorized"}`},
			{"", "POST", "/cancel_merge_when_pipeline_succeeds", "", 401, `{"message":"401 Unauthorized"}`},
		})
		got := p.do("dev", "POST", one+"/cancel_merge_when_pipeline_succeeds", "")
		if got["merge_when_pipeline_succeeds"] != false || got["merge_user"] != nil || got["should_remove_source_branch"] != nil || got["detailed_merge_status"] != "mergeable" {
			t.Errorf("canceled: got %v", got)
		}
		p.want("dev", "POST", one+"/cancel_merge_when_pipeline_succeeds", "", 406, cannot)
		report("failed")
		p.want("maint", "PUT", one+"/merge", `{"auto_merge":true}`, 405, `{"message":"405 Method Not Allowed - the pipeline must succeed"}`)
		report("success")
		if got := p.do("maint", "PUT", one+"/merge", `{"auto_merge":true}`); got["state"] != "merged" {
			t.Errorf("with a pipeline that has succeeded: got %v", got)
		}
		p.want("maint", "POST", one+"/cancel_merge_when_pipeline_succeeds", "", 405, cannot)
	})
}

func TestMergeRequests_parts(t *testing.T) {
	t.Parallel()
	p := newMerging(t, dbtest.Open(t, false))
	first := p.open("one")
	second := p.commit("dev", "one", "", "update", "a.txt", "b\n")
	const one = requestsPath + "/1"
	if got, want := p.pick("dev", one+"/commits", "id"), second+" "+first["sha"].(string); got != want {
		t.Errorf("commits: got %s, want %s", got, want)
	}
	if got, want := p.pick("dev", one+"/versions", "head_commit_sha"), second+" "+first["sha"].(string); got != want {
		t.Errorf("versions: got %s, want %s", got, want)
	}
	if got := p.pick("dev", one+"/diffs", "new_path"); got != "a.txt one.txt" {
		t.Errorf("diffs: got %s", got)
	}
	changes := p.do("dev", "GET", one+"/changes", "")
	if list, ok := changes["changes"].([]any); !ok || len(list) != 2 || changes["overflow"] != false || changes["sha"] != second {
		t.Errorf("changes: got %v", changes)
	}
	version := p.do("dev", "GET", one+"/versions/1", "")
	if version["real_size"] != "1" || version["state"] != "collected" || len(version["commits"].([]any)) != 1 || len(version["diffs"].([]any)) != 1 {
		t.Errorf("version: got %v", version)
	}
	p.want("dev", "GET", one+"/versions/99", "", 404, `{"message":"404 Not found"}`)
	if got := p.pick("dev", one+"/participants", "username"); got != "dev" {
		t.Errorf("participants: got %s", got)
	}
	p.do("dev", "PUT", one, fmt.Sprintf(`{"reviewer_ids":[%d],"assignee_ids":"%d","labels":"x","state_event":"close"}`, p.users["owner"].UserID, p.users["maint"].UserID))
	if got := p.pick("dev", one+"/reviewers", "state"); got != "unreviewed" {
		t.Errorf("reviewers: got %s", got)
	}
	if got := p.pick("dev", one+"/participants", "username"); got != "owner dev maint" && len(strings.Fields(got)) != 3 {
		t.Errorf("participants: got %s", got)
	}
	closed := p.do("dev", "PUT", one, `{"labels":"","assignee_id":0,"reviewer_ids":"","add_labels":"y,z","remove_labels":"z"}`)
	if closed["state"] != "closed" || fmt.Sprint(closed["labels"]) != "[y]" || closed["assignee"] != nil || len(closed["reviewers"].([]any)) != 0 {
		t.Errorf("closed: got %v", closed)
	}
	ref := p.do("dev", "PUT", one, `{"state_event":"reopen"}`)
	if ref["state"] != "opened" || ref["closed_at"] != nil {
		t.Errorf("reopened: got %v", ref)
	}
	if got := p.do("dev", "GET", one+"/merge_ref", ""); len(got["commit_id"].(string)) != 40 {
		t.Errorf("merge ref: got %v", got)
	}
}

func TestMergeRequests_lists(t *testing.T) {
	t.Parallel()
	p := newMerging(t, dbtest.Open(t, false))
	p.open("one")
	p.open("two")
	p.do("dev", "PUT", requestsPath+"/2", fmt.Sprintf(`{"assignee_ids":[%d],"reviewer_ids":[%d],"title":"Draft: two"}`, p.users["owner"].UserID, p.users["maint"].UserID))
	for path, want := range map[string]string{
		requestsPath:                                                       "2 1",
		requestsPath + "?iids[]=1":                                         "1",
		requestsPath + "?scope=created-by-me":                              "2 1",
		requestsPath + "?wip=yes":                                          "2",
		requestsPath + "?assignee_id=Any":                                  "2",
		requestsPath + "?assignee_id=None":                                 "1",
		requestsPath + "?assignee_username[]=owner":                        "2",
		requestsPath + "?not[assignee_username]=owner":                     "1",
		requestsPath + "?reviewer_username=Any":                            "2",
		requestsPath + "?source_branch=one&state=opened":                   "1",
		requestsPath + "?search=TWO&in=title":                              "2",
		requestsPath + "?order_by=updated_at&sort=asc":                     "1 2",
		requestsPath + "?environment=production":                           "",
		requestsPath + "?approved_by_ids=Any":                              "",
		requestsPath + "?with_merge_status_recheck=true&per_page=1&page=2": "1",
		"/merge_requests":                                                  "2 1",
		"/merge_requests?scope=assigned_to_me":                             "",
		"/groups/team/merge_requests?author_id=99":                         "",
	} {
		if got := p.pick("dev", path, "iid"); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]string{
		"/merge_requests":                                       "",
		"/merge_requests?scope=assigned_to_me":                  "2",
		"/merge_requests?scope=all":                             "2 1",
		"/groups/team/merge_requests?scope=reviews_for_me":      "",
		requestsPath + "?scope=assigned_to_me&assignee_id=None": "",
	} {
		if got := p.pick("owner", path, "iid"); got != want {
			t.Errorf("owner: %s: got %s, want %s", path, got, want)
		}
	}
}

func TestMergeRequests_statements(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		// What is remembered of users runs out now and then, since each look at the clock
		// of these tests takes a second: the least of a few tries counts.
		count := func(path string) int {
			one := func() int { return dbtest.Count(t, d, func() { p.want("planner", "GET", path, "", 200, "") }) }
			return min(one(), one(), one())
		}
		p.open("b0")
		paths := []string{requestsPath + "?per_page=1", "/merge_requests?scope=all&per_page=50", "/groups/team/merge_requests?per_page=50"}
		var before []int
		for _, path := range paths {
			before = append(before, count(path))
		}
		for i := 1; i < 8; i++ {
			p.open(fmt.Sprintf("b%d", i))
		}
		for i, path := range paths {
			if got := count(path); got != before[i] || got > 10 {
				t.Errorf("%s: %d statements for one row, %d for eight; want as many, 10 at most", path, before[i], got)
			}
		}
	})
}
