package api

import (
	"log/slog"
	"strings"
	"time"
)

// maxLogged is how much of a parameter's value the log keeps.
const maxLogged = 100

// hidden are the parts of parameter names whose values never reach the log:
// secrets, and what people wrote.
var hidden = []string{
	"token", "password", "secret", "key", "credential", "authorization", "certificate", "signature", "private", "cursor",
	"sudo", "content", "body", "note", "title", "description", "message", "text", "value", "email", "search", "url",
}

// log writes the line of the request.
func (x *exchange) log() {
	l := x.kit.config.Log
	ctx := x.r.Context()
	if !l.Enabled(ctx, slog.LevelInfo) {
		return
	}
	route := ""
	if x.route != nil {
		route = x.route.path
	}
	attrs := []slog.Attr{
		slog.String("request_id", x.id),
		slog.String("method", x.r.Method),
		slog.String("path", x.r.URL.EscapedPath()),
		slog.String("route", route),
		slog.Int("status", x.status),
		slog.Float64("seconds", time.Since(x.started).Seconds()),
		slog.String("address", x.address),
	}
	if x.as.SignedIn() {
		attrs = append(attrs, slog.Int64("user_id", int64(x.as.UserID)), slog.String("user", x.as.Username))
	}
	if x.as.TokenID != 0 {
		attrs = append(attrs, slog.Int64("token_id", x.as.TokenID))
	}
	if x.sudoer != "" {
		attrs = append(attrs, slog.String("sudo_by", x.sudoer))
	}
	if params := x.loggable(); len(params) > 0 {
		attrs = append(attrs, slog.Attr{Key: "params", Value: slog.GroupValue(params...)})
	}
	l.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
}

// loggable gives the parameters as the log may have them. Of nested ones only the
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
