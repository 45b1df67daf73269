package httpkit

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

func TestCompress(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("words ", 2000)
	for _, c := range []struct {
		name          string
		method        string
		header        map[string]string // of the request
		answer        map[string]string
		status        int
		text          string
		pieces        bool // no length is announced
		packed, varys bool
	}{
		{name: "long", text: long, packed: true, varys: true},
		{name: "in pieces", text: long, pieces: true, packed: true, varys: true},
		{name: "short", text: long[:compressFrom-1], varys: true},
		{name: "short, in pieces", text: long[:compressFrom-1], pieces: true, varys: true},
		{name: "just long enough", text: long[:compressFrom], packed: true, varys: true},
		{name: "an error", status: http.StatusUnprocessableEntity, text: long, packed: true, varys: true},
		{name: "HEAD", method: http.MethodHead, text: long, packed: true, varys: true},
		{name: "not asked", header: map[string]string{"Accept-Encoding": "br"}, text: long, varys: true},
		{name: "refused", header: map[string]string{"Accept-Encoding": "gzip;q=0, *"}, text: long, varys: true},
		{name: "anything", header: map[string]string{"Accept-Encoding": "br, *;q=0.1"}, text: long, packed: true, varys: true},
		{name: "a picture", answer: map[string]string{"Content-Type": "image/png"}, text: long},
		{name: "compressed already", answer: map[string]string{"Content-Encoding": "zstd"}, text: long},
		{name: "of which parts may be asked", answer: map[string]string{"Accept-Ranges": "bytes"}, text: long},
		{name: "a strong tag", answer: map[string]string{"Etag": `"x"`}, text: long},
		{name: "a weak tag", answer: map[string]string{"Etag": `W/"x"`}, text: long, packed: true, varys: true},
		{name: "not modified", status: http.StatusNotModified, varys: true},
		{name: "events", answer: map[string]string{"Content-Type": "text/event-stream"}, text: long, pieces: true},
		{name: "a cookie", header: map[string]string{"Cookie": "a=b"}, text: long, varys: true},
		{name: "a cookie from another site", header: map[string]string{"Cookie": "a=b", "Sec-Fetch-Site": "cross-site"}, text: long, varys: true},
		{name: "a cookie from a sister", header: map[string]string{"Cookie": "a=b", "Sec-Fetch-Site": "same-site"}, text: long, varys: true},
		{name: "a cookie from here", header: map[string]string{"Cookie": "a=b", "Sec-Fetch-Site": "same-origin"}, text: long, packed: true, varys: true},
		{name: "a cookie by the address", header: map[string]string{"Cookie": "a=b", "Sec-Fetch-Site": "none"}, text: long, packed: true, varys: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.method == "" {
				c.method = http.MethodGet
			}
			r := httptest.NewRequestWithContext(t.Context(), c.method, "/", nil)
			r.Header.Set("Accept-Encoding", "deflate, gzip")
			for name, value := range c.header {
				r.Header.Set(name, value)
			}
			got := httptest.NewRecorder()
			w, end := Compress(got, r)
			w.Header().Set("Content-Type", "application/json")
			for name, value := range c.answer {
				w.Header().Set(name, value)
			}
			if !c.pieces && c.text != "" {
				w.Header().Set("Content-Length", strconv.Itoa(len(c.text)))
			}
			if c.status == 0 {
				c.status = http.StatusOK
			}
			w.WriteHeader(c.status)
			for text := c.text; text != "" && c.method != http.MethodHead; {
				n := min(len(text), 100)
				if _, err := io.WriteString(w, text[:n]); err != nil {
					t.Fatal(err)
				}
				text = text[n:]
			}
			end()
			h := got.Header()
			if packed := h.Get("Content-Encoding") == "gzip"; packed != c.packed || got.Code != c.status {
				t.Errorf("compressed %v, want %v; status %d, want %d", packed, c.packed, got.Code, c.status)
			}
			if varys := h.Get("Vary") == "Accept-Encoding"; varys != c.varys {
				t.Errorf("Vary is %q", h.Get("Vary"))
			}
			if length := h.Get("Content-Length"); c.packed && length != "" || !c.packed && !c.pieces && c.text != "" && length != strconv.Itoa(len(c.text)) {
				t.Errorf("Content-Length is %q", length)
			}
			if c.method == http.MethodHead {
				return
			}
			var text io.Reader = got.Body
			if c.packed {
				if got.Body.Len() > len(c.text)/10 {
					t.Errorf("%d bytes of %d", got.Body.Len(), len(c.text))
				}
				z, err := gzip.NewReader(got.Body)
				if err != nil {
					t.Fatal(err)
				}
				text = z
			}
			if all, err := io.ReadAll(text); err != nil || string(all) != c.text {
				t.Errorf("got %d bytes of %d, %v", len(all), len(c.text), err)
			}
		})
	}
}

// TestCompress_flush has what was written come to the client before the answer ends.
func TestCompress_flush(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	got := httptest.NewRecorder()
	w, end := Compress(got, r)
	defer end()
	w.Header().Set("Content-Type", "text/plain")
	if _, err := io.WriteString(w, "first"); err != nil {
		t.Fatal(err)
	}
	if got.Body.Len() > 0 {
		t.Error("an answer is sent before its length is known")
	}
	if err := http.NewResponseController(w).Flush(); err != nil || got.Body.String() != "first" || !got.Flushed {
		t.Errorf("got %q, %v", got.Body, err)
	}
}
