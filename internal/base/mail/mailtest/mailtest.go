// Package mailtest receives mail: an SMTP server in the process of a test.
package mailtest

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"tenon/internal/base/mail"
)

// Mail is a message that was received.
type Mail struct {
	From string // of the envelope
	To   string // likewise
	Raw  string

	Header netmail.Header
	Text   string
	HTML   string
}

// Get returns a header, decoded.
func (m *Mail) Get(name string) string {
	text, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get(name))
	if err != nil {
		return m.Header.Get(name)
	}
	return text
}

// Server receives mail until the test ends.
type Server struct {
	Port int

	mu       sync.Mutex
	mails    []Mail
	changed  chan struct{}
	refuse   func(to string) error // nil takes all
	user     string
	password string
	signedOn int
	open     int
}

// Options change a Server.
type Options struct {
	TLS            *tls.Config // nil speaks in the clear
	Implicit       bool        // TLS comes first, without STARTTLS
	User, Password string      // what a client must sign on with; "" asks for nothing
}

// New starts a server on a port of 127.0.0.1.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{changed: make(chan struct{}), user: o.User, password: o.Password}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Port = l.Addr().(*net.TCPAddr).Port
	server := smtp.NewServer(s)
	server.Domain, server.MaxMessageBytes, server.TLSConfig = "mail.test", 4<<20, o.TLS
	server.ReadTimeout, server.WriteTimeout = time.Minute, time.Minute
	if o.Implicit {
		l = tls.NewListener(l, o.TLS)
		server.TLSConfig = nil
		server.AllowInsecureAuth = true // the listener encrypts
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }() // ends with Close below
	t.Cleanup(func() {
		if err := server.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		<-done
	})
	return s
}

// Config names the server.
func (s *Server) Config() mail.Config {
	return mail.Config{
		Host: "127.0.0.1", Port: s.Port, Security: mail.Plain, Timeout: 10 * time.Second, Name: "code.example.com",
		From: netmail.Address{Name: "Tenon", Address: "tenon@code.example.com"},
	}
}

// Refuse has the server answer recipients with the errors that f gives; nil takes them.
func (s *Server) Refuse(f func(to string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

// SignedOn is how often a client signed on.
func (s *Server) SignedOn() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signedOn
}

// Opened is how many connections there were.
func (s *Server) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Take returns what was received since the last call, by recipient.
func (s *Server) Take() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.mails
	s.mails = nil
	slices.SortStableFunc(out, func(a, b Mail) int { return strings.Compare(a.To, b.To) })
	return out
}

// Wait waits until n messages were received since the last Take, and takes them.
func (s *Server) Wait(t testing.TB, n int) []Mail {
	t.Helper()
	late := time.After(time.Minute)
	for {
		s.mu.Lock()
		got, changed := len(s.mails), s.changed
		s.mu.Unlock()
		if got >= n {
			return s.Take()
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%d mails after a minute, want %d", got, n)
		}
	}
}

// NewSession begins a session.
func (s *Server) NewSession(*smtp.Conn) (smtp.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	return &session{server: s, trusted: s.user == ""}, nil
}

type session struct {
	server   *Server
	trusted  bool
	from, to string
}

func (x *session) AuthMechanisms() []string {
	if x.server.user == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (x *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != x.server.user || password != x.server.password {
			return smtp.ErrAuthFailed
		}
		x.trusted = true
		x.server.mu.Lock()
		defer x.server.mu.Unlock()
		x.server.signedOn++
		return nil
	}), nil
}

func (x *session) Mail(from string, _ *smtp.MailOptions) error {
	if !x.trusted {
		return smtp.ErrAuthRequired
	}
	x.from = from
	return nil
}

func (x *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	x.server.mu.Lock()
	refuse := x.server.refuse
	x.server.mu.Unlock()
	if refuse != nil {
		if err := refuse(to); err != nil {
			return err
		}
	}
	x.to = to
	return nil
}

func (x *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m, err := parse(raw)
	if err != nil {
		return &smtp.SMTPError{Code: 554, Message: err.Error()}
	}
	m.From, m.To = x.from, x.to
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	x.server.mails = append(x.server.mails, m)
	close(x.server.changed)
	x.server.changed = make(chan struct{})
	return nil
}

func (x *session) Reset() { x.from, x.to = "", "" }

func (x *session) Logout() error { return nil }

// parse reads a message of two parts, a text and its HTML, or of a text alone.
func parse(raw []byte) (Mail, error) {
	m := Mail{Raw: string(raw)}
	msg, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return m, err
	}
	m.Header = msg.Header
	kind, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if kind == "text/plain" {
		body, err := io.ReadAll(quotedprintable.NewReader(msg.Body))
		m.Text = strings.ReplaceAll(string(body), "\r\n", "\n")
		return m, err
	}
	if err != nil || kind != "multipart/alternative" {
		return m, errors.Join(err, errors.New("no alternatives: "+kind))
	}
	for parts := multipart.NewReader(msg.Body, params["boundary"]); ; {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err != nil {
			return m, err
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			return m, err
		}
		if text := strings.ReplaceAll(string(body), "\r\n", "\n"); strings.HasPrefix(part.Header.Get("Content-Type"), "text/html") {
			m.HTML = text
		} else {
			m.Text = text
		}
	}
}
