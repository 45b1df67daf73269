package rest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/transport/rest/api"
)

// A source branch that is rewritten, with what it had swept away, takes nothing of a review with
// it: threads, drafts, suggestions and versions stay, at the lines they were about.
func TestReview_forcePush(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.reviewed()
		const path = requestsPath + "/1/discussions"
		first := p.do("dev", "GET", requestsPath+"/1", "")
		start := func(as, text, at string) map[string]any {
			t.Helper()
			return p.do(as, "POST", path, fmt.Sprintf(`{"body":%s,"position":%s}`, mustJSON(t, text), at))
		}
		gone := start("guest", "Why five?", p.at(`"new_line":5`))["id"].(string)
		suggested := start("guest", "```suggestion\nNEW B\n```", p.at(`"new_line":12`))
		draft := p.do("maint", "POST", draftsPath, `{"note":"A draft","position":`+p.at(`"new_line":11`)+`}`)
		p.do("maint", "POST", draftsPath, `{"note":"A reply","in_reply_to_discussion_id":"`+gone+`"}`)

		// Line 5 is another one now, the rest moved by a line; the old commits hang on the merge request alone.
		p.do("dev", "POST", appPath+"/repository/commits", fmt.Sprintf(
			`{"branch":"topic","start_branch":"main","force":true,"commit_message":"Again","actions":[{"action":"update","file_path":"code.txt","content":%s}]}`,
			mustJSON(t, "top\n"+numbered(20, map[int]string{5: "cinq\n", 10: "line 10\nnew a\nnew b\n", 15: ""}))))
		m := p.do("dev", "GET", requestsPath+"/1", "")
		r := gittest.Must[*gitcmd.Repo](t)(p.Repos.Open(t.Context(), p.Find(p.users["root"], p.id)))
		gittest.Run(t, r.Path(), "reflog", "expire", "--expire=now", "--all")
		gittest.Run(t, r.Path(), "gc", "--quiet", "--prune=now")
		if err := p.Notes.FollowPositions(t.Context(), note.FollowPositions{RequestID: mergerequest.ID(m["id"].(float64)), UserID: p.users["dev"].UserID}); err != nil {
			t.Fatal(err)
		}

		if got := p.place(gone) + ", " + p.place(suggested["id"].(string)); got != "<nil> 5 old, <nil> 13" {
			t.Errorf("threads are at %s, want one that is outdated and one that followed its line", got)
		}
		if got := p.pick("maint", draftsPath, "note"); got != "A draft A reply" {
			t.Errorf("drafts: %s", got)
		}
		kept := p.do("maint", "GET", fmt.Sprint(draftsPath, "/", draft["id"]), "")
		if fmt.Sprint(kept["line_code"]) == "<nil>" || kept["position"].(map[string]any)["new_line"] == nil {
			t.Errorf("position of a draft: %v", kept)
		}
		p.want("maint", "POST", draftsPath+"/bulk_publish", "", 204, "")
		if got := p.discussions("maint", path); !strings.Contains(got, "thread: Why_five?- A_reply-") || !strings.Contains(got, "A_draft-") {
			t.Errorf("after the publication: %s", got)
		}
		id := suggested["notes"].([]any)[0].(map[string]any)["suggestions"].([]any)[0].(map[string]any)["id"]
		p.want("dev", "PUT", fmt.Sprint("/suggestions/", id, "/apply"), "", 200, "")
		if got := p.file("topic", "code.txt"); !strings.Contains(got, "new a\nNEW B\nline 11\n") || !strings.Contains(got, "cinq\n") {
			t.Errorf("after the suggestion: %q", got)
		}
		versions := strings.Fields(p.pick("dev", requestsPath+"/1/versions", "id"))
		oldest := p.do("dev", "GET", requestsPath+"/1/versions/"+versions[len(versions)-1], "")
		if oldest["head_commit_sha"] != first["sha"] || !strings.Contains(fmt.Sprint(oldest["diffs"]), "+five") {
			t.Errorf("the first version: %v", oldest)
		}
		p.checkCounters()
	})
}

// The attack: a user that may read a merge request, or may not even do that, closes it, merges it, takes
// its automatic merge back or changes its branch (CVE-2026-6269, Gitea CVE-2026-20888).
func TestMergeRequests_transitions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.routes(slices.Concat(p.mergeRequestDiffRoutes(), p.draftNoteRoutes(), p.discussionRoutes())...)
		p.open("topic")
		const one = requestsPath + "/1"
		head := p.do("dev", "GET", one, "")["sha"].(string)
		p.do("dev", "POST", appPath+"/statuses/"+head, `{"state":"running","ref":"topic"}`)
		p.want("dev", "PUT", one+"/merge", `{"merge_when_pipeline_succeeds":true}`, 401, "") // main is protected
		p.want("maint", "PUT", one+"/merge", `{"merge_when_pipeline_succeeds":true}`, 200, "")
		transitions := []struct{ method, path, body string }{
			{"PUT", "", `{"state_event":"close"}`},
			{"PUT", "", `{"target_branch":"other"}`},
			{"PUT", "", `{"title":"Draft: no"}`},
			{"PUT", "/merge", `{}`},
			{"PUT", "/merge", `{"merge_when_pipeline_succeeds":true}`},
			{"POST", "/cancel_merge_when_pipeline_succeeds", ""},
			{"PUT", "/rebase", ""},
			{"POST", "/context_commits", `{"commits":["` + head + `"]}`},
			{"DELETE", "", ""},
		}
		look := func() string {
			m := p.do("dev", "GET", one, "")
			return fmt.Sprint(m["state"], m["title"], m["target_branch"], m["merge_when_pipeline_succeeds"], m["sha"], m["updated_at"])
		}
		before := look()
		for _, as := range []string{"", "stranger", "guest", "planner"} {
			for _, tr := range transitions {
				if got := p.send(as, tr.method, one+tr.path, tr.body).Code; got != 401 && got != 403 || as == "" && got != 401 {
					t.Errorf("%q: %s %s %s: got %d, want it refused", as, tr.method, tr.path, tr.body, got)
				}
			}
		}
		// Hidden from those who are no members, it is not there.
		if _, err := d.Exec(t.Context(), "UPDATE projects SET merge_requests_access = 10 WHERE id = ?", p.id); err != nil {
			t.Fatal(err)
		}
		for _, tr := range transitions {
			if got := p.send("stranger", tr.method, one+tr.path, tr.body).Code; got != 404 && got != 403 {
				t.Errorf("hidden: %s %s %s: got %d, want it refused", tr.method, tr.path, tr.body, got)
			}
		}
		if after := look(); after != before {
			t.Errorf("the merge request was changed:\n got %s\nwant %s", after, before)
		}
		// Its author may, apart from deleting it.
		p.want("dev", "POST", one+"/cancel_merge_when_pipeline_succeeds", "", 201, "")
		p.want("dev", "PUT", one, `{"state_event":"close"}`, 200, "")
		p.want("dev", "DELETE", one, "", 403, "")
		p.want("owner", "DELETE", one, "", 204, "")
	})
}

