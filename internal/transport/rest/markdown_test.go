package rest

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
)

// A text is rendered for each reader with links to what that reader may read, from one cache:
// references to confidential issues, private projects and hidden groups stay text.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		private := p.Project("team/hidden", authz.Private, p.Find(p.users["owner"], p.id).ParentID)
		p.Join(private, p.users["planner"], authz.Planner)
		p.Member(p.Group("secret", authz.Private, 0), p.users["planner"], authz.Guest)
		p.do("planner", "POST", "/projects/team%2Fapp/issues", `{"title":"First & <best>","labels":"bug"}`)
		p.do("planner", "POST", "/projects/team%2Fapp/issues", `{"title":"Kept","confidential":true}`)
		p.do("planner", "POST", "/projects/team%2Fhidden/issues", `{"title":"Hidden"}`)
		p.do("planner", "PUT", "/projects/team%2Fapp/issues/1", `{"state_event":"close"}`)
		const first = `<a href="https://tenon.example/team/app/-/issues/1" title="First &amp; &lt;best&gt;" class="gfm gfm-issue"` +
			` data-original="#1" data-reference-type="issue" data-project="1" data-issue="1" data-iid="1">#1 (closed)</a>`
		render := func(as, text string) string {
			t.Helper()
			html, _ := p.do(as, "POST", "/markdown", `{"gfm":true,"project":"team/app","text":`+text+`}`)["html"].(string)
			return strings.TrimSuffix(strings.TrimPrefix(html, `<p dir="auto">`), "</p>\n")
		}
		for _, tt := range []struct{ as, text, want string }{
			{"planner", `"#1"`, first},
			{"stranger", `"#1"`, first},
			{"stranger", `"#2 team/hidden#1 @secret #99 @nobody"`, "#2 team/hidden#1 @secret #99 @nobody"},
			{"stranger", `"https://tenon.example/team/hidden/-/issues/1"`, `<a href="https://tenon.example/team/hidden/-/issues/1" rel="nofollow noreferrer noopener" target="_blank">` +
				`https://tenon.example/team/hidden/-/issues/1</a>`},
			{"planner", `"#1+"`, strings.Replace(strings.Replace(first, `>#1 (closed)<`, `>First &amp; &lt;best&gt; (#1 - closed)<`, 1), `"#1"`, `"#1+"`, 1)},
			{"planner", `"@planner"`, `<a href="https://tenon.example/planner" title="Planner" class="gfm gfm-project_member js-user-link" data-original="@planner" data-reference-type="user" data-user="` +
				fmt.Sprint(p.users["planner"].UserID) + `">@planner</a>`},
			{"stranger", `"~bug"`, `<span class="gl-label"><a href="https://tenon.example/team/app/-/issues?label_name=bug" title="" class="gfm gfm-label" data-original="~bug"` +
				` data-reference-type="label" data-project="1" data-label="1"><span class="gl-label-text gl-label-text-light" style="background-color: #6699cc">bug</span></a></span>`},
			{"stranger", "\"~~~go\\nvar a // #1\\n~~~\"", `<pre class="code highlight js-syntax-highlight language-go" lang="go"><code><span class="kd">var</span> <span class="nx">a</span> <span class="c1">// #1</span>` +
				"\n</code></pre>"},
			{"stranger", `"[f](/uploads/0123/a.png)"`, `<a href="https://tenon.example/-/project/1/uploads/0123/a.png" rel="nofollow noreferrer noopener" target="_blank">f</a>`},
		} {
			if got := render(tt.as, tt.text); got != tt.want {
				t.Errorf("%s: %s:\n got %s\nwant %s", tt.as, tt.text, got, tt.want)
			}
		}
		snippet := func(title string, of any, v authz.Visibility) int64 {
			if _, err := d.Exec(t.Context(), "INSERT INTO attached_repositories (name, kind, size, created_at) VALUES (?, 'snippet', 0, ?)", title, p.World.Now()); err != nil {
				t.Fatal(err)
			}
			return p.Insert("snippets", coretest.Row{
				"repository": title, "project_id": of, "author_id": p.users["owner"].UserID, "title": title, "title_fold": db.Fold(title), "visibility": v, "files": "[]", "branch": "main",
			})
		}
		shown, kept, own := snippet("Shown", p.id, authz.Public), snippet("Kept", private, authz.Private), snippet("Own", nil, authz.Public)
		link := func(address, title, text, shown string, of, id int64) string {
			in := ""
			if of != 0 {
				in = fmt.Sprintf(` data-project="%d"`, of)
			}
			return fmt.Sprintf(`<a href="https://tenon.example/%s-/snippets/%d" title="%s" class="gfm gfm-snippet" data-original="%s" data-reference-type="snippet"%s data-snippet="%[2]d">%[6]s</a>`,
				address, id, title, text, in, shown)
		}
		for _, tt := range []struct{ as, text, want string }{
			{"stranger", fmt.Sprintf("$%d", shown), link("team/app/", "Shown", fmt.Sprintf("$%d", shown), fmt.Sprintf("$%d", shown), int64(p.id), shown)},
			{"stranger", fmt.Sprintf("$%d, $%d, team/hidden$%d, $99", kept, own, kept), fmt.Sprintf("$%d, $%d, team/hidden$%d, $99", kept, own, kept)},
			{"planner", fmt.Sprintf("team/hidden$%d", kept), link("team/hidden/", "Kept", fmt.Sprintf("team/hidden$%d", kept), fmt.Sprintf("team/hidden$%d", kept), int64(private), kept)},
			{"stranger", fmt.Sprintf("https://tenon.example/-/snippets/%d", own), link("", "Own", fmt.Sprintf("https://tenon.example/-/snippets/%d", own), fmt.Sprintf("$%d", own), 0, own)},
		} {
			if got := render(tt.as, `"`+tt.text+`"`); got != tt.want {
				t.Errorf("%s: %s:\n got %s\nwant %s", tt.as, tt.text, got, tt.want)
			}
		}
		for _, text := range []string{`"#2 team/hidden#1 @secret"`} {
			if got := render("planner", text); strings.Count(got, "<a ") != 3 {
				t.Errorf("planner: %s: %s, want three links", text, got)
			}
		}
		p.want("planner", "POST", "/markdown", `{"text":"#1 **b**"}`, 201, `{"html":"<p dir=\"auto\">#1 <strong>b</strong></p>\n"}`)
		p.want("", "POST", "/markdown", `{"text":"x"}`, 401, "")
		p.want("stranger", "POST", "/markdown", `{"text":"x","project":"team/hidden"}`, 404, `{"message":"404 Project Not Found"}`)
		p.want("planner", "POST", "/markdown", `{"gfm":true}`, 400, `{"error":"text is missing"}`)
	})
}
