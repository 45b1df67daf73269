package reference

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"net/url"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/secret"
	"tenon/internal/core/coretest"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// TestService_Assets compares the addresses of pictures with those that the usual proxy takes.
func TestService_Assets(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		box, err := secret.NewBox(secret.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		settings := setting.New(d, time.Now).Sealed(box)
		s, set := New(Deps{Settings: settings, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example:8443"}, "")}), coretest.Setter(t, settings)
		const picture = `<p><img src="https://far.example/a.png?b=1&amp;c=2" alt="x"/></p>`
		if got := s.Assets(picture); got != picture || s.AssetRoot() != "" {
			t.Errorf("without a proxy: %s", got)
		}
		set("asset_proxy_url", "https://assets.example/")
		set("asset_proxy_secret_key", "shared")
		set("asset_proxy_allowlist", []string{"near.example", "*.wide.example"})
		set("asset_proxy_enabled", true)
		proxied := func(address string) string {
			sign := hmac.New(sha1.New, []byte("shared"))
			sign.Write([]byte(address))
			return "https://assets.example/" + hex.EncodeToString(sign.Sum(nil)) + "/" + hex.EncodeToString([]byte(address))
		}
		if got, want := s.Assets(picture), `<p><img src="`+proxied("https://far.example/a.png?b=1&c=2")+`" alt="x" data-canonical-src="https://far.example/a.png?b=1&amp;c=2"/></p>`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		for _, tt := range []struct{ address, want string }{
			{"//far.example/a", proxied("https://far.example/a")},
			{"http://FAR.example:81/a", proxied("http://FAR.example:81/a")},
			{"https://near.example.far.example/a", proxied("https://near.example.far.example/a")},
			{"https://wide.example/a", proxied("https://wide.example/a")},
			{"https://assets.example/a/b", proxied("https://assets.example/a/b")},
			{"https://near.example/a", ""},
			{"https://a.b.WIDE.example/a", ""},
			{"https://tenon.example:8443/a", ""},
			{"/uploads/1/a.png", ""},
			{"a.png", ""},
			{"data:image/png;base64,xx", ""},
			{"https://%zz/", ""},
		} {
			want := tt.want
			if want == "" {
				want = tt.address
			}
			if got := s.assets().address(tt.address); got != want {
				t.Errorf("%s: got %s, want %s", tt.address, got, want)
			}
		}
		set("asset_proxy_enabled", false)
		if got := s.Assets(picture); got != picture {
			t.Errorf("off again: %s", got)
		}
	})
}

// TestService_rendered counts the texts that are kept: another version renders them again, and so does another proxy.
func TestService_rendered(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		settings := setting.New(d, time.Now)
		s, set := New(Deps{Settings: settings, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, "")}), coretest.Setter(t, settings)
		render := func() *rendered {
			t.Helper()
			r, err := s.rendered(t.Context(), Scope{}, "a *text*", style{})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		first := render()
		if render() != first {
			t.Error("rendered twice")
		}
		set("local_markdown_version", 1)
		second := render()
		if second == first {
			t.Error("another version is not rendered")
		}
		if render() != second {
			t.Error("rendered twice under another version")
		}
	})
}
