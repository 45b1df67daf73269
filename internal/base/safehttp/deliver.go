package safehttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxAnswer is how many bytes are read of the answer to a delivery.
const maxAnswer = 8 << 10

// Delivery is a request that notifies or asks another server.
type Delivery struct {
	URL         string
	Header      map[string]string
	Body        []byte
	Certificate *tls.Certificate // of this server as a client; nil for none
}

// StatusError says that a server answered a delivery with a status of 400 or more.
type StatusError struct{ Status int }

// Error returns the status.
func (e *StatusError) Error() string { return fmt.Sprintf("the server answered %d", e.Status) }

// Deliver is Ask where the answer does not count: a status of 400 or more is a *StatusError.
func (d *Dialer) Deliver(ctx context.Context, timeout time.Duration, what Delivery) error {
	status, _, err := d.Ask(ctx, timeout, what)
	if err == nil && status >= http.StatusBadRequest {
		return &StatusError{status}
	}
	return err
}

// Ask posts to a server, within the rules as they are now, and gives up after timeout. It returns the status and the beginning of the answer,
// and goes nowhere that an answer leads to. An error is a *BlockedError where the rules forbid the address, or says what
// failed; none names the URL, which may hold a secret.
func (d *Dialer) Ask(ctx context.Context, timeout time.Duration, what Delivery) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, what.URL, bytes.NewReader(what.Body))
	if err != nil {
		return 0, nil, &BlockedError{reasonURI}
	}
	for name, value := range what.Header {
		r.Header.Set(name, value)
	}
	client := d.Client(timeout)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if what.Certificate != nil {
		transport := d.transport()
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*what.Certificate}}
		client.Transport = transport
	}
	got, err := client.Do(r)
	if blocked, ok := errors.AsType[*BlockedError](err); ok {
		return 0, nil, blocked
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil {
		return 0, nil, fmt.Errorf("deliver: %w", err)
	}
	defer func() { _ = got.Body.Close() }()
	answer, _ = io.ReadAll(io.LimitReader(got.Body, maxAnswer))
	return got.StatusCode, answer, nil
}
