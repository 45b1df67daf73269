package app

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Texts on pages have the references and emoji that the interfaces give them, and nothing that the policy of pages refuses.
func TestWeb_references(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWebWorld(t, s)
		callers, in := w.callers(t), "/"+w.path+"/-/"
		b, at := callers["owner"], "/projects/work%2Finner%2Ftools"
		text := "See #2, !1, @mona, ~bug and #999 :thumbsup:\n\n- [x] drill *holes*\n- [ ] #1\n\n![far](https://elsewhere.example/p.png) ![near](logo.png) [file](docs/guide.md)\n\n" +
			"```go\nfunc f() {}\n```\n\n| a |\n|---|\n| b |\n\n`#fff` <b style=\"color: red\">bold</b> <script>alert(1)</script>\n"
		s.do("mona", "PUT", at+"/issues/1", obj{"description": text})
		s.do("mona", "PUT", at+"/merge_requests/1", obj{"description": text})
		s.do("mona", "POST", at+"/issues/1/notes", obj{"body": text})
		s.do("mona", "POST", at+"/issues/2/notes", obj{"body": "as in #1"}) // a line of history there
		for path, times := range map[string]int{in + "issues/1": 2, in + "merge_requests/1": 1} {
			p := b.get(path)
			for _, want := range []string{
				`<a href="/work/inner/tools/-/issues/2"`, `<a href="/work/inner/tools/-/merge_requests/1"`, `<a href="/mona" title="mona"`, "#999 <gl-emoji",
				`class="gl-label-text gl-label-text-`, `aria-label="drill holes"`, `aria-label="#1"`, "far <img src",
				`src="/work/inner/tools/-/raw/main/logo.png"`, `href="/work/inner/tools/-/blob/main/docs/guide.md"`,
				`tabindex="0" role="region" aria-label="Code"`, `<div class="scroll" tabindex="0" role="region" aria-label="Table">`,
			} {
				if got := strings.Count(p.text, want); p.status != http.StatusOK || got < times {
					t.Errorf("%s: got %d with %d of %s, want %d in %s", path, p.status, got, want, times, p.text)
				}
			}
			if bad := inline.FindString(p.text); bad != "" || strings.Contains(p.text, "elsewhere.example") {
				t.Errorf("%s has %q: %s", path, bad, p.text)
			}
		}
		// Lines of history have references as well.
		if p := callers["owner"].get(in + "issues/1"); !strings.Contains(p.text, `class="small dim history"`) || !strings.Contains(p.text, "mentioned in") {
			t.Errorf("no line of history: %s", p.text)
		}
		if p := callers["reporter"].get(in + "issues/1"); strings.Count(p.text, `<a href="/work/inner/tools/-/issues/2"`) < 2 {
			t.Errorf("a confidential issue for a member: %s", p.text)
		}
	})
}

// The address of every comment leads to it, on whatever page it is, and all pages are reached.
func TestWeb_notes(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		s.do("admin", "POST", "/projects", obj{"name": "app"})
		const at = "/projects/root%2Fapp/issues"
		s.do("admin", "POST", at, obj{"title": "Long"})
		var ids []string
		for i := range 45 {
			ids = append(ids, number(s.do("admin", "POST", at+"/1/notes", obj{"body": fmt.Sprint("comment ", i, ".")}), "id"))
			if i == 3 {
				s.do("admin", "PUT", at+"/1", obj{"title": "Longer"}) // a line of history between
			}
		}
		b := s.browse(t)
		for page := 1; page <= 3; page++ {
			path := fmt.Sprintf("/root/app/-/issues/1?page=%d", page)
			p := b.send("GET", path, nil, "Private-Token", s.keys["admin"]).text
			for i, id := range ids {
				on := i/20 + 1
				if i%20 == 19 || i >= 39 { // the line of history takes a place
					on = (i+1)/20 + 1
				}
				here := strings.Contains(p, `<article class="box" id="note_`+id+`">`) && strings.Contains(p, fmt.Sprint("comment ", i, "."))
				there := strings.Contains(p, fmt.Sprintf(`<a id="note_%s" href="/root/app/-/issues/1?page=%d#note_%s">This comment is on page %d</a>`, id, on, id, on))
				if here != (on == page) || there != (on != page) {
					t.Errorf("page %d, comment %d of page %d: it is there: %v, its address leads there: %v", page, i, on, here, there)
				}
			}
			if next := strings.Contains(p, fmt.Sprintf(`href="/root/app/-/issues/1?page=%d" rel="next"`, page+1)); next != (page < 3) {
				t.Errorf("page %d leads on: %v", page, next)
			}
		}
	})
}

