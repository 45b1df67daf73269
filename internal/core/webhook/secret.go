package webhook

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// secrets are what a hook has that is never shown.
type secrets struct {
	Token     string            `json:"token,omitempty"`
	User      string            `json:"user,omitempty"` // user name and password of the URL, as they are written there
	Variables map[string]string `json:"variables,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
}

func sealedFor(id ID) string { return fmt.Sprintf("webhooks:%d", id) }

// open returns the secrets of a hook. It fails where the key of the instance was replaced.
func (s *Service) open(h *Hook) (secrets, error) {
	out := secrets{Variables: map[string]string{}, Headers: map[string]string{}}
	if h.Sealed == nil {
		return out, nil
	}
	text, err := s.Box.Open(sealedFor(h.ID), *h.Sealed)
	if err == nil {
		err = json.Unmarshal([]byte(text), &out)
	}
	if err != nil {
		return out, fmt.Errorf("open secrets of webhook: %w", err)
	}
	if out.Variables == nil {
		out.Variables = map[string]string{}
	}
	if out.Headers == nil {
		out.Headers = map[string]string{}
	}
	return out, nil
}

// seal puts secrets into a hook that has its id.
func (s *Service) seal(h *Hook, in secrets) error {
	h.Variables, h.Headers = slices.Sorted(maps.Keys(in.Variables)), slices.Sorted(maps.Keys(in.Headers))
	if in.Token == "" && in.User == "" && len(in.Variables) == 0 && len(in.Headers) == 0 {
		h.Sealed = nil
		return nil
	}
	if before, err := s.open(h); err == nil && h.Sealed != nil && before.same(in) {
		return nil
	}
	text, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("seal secrets of webhook: %w", err)
	}
	sealed := s.Box.Seal(sealedFor(h.ID), string(text))
	h.Sealed = &sealed
	return nil
}

func (s secrets) same(other secrets) bool {
	return s.Token == other.Token && s.User == other.User && maps.Equal(s.Variables, other.Variables) && maps.Equal(s.Headers, other.Headers)
}

// clone is a copy whose maps are its own.
func (s secrets) clone() secrets {
	s.Variables, s.Headers = maps.Clone(s.Variables), maps.Clone(s.Headers)
	return s
}

// shortest is how many bytes a value has, at least, that is hidden wherever it is in a text: shorter ones are in other words, too.
const shortest = 4

// namesIn are the host, and the port with its colon, that an error of a call to a URL may name.
func namesIn(err error, full string) []string {
	var out []string
	if u, bad := url.Parse(full); bad == nil {
		out = append(out, u.Hostname())
		if port := u.Port(); port != "" {
			out = append(out, ":"+port)
		}
	}
	if of, ok := errors.AsType[*net.DNSError](err); ok {
		out = append(out, of.Name)
	}
	if of, ok := errors.AsType[x509.HostnameError](err); ok {
		out = append(out, of.Host)
	}
	return out
}

// hide takes secrets out of the text of an error: the server where its name has variables, and values.
func (s secrets) hide(text string, names []string, shown string) string {
	if _, at, _ := strings.Cut(server(shown), "://"); strings.Contains(at, "{") {
		for _, name := range names {
			switch {
			case strings.HasPrefix(name, ":"):
				text = strings.ReplaceAll(text, name, "")
			case name != "":
				text = strings.ReplaceAll(text, name, at)
			}
		}
	}
	for _, values := range []map[string]string{s.Variables, s.Headers, {"": s.Token, " ": s.User}} {
		for key, value := range values {
			if len(value) >= shortest {
				text = strings.ReplaceAll(text, value, "{"+strings.TrimSpace(key)+"}")
			}
		}
	}
	return text
}
