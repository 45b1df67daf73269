package idtoken_test

import (
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/secret"
	"tenon/internal/core/coretest"
	"tenon/internal/core/idtoken"
)

func TestService_Rotate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		box, err := secret.NewBox(secret.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		now := w.Now()
		clock := func() time.Time { return now }
		one, two := idtoken.New(idtoken.Deps{DB: d, Box: box, Now: clock}), idtoken.New(idtoken.Deps{DB: d, Box: box, Now: clock})
		sign := func(s *idtoken.Service) (token, keyID string) {
			t.Helper()
			token, err := s.Sign(t.Context(), map[string]any{"sub": "x"})
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{idtoken.Algorithm})
			if err != nil {
				t.Fatal(err)
			}
			return token, parsed.Headers[0].KeyID
		}
		verified := func(s *idtoken.Service, token string) bool {
			t.Helper()
			keys, err := s.Keys(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{idtoken.Algorithm})
			if err != nil {
				t.Fatal(err)
			}
			found := keys.Key(parsed.Headers[0].KeyID)
			var claims jwt.Claims
			return len(found) == 1 && parsed.Claims(found[0], &claims) == nil && claims.Subject == "x"
		}
		rotate := func() string {
			t.Helper()
			id, err := one.Rotate(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		old, first := sign(one)
		if _, same := sign(two); same != first {
			t.Errorf("two servers sign with %s and %s", first, same)
		}
		second := rotate()
		// The other server follows at once.
		later, by := sign(two)
		if by != second || second == first {
			t.Errorf("signed by %s, want %s, which is not %s", by, second, first)
		}
		third := rotate()
		for _, s := range []*idtoken.Service{one, two} {
			if !verified(s, old) || !verified(s, later) {
				t.Errorf("tokens of earlier keys are not verified")
			}
			keys, err := s.Keys(t.Context())
			if err != nil || len(keys.Keys) != 3 || keys.Keys[0].KeyID != third || !keys.Keys[0].IsPublic() || !keys.Keys[2].IsPublic() {
				t.Errorf("got the keys %+v, %v", keys, err)
			}
		}
		now = now.Add(36 * 24 * time.Hour)
		if verified(one, old) {
			t.Error("an old key is told for ever")
		}
		rotate()
		if keys, err := two.Keys(t.Context()); err != nil || len(keys.Keys) != 2 || keys.Keys[1].KeyID != third {
			t.Errorf("after a while: got %+v, %v", keys, err)
		}
		if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM id_token_keys"); err != nil || n != 2 {
			t.Errorf("%d rows, %v", n, err)
		}
		// Where the key of the server was replaced nothing can be signed until another key is made.
		if box, err = secret.NewBox(secret.NewKey()); err != nil {
			t.Fatal(err)
		}
		lost := idtoken.New(idtoken.Deps{DB: d, Box: box, Now: clock})
		if _, err := lost.Sign(t.Context(), map[string]any{"sub": "x"}); err == nil {
			t.Error("signed with a key that cannot be read")
		}
		if _, err := lost.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if token, _ := sign(lost); !verified(lost, token) {
			t.Error("not verified after a rotation")
		}
	})
}
