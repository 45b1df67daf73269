package safehttp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func open() Rules { return Rules{Local: true} }

// TestDialer_Fetch_limits reads answers that are just within a limit and just beyond it.
func TestDialer_Fetch_limits(t *testing.T) {
	t.Parallel()
	compressed := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
		return b.String()
	}
	for _, tt := range []struct {
		name, kind, encoding, body string
		limits                     Limits
		want                       error
	}{
		{"none", "text/plain", "", strings.Repeat("x", 1000), Limits{}, nil},
		{"size", "text/plain", "", strings.Repeat("x", 100), Limits{Size: 100}, nil},
		{"more than size", "text/plain", "", strings.Repeat("x", 101), Limits{Size: 100}, ErrTooLarge},
		{"compressed", "text/plain", "gzip", compressed(strings.Repeat("x", 1000)), Limits{Size: 100, Decompressed: 1000}, nil},
		{"decompressed is more", "text/plain", "gzip", compressed(strings.Repeat("x", 1001)), Limits{Size: 100, Decompressed: 1000}, ErrTooLarge},
		{"decompressed is bounded without compression", "text/plain", "", strings.Repeat("x", 11), Limits{Decompressed: 10}, ErrTooLarge},
		{"depth", "application/json", "", `{"a":[{"b":"[[[["}]}`, Limits{JSONDepth: 3}, nil},
		{"more depth", "application/json; charset=utf-8", "", `{"a":[{"b":[]}]}`, Limits{JSONDepth: 3}, ErrTooComplex},
		{"structure of JSON", "application/vnd.git-lfs+json", "", `{"a":1,"b":"\",,,"}`, Limits{JSONStructural: 5}, nil},
		{"more structure of JSON", "application/vnd.git-lfs+json", "", `{"a":1,"b":[]}`, Limits{JSONStructural: 5}, ErrTooComplex},
		{"structure of XML", "text/xml", "", `<a b="c"></a>`, Limits{XMLStructural: 3}, nil},
		{"more structure of XML", "application/atom+xml", "", `<a b="c"><d/></a>`, Limits{XMLStructural: 3}, ErrTooComplex},
		{"structure of CSV", "text/csv", "", "a,b\nc,d\n", Limits{CSVStructural: 4}, nil},
		{"more structure of CSV", "text/csv", "", "a,b\nc,d,\n", Limits{CSVStructural: 4}, ErrTooComplex},
		{"structure of no format", "text/plain", "", "{{{{,,,,", Limits{JSONDepth: 1, CSVStructural: 1}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.kind)
				if tt.encoding != "" {
					w.Header().Set("Content-Encoding", tt.encoding)
				}
				_, _ = w.Write([]byte(tt.body))
			}))
			t.Cleanup(server.Close)
			d := &Dialer{Rules: open, Limits: func() Limits { return tt.limits }}
			got, err := d.Fetch(t.Context(), server.URL, 10*time.Second, 1<<20)
			if !errors.Is(err, tt.want) || tt.want == nil && tt.encoding == "" && string(got) != tt.body {
				t.Errorf("got %d bytes, %v; want %v", len(got), err, tt.want)
			}
		})
	}
}

type fixed netip.Addr

func (f fixed) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.Addr(f)}, nil
}

// TestDialer_rebinding looks up a name that means another address when the connection is made: the server connects to the address
// that it checked, unless the rules say otherwise.
func TestDialer_rebinding(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	address := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	for _, rebinding := range []bool{false, true} {
		// Nothing listens at the address that the look-up returns.
		d := &Dialer{Resolver: fixed(netip.MustParseAddr("127.0.0.9")), Rules: func() Rules { return Rules{Local: true, Rebinding: rebinding} }}
		if _, err := d.Fetch(t.Context(), address, 10*time.Second, 1<<20); (err == nil) != rebinding {
			t.Errorf("rebinding %v: %v", rebinding, err)
		}
		d.Rules = func() Rules { return Rules{Rebinding: rebinding} }
		if _, err := d.DialContext(t.Context(), "tcp", "localhost:80"); !errors.As(err, new(*BlockedError)) {
			t.Errorf("rebinding %v, of a local address: %v, want it blocked", rebinding, err)
		}
	}
}
