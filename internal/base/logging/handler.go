package logging

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
)

// scrubber masks secrets in messages, keys and values before the next handler sees them.
type scrubber struct {
	next slog.Handler
}

// Scrubbed wraps a handler so that no secret reaches it: values of sensitive keys are
// masked whole (see [Sensitive]), texts and errors are searched (see [Scrub]), and other
// values are turned into their JSON form first and treated alike.
func Scrubbed(next slog.Handler) slog.Handler { return &scrubber{next: next} }

// Enabled asks the next handler.
func (s *scrubber) Enabled(ctx context.Context, level slog.Level) bool {
	return s.next.Enabled(ctx, level)
}

// Handle hands a masked copy of the record on.
func (s *scrubber) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, Scrub(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(attr(a))
		return true
	})
	return s.next.Handle(ctx, clean)
}

// WithAttrs masks attributes once for all lines to come.
func (s *scrubber) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = attr(a)
	}
	return &scrubber{next: s.next.WithAttrs(clean)}
}

// WithGroup opens a group in the next handler.
func (s *scrubber) WithGroup(name string) slog.Handler {
	return &scrubber{next: s.next.WithGroup(name)}
}

func attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		if Sensitive(a.Key) && v.String() != "" {
			return slog.String(a.Key, masked)
		}
		return slog.String(a.Key, Scrub(v.String()))
	case slog.KindGroup:
		members := make([]slog.Attr, 0, len(v.Group()))
		for _, m := range v.Group() {
			if Sensitive(a.Key) && m.Value.Kind() == slog.KindString {
				m.Value = slog.StringValue(masked)
			}
			members = append(members, attr(m))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(members...)}
	case slog.KindAny:
		return slog.Any(a.Key, value(a.Key, v.Any()))
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindTime, slog.KindUint64, slog.KindLogValuer:
		return slog.Attr{Key: a.Key, Value: v}
	default:
		return slog.Attr{Key: a.Key, Value: v}
	}
}

// value masks a value of any other type.
func value(key string, v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case error:
		return Scrub(text(v.Error))
	case fmt.Stringer:
		if Sensitive(key) {
			return masked
		}
		return Scrub(text(v.String))
	case []byte:
		if Sensitive(key) {
			return masked
		}
		return Scrub(string(v))
	}
	if Sensitive(key) {
		return masked
	}
	// A tree of plain values has its keys masked as well.
	raw, err := json.Marshal(v)
	if err != nil {
		return Scrub(fmt.Sprintf("%+v", v))
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return Scrub(string(raw))
	}
	return plain(tree)
}

// text calls a method that may panic on a nil receiver.
func text(method func() string) (out string) {
	defer func() {
		if p := recover(); p != nil {
			out = fmt.Sprintf("panic while logging: %v", p)
		}
	}()
	return method()
}

// plain masks strings and sensitive keys in a decoded JSON tree.
func plain(tree any) any {
	switch v := tree.(type) {
	case string:
		return Scrub(v)
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			switch member := v[k].(type) {
			case json.Number, bool, nil:
			default:
				v[k] = plain(member)
				if Sensitive(k) {
					v[k] = masked
				}
			}
		}
	}
	return tree
}
