package httpkit

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// How long a client may keep silent in the middle of a body. A git client compresses for
// minutes before the pack follows its commands; no other client has a reason to pause.
const (
	Patience    = 30 * time.Second
	GitPatience = 15 * time.Minute
)

// sendPatience is how long a client may take for the next piece of an answer: a few
// dozen kilobytes.
const sendPatience = 5 * time.Minute

// Patiently ends the request when its body falls silent for longer than the limit, or
// when the client does not read the answer, so that a client that vanishes or dawdles does not hold
// a connection and a git process for ever. The answer is to be written to the result.
func Patiently(w http.ResponseWriter, r *http.Request, limit time.Duration) http.ResponseWriter {
	control := http.NewResponseController(w)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &patientBody{ReadCloser: r.Body, control: control, limit: limit}
	}
	return &patientAnswer{ResponseWriter: w, control: control}
}

type patientAnswer struct {
	http.ResponseWriter
	control *http.ResponseController
}

// WriteHeader begins the answer; what an earlier one left of the limit does not count.
func (a *patientAnswer) WriteHeader(status int) {
	a.extend()
	a.ResponseWriter.WriteHeader(status)
}

// Write sends a piece within the limit.
func (a *patientAnswer) Write(p []byte) (int, error) {
	a.extend()
	return a.ResponseWriter.Write(p)
}

// ReadFrom sends from a file, one piece within the limit; the writer below knows how to
// without copying.
func (a *patientAnswer) ReadFrom(from io.Reader) (int64, error) {
	a.extend()
	return io.Copy(a.ResponseWriter, from)
}

func (a *patientAnswer) extend() {
	// A connection without deadlines is written to without one.
	_ = a.control.SetWriteDeadline(time.Now().Add(sendPatience))
}

// Unwrap lets a ResponseController reach the connection.
func (a *patientAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

type patientBody struct {
	io.ReadCloser
	control *http.ResponseController
	limit   time.Duration
}

// Read reads what comes within the limit. At the end of the body the limit is lifted,
// because the server goes on reading to notice when the client hangs up.
func (b *patientBody) Read(p []byte) (int, error) {
	// A connection without deadlines is read without one.
	_ = b.control.SetReadDeadline(time.Now().Add(b.limit))
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
