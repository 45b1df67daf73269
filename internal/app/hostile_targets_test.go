package app

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tenon/internal/base/safehttp"
	"tenon/internal/core"
	hooks "tenon/internal/core/webhook"
)

// decoys resolve names that a test makes up, and no others. A name with several answers has them one after the other.
type decoys struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr
}

// LookupNetIP returns the next answer.
func (d *decoys) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.answers[host]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(list) > 1 {
		d.answers[host] = list[1:]
	}
	return list[0], nil
}

// set says what a name leads to.
func (d *decoys) set(host string, answers ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all [][]netip.Addr
	for _, answer := range answers {
		var one []netip.Addr
		for text := range strings.FieldsSeq(answer) {
			one = append(one, netip.MustParseAddr(text))
		}
		all = append(all, one)
	}
	d.answers[host] = all
}

// target is where an attacker has the server send requests to.
type target struct {
	host   string
	always bool     // closed to those who may reach the local network, too
	leads  []string // addresses of a name: while it is saved, and from then on
	form   bool     // another spelling of an address, which no rule makes good
}

// targets are the kinds of addresses that no user may reach through the server.
func targets() []target {
	var out []target
	add := func(t target, hosts ...string) {
		for _, host := range hosts {
			t.host = host
			out = append(out, t)
		}
	}
	add(target{}, "localhost", "127.0.0.1", "127.8.8.8", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "[fc00::1]", "[::ffff:10.0.0.1]")
	add(target{always: true}, "169.254.169.254", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "[fe80::1]", "0.0.0.0", "[::]", "192.0.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255",
		"[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[ff02::1]")
	add(target{form: true, always: true}, "2130706433", "0x7f000001", "017700000001", "127.1", "0177.0.0.1", "0x7f.1", "2852039166")
	for host, leads := range map[string][]string{
		"inside.example.com":  {"10.0.0.1"},
		"loop.example.com":    {"127.0.0.1"},
		"mapped.example.com":  {"::ffff:127.0.0.1"},
		"both.example.com":    {"93.184.216.34 127.0.0.1"}, // all addresses count, and not the first alone
		"rebound.example.com": {"93.184.216.34", "127.0.0.1"},
	} {
		out = append(out, target{host: host, leads: leads})
	}
	return append(out, target{host: "metadata.example.com", leads: []string{"169.254.169.254"}, always: true})
}

// outlet is a way to have the server call a URL: what is created, and how it is removed.
type outlet struct {
	name, method, path string
	body               func(url string) obj
	early              bool // a name is looked up when it is saved
	refused            int  // status of a URL that is refused
}

// outlets are the ways. The last is the hook of the instance, which has rules of its own.
func outlets(project string) []outlet {
	hook := func(url string) obj {
		return obj{"url": url, "push_events": false, "merge_requests_events": true}
	}
	return []outlet{
		{"hook", "POST", project + "/hooks", hook, true, 422},
		{"integration", "PUT", project + "/integrations/mattermost", func(url string) obj { return obj{"webhook": url} }, false, 400},
		{"status check", "POST", project + "/external_status_checks", func(url string) obj { return obj{"name": "scan", "external_url": url} }, false, 422},
		{"hook of the instance", "POST", "/hooks", hook, true, 422},
	}
}

