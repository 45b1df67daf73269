package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"

	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// table is where events get the entries that are recorded of them.
type table struct {
	s *Service
	b *event.Bus
}

// Subscribe registers all that is recorded.
func (s *Service) Subscribe(b *event.Bus) {
	t := table{s, b}
	t.people()
	t.groups()
	t.projects()
	t.rules()
	t.ci()
	one(t, func(e change.Audited) Entry {
		event, message := e.Audit()
		return entry(e.Changed(), event, message)
	})
}

// record has one entry recorded of each event of a type, about its subject in its place. Event and message are
// those of [change.Audited].
func record[E change.Event](t table, event, message string, more ...func(e E, out *Entry)) {
	one(t, func(e E) Entry {
		out := entry(e.Changed(), event, message)
		for _, add := range more {
			add(e, &out)
		}
		return out
	})
}

// entry is what is recorded of a subject in its place.
func entry(f change.Fact, event, message string) Entry {
	out := in(f.Stamp, f.Place)
	s := f.Subject
	kind := strings.ToLower(kindOf(f.Place))
	words := strings.NewReplacer("{kind}", kind, "{scope}", either(f.Place.IsProject(), "", kind+"_"), "{title}", s.Title, "{id}", strconv.FormatInt(s.ID, 10), "{place}", f.Place.Name)
	out.Event, out.Message = words.Replace(event), words.Replace(message)
	out.TargetType, out.TargetID, out.TargetDetails = s.Type, s.ID, s.Title
	return out
}

// in is an entry about a place; the zero value is the instance.
func in(s authz.Stamp, p authz.Place) Entry {
	if p.IsInstance() {
		return Entry{By: s.By, EntityType: User, EntityID: int64(s.By.UserID), EntityPath: s.By.Username}
	}
	return Entry{By: s.By, EntityType: kindOf(p), EntityID: p.ID, EntityPath: p.Path}
}

// kindOf is the type of a place.
func kindOf(p authz.Place) string {
	switch {
	case p.IsInstance():
		return "Instance"
	case p.Group:
		return Group
	}
	return Project
}

// updates has an entry recorded of each column that an event has changed, of those that have names in words.
func updates[E change.Event](t table, event string, names ...[2]string) {
	many(t, func(e E) []Entry { return changed(e.Changed(), event, names) })
}

// changed has an entry for each column that has changed, of those that have names in words.
func changed(f change.Fact, event string, names [][2]string) []Entry {
	var out []Entry
	columns := f.Changes()
	for _, name := range names {
		if v, ok := columns[name[0]]; ok {
			out = append(out, changedTo(f, values{event: event, label: name[1], from: v.Before, to: v.After}))
		}
	}
	return out
}

// text is a value in words; nil is "", lists and objects are JSON.
func text(value any) string {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return ""
	}
	if kind := v.Kind(); kind == reflect.Slice || kind == reflect.Map || kind == reflect.Struct {
		if out, err := json.Marshal(v.Interface()); err == nil {
			return string(out)
		}
	}
	return fmt.Sprint(v.Interface())
}

// one has an entry recorded of each event of a type, none where it is of no event.
func one[E event.Event](t table, of func(e E) Entry) {
	read(t, func(_ context.Context, e E) (Entry, error) { return of(e), nil })
}

// read is one for entries that need to read.
func read[E event.Event](t table, of func(ctx context.Context, e E) (Entry, error)) {
	event.On(t.b, "audit", func(ctx context.Context, e E) error {
		out, err := of(ctx, e)
		if err != nil || out.Event == "" {
			return err
		}
		return t.s.record(ctx, out)
	})
}

// many has entries recorded of each event of a type.
func many[E event.Event](t table, of func(e E) []Entry) {
	event.On(t.b, "audit", func(ctx context.Context, e E) error {
		for _, out := range of(e) {
			if err := t.s.record(ctx, out); err != nil {
				return err
			}
		}
		return nil
	})
}

// with adds details, which are names and values by turns.
func (e Entry) with(details ...any) Entry {
	e.Details = maps.Clone(e.Details)
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	for i := 0; i < len(details); i += 2 {
		e.Details[details[i].(string)] = details[i+1]
	}
	return e
}

// detail adds the same details to each entry.
func detail[E event.Event](details ...any) func(e E, out *Entry) {
	return func(_ E, out *Entry) { *out = out.with(details...) }
}

// either is one of two texts.
func either(is bool, a, b string) string {
	if is {
		return a
	}
	return b
}
