package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Texts of a project have the same quotes, tasks, videos and relative addresses in REST, in GraphQL and on pages, where
// nothing is loaded from elsewhere.
func TestMarkdown_everywhere(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", obj{"name": "app", "visibility": "public", "initialize_with_readme": true})
	const app = "/projects/root%2Fapp"
	const text = ">>>\nquoted\n\ntwice\n>>>\n\n- [~] dropped\n- [ ] open\n\n[guide](docs/guide.md#use) ![logo](logo.png) ![film](a/film.mp4) ![far](https://elsewhere.example/f.mp4) ![song](./song.ogg) [out](../../x) [i](/root/app/-/issues/1)\n\n" +
		"<video src=\"javascript:x\" onplay=\"x\" autoplay></video>"
	s.do("admin", "POST", app+"/issues", obj{"title": "One", "description": text})
	s.do("admin", "POST", app+"/issues/1/notes", obj{"body": text})
	s.do("admin", "POST", app+"/repository/commits", obj{"branch": "main", "commit_message": "Describe", "actions": []obj{{"action": "update", "file_path": "README.md", "content": text}}})

	root := strings.TrimSuffix(s.do("admin", "GET", app, nil)["web_url"].(string), "/root/app")
	texts := map[string]string{}
	for _, gfm := range []bool{false, true} {
		html, _ := s.do("admin", "POST", "/markdown", obj{"text": text, "gfm": gfm, "project": "root/app"})["html"].(string)
		texts[map[bool]string{false: "POST /markdown", true: "POST /markdown with gfm"}[gfm]] = html
	}
	a := s.send(t.Context(), request{as: "admin", way: bearer, whole: true, method: http.MethodPost, path: "/api/graphql", body: obj{
		"query": `{ project(fullPath: "root/app") { issue(iid: "1") { descriptionHtml taskCompletionStatus { count } notes { nodes { bodyHtml } } } } }`,
	}})
	var answer obj
	if err := json.Unmarshal(a.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	issue := answer["data"].(map[string]any)["project"].(map[string]any)["issue"].(map[string]any)
	texts["descriptionHtml"], _ = issue["descriptionHtml"].(string)
	texts["bodyHtml"], _ = issue["notes"].(map[string]any)["nodes"].([]any)[0].(map[string]any)["bodyHtml"].(string)
	if got := fmt.Sprint(issue["taskCompletionStatus"].(map[string]any)["count"]); got != "1" {
		t.Errorf("got %s tasks, want the one that applies", got)
	}
	for name, html := range texts {
		for _, want := range []string{
			"<p dir=\"auto\">quoted</p>\n<p dir=\"auto\">twice</p>\n</blockquote>", `data-inapplicable disabled> <del>dropped</del>`, `href="/root/app/-/issues/1"`, `href="../../x"`,
			`<a href="` + root + `/root/app/-/blob/main/docs/guide.md#user-content-use"`, `<img src="` + root + `/root/app/-/raw/main/logo.png"`,
			`<video src="` + root + `/root/app/-/raw/main/a/film.mp4"`, `<video src="https://elsewhere.example/f.mp4"`, `<audio src="` + root + `/root/app/-/raw/main/song.ogg"`,
		} {
			if !strings.Contains(html, want) {
				t.Errorf("%s: no %s in %s", name, want, html)
			}
		}
		if strings.Contains(html, "javascript") || strings.Contains(html, "play=") {
			t.Errorf("%s: a script in %s", name, html)
		}
	}
	b := s.browse(t)
	for path, times := range map[string]int{"/root/app/-/issues/1": 1, "/root/app": 1, "/root/app/-/blob/main/README.md": 1} {
		p := b.get(path)
		for _, want := range []string{
			"twice</p>\n</blockquote>", " <del>dropped</del>", `<a href="/root/app/-/blob/main/docs/guide.md#user-content-use">guide`, `<img src="/root/app/-/raw/main/logo.png"`,
			`<video src="/root/app/-/raw/main/a/film.mp4"`, `<audio src="/root/app/-/raw/main/song.ogg"`,
		} {
			if got := strings.Count(p.text, want); p.status != http.StatusOK || got < times {
				t.Errorf("%s: got %d with %d of %s, want %d in %s", path, p.status, got, want, times, p.text)
			}
		}
		if strings.Contains(p.text, `src="https://elsewhere`) || strings.Contains(p.text, "javascript:") || strings.Contains(p.text, "onplay") ||
			strings.Count(p.text, "<video") != strings.Count(p.text, "</video>") || !strings.Contains(p.header.Get("Content-Security-Policy"), "media-src 'self'") {
			t.Errorf("%s: a script, something from elsewhere or a video that does not end: %s", path, p.text)
		}
	}
}
