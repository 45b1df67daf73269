package safehttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxAnswer is how many bytes are read of the answer to a delivery, which says nothing.
const maxAnswer = 8 << 10

// Delivery is a request that notifies another server.
type Delivery struct {
	URL    string
	Header map[string]string
	Body   []byte
}

// StatusError says that a server answered a delivery with a status of 400 or more.
type StatusError struct{ Status int }

// Error returns the status.
func (e *StatusError) Error() string { return fmt.Sprintf("the server answered %d", e.Status) }

// Deliver posts to a server, within the rules as they are now, and gives up after timeout. An
// answer that leads elsewhere counts as delivered, and nothing goes there. An error is a
// *BlockedError where the rules forbid the address, a *StatusError for a refusal, or says what
// failed; none names the URL, which may hold a secret.
func (d *Dialer) Deliver(ctx context.Context, timeout time.Duration, what Delivery) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, what.URL, bytes.NewReader(what.Body))
	if err != nil {
		return &BlockedError{reasonURI}
	}
	for name, value := range what.Header {
		r.Header.Set(name, value)
	}
	client := d.Client(timeout)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := client.Do(r)
	if blocked, ok := errors.AsType[*BlockedError](err); ok {
		return blocked
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil {
		return fmt.Errorf("deliver: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	if answer.StatusCode >= http.StatusBadRequest {
		return &StatusError{answer.StatusCode}
	}
	return nil
}
