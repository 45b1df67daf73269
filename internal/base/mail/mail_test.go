package mail_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http/httptest"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"tenon/internal/base/mail"
	"tenon/internal/base/mail/mailtest"
)

// certificate returns one for 127.0.0.1, and who signed it.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS12}, roots
}

func message(to string) mail.Message {
	return mail.Message{
		FromName: "Ann Lee (@ann)", To: netmail.Address{Name: "Bob", Address: to}, ID: "note_7@code.example.com", InReplyTo: "issue_3@code.example.com",
		References: []string{"issue_3@code.example.com", "key@code.example.com"}, Date: time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC),
		Subject: "Re: App | Caf\u00e9 (#3)", Headers: []mail.Header{{"X-Reason", "mentioned"}, {"X-None", ""}},
		Text: "A line.\n.\nAnother \u00e9.\n", HTML: "<p>A line.</p>\n",
	}
}

func send(t *testing.T, c mail.Config, messages ...mail.Message) error {
	t.Helper()
	conn, err := mail.New(c).Open(context.Background())
	if err != nil {
		return err
	}
	for _, m := range messages {
		err = errors.Join(err, conn.Send(m))
	}
	return errors.Join(err, conn.Close())
}

func TestConn_Send(t *testing.T) {
	t.Parallel()
	s := mailtest.New(t, mailtest.Options{})
	if err := send(t, s.Config(), message("bob@example.com"), message("cy@example.com")); err != nil {
		t.Fatal(err)
	}
	got := s.Take()
	if len(got) != 2 || s.Opened() != 1 {
		t.Fatalf("%d mails on %d connections, want 2 on 1", len(got), s.Opened())
	}
	m := got[0]
	for name, want := range map[string]string{
		"From": `"Ann Lee (@ann)" <tenon@code.example.com>`, "To": `"Bob" <bob@example.com>`, "Subject": "Re: App | Caf\u00e9 (#3)",
		"Message-Id": "<note_7@code.example.com>", "In-Reply-To": "<issue_3@code.example.com>",
		"References": "<issue_3@code.example.com> <key@code.example.com>", "X-Reason": "mentioned", "X-None": "", "Reply-To": "",
		"Date": "Mon, 23 Nov 2026 05:00:00 +0000", "Mime-Version": "1.0",
	} {
		if m.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, m.Get(name), want)
		}
	}
	if m.From != "tenon@code.example.com" || m.To != "bob@example.com" {
		t.Errorf("envelope from %q to %q", m.From, m.To)
	}
	if m.Text != message("").Text || strings.TrimSpace(m.HTML) != "<p>A line.</p>" {
		t.Errorf("got the text %q and the HTML %q", m.Text, m.HTML)
	}
}

// A title or a name with a line break must not begin a header of its own: the reader would
// believe it, and a server of answers would take it for an address.
func TestConn_Send_injection(t *testing.T) {
	t.Parallel()
	s := mailtest.New(t, mailtest.Options{})
	const attack = "x\r\nBcc: eve@example.com\r\n\r\nbody\u2028\x00\n"
	m := message("bob@example.com")
	m.Subject, m.FromName, m.To.Name, m.ID, m.InReplyTo = attack, attack, attack, attack, attack
	m.References, m.Headers = []string{attack}, []mail.Header{{"X-Project", attack}}
	m.ReplyTo = netmail.Address{Name: attack, Address: "in@example.com"}
	if err := send(t, s.Config(), m); err != nil {
		t.Fatal(err)
	}
	got := s.Take()
	if len(got) != 1 || len(got[0].Header["Bcc"]) > 0 || got[0].Text != m.Text {
		t.Fatalf("got %+v", got)
	}
	if want := "x Bcc: eve@example.com body"; got[0].Get("Subject") != want || got[0].Get("X-Project") != want {
		t.Errorf("got the subject %q and the header %q, want %q", got[0].Get("Subject"), got[0].Get("X-Project"), want)
	}
	m = message("bob@example.com\r\nRCPT TO:<eve@example.com>")
	if err := send(t, s.Config(), m); err == nil || len(s.Take()) > 0 {
		t.Error("an address with a line break was sent to")
	}
}

func TestSender_Open(t *testing.T) {
	t.Parallel()
	own, roots := certificate(t)
	start := mailtest.New(t, mailtest.Options{TLS: own, User: "tenon", Password: "hunter2"})
	implicit := mailtest.New(t, mailtest.Options{TLS: own, Implicit: true, User: "tenon", Password: "hunter2"})
	open := mailtest.New(t, mailtest.Options{})
	for _, c := range []struct {
		name   string
		server *mailtest.Server
		change func(*mail.Config)
		ok     bool
	}{
		{"STARTTLS", start, func(c *mail.Config) { c.Security = mail.StartTLS }, true},
		{"TLS", implicit, func(c *mail.Config) { c.Security = mail.TLS }, true},
		{"a wrong password", start, func(c *mail.Config) { c.Security, c.Password = mail.StartTLS, "hunter3" }, false},
		{"an unknown certificate", start, func(c *mail.Config) { c.Security, c.Roots = mail.StartTLS, x509.NewCertPool() }, false},
		{"an unknown certificate of TLS", implicit, func(c *mail.Config) { c.Security, c.Roots = mail.TLS, x509.NewCertPool() }, false},
		{"no STARTTLS where it is asked for", open, func(c *mail.Config) { c.Security, c.User = mail.StartTLS, "" }, false},
		{"no server", open, func(c *mail.Config) { c.Port, c.User = 1, "" }, false},
	} {
		config := c.server.Config()
		config.Roots, config.User, config.Password = roots, "tenon", "hunter2"
		c.change(&config)
		if err := mail.New(config).Check(t.Context()); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := send(t, config, message("bob@example.com")); (err == nil) != c.ok {
			t.Errorf("%s: sent with %v", c.name, err)
		}
	}
	if start.SignedOn() != 2 || len(start.Take()) != 1 || len(implicit.Take()) != 1 || len(open.Take()) != 0 {
		t.Errorf("signed on %d times", start.SignedOn())
	}
}

func TestConn_Send_refused(t *testing.T) {
	t.Parallel()
	s := mailtest.New(t, mailtest.Options{})
	s.Refuse(func(to string) error {
		switch to {
		case "gone@example.com":
			return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
		case "busy@example.com":
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "try again"}
		}
		return nil
	})
	if _, ok := errors.AsType[*mail.RefusedError](send(t, s.Config(), message("gone@example.com"))); !ok {
		t.Error("an unknown recipient is not refused for good")
	}
	err := send(t, s.Config(), message("busy@example.com"))
	if _, ok := errors.AsType[*mail.RefusedError](err); ok || err == nil {
		t.Errorf("a busy server gives %v", err)
	}
	if _, ok := errors.AsType[*mail.RefusedError](send(t, s.Config(), message("gone@example.com"), message("bob@example.com"))); !ok || len(s.Take()) != 1 {
		t.Error("a refused recipient holds up the next")
	}
}
