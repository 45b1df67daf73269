package rest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/changelog"
	"tenon/internal/core/feature"
)

// change commits a file with a message and returns the id.
func (p *planning) change(as, branch, start, path, content, message, more string) string {
	p.t.Helper()
	action := "create"
	if w := p.send(as, "GET", appPath+"/repository/files/"+strings.ReplaceAll(path, "/", "%2F")+"?ref="+branch, ""); w.Code == 200 {
		action = "update"
	}
	if start != "" {
		start = fmt.Sprintf(`"start_branch":%q,`, start)
	}
	return p.do(as, "POST", appPath+"/repository/commits", fmt.Sprintf(`{"branch":%q,%s%s"commit_message":%q,"actions":[{"action":%q,"file_path":%q,"content":%q}]}`,
		branch, start, more, message, action, path, content))["id"].(string)
}

// newChangelog is newCode with the changelog, and commits of every sort since the tag v1.0.0.
func newChangelog(t *testing.T, d *db.DB) (p *planning, ids map[string]string) {
	t.Helper()
	p = newCode(t, d)
	features := feature.New(feature.Deps{DB: d, Policy: p.World.Policy, Bus: p.World.Bus, Now: p.World.Now})
	p.Services.Add(features)
	p.Services.Add(changelog.New(changelog.Deps{
		DB: d, Policy: p.World.Policy, Accounts: p.Accounts, Namespaces: p.Namespaces, Repos: p.Repos, MergeRequests: p.MergeRequests, Limits: p.Limits, Now: p.World.Now,
		Features: features,
	}))
	p.routes(p.changelogRoutes()...)
	outsider := p.User("alice")
	p.users["alice"] = outsider
	for _, tag := range []string{"v1.0.0", "v1.1.0-rc1", "0.9.0", "other"} {
		p.do("maint", "POST", appPath+"/repository/tags", `{"tag_name":"`+tag+`","ref":"main"}`)
	}
	ids = map[string]string{"first": p.do("dev", "GET", appPath+"/repository/commits/main", "")["id"].(string)}
	ids["plain"] = p.change("maint", "main", "", "b", "1", "No trailer", "")
	ids["fixed"] = p.change("maint", "main", "", "b", "2", "Fix b\n\nText\n\nChangelog: fixed", "")
	ids["gone"] = p.change("maint", "main", "", "b", "3", "Undone\n\nChangelog: added", "")
	ids["revert"] = p.change("maint", "main", "", "b", "4", "Revert \"Undone\"\n\nThis reverts commit "+ids["gone"], "")
	ids["alice"] = p.change("maint", "main", "", "b", "5", "Add [x]\n\nChangelog: added", `"author_email":"Alice@example.com","author_name":"A",`)
	ids["request"] = p.change("dev", "side", "main", "c", "1", "Add c\n\nChangelog: added\nOther: 1", "")
	p.do("dev", "POST", requestsPath, `{"source_branch":"side","target_branch":"main","title":"Side"}`)
	p.do("maint", "PUT", requestsPath+"/1/merge", `{}`)
	return p, ids
}

