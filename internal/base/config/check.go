package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenon/internal/base/logging"
	"tenon/internal/base/pattern"
)

// Each function here stores a value or says what to write instead.

func setData(to *string, v string) string {
	if strings.TrimSpace(v) == "" || strings.ContainsFunc(v, unicode.IsControl) {
		return "name a folder"
	}
	abs, err := filepath.Abs(v)
	if err != nil {
		return "name the folder with its full path"
	}
	*to = abs
	return ""
}

func setAddress(to *string, v string) string {
	const advice = "write host:port, such as 127.0.0.1:8080 or [::1]:8080; port 0 picks a free one, no host listens everywhere"
	host, number, err := net.SplitHostPort(v)
	if err != nil {
		return advice
	}
	if n, err := strconv.ParseUint(number, 10, 16); err != nil || strconv.FormatUint(n, 10) != number {
		return "the port is a number from 0 to 65535: " + advice
	}
	if strings.ContainsFunc(host, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("/@?#", r)
	}) {
		return advice
	}
	*to = v
	return ""
}

// setHost takes a host with or without a port.
func setHost(to *string, v string) string {
	const advice = "write the host that users name, such as git.example.com, or with a port git.example.com:2222"
	host := v
	if at, number, err := net.SplitHostPort(v); err == nil {
		if n, err := strconv.ParseUint(number, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != number {
			return "the port is a number from 1 to 65535: " + advice
		}
		host = at
	}
	if inner := strings.Trim(host, "[]"); v != "" {
		if _, err := netip.ParseAddr(inner); err != nil && !hostName().MatchString(host) {
			return advice
		}
	}
	*to = v
	return ""
}

// hostName matches names of hosts.
var hostName = pattern.New(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

func port(address string) string {
	_, p, _ := net.SplitHostPort(address)
	return p
}

func setDatabase(to *string, v string) string {
	scheme, rest, _ := strings.Cut(v, ":")
	switch scheme {
	case "":
		if v == "" {
			*to = "" // complete fills in the file in the data folder
			return ""
		}
	case "sqlite":
		if rest == "" || strings.HasPrefix(rest, "//") || strings.ContainsAny(rest, "?#\x00") || strings.Contains(rest, ":memory:") {
			return "write sqlite: and the path of a file, such as sqlite:/var/lib/tenon/tenon.db"
		}
		abs, err := filepath.Abs(rest)
		if err != nil {
			return "write the full path of the file after sqlite:"
		}
		*to = "sqlite:" + abs
		return ""
	case "postgres", "postgresql":
		u, err := url.Parse(v)
		switch {
		case err != nil || u.Opaque != "":
			return "write postgres://user:password@host:5432/database; characters such as @ : / % in the password are percent-encoded"
		case u.Host == "" && u.Query().Get("host") == "":
			return "name the host: postgres://user@host/database, or ?host=/folder/of/the/socket"
		case strings.Trim(u.Path, "/") == "" && u.Query().Get("dbname") == "":
			return "name the database after the host: postgres://user@host/database"
		}
		*to = v
		return ""
	}
	return "write sqlite:/path/of/a/file or postgres://user:password@host/database"
}

func setExternal(to **url.URL, v string) string {
	if v == "" {
		*to = nil
		return ""
	}
	const advice = "write the address users see, such as https://code.example.com"
	u, err := url.Parse(strings.TrimRight(v, "/"))
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return advice
	case u.User != nil:
		return "leave user and password out: " + advice
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return "leave ? and # out: " + advice
	case u.Path != "":
		return "the server needs a host of its own, not a path on another: " + advice
	case u.Port() == "" && strings.HasSuffix(u.Host, ":"):
		return "write a port after the colon, or no colon"
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return "the port is a number from 1 to 65535"
		}
	}
	*to = u
	return ""
}

func setCollector(to **url.URL, v string) string {
	if v == "" {
		*to = nil
		return ""
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "write the address of a collector that speaks OTLP over HTTP, such as http://127.0.0.1:4318"
	}
	*to = u
	return ""
}

func setPassword(to *Secret, v string) string {
	if v != "" && (utf8.RuneCountInString(v) < 8 || len(v) > 128 || !utf8.ValidString(v)) {
		return "choose a password of 8 to 128 characters, or none to have one made"
	}
	*to = Secret(v)
	return ""
}

func setToken(to *Secret, v string) string {
	if v != "" && (len(v) < 20 || len(v) > 255 || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' })) {
		return "choose a token of 20 to 255 characters without blanks, in ASCII, or none to have one made"
	}
	*to = Secret(v)
	return ""
}

func setNumber(to *int, v string) string {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1<<20 {
		return "write a number from 1 on"
	}
	*to = n
	return ""
}

func setPrefixes(to *[]netip.Prefix, v string) string {
	var all []netip.Prefix
	for word := range strings.SplitSeq(v, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		p, err := netip.ParsePrefix(word)
		if err != nil {
			return fmt.Sprintf("%q is no range of addresses; write some like 127.0.0.0/8,::1/128", word)
		}
		all = append(all, p.Masked())
	}
	*to = all
	return ""
}

func setSwitch(to *bool, v string) string {
	switch strings.ToLower(v) {
	case "on", "true", "1", "yes":
		*to = true
	case "off", "false", "0", "no":
		*to = false
	default:
		return "write on or off"
	}
	return ""
}

// setUnless is setSwitch for a field that says that something is off.
func setUnless(to *bool, v string) string {
	on := false
	problem := setSwitch(&on, v)
	*to = !on
	return problem
}

// unless is the switch of a field that says that something is off.
func unless(off bool) string {
	if off {
		return "off"
	}
	return "on"
}

func setStore(to **url.URL, v string) string {
	if v == "" {
		*to = nil
		return ""
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "write the address of a store with the interface of S3, such as https://s3.example.com"
	}
	*to = u
	return ""
}

func levelName(l slog.Level) string { return strings.ToLower(l.String()) }

// maskAll shows only whether something is set.
func maskAll(v string) string { return Secret(v).String() }

// maskURL shows a URL without what signs on: the password, or all of it where it cannot
// be told apart.
func maskURL(v string) string {
	u, err := url.Parse(v)
	if err != nil {
		return logging.Scrub(masked + " (not a URL)")
	}
	if u.User == nil {
		return logging.Scrub(v)
	}
	user := u.User
	u.User = nil
	rest := logging.Scrub(u.String())
	name := user.Username()
	if _, has := user.Password(); has {
		name += ":" + masked
	}
	scheme, tail, _ := strings.Cut(rest, "://")
	return scheme + "://" + name + "@" + tail
}
