package repo

import (
	"net"
	"strings"
)

// SSHURL is where a repository is reached over SSH: in the short form on the usual port.
// address is a host and perhaps a port; path is a project's full one.
func SSHURL(address, path string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil { // it has no port
		host, port = strings.Trim(address, "[]"), "22"
	}
	if port != "22" {
		return "ssh://git@" + net.JoinHostPort(host, port) + "/" + path + ".git"
	}
	if strings.Contains(host, ":") { // of IPv6
		host = "[" + host + "]"
	}
	return "git@" + host + ":" + path + ".git"
}
