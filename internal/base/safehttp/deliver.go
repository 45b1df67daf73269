package safehttp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Bounds of the answer to a delivery.
const (
	maxAnswer       = 8 << 10 // unless the delivery says otherwise
	maxHeaders      = 50
	maxHeaderLength = 1 << 10
	maxHeaderBytes  = 64 << 10
)

// Delivery is a request that notifies or asks another server.
type Delivery struct {
	Method      string // "" is POST
	URL         string // with a user name and a password these are sent as HTTP Basic
	User        string // the same, "" for those of the URL
	Password    string
	Header      map[string]string
	Body        []byte
	Certificate *tls.Certificate // of this server as a client; nil for none
	Unverified  bool             // accept any certificate of the server
	MaxAnswer   int64            // bytes of the answer that are read; 0 is 8 KiB
}

// Answer is the beginning of what a server answered: of the body what the delivery asks for, and 50 headers with 1 KiB each.
type Answer struct {
	Status int
	Header map[string]string // those of one name are joined by commas
	Body   []byte
}

// Accepted reports whether the server took the delivery: an answer that leads elsewhere counts.
func (a *Answer) Accepted() bool { return a.Status < http.StatusBadRequest }

// Passing reports whether the server failed, or asks to come again later: the same delivery may be accepted then.
func (a *Answer) Passing() bool {
	return a.Status == http.StatusTooManyRequests || a.Status >= http.StatusInternalServerError
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

// Ask is Call, and returns the status and the beginning of the answer, also of one that breaks off.
func (d *Dialer) Ask(ctx context.Context, timeout time.Duration, what Delivery) (status int, answer []byte, err error) {
	got, err := d.Call(ctx, timeout, what)
	if got.Status != 0 {
		err = nil
	}
	return got.Status, got.Body, err
}

// direct makes a client, with its transport, that goes nowhere an answer leads to and decompresses nothing.
func (d *Dialer) direct(timeout time.Duration) (*http.Client, *http.Transport) {
	transport := d.transport()
	transport.DisableCompression, transport.MaxResponseHeaderBytes = true, maxHeaderBytes
	return &http.Client{
		Timeout: timeout, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, transport
}

// credentials sends the user name and password of a URL as HTTP Basic.
func credentials(r *http.Request) {
	if user := r.URL.User; user != nil {
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
		r.URL.User = nil
	}
}

// Call sends a request to a server, within the rules as they are now, and gives up after timeout. It goes nowhere that an answer leads to, and
// decompresses nothing. An error is a *BlockedError where the rules forbid the address, or says what failed; none names the URL, which
// may hold a secret. An answer that breaks off, or does not end in time, within the part that is read is an error, too.
func (d *Dialer) Call(ctx context.Context, timeout time.Duration, what Delivery) (Answer, error) {
	r, err := http.NewRequestWithContext(ctx, cmp.Or(what.Method, http.MethodPost), what.URL, bytes.NewReader(what.Body))
	if err != nil {
		return Answer{}, &BlockedError{reasonURI}
	}
	for name, value := range what.Header {
		r.Header.Set(name, value)
	}
	credentials(r)
	if what.User != "" {
		r.SetBasicAuth(what.User, what.Password)
	}
	client, transport := d.direct(timeout)
	if what.Certificate != nil || what.Unverified {
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: what.Unverified}
	}
	if what.Certificate != nil {
		transport.TLSClientConfig.Certificates = []tls.Certificate{*what.Certificate}
	}
	got, err := client.Do(r)
	if err != nil {
		return Answer{}, failure(err)
	}
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(got.Body, cmp.Or(what.MaxAnswer, maxAnswer)))
	out := Answer{Status: got.StatusCode, Header: beginning(got.Header), Body: body}
	if err != nil {
		return out, failure(err)
	}
	return out, nil
}

// failure says what failed, without the URL.
func failure(err error) error {
	if blocked, ok := errors.AsType[*BlockedError](err); ok {
		return blocked
	}
	timedOut := false
	if failed, ok := errors.AsType[*url.Error](err); ok {
		timedOut, err = failed.Timeout(), failed.Err
	}
	if slow, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); timedOut || ok && slow.Timeout() {
		return errTimeout
	}
	return fmt.Errorf("deliver: %w", err)
}

// errTimeout says that a server did not answer in time.
var errTimeout = errors.New("deliver: the server did not answer in time")

// beginning is what is kept of the headers of an answer.
func beginning(h http.Header) map[string]string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	out := make(map[string]string, min(len(names), maxHeaders))
	for _, name := range names[:min(len(names), maxHeaders)] {
		value := strings.Join(h[name], ", ")
		out[name[:min(len(name), maxHeaderLength)]] = strings.ToValidUTF8(value[:min(len(value), maxHeaderLength)], "\uFFFD")
	}
	return out
}
