package servicehook

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"tenon/internal/base/safehttp"
	"tenon/internal/core/integration/kind"
)

// caller makes the calls of kinds.
type caller struct{ *safehttp.Dialer }

// Call makes one call.
func (c caller) Call(ctx context.Context, r kind.Request) (status int, answer []byte, err error) {
	header := map[string]string{"User-Agent": "Tenon"}
	for name, value := range r.Header {
		header[name] = value
	}
	got, err := c.Dialer.Call(ctx, callTimeout, safehttp.Delivery{
		Method: r.Method, URL: r.URL, User: r.User, Password: r.Password, Header: header, Body: r.Body, Unverified: r.Insecure, MaxAnswer: maxAnswer,
	})
	return got.Status, got.Body, err
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
