package api

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decoding fills one parameter struct from one request and collects what is wrong.
type decoding struct {
	request  *http.Request
	clears   bool // null is the empty text
	problems []string
}

// maxProblems bounds what one answer complains of: an array of fifty thousand wrong
// elements is not worth fifty thousand sentences.
const maxProblems = 100

func (d *decoding) report(sentence string) {
	if len(d.problems) < maxProblems && !slices.Contains(d.problems, sentence) {
		d.problems = append(d.problems, sentence)
	}
}

// err gives the 400 for everything that was reported, or nil.
func (d *decoding) err() error {
	if len(d.problems) == 0 {
		return nil
	}
	return &Refusal{Status: http.StatusBadRequest, Text: strings.Join(d.problems, ", ")}
}

// decode fills dst, a settable struct of the plan's type.
func (p *plan) decode(d *decoding, given *object, dst reflect.Value, prefix string) {
	for i := range p.fields {
		p.field(d, &p.fields[i], given, dst, prefix)
	}
	if p.undeclared != nil {
		dst.FieldByIndex(p.undeclared).Set(reflect.ValueOf(p.rest(given)))
	}
	if p.sent != nil {
		dst.FieldByIndex(p.sent).Set(reflect.ValueOf(Sent(plain(given).(map[string]any))))
	}
	for _, index := range p.settlers {
		dst.FieldByIndex(index).Addr().Interface().(settler).settle()
	}
}

func (p *plan) field(d *decoding, f *field, given *object, dst reflect.Value, prefix string) {
	switch {
	case f.rule != nil:
		if s := f.rule.check(p, given, func(n string) string { return fullName(prefix, n) }); s != "" {
			d.report(s)
		}
		return
	case f.typ == rawBodyType:
		dst.FieldByIndex(f.index).Set(reflect.ValueOf(rawBodyOf(d.request)))
		return
	}
	to := dst.FieldByIndex(f.index)
	raw, sent := p.raw(d, f, given)
	name := f.name
	if prefix != "" {
		name = fullName(prefix, f.name)
	}
	if !sent || f.left(raw) {
		p.absent(d, f, to, name)
		return
	}
	if s := f.bound.text(raw); s != "" {
		d.report(name + " " + s)
		return
	}
	switch f.set(to, raw, d, name) {
	case refused:
		if f.misshapen != "" {
			dst.FieldByIndex(p.misshapen).SetString(f.misshapen)
			return
		}
		d.report(name + " is invalid")
		if f.nested != nil && !f.many {
			f.nested.missing(d, name)
		}
	case null:
		switch {
		case f.fallback != nil:
			f.set(to, f.fallback, d, name)
		case f.nonempty:
			d.report(name + " is empty")
		case raw == nil && d.clears && f.clearable():
			to.Set(reflect.New(to.Type().Elem()))
		case f.required && f.values != nil:
			d.report(name + " does not have a valid value")
		}
	case taken:
		f.judge(d, to, name)
	}
}

func (p *plan) raw(d *decoding, f *field, given *object) (any, bool) {
	if f.header == "" {
		return p.lookup(f, f.name, given)
	}
	if d.request != nil {
		if v := d.request.Header.Get(f.header); v != "" {
			return v, true
		}
	}
	if f.name == "" {
		return nil, false
	}
	return p.lookup(f, f.name, given)
}

// clearable reports whether the parameter is a text of any content that an update leaves alone
// where it is not sent.
func (f *field) clearable() bool {
	return f.typ.Kind() == reflect.Pointer && f.typ.Elem().Kind() == reflect.String && f.values == nil && special[f.typ.Elem()] == nil &&
		!f.typ.Implements(unmarshaler)
}

// left reports whether a group that may be left out was sent without anything in it, which is the same.
func (f *field) left(raw any) bool {
	o, ok := raw.(*object)
	return ok && len(o.keys) == 0 && f.nested != nil && !f.many && !f.required
}

func (p *plan) absent(d *decoding, f *field, to reflect.Value, name string) {
	switch {
	case f.fallback != nil:
		f.set(to, f.fallback, d, name)
	case f.required:
		d.report(name + " is missing")
		if f.nested != nil && !f.many {
			f.nested.missing(d, name)
		}
	}
}

// missing reports every required parameter of a struct that was not sent.
func (p *plan) missing(d *decoding, prefix string) {
	for i := range p.fields {
		f := &p.fields[i]
		if f.required {
			p.absent(d, f, reflect.Value{}, fullName(prefix, f.name))
		}
	}
}

// judge holds a value that was taken against what the declaration allows.
func (f *field) judge(d *decoding, v reflect.Value, name string) {
	if s := f.bound.value(v); s != "" {
		d.report(name + " " + s)
		return
	}
	switch {
	case f.nonempty && blank(v):
		d.report(name + " is empty")
	case !f.allows(v):
		d.report(name + " does not have a valid value")
	case f.not != nil && every(v, func(s string) bool { return slices.Contains(f.not, s) }):
		d.report(name + " has a value not allowed")
	}
}

// allows reports whether the value, and each element of a list, is one of the
// declared values and within the declared bounds.
func (f *field) allows(v reflect.Value) bool {
	if f.values != nil && !every(v, func(s string) bool { return slices.Contains(f.values, s) }) {
		return false
	}
	if f.min == nil && f.max == nil {
		return true
	}
	return every(v, func(s string) bool {
		n, err := strconv.ParseInt(s, 10, 64)
		return err == nil && (f.min == nil || n >= *f.min) && (f.max == nil || n <= *f.max)
	})
}

// every applies a test to the text of a scalar, or of each element of a list.
func every(v reflect.Value, ok func(string) bool) bool {
	v = inner(v)
	switch v.Kind() {
	case reflect.String:
		return ok(v.String())
	case reflect.Bool:
		return ok(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return ok(strconv.FormatInt(v.Int(), 10))
	case reflect.Slice:
		for i := range v.Len() {
			if !every(v.Index(i), ok) {
				return false
			}
		}
	}
	return true
}

// inner returns the value inside Opt and pointers.
func inner(v reflect.Value) reflect.Value {
	for {
		switch {
		case v.Kind() == reflect.Pointer && !v.IsNil():
			v = v.Elem()
		case v.Kind() == reflect.Struct && v.Type().Implements(optType):
			v = v.Field(0)
		default:
			return v
		}
	}
}

func blank(v reflect.Value) bool {
	v = inner(v)
	switch v.Kind() {
	case reflect.String:
		return strings.TrimSpace(v.String()) == ""
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return false
}

// fullName returns the name a client knows a nested parameter by.
func fullName(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "[" + name + "]"
}
