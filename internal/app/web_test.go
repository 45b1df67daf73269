package app

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/weburl"
	"tenon/internal/transport/web"
)

// webWorld is a server with a private project that has everything pages are about.
type webWorld struct {
	*server
	path  string // of the project
	group string
	sha   string
	pipe  string // id of a pipeline
	built string // id of a pipeline with jobs
	job   int64  // the first of them
	hook  string // id of a webhook

	delivery string // id of a call of it

	snippet, own   int64 // snippets of the project and of mona
	spring, summer any   // milestones of the project and of the group
}

const readme = "# Tools\n\n[guide](docs/guide.md#use) ![logo](logo.png) <script>alert(1)</script>\n\n| a |\n|:-:|\n| b |\n"

func newWebWorld(t testing.TB, s *server) *webWorld {
	t.Helper()
	for _, name := range []string{"mona", "stan", "reporter"} {
		s.person(name, annPassword+" too")
	}
	g := s.do("mona", "POST", "/groups", obj{"name": "Workshop", "path": "work"})
	inner := s.do("mona", "POST", "/groups", obj{"name": "Inner", "path": "inner", "parent_id": g["id"]})
	p := s.do("mona", "POST", "/projects", obj{"name": "Tools", "namespace_id": inner["id"], "description": "Sharp *tools*"})
	w := &webWorld{server: s, path: "work/inner/tools", group: "work/inner"}
	at := "/projects/" + number(p, "id")
	c := s.do("mona", "POST", at+"/repository/commits", obj{"branch": "main", "commit_message": "First <commit>\n\nbody", "actions": []obj{
		{"action": "create", "file_path": "README.md", "content": readme},
		{"action": "create", "file_path": "docs/guide.md", "content": "# Use\n"},
		{"action": "create", "file_path": "src/a b#?%.go", "content": "package a\n\nfunc f() {} // <b>\n"},
		{"action": "create", "file_path": "logo.png", "content": "iVBORw0KGgo=", "encoding": "base64"},
		{"action": "create", "file_path": "data.bin", "content": "AAEC/w==", "encoding": "base64"},
	}})
	w.sha = c["id"].(string)
	s.do("mona", "POST", at+"/repository/branches", obj{"branch": "feature/side", "ref": "main"})
	s.do("mona", "POST", at+"/repository/commits", obj{"branch": "feature/side", "commit_message": "Second", "actions": []obj{
		{"action": "update", "file_path": "docs/guide.md", "content": "# Use\nmore\n"},
	}})
	s.do("mona", "POST", at+"/repository/tags", obj{"tag_name": "v1", "ref": "main", "message": "the first"})
	s.do("mona", "POST", at+"/releases", obj{"tag_name": "v1", "name": "First <b>", "description": "What is *new*, see [it](docs/guide.md)", "assets": obj{"links": []obj{
		{"name": "tool <i>", "url": "https://example.com/tool", "direct_asset_path": "/bin/tool"},
	}}})
	s.do("mona", "POST", at+"/releases/v1/evidence", nil)
	s.do("mona", "PUT", at+"/packages/generic/tool/1.0/bin/tool.sh", obj{"content": "of the tool"})
	s.do("mona", "POST", at+"/environments", obj{"name": "production", "external_url": "https://shop.example/?q=%3Cscript%3E", "description": "What *sells*"})
	s.do("mona", "POST", at+"/deployments", obj{"environment": "production", "sha": w.sha, "ref": "main", "tag": false, "status": "success"})
	s.do("mona", "POST", at+"/issues", obj{"title": "Broken <hammer>", "description": "It *broke*, see [it](docs/guide.md)", "labels": "bug", "assignee_ids": s.ids["mona"]})
	s.do("mona", "POST", at+"/issues", obj{"title": "Secret", "confidential": true})
	s.do("mona", "POST", at+"/issues/1/notes", obj{"body": "I saw **it** <script>"})
	s.do("mona", "POST", at+"/merge_requests", obj{"title": "Mend it", "description": "How", "source_branch": "feature/side", "target_branch": "main"})
	s.do("mona", "POST", at+"/merge_requests/1/notes", obj{"body": "Well done"})
	status := s.do("mona", "POST", at+"/statuses/"+w.sha, obj{"state": "success", "name": "build"})
	w.pipe = number(status, "pipeline_id")
	w.hook = number(s.do("mona", "POST", at+"/hooks", obj{"url": "http://8.8.8.8/{key}", "name": "Mirror <b>", "url_variables": []obj{{"key": "key", "value": "s3cret"}}}), "id")
	w.delivery = (&world{server: s}).callHook(at + "/hooks/" + w.hook)
	s.do("mona", "POST", at+"/members", obj{"user_id": s.ids["reporter"], "access_level": 20})
	w.job = w.build()
	group := "/groups/" + number(inner, "id")
	first := s.do("mona", "POST", at+"/milestones", obj{"title": "Spring <b>", "description": "What is *due*, see [it](docs/guide.md)", "due_date": "2030-05-01"})
	s.do("mona", "PUT", at+"/issues/1", obj{"milestone_id": first["id"]})
	s.do("mona", "PUT", at+"/merge_requests/1", obj{"milestone_id": first["id"]})
	of := s.do("mona", "POST", group+"/milestones", obj{"title": "Summer", "description": "For **all**", "start_date": "2030-06-01"})
	s.do("mona", "PUT", at+"/issues/2", obj{"milestone_id": of["id"]})
	s.do("mona", "POST", at+"/wikis", obj{"title": "home", "content": "See [more](more/deep) and ![p](uploads/x/p.png) <script>alert(1)</script>"})
	s.do("mona", "PUT", at+"/wikis/home", obj{"content": "See [more](more/deep) and ![p](uploads/x/p.png), *now* <script>alert(1)</script>"})
	s.do("mona", "POST", at+"/wikis", obj{"title": "more/deep page", "content": "Deep **down** by #1, not #999"})
	s.do("mona", "POST", group+"/wikis", obj{"title": "Rules", "content": "Be *kind*"})
	for _, of := range []struct {
		id    any
		group bool
	}{{p["id"], false}, {inner["id"], true}} {
		namespace := fmt.Sprint(of.id)
		if !of.group {
			namespace = "(SELECT namespace_id FROM projects WHERE id = " + namespace + ")"
		}
		s.reported(namespace, of.group, "mona")
	}
	w.iteration()
	s.do("mona", "POST", group+"/epics", obj{"title": "Large <b>", "description": "Is *long*", "labels": "vast", "due_date_is_fixed": true, "due_date_fixed": "2031-02-03"})
	s.do("mona", "POST", group+"/epics/1/epics", obj{"title": "Child", "confidential": true})
	issue := s.do("mona", "GET", at+"/issues/1", nil)
	s.do("mona", "POST", group+"/epics/1/issues/"+number(issue, "id"), nil)
	files := []obj{{"file_path": "a.txt", "content": "one\n<b>two</b>\n"}, {"file_path": "read me.md", "content": "# Title\n\n![p](p.png) [a](a.txt)\n"}, {"file_path": "p.png", "content": "x"}}
	w.spring, w.summer = first["id"], of["id"]
	handy := s.do("mona", "POST", at+"/snippets", obj{"title": "Handy <i>", "description": "For *all*", "visibility": "private", "files": files})
	own := s.do("mona", "POST", "/snippets", obj{"title": "Own", "visibility": "private", "files": files})
	fmt.Sscan(number(handy, "id"), &w.snippet)
	fmt.Sscan(number(own, "id"), &w.own)
	return w
}

