package secret

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSigner_Tag(t *testing.T) {
	t.Parallel()
	s, other := box(t).Signer(), box(t).Signer()
	rapid.Check(t, func(t *rapid.T) {
		body, purpose := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "body"), rapid.String().Draw(t, "purpose")
		tag := s.Tag(purpose, body)
		if !regexp.MustCompile(`^[a-z2-7]{20,52}$`).MatchString(tag) {
			t.Fatalf("Tag = %q", tag)
		}
		for _, same := range []string{tag, strings.ToUpper(tag)} {
			if got, err := s.OpenTag(purpose, same); err != nil || !bytes.Equal(got, body) {
				t.Fatalf("OpenTag(%q) = %q, %v, want %q", same, got, err, body)
			}
		}
		for name, try := range map[string]func() ([]byte, error){
			"another purpose": func() ([]byte, error) { return s.OpenTag(purpose+"x", tag) },
			"another key":     func() ([]byte, error) { return other.OpenTag(purpose, tag) },
			"cut":             func() ([]byte, error) { return s.OpenTag(purpose, tag[:len(tag)-4]) },
			"longer":          func() ([]byte, error) { return s.OpenTag(purpose, tag+"aaaaaaaa") },
			"no letters":      func() ([]byte, error) { return s.OpenTag(purpose, "!"+tag[1:]) },
			"nothing":         func() ([]byte, error) { return s.OpenTag(purpose, "") },
		} {
			if got, err := try(); !errors.Is(err, ErrSigned) {
				t.Fatalf("%s: %q, %v, want ErrSigned", name, got, err)
			}
		}
	})
}
