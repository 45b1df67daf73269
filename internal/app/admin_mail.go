package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"strconv"

	"tenon/internal/base/mail"
	"tenon/internal/base/secret"
)

// MailTestInput is where a test mail goes.
type MailTestInput struct {
	To string `json:"to"`
}

// MailTest is a mail that the mail server took.
type MailTest struct {
	To     string `json:"to"`
	From   string `json:"from"`
	Server string `json:"server"` // host:port
}

func (a *App) adminMailTest(ctx context.Context, in MailTestInput, _ func(string)) (MailTest, error) {
	to, err := netmail.ParseAddress(in.To)
	if err != nil {
		return MailTest{}, fmt.Errorf("%q is no address: %w", in.To, err)
	}
	m := &a.config.Mail
	switch {
	case !m.On():
		return MailTest{}, errors.New("mail is off: mail.host is not set")
	case a.core.Settings.Current().SilentModeEnabled:
		return MailTest{}, errors.New("silent mode is on: no mail leaves the server")
	}
	host, err := a.host()
	if err != nil {
		return MailTest{}, err
	}
	c := m.Config(host)
	conn, err := mail.New(c).Open(ctx)
	if err != nil {
		return MailTest{}, err
	}
	err = conn.Send(mail.Message{
		To: netmail.Address{Address: to.Address}, ID: secret.NewToken("test-") + "@" + host, Date: a.now(), Subject: "Test mail of " + host,
		Text: "This server sends mail: an administrator asked for this one.\n",
	})
	if err = errors.Join(err, conn.Close()); err != nil {
		return MailTest{}, err
	}
	return MailTest{To: to.Address, From: c.From.Address, Server: net.JoinHostPort(c.Host, strconv.Itoa(c.Port))}, nil
}