// Pages of lists say how things are; the form of a merge request is reached and refuses what cannot be.
func TestWeb_lists(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWebWorld(t, s)
		b, in, at := w.callers(t)["owner"], "/"+w.path+"/-/", "/projects/work%2Finner%2Ftools"
		s.do("mona", "PUT", at+"/issues/1", obj{"state_event": "close"})
		if p := b.get(in + "issues?state=all"); strings.Count(p.text, `<span class="badge">closed</span>`) != 1 {
			t.Errorf("a closed issue among all: %s", p.text)
		}
		if p := b.get(in + "merge_requests?state=all"); !strings.Contains(p.text, `href="/work/inner/tools/-/merge_requests/new"`) {
			t.Errorf("no page leads to the form: %s", p.text)
		}
		if p := b.get(in + "branches"); !strings.Contains(p.text, `merge_requests/new?merge_request%5Bsource_branch%5D=feature%2Fside"`) {
			t.Errorf("no branch leads to the form: %s", p.text)
		}
		joined := regexp.MustCompile(`[^\s>(]<time|</a>,?<time|</time>\w`)
		for _, path := range w.samples() {
			if bad := joined.FindString(b.get(path).text); bad != "" {
				t.Errorf("%s: no blank in %q", path, bad)
			}
		}
		actions := make([]obj, 23)
		for i := range actions {
			actions[i] = obj{"action": "create", "file_path": fmt.Sprint("many/", i), "content": "x"}
		}
		c := s.do("mona", "POST", at+"/repository/commits", obj{"branch": "many", "start_branch": "main", "commit_message": "Many", "actions": actions})
		s.do("mona", "POST", at+"/merge_requests", obj{"title": "Many", "source_branch": "many", "target_branch": "main"})
		for _, path := range []string{"commit/" + c["id"].(string), "merge_requests/2/diffs", "compare/main...many"} {
			if p := b.get(in + path); !strings.Contains(p.text, "<h2>23 changed files</h2>") {
				t.Errorf("%s: got %s, want 23 changed files", path, p.text)
			}
		}
		send := func(source, target, text string) webPage {
			t.Helper()
			return b.post(in+"merge_requests/new", in+"merge_requests", url.Values{
				"merge_request[source_branch]": {source}, "merge_request[target_branch]": {target}, "merge_request[title]": {"By form"}, "merge_request[description]": {text},
			})
		}
		for _, tt := range []struct{ source, target, want string }{
			{"none", "main", "Source branch does not exist"}, {"many", "none", "Target branch does not exist"},
		} {
			if p := send(tt.source, tt.target, ""); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text, tt.want) || !strings.Contains(p.text, `value="`+tt.source+`"`) {
				t.Errorf("%s to %s: got %d %s", tt.source, tt.target, p.status, p.text)
			}
		}
		p := send("many", "feature/side", "What it does\r\n/label ~bug\r\n")
		if p.status != http.StatusSeeOther || p.header.Get("Location") != in+"merge_requests/3" {
			t.Fatalf("the form: got %d %v %s", p.status, p.header, p.text)
		}
		made := s.do("mona", "GET", at+"/merge_requests/3", nil)
		if fmt.Sprint(made["labels"]) != "[bug]" || made["description"] != "What it does" {
			t.Errorf("got %v and %q, want the label and the text without the command", made["labels"], made["description"])
		}
	})
}
