package safehttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/safehttp"
)

func dialer(r safehttp.Rules) *safehttp.Dialer {
	return &safehttp.Dialer{Rules: func() safehttp.Rules { return r }}
}

func blocked(err error) bool {
	_, ok := errors.AsType[*safehttp.BlockedError](err)
	return ok
}

func TestRules_Check(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][2]bool{ // reachable without and with local requests
		"93.184.216.34": {true, true}, "2606:2800:220:1::1": {true, true},
		"127.0.0.1": {false, true}, "127.9.9.9": {false, true}, "::1": {false, true}, "::ffff:127.0.0.1": {false, true},
		"10.1.2.3": {false, true}, "172.16.0.1": {false, true}, "172.32.0.1": {true, true}, "192.168.1.1": {false, true},
		"100.64.0.1": {false, true}, "100.128.0.1": {true, true}, "fd00::1": {false, true}, "::ffff:10.0.0.1": {false, true},
		"169.254.169.254": {false, false}, "::ffff:169.254.169.254": {false, false}, "fe80::1": {false, false}, "fd00:ec2::254": {false, false},
		"0.0.0.0": {false, false}, "192.0.0.192": {false, false}, "198.18.0.1": {false, false}, "224.0.0.1": {false, false},
		"255.255.255.255": {false, false}, "::": {false, false}, "::127.0.0.1": {false, false}, "64:ff9b::7f00:1": {false, false},
		"2002:7f00:1::": {false, false}, "2001:0:7f00:1::": {false, false}, "ff02::1": {false, false}, "100::1": {false, false},
	} {
		ip := netip.MustParseAddr(address)
		for i, rules := range []safehttp.Rules{{}, {Local: true}} {
			err := rules.Check(ip, address, 80)
			if (err == nil) != want[i] || err != nil && !blocked(err) {
				t.Errorf("%s, local %t: got %v, want reachable %t", address, rules.Local, err, want[i])
			}
		}
	}
	for entry, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.0/8": true, "Git.Example": true, "git.example:8080": true, "127.0.0.1:8080": true,
		"git.example:80": false, "127.0.0.1:80": false, "10.0.0.0/8": false, "": false, "example": false,
	} {
		err := safehttp.Rules{Allowed: []string{entry}}.Check(netip.MustParseAddr("127.0.0.1"), "git.example", 8080)
		if (err == nil) != want {
			t.Errorf("allowed %q: got %v, want reachable %t", entry, err, want)
		}
	}
}

func TestDialer_CheckURL(t *testing.T) {
	t.Parallel()
	d := dialer(safehttp.Rules{})
	for address, want := range map[string]string{
		"https://git.example/a.git":       "",
		"http://user:word@git.example:81": "",
		"ssh://git.example/a":             "is blocked: Only allowed schemes are http, https",
		"file:///etc/passwd":              "is blocked: Only allowed schemes are http, https",
		"ext::sh -c id":                   "is blocked: URI is invalid",
		"ext::id":                         "is blocked: Only allowed schemes are http, https",
		"git.example:a.git":               "is blocked: Only allowed schemes are http, https",
		"":                                "is blocked: Only allowed schemes are http, https",
		"http://":                         "is blocked: URI is invalid",
		"http:git.example":                "is blocked: URI is invalid",
		"http://git.example:0/":           "is blocked: URI is invalid",
		"http://git.example:99999/":       "is blocked: URI is invalid",
		"http://git.example/a b":          "is blocked: URI is invalid",
		"http://git.example/a\nb":         "is blocked: URI is invalid",
		"http://localhost/":               "is blocked: Requests to localhost are not allowed",
		"http://LOCALHOST.:8080/":         "is blocked: Requests to localhost are not allowed",
		"http://a.localhost/":             "is blocked: Requests to localhost are not allowed",
		"http://127.0.0.1/":               "is blocked: Requests to loopback addresses are not allowed",
		"http://[::1]/":                   "is blocked: Requests to loopback addresses are not allowed",
		"http://[::ffff:10.0.0.1]/":       "is blocked: Requests to the local network are not allowed",
		"http://169.254.169.254/latest":   "is blocked: Requests to the link local network are not allowed",
		"http://2130706433/":              "is blocked: Hostname or IP address invalid",
		"http://0x7f000001/":              "is blocked: Hostname or IP address invalid",
		"http://127.1/":                   "is blocked: Hostname or IP address invalid",
		"http://0177.0.0.01/":             "is blocked: Hostname or IP address invalid",
	} {
		_, err := d.CheckURL(address)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}

// names is a resolver with answers of its own, one after the other.
type names struct{ answers [][]netip.Addr }

func (n *names) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	next := n.answers[0]
	if len(n.answers) > 1 {
		n.answers = n.answers[1:]
	}
	return next, nil
}

