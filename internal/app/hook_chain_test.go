package app

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// A receiver of a webhook answers each push by a push of its own over git HTTP. It sends the X-Gitlab-Event-UUID of the call along, so that its hook is
// not called for that push and the chain ends.
func TestHooks_chain_of_pushes(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	var mu sync.Mutex
	var chains []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		chains = append(chains, r.Header.Get("X-Gitlab-Event-UUID"))
	}))
	t.Cleanup(receiver.Close)
	calls := func() []string {
		t.Helper()
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		return chains
	}
	s.do("admin", "PUT", "/application/settings", obj{"allow_local_requests_from_web_hooks_and_services": true})
	at := "/projects/" + number(s.do("admin", "POST", "/projects", obj{"name": "shop"}), "id")
	s.do("admin", "POST", at+"/hooks", obj{"url": receiver.URL})
	c := s.workCopy(t)
	c.git("", "init", "-q", "-b", "main", ".")
	push := func(args ...string) {
		t.Helper()
		c.git("", "commit", "-q", "--allow-empty", "-m", "Next")
		c.git("", append(args, "push", "-q", c.remote("root/shop"), "main")...)
	}
	push()
	got := calls()
	if len(got) != 1 || got[0] == "" {
		t.Fatalf("calls after a push: %q", got)
	}
	push("-c", "http.extraHeader=X-Gitlab-Event-UUID: "+got[0])
	if got := calls(); len(got) != 1 {
		t.Errorf("calls after a push that the first call has caused: %q", got)
	}
	push()
	if got := calls(); len(got) != 2 || got[1] == got[0] {
		t.Errorf("calls after a push of its own: %q", got)
	}
}
