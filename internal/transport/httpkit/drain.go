package httpkit

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// How much of a body is read after an answer that did not wait for it, for how long, and how long
// the client may keep silent meanwhile.
const (
	maxDrained    = 512 << 20
	drainTime     = 30 * time.Second
	drainPatience = 5 * time.Second
)

// unreadKept is how much of a body net/http reads by itself to keep the connection.
const unreadKept = 256 << 10

// Drain lets a client read an answer that came before the end of its request, such as 413. Most clients
// send all of a body before they read, and a connection that is closed meanwhile is reset, which loses
// the answer. The handler gets the request that Drain returns, as net/http looks at the body of its own. Once
// the answer is written, end reads a bounded rest of the body.
func Drain(w http.ResponseWriter, r *http.Request) (handled *http.Request, end func()) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 || r.ProtoMajor != 1 {
		return r, func() {}
	}
	body := &drainedBody{ReadCloser: r.Body}
	handled = r.WithContext(r.Context())
	handled.Body = body
	return handled, func() { body.drain(w, r) }
}

// drainedBody knows how much of a body was read.
type drainedBody struct {
	io.ReadCloser
	read  int64
	ended bool // at its end, or by an error
}

// Read counts what is read.
func (b *drainedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	b.ended = b.ended || err != nil
	return n, err
}

func (b *drainedBody) drain(w http.ResponseWriter, r *http.Request) {
	asked := strings.EqualFold(r.Header.Get("Expect"), "100-continue")
	if b.ended || r.ContentLength == b.read || asked && b.read == 0 { // the answer to a client that asks whether to send was no
		return
	}
	control := http.NewResponseController(w)
	end := time.Now().Add(drainTime)
	extend := func() bool {
		next := time.Now().Add(drainPatience)
		if next.After(end) {
			next = end
		}
		return control.SetReadDeadline(next) == nil && time.Now().Before(end)
	}
	if !extend() || r.ContentLength > 0 && r.ContentLength-b.read <= unreadKept {
		return
	}
	if control.Flush() != nil {
		return
	}
	buf := make([]byte, 64<<10)
	for left := int64(maxDrained); left > 0 && extend(); {
		n, err := b.ReadCloser.Read(buf)
		if left -= int64(n); err != nil {
			if errors.Is(err, io.EOF) {
				_ = control.SetReadDeadline(time.Time{}) // as it was before
			}
			return
		}
	}
}