// iteration makes an iteration of the group and puts an issue into it, which no route does.
func (w *webWorld) iteration() {
	w.tb.Helper()
	ctx := w.tb.Context()
	as, err := w.core.Accounts.ActorFor(ctx, "mona")
	var g *namespace.Group
	var c *iteration.Cadence
	var i *iteration.Iteration
	if err == nil {
		g, err = w.core.Namespaces.Find(ctx, as, w.group)
	}
	if err == nil {
		c, err = w.core.Iterations.CreateCadence(ctx, as, g.Place(), iteration.CadenceInput{Title: "Sprints"})
	}
	if err == nil {
		text := "Ship *it*"
		i, err = w.core.Iterations.Create(ctx, as, g.Place(), iteration.Input{Cadence: c.ID, Description: &text, StartDate: "2030-01-07", DueDate: "2030-01-20"})
	}
	var of *project.Project
	if err == nil {
		of, err = w.core.Projects.Find(ctx, as, w.path)
	}
	if err == nil {
		_, err = w.core.Issues.Update(ctx, as, of, 1, issue.Changes{IterationID: &i.ID})
	}
	if err != nil {
		w.tb.Fatal(err)
	}
}

// sample is an address for each page that is read, by its route.
func (w *webWorld) samples() map[string]string {
	in := "/" + w.path + "/-/"
	return map[string]string{
		"/": "/", "/explore/projects": "/explore/projects", "/help": "/help", "/help/{page...}": "/help/topics/git/troubleshooting_git.md",
		"/users/sign_in": "/users/sign_in", "/users/password/new": "/users/password/new", "/users/password/edit": "/users/password/edit",
		"/users/password/expired": "/users/password/expired", "/users/confirmation/new": "/users/confirmation/new",
		"/-/profile": "/-/profile", "/-/profile/personal_access_tokens": "/-/profile/personal_access_tokens", "/-/profile/keys": "/-/profile/keys",
		"/-/profile/active_sessions": "/-/profile/active_sessions", "/-/profile/password": "/-/profile/password",
		"/-/profile/account":                           "/-/profile/account",
		"/-/sent_notifications/{key}/unsubscribe":      "/-/sent_notifications/wrong/unsubscribe",
		"/groups/{group...}/-/group_members":           "/groups/" + w.group + "/-/group_members",
		"/groups/{group...}":                           "/groups/" + w.group,
		"/{project...}/-/project_members":              in + "project_members",
		"/{project...}/-/tree/{rest...}":               in + "tree/feature/side/docs",
		"/{project...}/-/blob/{rest...}":               in + "blob/main/src/a%20b%23%3F%25.go",
		"/{project...}/-/raw/{rest...}":                in + "raw/main/README.md",
		"/{project...}/-/archive/{rest...}":            in + "archive/feature/side/tools.tar.gz",
		"/{project...}/-/badges/{rest...}":             in + "badges/feature/side/pipeline.svg",
		"/{project...}/-/download_export":              "/" + w.path + "/download_export",
		"/groups/{group...}/-/download_export":         "/groups/" + w.group + "/-/download_export",
		"/{project...}/-/import_report":                in + "import_report",
		"/groups/{group...}/-/import_report":           "/groups/" + w.group + "/-/import_report",
		"/{project...}/-/commits/{rest...}":            in + "commits/main/docs",
		"/{project...}/-/commit/{sha}":                 in + "commit/" + w.sha,
		"/{project...}/-/compare/{rest...}":            in + "compare/main...feature/side",
		"/{project...}/-/branches":                     in + "branches",
		"/{project...}/-/tags":                         in + "tags",
		"/{project...}/-/tags/{rest...}":               in + "tags/v1",
		"/{project...}/-/issues":                       in + "issues",
		"/{project...}/-/issues/{iid}":                 in + "issues/1",
		"/{project...}/-/work_items/{iid}":             in + "work_items/1",
		"/{project...}/-/merge_requests":               in + "merge_requests",
		"/{project...}/-/merge_requests/new":           in + "merge_requests/new?merge_request%5Bsource_branch%5D=feature%2Fside",
		"/{project...}/-/merge_requests/{iid}":         in + "merge_requests/1",
		"/{project...}/-/merge_requests/{iid}/commits": in + "merge_requests/1/commits",
		"/{project...}/-/merge_requests/{iid}/diffs":   in + "merge_requests/1/diffs",
		"/{project...}/-/pipelines/{id}":               in + "pipelines/" + w.pipe,
		"/{project...}/-/jobs/{id}":                    in + fmt.Sprint("jobs/", w.job),
		"/{place...}":                                  "/" + w.path,

		// A test of their own looks at jobs with a log and artifacts.
		"/{project...}/-/jobs/{id}/raw":                        in + fmt.Sprint("jobs/", w.job, "/raw"),
		"/{project...}/-/jobs/artifacts/{rest...}":             in + "jobs/artifacts/build/download?job=carry",
		"/{project...}/-/jobs/{id}/artifacts/download":         in + fmt.Sprint("jobs/", w.job, "/artifacts/download"),
		"/{project...}/-/jobs/{id}/artifacts/raw/{rest...}":    in + fmt.Sprint("jobs/", w.job, "/artifacts/raw/out"),
		"/{project...}/-/jobs/{id}/artifacts/file/{rest...}":   in + fmt.Sprint("jobs/", w.job, "/artifacts/file/out"),
		"/{project...}/-/jobs/{id}/artifacts/browse":           in + fmt.Sprint("jobs/", w.job, "/artifacts/browse"),
		"/{project...}/-/jobs/{id}/artifacts/browse/{rest...}": in + fmt.Sprint("jobs/", w.job, "/artifacts/browse/out"),

		"/groups/{group...}/-/issues":           "/groups/" + w.group + "/-/issues?label_name=bug",
		"/groups/{group...}/-/milestones":       "/groups/" + w.group + "/-/milestones",
		"/groups/{group...}/-/milestones/{iid}": "/groups/" + w.group + "/-/milestones/1",
		"/groups/{group...}/-/epics":            "/groups/" + w.group + "/-/epics",
		"/groups/{group...}/-/epics/{iid}":      "/groups/" + w.group + "/-/epics/1",
		"/groups/{group...}/-/epics/{iid}/edit": "/groups/" + w.group + "/-/epics/1/edit",
		"/groups/{group...}/-/iterations":       "/groups/" + w.group + "/-/iterations",
		"/groups/{group...}/-/iterations/{iid}": "/groups/" + w.group + "/-/iterations/1",
		"/groups/{group...}/-/wikis":            "/groups/" + w.group + "/-/wikis",
		"/groups/{group...}/-/wikis/{rest...}":  "/groups/" + w.group + "/-/wikis/Rules",
		"/{project...}/-/environments":          in + "environments",
		"/{project...}/-/environments/{id}":     in + "environments/1",
		"/groups/{group...}/-/packages":         "/groups/" + w.group + "/-/packages",
		"/{project...}/-/packages":              in + "packages?type=generic&search=tool",
		"/{project...}/-/packages/{id}":         in + "packages/1",
		"/{project...}/-/releases":              in + "releases",
		"/{project...}/-/releases/{rest...}":    in + "releases/v1",
		"/{project...}/-/milestones":            in + "milestones",
		"/{project...}/-/milestones/{iid}":      in + "milestones/1",
		"/{project...}/-/wikis":                 in + "wikis",
		"/{project...}/-/wikis/{rest...}":       in + "wikis/more/deep-page",

		"/{project...}/-/snippets":                    in + "snippets",
		"/{project...}/-/snippets/{id}":               in + "snippets/" + fmt.Sprint(w.snippet),
		"/{project...}/-/snippets/{id}/raw":           in + "snippets/" + fmt.Sprint(w.snippet) + "/raw",
		"/{project...}/-/snippets/{id}/raw/{rest...}": in + "snippets/" + fmt.Sprint(w.snippet) + "/raw/main/a.txt",
		"/-/graphql-explorer":                         "/-/graphql-explorer",
		"/-/snippets/new":                             "/-/snippets/new",
		"/{project...}/-/snippets/new":                in + "snippets/new",
		"/{project...}/-/settings/ci_cd":              in + "settings/ci_cd",
		"/{project...}/-/hooks":                       in + "hooks",
		"/{project...}/-/hooks/{id}/edit":             in + "hooks/" + w.hook + "/edit",
		"/{project...}/-/hooks/{id}/hook_logs/{log}":  in + "hooks/" + w.hook + "/hook_logs/" + w.delivery,
		"/-/snippets/{id}":                            "/-/snippets/" + fmt.Sprint(w.own),
		"/-/snippets/{id}/raw":                        "/-/snippets/" + fmt.Sprint(w.own) + "/raw",
		"/-/snippets/{id}/raw/{rest...}":              "/-/snippets/" + fmt.Sprint(w.own) + "/raw/main/a.txt",
	}
}