// drain is a response that is not kept.
type drain struct {
	header http.Header
	status int
	size   int
}

func (d *drain) Header() http.Header { return d.header }

func (d *drain) WriteHeader(status int) { d.status = status }

func (d *drain) Write(p []byte) (int, error) {
	d.size += len(p)
	return len(p), nil
}

// The attack: a merge request that changes very many files makes each look at its diff cost memory
// (CVE-2024-8233). What a route allocates depends on the limits of the instance, not on how many
// files there are. The test is not parallel, so that nothing else allocates meanwhile.
func TestMergeRequests_memory(t *testing.T) {
	d := dbtest.Open(t, false)
	p := newMerging(t, d)
	p.routes(p.mergeRequestDiffRoutes()...)
	ctx := t.Context()
	r := gittest.Must[*gitcmd.Repo](t)(p.Repos.Open(ctx, p.Find(p.users["root"], p.id)))
	main := gittest.Must[gitstore.ObjectID](t)(r.Branch(ctx, "main"))
	blob := gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(ctx, []byte(strings.Repeat("a line of a file\n", 20))))
	for branch, files := range map[string]int{"first": 1_500, "few": 1_500, "many": 10_000} {
		changes := make([]gitstore.TreeChange, files)
		for i := range changes {
			changes[i] = gitstore.TreeChange{Path: fmt.Sprintf("dir-%03d/%s-%05d", i/100, branch, i), Mode: gitstore.ModeFile, ID: blob}
		}
		in := gitstore.CommitInput{Message: branch, Author: gitstore.Signature{Name: "Dev", Email: "dev@example.com", When: p.World.Now()}, Parents: []gitstore.ObjectID{main}}
		in.Tree = gittest.Must[gitstore.ObjectID](t)(r.BuildTree(ctx, main, changes))
		tip := gittest.Must[gitstore.ObjectID](t)(r.CommitTree(ctx, in))
		if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: gitstore.RefName(gitstore.Branches + branch), New: tip}}); err != nil {
			t.Fatal(err)
		}
	}
	paths := map[string][]string{}
	for _, branch := range []string{"first", "few", "many"} {
		m := p.do("dev", "POST", requestsPath, fmt.Sprintf(`{"source_branch":%q,"target_branch":"main","title":"Add %s"}`, branch, branch))
		one := fmt.Sprint(requestsPath, "/", m["iid"])
		versions := strings.Fields(p.pick("dev", one+"/versions", "id"))
		paths[branch] = []string{
			one + "/changes", one + "/diffs?per_page=100&page=10", one + "/versions/" + versions[0], one + "/raw_diffs",
			appPath + "/repository/compare?from=main&to=" + branch, appPath + "/repository/commits/" + branch + "/diff?per_page=100",
		}
	}
	measure := func(path string) uint64 {
		t.Helper()
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, api.Prefix+path, http.NoBody)
		request.Header.Set("Private-Token", "dev")
		w := &drain{header: http.Header{}, status: http.StatusOK}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p.kit.ServeHTTP(w, request)
		runtime.ReadMemStats(&after)
		if w.status != http.StatusOK || w.size < 10_000 {
			t.Errorf("%s: %d, %d bytes", path, w.status, w.size)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	measure(paths["first"][0]) // the processes run, the tables of the encoder are made
	for i := range paths["few"] {
		few, many := measure(paths["few"][i]), measure(paths["many"][i])
		t.Logf("%s: %d kB for 1,500 files, %d kB for 10,000", paths["many"][i], few>>10, many>>10)
		if many > 2*few+8<<20 || many > 32<<20 {
			t.Errorf("%s: %d bytes for 10,000 files, %d for 1,500", paths["many"][i], many, few)
		}
	}
	shown := p.do("dev", "GET", paths["many"][0], "")
	list, _ := shown["changes"].([]any)
	if shown["overflow"] != true || shown["changes_count"] != "1000+" || len(list) != 1000 || !strings.Contains(fmt.Sprint(list[999]), "+a line") {
		t.Errorf("changes: %d of %v, overflow %v; the last is %.300v", len(list), shown["changes_count"], shown["overflow"], list[len(list)-1])
	}
}