func TestDialer_checks_what_a_name_leads_to(t *testing.T) {
	t.Parallel()
	local, public := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("93.184.216.34")
	for name, answers := range map[string][][]netip.Addr{
		"a local one": {{local}}, "a local one behind a public one": {{public, local}}, "none": {{}},
	} {
		d := dialer(safehttp.Rules{})
		d.Resolver = &names{answers}
		if _, err := d.DialContext(t.Context(), "tcp", "rebind.example:80"); !blocked(err) {
			t.Errorf("%s: got %v, want it blocked", name, err)
		}
	}
}

func TestDialer_Client_checks_redirects(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // proxies of the environment do not count
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") }))
	defer inner.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		outer := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/latest/meta-data", status))
		_, err := dialer(safehttp.Rules{Local: true}).Client(5 * time.Second).Get(outer.URL)
		if !blocked(err) {
			t.Errorf("%d to a metadata service: got %v, want it blocked", status, err)
		}
		outer.Close()
	}
	client := dialer(safehttp.Rules{Allowed: []string{strings.TrimPrefix(inner.URL, "http://")}}).Client(5 * time.Second)
	answer, err := client.Get(inner.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if _, err := dialer(safehttp.Rules{}).Client(time.Second).Get(inner.URL); !blocked(err) {
		t.Errorf("the machine itself: got %v, want it blocked", err)
	}
}

// The attack: an address that was allowed once is reached over the connection of then, after the
// administrator forbade it.
func TestDialer_Client_rulesOfNow(t *testing.T) {
	t.Parallel()
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") }))
	defer inner.Close()
	rules := safehttp.Rules{Local: true}
	client := (&safehttp.Dialer{Rules: func() safehttp.Rules { return rules }}).Client(5 * time.Second)
	get := func() error {
		answer, err := client.Get(inner.URL)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body) // so that the connection could be used again
		return errors.Join(err, answer.Body.Close())
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	rules = safehttp.Rules{}
	if err := get(); !blocked(err) {
		t.Errorf("the second request: %v, want it blocked", err)
	}
}

// The attack: a server that is asked with credentials leads on to another one, which reads
// them (CVE-2026-41506). Another port of the same host is another server.
func TestDialer_Client_keepsSecretsToTheOrigin(t *testing.T) {
	t.Parallel()
	var first, told http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.Redirect(w, r, "/", http.StatusFound) // within the second server
			return
		}
		told = r.Header
	}))
	defer other.Close()
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
		case "/again":
			first = r.Header
			http.Redirect(w, r, other.URL+"/there", http.StatusTemporaryRedirect)
		}
	}))
	defer origin.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{"Authorization", "Cookie", "Private-Token", "X-Ticket"}
	for _, name := range secrets {
		r.Header.Set(name, "s3cret")
	}
	r.Header.Set("Accept", "text/plain")
	answer, err := dialer(safehttp.Rules{Local: true}).Client(5 * time.Second).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if told == nil || told.Get("Accept") != "text/plain" {
		t.Fatalf("the other server was told %v", told)
	}
	for _, name := range secrets {
		if first.Get(name) != "s3cret" {
			t.Errorf("the server itself was told %q as %s", first.Get(name), name)
		}
	}
	for name, values := range told {
		if strings.Contains(strings.Join(values, " "), "s3cret") {
			t.Errorf("another server was told %s: %v", name, values)
		}
	}
}

// through asks for a page with curl through a tunnel.
func through(t *testing.T, tunnel *safehttp.Tunnel, address string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "curl", "-sSk", "--fail", "--noproxy", "", "-x", tunnel.Address(), address).CombinedOutput()
	return string(out), err
}

