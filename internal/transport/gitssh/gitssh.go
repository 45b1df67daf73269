// Package gitssh serves git over SSH: clone, fetch, push and archive, for a caller who holds
// a key that an account knows. It offers nothing else: no shell, no forwarding, no
// terminal, and no way to sign on but a public key.
package gitssh

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"tenon/internal/core"

	"golang.org/x/crypto/ssh"
)

// Deps are what the server is built on.
type Deps struct {
	*core.Services
	Log *slog.Logger

	HostKeys string               // folder of the host keys, which are made where they are missing
	Busy     func() (done func()) // called for every command; may be nil

	// Observe, where set, is called when a command of git begins, and done when it ends, with
	// what came of it. The command runs with the context that it returns.
	Observe func(ctx context.Context, service string) (with context.Context, done func(Observation))

	// Brief is set for a server that soon ends: it makes no key for RSA, which takes the
	// processor most of a second.
	Brief bool

	Connections int // at a time in all; 0 is 1024
	PerAddress  int // at a time from one address; 0 is 64

	SignOnTime  time.Duration // from the connection to a proved identity; 0 is 30 seconds
	RestingTime time.Duration // without a byte while no command runs; 0 is 2 minutes
}

// Observation is one command of git.
type Observation struct {
	Service  string // such as git-upload-pack
	Status   int    // of the command; 0 is success
	Duration time.Duration
	In, Out  int64 // bytes from and to the client
	UserID   int64 // 0 for deploy keys
}

// How long things may take.
const (
	workingTime = time.Hour   // without a byte while a command runs
	partingTime = time.Second // for the client to hang up when the server stops
)

// Server accepts connections. It is safe for concurrent use.
type Server struct {
	Deps
	config atomic.Pointer[ssh.ServerConfig]
	wg     sync.WaitGroup // connections, and the making of the last host key

	mu      sync.Mutex
	closing bool
	stop    chan struct{} // closed when closing
	conns   map[*conn]struct{}
	from    map[netip.Prefix]int
	l       net.Listener
}

// New builds the server and reads its host keys; those that are missing are made, the
// one that takes long in the background.
func New(d Deps) (*Server, error) {
	d.Connections = cmp.Or(d.Connections, 1024)
	d.PerAddress = cmp.Or(d.PerAddress, 64)
	d.SignOnTime = cmp.Or(d.SignOnTime, 30*time.Second)
	d.RestingTime = cmp.Or(d.RestingTime, 2*time.Minute)
	s := &Server{Deps: d, stop: make(chan struct{}), conns: map[*conn]struct{}{}, from: map[netip.Prefix]int{}}
	signers, late, err := hostKeys(d.HostKeys)
	if err != nil {
		return nil, err
	}
	s.config.Store(s.configure(signers))
	if late && !d.Brief {
		s.wg.Go(func() { s.addLateKey(signers) })
	}
	return s, nil
}

// configure says what the server speaks: what is sound, and public keys alone.
func (s *Server) configure(signers []ssh.Signer) *ssh.ServerConfig {
	c := &ssh.ServerConfig{
		Config: ssh.Config{
			KeyExchanges: []string{
				ssh.KeyExchangeMLKEM768X25519, ssh.KeyExchangeCurve25519, ssh.KeyExchangeECDHP256, ssh.KeyExchangeECDHP384,
				ssh.KeyExchangeECDHP521, ssh.KeyExchangeDH16SHA512, ssh.KeyExchangeDH14SHA256,
			},
			Ciphers: []string{
				ssh.CipherAES128GCM, ssh.CipherAES256GCM, ssh.CipherChaCha20Poly1305, ssh.CipherAES256CTR, ssh.CipherAES192CTR,
				ssh.CipherAES128CTR,
			},
			MACs: []string{ssh.HMACSHA256ETM, ssh.HMACSHA512ETM, ssh.HMACSHA256, ssh.HMACSHA512},
		},
		PublicKeyAuthAlgorithms: []string{
			ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384,
			ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512,
		},
		MaxAuthTries:      6,
		PublicKeyCallback: s.recognize,
		ServerVersion:     "SSH-2.0-Tenon",
	}
	for _, signer := range signers {
		c.AddHostKey(signer)
	}
	return c
}

// Serve accepts connections from l until Shutdown.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.mu.Lock()
	s.l = l
	s.mu.Unlock()
	for {
		nc, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil: // no more files, perhaps: it passes
			s.Log.Error("accept SSH connection", "error", err)
			if !s.pause(100 * time.Millisecond) {
				return nil
			}
			continue
		}
		c := s.admit(nc)
		if c == nil {
			_ = nc.Close() // there are too many
			continue
		}
		s.wg.Go(func() {
			defer s.dismiss(c)
			c.serve(ctx)
		})
	}
}

// pause waits, and reports false where the server stops meanwhile.
func (s *Server) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.stop:
		return false
	}
}

// Shutdown stops accepting, lets commands that run finish and hangs up; when ctx ends
// first they are ended.
func (s *Server) Shutdown(ctx context.Context) {
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		close(s.stop)
	}
	if s.l != nil {
		_ = s.l.Close()
	}
	for c := range s.conns {
		c.part()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		_ = c.net.Close()
	}
	s.mu.Unlock()
	<-done // git is killed with its connection
}

// admit counts a connection in, or gives nil where there are too many.
func (s *Server) admit(nc net.Conn) *conn {
	c := &conn{server: s, net: nc, from: origin(nc.RemoteAddr())}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || len(s.conns) >= s.Connections || s.from[c.from] >= s.PerAddress {
		return nil
	}
	s.conns[c] = struct{}{}
	s.from[c.from]++
	return c
}

func (s *Server) dismiss(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.from[c.from]--; s.from[c.from] == 0 {
		delete(s.from, c.from)
	}
}

// origin is what counts as one address: an address of IPv4, a network of 64 bits of IPv6.
func origin(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 32
	if ip.Is6() {
		bits = 64
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
