// Package logging makes the one logger of the process: structured, in UTC, and without
// secrets, whatever a caller hands to it.
package logging

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Format is how lines look.
type Format string

// The formats: one JSON object per line for machines, key=value pairs for people.
const (
	JSON Format = "json"
	Text Format = "text"
)

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	switch f := Format(strings.ToLower(name)); f {
	case JSON, Text:
		return f, nil
	}
	return "", fmt.Errorf("log format %q is neither json nor text", name)
}

// ParseLevel reads the name of a level: debug, info, warn or error.
func ParseLevel(name string) (slog.Level, error) {
	switch strings.ToLower(name) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("log level %q is none of debug, info, warn, error", name)
}

// New makes a logger that writes lines of at least a level to w, scrubbed. Text is used
// where format says so and JSON otherwise.
func New(w io.Writer, format Format, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: inUTC}
	var h slog.Handler = slog.NewJSONHandler(w, options)
	if format == Text {
		h = slog.NewTextHandler(w, options)
	}
	return slog.New(Scrubbed(h))
}

func inUTC(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
		return slog.Time(a.Key, a.Value.Time().UTC())
	}
	return a
}
