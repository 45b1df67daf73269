package app

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestTooLarge sends bodies above the limits to every transport as most clients do: all of it, before they read. They get
// the answer.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	s.token("ann", "ann", "api")
	path := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "App"}), "id")
	web := httptest.NewServer(s.http.Handler)
	t.Cleanup(web.Close)
	file := "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"i.csv\"\r\n\r\ntitle\n"
	for _, c := range []struct {
		name, method, path, kind, begins string
		size                             int
		want                             int
	}{
		{"a file", "POST", "/api/v4" + path + "/issues/import_csv", "multipart/form-data; boundary=B", file, 11 << 20, http.StatusRequestEntityTooLarge},
		{"JSON", "POST", "/api/v4" + path + "/issues", "application/json", `{"title":"`, 40 << 20, http.StatusRequestEntityTooLarge},
		{"GraphQL", "POST", "/api/graphql", "application/json", `{"query":"`, 40 << 20, http.StatusRequestEntityTooLarge},
		{"a runner", "POST", "/api/v4/jobs/request", "application/json", `{"token":"`, 40 << 20, http.StatusRequestEntityTooLarge},
		{"a form", "POST", "/users/sign_in", "application/x-www-form-urlencoded", "a=", 40 << 20, http.StatusUnprocessableEntity},
		{"no route", "POST", "/api/v4/nowhere", "application/json", "{", 40 << 20, http.StatusNotFound},
		{"git without credentials", "POST", "/ann/app.git/git-receive-pack", "application/x-git-receive-pack-request", "", 40 << 20, http.StatusUnauthorized},
		{"LFS without credentials", "PUT", "/ann/app.git/gitlab-lfs/objects/" + strings.Repeat("a", 64) + "/41943040", "application/octet-stream", "", 40 << 20, http.StatusUnauthorized},
	} {
		for _, announced := range []bool{true, false} {
			conn, err := net.Dial("tcp", web.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: tenon\r\nContent-Type: %s\r\n", c.method, c.path, c.kind)
			if !strings.Contains(c.name, "without") {
				head += "PRIVATE-TOKEN: " + s.keys["ann"] + "\r\n"
			}
			body := c.begins + strings.Repeat("x", c.size-len(c.begins))
			if announced {
				head += fmt.Sprintf("Content-Length: %d\r\n\r\n", c.size)
			} else {
				head, body = head+"Transfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", c.size, body)
			}
			if _, err := io.WriteString(conn, head+body); err != nil {
				t.Errorf("%s: send: %v", c.name, err)
			}
			a, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Errorf("%s: read the answer: %v", c.name, err)
			} else if text, err := io.ReadAll(a.Body); err != nil || a.StatusCode != c.want {
				t.Errorf("%s, announced %v: got %d %.200q, %v, want %d", c.name, announced, a.StatusCode, text, err, c.want)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
