package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"tenon/internal/core/authz"
)

// fetch asks for a page or a file, as a user or as no user.
func (s *server) fetch(as, path string) *httptest.ResponseRecorder {
	s.tb.Helper()
	r := httptest.NewRequestWithContext(s.tb.Context(), http.MethodGet, "/", nil)
	r.URL = &url.URL{Path: path}
	if unescaped, err := url.PathUnescape(path); err == nil && unescaped != path {
		r.URL = &url.URL{Path: unescaped, RawPath: path}
	}
	if as != "" {
		r.Header.Set("Private-Token", s.keys[as])
	}
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	return w
}

// TestUploads attaches files to a project and a group and follows the links to them.
func TestUploads(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	for _, name := range []string{"mona", "stan"} {
		s.user(name, nil)
		s.token(name, name, authz.ScopeAPI)
	}
	s.token("git only", "mona", authz.ScopeReadRepository, authz.ScopeReadUser)
	group := s.do("mona", "POST", "/groups", obj{"name": "Workshop", "path": "work"})
	project := s.do("mona", "POST", "/projects", obj{"name": "Tools", "namespace_id": group["id"]})
	for place, paths := range map[string][2]string{
		"/projects/" + number(project, "id"): {"/-/project/" + number(project, "id"), "/work/tools"},
		"/groups/" + number(group, "id"):     {"/-/group/" + number(group, "id"), "/groups/work/-"},
	} {
		const page = "<script>alert(1)</script>"
		made := s.do("mona", "POST", place+"/uploads", obj{"file": attached{"../my page.html", page}})
		link := made["url"].(string)
		secret := strings.Split(link, "/")[2]
		if made["alt"] != "my_page.html" || made["markdown"] != "[my_page.html]("+link+")" || made["full_path"] != paths[0]+link ||
			link != "/uploads/"+secret+"/my_page.html" || len(secret) != 32 {
			t.Errorf("made %v", made)
		}
		for _, prefix := range append(paths[:], "/api/v4"+place) {
			got := s.fetch("mona", prefix+link)
			h := got.Result().Header
			if got.Code != http.StatusOK || got.Body.String() != page || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") ||
				h.Get("Content-Type") != "application/octet-stream" || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %d %v %s", prefix+link, got.Code, h, got.Body)
			}
			for _, as := range []string{"stan", "", "git only"} {
				got := s.fetch(as, prefix+link)
				scope := as == "git only" && got.Code == http.StatusForbidden // says the API
				if got.Code != http.StatusNotFound && got.Code != http.StatusUnauthorized && !scope || strings.Contains(got.Body.String(), "alert") {
					t.Errorf("%s as %q: %d %s", prefix+link, as, got.Code, got.Body)
				}
			}
			for _, wrong := range []string{
				strings.Replace(link, "my_page", "another", 1), "/uploads/" + strings.Repeat("0", 32) + "/my_page.html",
				strings.ToUpper(link), link + "/x",
			} {
				if got := s.fetch("mona", prefix+wrong); got.Code != http.StatusNotFound {
					t.Errorf("%s: %d %s", prefix+wrong, got.Code, got.Body)
				}
			}
		}
	}
	if got := s.fetch("mona", "/other/tools"+"/uploads/"+strings.Repeat("a", 32)+"/x"); got.Code != http.StatusNotFound {
		t.Errorf("of a place that is none: %d", got.Code)
	}

	if err := s.core.Settings.Set(t.Context(), "max_attachment_size", 1); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{1 << 20: http.StatusCreated, 1<<20 + 1: http.StatusRequestEntityTooLarge, 3 << 20: http.StatusRequestEntityTooLarge} {
		got := s.send(t.Context(), request{
			as: "mona", method: http.MethodPost, path: "/projects/" + number(project, "id") + "/uploads",
			body: obj{"file": attached{"big.bin", strings.Repeat("x", size)}},
		})
		if got.Code != want {
			t.Errorf("%d bytes: %d %s, want %d", size, got.Code, got.Body, want)
		}
	}
	got := s.send(t.Context(), request{as: "mona", method: http.MethodPost, path: "/projects/" + number(project, "id") + "/uploads", body: obj{}})
	if got.Code != http.StatusBadRequest || got.Body.String() != `{"error":"file is missing"}` {
		t.Errorf("without a file: %d %s", got.Code, got.Body)
	}
}

