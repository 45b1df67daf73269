package app

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"tenon/internal/base/charset/charsettest"
)

// Pages, search and GraphQL show files in old encodings as they were written. A picture stays binary.
func TestEncodings(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", obj{"name": "app", "visibility": "public"})
	const app = "/projects/root%2Fapp"
	b := s.browse(t)
	write := func(path, content string) {
		t.Helper()
		s.do("admin", "POST", app+"/repository/commits", obj{"branch": "main", "commit_message": "Change", "actions": []obj{
			{"action": "create", "file_path": path, "encoding": "base64", "content": base64.StdEncoding.EncodeToString([]byte(content))},
		}})
	}
	blobOf := func(path string) (text, raw *string) {
		t.Helper()
		a := s.send(t.Context(), request{as: "admin", way: bearer, method: http.MethodPost, path: "/api/graphql", whole: true, body: obj{
			"query": `query($path: String!) { project(fullPath: "root/app") { repository { blobs(ref: "main", paths: [$path]) { nodes { rawTextBlob rawBlob } } } } }`, "variables": obj{"path": path},
		}})
		var got struct {
			Data struct {
				Project struct {
					Repository struct {
						Blobs struct {
							Nodes []struct{ RawTextBlob, RawBlob *string }
						}
					}
				}
			}
		}
		if err := json.Unmarshal(a.Body.Bytes(), &got); err != nil || len(got.Data.Project.Repository.Blobs.Nodes) != 1 {
			t.Fatalf("%s: %d %s", path, a.Code, a.Body)
		}
		node := got.Data.Project.Repository.Blobs.Nodes[0]
		return node.RawTextBlob, node.RawBlob
	}
	for _, text := range charsettest.Paragraphs() {
		path := text.Name + ".txt"
		write(path, string(text.Bytes))
		lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text.Text, "'", "&#39;"), "\n"), "\n")
		for _, page := range []string{"/root/app/-/blob/main/" + path, "/root/app/-/commit/main"} {
			if p := b.get(page); p.status != http.StatusOK || !strings.Contains(p.text, lines[0]) || !strings.Contains(p.text, lines[1]) {
				t.Errorf("%s: %d without %q", page, p.status, lines)
			}
		}
		if raw := b.get("/root/app/-/raw/main/" + path); raw.text != string(text.Bytes) || !strings.HasPrefix(raw.header.Get("Content-Type"), "text/plain; charset=") {
			t.Errorf("%s: raw %q as %s", path, raw.text, raw.header.Get("Content-Type"))
		}
		if shown, raw := blobOf(path); shown == nil || *shown != text.Text || raw == nil || *raw != text.Text {
			t.Errorf("%s: GraphQL %q", path, fmt.Sprint(shown))
		}
		words := string([]rune(text.Text)[2:7])
		a := s.send(t.Context(), request{as: "admin", method: http.MethodGet, path: app + "/search?scope=blobs&search=" + url.QueryEscape(words)})
		var found []struct{ Path, Data string }
		if err := json.Unmarshal(a.Body.Bytes(), &found); err != nil || len(found) != 1 || found[0].Path != path || found[0].Data != text.Text {
			t.Errorf("search for %q: %d %s", words, a.Code, a.Body)
		}
	}
	write("README.md", "# Caf\xe9\n\nUn caf\xe9 cr\xe8me, s'il vous pla\xeet, et deux tartes aux pommes tr\xe8s sucr\xe9es.\n")
	if p := b.get("/root/app"); !strings.Contains(p.text, "Un café crème") {
		t.Errorf("README: %s", p.text)
	}
	write("p.gif", charsettest.Picture)
	write("p.jpg", "\xff\xd8\xff\xe0"+strings.Repeat("\xe9\xe8", 5000)) // without NUL
	for _, path := range []string{"p.gif", "p.jpg"} {
		if shown, _ := blobOf(path); shown != nil {
			t.Errorf("%s: shown as text %q", path, *shown)
		}
		if raw := s.fetch("admin", "/api/v4"+app+"/repository/files/"+path+"/raw"); raw.Header().Get("Content-Type") != "application/octet-stream" {
			t.Errorf("%s: %s", path, raw.Header().Get("Content-Type"))
		}
	}
}