func TestChangelog(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p, ids := newChangelog(t, d)
		const path = appPath + "/repository/changelog"
		const fail = `{"message":"Failed to generate the changelog: `
		want := "## 1.2.0 (2023-05-22)\n\n### added (2 changes)\n\n" +
			"- [Add c](team/app@" + ids["request"] + ") ([merge request](team/app!1))\n" +
			"- [Add [x]](team/app@" + ids["alice"] + ") by @alice\n\n" +
			"### fixed (1 change)\n\n- [Fix b](team/app@" + ids["fixed"] + ")\n"
		if got := p.do("", "GET", path+"?version=1.2.0&date=2023-05-22", "")["notes"]; got != strings.ReplaceAll(want, " ([merge request](team/app!1))", "") {
			t.Errorf("anonymous\n got %s\nwant %s", got, want)
		}
		if got := p.do("dev", "GET", path+"?version=v1.2.0&date=2023-05-22", "")["notes"]; got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		if got := p.do("dev", "GET", path+"?version=1.2.0&date=2023-05-22&from="+ids["alice"]+"&to="+ids["alice"], "")["notes"]; got != "## 1.2.0 (2023-05-22)\n\nNo changes.\n" {
			t.Errorf("nothing: %q", got)
		}
		p.rows("", []codeRow{
			{"dev", "GET", path, "", 400, `{"error":"version is missing, version is empty"}`},
			{"dev", "GET", path + "?version=", "", 400, `{"error":"version is empty"}`},
			{"dev", "GET", path + "?version=1", "", 400, `{"error":"version is invalid"}`},
			{"dev", "GET", path + "?version=1.2.0&from=none", "", 422, fail + `Invalid or not found commit value in the given range"}`},
			{"dev", "GET", path + "?version=1.2.0&to=none", "", 422, fail + `Invalid or not found commit value in the given range"}`},
			{"dev", "GET", path + "?version=0.8.0", "", 422, fail + `The commit start range is unspecified, and no previous tag could be found to use instead"}`},
			{"dev", "GET", path + "?version=1.2.0&trailer=changelog&date=2020-01-02", "", 200, `{"notes":"## 1.2.0 (2020-01-02)\n\nNo changes.\n"}`},
			{"", "POST", path, `{"version":"1.2.0"}`, 401, `{"message":"401 Unauthorized"}`},
			{"dev", "POST", path, `{"version":"1.2.0"}`, 403, `{"message":"403 Forbidden - You are not allowed to commit a changelog on this branch"}`},
			{"maint", "POST", path, `{"version":"1.2.0","file":"../x"}`, 422, fail + `Path cannot include directory traversal"}`},
			{"maint", "POST", path, `{"version":"1.2.0","date":"2023-05-22"}`, 200, `200`},
			{"maint", "POST", path, `{"version":"1.2.0"}`, 200, `200`},
			{"maint", "POST", path, `{"version":"1.1.0","date":"2023-05-21","to":"` + ids["fixed"] + `","message":"Log it","from":"` + ids["first"] + `"}`, 200, `200`},
		})
		older := "## 1.1.0 (2023-05-21)\n\n### fixed (1 change)\n\n- [Fix b](team/app@" + ids["fixed"] + ")\n"
		if got := p.send("dev", "GET", appPath+"/repository/files/CHANGELOG.md/raw?ref=main", "").Body.String(); got != want+"\n"+older {
			t.Errorf("file\n got %s\nwant %s", got, want+"\n"+older)
		}
		if got := p.pick("dev", appPath+"/repository/commits?per_page=2", "title"); got != "Log it Add changelog for version 1.2.0" {
			t.Errorf("commits: %s", got)
		}
		if c := p.do("dev", "GET", appPath+"/repository/commits/main", ""); c["author_name"] != "Maint" {
			t.Errorf("author %v", c["author_name"])
		}
		// A tag of the name of a branch is not the branch.
		p.do("maint", "POST", appPath+"/repository/branches", `{"branch":"stable","ref":"main"}`)
		p.do("maint", "POST", appPath+"/repository/tags", `{"tag_name":"stable","ref":"`+ids["first"]+`"}`)
		p.want("maint", "POST", path, `{"version":"1.3.0","branch":"stable","from":"`+ids["first"]+`","date":"2023-05-23"}`, 200, `200`)
		got := p.send("dev", "GET", appPath+"/repository/files/CHANGELOG.md/raw?ref=refs%2Fheads%2Fstable", "").Body.String()
		if newer, rest, ok := strings.Cut(got, "\n## 1.2.0"); !ok || !strings.HasPrefix(newer, "## 1.3.0 (2023-05-23)\n\n### ") || "## 1.2.0"+rest != want+"\n"+older {
			t.Errorf("file of the branch\n%s", got)
		}
	})
}

