package app

import (
	"strings"
	"testing"
)

// shownText shows a text over each transport.
func (s *server) shownText(b *browser, project, text string) map[string]string {
	s.tb.Helper()
	path := "/projects/" + strings.ReplaceAll(project, "/", "%2F")
	iid := number(s.do("ann", "POST", path+"/issues", obj{"title": "x", "description": text}), "iid")
	query := obj{"query": `{ project(fullPath: "` + project + `") { issue(iid: "` + iid + `") { descriptionHtml } } }`}
	body := func(r request) string {
		r.as, r.method = "ann", "POST"
		return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\"`, `"`).Replace(s.send(s.tb.Context(), r).Body.String())
	}
	page := b.get("/" + project + "/-/issues/" + iid)
	return map[string]string{
		"REST": body(request{path: "/markdown", body: obj{"text": text, "gfm": true}}), "plain": body(request{path: "/markdown", body: obj{"text": text}}),
		"GraphQL": body(request{path: "/api/graphql", whole: true, body: query}), "page": page.text, "policy": page.header.Get("Content-Security-Policy"),
	}
}

// TestSettings_frames puts pictures whose addresses are pages of other sites into texts: those of allowed sites are frames.
func TestSettings_frames(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	s.do("ann", "POST", "/projects", obj{"name": "crane", "visibility": "public"})
	b := s.browse(t)
	text := "![a \"film\"](https://films.example/embed/1?a=1&b=2)\n\n![b](https://films.example.evil.example/2) ![c](http://films.example/3) ![d](https://u@films.example/4)" +
		" [![e](https://films.example/5)](https://other.example) ![f](https://films.example:8443/6)\n\n<iframe src=\"https://films.example/7\"></iframe>\n\n![own](" + s.baseURL + "/x)"
	framed := func(want int) {
		t.Helper()
		for transport, out := range s.shownText(b, "ann/crane", text) {
			if transport == "policy" {
				if got := strings.HasSuffix(out, "; frame-src https://films.example"); got != (want == 1) {
					t.Errorf("policy: %s, want %d frames", out, want)
				}
				continue
			}
			if got := strings.Count(out, "<iframe"); got != want || want == 1 && !strings.Contains(out, `<iframe src="https://films.example/embed/1?a=1&amp;b=2" title="a &#34;film&#34;" sandbox="allow-scripts`) {
				t.Errorf("%s: %d frames, want %d: %s", transport, got, want, out)
			}
		}
	}
	framed(0)
	s.set(obj{"iframe_rendering_allowlist": []string{"Films.example", s.core.URLs.Host(), "bad host;", "*"}})
	framed(0)
	s.set(obj{"iframe_rendering_enabled": true})
	framed(1)
	s.set(obj{"iframe_rendering_allowlist": []string{"other.example"}})
	for transport, out := range s.shownText(b, "ann/crane", text) {
		if strings.Contains(out, "<iframe") {
			t.Errorf("%s, of another site: %s", transport, out)
		}
	}
	s.set(obj{"iframe_rendering_enabled": false})
	framed(0)
}

// TestSettings_formulas: of a text with many formulas, only fifty are marked for clients where the settings limit them.
func TestSettings_formulas(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	s.do("ann", "POST", "/projects", obj{"name": "crane", "visibility": "public"})
	b := s.browse(t)
	text := strings.Repeat("so $`a^2`$ holds\n\n", 40) + strings.Repeat("```math\nb^2\n```\n\n", 20)
	check := func(want int) {
		t.Helper()
		for transport, out := range s.shownText(b, "ann/crane", text) {
			if transport == "policy" {
				continue
			}
			if marked, all := strings.Count(out, "js-render-math"), strings.Count(out, "a^2")+strings.Count(out, "b^2"); marked != want || all < 60 {
				t.Errorf("%s: %d of %d formulas are marked, want %d", transport, marked, all, want)
			}
		}
	}
	check(50)
	s.set(obj{"math_rendering_limits_enabled": false})
	check(60)
	s.set(obj{"math_rendering_limits_enabled": true})
	check(50)

	group := s.do("ann", "POST", "/groups", obj{"name": "Yard", "path": "yard", "visibility": "public"})
	sub := s.do("ann", "POST", "/groups", obj{"name": "Shed", "path": "shed", "parent_id": group["id"], "visibility": "public"})
	s.do("ann", "POST", "/projects", obj{"name": "lift", "namespace_id": sub["id"], "visibility": "public"})
	for i, c := range []struct {
		outer, inner obj
		want         int
	}{
		{obj{"math_rendering_limits_enabled": false}, obj{}, 60},
		{obj{}, obj{"math_rendering_limits_enabled": true}, 50},
		{obj{"lock_math_rendering_limits_enabled": true}, obj{}, 60},
	} {
		s.do("ann", "PUT", "/groups/"+number(group, "id"), c.outer)
		s.do("ann", "PUT", "/groups/"+number(sub, "id"), c.inner)
		for transport, out := range s.shownText(b, "yard/shed/lift", text) {
			want := c.want
			switch transport {
			case "policy":
				continue
			case "REST", "plain": // of no project
				want = 50
			}
			if marked := strings.Count(out, "js-render-math"); marked != want {
				t.Errorf("group %d, %s: %d formulas are marked, want %d", i, transport, marked, want)
			}
		}
	}
}