func TestTunnel(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "" {
			t.Error("the tunnel's secret was sent on")
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 1000))
	})
	plain, encrypted, other := httptest.NewServer(page), httptest.NewTLSServer(page), httptest.NewServer(page)
	defer plain.Close()
	defer encrypted.Close()
	defer other.Close()
	for _, server := range []*httptest.Server{plain, encrypted} {
		to, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name  string
			rules safehttp.Rules
			limit int64
			ask   string
			want  error // what the tunnel says
			ok    bool
		}{
			{"allowed", safehttp.Rules{Local: true}, 1 << 20, server.URL, nil, true},
			{"elsewhere", safehttp.Rules{Local: true}, 1 << 20, other.URL, nil, false},
			{"blocked", safehttp.Rules{}, 1 << 20, server.URL, &safehttp.BlockedError{}, false},
			{"too much", safehttp.Rules{Local: true}, 500, server.URL, safehttp.ErrTooMuch, false},
		} {
			tunnel, err := dialer(tt.rules).Open(to, tt.limit, safehttp.Pace{})
			if err != nil {
				t.Fatal(err)
			}
			out, err := through(t, tunnel, tt.ask)
			if (err == nil) != tt.ok {
				t.Errorf("%s, %s: got %v, %q", to.Scheme, tt.name, err, out)
			}
			got := tunnel.Blocked()
			if _, want := errors.AsType[*safehttp.BlockedError](tt.want); want != blocked(got) || !want && !errors.Is(got, tt.want) {
				t.Errorf("%s, %s: the tunnel says %v, want %v", to.Scheme, tt.name, got, tt.want)
			}
			if err := tunnel.Close(); err != nil {
				t.Error(err)
			}
		}
		tunnel, err := dialer(safehttp.Rules{Local: true}).Open(to, 1<<20, safehttp.Pace{})
		if err != nil {
			t.Fatal(err)
		}
		at, err := url.Parse(tunnel.Address())
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "curl", "-sSk", "--fail", "--noproxy", "", "-x", "http://"+at.Host, server.URL).CombinedOutput(); err == nil {
			t.Errorf("somebody without the secret gets through: %q", out)
		}
		if err := tunnel.Close(); err != nil {
			t.Error(err)
		}
		if conn, err := net.Dial("tcp", at.Host); err == nil {
			_ = conn.Close()
			t.Error("the tunnel is still open")
		}
	}
}

// A server may answer before it has read the whole request: neither side is held up, and
// the answer comes in full.
func TestTunnel_early_answer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		_, _ = io.WriteString(w, "begun ")
		_ = control.Flush()
		body, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %v", body, err)
	}))
	defer server.Close()
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	tunnel, err := dialer(safehttp.Rules{Local: true}).Open(to, 1<<20, safehttp.Pace{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tunnel.Close() }()
	proxy, err := url.Parse(tunnel.Address())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}, Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	body, rest := io.Pipe()
	defer func() { _ = rest.Close() }()
	first := make(chan struct{})
	go func() {
		defer close(first)
		_, _ = io.WriteString(rest, "one ")
	}()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatalf("no answer before the end of the request: %v", err)
	}
	defer func() { _ = answer.Body.Close() }()
	begun := make([]byte, 6)
	if _, err := io.ReadFull(answer.Body, begun); err != nil {
		t.Fatal(err)
	}
	<-first
	_, _ = io.WriteString(rest, "two")
	_ = rest.Close()
	more, err := io.ReadAll(answer.Body)
	if got, want := string(begun)+string(more), "begun one two <nil>"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// Where all but what is allowed is closed, addresses of the Internet are, too.
func TestRules_Check_closed(t *testing.T) {
	t.Parallel()
	rules := safehttp.Rules{Closed: true, Local: true, Allowed: []string{"git.example", "8.8.4.0/24"}}
	for _, tt := range []struct {
		ip, host string
		open     bool
	}{
		{"8.8.8.8", "dns.example", false}, {"127.0.0.1", "localhost", false}, {"8.8.8.8", "git.example", true}, {"8.8.4.4", "dns.example", true},
	} {
		if err := rules.Check(netip.MustParseAddr(tt.ip), tt.host, 443); (err == nil) != tt.open {
			t.Errorf("%s of %s: %v, want it open %t", tt.ip, tt.host, err, tt.open)
		}
	}
}