// people returns a browser for each kind of caller.
func (w *webWorld) callers(t testing.TB) map[string]*browser {
	t.Helper()
	first := w.browse(t)
	out := map[string]*browser{"nobody": first}
	for role, name := range map[string]string{"stranger": "stan", "reporter": "reporter", "owner": "mona"} {
		b := newBrowser(t, first.base)
		if p := b.signIn(name, annPassword+" too"); p.status != http.StatusSeeOther {
			t.Fatalf("sign on as %s: got %d", name, p.status)
		}
		out[role] = b
	}
	return out
}

// inline is what the policy of the pages would refuse, and what must not be there at all.
var inline = regexp.MustCompile(`(?i)<script|<style|\sstyle=|\son[a-z]+=|javascript:|<iframe|<object`)

// Each page is in a golden file with who sees it. No page has scripts or styles of its own,
// and what is hidden answers exactly as what is not there.
func TestWeb_pages(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	w := newWebWorld(t, s)
	callers, samples := w.callers(t), w.samples()
	roles := []string{"nobody", "stranger", "reporter", "owner"}
	var golden bytes.Buffer
	for _, route := range web.Routes() {
		method, path, _ := strings.Cut(route, " ")
		if method != "GET" && strings.Contains(path, "/sent_notifications/") {
			fmt.Fprintf(&golden, "%s: the link of a mail\n", route)
			continue
		}
		if method != "GET" {
			fmt.Fprintf(&golden, "%s: a form of a page of the same browser\n", route)
			continue
		}
		sample, ok := samples[path]
		if !ok {
			t.Errorf("no address for the page %s", path)
			continue
		}
		fmt.Fprintf(&golden, "%s:", route)
		for _, role := range roles {
			p := callers[role].get(sample)
			fmt.Fprintf(&golden, " %s %d", role, p.status)
			raw := !strings.HasPrefix(p.header.Get("Content-Type"), "text/html") && p.status == http.StatusOK
			explorer := path == "/-/graphql-explorer" // the one page with scripts, all of them files of this server
			text := p.text
			if explorer {
				text = strings.ReplaceAll(text, `<script src="/-/assets/`, "")
			}
			if bad := inline.FindString(text); bad != "" && !raw {
				t.Errorf("%s as %s has %q", sample, role, bad)
			}
			csp := p.header.Get("Content-Security-Policy")
			if !strings.HasPrefix(csp, "default-src 'none'; ") || strings.Contains(csp, "unsafe") || p.header.Get("Cache-Control") != "private, no-store" || p.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: got the headers %v", sample, p.header)
			}
			if p.status == http.StatusOK && !raw && !explorer && (!strings.Contains(p.text, "</html>") || strings.Count(p.text, "<h1>") != 1) {
				t.Errorf("%s as %s: got %s, want a whole page with one heading", sample, role, p.text)
			}
			if p.status == http.StatusNotFound && strings.HasPrefix(sample, "/"+w.path) {
				absent := callers[role].get(strings.Replace(sample, "/work/inner/tools", "/work/inner/absen", 1))
				same := func(s string) string {
					return regexp.MustCompile(`content="[^"]*"|value="[^"]*"`).ReplaceAllString(strings.ReplaceAll(s, "absen", "tools"), "")
				}
				if absent.status != p.status || same(absent.text) != same(p.text) {
					t.Errorf("%s as %s: hidden is %d %s\nabsent %d %s", sample, role, p.status, same(p.text), absent.status, same(absent.text))
				}
			}
		}
		golden.WriteByte('\n')
	}
	compareGolden(t, "testdata/pages.txt", golden.String())
}

