package dbtest

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Proxy stands between a program and PostgreSQL, which goes away and comes back with it.
type Proxy struct {
	URL string // of the database, by way of the proxy

	network, address string // of the server
	listener         net.Listener
	all              sync.WaitGroup
	mu               sync.Mutex
	away             bool
	open             map[net.Conn]struct{}
}

// NewProxy starts a proxy for a database that PostgresURL gave. It ends with the test.
func NewProxy(tb testing.TB, database string) *Proxy {
	tb.Helper()
	conf, err := pgx.ParseConfig(database)
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{open: make(map[net.Conn]struct{})}
	p.network, p.address = pgconn.NetworkAddress(conf.Host, conf.Port)
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		tb.Fatal(err)
	}
	p.URL = (&url.URL{
		Scheme: "postgres", User: url.UserPassword(conf.User, conf.Password), Host: p.listener.Addr().String(), Path: "/" + conf.Database,
		RawQuery: "sslmode=disable",
	}).String()
	p.all.Go(p.serve) // ends when the listener is closed
	tb.Cleanup(func() {
		if err := p.listener.Close(); err != nil {
			tb.Error(err)
		}
		p.Cut()
		p.all.Wait()
	})
	return p
}

// Cut ends every connection and lets no other come about.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = true
	for c := range p.open {
		_ = c.Close()
	}
}

// Restore lets connections come about again.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = false
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() { // ends when one of the two sides does, or with Cut
			if err := p.join(client); err != nil {
				_ = client.Close()
			}
		})
	}
}

// join copies between a client and the server until one of them ends.
func (p *Proxy) join(client net.Conn) error {
	server, err := net.Dial(p.network, p.address)
	if err != nil {
		return err
	}
	p.mu.Lock()
	away := p.away
	if !away {
		p.open[client], p.open[server] = struct{}{}, struct{}{}
	}
	p.mu.Unlock()
	if away {
		_ = server.Close()
		return fmt.Errorf("proxy is cut")
	}
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
		both.Go(func() {
			_, _ = io.Copy(to, from) // however it ends, both are closed
			_ = to.Close()
			_ = from.Close()
		})
	}
	both.Wait()
	p.mu.Lock()
	delete(p.open, client)
	delete(p.open, server)
	p.mu.Unlock()
	return nil
}
