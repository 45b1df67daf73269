package api

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// Content is an answer from which a client may ask for parts: Range, If-Range and, with
// an ETag, If-None-Match are honoured. The kit closes From.
type Content struct {
	Type   string
	Header http.Header
	ETag   string // strong, with its quotes; "" for none

	Modified time.Time // for If-Modified-Since; zero for none
	From     io.ReadSeekCloser
}

// RawOrContent is an endpoint's answer that is one or the other.
type RawOrContent struct {
	Raw     Raw
	Content *Content // goes before Raw
}

func (c RawOrContent) render(x *exchange, params any) error {
	if c.Content != nil {
		return c.Content.render(x, params)
	}
	return c.Raw.render(x, params)
}

func (c Content) render(x *exchange, _ any) error {
	defer c.From.Close()
	h := x.w.Header()
	copyHeader(h, c.Header)
	h.Set("Content-Type", c.Type)
	if c.ETag != "" {
		h.Set("Etag", c.ETag)
	}
	if _, ok := h["Cache-Control"]; !ok {
		h.Set("Cache-Control", "no-cache")
	}
	h.Set("X-Runtime", x.runtime())
	r := x.r
	if strings.Contains(r.Header.Get("Range"), ",") {
		// Many parts would need going back, and are a known way to make work.
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	http.ServeContent(&statusNoter{ResponseWriter: x.w, x: x}, r, "", c.Modified, c.From)
	return nil
}

// statusNoter tells the exchange which status was sent.
type statusNoter struct {
	http.ResponseWriter
	x *exchange
}

// WriteHeader notes and sends the status.
func (w *statusNoter) WriteHeader(status int) {
	if w.x.Status == 0 {
		w.x.Status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// ReadFrom keeps the writer's own way of copying files.
func (w *statusNoter) ReadFrom(from io.Reader) (int64, error) {
	return io.Copy(w.ResponseWriter, from)
}

// Forward makes a reader of known size seekable: moving ahead reads and drops, and what
// lies behind cannot be read again.
func Forward(from io.ReadCloser, size int64) io.ReadSeekCloser {
	return &forward{from: from, size: size}
}

type forward struct {
	from     io.ReadCloser
	size     int64
	want, at int64
}

// Seek says where the next Read begins.
func (f *forward) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.want
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	f.want = offset
	return offset, nil
}

// Read returns what is at the wanted place.
func (f *forward) Read(p []byte) (int, error) {
	if f.want < f.at {
		return 0, io.ErrUnexpectedEOF
	}
	if skip := f.want - f.at; skip > 0 {
		n, err := io.CopyN(io.Discard, f.from, skip)
		f.at += n
		if err != nil {
			return 0, err
		}
	}
	n, err := f.from.Read(p)
	f.at += int64(n)
	f.want = f.at
	return n, err
}

// Close ends the reader below.
func (f *forward) Close() error { return f.from.Close() }
