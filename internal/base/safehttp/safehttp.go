// Package safehttp makes every connection that the server opens on behalf of a user:
// imports, mirrors, hooks. It connects to no address of the server's own network
// unless the instance allows that.
package safehttp

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rules say which addresses may be reached; the zero value allows no local ones.
type Rules struct {
	Closed  bool     // none but those that are allowed, wherever they are
	Local   bool     // loopback and private networks
	Allowed []string // addresses, networks in CIDR form, hosts, and each of hosts and addresses with a port

	// Rebinding connects to what a name means when the connection is made, which may be another address than was checked.
	Rebinding bool
}

// Resolver finds the addresses of a host. net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer opens connections within the rules. It is safe for concurrent use.
type Dialer struct {
	Rules    func() Rules // as they are now
	Resolver Resolver     // nil is the system's

	Limits func() Limits // of answers, as they are now; nil bounds nothing

	Roots *x509.CertPool // that certificates of servers are checked against; nil is the system's
}

// BlockedError says that an address may not be reached; its text may be shown.
type BlockedError struct{ Reason string }

// Error returns the reason.
func (e *BlockedError) Error() string { return "is blocked: " + e.Reason }

// The reasons, as the contract words them.
const (
	reasonScheme    = "Only allowed schemes are http, https"
	reasonURI       = "URI is invalid"
	reasonHost      = "Hostname or IP address invalid"
	reasonLocalhost = "Requests to localhost are not allowed"
	reasonLoopback  = "Requests to loopback addresses are not allowed"
	reasonNetwork   = "Requests to the local network are not allowed"
	reasonLink      = "Requests to the link local network are not allowed"
	reasonClosed    = "Only requests to allowed addresses are made"
	reasonReserved  = "Requests to reserved addresses are not allowed"
)

// networks are never the Internet; the first that holds an address decides. Those that
// are not private stay closed even where local requests are allowed.
var networks = []struct {
	prefix  netip.Prefix
	reason  string
	private bool
}{
	{netip.MustParsePrefix("fd00:ec2::254/128"), reasonLink, false}, // a metadata service
	{netip.MustParsePrefix("127.0.0.0/8"), reasonLoopback, true},
	{netip.MustParsePrefix("::1/128"), reasonLoopback, true},
	{netip.MustParsePrefix("10.0.0.0/8"), reasonNetwork, true},
	{netip.MustParsePrefix("172.16.0.0/12"), reasonNetwork, true},
	{netip.MustParsePrefix("192.168.0.0/16"), reasonNetwork, true},
	{netip.MustParsePrefix("100.64.0.0/10"), reasonNetwork, true},
	{netip.MustParsePrefix("fc00::/7"), reasonNetwork, true},
	{netip.MustParsePrefix("169.254.0.0/16"), reasonLink, false}, // with the metadata services of clouds
	{netip.MustParsePrefix("fe80::/10"), reasonLink, false},
	{netip.MustParsePrefix("fec0::/10"), reasonNetwork, false},
	{netip.MustParsePrefix("0.0.0.0/8"), reasonReserved, false},
	{netip.MustParsePrefix("192.0.0.0/24"), reasonReserved, false},
	{netip.MustParsePrefix("192.0.2.0/24"), reasonReserved, false},
	{netip.MustParsePrefix("192.88.99.0/24"), reasonReserved, false},
	{netip.MustParsePrefix("198.18.0.0/15"), reasonReserved, false},
	{netip.MustParsePrefix("198.51.100.0/24"), reasonReserved, false},
	{netip.MustParsePrefix("203.0.113.0/24"), reasonReserved, false},
	{netip.MustParsePrefix("224.0.0.0/4"), reasonReserved, false},
	{netip.MustParsePrefix("240.0.0.0/4"), reasonReserved, false},
	{netip.MustParsePrefix("::/96"), reasonReserved, false},
	{netip.MustParsePrefix("64:ff9b::/96"), reasonReserved, false}, // these wrap addresses of version 4
	{netip.MustParsePrefix("64:ff9b:1::/48"), reasonReserved, false},
	{netip.MustParsePrefix("2001::/32"), reasonReserved, false},
	{netip.MustParsePrefix("2002::/16"), reasonReserved, false},
	{netip.MustParsePrefix("100::/64"), reasonReserved, false},
	{netip.MustParsePrefix("2001:db8::/32"), reasonReserved, false},
	{netip.MustParsePrefix("ff00::/8"), reasonReserved, false},
}

// Check reports an address that the rules keep from being reached by *BlockedError;
// host is the name that led to it.
func (r Rules) Check(ip netip.Addr, host string, port uint16) error {
	ip = ip.Unmap().WithZone("")
	if r.Closed && !r.lists(ip, host, port) {
		return &BlockedError{reasonClosed}
	}
	for _, n := range networks {
		if !n.prefix.Contains(ip) {
			continue
		}
		if n.private && r.Local || r.lists(ip, host, port) {
			return nil
		}
		return &BlockedError{n.reason}
	}
	return nil
}