// The pages show what they are about, formatted and escaped, on both engines.
func TestWeb_content(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWebWorld(t, s)
		b := w.callers(t)["owner"]
		in := "/" + w.path + "/-/"
		for path, wants := range map[string][]string{
			"/":                                {"Workshop / Inner / Tools", "Your projects"},
			"/explore/projects?search=tool":    {"Tools", `value="tool"`},
			"/explore/projects?search=nothing": {"There are no projects to see here."},
			"/" + w.path: {
				"Sharp <em>tools</em>", "git clone ", w.path + ".git", `href="/work/inner/tools/-/blob/main/docs/guide.md#user-content-use"`,
				`src="/work/inner/tools/-/raw/main/logo.png"`, `align="center"`, `<a href="/work/inner">Inner</a>`, "First &lt;commit&gt;",
			},
			in + "tree/feature/side":                                {"docs", "README.md", "Second"},
			in + "tree/main/docs":                                   {"guide.md"},
			in + "blob/main/docs/guide.md":                          {`<h1 id="user-content-use">Use</h1>`, in + "raw/main/docs/guide.md"},
			in + "blob/main/src/a%20b%23%3F%25.go":                  {`<span class="c1">// &lt;b&gt;`, `id="L3"`, in + "raw/main/src/a%20b%23%3F%25.go"},
			in + "blob/main/logo.png":                               {`<img src="/work/inner/tools/-/raw/main/logo.png"`},
			in + "blob/main/data.bin":                               {"The file is not text."},
			in + "commits/main":                                     {"First &lt;commit&gt;"},
			in + "commit/" + w.sha:                                  {"body", "5 changed files", "func f() {} // &lt;b&gt;", `class="add"`},
			in + "compare/main...feature/side":                      {"Second", "more"},
			in + "branches":                                         {"feature/side", "default"},
			in + "tags":                                             {"v1", "the first"},
			in + "issues":                                           {"Broken &lt;hammer&gt;", "confidential", "1 comment", "bug"},
			in + "issues?state=closed":                              {"There are no such issues."},
			in + "issues/1":                                         {"It <em>broke</em>", `href="/work/inner/tools/-/blob/main/docs/guide.md"`, "I saw <strong>it</strong>", "opened", `href="/mona"`},
			in + "merge_requests":                                   {"Mend it", "feature/side"},
			in + "merge_requests/1":                                 {`<p dir="auto">How</p>`, `<p dir="auto">Well done</p>`},
			in + "merge_requests/1/commits":                         {"Second"},
			in + "merge_requests/1/diffs":                           {"docs/guide.md", "more"},
			in + "merge_requests/new":                               {"Source branch", `value="main"`, `href="/work/inner/tools/-/commits/main"`},
			in + "project_members":                                  {"mona", "Reporter"},
			in + "pipelines/" + w.pipe:                              {"success", w.sha},
			in + "milestones":                                       {"Spring &lt;b&gt;", "Due 2030-05-01"},
			in + "milestones/1":                                     {"What is <em>due</em>", `href="/work/inner/tools/-/blob/main/docs/guide.md"`, "2030-05-01", "Broken &lt;hammer&gt;", "#1 by"},
			in + "milestones/1?show=merge_requests":                 {"Mend it", "!1 by", `href="/work/inner/tools/-/merge_requests/1"`},
			"/groups/work/inner/-/milestones/1":                     {"For <strong>all</strong>", "2030-06-01", "work/inner/tools#2 by", `href="/work/inner/tools/-/issues/2"`},
			"/groups/work/inner/-/milestones/1?show=merge_requests": {"There are no such merge requests."},
			"/groups/work/-/epics":                                  {"Large &lt;b&gt;", "work/inner&amp;1 by", "vast", "confidential"},
			"/groups/work/inner/-/epics/1":                          {"Is <em>long</em>", "2031-02-03", "vast", "Activity"},
			"/groups/work/inner/-/epics/1?show=issues":              {"work/inner/tools#1 by", "Broken &lt;hammer&gt;"},
			"/groups/work/inner/-/epics/1?show=epics":               {`href="/groups/work/inner/-/epics/2"`, "Child"},
			"/groups/work/inner/-/iterations":                       {"2030-01-07 to 2030-01-20"},
			"/groups/work/inner/-/iterations/1":                     {"Ship <em>it</em>", "2030-01-20", "work/inner/tools#1 by"},
			"/groups/work/-/issues?label_name=bug":                  {"Broken &lt;hammer&gt;", "work/inner/tools#1 by", "With the label", "label_name=bug&amp;state=closed"},
			in + "wikis":                                            {`<a href="/work/inner/tools/-/wikis/more/deep">`, `src="/work/inner/tools/-/wikis/uploads/x/p.png"`, "<em>now</em>", "more/deep-page", w.path + ".wiki.git"},
			in + "wikis/home/history":                               {"mona", "?version_id="},
			in + "wikis/pages":                                      {"more/deep-page", "home"},
			in + "wikis/more/deep-page":                             {"Deep <strong>down</strong>", `href="/work/inner/tools/-/wikis/home"`, `/work/inner/tools/-/issues/1"`, "not #999"},
			"/groups/work/inner/-/wikis":                            {"Rules", "work/inner.wiki.git"},
			"/groups/work/inner/-/wikis/Rules":                      {"Be <em>kind</em>"},
			in + "snippets":                                         {"Handy &lt;i&gt;", "private"},
			in + "snippets/" + fmt.Sprint(w.snippet): {
				"For <em>all</em>", "&lt;b&gt;two&lt;/b&gt;", `id="file1-L2"`, `<h1 id="user-content-title">Title</h1>`,
				fmt.Sprintf(`src="/work/inner/tools/-/snippets/%d/raw/main/p.png"`, w.snippet), "No comments yet.", fmt.Sprintf("%s/snippets/%d.git", w.path, w.snippet),
			},
			"/-/snippets/" + fmt.Sprint(w.own): {"Own", fmt.Sprintf(`href="/-/snippets/%d/raw/main/a.txt"`, w.own), "/snippets/" + fmt.Sprint(w.own) + ".git"},
			"/work":                            {"Subgroups", "Workshop / Inner"},
			"/mona":                            {"@mona", "Personal projects"},
		} {
			p := b.get(path)
			for _, want := range wants {
				if p.status != http.StatusOK || !strings.Contains(p.text, want) {
					t.Errorf("%s: got %d, no %q in\n%s", path, p.status, want, p.text)
				}
			}
			if strings.Contains(p.text, "<script") || strings.Contains(p.text, "<hammer>") {
				t.Errorf("%s has markup from a user:\n%s", path, p.text)
			}
		}
		for path, want := range map[string][2]string{
			in + "raw/main/README.md": {"text/plain; charset=utf-8", "inline"},
			in + "raw/main/logo.png":  {"image/png", "inline"},
			in + "raw/main/data.bin":  {"application/octet-stream", "attachment"},

			fmt.Sprintf("%ssnippets/%d/raw/main/a.txt", in, w.snippet): {"text/plain; charset=utf-8", "inline"},
			fmt.Sprintf("/-/snippets/%d/raw/main/p.png", w.own):        {"image/png", "inline"},
			fmt.Sprintf("/-/snippets/%d/raw", w.own):                   {"text/plain; charset=utf-8", "inline"},
			in + "wikis/home.md":                                       {"text/plain; charset=utf-8", "inline"},
		} {
			p := b.get(path)
			if p.status != http.StatusOK || p.header.Get("Content-Type") != want[0] || p.header.Get("Content-Disposition") != want[1] || p.header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" {
				t.Errorf("%s: got %d %v", path, p.status, p.header)
			}
		}
		if p := b.get("/" + w.path + ".git"); p.status != http.StatusSeeOther || p.header.Get("Location") != "/"+w.path {
			t.Errorf("the address of git: got %d to %q", p.status, p.header.Get("Location"))
		}
		for _, path := range []string{
			in + "blob/main/..%2f..%2fx", in + "tree/main/../../x", in + "blob/main/none", in + "tree/none", in + "issues/99", in + "issues/x", in + "issues/-1",
			in + "pipelines/999999", in + "nothing", "/help/none", "/%00", in + "blob/main/%00", "/work/%ff", in + "commit/--help", in + "compare/a", in + "tree/--output=x",
			in + "milestones/9", "/groups/work/inner/-/iterations/2", "/groups/work/inner/-/epics/9", "/groups/work/-/epics/1/edit", "/groups/work/-/iterations/1", "/groups/work/-/milestones/1", in + "wikis/none", in + "wikis/none/history", in + "wikis/../../x", in + "wikis/home?version_id=--all",
			in + "snippets/9999", in + "snippets/x", fmt.Sprintf("%ssnippets/%d", in, w.own), fmt.Sprintf("%ssnippets/%d/raw/main/none", in, w.snippet),
			fmt.Sprintf("%ssnippets/%d/raw/--all/a.txt", in, w.snippet), fmt.Sprintf("%ssnippets/%d/raw/main/..%%2fa.txt", in, w.snippet),
		} {
			if p := b.get(path); p.status != http.StatusNotFound {
				t.Errorf("%s: got %d, want 404", path, p.status)
			}
		}
		open := s.do("mona", "POST", "/projects", obj{"name": "Open", "visibility": "public"})
		opened := "/projects/" + number(open, "id")
		of := s.do("mona", "POST", opened+"/milestones", obj{"title": "Shown"})
		for _, hidden := range []bool{false, true} {
			s.do("mona", "POST", opened+"/issues", obj{"title": fmt.Sprint("hidden ", hidden), "confidential": hidden, "milestone_id": of["id"]})
		}
		nobody := newBrowser(t, b.base)
		if p := nobody.get("/mona/open/-/milestones/1"); !strings.Contains(p.text, "hidden false") || strings.Contains(p.text, "hidden true") {
			t.Errorf("a milestone with a confidential issue for the public: got %d %s", p.status, p.text)
		}
		s.do("mona", "PUT", opened, obj{"issues_access_level": "private"})
		if p := nobody.get("/mona/open/-/milestones/1"); strings.Contains(p.text, "hidden") {
			t.Errorf("a milestone of a project whose issues are for members, for the public: got %d %s", p.status, p.text)
		}
		hidden, absent := nobody.get(fmt.Sprint("/-/snippets/", w.own)), nobody.get("/-/snippets/987654")
		if same := strings.NewReplacer(fmt.Sprint(w.own), "N", "987654", "N"); hidden.status != 404 || absent.status != 404 || same.Replace(hidden.text) != same.Replace(absent.text) {
			t.Errorf("a hidden snippet is %d %s\nan absent one %d %s", hidden.status, hidden.text, absent.status, absent.text)
		}
		form := url.Values{"merge_request[source_branch]": {"main"}, "merge_request[target_branch]": {"main"}, "merge_request[title]": {"x"}}
		if p := b.post(in+"merge_requests/new", in+"merge_requests", form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text, `role="alert"`) {
			t.Errorf("a merge request of one branch: got %d %s", p.status, p.text)
		}
		s.do("mona", "PUT", "/projects/work%2Finner%2Ftools/merge_requests/1", obj{"state_event": "close"})
		form = url.Values{"merge_request[source_branch]": {"feature/side"}, "merge_request[target_branch]": {"main"}, "merge_request[title]": {"Again"}}
		if p := b.post(in+"merge_requests/new", in+"merge_requests", form); p.status != http.StatusSeeOther || p.header.Get("Location") != in+"merge_requests/2" {
			t.Errorf("a merge request: got %d to %q %s", p.status, p.header.Get("Location"), p.text)
		}
	})
}

