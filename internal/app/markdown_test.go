package app

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// Relative links in descriptions of projects and groups lead where those of issues lead, and their pictures stay words.
func TestMarkdown_descriptions(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	secret := strings.Repeat("0a", 16)
	text := "[guide](docs/guide.md#use) [issue](/root/app/-/issues/1) [out](../../x) [file](/uploads/" + secret + "/a.txt) ![logo](logo.png) [x](javascript:alert) [far](https://elsewhere.example/)"
	group := s.do("admin", "POST", "/groups", obj{"name": "gr", "path": "gr", "visibility": "public", "description": text})
	p := s.do("admin", "POST", "/projects", obj{"name": "app", "visibility": "public", "initialize_with_readme": true, "description": text})
	root := strings.TrimSuffix(p["web_url"].(string), "/root/app")
	a := s.send(t.Context(), request{as: "admin", way: bearer, whole: true, method: http.MethodPost, path: "/api/graphql", body: obj{
		"query": `{ project(fullPath: "root/app") { descriptionHtml } group(fullPath: "gr") { descriptionHtml } namespace(fullPath: "gr") { descriptionHtml } }`,
	}})
	var answer struct {
		Data map[string]struct{ DescriptionHTML string }
	}
	if err := json.Unmarshal(a.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	html, _ := s.do("admin", "GET", "/projects/root%2Fapp", nil)["description_html"].(string)
	rest := []string{`href="../../x"`, `href="/root/app/-/issues/1"`, `href="https://elsewhere.example/"`, " logo ", `<a href="" rel=`}
	inProject := append([]string{
		`href="` + root + `/root/app/-/blob/main/docs/guide.md#user-content-use"`, `href="` + root + `/-/project/` + number(p, "id") + "/uploads/" + secret + `/a.txt"`,
	}, rest...)
	inGroup := append([]string{`href="docs/guide.md#use"`, `href="` + root + `/-/group/` + number(group, "id") + "/uploads/" + secret + `/a.txt"`}, rest...)
	for _, tt := range []struct {
		name, html string
		want       []string
	}{
		{"description_html", html, inProject},
		{"Project.descriptionHtml", answer.Data["project"].DescriptionHTML, inProject},
		{"Group.descriptionHtml", answer.Data["group"].DescriptionHTML, inGroup},
		{"Namespace.descriptionHtml", answer.Data["namespace"].DescriptionHTML, inGroup},
	} {
		for _, want := range tt.want {
			if !strings.Contains(tt.html, want) || strings.Contains(tt.html, "<img") {
				t.Errorf("%s: no %s in %s", tt.name, want, tt.html)
			}
		}
	}
	b := s.browse(t)
	for path, want := range map[string]string{"/root/app": `<a href="/root/app/-/blob/main/docs/guide.md#user-content-use">guide</a>`, "/groups/gr": "/-/group/" + number(group, "id") + "/uploads/" + secret + `/a.txt">file</a>`} {
		if p := b.get(path); !strings.Contains(p.text, want) {
			t.Errorf("%s: no %s in %s", path, want, p.text)
		}
	}
}

// What a text shows as a video or an audio file comes with a type that browsers play and never run, whatever the file holds, and in
// ranges: they are told not to look into it.
func TestMarkdown_media(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	p := s.do("admin", "POST", "/projects", obj{"name": "app", "visibility": "public", "initialize_with_readme": true})
	at := "/projects/" + number(p, "id")
	film := "\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2" + strings.Repeat("\x00film\xff", 20_000)
	const script = "<html><script>alert(1)</script></html>"
	files := map[string]struct{ content, kind string }{
		"film.mp4": {film, "video/mp4"}, "FILM.MOV": {film, "video/quicktime"}, "a.webm": {film, "video/webm"}, "a.ogv": {film, "video/ogg"}, "a.m4v": {film, "video/mp4"},
		"song.ogg": {film, "audio/ogg"}, "song.mp3": {film, "audio/mpeg"}, "song.wav": {film, "audio/wav"}, "song.oga": {film, "audio/ogg"}, "song.spx": {film, "audio/ogg"},
		"script.mp4": {script, "video/mp4"}, "script.ogg": {script, "audio/ogg"}, "film.bin": {film, "application/octet-stream"}, "film.html": {script, "text/plain; charset=utf-8"},
	}
	var actions []obj
	for name, f := range files {
		actions = append(actions, obj{"action": "create", "file_path": name, "encoding": "base64", "content": base64.StdEncoding.EncodeToString([]byte(f.content))})
	}
	s.do("admin", "POST", at+"/repository/commits", obj{"branch": "main", "commit_message": "Film", "actions": actions})
	addresses := map[string]string{} // names of files
	for name := range files {
		addresses["/root/app/-/raw/main/"+name] = name
		if name != "film.html" && name != "film.bin" {
			addresses[s.do("admin", "POST", at+"/uploads", obj{"file": attached{name, files[name].content}})["full_path"].(string)] = name
		}
	}
	for address, name := range addresses {
		want := files[name]
		got := s.fetch("", address)
		h := got.Header()
		if got.Code != http.StatusOK || got.Body.String() != want.content || h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: got %d with %d bytes and %v", address, got.Code, got.Body.Len(), h)
		}
		if kind := h.Get("Content-Type"); kind != want.kind {
			t.Errorf("%s: got type %q, want %q", address, kind, want.kind)
		}
		if !strings.HasPrefix(want.kind, "video/") && !strings.HasPrefix(want.kind, "audio/") {
			continue
		}
		size := len(want.content)
		for asked, part := range map[string][2]int{"bytes=0-": {0, size}, "bytes=5-9": {5, 10}, "bytes=-7": {size - 7, size}} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
			r.Header.Set("Range", asked)
			w := httptest.NewRecorder()
			s.http.Handler.ServeHTTP(w, r)
			if w.Code != http.StatusPartialContent || w.Body.String() != want.content[part[0]:part[1]] || w.Header().Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", part[0], part[1]-1, size) {
				t.Errorf("%s %s: got %d with %d bytes, %s", address, asked, w.Code, w.Body.Len(), w.Header().Get("Content-Range"))
			}
		}
	}
}
