package app

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// How long a client may keep silent in the middle of a body. A git client compresses for
// minutes before the pack follows its commands; nobody else has a reason to pause.
const (
	patience    = 30 * time.Second
	gitPatience = 15 * time.Minute
)

// patiently ends the request when its body falls silent for longer than the limit, so
// that a client that vanishes or dawdles does not hold a connection for ever.
func patiently(w http.ResponseWriter, r *http.Request, limit time.Duration) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &patientBody{ReadCloser: r.Body, control: http.NewResponseController(w), limit: limit}
	}
}

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
	return n, err //nolint:wrapcheck // an io.Reader gives io.EOF as it is
}
