package httpkit

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Forwarded puts the address of the client in the place of the peer's where the peer is a
// proxy that is believed: the last one in X-Forwarded-For that is not such a proxy itself.
// The client may have written what stands before it.
func Forwarded(r *http.Request, proxies []netip.Prefix) {
	if len(proxies) == 0 {
		return
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return
	}
	from := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(from) }) {
			break
		}
		before, err := netip.ParseAddr(host(strings.TrimSpace(hop)))
		if err != nil {
			break
		}
		from = before.Unmap().WithZone("")
	}
	if from != peer.Addr().Unmap() {
		r.RemoteAddr = netip.AddrPortFrom(from, 0).String()
	}
}

// Address is where a request comes from, without the port.
func Address(r *http.Request) string { return host(r.RemoteAddr) }

// host is an address without its port, where it has one.
func host(address string) string {
	if h, _, err := net.SplitHostPort(address); err == nil {
		return h
	}
	return address
}
