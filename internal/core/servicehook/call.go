package servicehook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"tenon/internal/base/safehttp"
	"tenon/internal/core/integration/kind"
)

// caller makes the calls of kinds.
type caller struct{ *safehttp.Dialer }

// Call makes one call, which follows no redirect. No error names the address, which may hold a secret.
func (c caller) Call(ctx context.Context, r kind.Request) (int, []byte, error) {
	out, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodPost), r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return 0, nil, errors.New("the address of the integration is invalid")
	}
	out.Header.Set("User-Agent", "Tenon")
	for name, value := range r.Header {
		out.Header.Set(name, value)
	}
	if r.User != "" {
		out.SetBasicAuth(r.User, r.Password)
	}
	client := c.Client(callTimeout)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if transport, ok := client.Transport.(*http.Transport); ok && r.Insecure {
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // as the project says, for its own servers
	}
	answer, err := client.Do(out)
	if blocked, ok := errors.AsType[*safehttp.BlockedError](err); ok {
		return 0, nil, blocked
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil {
		return 0, nil, fmt.Errorf("call the integration: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return 0, nil, fmt.Errorf("read the answer of the integration: %w", err)
	}
	return answer.StatusCode, text, nil
}

// Say writes a text to a host by TCP.
func (c caller) Say(ctx context.Context, host string, port int64, text []byte) error {
	conn, err := c.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.FormatInt(port, 10)))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(callTimeout)); err != nil {
		return fmt.Errorf("call the integration: %w", err)
	}
	if _, err := conn.Write(text); err != nil {
		return fmt.Errorf("call the integration: %w", err)
	}
	return nil
}
