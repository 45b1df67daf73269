package audit

import (
	"context"
	"maps"
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

// Subscribe registers all that is recorded: what events say themselves, and entries about users, runners and
// places under their former paths.
func (s *Service) Subscribe(b *event.Bus) {
	t := table{s, b}
	t.people()
	t.groups()
	t.projects()
	t.runners()
	many(t, func(e change.Audited) []Entry {
		var out []Entry
		f := e.Changed()
		for _, said := range e.Audit() {
			out = append(out, entry(f, said))
		}
		return out
	})
}

// record has one entry recorded of each event of a type, about its subject in its place.
func record[E change.Event](t table, event, message string, more ...func(e E, out *Entry)) {
	one(t, func(e E) Entry {
		out := entry(e.Changed(), change.Entry{Event: event, Message: message})
		for _, add := range more {
			add(e, &out)
		}
		return out
	})
}

// entry is what is recorded of a subject in its place.
func entry(f change.Fact, of change.Entry) Entry {
	out := in(f.Stamp, f.Place).with(of.Details...)
	s := f.Subject
	kind := strings.ToLower(kindOf(f.Place))
	names := []string{"{kind}", kind, "{scope}", either(f.Place.IsProject(), "", kind+"_"), "{title}", s.Title, "{id}", strconv.FormatInt(s.ID, 10), "{place}", f.Place.Name}
	for name, value := range out.Details {
		if mark := "{" + name + "}"; strings.Contains(of.Message, mark) {
			names = append(names, mark, change.Text(value))
		}
	}
	words := strings.NewReplacer(names...)
	out.Event, out.Message = words.Replace(of.Event), words.Replace(of.Message)
	out.TargetType, out.TargetID, out.TargetDetails = s.Type, s.ID, s.Title
	if of.Target != nil {
		out.TargetDetails = *of.Target
	}
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

// either is one of two texts.
func either(is bool, a, b string) string {
	if is {
		return a
	}
	return b
}
