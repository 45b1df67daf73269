package change

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Audited is an event that says itself what the audit trail records of it.
type Audited interface {
	Event

	// Audit returns the entries, none where nothing is recorded.
	Audit() []Entry
}

// Entry is what the audit trail records of an event, about its subject in its place. In Event and Message,
// {kind} is the kind of the place, {title} the title of the subject, {id} its id, {place} the name of the
// place, {scope} "group_" or "instance_" in a group and in the instance, and the name of a detail, such as {from}, its
// value. Text of users is in a message by these names only.
type Entry struct {
	Event   string  // name, such as member_created
	Message string  // custom_message of the details
	Target  *string // the subject in words; nil for its title
	Details []any   // names and values by turns
}

// Record is one entry.
func Record(event, message string, details ...any) []Entry {
	return []Entry{{Event: event, Message: message, Details: details}}
}

// RecordEither is one of two entries: the second where the event is the opposite, such as unarchived.
func RecordEither(opposite bool, event, message, event2, message2 string) []Entry {
	if opposite {
		return Record(event2, message2)
	}
	return Record(event, message)
}

// RecordTarget is one entry whose subject has other words than its title.
func RecordTarget(target, event, message string, details ...any) []Entry {
	return []Entry{{Event: event, Message: message, Target: &target, Details: details}}
}

// RecordColumns has an entry for each column that has changed, of those that have names in words.
func RecordColumns(f Fact, event string, names ...[2]string) []Entry {
	var out []Entry
	columns := f.Changes()
	for _, name := range names {
		if v, ok := columns[name[0]]; ok {
			out = append(out, RecordValue(event, name[1], v.Before, v.After))
		}
	}
	return out
}

// RecordValue is the entry of an attribute that has changed, by its name in words.
func RecordValue(event, label string, was, is any) Entry {
	from, to := Text(was), Text(is)
	message := "Changed " + label
	if from != "" {
		message += " from {from}"
	}
	return Entry{Event: event, Message: message + " to {to}", Details: []any{"change", label, "from", from, "to", to}}
}

// Text is a value in words; nil is "", lists and objects are JSON.
func Text(value any) string {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.IsNil() {
		return ""
	}
	if kind := v.Kind(); kind == reflect.Slice || kind == reflect.Map || kind == reflect.Struct {
		if out, err := json.Marshal(v.Interface()); err == nil {
			return string(out)
		}
	}
	return fmt.Sprint(v.Interface())
}
