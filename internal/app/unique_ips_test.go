package app

import (
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/core/coretest"
	"tenon/internal/transport/rest/api"
)

// A user who came from one address is refused from a second one in every transport, and served from the first.
func TestUniqueIPs(t *testing.T) {
	t.Parallel()
	a, client := newSSH(t)
	set, run := coretest.Setter(t, a.core.Settings), runner(t, client)
	set("unique_ips_limit_per_user", 1)
	set("unique_ips_limit_time_window", 3600)
	all := []knock{
		{"REST", "GET", api.Prefix + "/user", "", map[string]string{"Private-Token": rootToken}},
		{"REST by Bearer", "GET", api.Prefix + "/projects/root%2Fapp", "", map[string]string{"Authorization": "Bearer " + rootToken}},
		{"GraphQL", "POST", "/api/graphql", `{"query":"{ currentUser { username } }"}`, map[string]string{"Authorization": "Bearer " + rootToken, "Content-Type": "application/json"}},
		{"git over HTTP", "GET", "/root/app.git/info/refs?service=git-upload-pack", "", map[string]string{"Authorization": basicAuth("root", rootToken)}},
		{"push over HTTP", "GET", "/root/app.git/info/refs?service=git-receive-pack", "", map[string]string{"Authorization": basicAuth("root", rootPassword)}},
		{
			"LFS", "POST", "/root/app.git/info/lfs/objects/batch", `{"operation":"download","objects":[{"oid":"` + strings.Repeat("a", 64) + `","size":1}]}`,
			map[string]string{"Authorization": basicAuth("root", rootToken), "Content-Type": "application/vnd.git-lfs+json"},
		},
		{"page", "GET", "/root/app", "", map[string]string{"Private-Token": rootToken}},
		{"raw file", "GET", "/root/app/-/raw/main/README.md", "", map[string]string{"Private-Token": rootToken}},
	}
	ask := func(k knock, address string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), k.method, k.path, strings.NewReader(k.body))
		r.RemoteAddr = address + ":4711"
		for name, value := range k.header {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		a.http.Handler.ServeHTTP(w, r)
		return w
	}
	const words = "You signed in from too many IP addresses"
	for _, on := range []bool{false, true} {
		set("unique_ips_limit_enabled", on)
		for _, address := range []string{"198.51.100.1", "203.0.113.9", "198.51.100.1"} {
			for _, k := range all {
				refused := on && address != "198.51.100.1"
				w := ask(k, address)
				if got := w.Code == 403 && strings.Contains(w.Body.String(), words); got != refused || !refused && w.Code != 200 {
					t.Errorf("%s from %s, switched on %v: %d %.300s", k.name, address, on, w.Code, w.Body)
				}
			}
		}
		for _, command := range []string{"git-upload-pack 'root/app.git'", "git-lfs-authenticate 'root/app.git' download"} {
			if text, err := run(command); (err != nil) != on || on && !strings.Contains(text, words) {
				t.Errorf("%s, switched on %v: %v %q", command, on, err, text)
			}
		}
	}
	set("unique_ips_limit_per_user", 2)
	for _, k := range all {
		if w := ask(k, "203.0.113.9"); w.Code != 200 {
			t.Errorf("%s from a second address of two: %d %.300s", k.name, w.Code, w.Body)
		}
	}
}