// TestUploads_inRepositories follows the links to attachments of wikis, whose addresses look like
// those of uploads, and those to files of repositories in folders of that name. They run no script.
func TestUploads_inRepositories(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("mona", nil)
	s.token("mona", "mona", authz.ScopeAPI)
	group := s.do("mona", "POST", "/groups", obj{"name": "Workshop", "path": "work", "visibility": "public"})
	project := s.do("mona", "POST", "/projects", obj{"name": "Tools", "namespace_id": group["id"], "visibility": "public", "initialize_with_readme": true})
	hidden := s.do("mona", "POST", "/projects", obj{"name": "Hidden", "namespace_id": group["id"], "visibility": "private"})
	const picture = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
	attach := func(place string) string {
		made := s.do("mona", "POST", place+"/wikis/attachments", obj{"file": attached{"a.svg", picture}})
		s.do("mona", "POST", place+"/wikis", obj{"title": "Page", "content": made["link"].(obj)["markdown"]})
		html := s.do("mona", "GET", place+"/wikis/Page?render_html=true", nil)["content"].(string)
		_, from, _ := strings.Cut(html, `src="http://`)
		_, from, _ = strings.Cut(from, "/")
		address, _, _ := strings.Cut(from, `"`)
		return "/" + address
	}
	at := "/projects/" + number(project, "id")
	raw := "uploads/" + strings.Repeat("0a", 16) + "/a.svg"
	s.do("mona", "POST", at+"/repository/files/"+strings.ReplaceAll(raw, "/", "%2F"), obj{"branch": "main", "content": picture, "commit_message": "x"})
	for _, address := range []string{attach(at), attach("/groups/" + number(group, "id")), "/work/tools/-/raw/main/" + raw} {
		got := s.fetch("", address)
		h := got.Result().Header
		if got.Code != http.StatusOK || got.Body.String() != picture || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") ||
			h.Get("X-Content-Type-Options") != "nosniff" || strings.Contains(h.Get("Content-Type"), "html") {
			t.Errorf("%s: %d %v %s", address, got.Code, h, got.Body)
		}
	}
	if address := attach("/projects/" + number(hidden, "id")); s.fetch("", address).Code == http.StatusOK || !strings.HasPrefix(address, "/work/hidden/-/wikis/uploads/") {
		t.Errorf("%s of a hidden project is shown", address)
	}
}

