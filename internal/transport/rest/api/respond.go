package api

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/budget"
	"tenon/internal/base/errs"
	"tenon/internal/base/jsonstream"
	"tenon/internal/transport/httpkit"
)

// None is the result of an endpoint that answers 204 without a body.
type None struct{}

// Reply is a JSON body with a status or headers that the endpoint chooses itself.
// A zero Status is the route's.
type Reply[T any] struct {
	Status int
	Header http.Header
	Body   T
	Done   func() // called when the body was sent; may be nil
}

// Raw is an answer that is no JSON of an entity: a file, an archive, a text. It
// carries either Bytes or a Stream, which the kit closes. The Content-Type is
// application/octet-stream where Type is "".
type Raw struct {
	Status int // 0 is the route's
	Type   string
	Header http.Header
	Bytes  []byte
	Stream io.ReadCloser
	Length int64 // of the Stream; 0 is unknown
	Tagged bool  // Bytes get an ETag, and If-None-Match is honoured

	To  string   // URL that the answer leads to, instead of bytes or a stream
	But []string // parameters of the query that To does not get, besides credentials; nil for none of the query
}

// Text is an answer in plain text.
type Text string

// renderer is a result that is more than a JSON body. It gets the parameters of
// the request as a pointer to their struct.
type renderer interface {
	render(x *exchange, params any) error
}

func (None) render(x *exchange, _ any) error {
	x.begin(x.route.status)
	return nil
}

func (r Reply[T]) render(x *exchange, _ any) error {
	if r.Done != nil {
		defer r.Done()
	}
	copyHeader(x.w.Header(), r.Header)
	status := r.Status
	if status == 0 {
		status = x.route.status
	}
	return x.json(status, r.Body)
}

func (t Text) render(x *exchange, _ any) error {
	x.w.Header().Set("Content-Type", "text/plain")
	x.tagged(x.route.status, []byte(t))
	return nil
}

func (r Raw) render(x *exchange, _ any) error {
	h := x.w.Header()
	copyHeader(h, r.Header)
	status, kind := r.Status, r.Type
	if status == 0 {
		status = x.route.status
	}
	if kind == "" {
		kind = "application/octet-stream"
	}
	h.Set("Content-Type", kind)
	switch {
	case r.To != "":
		to := r.to(x.r.URL.Query())
		h.Set("Location", to)
		x.bytes(status, []byte("This resource has been moved temporarily to "+to+"."))
		return nil
	case r.Stream == nil && r.Tagged:
		x.tagged(status, r.Bytes)
		return nil
	case r.Stream == nil:
		x.bytes(status, r.Bytes)
		return nil
	}
	defer r.Stream.Close()
	if r.Length > 0 {
		h.Set("Content-Length", strconv.FormatInt(r.Length, 10))
	}
	x.begin(status)
	if x.r.Method == http.MethodHead {
		return nil
	}
	if _, err := io.Copy(x.w, r.Stream); err != nil {
		x.broken(err)
	}
	return nil
}

// to is the URL that the answer leads to for a query.
func (r Raw) to(query url.Values) string {
	if r.But == nil {
		return r.To
	}
	for _, name := range slices.Concat(r.But, httpkit.SecretParams) {
		query.Del(name)
	}
	if len(query) == 0 {
		return r.To
	}
	return r.To + "?" + query.Encode()
}

// maxAnswer is how many bytes an answer in JSON has at most: six for each of the text of a list, and the rest.
const maxAnswer = 6*budget.MaxList + 64<<20

var errLarge error = errs.New(errs.Unprocessable, "The answer has more than 256 MiB. Ask for less at a time.")

// json renders a body. Nothing is sent where it cannot be encoded.
func (x *exchange) json(status int, body any) error {
	made, err := httpkit.MakeBody(x.r.Context(), maxAnswer, func(w *jsonstream.Writer) { w.Value(body) })
	switch {
	case errors.Is(err, httpkit.ErrLarge):
		return errLarge
	case err != nil:
		return err
	}
	defer made.Free()
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	if (status == http.StatusOK || status == http.StatusCreated) && x.unchanged(status, made.Tag()) {
		return nil
	}
	h.Set("Content-Length", strconv.FormatInt(made.Size(), 10))
	x.begin(status)
	if x.r.Method == http.MethodHead {
		return nil
	}
	if err := made.Send(x.w); err != nil && made.Long() {
		x.broken(err)
	}
	return nil
}

// tagged sends a body with its ETag, or 304 to a reader that has it already.
func (x *exchange) tagged(status int, body []byte) {
	if !x.unchanged(status, httpkit.ETag(body)) {
		x.bytes(status, body)
	}
}

// unchanged sets the tag of a body, and answers 304 to a reader that has it already.
func (x *exchange) unchanged(status int, tag string) bool {
	h := x.w.Header()
	h.Set("Etag", tag)
	h.Set("Cache-Control", "max-age=0, private, must-revalidate")
	reading := x.r.Method == http.MethodGet || x.r.Method == http.MethodHead
	if !reading || status != http.StatusOK || !Matches(x.r.Header.Get("If-None-Match"), tag) {
		return false
	}
	h.Del("Content-Type")
	x.begin(http.StatusNotModified)
	return true
}

// bytes sends a whole body; HEAD gets its headers only.
func (x *exchange) bytes(status int, body []byte) {
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.begin(status)
	if x.r.Method == http.MethodHead {
		return
	}
	_, _ = x.w.Write(body) // fails when the client has gone, which is its own affair
}

// begin sends the status and the headers.
func (x *exchange) begin(status int) {
	h := x.w.Header()
	if _, ok := h["Cache-Control"]; !ok {
		h.Set("Cache-Control", "no-cache")
	}
	h.Set("X-Runtime", x.runtime())
	x.Status = status
	x.w.WriteHeader(status)
}

// Matches reports whether an If-None-Match header names the tag, or is "*".
// Tags compare weakly, as RFC 9110 asks for this header.
func Matches(header, tag string) bool {
	if header == "" {
		return false
	}
	tag = strings.TrimPrefix(tag, "W/")
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
			return true
		}
	}
	return false
}

func copyHeader(to, from http.Header) {
	for k, v := range from {
		to[k] = v
	}
}
