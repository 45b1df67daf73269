package setting

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Settings are the instance's settings. Each field of the structs that it embeds is a setting, and its
// tags are all that there is to know of it:
//
//	setting    its name in the API
//	default    the value of a new instance: a text as it is, everything else as JSON
//	doc        what it means
//	alias      older names, which are taken and answered too
//
//	min, max   bounds of a number
//	wrong      what is answered where they are broken, instead of the usual words
//	values     what a request may send; the setting may hold something else, see normalize
//	options    what it may hold
//	chars      how many characters a text has at most, 1000 without it
//	entries    how many entries a list has at most, 1000 without it
//	format     what a text has to be, see formats
//	split      the entries of a list may come as one text with spaces, commas, semicolons or line breaks between them
//	null       a list may be null
//	megabytes  a request sends megabytes, the setting holds bytes
//	with       what a request that turns it on has to send too
//	needs      what has to be set while it is on
//
//	secret     it is sealed at rest and masked in events
//	hidden     no answer has it
//	readonly   no request changes it
//	ignored    a request may send it, and nothing changes
//	raw        the answer has its entries in lines too, under this name or its own with _raw
//
// and where it is in force, exactly one of:
//
//	effect     what obeys it
//	area       it is stored, because the server does not have this area
//	later      it is stored, because this area is not there yet
type Settings struct {
	accounts
	signOn
	tokens
	places
	limits
	outbound
	ci
	pages
	imports
	integrations
	absent

	state
}

// Entry is a setting as the table has it.
type Entry struct {
	Name    string
	Field   string // of Settings
	Type    reflect.Type
	Doc     string
	Aliases []string

	Values []string // that a request may send; nil is any
	With   []string // what a request that turns it on has to send too
	Needs  []string

	Secret   bool
	Hidden   bool
	ReadOnly bool
	Ignored  bool
	Raw      string // the name under which the answer has the entries in lines; "" for none

	Effect string // what obeys it; "" where it is only stored
	Area   string // that the server does not have
	Later  string // area that is not there yet

	index     []int
	fallback  string // the default as JSON
	min, max  *int64
	wrong     string
	options   []string
	chars     int
	entries   int
	format    string
	split     bool
	nullable  bool
	megabytes bool
}

// Because says why a setting is only stored, "" where it is in force.
func (e *Entry) Because() string {
	switch {
	case e.Area != "":
		return "this server has no " + e.Area
	case e.Later != "":
		return "it belongs to " + e.Later + ", which this server does not have yet"
	}
	return ""
}

// Default returns the value of a new instance as JSON.
func (e *Entry) Default() string { return e.fallback }

// Kind names the type of the setting as JSON has it.
func (e *Entry) Kind() string {
	t := e.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "array"
	case reflect.Map:
		return "object"
	}
	return "string"
}

// Value returns the value in settings.
func (e *Entry) Value(s *Settings) any { return e.in(s).Interface() }

func (e *Entry) in(s *Settings) reflect.Value { return reflect.ValueOf(s).Elem().FieldByIndex(e.index) }

// Table lists all settings in the order in which they are answered.
var Table = sync.OnceValue(func() []*Entry {
	t := reflect.TypeFor[Settings]()
	var all []*Entry
	for group := range t.Fields() {
		if group.Type == reflect.TypeFor[state]() {
			continue
		}
		for f := range group.Type.Fields() {
			all = append(all, entryOf(f, append(slices.Clone(group.Index), f.Index...)))
		}
	}
	return all
})

// byName finds settings by their names and aliases.
var byName = sync.OnceValue(func() map[string]*Entry {
	names := map[string]*Entry{}
	for _, e := range Table() {
		for _, name := range append([]string{e.Name}, e.Aliases...) {
			if names[name] != nil {
				panic("setting: " + name + " is there twice")
			}
			names[name] = e
		}
	}
	return names
})

// Lookup finds a setting by its name or an alias; nil is none.
func Lookup(name string) *Entry { return byName()[name] }

const (
	mostChars   = 1000
	mostEntries = 1000
	entryChars  = 255 // of one entry of a list
)

func entryOf(f reflect.StructField, index []int) *Entry {
	e := &Entry{
		Name: f.Tag.Get("setting"), Field: f.Name, Type: f.Type, Doc: f.Tag.Get("doc"), Aliases: listOf(f, "alias"),
		Values: listOf(f, "values"), With: listOf(f, "with"), Needs: listOf(f, "needs"),
		Secret: isSet(f, "secret"), Hidden: isSet(f, "hidden"), ReadOnly: isSet(f, "readonly"), Ignored: isSet(f, "ignored"), Raw: f.Tag.Get("raw"),
		Effect: f.Tag.Get("effect"), Area: f.Tag.Get("area"), Later: f.Tag.Get("later"),
		index: index, wrong: f.Tag.Get("wrong"), options: listOf(f, "options"), chars: mostChars, entries: mostEntries,
		format: f.Tag.Get("format"), split: isSet(f, "split"), nullable: f.Type.Kind() == reflect.Pointer || isSet(f, "null"),
		megabytes: isSet(f, "megabytes"),
	}
	if e.Raw == "true" {
		e.Raw = e.Name + "_raw"
	}
	e.fallback = f.Tag.Get("default")
	if kind := f.Type; kind.Kind() == reflect.String || kind == reflect.TypeFor[*string]() && e.fallback != "null" {
		e.fallback = strconv.Quote(e.fallback)
	}
	number := func(tag string) *int64 {
		text, ok := f.Tag.Lookup(tag)
		if !ok {
			return nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("setting %s: bad %s: %v", f.Name, tag, err))
		}
		return &n
	}
	e.min, e.max = number("min"), number("max")
	if n := number("chars"); n != nil {
		e.chars = int(*n)
	}
	if n := number("entries"); n != nil {
		e.entries = int(*n)
	}
	return e
}

func listOf(f reflect.StructField, tag string) []string {
	if text := f.Tag.Get(tag); text != "" {
		return strings.Split(text, ",")
	}
	return nil
}

func isSet(f reflect.StructField, tag string) bool { return f.Tag.Get(tag) == "true" }

// Defaults returns the settings of a new instance.
func Defaults() Settings {
	var s Settings
	for _, e := range Table() {
		if err := json.Unmarshal([]byte(e.fallback), e.in(&s).Addr().Interface()); err != nil {
			panic(fmt.Sprintf("setting %s: bad default: %v", e.Name, err))
		}
	}
	return s
}
