package secret

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSigner(t *testing.T) {
	t.Parallel()
	s, other := box(t).Signer(), box(t).Signer()
	now := time.Unix(1_700_000_000, 0)
	rapid.Check(t, func(t *rapid.T) {
		text, purpose := rapid.String().Draw(t, "text"), rapid.String().Draw(t, "purpose")
		signed := s.Sign(purpose, text, now.Add(time.Minute))
		if got, err := s.Open(purpose, signed, now); err != nil || got != text {
			t.Fatalf("Open(Sign(%q)) = %q, %v", text, got, err)
		}
		broken := []byte(signed)
		at := rapid.IntRange(0, len(broken)-1).Draw(t, "at")
		broken[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		for name, try := range map[string]func() (string, error){
			"another purpose": func() (string, error) { return s.Open(purpose+"x", signed, now) },
			"another key":     func() (string, error) { return other.Open(purpose, signed, now) },
			"its last moment": func() (string, error) { return s.Open(purpose, signed, now.Add(time.Minute)) },
			"broken":          func() (string, error) { return s.Open(purpose, string(broken), now) },
			"cut":             func() (string, error) { return s.Open(purpose, signed[:at], now) },
			"longer":          func() (string, error) { return s.Open(purpose, signed+"A", now) },
		} {
			if got, err := try(); !errors.Is(err, ErrSigned) {
				t.Fatalf("%s: %q, %v, want ErrSigned", name, got, err)
			}
		}
	})
}