// TestHostileTargets leads hooks, tests of hooks, integrations, external status checks and hooks of the instance to every kind of address that
// they must not reach (security B1 to B4, B8 to B10): by what is saved, by rules that change between saving and calling, by names, by
// redirects, and past proxies of the environment.
func TestHostileTargets(t *testing.T) {
	apart(t)
	var reached atomic.Int64
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(canary.Close)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, canary.URL)
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(canary.URL, "http://"))
	s := newServer(t, "")
	names := &decoys{answers: map[string][][]netip.Addr{}}
	names.set("localhost", "127.0.0.1")
	calls := core.Part[*hooks.Service](s.core)
	for _, d := range []*safehttp.Dialer{calls.Outbound, calls.System, s.core.Integrations.Outbound, s.core.ServiceHooks.Outbound, s.core.StatusChecks.Outbound} {
		d.Resolver = names
	}
	var log bytes.Buffer
	s.core.ServiceHooks.Log = slog.New(slog.NewTextHandler(&log, nil))

	path := "/projects/" + number(s.do("admin", "POST", "/projects", obj{"name": "Shop", "initialize_with_readme": true}), "id")
	s.do("admin", "POST", path+"/repository/commits", obj{
		"branch": "topic", "start_branch": "main", "commit_message": "Add a", "actions": []obj{{"action": "create", "file_path": "a", "content": "a"}},
	})
	s.do("admin", "POST", path+"/merge_requests", obj{"source_branch": "topic", "target_branch": "main", "title": "Mend"})
	drain := func() string {
		if err := s.jobs.Drain(t.Context()); err != nil {
			return err.Error()
		}
		return ""
	}
	if failed := drain(); failed != "" {
		t.Fatal(failed)
	}
	next := "close"
	happen := func() string { // an event that all are told of
		s.do("admin", "PUT", path+"/merge_requests/1", obj{"state_event": next})
		next = map[string]string{"close": "reopen", "reopen": "close"}[next]
		return drain()
	}
	rules := func(local bool, allowed ...string) {
		s.set(obj{"allow_local_requests_from_web_hooks_and_services": local, "allow_local_requests_from_system_hooks": local, "outbound_local_requests_whitelist": append([]string{}, allowed...)})
	}
	all := outlets(path)
	remove := func(made []string) {
		for _, at := range made {
			s.want("admin", "DELETE", at, nil, 204, "")
		}
	}
	save := func(url string) (made []string) {
		for _, o := range all {
			a := s.do("admin", o.method, o.path, o.body(url))
			at := o.path
			if o.method == "POST" {
				at += "/" + number(a, "id")
			}
			made = append(made, at)
		}
		return made
	}
	const blocked = "is blocked: "

	for _, tt := range targets() {
		for _, local := range []bool{false, true} {
			if local && !tt.always {
				continue
			}
			t.Run(fmt.Sprintf("%s, local %t", tt.host, local), func(t *testing.T) {
				url := "http://" + tt.host + ":" + port + "/"
				if tt.leads != nil {
					names.set(tt.host, tt.leads[len(tt.leads)-1])
				}
				rules(local)
				for _, o := range all {
					if tt.leads != nil && !o.early {
						continue // it is looked up when it is called
					}
					s.want("admin", o.method, o.path, o.body(url), o.refused, "")
				}
				if tt.form {
					return
				}
				if tt.leads == nil || len(tt.leads) == 1 {
					rules(local, strings.Trim(tt.host, "[]"))
				} else {
					names.set(tt.host, tt.leads[0])
				}
				made := save(url)
				rules(local)
				if tt.leads != nil {
					names.set(tt.host, tt.leads[len(tt.leads)-1])
				}
				s.want("admin", "POST", made[0]+"/test/merge_requests_events", nil, 422, blocked)
				s.do("admin", "POST", made[3], nil) // the test of a hook of the instance, which answers its sample
				log.Reset()
				if failed := happen(); !strings.Contains(failed, "call status check: "+blocked) {
					t.Errorf("the status check: %q", failed)
				}
				if !strings.Contains(log.String(), blocked) {
					t.Errorf("the integration: %s", log.String())
				}
				for _, at := range []string{made[0], made[3]} {
					a := s.send(t.Context(), get("admin", at+"/events"))
					if n := strings.Count(a.Body.String(), `"response_body":"URL `+blocked); n != 2 || strings.Contains(a.Body.String(), `"response_status":"2`) {
						t.Errorf("%s: want two calls that were blocked: %s", at, a.Body)
					}
				}
				remove(made)
			})
		}
	}
	if n := reached.Load(); n != 0 {
		t.Fatalf("the server was reached %d times", n)
	}

	// A receiver that is allowed leads on to addresses that are not, with every status.
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{canary.URL, "http://169.254.169.254/latest/meta-data", "http://loop.example.com:" + port} {
			names.set("loop.example.com", "127.0.0.1")
			var called atomic.Int64
			outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				called.Add(1)
				http.Redirect(w, r, to, status)
			}))
			rules(false, strings.TrimPrefix(outer.URL, "http://"))
			for _, o := range all { // the exception is for one port
				s.want("admin", o.method, o.path, o.body(canary.URL), o.refused, "")
			}
			made := save(outer.URL)
			s.do("admin", "POST", made[0]+"/test/merge_requests_events", nil)
			_ = happen() // whether a redirect counts as delivered is for each to decide
			if n := called.Load(); n < 5 {
				t.Errorf("%d to %s: the receiver was called %d times by %d that may", status, to, n, 5)
			}
			remove(made)
			outer.Close()
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("redirects led to the server %d times", n)
	}
}
