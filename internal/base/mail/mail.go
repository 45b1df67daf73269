// Package mail sends mail through an SMTP server that the operator names. It connects to that
// server alone, wherever it is: a relay on the same machine or in the same network is what
// most have.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
)

// Security says how a connection is encrypted.
type Security string

// The ways: as the first thing said, as the first thing done, not at all.
const (
	StartTLS Security = "starttls"
	TLS      Security = "tls"
	Plain    Security = "off"
)

// Config names an SMTP server.
type Config struct {
	Host     string
	Port     int
	Security Security
	User     string // "" does not sign on
	Password string
	Timeout  time.Duration // of each step: connecting, and sending one message
	Name     string        // of this host, for EHLO

	From  netmail.Address // of every message; its name is what messages without one have
	Roots *x509.CertPool  // that the certificate of the server goes back to; nil are those of the system
}

// Sender sends mail. It is safe for concurrent use.
type Sender struct{ config Config }

// New makes a Sender, which connects when there is something to send.
func New(c Config) *Sender { return &Sender{config: c} }

// Header is one line above a message.
type Header struct{ Name, Value string }

// Message is one mail to one reader. What is in a header loses its control characters, so
// that no text begins a header of its own.
type Message struct {
	FromName   string // shown as the sender; "" is the name of Config.From
	From       string // address shown as the sender; "" is that of Config.From, to which answers of servers always go
	To         netmail.Address
	ReplyTo    netmail.Address // no address leaves the header out
	ID         string          // "local@host", without <>
	InReplyTo  string          // likewise, "" for none
	References []string        // likewise
	Date       time.Time
	Subject    string
	Headers    []Header // beyond those above; those without a value are left out
	Text       string
	HTML       string // "" for none
}

// RefusedError says that the server does not take a message, whenever it is sent.
type RefusedError struct{ Err error }

// Error returns the answer of the server.
func (e *RefusedError) Error() string { return "refused: " + e.Err.Error() }

// Unwrap returns what the server answered.
func (e *RefusedError) Unwrap() error { return e.Err }

// Conn is a connection on which messages are sent one after the other.
type Conn struct {
	config *Config
	client *gomail.Client
}

// Open connects and signs on. Close what it returns.
func (s *Sender) Open(ctx context.Context) (*Conn, error) {
	c := &s.config
	options := []gomail.Option{
		gomail.WithPort(c.Port), gomail.WithTimeout(c.Timeout), gomail.WithoutNoop(), gomail.WithHELO(c.Name),
		gomail.WithTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.Host, RootCAs: c.Roots}),
	}
	switch c.Security {
	case TLS:
		options = append(options, gomail.WithSSL())
	case Plain:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if c.User != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(c.User), gomail.WithPassword(c.Password))
	}
	client, err := gomail.NewClient(c.Host, options...)
	if err != nil {
		return nil, fmt.Errorf("mail server %s: %w", c.Host, err)
	}
	if err := client.DialWithContext(ctx); err != nil {
		return nil, fmt.Errorf("connect to mail server %s:%d: %w", c.Host, c.Port, err)
	}
	return &Conn{config: c, client: client}, nil
}

// Close ends the connection.
func (c *Conn) Close() error {
	if err := c.client.Close(); err != nil {
		return fmt.Errorf("close connection to mail server: %w", err)
	}
	return nil
}

// Send sends a message. The error is a *RefusedError where sending it again is of no use; after
// any other error the connection is of no use.
func (c *Conn) Send(m Message) error {
	msg := c.build(m)
	err := c.client.Send(msg)
	if err == nil || msg.IsDelivered() {
		return nil
	}
	if failed, ok := errors.AsType[*gomail.SendError](err); ok && permanent(failed) {
		return &RefusedError{err}
	}
	return fmt.Errorf("send mail: %w", err)
}

// permanent reports an answer of the 500s to one message. Those to commands before the
// message concern all messages, and mend when the operator looks after them.
func permanent(e *gomail.SendError) bool {
	switch e.Reason {
	case gomail.ErrGetRcpts, gomail.ErrNoUnencoded, gomail.ErrWriteContent:
		return e.ErrorCode() == 0 && e.Reason != gomail.ErrWriteContent
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPDataClose:
		return e.ErrorCode() >= 500 && e.ErrorCode() < 600
	}
	return false
}

// build makes what is sent. Headers are encoded as RFC 2047 says.
func (c *Conn) build(m Message) *gomail.Msg {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	from := c.config.From
	if m.FromName != "" {
		from.Name = m.FromName
	}
	from.Name = Line(from.Name)
	msg.EnvelopeFromMailAddress(&netmail.Address{Address: from.Address})
	if m.From != "" {
		from.Address = m.From
	}
	msg.FromMailAddress(&from)
	m.To.Name = Line(m.To.Name)
	msg.ToMailAddress(&m.To)
	if m.ReplyTo.Address != "" {
		m.ReplyTo.Name = Line(m.ReplyTo.Name)
		msg.ReplyToMailAddress(&m.ReplyTo)
	}
	msg.Subject(Line(m.Subject))
	msg.SetDateWithValue(m.Date)
	msg.SetMessageIDWithValue(Line(m.ID))
	if m.InReplyTo != "" {
		msg.SetGenHeader(gomail.HeaderInReplyTo, "<"+Line(m.InReplyTo)+">")
	}
	if len(m.References) > 0 {
		msg.SetGenHeader(gomail.HeaderReferences, "<"+Line(strings.Join(m.References, "> <"))+">")
	}
	for _, h := range m.Headers {
		if value := Line(h.Value); value != "" {
			msg.SetGenHeader(gomail.Header(h.Name), value)
		}
	}
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	return msg
}

// Line returns a text as a header may have it: one line, without control characters.
func Line(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\ufffd"), func(r rune) bool {
		return r == ' ' || unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	}), " ")
}

// Check looks whether the server takes mail: it connects and signs on, and sends nothing.
func (s *Sender) Check(ctx context.Context) error {
	conn, err := s.Open(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}
