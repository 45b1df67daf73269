package rest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"tenon/internal/base/charset/charsettest"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// Diffs and blame show files in old encodings as they were written; what gives files as they are
// keeps their bytes.
func TestEncodings(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		write := func(action, file, content string) {
			t.Helper()
			p.do("maint", "POST", appPath+"/repository/commits", fmt.Sprintf(`{"branch":"main","commit_message":"Change","actions":[{"action":%q,"file_path":%q,"encoding":"base64","content":%q}]}`,
				action, file, base64.StdEncoding.EncodeToString([]byte(content))))
		}
		diff := func() string {
			t.Helper()
			var files []struct{ Diff string }
			if w := p.send("dev", "GET", appPath+"/repository/commits/main/diff", ""); json.Unmarshal(w.Body.Bytes(), &files) != nil || len(files) != 1 {
				t.Fatalf("diff: %d %s", w.Code, w.Body)
			}
			return files[0].Diff
		}
		for _, text := range charsettest.Paragraphs() {
			file := text.Name + ".txt"
			write("create", file, string(text.Bytes))
			lines := strings.Split(strings.TrimSuffix(text.Text, "\n"), "\n")
			if got, want := diff(), fmt.Sprintf("@@ -0,0 +1,2 @@\n+%s\n+%s\n", lines[0], lines[1]); got != want {
				t.Errorf("%s: diff %q, want %q", text.Name, got, want)
			}
			path := appPath + "/repository/files/" + url.PathEscape(file)
			want, _ := json.Marshal(lines)
			if got := p.pick("dev", path+"/blame?ref=main", "lines"); got != string(want) {
				t.Errorf("%s: blame %s, want %s", text.Name, got, want)
			}
			raw := p.fetch("dev", path+"/raw?ref=main")
			if got := raw.Body.String(); got != string(text.Bytes) || !strings.HasPrefix(raw.Header().Get("Content-Type"), "text/plain; charset=") {
				t.Errorf("%s: raw %q as %s", text.Name, got, raw.Header().Get("Content-Type"))
			}
			if got := p.do("dev", "GET", path+"?ref=main", "")["content"]; got != base64.StdEncoding.EncodeToString(text.Bytes) {
				t.Errorf("%s: content %v", text.Name, got)
			}
			// The file becomes UTF-8: each side is read in its own encoding.
			write("update", file, text.Text)
			if got, want := diff(), fmt.Sprintf("@@ -1,2 +1,2 @@\n-%s\n-%s\n+%s\n+%s\n", lines[0], lines[1], lines[0], lines[1]); got != want {
				t.Errorf("%s: diff of the conversion %q, want %q", text.Name, got, want)
			}
		}
		write("create", "p.gif", charsettest.Picture)
		if got := diff(); got != "Binary files /dev/null and b/p.gif differ\n" {
			t.Errorf("picture: diff %q", got)
		}
		raw := p.fetch("dev", appPath+"/repository/files/p.gif/raw?ref=main")
		if raw.Body.String() != charsettest.Picture || raw.Header().Get("Content-Type") != "application/octet-stream" {
			t.Errorf("picture: raw %q as %s", raw.Body, raw.Header().Get("Content-Type"))
		}
	})
}
