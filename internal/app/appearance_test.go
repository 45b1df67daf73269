package app

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/base/mail"
	"tenon/internal/base/mail/mailtest"
)

// How the instance looks is on its pages and in its mail, escaped, and takes no statement there.
func TestAppearance(t *testing.T) {
	t.Parallel()
	post := mailtest.New(t, mailtest.Options{})
	s := newServer(t, "", func(c *config.Config) {
		c.Mail = config.Mail{Host: "127.0.0.1", Port: post.Port, Security: mail.Plain, From: "Tenon <tenon@example.com>", Timeout: 10 * time.Second}
	})
	s.person("ann", annPassword)
	s.user("ben", nil)
	s.do("ann", "POST", "/groups", obj{"name": "Yard", "path": "yard", "visibility": "public"})
	issues := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "crane", "visibility": "public"}), "id") + "/issues"
	visitor, ann := s.browse(t), s.browse(t)
	ann.signIn("ann", annPassword)
	statements := func() uint64 {
		before := s.db.Statements()
		visitor.get("/help/")
		return s.db.Statements() - before
	}
	plain := statements()
	sent := func() mailtest.Mail {
		t.Helper()
		s.do("ann", "POST", issues, obj{"title": "x", "assignee_ids": []any{s.ids["ben"]}})
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		mails := post.Take()
		if len(mails) != 1 {
			t.Fatalf("%d mails", len(mails))
		}
		return mails[0]
	}
	path := "/application/appearance"
	if got := s.do("admin", "GET", path, nil); got["title"] != "" || got["logo"] != nil || got["message_background_color"] != "#E75E40" || got["email_header_and_footer_enabled"] != false {
		t.Errorf("at first: %v", got)
	}
	got := s.do("admin", "PUT", path, obj{
		"title": "Ship<yard>", "description": "For **staff** <script>x</script>", "header_message": "Closed <today>", "footer_message": "Ask & wait",
		"message_background_color": "#102030", "message_font_color": "#fff", "member_guidelines": "Be _kind_", "profile_image_guidelines": "Show your `face`",
		"pwa_name": "Yard", "pwa_description": "All \"ships\"",
		"logo": attached{"our logo.png", onePixel()}, "header_logo": attached{"bar.png", onePixel()}, "favicon": attached{"icon.png", onePixel()}, "pwa_icon": attached{"app.png", onePixel()},
	})
	image := func(name string) string { path, _ := got[name].(string); return path }
	if image("logo") != "/uploads/-/system/appearance/logo/1/our_logo.png" {
		t.Errorf("logo: %v", got["logo"])
	}
	const style = "/-/assets/messages-102030-fff.css"
	everywhere := []string{`<div class="system" role="status">Closed &lt;today&gt;</div>`, `<div class="system">Ask &amp; wait</div>`, `src="` + image("header_logo"), `rel="icon" href="` + image("favicon"), style}
	for _, tt := range []struct {
		by    *browser
		path  string
		shown []string
	}{
		{visitor, "/users/sign_in", []string{"Ship&lt;yard&gt;", "For <strong>staff</strong>", `<img src="` + image("logo")}},
		{visitor, "/help/", nil},
		{visitor, "/nothing", nil},
		{visitor, "/ann/crane/-/project_members", []string{"Be <em>kind</em>"}},
		{visitor, "/groups/yard/-/group_members", []string{"Be <em>kind</em>"}},
		{ann, "/-/profile", []string{"Show your <code>face</code>"}},
	} {
		page := tt.by.get(tt.path)
		for _, want := range append(tt.shown, everywhere...) {
			if !strings.Contains(page.text, want) {
				t.Errorf("%s lacks %s:\n%s", tt.path, want, page.text)
			}
		}
		if strings.Contains(page.text, "<script>x") || strings.Contains(page.text, "style=") {
			t.Errorf("%s has a script or a style of its own: %s", tt.path, page.text)
		}
	}
	if n := statements(); n != plain {
		t.Errorf("a page took %d statements, without an appearance %d", n, plain)
	}
	if got := visitor.get(style); got.text != ".system{background:#102030;color:#fff}\n" || got.header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("colors: %v %s", got.header, got.text)
	}
	for _, bad := range []string{"/-/assets/messages-102030.css", "/-/assets/messages-102030-ffff.css", "/-/assets/messages-red-blue.css"} {
		if got := visitor.get(bad); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", bad, got.status)
		}
	}
	var manifest struct {
		Name, Description string
		Short             string `json:"short_name"`
		Icons             []struct{ Src, Type string }
	}
	if got := visitor.get("/-/manifest.json"); json.Unmarshal([]byte(got.text), &manifest) != nil || got.header.Get("Content-Type") != "application/manifest+json" {
		t.Errorf("manifest: %v %s", got.header, got.text)
	}
	if manifest.Name != "Yard" || manifest.Short != "Yard" || manifest.Description != `All "ships"` || len(manifest.Icons) != 1 || manifest.Icons[0].Src != image("pwa_icon") || manifest.Icons[0].Type != "image/png" {
		t.Errorf("manifest: %+v", manifest)
	}
	for _, name := range []string{"logo", "header_logo", "favicon", "pwa_icon"} {
		if got := visitor.get(image(name)); got.status != 200 || got.text != onePixel() || got.header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(got.header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: %d %v", name, got.status, got.header)
		}
	}

	mark := `<img src="` + s.baseURL + image("header_logo")
	if m := sent(); !strings.Contains(m.HTML, mark) || strings.Contains(m.Text, "Closed") || strings.Contains(m.HTML, "Closed") {
		t.Errorf("without messages: %s", m.Raw)
	}
	s.do("admin", "PUT", path, obj{"email_header_and_footer_enabled": true})
	m := sent()
	if !strings.HasPrefix(m.Text, "Closed <today>\n\n") || !strings.HasSuffix(strings.TrimSpace(m.Text), "\n\nAsk & wait") {
		t.Errorf("with messages: %s", m.Text)
	}
	if !strings.Contains(m.HTML, "background-color: #102030; color: #fff;\">Closed &lt;today&gt;</p>") || !strings.Contains(m.HTML, ">Ask &amp; wait</p>") {
		t.Errorf("with messages: %s", m.HTML)
	}

	for name, bad := range map[string]attached{
		"is too big": {"big.png", onePixel() + strings.Repeat("x", 1<<20)}, "file format is not supported": {"a.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="x"/>`},
	} {
		r := s.send(t.Context(), request{as: "admin", method: http.MethodPut, path: path, body: obj{"logo": bad, "title": "changed"}})
		if r.Code != http.StatusBadRequest || !strings.Contains(r.Body.String(), `"logo":["`+name) {
			t.Errorf("a picture that %s: %d %s", name, r.Code, r.Body)
		}
	}
	now := s.do("admin", "PUT", path, obj{"favicon": attached{"icon.ico", oneIcon()}})
	if got := visitor.get(now["favicon"].(string)); got.text != oneIcon() || got.header.Get("Content-Type") != "image/vnd.microsoft.icon" || got.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("favicon: %d %v", got.status, got.header)
	}
	s.want("admin", "PUT", path, obj{"logo": attached{"icon.ico", oneIcon()}}, 400, `"logo":["file format is not supported`)
	now = s.do("admin", "PUT", path, obj{"logo": "", "header_message": "", "footer_message": ""})
	if now["logo"] != nil || now["favicon"] == nil || now["title"] != "Ship<yard>" {
		t.Errorf("removed: %v", now)
	}
	if got := visitor.get("/users/sign_in"); strings.Contains(got.text, "our_logo") || strings.Contains(got.text, `class="system"`) || visitor.get(image("logo")).status != http.StatusNotFound {
		t.Errorf("removed, and shown: %s", got.text)
	}
	if event := s.trail("admin", "/audit_events?per_page=1")[0]; event.Details["event_name"] != "appearance_updated" || event.Details["target_type"] != "Appearance" {
		t.Errorf("audit: %v", event)
	}
}

// oneIcon is an icon of one picture.
func oneIcon() string {
	b := []byte{0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 32, 0}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(onePixel())))
	return string(binary.LittleEndian.AppendUint32(b, 22)) + onePixel()
}