// Every address that weburl makes is answered: a page for each, or what it is documented to be.
func TestWeb_addresses(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	w := newWebWorld(t, s)
	b := w.callers(t)["owner"]
	key, _, err := s.core.Accounts.PasswordLink(t.Context(), authz.System(), s.ids["stan"])
	if err != nil {
		t.Fatal(err)
	}
	version := s.do("mona", "GET", "/projects/work%2Finner%2Ftools/merge_requests/1", nil)["diff_refs"].(obj)
	var hook, delivery int64
	fmt.Sscan(w.hook+" "+w.delivery, &hook, &delivery)
	project := func(rest ...any) []any { return append([]any{w.path}, rest...) }
	args := map[string][]any{
		"Help": {"topics/git/troubleshooting_git.md"}, "User": {"mona"}, "Group": {w.group}, "GroupMembers": {w.group}, "GroupAccessRequests": {w.group}, "ProjectAccessRequests": project(),
		"Project": project(), "ProjectExport": project(), "GroupExport": {w.group}, "ProjectMembers": project(), "Issues": project(), "MergeRequests": project(), "Branches": project(), "Tags": project(),
		"Issue": project(int64(1)), "WorkItem": project(int64(1)), "MergeRequest": project(int64(1)), "MergeRequestCommits": project(int64(1)),
		"MergeRequestChanges": project(int64(1)), "NewMergeRequest": project("feature/side"), "NewSnippet": project(), "ProjectCI": project(),
		"Hooks": project(), "Hook": project(hook), "HookDelivery": project(hook, delivery), "HookTest": project(hook), "HookResend": project(hook, delivery),
		"MergeRequestDiff": project(int64(1), int64(1), version["start_sha"]), "Commit": project(w.sha), "Compare": project("main", "...", "feature/side"),
		"Tree": project("feature/side"), "Blob": project("main", "src/a b#?%.go"), "Raw": project("main", "README.md"), "Commits": project("main", ""),
		"Folder": project("main", "docs"), "IssuesLabelled": project("bug"), "GroupIssuesLabelled": {w.group, "bug"}, "ProjectMilestone": project(int64(1)), "GroupMilestone": {w.group, int64(1)},
		"Epics": {w.group}, "Epic": {w.group, int64(1)}, "EditEpic": {w.group, int64(1)}, "EpicPath": {w.group, int64(1)},
		"Iteration": {w.group, int64(1)}, "Iterations": {w.group}, "GroupIssues": {w.group}, "ProjectMilestones": project(), "GroupMilestones": {w.group}, "ProjectSnippets": project(),
		"Tag": project("v1"), "Releases": project(), "Release": project("v1"), "EditRelease": project("v1"), "ReleaseDownload": project("v1", "/bin/tool"), "ReleaseEvidence": project("v1", int64(1)),
		"Packages": project(), "Package": project(int64(1)), "GroupPackages": {w.group},
		"Environments": project(), "Environment": project(int64(1)), "ReleaseIssues": project("v1", "opened"), "ReleaseMergeRequests": project("v1", "opened"),
		"Wiki": project(), "GroupWiki": {w.group}, "Snippet": project(w.snippet), "SnippetRaw": project(w.snippet, "main", "read me.md"),
		"HTTPRepository": project(), "SignIn": {""}, "ChoosePassword": {key}, "API": {"version"}, "StatusFavicon": {"favicon_status_success"},
	}
	const (
		elsewhere = -1 // not an address of HTTP, or one that a test of its own looks at
		seeOther  = http.StatusSeeOther
	)
	other := map[string]int{
		"Host": elsewhere, "Cloned": elsewhere, "SSHAddress": elsewhere, "HTTPRepositoryAs": elsewhere, "Path": elsewhere, "IsPage": elsewhere, "HasSSH": elsewhere, "SSHRepository": elsewhere, "Image": elsewhere, "Service": elsewhere, "Avatar": elsewhere,
		"ProjectExport": http.StatusNotFound, "GroupExport": http.StatusNotFound, // none was made
		"ImportPath": elsewhere, "SSHRepositoryURL": elsewhere, "JobRawFile": http.StatusNotFound, "JobFolder": http.StatusNotFound, "JobArtifacts": http.StatusNotFound,
		"UploadOfProject": elsewhere, "UploadOfGroup": elsewhere, "Unsubscribe": elsewhere, "ProjectAPI": elsewhere, "Asset": elsewhere, // the pages name it themselves
		"HTTPRepository": seeOther, "SignIn": seeOther, "SignOut": http.StatusNotFound, "JobFile": http.StatusNotFound, "ProjectBoard": http.StatusNotFound, "GroupBoard": http.StatusNotFound, "Pipeline": http.StatusOK,
		"ReleaseDownload": http.StatusFound,                                                                             // the others have no pages yet
		"EditEpic":        seeOther, "HookTest": http.StatusMethodNotAllowed, "HookResend": http.StatusMethodNotAllowed, // where forms go
	}
	var pipe int64
	fmt.Sscan(w.pipe, &pipe)
	args["Pipeline"] = project(pipe)
	args["JobFile"], args["JobRawFile"], args["JobFolder"], args["JobArtifacts"] = project(int64(1), "out"), project(int64(1), "out"), project(int64(1), ""), project(int64(1))
	args["JobLog"], args["Archive"] = project(w.job), project("feature/side", "tar.gz")
	args["Job"], args["ProjectBoard"], args["GroupBoard"] = project(w.job), project(int64(1)), []any{w.group, int64(1)} // they have no pages yet
	site := reflect.ValueOf(s.core.URLs)
	for i := range site.NumMethod() {
		name := site.Type().Method(i).Name
		want := other[name]
		if want == elsewhere {
			continue
		}
		if want == 0 {
			want = http.StatusOK
		}
		var in []reflect.Value
		for _, a := range args[name] {
			in = append(in, reflect.ValueOf(a))
		}
		method := site.Method(i)
		if method.Type().NumIn() != len(in) && !method.Type().IsVariadic() {
			t.Errorf("no arguments for %s: say what it is called with here", name)
			continue
		}
		address := method.Call(in)[0].String()
		path := strings.TrimPrefix(address, s.baseURL)
		if path == "" {
			path = "/"
		}
		if p := b.get(path); p.status != want {
			t.Errorf("%s: %s: got %d %s, want %d", name, path, p.status, p.text, want)
		}
	}
	assets := regexp.MustCompile(`href="(/-/assets/[^"]+)"`).FindAllStringSubmatch(b.get("/").text, -1)
	if len(assets) != 2 {
		t.Errorf("got the assets %v, want a stylesheet and an icon", assets)
	}
	for _, m := range assets {
		if p := b.get(m[1]); p.status != http.StatusOK || !strings.Contains(p.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: got %d %v", m[1], p.status, p.header)
		}
	}
}

