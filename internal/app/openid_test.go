package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
)

// through sends the requests of a client to the handler of a server.
type through struct{ *server }

func (t through) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	t.http.Handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// TestOpenID is another system that lets a job in: it knows the address of the instance, and finds out
// how the ID token of the job is verified.
func TestOpenID(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		project := number(s.do("admin", "POST", "/projects", obj{"name": "Shop", "initialize_with_readme": true}), "id")
		machine := s.do("admin", "POST", "/user/runners", obj{"runner_type": "instance_type"})
		s.do("admin", "POST", "/projects/"+project+"/repository/files/.gitlab-ci.yml", obj{
			"branch": "main", "commit_message": "Deploy", "content": "deploy: {script: x, id_tokens: {VAULT: {aud: vault}}}\n",
		})
		s.do("admin", "POST", "/projects/"+project+"/pipeline", obj{"ref": "main"})
		job := s.do("", "POST", "/jobs/request", obj{"token": machine["token"]})
		token := ""
		for _, v := range job["variables"].([]any) {
			if v := v.(map[string]any); v["key"] == "VAULT" && v["masked"] == true {
				token = v["value"].(string)
			}
		}

		ctx := oidc.ClientContext(context.WithoutCancel(t.Context()), &http.Client{Transport: through{s}})
		provider, err := oidc.NewProvider(ctx, s.baseURL)
		if err != nil {
			t.Fatal(err)
		}
		found, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: "vault"}).Verify(ctx, token)
		if err != nil {
			t.Fatalf("token %q: %v", token, err)
		}
		if found.Subject != "project_path:root/shop:ref_type:branch:ref:main" {
			t.Errorf("subject %q", found.Subject)
		}
		if _, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: "bank"}).Verify(ctx, token); err == nil {
			t.Error("a system that the token is not for takes it")
		}
		for _, path := range []string{"/.well-known/openid-configuration", "/oauth/discovery/keys", "/-/jwks"} {
			w := httptest.NewRecorder()
			s.http.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", path, http.NoBody))
			if w.Code != http.StatusMethodNotAllowed {
				t.Errorf("POST %s: %d", path, w.Code)
			}
		}
	})
}
