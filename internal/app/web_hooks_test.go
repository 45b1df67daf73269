package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Mona looks at the webhooks of her project, calls one with a sample, reads what was sent and answered, and sends it again. A hook that is
// disabled says why until a call succeeds. Forms of other browsers do nothing, and reporters and strangers see none of it.
func TestWeb_hooks(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWebWorld(t, s)
		s.set(obj{"allow_local_requests_from_web_hooks_and_services": true})
		var mu sync.Mutex
		status, bodies := http.StatusOK, []string{}
		receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			bodies = append(bodies, r.Header.Get("X-Gitlab-Event")+" "+string(body))
			rw.Header().Set("X-Answer", "<i>")
			rw.WriteHeader(status)
			_, _ = rw.Write([]byte("thanks <script>"))
		}))
		t.Cleanup(receiver.Close)
		answers := func(code int) {
			mu.Lock()
			defer mu.Unlock()
			status = code
		}
		got := func() []string {
			mu.Lock()
			defer mu.Unlock()
			out := bodies
			bodies = nil
			return out
		}
		made := s.do("mona", "POST", "/projects/work%2Finner%2Ftools/hooks", obj{
			"url": receiver.URL + "/{key}", "name": "Log <b>", "issues_events": true, "push_events_branch_filter": "main", "token": "s3cret-token",
			"url_variables": []obj{{"key": "key", "value": "s3cret-value"}}, "custom_headers": []obj{{"key": "X-Who", "value": "s3cret-header"}},
		})
		hooks := "/work/inner/tools/-/hooks"
		page := hooks + "/" + number(made, "id") + "/edit"
		callers := w.callers(t)
		b := callers["owner"]

		if p := b.get(hooks); !strings.Contains(p.text, ">Log &lt;b&gt;</a>") || !strings.Contains(p.text, "Events: push, issues") || !strings.Contains(p.text, "/{key}</code>") || !strings.Contains(p.text, "Executable") {
			t.Errorf("the list: %d %s", p.status, p.text)
		}
		if p := b.get(page); !strings.Contains(p.text, "There are no deliveries.") || !strings.Contains(p.text, "<code>main</code>") {
			t.Errorf("the hook: %d %s", p.status, p.text)
		}
		test := strings.TrimSuffix(page, "edit") + "test"
		p := b.post(page, test, url.Values{"trigger": {"issues_events"}})
		if p.status != http.StatusSeeOther {
			t.Fatalf("a test: %d %s", p.status, p.text)
		}
		if calls := got(); len(calls) != 1 || !strings.HasPrefix(calls[0], "Issue Hook {") {
			t.Errorf("a test sent %q", calls)
		}
		p = b.get(p.header.Get("Location"))
		delivery := regexp.MustCompile(hooks + `/\d+/hook_logs/\d+`).FindString(p.text)
		if delivery == "" || !strings.Contains(p.text, "The webhook was called.") || !strings.Contains(p.text, "issue, ") {
			t.Fatalf("after the test: %s", p.text)
		}
		shown := b.get(delivery).text
		for _, want := range []string{"thanks &lt;script&gt;", "X-Answer", "&lt;i&gt;", "&#34;object_kind&#34;: &#34;issue&#34;", "[REDACTED]", "X-Gitlab-Webhook-Uuid", "/{key}</code>"} {
			if !strings.Contains(shown, want) {
				t.Errorf("no %s in the delivery: %s", want, shown)
			}
		}
		p = b.post(page, delivery+"/retry", url.Values{})
		if p.status != http.StatusSeeOther || len(got()) != 1 || !strings.Contains(b.get(p.header.Get("Location")).text, "The delivery was sent again.") {
			t.Errorf("send again: %d %s", p.status, p.text)
		}

		s.exec("UPDATE webhooks SET disabled = ?, failures = 40, disabled_reason = 'The receiver answered 503 <b>' WHERE id = ?", true, made["id"])
		for _, path := range []string{hooks, page} {
			if p := b.get(path); !strings.Contains(p.text, "The last delivery failed: The receiver answered 503 &lt;b&gt;") || !strings.Contains(p.text, "Disabled") {
				t.Errorf("%s of a disabled hook: %s", path, p.text)
			}
		}
		answers(http.StatusBadGateway)
		if p := b.post(page, test, url.Values{"trigger": {"push_events"}}); p.status != http.StatusSeeOther || !strings.Contains(b.get(page).text, ">502</span>") {
			t.Errorf("a receiver that fails: %d %s", p.status, p.text)
		}
		answers(http.StatusOK)
		b.post(page, test, url.Values{"trigger": {"push_events"}})
		if p := b.get(page); !strings.Contains(p.text, "Executable") || strings.Contains(p.text, "The last delivery failed") {
			t.Errorf("after a success: %s", p.text)
		}
		got()

		for name, p := range map[string]webPage{
			"no event":        b.post(page, test, url.Values{"trigger": {"nothing"}}),
			"another event":   b.post(page, test, url.Values{"trigger": {"member_events"}}),
			"another browser": b.send("POST", test, url.Values{"trigger": {"push_events"}}),
		} {
			if p.status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", name, p.status, p.text)
			}
		}
		for role, want := range map[string]int{"reporter": http.StatusForbidden, "stranger": http.StatusNotFound} {
			c := callers[role]
			for _, path := range []string{hooks, page, delivery} {
				if p := c.get(path); p.status != want {
					t.Errorf("%s as %s: %d", path, role, p.status)
				}
			}
			for _, path := range []string{test, delivery + "/retry"} {
				if p := c.post("/-/profile", path, url.Values{"trigger": {"push_events"}}); p.status != want {
					t.Errorf("%s as %s: %d", path, role, p.status)
				}
			}
		}
		if p := b.get(hooks + "/" + w.hook + "/hook_logs/" + delivery[strings.LastIndexByte(delivery, '/')+1:]); p.status != http.StatusNotFound {
			t.Errorf("a delivery of another hook: %d", p.status)
		}
		if calls := got(); len(calls) != 0 {
			t.Errorf("what is refused was sent: %q", calls)
		}
		for _, path := range []string{hooks, page, delivery} {
			if strings.Contains(b.get(path).text, "s3cret") {
				t.Errorf("%s has a secret", path)
			}
		}
		receiver.Close()
		if p := b.post(page, delivery+"/retry", url.Values{}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text, "connection refused") || !strings.Contains(p.text, "No answer") {
			t.Errorf("no receiver: %d %s", p.status, p.text)
		}
	})
}