// Each status of a pipeline has a picture for the tabs of browsers.
func TestWeb_favicons(t *testing.T) {
	walker(t)
	s := newServer(t, "")
	b := s.browse(t)
	seen := map[string]string{}
	for _, state := range ci.States() {
		name := state.Detail(false).Favicon
		p := b.get((&weburl.Site{}).StatusFavicon(name))
		if p.status != http.StatusOK || p.header.Get("Content-Type") != "image/png" || !strings.HasPrefix(p.text, "\x89PNG") || p.header.Get("Cache-Control") != "public, max-age=86400" {
			t.Errorf("%s: got %d %v", name, p.status, p.header)
		}
		seen[p.text] = name
	}
	if len(seen) != 10 { // canceling and canceled look alike, and all that waits
		t.Errorf("got %d pictures: %v", len(seen), slices.Sorted(maps.Values(seen)))
	}
	s.user("ann", nil)
	at := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "Own", "initialize_with_readme": true}), "id")
	sha := s.do("ann", "GET", at+"/repository/branches/main", nil)["commit"].(obj)["id"].(string)
	status := s.do("ann", "POST", at+"/statuses/"+sha, obj{"state": "failed"})
	shown := s.do("ann", "GET", at+"/pipelines/"+number(status, "pipeline_id"), nil)["detailed_status"].(obj)
	if shown["favicon"] != "/assets/ci_favicons/favicon_status_failed.png" || b.get(shown["favicon"].(string)).status != http.StatusOK {
		t.Errorf("got %v", shown)
	}
	if p := b.get("/assets/ci_favicons/favicon_status_none.png"); p.status != http.StatusNotFound {
		t.Errorf("a status that there is not: got %d", p.status)
	}
}

