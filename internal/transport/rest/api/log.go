package api

import (
	"log/slog"
	"strings"
)

// maxLogged is how much of a parameter's value the log keeps.
const maxLogged = 100

// hidden are the parts of parameter names whose values never reach the log:
// secrets, and what people wrote.
var hidden = []string{
	"token", "password", "secret", "key", "credential", "authorization", "certificate", "signature", "private", "cursor", "dsn",
	"sudo", "content", "body", "note", "title", "description", "message", "text", "value", "email", "search", "url",
	"hook", "channel", "service_account", "recipient",
}

// loggable returns the parameters as the log may have them. Of nested ones only the
// name is kept: what lies in them is too various to judge.
func (x *exchange) loggable() []slog.Attr {
	var out []slog.Attr
	for i, key := range x.params.keys {
		if i == 50 || len(key) > maxLogged { // enough to see what was asked
			break
		}
		value, ok := text(x.params.vals[i])
		switch {
		case isHidden(key):
			value = "[FILTERED]"
		case !ok:
			value = "..."
		case len(value) > maxLogged:
			value = strings.ToValidUTF8(value[:maxLogged], "") + "..."
		}
		out = append(out, slog.String(key, value))
	}
	return out
}

func isHidden(key string) bool {
	key = strings.ToLower(key)
	for _, part := range hidden {
		if strings.Contains(key, part) {
			return true
		}
	}
	return false
}
