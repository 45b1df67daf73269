package safehttp

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tenon/internal/base/secret"
)

// Tunnel is a proxy on a port of this machine that leads to one host only, within the
// rules of a dialer. A program that must not open connections by itself gets it.
type Tunnel struct {
	dialer   *Dialer
	target   string // host:port
	secret   string
	listener net.Listener
	server   *http.Server
	done     chan struct{}
	left     atomic.Int64 // bytes that may still come in
	meter    meter

	mu      sync.Mutex
	blocked error
	conns   map[net.Conn]struct{}
}

// ErrTooMuch says that more came through a tunnel than it lets through.
var ErrTooMuch = errors.New("the answer is too large")

// Open starts a tunnel to the host of an address that lets limit bytes in, and breaks off
// when they come below a pace. The tunnel does not notice when nothing comes: the client
// gives up after the pace's Stall. Close it in any case.
func (d *Dialer) Open(to *url.URL, limit int64, pace Pace) (*Tunnel, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open tunnel: %w", err)
	}
	t := &Tunnel{
		dialer: d, target: net.JoinHostPort(strings.ToLower(to.Hostname()), strconv.Itoa(int(Port(to)))), secret: secret.NewToken("tunnel-"),
		listener: listener, done: make(chan struct{}), conns: map[net.Conn]struct{}{},
		meter: meter{pace: pace},
	}
	t.left.Store(limit)
	t.server = &http.Server{Handler: t, ReadHeaderTimeout: dialTimeout}
	go func() { // ends with Close
		defer close(t.done)
		_ = t.server.Serve(listener)
	}()
	return t, nil
}

// Address is how a client on this machine reaches the tunnel, with its secret.
func (t *Tunnel) Address() string {
	return "http://tenon:" + t.secret + "@" + t.listener.Addr().String()
}

// Blocked returns the reason why the tunnel refused to connect or broke off, nil where it
// did not.
func (t *Tunnel) Blocked() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.blocked
}

func (t *Tunnel) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.blocked == nil {
		t.blocked = err
	}
}

// Close ends the tunnel and everything that goes through it.
func (t *Tunnel) Close() error {
	err := t.server.Close()
	t.mu.Lock()
	for c := range t.conns {
		_ = c.Close()
	}
	t.mu.Unlock()
	<-t.done
	if err != nil {
		return fmt.Errorf("close tunnel: %w", err)
	}
	return nil
}

// ServeHTTP answers a client of the proxy.
func (t *Tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("tenon:"+t.secret))
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Proxy-Authorization")), []byte(want)) != 1 {
		w.Header().Set("Proxy-Authenticate", `Basic realm="tunnel"`)
		http.Error(w, "not for you", http.StatusProxyAuthRequired)
		return
	}
	target := r.Host
	if r.Method != http.MethodConnect {
		target = net.JoinHostPort(r.URL.Hostname(), strconv.Itoa(int(Port(r.URL))))
	}
	if strings.ToLower(target) != t.target {
		http.Error(w, "this leads elsewhere", http.StatusForbidden)
		return
	}
	if r.Method == http.MethodConnect {
		t.connect(w, r)
		return
	}
	r.Header.Del("Proxy-Authorization")
	// Otherwise the server reads the rest of the body itself when the answer begins, at the
	// same time as the transport does, which then gives up the connection.
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		http.Error(w, "no connection", http.StatusInternalServerError)
		return
	}
	transport := t.dialer.transport()
	transport.DisableKeepAlives = true
	transport.DialContext = t.dial
	(&httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.Out.Host = p.In.Host },
		Transport: transport, FlushInterval: -1,
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // Blocked says what matters
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { t.refuse(w, err) },
	}).ServeHTTP(w, r)
}

func (t *Tunnel) refuse(w http.ResponseWriter, err error) {
	if _, ok := errors.AsType[*BlockedError](err); ok {
		t.note(err)
	}
	http.Error(w, "no connection", http.StatusBadGateway)
}

// dial connects to the target; what comes from there counts.
func (t *Tunnel) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	conn, err := t.dialer.DialContext(ctx, network, t.target)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: conn, tunnel: t}, nil
}

// counted ends a connection through which too much came, or too slowly.
type counted struct {
	net.Conn
	tunnel *Tunnel
}

// Read reads what the target sends.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.tunnel.left.Add(-int64(n)) < 0 {
		c.tunnel.note(ErrTooMuch)
		return 0, ErrTooMuch
	}
	if err := c.tunnel.meter.arrived(n); err != nil {
		c.tunnel.note(err)
		return 0, err
	}
	return n, err
}

// connect joins the client with the target, for what is encrypted between them.
func (t *Tunnel) connect(w http.ResponseWriter, r *http.Request) {
	out, err := t.dial(r.Context(), "tcp", t.target)
	if err != nil {
		t.refuse(w, err)
		return
	}
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = out.Close()
		http.Error(w, "no connection", http.StatusInternalServerError)
		return
	}
	t.track(in, out)
	defer t.forget(in, out)
	_ = in.SetDeadline(time.Time{})
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	sent := make(chan struct{})
	go func() { // ends when either side is closed below
		defer close(sent)
		_, _ = io.Copy(out, buffered)
		_ = out.Close()
	}()
	_, _ = io.Copy(in, out)
	_ = in.Close()
	_ = out.Close()
	<-sent
}

func (t *Tunnel) track(conns ...net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range conns {
		t.conns[c] = struct{}{}
	}
}

func (t *Tunnel) forget(conns ...net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(t.conns, c)
	}
}
