package statuscheck_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/statuscheck"
)

// names is a resolver with answers of its own, one after the other.
type names struct{ answers [][]netip.Addr }

// LookupNetIP returns the next answer.
func (n *names) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	next := n.answers[0]
	if len(n.answers) > 1 {
		n.answers = n.answers[1:]
	}
	return next, nil
}

// The attack: a maintainer of any project names an address of the server's own network as a
// service, and reads from the answers, or from how long they take, what is there (CVE-2021-22175,
// CVE-2021-22214, CVE-2021-39927, CVE-2022-0249).
func TestAttack_localAddresses(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.As(w.Maintainer)
		try := func(address string) error {
			_, err := w.checks.Create(ctx, w.Maintainer, p, statuscheck.Input{Name: address, URL: address})
			return err
		}
		for _, host := range []string{
			"localhost", "api.localhost", "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "192.0.0.1",
			"198.18.0.1", "0.0.0.0", "[::1]", "[fc00::1]", "[fe80::1]", "[64:ff9b::7f00:1]", "[::ffff:127.0.0.1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]",
			"2130706433", "0x7f000001", "017700000001", "127.1", "0177.0.0.1",
		} {
			if err := try("http://" + host + "/"); !errs.Is(err, errs.Unprocessable) || !strings.Contains(err.Error(), "is blocked") {
				t.Errorf("%s: got %v, want it blocked", host, err)
			}
		}

		// The exception is for one host and port: other ports of the same host stay closed.
		s, other := newService(t), newService(t)
		at, err := url.Parse(s.URL)
		approvaltest.Check(t, err)
		w.rules = safehttp.Rules{Allowed: []string{at.Host}}
		approvaltest.Check(t, try(s.URL))
		approvaltest.WantError(t, "another port", try(other.URL), errs.Unprocessable, "External url is blocked: Requests to loopback addresses are not allowed")
		w.Open("topic", approvaltest.Files{"b": "b\n"})
		w.drain()
		approvaltest.Equal(t, "deliveries within the exception", len(s.take()), 1)

		// The rules hold when the service is called: an exception that was removed does not count.
		w.rules = safehttp.Rules{}
		w.Open("more", approvaltest.Files{"c": "c\n"})
		_ = w.Jobs.Drain(ctx)
		approvaltest.Equal(t, "deliveries without the exception", len(s.take())+len(other.take()), 0)
	})
}

// The attack: the name of a service leads to a public address while it is checked and to the
// server itself when it is called, or to both at once (CVE-2021-39867, Gitea CVE-2026-58442).
func TestAttack_rebinding(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.As(w.Maintainer)
		s := newService(t)
		at, err := url.Parse(s.URL)
		approvaltest.Check(t, err)
		local, public := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("93.184.216.34")
		_, err = w.checks.Create(ctx, w.Maintainer, p, statuscheck.Input{Name: "rebind", URL: "http://rebind.example:" + at.Port()})
		approvaltest.Check(t, err)
		for i, answers := range [][][]netip.Addr{{{local}}, {{local, public}}, {{public, local}}} {
			w.dialer.Resolver = &names{answers}
			w.Open(fmt.Sprint("topic-", i), approvaltest.Files{fmt.Sprint(i): "b\n"})
			_ = w.Jobs.Drain(ctx)
			approvaltest.Equal(t, fmt.Sprint("deliveries to ", answers), len(s.take()), 0)
		}

		// The same name reaches a service that the rules allow, over the resolver alone.
		w.rules, w.dialer.Resolver = safehttp.Rules{Local: true}, &names{[][]netip.Addr{{local}}}
		w.Open("last", approvaltest.Files{"last": "b\n"})
		w.drain()
		approvaltest.Equal(t, "deliveries where it is allowed", len(s.take()), 1)
	})
}

// The attack: a service answers with a redirect to an address that may not be called (Gitea
// CVE-2026-57894). Nothing follows it, wherever it leads.
func TestAttack_redirects(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.As(w.Maintainer)
		w.rules = safehttp.Rules{Local: true}
		s, inner := newService(t), newService(t)
		_, err := w.checks.Create(ctx, w.Maintainer, p, statuscheck.Input{Name: "redirect", URL: s.URL})
		approvaltest.Check(t, err)
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		w.drain()
		s.take()
		for _, status := range []int{301, 302, 303, 307, 308} {
			for _, to := range []string{inner.URL, "http://169.254.169.254/latest/meta-data"} {
				s.answer(status, to)
				_, err := w.MergeRequests.Update(ctx, w.Developer, w.As(w.Developer), m.IID, mergerequest.Changes{Title: new(fmt.Sprint(status, to))})
				approvaltest.Check(t, err)
				w.drain() // it counts as delivered
				approvaltest.Equal(t, fmt.Sprint(status, " to ", to), fmt.Sprint(len(s.take()), len(inner.take())), "1 0")
			}
		}
	})
}

// The attack: a proxy of the environment makes the connections, so that the addresses that are
// checked are those of the proxy (CVE-2026-3848). It does not count.
func TestAttack_proxy(t *testing.T) {
	proxy := newService(t)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	d := &safehttp.Dialer{Rules: func() safehttp.Rules { return safehttp.Rules{} }, Resolver: &names{[][]netip.Addr{{netip.MustParseAddr("10.0.0.1")}}}}
	transport, ok := d.Client(0).Transport.(*http.Transport)
	if !ok || transport.Proxy != nil {
		t.Fatalf("the transport has a proxy: %T", d.Client(0).Transport)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://check.example/", nil)
	approvaltest.Check(t, err)
	if answer, err := d.Client(0).Do(request); err == nil || !strings.Contains(err.Error(), "is blocked") {
		t.Errorf("through a proxy: got %v, %v, want it blocked", answer, err)
	}
	approvaltest.Equal(t, "requests to the proxy", len(proxy.take()), 0)
}