func TestChangelog_config(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p, ids := newChangelog(t, d)
		const path = appPath + "/repository/changelog?version=1.2.0&date=2023-05-02"
		crew := p.World.Group("crew", authz.Public, 0)
		p.Member(crew, p.users["maint"], authz.Guest)
		config := `date_format: '%-d %b %Y'
categories:
  fixed: Fixed
  added: New
include_groups: [crew, none]
template: |
  {% each categories %}
  {{ title }}: {% each entries %}{{ title }}={{ commit.trailers.Other }}{% if author.credit %}+{{ author.reference }}{% end %};{% end %}

  {% end %}
`
		p.change("maint", "main", "", ".gitlab/changelog_config.yml", config, "Configure", "")
		if got, want := p.do("dev", "GET", path, "")["notes"], "## 1.2.0 (2 May 2023)\n\nFixed: Fix b=+@maint;\nNew: Add c=1;Add [x]=+@alice;\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		p.change("maint", "main", "", "other.yml", "tag_regex: '^oth(?P<major>)er$'\n", "Configure", "")
		p.want("dev", "GET", path+"&config_file=other.yml", "", 422,
			`{"message":"Failed to generate the changelog: The commit start range is unspecified, and no previous tag could be found to use instead"}`)
		p.change("maint", "main", "", "other.yml", "template: '{% if'\n", "Configure", "")
		p.want("dev", "GET", path+"&config_file=other.yml", "", 422,
			`{"message":"Failed to generate the changelog: Failed to parse the template: \"{%\" without \"%}\""}`)
		p.do("maint", "POST", appPath+"/repository/branches", `{"branch":"elsewhere","ref":"main"}`)
		p.change("maint", "elsewhere", "", ".gitlab/changelog_config.yml", "categories:\n  fixed: Mended\n", "Configure", "")
		for ref, want := range map[string]string{"elsewhere": "### Mended (1 change)", "none": "### fixed (1 change)", "main": "Fixed: "} {
			if got := p.do("dev", "GET", path+"&config_file_ref="+ref, "")["notes"].(string); !strings.Contains(got, want) {
				t.Errorf("configuration of %s: %q", ref, got)
			}
		}
		p.want("dev", "GET", path+"&config_file=none.yml&from="+ids["request"], "", 200, "")
	})
}

// A range of 15,000 commits is the longest that is told of.
func TestChangelog_limit(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, false)
	p, _ := newChangelog(t, d)
	r, err := p.Repos.Open(t.Context(), p.Find(p.users["dev"], p.id))
	if err != nil {
		t.Fatal(err)
	}
	var stream strings.Builder
	const n = 15_001
	for i := range n {
		message := fmt.Sprintf("Change %d\n\nChangelog: added", i)
		fmt.Fprintf(&stream, "commit refs/heads/many\ncommitter C <c@example.org> %d +0000\ndata %d\n%s\n", 1_700_000_000+i, len(message), message)
		if i == 0 {
			stream.WriteString("from refs/heads/main^0\n")
		}
	}
	cmd := exec.CommandContext(t.Context(), "git", "-C", r.Path(), "fast-import", "--quiet")
	cmd.Stdin = strings.NewReader(stream.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const path = appPath + "/repository/changelog?version=9.0.0&date=2023-05-22&to=many&trailer=None&from="
	p.want("dev", "GET", path+"main", "", 422, `{"message":"Failed to generate the changelog: The commits range exceeds 15000 elements."}`)
	first := strings.Fields(p.pick("dev", appPath+"/repository/commits?ref_name=main..many&per_page=1&page=15001", "id"))
	if len(first) != 1 {
		t.Fatalf("first of the many: %v", first)
	}
	const none = `{"notes":"## 9.0.0 (2023-05-22)\n\nNo changes.\n"}`
	p.want("dev", "GET", path+first[0], "", 200, none)
	for _, gates := range []feature.Gates{{Value: "true"}, {Value: "false"}} {
		if _, err := core.Part[*feature.Service](p.Services).Set(t.Context(), authz.System(), feature.ChangelogLimit, gates); err != nil {
			t.Fatal(err)
		}
	}
	p.want("dev", "GET", path+"main", "", 200, none)
}