// lists reports whether the allow list names the address or the host.
func (r Rules) lists(ip netip.Addr, host string, port uint16) bool {
	return slices.ContainsFunc(r.Allowed, func(entry string) bool {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if prefix, err := netip.ParsePrefix(entry); err == nil {
			return prefix.Contains(ip)
		}
		if addr, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
			return addr.Unmap() == ip
		}
		name, number, err := net.SplitHostPort(entry)
		if err != nil {
			return entry != "" && entry == strings.ToLower(host)
		}
		if number != strconv.Itoa(int(port)) {
			return false
		}
		if addr, err := netip.ParseAddr(name); err == nil {
			return addr.Unmap() == ip
		}
		return name == strings.ToLower(host)
	})
}

// dialTimeout bounds resolving and connecting.
const dialTimeout = 10 * time.Second

// DialContext connects to an address whose host may be a name. All addresses of the
// name must be within the rules; the connection goes to one of those that were checked, unless the rules allow rebinding.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	host, number, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil || port == 0 {
		return nil, &BlockedError{reasonURI}
	}
	addresses, err := d.lookUp(ctx, host)
	if err != nil {
		return nil, err
	}
	rules := d.Rules()
	for _, ip := range addresses {
		if err := rules.Check(ip, host, uint16(port)); err != nil {
			return nil, err
		}
	}
	if rules.Rebinding {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, fmt.Errorf("dial: %w", err)
		}
		return conn, nil
	}
	var failed error
	for _, ip := range addresses {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, netip.AddrPortFrom(ip, uint16(port)).String())
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, fmt.Errorf("dial: %w", failed)
}

func (d *Dialer) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	var resolver Resolver = net.DefaultResolver
	if d.Resolver != nil {
		resolver = d.Resolver
	}
	found, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up host: %w", err)
	}
	if len(found) == 0 {
		return nil, &BlockedError{reasonHost}
	}
	return found, nil
}

// CheckURL looks at an address before anything is sent there: its scheme and host, and
// the rules as far as they can be checked without asking for the host's addresses.
func (d *Dialer) CheckURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return nil, &BlockedError{reasonURI}
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, &BlockedError{reasonScheme}
	case u.Hostname() == "" || u.Opaque != "":
		return nil, &BlockedError{reasonURI}
	}
	port := Port(u)
	if port == 0 {
		return nil, &BlockedError{reasonURI}
	}
	rules, host := d.Rules(), strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return u, rules.Check(ip, host, port)
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		if err := rules.Check(netip.AddrFrom4([4]byte{127, 0, 0, 1}), host, port); err != nil {
			return nil, &BlockedError{reasonLocalhost}
		}
	}
	if last := host[strings.LastIndexByte(host, '.')+1:]; last == "" || numeric(last) {
		return nil, &BlockedError{reasonHost} // 2130706433, 0x7f.1, 127.1: some resolvers read them as addresses
	}
	return u, nil
}

// reachTimeout bounds how long Reach waits for the addresses of a name.
const reachTimeout = 3 * time.Second

// Reach is CheckURL, and refuses a URL whose host has an address that may not be reached. A name that does not resolve now is
// accepted, since it may later: the rules are checked again where a connection is made.
func (d *Dialer) Reach(ctx context.Context, text string) error {
	u, err := d.CheckURL(text)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	addresses, err := d.lookUp(ctx, u.Hostname())
	if err != nil {
		return nil // it may resolve later
	}
	rules := d.Rules()
	for _, ip := range addresses {
		if err := rules.Check(ip, u.Hostname(), Port(u)); err != nil {
			return err
		}
	}
	return nil
}

func numeric(label string) bool {
	_, err := strconv.ParseUint(label, 0, 64)
	return err == nil
}

// Port returns the port of an http or https address, 0 where it is none.
func Port(u *url.URL) uint16 {
	text := u.Port()
	switch {
	case text == "" && u.Scheme == "https":
		return 443
	case text == "":
		return 80
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// maxRedirects is how often Client follows an answer that leads elsewhere.
const maxRedirects = 3

// Client makes an HTTP client whose connections, and those it is led on to, keep within
// the rules. It uses no proxy of the environment and ends each exchange after timeout.
func (d *Dialer) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:   timeout,
		Transport: d.transport(),
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("too many redirects")
			}
			if via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https" {
				return &BlockedError{reasonScheme}
			}
			keepToOrigin(r, via[0])
			_, err := d.CheckURL(r.URL.String())
			return err
		},
	}
}

// keepToOrigin takes away what the first request sent to its server alone, credentials under
// whatever name, where an answer leads to another scheme, host or port.
func keepToOrigin(r, first *http.Request) {
	if r.URL.Scheme == first.URL.Scheme && strings.EqualFold(r.URL.Host, first.URL.Host) {
		return
	}
	kept := http.Header{}
	for _, name := range []string{"Accept", "Content-Type", "User-Agent"} {
		if values := r.Header.Values(name); len(values) > 0 {
			kept[name] = values
		}
	}
	r.Header = kept
}

// transport opens a connection for each request: the rules are asked when one is opened.
func (d *Dialer) transport() *http.Transport {
	return &http.Transport{
		DialContext: d.DialContext, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: time.Minute,
		MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true, TLSClientConfig: d.trusting(),
	}
}
