package ratelimit

import "net/netip"

// Network is where a caller comes from, as far as callers can be distinguished: an IPv4
// address, or the /64 that one subscriber has in IPv6. The zero value is nowhere.
type Network struct{ prefix netip.Prefix }

// NetworkOf reads an address as http.Request.RemoteAddr has it, without or with a port.
// What is no address is nowhere.
func NetworkOf(address string) Network {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return Network{}
		}
		ip = at.Addr()
	}
	ip = ip.Unmap().WithZone("")
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return Network{}
	}
	return Network{prefix}
}

// Loopback reports whether the caller is on this machine, or nowhere.
func (n Network) Loopback() bool {
	return !n.prefix.IsValid() || n.prefix.Addr().IsLoopback() || n.prefix == loopback6
}

// loopback6 is the network of ::1.
var loopback6 = netip.PrefixFrom(netip.IPv6Unspecified(), 64)
