package safehttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Opened is an answer whose body, of any length, is read as it comes.
type Opened struct {
	Status int
	Header http.Header
	Length int64 // of the body; -1 where the server does not name it
	Body   io.ReadCloser
}

// Retrieve sends a GET or HEAD request, and follows up to three answers that lead elsewhere, each within the rules as they are now. It gives
// up after timeout, which includes reading the body, and where the body comes more slowly than pace. Nothing is decompressed. An error is
// a *[BlockedError] where the rules forbid an address, or says what failed without the URL, which may hold a secret.
func (d *Dialer) Retrieve(ctx context.Context, method, url string, timeout time.Duration, pace Pace) (*Opened, error) {
	if _, err := d.CheckURL(url); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		cancel()
		return nil, &BlockedError{reasonURI}
	}
	credentials(r)
	client := d.Client(timeout)
	transport := d.transport()
	transport.DisableCompression = true
	client.Transport = transport
	return stream(client, r, pace, cancel)
}

// stream sends a request, which cancel ends.
func stream(client *http.Client, r *http.Request, pace Pace, cancel context.CancelFunc) (*Opened, error) {
	got, err := client.Do(r) //nolint:bodyclose // who reads the answer closes it
	if err != nil {
		cancel()
		return nil, failure(err)
	}
	return &Opened{Status: got.StatusCode, Header: got.Header, Length: got.ContentLength, Body: &opened{pace.Reader(got.Body, cancel), got.Body, cancel}}, nil
}

// opened ends the request when it is closed.
type opened struct {
	io.Reader
	body io.Closer
	end  func()
}

// Read reads on.
func (o *opened) Read(p []byte) (int, error) {
	n, err := o.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, ErrTooSlow) {
		err = failure(err)
	}
	return n, err
}

// Close ends the request.
func (o *opened) Close() error {
	o.end()
	if err := o.body.Close(); err != nil {
		return fmt.Errorf("close answer: %w", err)
	}
	return nil
}

// RoundTripper is what clients of other protocols over HTTP send requests by, within the rules. It follows no answer that leads elsewhere.
func (d *Dialer) RoundTripper() http.RoundTripper {
	transport := d.transport()
	transport.DisableCompression = true
	return transport
}

// trusting is the configuration of TLS; nil trusts the system's roots.
func (d *Dialer) trusting() *tls.Config {
	if d.Roots == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: d.Roots}
}

// Stream sends a request, and hands on the answer, whose body is read as it comes. Like [Dialer.Call] it goes nowhere that an answer leads to,
// and decompresses nothing; like [Dialer.Retrieve] it gives up after timeout, and where the body comes more slowly than pace.
func (d *Dialer) Stream(ctx context.Context, timeout time.Duration, what Delivery, pace Pace) (*Opened, error) {
	if _, err := d.CheckURL(what.URL); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r, err := http.NewRequestWithContext(ctx, what.Method, what.URL, http.NoBody)
	if err != nil {
		cancel()
		return nil, &BlockedError{reasonURI}
	}
	for name, value := range what.Header {
		r.Header.Set(name, value)
	}
	client, _ := d.direct(timeout)
	return stream(client, r, pace, cancel)
}
