package safehttp

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Upload sends a body of a known size to a server, within the rules as they are now, and returns how the server answered. It goes
// nowhere that an answer leads to. An error says what failed without the URL, which may hold a secret.
func (d *Dialer) Upload(ctx context.Context, what Sending) (Sent, error) {
	r, err := http.NewRequestWithContext(ctx, what.Method, what.URL, io.NopCloser(what.Body))
	if err != nil {
		return Sent{}, &BlockedError{reasonURI}
	}
	r.ContentLength = what.Size
	r.Header.Set("Content-Type", what.Type)
	credentials(r)
	client, _ := d.direct(what.Timeout)
	got, err := client.Do(r)
	if err != nil {
		return Sent{}, failure(err)
	}
	return Sent{got.StatusCode, http.StatusText(got.StatusCode)}, got.Body.Close()
}

// Sending is a large body for another server.
type Sending struct {
	Method  string
	URL     string // with a user name and a password these are sent as HTTP Basic
	Type    string // media type of the body
	Body    io.Reader
	Size    int64 // of the body
	Timeout time.Duration
}

// Sent is how a server answered a Sending.
type Sent struct {
	Status int
	Text   string // of the status
}
