package webhook_test

import (
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/payload"
	"tenon/internal/core/webhook"
)

// Whatever a receiver does is bounded, and told in the attempt.
func TestService_hostile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, false))
	w.rules.Local = true
	bomb := func(rw http.ResponseWriter) {
		rw.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(rw)
		zeros := make([]byte, 1<<20)
		for range 50 {
			if _, err := z.Write(zeros); err != nil {
				return
			}
		}
		_ = z.Close()
	}
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	var rec *receiver
	rec = newReceiver(t, func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			for {
				if _, err := rw.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		case "/drip":
			for {
				_, _ = rw.Write([]byte("x"))
				_ = http.NewResponseController(rw).Flush()
				select {
				case <-stop:
					return
				case <-r.Context().Done():
					return
				case <-time.After(100 * time.Millisecond):
				}
			}
		case "/midway":
			rw.Header().Set("Content-Length", "100")
			_, _ = rw.Write([]byte("half"))
			conn, _, err := http.NewResponseController(rw).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		case "/headers":
			for i := range 1000 {
				rw.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1<<10))
			}
		case "/some":
			for i := range 60 {
				rw.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 900))
			}
			rw.Header().Set("A-Long", strings.Repeat("x", 2<<10))
			_, _ = rw.Write([]byte("\xff\x00" + strings.Repeat("y", 20<<10)))
		case "/bomb":
			bomb(rw)
		case "/itself":
			http.Redirect(rw, r, rec.URL+"/itself", http.StatusTemporaryRedirect)
		case "/metadata":
			http.Redirect(rw, r, "http://169.254.169.254/latest", http.StatusFound)
		}
	})
	tls := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(tls.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	shop := w.shop()
	for _, tt := range []struct {
		name, url string
		status    int
		says      string
	}{
		{"endless", rec.URL + "/endless", 200, ""},
		{"drip", rec.URL + "/drip", 0, "the server did not answer in time"},
		{"midway", rec.URL + "/midway", 0, "unexpected EOF"},
		{"a megabyte of headers", rec.URL + "/headers", 0, "server response headers exceeded"},
		{"many headers and bytes", rec.URL + "/some", 200, ""},
		{"a gzip bomb", rec.URL + "/bomb", 200, ""},
		{"a redirect to itself", rec.URL + "/itself", 307, ""},
		{"a redirect to the metadata of a cloud", rec.URL + "/metadata", 302, ""},
		{"a bad certificate", tls.URL, 0, "certificate"},
		{"no server", "http://" + closed.Addr().String(), 0, "connection refused"},
		{"no such host", "http://never.example.com/", 0, "no such host"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := w.create(webhook.Changes{URL: to(tt.url)})
			w.receive(payload.Message{Trigger: payload.Push, Namespace: shop.Namespace, Ref: "refs/heads/main"})
			w.work()
			eventually(t, func() bool { return len(w.attempts(shop, h.ID)) == 1 })
			got := w.attempts(shop, h.ID)[0]
			if got.Status != tt.status || !strings.Contains(got.ResponseBody, tt.says) || len(got.ResponseBody) > 8<<10+10 || len(got.ResponseHeaders) > 50 || got.Duration > 11*time.Second {
				t.Errorf("got %d %.200s, %d headers, %s", got.Status, got.ResponseBody, len(got.ResponseHeaders), got.Duration)
			}
			for name, value := range got.ResponseHeaders {
				if len(value) > 1<<10 {
					t.Errorf("header %s has %d bytes", name, len(value))
				}
			}
			if strings.Contains(got.ResponseBody, h.URL) {
				t.Errorf("the URL is in what failed: %s", got.ResponseBody)
			}
			if err := w.hooks.Delete(t.Context(), w.maintainer, shop, h.ID); err != nil {
				t.Fatal(err)
			}
		})
	}
	w.rules = safehttp.Rules{}
	h := w.create(webhook.Changes{URL: to("https://8.8.8.8/")})
	if _, err := w.DB.Exec(t.Context(), "UPDATE webhooks SET url = ? WHERE id = ?", rec.URL, h.ID); err != nil {
		t.Fatal(err)
	}
	rec.got()
	w.receive(payload.Message{Trigger: payload.Push, Namespace: shop.Namespace, Ref: "refs/heads/main"})
	w.work()
	if got := w.attempts(shop, h.ID); len(got) != 1 || got[0].ResponseBody != "URL is blocked: Requests to loopback addresses are not allowed" || len(rec.got()) != 0 {
		t.Errorf("rules that changed meanwhile: %+v", got)
	}
}
