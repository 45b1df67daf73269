package weburl

import (
	"net"
	"net/url"
	"strings"
)

// Cloned makes URLs of repositories over HTTP below the root that clone returns, where it is not "".
func (s *Site) Cloned(clone func() string) *Site {
	out := *s
	out.clone = clone
	return &out
}

func (s *Site) cloneRoot() string {
	if s.clone != nil {
		if root := s.clone(); root != "" {
			return root
		}
	}
	return s.base
}

// HTTPRepository is where git reaches a repository over HTTP.
func (s *Site) HTTPRepository(path string) string { return s.cloneRoot() + "/" + path + ".git" }

// HTTPRepositoryAs is HTTPRepository with a user name and a password.
func (s *Site) HTTPRepositoryAs(path, user, password string) string {
	scheme, rest, _ := strings.Cut(s.cloneRoot(), "://")
	return scheme + "://" + url.UserPassword(user, password).String() + "@" + rest + "/" + path + ".git"
}

// SSHRepository is where git reaches a repository over SSH, in the short form on the usual
// port; "" where it does not.
func (s *Site) SSHRepository(path string) string {
	if s.ssh == "" {
		return ""
	}
	host, port := s.sshParts()
	if port != "22" {
		return s.SSHRepositoryURL(path)
	}
	if strings.Contains(host, ":") { // of IPv6
		host = "[" + host + "]"
	}
	return "git@" + host + ":" + path + ".git"
}

// SSHRepositoryURL is SSHRepository as a URL, on any port.
func (s *Site) SSHRepositoryURL(path string) string {
	if s.ssh == "" {
		return ""
	}
	return "ssh://git@" + net.JoinHostPort(s.sshParts()) + "/" + path + ".git"
}

// sshParts are host and port of git over SSH.
func (s *Site) sshParts() (host, port string) {
	host, port, err := net.SplitHostPort(s.ssh)
	if err != nil { // it has no port
		return strings.Trim(s.ssh, "[]"), "22"
	}
	return host, port
}

// Service is a service of a repository over HTTP, such as "info/lfs".
func (s *Site) Service(path, service string) string { return s.HTTPRepository(path) + "/" + service }
