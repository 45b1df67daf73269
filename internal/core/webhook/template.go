package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"tenon/internal/base/pattern"
)

// slot is a place of a template that a value takes.
var slot = pattern.New(`\{\{\s*([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)\s*\}\}`)

// maxRendered is the largest body that a template makes.
const maxRendered = maxBody

// render puts values of a body into a template: {{a.b}} is replaced by the value at that path as JSON, a text without its quotes. Items of
// arrays have no path. The result is an error unless it is JSON.
func render(template string, text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var values any
	if err := d.Decode(&values); err != nil {
		return nil, errors.New("the body is no JSON")
	}
	size := len(template)
	out := slot().ReplaceAllStringFunc(template, func(word string) string {
		value, ok := at(values, strings.Split(slot().FindStringSubmatch(word)[1], "."))
		if !ok || size > maxRendered {
			return ""
		}
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(value); err != nil {
			return ""
		}
		encoded := strings.TrimSuffix(b.String(), "\n")
		if _, ok := value.(string); ok {
			encoded = encoded[1 : len(encoded)-1]
		}
		size += len(encoded)
		return encoded
	})
	if size > maxRendered {
		return nil, errors.New("the result is larger than 25 MB")
	}
	if !json.Valid([]byte(out)) {
		return nil, errors.New("the result is no JSON")
	}
	return []byte(out), nil
}

// at is the value at a path through objects.
func at(value any, path []string) (any, bool) {
	for _, name := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = object[name]; !ok {
			return nil, false
		}
	}
	return value, true
}
