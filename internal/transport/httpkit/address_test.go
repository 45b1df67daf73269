package httpkit_test

import (
	"net/http"
	"net/netip"
	"testing"

	"tenon/internal/transport/httpkit"
)

// The attack: write an address of one's own choice into the header, and be another caller
// for limits, bans and the audit (CVE-2026-20896 of Gitea).
func TestForwarded(t *testing.T) {
	t.Parallel()
	near := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		name    string
		proxies []netip.Prefix
		peer    string
		header  []string
		want    string
	}{
		{"nobody is believed", nil, "127.0.0.1:9", []string{"192.0.2.1"}, "127.0.0.1:9"},
		{"a stranger is not", near, "192.0.2.66:9", []string{"192.0.2.1"}, "192.0.2.66:9"},
		{"a proxy is", near, "127.0.0.1:9", []string{"192.0.2.1"}, "192.0.2.1:0"},
		{"a proxy in a mapped address", near, "[::ffff:127.0.0.1]:9", []string{"192.0.2.1"}, "192.0.2.1:0"},
		{"two proxies", near, "127.0.0.1:9", []string{"192.0.2.1, 10.1.2.3"}, "192.0.2.1:0"},
		{"two headers", near, "127.0.0.1:9", []string{"192.0.2.1", "10.1.2.3"}, "192.0.2.1:0"},
		{"what the client wrote is passed over", near, "127.0.0.1:9", []string{"203.0.113.9, 192.0.2.1"}, "192.0.2.1:0"},
		{"a client that says it is a proxy", near, "127.0.0.1:9", []string{"10.9.9.9, 192.0.2.1, 10.1.2.3"}, "192.0.2.1:0"},
		{"with a port", near, "127.0.0.1:9", []string{"192.0.2.1:5000"}, "192.0.2.1:0"},
		{"IPv6", near, "[fd00::1]:9", []string{"2001:db8::1"}, "[2001:db8::1]:0"},
		{"IPv6 with a port", near, "[fd00::1]:9", []string{"[2001:db8::1]:77"}, "[2001:db8::1]:0"},
		{"no header", near, "127.0.0.1:9", nil, "127.0.0.1:9"},
		{"no address", near, "127.0.0.1:9", []string{"unknown"}, "127.0.0.1:9"},
		{"no address before a proxy", near, "127.0.0.1:9", []string{"192.0.2.1, evil, 10.1.2.3"}, "10.1.2.3:0"},
		{"no peer", near, "@", []string{"192.0.2.1"}, "@"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.header}}
		if httpkit.Forwarded(r, c.proxies); r.RemoteAddr != c.want {
			t.Errorf("%s: got %s, want %s", c.name, r.RemoteAddr, c.want)
		}
	}
}
