package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
)

// maxText bounds texts that have no bound of their own, in characters, and maxObject objects, in bytes.
const (
	maxText   = 1 << 20
	maxObject = 64 << 10
)

// decode fills a row from the keys of an object that are its attributes.
func (s *shape) decode(to reflect.Value, w *Writing, state *State) error {
	for i := range s.attributes {
		a := &s.attributes[i]
		field := to.FieldByIndex(a.index)
		text, there := state.raw[a.Name]
		if there = there && string(text) != "null"; !there {
			s.absent(field, a, w, state)
			continue
		}
		if a.Type == User {
			number, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil {
				return fmt.Errorf("%s is no number", a.Name)
			}
			state.user(field, a, w, number)
			continue
		}
		if err := a.set(field, text); err != nil {
			return fmt.Errorf("%s %w", a.Name, err)
		}
		if a.Markdown && w.Rewrite != nil {
			to := place(field)
			to.SetString(w.Rewrite(to.String()))
		}
	}
	return nil
}

// absent gives an attribute that a row does not have its value.
func (s *shape) absent(field reflect.Value, a *Attribute, w *Writing, state *State) {
	if a.Null {
		return
	}
	switch a.Type {
	case Name:
		field.SetString(a.Names[0])
	case Time:
		field.Set(reflect.ValueOf(w.Now))
	case User:
		state.user(field, a, w, 0)
	}
}

// user sets the user here that a number of the source means.
func (s *State) user(field reflect.Value, a *Attribute, w *Writing, number int64) {
	id, matched := w.User(number)
	if !matched {
		if s.unmatched == nil {
			s.unmatched = map[string]string{}
		}
		s.unmatched[a.Name] = w.sourceUser(number)
	}
	place(field).SetInt(int64(id))
}

// place is the value of a field, made where it is a nil pointer.
func place(field reflect.Value) reflect.Value {
	if field.Kind() != reflect.Pointer {
		return field
	}
	if field.IsNil() {
		field.Set(reflect.New(field.Type().Elem()))
	}
	return field.Elem()
}

var (
	errType  = errors.New("is of another type")
	errNames = errors.New("is not one of its words")
)

// set reads a value that is not null.
func (a *Attribute) set(field reflect.Value, text json.RawMessage) error {
	switch a.Type {
	case Text, Name, Date:
		return a.setText(place(field), text)
	case Integer, Project, Group:
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return errType
		}
		place(field).SetInt(n)
	case Number:
		n, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return errType
		}
		place(field).SetFloat(n)
	case Boolean:
		on, err := strconv.ParseBool(string(text))
		if err != nil || len(text) < 4 {
			return errType
		}
		place(field).SetBool(on)
	case Time:
		at, err := parseTime(text)
		if err != nil {
			return err
		}
		place(field).Set(reflect.ValueOf(db.At(at)))
	default:
		return setObject(field, text)
	}
	return nil
}

// setText reads a text, without the characters that databases refuse.
func (a *Attribute) setText(field reflect.Value, text json.RawMessage) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		n, err := strconv.Atoi(string(text))
		if err != nil || a.Type != Name || n < 1 || n > len(a.Names) { // as old servers write it
			return errType
		}
		s = a.Names[n-1]
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	most := a.Max
	if most == 0 {
		most = maxText
	}
	if len(s) > most && utf8.RuneCountInString(s) > most {
		return fmt.Errorf("is too long (maximum is %d characters)", most)
	}
	switch a.Type {
	case Name:
		for _, name := range a.Names {
			if s == name {
				field.SetString(s)
				return nil
			}
		}
		return errNames
	case Date:
		if len(s) < len(time.DateOnly) {
			return errType
		}
		s = s[:len(time.DateOnly)]
		if at, err := time.Parse(time.DateOnly, s); err != nil || at.Year() < 1 {
			return errType
		}
	}
	field.SetString(s)
	return nil
}

// setObject reads an object into a field, whose own type says which keys it takes.
func setObject(field reflect.Value, text json.RawMessage) error {
	if len(text) > maxObject {
		return fmt.Errorf("is too large (maximum is %d bytes)", maxObject)
	}
	text = bytes.ReplaceAll(text, []byte(`\u0000`), nil)
	to := reflect.New(field.Type())
	if json.Unmarshal(text, to.Interface()) != nil {
		return errType
	}
	field.Set(to.Elem())
	return nil
}

// timeLayouts are how servers write times.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05.999999999 MST"}

func parseTime(text json.RawMessage) (time.Time, error) {
	var s string
	if json.Unmarshal(text, &s) != nil {
		return time.Time{}, errType
	}
	for _, layout := range timeLayouts {
		if at, err := time.Parse(layout, s); err == nil && at.Year() >= 1 && at.Year() <= 9999 {
			return at, nil
		}
	}
	return time.Time{}, errType
}
