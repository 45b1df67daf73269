package webhook

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
