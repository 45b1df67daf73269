package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestWeb_releases opens what the API prints of a release: its tag, the issues and merge requests of its milestones, and the form that changes it,
// which is for those who may.
func TestWeb_releases(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWebWorld(t, s)
		at, in := "/projects/"+url.PathEscape(w.path), "/"+w.path+"/-/"
		s.do("mona", "PUT", at+"/issues/2", obj{"confidential": false})
		s.do("mona", "POST", at+"/releases", obj{"tag_name": "group/v2", "ref": "main", "name": "Second <b>", "milestones": []string{"Spring <b>"}})
		made := s.do("mona", "GET", at+"/releases/group%2Fv2", nil)
		links, _ := made["_links"].(obj)
		callers := w.callers(t)
		b := callers["owner"]
		shows := func(address, with, without string) {
			t.Helper()
			p := b.get(strings.TrimPrefix(address, s.baseURL))
			if p.status != http.StatusOK || !strings.Contains(p.text, with) || without != "" && strings.Contains(p.text, without) {
				t.Errorf("%s: got %d %s, want %q and not %q", address, p.status, p.text, with, without)
			}
		}
		shows(made["tag_path"].(string), `href="/work/inner/tools/-/releases/group%2Fv2">Second &lt;b&gt;</a>`, "")
		shows(made["tag_path"].(string), `href="/work/inner/tools/-/tree/tags/group/v2"`, "")
		shows(in+"tags/v1", "the first", "")
		shows(in+"tags", `href="/work/inner/tools/-/tags/group/v2"`, "")
		if p := b.get(in + "tags/v9"); p.status != http.StatusNotFound {
			t.Errorf("a tag that is not there: %d", p.status)
		}
		shows(links["opened_issues_url"].(string), "Broken &lt;hammer&gt;", "Secret")
		shows(links["opened_issues_url"].(string), `<span class="badge">group/v2</span>`, "")
		shows(links["closed_issues_url"].(string), "There are no such issues", "Broken")
		shows(links["opened_merge_requests_url"].(string), "Mend it", "")
		shows(strings.Replace(links["opened_merge_requests_url"].(string), "group%2Fv2", "v1", 1), "release", "Mend it")

		edit := strings.TrimPrefix(links["edit_url"].(string), s.baseURL)
		shows(edit, `value="Second &lt;b&gt;"`, "")
		for role, want := range map[string]int{"nobody": http.StatusNotFound, "stranger": http.StatusNotFound, "reporter": http.StatusForbidden} {
			if p := callers[role].get(edit); p.status != want {
				t.Errorf("the form as %s: %d", role, p.status)
			}
		}
		if p := callers["reporter"].post("/-/profile", edit, url.Values{"name": {"Mine"}}); p.status != http.StatusForbidden {
			t.Errorf("changed by a reporter: %d", p.status)
		}
		if p := b.post(edit, edit, url.Values{"name": {strings.Repeat("x", 256)}, "description": {"lost?"}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text, "Name is too long") ||
			!strings.Contains(p.text, "lost?") {
			t.Errorf("a long name: %d %s", p.status, p.text)
		}
		if p := b.post(edit, edit, url.Values{"name": {"Third"}, "description": {"one\r\ntwo"}}); p.status != http.StatusSeeOther || p.header.Get("Location") != in+"releases/group%2Fv2" {
			t.Errorf("a change: %d %v", p.status, p.header)
		}
		s.want("mona", "GET", at+"/releases/group%2Fv2", nil, 200, `"name":"Third","tag_name":"group/v2","description":"one\ntwo"`)
		s.do("mona", "POST", at+"/protected_tags", obj{"name": "group/*", "create_access_level": 0})
		if p := b.get(edit); p.status != http.StatusForbidden {
			t.Errorf("the form of a protected tag: %d", p.status)
		}
	})
}
