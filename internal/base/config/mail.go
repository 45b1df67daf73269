package config

import (
	netmail "net/mail"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tenon/internal/base/mail"
)

// Mail says how mail leaves the server. Without a host none does.
type Mail struct {
	Host         string
	Port         int
	Security     mail.Security
	User         string // "" does not sign on
	PasswordFile string
	Password     Secret // what is in the file
	From         string // address, perhaps with a name
	ReplyTo      string // likewise; "" leaves the header out

	// Incoming is the address that answers are read from, with IncomingKey where the key of a
	// thread stands; "" reads none.
	Incoming string
	Timeout  time.Duration
}

// IncomingKey is in Mail.Incoming for the key of a thread.
const IncomingKey = "%{key}"

// On reports whether mail is sent.
func (m *Mail) On() bool { return m.Host != "" }

// Config is what a mail.Sender needs of it; name is that of this host.
func (m *Mail) Config(name string) mail.Config {
	c := mail.Config{
		Host: m.Host, Port: m.Port, Security: m.Security, User: m.User, Password: string(m.Password), Timeout: m.Timeout, Name: name,
	}
	if from, err := netmail.ParseAddress(m.From); err == nil { // Load has checked it
		c.From = *from
	}
	return c
}

func ofMail() []setting {
	return []setting{
		{
			key: "mail.host", env: "TENON_MAIL_HOST",
			set: func(c *Config, v string) string {
				if v != "" && strings.Contains(v, ":") && !strings.Contains(v, "::") {
					return "write the host alone, such as smtp.example.com; the port is mail.port"
				}
				return setHost(&c.Mail.Host, v)
			},
			get: func(c *Config) string { return c.Mail.Host },
		}, {
			key: "mail.port", env: "TENON_MAIL_PORT", fallback: "587",
			set: func(c *Config, v string) string {
				n, err := strconv.ParseUint(v, 10, 16)
				if err != nil || n == 0 {
					return "the port is a number from 1 to 65535"
				}
				c.Mail.Port = int(n)
				return ""
			},
			get: func(c *Config) string { return strconv.Itoa(c.Mail.Port) },
		}, {
			key: "mail.security", env: "TENON_MAIL_SECURITY", fallback: string(mail.StartTLS),
			set: func(c *Config, v string) string {
				c.Mail.Security = mail.Security(v)
				switch c.Mail.Security {
				case mail.StartTLS, mail.TLS, mail.Plain:
					return ""
				}
				return "write starttls, tls or off"
			},
			get: func(c *Config) string { return string(c.Mail.Security) },
		}, {
			key: "mail.user", env: "TENON_MAIL_USER",
			set: func(c *Config, v string) string { return setWord(&c.Mail.User, v) },
			get: func(c *Config) string { return c.Mail.User },
		}, {
			key: "mail.password_file", env: "TENON_MAIL_PASSWORD_FILE",
			set: func(c *Config, v string) string { return setWord(&c.Mail.PasswordFile, v) },
			get: func(c *Config) string { return c.Mail.PasswordFile },
		}, {
			key: "mail.from", env: "TENON_MAIL_FROM",
			set: func(c *Config, v string) string { return setMailbox(&c.Mail.From, v) },
			get: func(c *Config) string { return c.Mail.From },
		}, {
			key: "mail.reply_to", env: "TENON_MAIL_REPLY_TO",
			set: func(c *Config, v string) string { return setMailbox(&c.Mail.ReplyTo, v) },
			get: func(c *Config) string { return c.Mail.ReplyTo },
		}, {
			key: "mail.incoming_address", env: "TENON_MAIL_INCOMING_ADDRESS",
			set: func(c *Config, v string) string { return setIncoming(&c.Mail.Incoming, v) },
			get: func(c *Config) string { return c.Mail.Incoming },
		}, {
			key: "mail.timeout_seconds", env: "TENON_MAIL_TIMEOUT_SECONDS", fallback: "30",
			set: func(c *Config, v string) string {
				n, err := strconv.Atoi(v)
				if err != nil || n < 1 || n > 300 {
					return "write a number of seconds from 1 to 300"
				}
				c.Mail.Timeout = time.Duration(n) * time.Second
				return ""
			},
			get: func(c *Config) string { return strconv.Itoa(int(c.Mail.Timeout / time.Second)) },
		},
	}
}

// setIncoming takes an address with one key before the @.
func setIncoming(to *string, v string) string {
	if local, _, _ := strings.Cut(v, "@"); v != "" && (strings.Count(v, IncomingKey) != 1 || !strings.Contains(local, IncomingKey) || len(local) > 20) {
		return "write an address with " + IncomingKey + " before the @, such as incoming+" + IncomingKey + "@example.com, with at most 14 other characters there"
	}
	if advice := setMailbox(new(string), strings.Replace(v, IncomingKey, "key", 1)); advice != "" {
		return advice
	}
	*to = v
	return ""
}

// setWord takes a text on one line.
func setWord(to *string, v string) string {
	if strings.ContainsFunc(v, unicode.IsControl) || len(v) > 1000 {
		return "write one line of at most 1000 characters"
	}
	*to = v
	return ""
}

// setMailbox takes an address with or without a name, or none.
func setMailbox(to *string, v string) string {
	if v != "" {
		if _, err := netmail.ParseAddress(v); err != nil || len(v) > 500 {
			return "write an address, such as tenon@example.com or Tenon <tenon@example.com>"
		}
	}
	*to = v
	return ""
}

// maxPassword is the longest password in bytes that is read from a file.
const maxPassword = 4096

// completeMail reads the password, and checks what concerns two settings at once.
func (c *Config) completeMail() (problems []Problem) {
	m := &c.Mail
	problem := func(key, value, advice string) {
		problems = append(problems, Problem{Key: key, Value: value, Source: c.sources[key], Advice: advice})
	}
	if !m.On() {
		return nil
	}
	if m.From == "" && c.sources["mail.from"] == "default" {
		problem("mail.from", m.From, "say which address mail comes from, such as tenon@example.com")
	}
	if m.User != "" && m.Security == mail.Plain {
		problem("mail.security", string(m.Security), "write starttls or tls: the password of mail.user must not travel in the clear")
	}
	if m.PasswordFile == "" {
		if m.User != "" {
			problem("mail.password_file", "", "name the file with the password of mail.user")
		}
		return problems
	}
	text, err := os.ReadFile(m.PasswordFile)
	switch password := strings.TrimRight(string(text), "\r\n"); {
	case err != nil:
		problem("mail.password_file", m.PasswordFile, "name a file that the server can read: "+err.Error())
	case password == "" || len(password) > maxPassword || strings.ContainsFunc(password, unicode.IsControl):
		problem("mail.password_file", m.PasswordFile, "put the password into the file, on one line")
	default:
		m.Password = Secret(password)
	}
	return problems
}