// TestUploads_traversal tries to read files of the server through the address of an upload
// in a project below many groups (A5): the deeper it lies, the higher a path may climb.
func TestUploads_traversal(t *testing.T) {
	walker(t)
	s := newServer(t, "")
	s.user("mona", nil)
	s.token("mona", "mona", authz.ScopeAPI)
	var parent any
	path := ""
	for depth := range 12 {
		body := obj{"name": fmt.Sprintf("g%d", depth), "path": fmt.Sprintf("g%d", depth), "visibility": "public"}
		if parent != nil {
			body["parent_id"] = parent
		}
		g := s.do("mona", "POST", "/groups", body)
		parent, path = g["id"], path+"/"+g["path"].(string)
		if depth%4 != 3 {
			continue
		}
		p := s.do("mona", "POST", "/projects", obj{"name": "deep", "namespace_id": parent, "visibility": "public"})
		made := s.do("mona", "POST", "/projects/"+number(p, "id")+"/uploads", obj{"file": attached{"a.txt", "fine"}})
		secret := strings.Split(made["url"].(string), "/")[2]
		for _, prefix := range []string{path + "/deep", "/-/project/" + number(p, "id"), "/api/v4/projects/" + number(p, "id")} {
			if got := s.fetch("mona", prefix+made["url"].(string)); got.Code != http.StatusOK {
				t.Fatalf("%s: %d", prefix, got.Code)
			}
			for _, up := range []string{"../", "..%2f", "..%2F", "%2e%2e/", "%2e%2e%2f", "..%252f", "%252e%252e%252f", `..\`, "..%5c"} {
				for steps := range 20 {
					climb := strings.Repeat(up, steps+1)
					for _, at := range []string{prefix + "/uploads/" + secret + "/" + climb, prefix + "/uploads/" + climb} {
						for _, file := range []string{"etc/passwd", "etc%2fpasswd", "secret.key"} {
							if got := s.fetch("mona", at+file); got.Code == http.StatusOK || got.Code >= 500 {
								t.Fatalf("%s%s: %d %.100s", at, file, got.Code, got.Body)
							}
						}
					}
				}
			}
		}
	}
}

// TestAvatars gives users, groups, projects and topics pictures and follows the addresses.
func TestAvatars(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	for _, name := range []string{"mona", "stan"} {
		s.user(name, nil)
		s.token(name, name, authz.ScopeAPI)
	}
	s.token("git only", "mona", authz.ScopeReadRepository, authz.ScopeReadUser)
	logo := attached{"logo.png", onePixel()}
	group := s.do("mona", "POST", "/groups", obj{"avatar": logo, "name": "Workshop", "path": "work"})
	project := s.do("mona", "POST", "/projects", obj{"avatar": logo, "name": "Tools", "namespace_id": fmt.Sprint(group["id"])})
	own := s.do("mona", "PUT", "/user/avatar", obj{"avatar": logo})
	user := s.do("admin", "POST", "/users", obj{
		"avatar": logo, "name": "Nora", "username": "nora", "email": "nora@example.com", "force_random_password": "true",
	})
	topic := s.do("admin", "POST", "/topics", obj{"avatar": logo, "name": "tools", "title": "Tools"})
	issue := s.do("mona", "POST", "/projects/"+number(project, "id")+"/issues", obj{"title": "Who?"})
	if got := issue["author"].(obj)["avatar_url"]; got != own["avatar_url"] {
		t.Errorf("the author of an issue has the picture %v, want %v", got, own["avatar_url"])
	}
	for name, row := range map[string]struct {
		made obj
		open bool // to everybody
	}{"group": {group, false}, "project": {project, false}, "own": {own, true}, "user": {user, true}, "topic": {topic, true}} {
		address, _ := row.made["avatar_url"].(string)
		path, ok := strings.CutPrefix(address, s.baseURL+"/uploads/-/system/")
		if !ok {
			t.Fatalf("%s: avatar_url is %q", name, address)
		}
		path = "/uploads/-/system/" + path
		got := s.fetch("mona", path)
		h := got.Result().Header
		if got.Code != http.StatusOK || h.Get("Content-Type") != "image/png" || got.Body.String() != logo.content || !strings.HasSuffix(path, "/logo.png") ||
			h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Cache-Control"), "max-age=300") {
			t.Errorf("%s: %d %v", name, got.Code, h)
		}
		for _, as := range []string{"", "stan", "git only"} {
			if got := s.fetch(as, path); (got.Code == http.StatusOK) != row.open {
				t.Errorf("%s as %q: %d", name, as, got.Code)
			}
		}
		for _, wrong := range []string{path + "x", strings.Replace(path, ".png", ".jpg", 1), strings.Replace(path, "/avatar/", "/avatar/9", 1)} {
			if got := s.fetch("mona", wrong); got.Code != http.StatusNotFound {
				t.Errorf("%s: %d", wrong, got.Code)
			}
		}
	}
	for _, row := range []struct {
		as, place string
		route     bool // that returns the picture
	}{{"mona", "/groups/" + number(group, "id"), true}, {"mona", "/projects/" + number(project, "id"), true}, {"admin", "/topics/" + number(topic, "id"), false}} {
		place := row.place
		if got := s.fetch("mona", "/api/v4"+place+"/avatar"); row.route && (got.Code != http.StatusOK || got.Header().Get("Content-Type") != "image/png") {
			t.Errorf("%s: %d %v", place, got.Code, got.Header())
		}
		for name, bad := range map[string]attached{
			"is too big":                   {"big.png", onePixel() + strings.Repeat("x", 200<<10)},
			"file format is not supported": {"a.svg", `<svg xmlns="http://www.w3.org/2000/svg"/>`},
		} {
			got := s.send(t.Context(), request{as: row.as, method: http.MethodPut, path: place, body: obj{"avatar": bad, "description": "changed"}})
			if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), `"avatar":["`+name) {
				t.Errorf("%s with a picture that %s: %d %s", place, name, got.Code, got.Body)
			}
		}
		if now := s.do(row.as, "GET", place, nil); now["description"] == "changed" || now["avatar_url"] == nil {
			t.Errorf("%s was changed: %v", place, now)
		}
		if now := s.do(row.as, "PUT", place, obj{"avatar": ""}); now["avatar_url"] != nil {
			t.Errorf("%s: taken away and still %v", place, now["avatar_url"])
		}
		if got := s.fetch("mona", "/api/v4"+place+"/avatar"); row.route && (got.Code != http.StatusNotFound || got.Body.String() != `{"message":"404 Avatar Not Found"}`) {
			t.Errorf("%s without a picture: %d %s", place, got.Code, got.Body)
		}
	}
	if got := s.fetch("mona", strings.TrimPrefix(project["avatar_url"].(string), s.baseURL)); got.Code != http.StatusNotFound {
		t.Errorf("a picture that was taken away: %d", got.Code)
	}
	if now := s.do("mona", "PUT", "/user/avatar", obj{"avatar": nil}); !strings.HasPrefix(now["avatar_url"].(string), "https://www.gravatar.com/avatar/") {
		t.Errorf("without a picture: %v", now)
	}
	got := s.fetch("", "/api/v4/avatar")
	if got.Code != http.StatusBadRequest {
		t.Errorf("without an address: %d %s", got.Code, got.Body)
	}
	if err := s.core.Settings.Set(t.Context(), "gravatar_enabled", false); err != nil {
		t.Fatal(err)
	}
	none := s.do("stan", "GET", "/avatar?email=nobody@example.org", nil)
	if none["avatar_url"] != nil {
		t.Errorf("with Gravatar off: %v", none)
	}
}
