package api

import (
	"bytes"
	"encoding/json"
	"slices"
)

// OpenAPI30 returns a document of OpenAPI 3.1 in the words of 3.0, for programs that read no later
// version: null is a property of a schema there, no type.
func OpenAPI30(document []byte) ([]byte, error) {
	var doc map[string]any
	in := json.NewDecoder(bytes.NewReader(document))
	in.UseNumber()
	if err := in.Decode(&doc); err != nil {
		return nil, err
	}
	doc["openapi"] = "3.0.3"
	before31(doc)
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(doc); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// before31 rewrites every schema below a value. A property may have the name of a keyword: its value
// is an object then, as that of no such keyword is.
func before31(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			before31(item)
		}
	case map[string]any:
		for _, item := range v {
			before31(item)
		}
		withoutNull(v)
	}
}

// withoutNull turns the type null of one schema into its property nullable, and puts a reference
// with more beside it into allOf, as 3.0 ignores that.
func withoutNull(schema map[string]any) {
	if types, ok := schema["type"].([]any); ok {
		types = slices.DeleteFunc(types, func(t any) bool { return t == "null" })
		schema["type"], schema["nullable"] = types[0], true
		if values, ok := schema["enum"].([]any); ok { // generators know null by nullable alone
			schema["enum"] = slices.DeleteFunc(values, func(v any) bool { return v == nil })
		}
	}
	if forms, ok := schema["anyOf"].([]any); ok {
		kept := slices.DeleteFunc(slices.Clone(forms), func(f any) bool {
			form, ok := f.(map[string]any)
			return ok && form["type"] == "null"
		})
		if len(kept) < len(forms) {
			delete(schema, "anyOf")
			schema["nullable"] = true
			if len(kept) == 1 {
				schema["allOf"] = kept
			} else {
				schema["anyOf"] = kept
			}
		}
	}
	if ref, ok := schema["$ref"].(string); ok && len(schema) > 1 {
		delete(schema, "$ref")
		schema["allOf"] = []any{map[string]any{"$ref": ref}}
	}
}
