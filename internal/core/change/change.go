// Package change is the generic form of events about rows: who did what and when, in which place, to
// which subject, with the row before and after.
package change

import (
	"reflect"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
)

// Subject names a row as the contract does.
type Subject struct {
	Type  string // such as Issue or Ci::Variable
	ID    int64
	IID   int64  // its number in its place, 0 where it has none
	Title string // name or title, "" where it has none that anybody may read
}

// Row is a row that events are about.
type Row interface {
	// About names the row.
	About() Subject
}

// Event is an event about a row. Of makes one of every struct that embeds it.
type Event interface {
	event.Event

	// Changed is the event in its generic form.
	Changed() Fact
}

// Acted is an event that says itself what the activity of its place shows of it.
type Acted interface {
	Event

	// Action is one of those of the feed, such as created.
	Action() string
}

// Fact is what every event about a row says. Handlers do not change what it points to. One event says that a row was created, and
// one that it was deleted; other events about it at the time have the row before and after.
type Fact struct {
	authz.Stamp

	Place         authz.Place
	Subject       Subject
	Before, After any // pointers to rows of one type; nil where the row was created or deleted
}

// Columns names the values that the event has changed: columns, and what the row holds of other
// tables. They are none where the row was created or deleted.
func (f *Fact) Columns() []string {
	var out []string
	f.each(func(a attribute, _, _ any) { out = append(out, a.name) })
	return out
}

// Has reports whether the event has changed one of these columns.
func (f *Fact) Has(columns ...string) bool {
	found := false
	f.each(func(a attribute, _, _ any) { found = found || slices.Contains(columns, a.name) })
	return found
}

// Values are what an attribute was and is.
type Values struct {
	Before any `json:"previous"`
	After  any `json:"current"`
}

// Changes are the values that the event has changed, by their names, without those that are secret: every
// reader of the subject may have them.
func (f *Fact) Changes() map[string]Values {
	out := map[string]Values{}
	f.each(func(a attribute, was, is any) {
		if !a.secret {
			out[a.name] = Values{was, is}
		}
	})
	return out
}

func (f *Fact) each(fn func(a attribute, was, is any)) {
	if f.Before == nil || f.After == nil {
		return
	}
	differ(reflect.ValueOf(f.Before).Elem(), reflect.ValueOf(f.After).Elem(), func(a attribute, was, is reflect.Value) bool {
		fn(a, was.Interface(), is.Interface())
		return true
	})
}

// Attributes are the values of a row, or of a part of one, by their names, without those that are secret.
func Attributes(row any) map[string]any {
	out := map[string]any{}
	v := reflect.Indirect(reflect.ValueOf(row))
	for _, a := range attributes(v.Type()) {
		if !a.secret {
			out[a.name] = v.FieldByIndex(a.index).Interface()
		}
	}
	return out
}

// Of is embedded by events about rows of one type.
type Of[T Row] struct {
	authz.Stamp

	Place  authz.Place
	Before *T // nil where the row was created
	After  *T // nil where the row was deleted
}

// Created says that a row is new.
func Created[T Row](as authz.Actor, now time.Time, in authz.Place, row *T) Of[T] {
	return Of[T]{Stamp: as.Stamp(now), Place: in, After: row}
}

// Updated says what an update of a row has written.
func Updated[T Row](as authz.Actor, now time.Time, in authz.Place, c *db.Change[T]) Of[T] {
	return Between(as, now, in, &c.Before, &c.After)
}

// Between says what became of a row, where its two states hold more than an update has written.
func Between[T Row](as authz.Actor, now time.Time, in authz.Place, before, after *T) Of[T] {
	return Of[T]{Stamp: as.Stamp(now), Place: in, Before: before, After: after}
}

// Deleted says that a row is gone.
func Deleted[T Row](as authz.Actor, now time.Time, in authz.Place, row *T) Of[T] {
	return Of[T]{Stamp: as.Stamp(now), Place: in, Before: row}
}

// About says that something happened to a row that has not changed.
func About[T Row](as authz.Actor, now time.Time, in authz.Place, row *T) Of[T] {
	return Between(as, now, in, row, row)
}

// Row is the row as it is now, or was when it was deleted.
func (o Of[T]) Row() *T {
	if o.After != nil {
		return o.After
	}
	return o.Before
}

// Has reports whether one of the columns differs.
func (o Of[T]) Has(columns ...string) bool { return Has(o.Before, o.After, columns...) }

// Changed is the event in its generic form.
func (o Of[T]) Changed() Fact { return View(o.Stamp, o.Place, o.Before, o.After) }

// View is the generic form of an event that names its row by a field of its own.
func View[T Row](s authz.Stamp, in authz.Place, before, after *T) Fact {
	f := Fact{Stamp: s, Place: in}
	if before != nil {
		f.Before, f.Subject = before, (*before).About()
	}
	if after != nil {
		f.After, f.Subject = after, (*after).About()
	}
	return f
}