// A page costs as many statements with much on it as with little.
func TestWeb_statements(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWebWorld(t, s)
		b := w.callers(t)["owner"]
		in := "/" + w.path + "/-/"
		pages := []string{
			"/", "/explore/projects", "/" + w.path, in + "issues", in + "issues/1", in + "merge_requests", in + "merge_requests/1", in + "branches", in + "project_members",
			in + "commits/main", "/work/inner", "/mona", "/-/profile/personal_access_tokens",
			in + "milestones", in + "milestones/1", in + "milestones/1?show=merge_requests", "/groups/work/-/issues", in + "wikis", in + "wikis/pages", in + "snippets",
			in + "snippets/" + fmt.Sprint(w.snippet), "/groups/work/inner/-/milestones/1", in + "pipelines/" + w.pipe, in + "jobs/" + fmt.Sprint(w.job),
		}
		cost := func() map[string]uint64 {
			out := map[string]uint64{}
			for _, path := range pages {
				out[path] = ^uint64(0)
				for range 4 { // what runs in the background counts as well
					before := s.db.Statements()
					if p := b.get(path); p.status != http.StatusOK {
						t.Fatalf("%s: got %d", path, p.status)
					}
					out[path] = min(out[path], s.db.Statements()-before)
				}
			}
			return out
		}
		few := cost()
		at := "/projects/work%2Finner%2Ftools"
		for i := range 8 {
			name := fmt.Sprint("extra", i)
			s.user(name, nil)
			s.do("mona", "POST", at+"/members", obj{"user_id": s.ids[name], "access_level": 30})
			s.do(name, "POST", at+"/issues", obj{"title": name, "labels": name})
			s.do(name, "POST", at+"/statuses/"+w.sha, obj{"state": "success", "name": name})
			s.do(name, "POST", at+"/issues/1/notes", obj{"body": name})
			s.do(name, "POST", at+"/merge_requests/1/notes", obj{"body": name})
			s.do(name, "POST", at+"/repository/branches", obj{"branch": name, "ref": "feature/side"})
			s.do(name, "POST", at+"/merge_requests", obj{"title": name, "source_branch": name, "target_branch": "main"})
			extra := s.do("mona", "POST", "/projects", obj{"name": name})
			s.do("mona", "PUT", "/projects/"+number(extra, "id")+"/transfer", obj{"namespace": "work/inner"})
			s.do("mona", "POST", "/projects/"+number(extra, "id")+"/issues", obj{"title": name, "milestone_id": w.summer})
			s.do("mona", "PUT", at+"/issues/"+fmt.Sprint(i+3), obj{"milestone_id": w.spring})
			s.do("mona", "PUT", at+"/merge_requests/"+fmt.Sprint(i+2), obj{"milestone_id": w.spring})
			s.do("mona", "POST", at+"/milestones", obj{"title": name})
			s.do("mona", "POST", at+"/wikis", obj{"title": name, "content": name})
			s.do("mona", "POST", at+"/snippets", obj{"title": name, "visibility": "private", "files": []obj{{"file_path": "a", "content": "a"}}})
		}
		many := cost()
		for _, path := range pages {
			if many[path] > few[path] {
				t.Errorf("%s: got %d statements with much, %d with little", path, many[path], few[path])
			}
		}
		t.Log(slices.Sorted(func(yield func(string) bool) {
			for path, n := range many {
				if !yield(fmt.Sprint(path, " ", n)) {
					return
				}
			}
		}))
	})
}
