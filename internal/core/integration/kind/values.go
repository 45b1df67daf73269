package kind

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/errs"
)

const (
	maxChars   = 4096   // of most settings
	maxKey     = 16_384 // of a key file
	maxAddress = 65_536 // of a list of addresses
	maxEntries = 100    // of a list
)

// Values are settings by their names: string, bool, int64 or []string. What has no value is absent.
type Values map[string]any

// Text is the value of a text, "" where there is none.
func (v Values) Text(name string) string {
	text, _ := v[name].(string)
	return text
}

// Int is the value of a number, 0 where there is none.
func (v Values) Int(name string) int64 {
	n, _ := v[name].(int64)
	return n
}

// Part returns the values of the settings that are sealed, or of the others.
func (k *Kind) Part(v Values, sealed func(*Setting) bool) Values {
	out := Values{}
	for i := range k.Settings {
		if s := &k.Settings[i]; sealed(s) && v[s.Name] != nil {
			out[s.Name] = v[s.Name]
		}
	}
	return out
}

// Merge returns the settings with those that a request sends, in which nil and the empty text remove a value. Secrets that were for
// another destination, and do not come with the request, are removed.
func (k *Kind) Merge(v, sent Values) Values {
	out := maps.Clone(v)
	if on, ok := sent[legacyBranches].(bool); ok && sent[branchesName] == nil && k.Setting(branchesName) != nil {
		sent = maps.Clone(sent)
		sent[branchesName] = map[bool]string{true: "default", false: "all"}[on]
	}
	moved := false
	for i := range k.Settings {
		s := &k.Settings[i]
		value, ok := sent[s.Name]
		if !ok || s.Legacy {
			continue
		}
		moved = moved || s.Where && text(value) != text(v[s.Name])
		if value == nil || value == "" {
			delete(out, s.Name)
			continue
		}
		out[s.Name] = value
	}
	if moved {
		for _, s := range k.Settings {
			if _, ok := sent[s.Name]; s.Sealed() && !ok {
				delete(out, s.Name)
			}
		}
	}
	return out
}

// text makes nothing and the empty text equal.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// Parse reads stored settings. Values of settings that the kind does not have, or that are of another type, are left out.
func (k *Kind) Parse(stored string, into Values) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(stored), &raw); err != nil {
		return fmt.Errorf("read settings of %s: %w", k.Slug, err)
	}
	for i := range k.Settings {
		s := &k.Settings[i]
		value, ok := raw[s.Name]
		if !ok {
			continue
		}
		if parsed, ok := s.parse(value); ok {
			into[s.Name] = parsed
		}
	}
	return nil
}

func (s *Setting) parse(stored json.RawMessage) (any, bool) {
	switch s.Type {
	case Bool:
		return parse[bool](stored)
	case Int:
		return parse[int64](stored)
	case Texts:
		return parse[[]string](stored)
	}
	return parse[string](stored)
}

func parse[T any](stored json.RawMessage) (any, bool) {
	var out *T
	if err := json.Unmarshal(stored, &out); err != nil || out == nil {
		return nil, false
	}
	return *out, true
}

// Validate adds what is wrong with settings to f, but for addresses that may not be called.
func (k *Kind) Validate(v Values, f *errs.Fields) {
	for i := range k.Settings {
		k.Settings[i].validate(v, f)
	}
	if k.Check != nil {
		k.Check(v, f)
	}
}

func (s *Setting) validate(v Values, f *errs.Fields) {
	switch value := v[s.Name].(type) {
	case nil:
		f.Check(!s.Required || s.Blank, s.Name, "can't be blank")
	case string:
		most := s.Chars
		if most == 0 {
			most = maxChars
		}
		blank := strings.TrimSpace(value) == ""
		f.Check(!blank || !s.Required || s.Blank, s.Name, "can't be blank")
		f.Check(utf8.RuneCountInString(value) <= most, s.Name, fmt.Sprintf("is too long (maximum is %d characters)", most))
		f.Check(utf8.ValidString(value) && !strings.ContainsRune(value, 0), s.Name, "is invalid")
		f.Check(blank || s.Values == nil || slices.Contains(s.Values, value), s.Name, "is not included in the list")
		f.Check(blank || !s.Host || host(value), s.Name, "is invalid")
	case int64:
		if s.Min != 0 || s.Max != 0 {
			f.Range(s.Name, &value, s.Min, s.Max)
		}
	case []string:
		f.Check(len(value) <= maxEntries, s.Name, fmt.Sprintf("has more than %d values", maxEntries))
		for _, entry := range value {
			f.Length(s.Name, &entry, 255)
		}
	}
}

// host reports whether a text is the name of a host or a part of one.
func host(text string) bool {
	return len(text) <= 253 && !strings.HasPrefix(text, "-") && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") == ""
}
