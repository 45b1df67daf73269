package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"tenon/internal/base/mail"
	"tenon/internal/core/weburl"
)

// dialTime is how long Doctor waits for an address to answer.
const dialTime = 5 * time.Second

// ports looks at the addresses that a server listens on: a running one answers there, another
// one must get them.
func (d *doctor) ports(ctx context.Context) {
	for _, l := range []struct{ name, flag, address string }{{"http address", "--http", d.config.HTTP}, {"ssh address", "--ssh", d.config.SSH}} {
		if d.running != nil {
			address := d.running.HTTP
			if l.flag == "--ssh" {
				address = d.running.SSH
			}
			d.answers(ctx, l.name, address)
			continue
		}
		if l.address == "" {
			d.ok(l.name, "off")
			continue
		}
		var lc net.ListenConfig
		at, err := lc.Listen(ctx, "tcp", l.address)
		if err != nil {
			d.fail(l.name, "end the program that has it, or choose another address with "+l.flag, "%v", err)
			continue
		}
		_ = at.Close() // it was free, which is all there is to know
		d.ok(l.name, "%s is free", l.address)
	}
}

// answers looks whether something answers at an address.
func (d *doctor) answers(ctx context.Context, name, address string) {
	if address == "" {
		d.ok(name, "off")
		return
	}
	dialer := net.Dialer{Timeout: dialTime}
	conn, err := dialer.DialContext(ctx, "tcp", reachable(address))
	if err != nil {
		d.fail(name, "look for a firewall, or restart the server", "%s does not answer: %v", address, err)
		return
	}
	_ = conn.Close() // it answered
	d.ok(name, "%s answers", address)
}

// reachable is an address to connect to for one that is listened on, which may stand for all
// of the machine.
func reachable(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsUnspecified() {
		return address
	}
	return net.JoinHostPort("localhost", fmt.Sprint(at.Port()))
}

// external looks at the address that users have for the server.
func (d *doctor) external(ctx context.Context) {
	const name = "external URL"
	url := d.config.ExternalURL
	host, _, _ := net.SplitHostPort(d.config.HTTP)
	at, err := netip.ParseAddr(host)
	loopback := host == "localhost" || err == nil && at.IsLoopback()
	if url == nil {
		if loopback {
			d.warn(name, "set external_url where others than this machine use the server", "not set: links and clone addresses say %s", d.config.HTTP)
		} else {
			d.warn(name, "set external_url to the address that users see, with https", "not set: links and clone addresses say http://%s", d.config.HTTP)
		}
		return
	}
	if u, err := netip.ParseAddr(url.Hostname()); url.Scheme == "http" && url.Hostname() != "localhost" && (err != nil || !u.IsLoopback()) {
		d.warn(name, "put a proxy with TLS in front, and set external_url to its https address", "%s: passwords and tokens travel in the clear", url)
	}
	if loopback && len(d.config.TrustedProxies) == 0 && url.Host != d.config.HTTP {
		d.warn("trusted proxies", "set trusted_proxies to the address of the proxy, such as 127.0.0.1/32",
			"none, and the server listens for a proxy on this machine: all users share one limit, and the log shows the proxy's address")
	}
	if d.running == nil {
		d.ok(name, "%s; it is tried while a server runs", url)
		return
	}
	if why, advice := probe(ctx, weburl.New(url, "").Liveness(), d.running.Instance); why != "" {
		d.fail(name, advice, "%s: %s", url, why)
		return
	}
	d.ok(name, "%s leads to this server", url)
}

// mail looks at the server that mail goes through. It sends none.
func (d *doctor) mail(ctx context.Context) {
	const name = "mail"
	m := &d.config.Mail
	if !m.On() {
		d.ok(name, "off: mail.host is not set")
		return
	}
	c := m.Config("localhost")
	if u := d.config.ExternalURL; u != nil {
		c.Name = u.Hostname()
	}
	c.Timeout = min(c.Timeout, dialTime)
	if err := mail.New(c).Check(ctx); err != nil {
		d.fail(name, "look at mail.host, mail.port, mail.security, mail.user and the firewall; mail waits meanwhile", "%v", err)
		return
	}
	if m.Security == mail.Plain && m.Host != "localhost" && !strings.HasPrefix(m.Host, "127.") && m.Host != "::1" {
		d.warn(name, "set mail.security to starttls or tls", "%s:%d takes mail, which travels there in the clear", m.Host, m.Port)
		return
	}
	d.ok(name, "%s:%d takes mail from %s", m.Host, m.Port, c.From.Address)
}

// instanceHeader names the instance in answers about the server's health, so that doctor knows
// the server it meets.
const instanceHeader = "X-Tenon-Instance"

// probe asks the server at a URL for a sign of life, and says what is wrong, or "".
func probe(ctx context.Context, url, instance string) (why, advice string) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	// The operator named this address, which may well be a private one.
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error(), "write it as https://code.example.com"
	}
	res, err := client.Do(req)
	if err != nil {
		if text := err.Error(); strings.Contains(text, "certificate") || strings.Contains(text, "tls:") {
			return text, "give the proxy a certificate for this name that clients trust"
		}
		return err.Error(), "look at the proxy, the DNS name and the firewall"
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16)) // only the header matters
	_ = res.Body.Close()
	switch {
	case res.StatusCode != http.StatusOK:
		return fmt.Sprintf("GET %s is answered with %s", url, res.Status), "have the proxy pass every path on to the server, and set external_url to the address it ends at"
	case res.Header.Get(instanceHeader) != instance:
		return "another server answers there", "have the proxy pass requests on to this server"
	}
	return "", ""
}
