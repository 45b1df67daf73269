package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// document makes the OpenAPI 3.1 document of the routes. The same routes always
// give the same bytes.
func document(c Config, routes []*Route) []byte {
	s := &schemas{named: map[string]any{}, names: map[reflect.Type]string{}}
	paths := map[string]dict{}
	for _, r := range routes {
		for i, path := range append([]string{r.path}, r.aliases...) {
			for template, captures := range templates(path) {
				if paths[template] == nil {
					paths[template] = dict{}
				}
				paths[template][strings.ToLower(r.method)] = operation(s, r, template, captures, i > 0)
			}
		}
	}
	doc := dict{
		"openapi": "3.1.0",
		"info":    dict{"title": c.Title, "version": c.Version},
		"servers": []any{dict{"url": Prefix}},
		"paths":   paths,
		"components": dict{
			"headers":   headers(),
			"responses": dict{"Error": errorResponse()},
			"schemas":   s.named,
			"securitySchemes": dict{
				"PrivateToken": dict{"type": "apiKey", "in": "header", "name": "PRIVATE-TOKEN"},
				"Bearer":       dict{"type": "http", "scheme": "bearer"},
			},
		},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		panic("api: " + err.Error()) // maps of strings always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// templates returns a path in OpenAPI's notation with the names it captures. A path
// with an optional suffix is two.
func templates(path string) map[string][]string {
	parts := segments(path)
	var names []string
	short := ""
	for i, part := range parts {
		switch {
		case strings.HasPrefix(part, ":"), strings.HasPrefix(part, "*"):
			names = append(names, part[1:])
			parts[i] = "{" + part[1:] + "}"
		case strings.HasSuffix(part, "}"):
			word, name, _ := strings.Cut(strings.TrimSuffix(part, "}"), "{.")
			without := slices.Clone(parts)
			without[i] = word
			short = "/" + strings.Join(without, "/")
			parts[i] = word + ".{" + name + "}"
			names = append(names, name)
		}
	}
	out := map[string][]string{"/" + strings.Join(parts, "/"): names}
	if short != "" {
		out[short] = names[:len(names)-1]
	}
	return out
}

func operation(s *schemas, r *Route, template string, captures []string, alias bool) dict {
	op := dict{"operationId": operationID(r.method, template), "summary": r.doc, "responses": responses(s, r)}
	if r.tag != "" {
		op["tags"] = []string{r.tag}
	}
	if r.deprecated || alias {
		op["deprecated"] = true
	}
	if !r.public {
		op["security"] = []any{dict{"PrivateToken": []string{}}, dict{"Bearer": []string{}}}
	}
	if len(r.needs) > 0 {
		op["x-abilities"] = r.needs
	}
	params := []any{}
	body := dict{}
	required := []string{}
	reads := r.method == "GET" || r.method == "DELETE"
	for i := range r.plan.fields {
		f := &r.plan.fields[i]
		if f.rule != nil || f.typ == rawBodyType {
			continue
		}
		where := "query"
		switch {
		case f.header != "":
			where = "header"
		case slices.Contains(captures, f.name):
			where = "path"
		case strings.Contains(r.path, ":"+f.name) || strings.Contains(r.path, "{."+f.name):
			continue // captured in the path's other form only
		case !reads:
			body[f.name] = paramSchema(s, f)
			if f.required {
				required = append(required, f.name)
			}
			continue
		}
		params = append(params, parameter(s, f, where))
	}
	if r.timed {
		params = append(params, dict{
			"name": unmodifiedSince, "in": "header", "schema": dict{"type": "string"},
			"description": "Answer 412 where this was changed after the time",
		})
	}
	if len(params) > 0 {
		op["parameters"] = params
	}
	switch {
	case r.plan.rawBody:
		op["requestBody"] = dict{"content": dict{"application/octet-stream": dict{}}}
	case len(body) > 0:
		schema := objectOf(body, required)
		content := dict{}
		texts := maps.Clone(body)
		for i := range r.plan.fields {
			if f := &r.plan.fields[i]; takesFile(f.typ) { // a file fits no JSON
				delete(texts, f.name)
				required = slices.DeleteFunc(slices.Clone(required), func(name string) bool { return name == f.name })
				content["multipart/form-data"] = dict{"schema": schema}
			}
		}
		if len(texts) > 0 {
			content["application/json"] = dict{"schema": objectOf(texts, required)}
		}
		op["requestBody"] = dict{"required": schema["required"] != nil, "content": content}
	}
	return op
}

// objectOf is the schema of an object; required may be empty.
func objectOf(properties dict, required []string) dict {
	schema := dict{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// operationID names an operation by its method and path, such as getApiV4ProjectsIdIssues. The
// part "-" of a path is Dash.
func operationID(method, template string) string {
	var b strings.Builder
	b.WriteString(strings.ToLower(method))
	for word := range strings.FieldsFuncSeq(strings.ReplaceAll(Prefix+template, "/-/", "/dash/"), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// takesFile reports whether a parameter is a file, below Opt and pointers.
func takesFile(t reflect.Type) bool {
	switch {
	case t == nil:
		return false
	case t.Implements(optType):
		return takesFile(t.Field(0).Type)
	case t.Kind() == reflect.Pointer:
		return takesFile(t.Elem())
	}
	return t == reflect.TypeFor[File]()
}

func parameter(s *schemas, f *field, where string) dict {
	name := f.name
	if where == "header" {
		name = f.header
	}
	p := dict{"name": name, "in": where, "schema": paramSchema(s, f)}
	if f.required || where == "path" {
		p["required"] = true
	}
	if f.doc != "" {
		p["description"] = f.doc
	}
	return p
}

func paramSchema(s *schemas, f *field) any {
	var schema any
	switch {
	case f.nested != nil && f.many:
		schema = dict{"type": "array", "items": nestedSchema(s, f.nested)}
	case f.nested != nil:
		schema = nestedSchema(s, f.nested)
	case reflect.PointerTo(f.typ).Implements(unmarshaler) && f.typ.Kind() == reflect.Struct && special[f.typ] == nil:
		schema = dict{"type": "string"}
	default:
		schema = s.of(f.typ)
	}
	d, ok := schema.(dict)
	if !ok {
		return schema
	}
	if f.values != nil {
		target := d
		if items, ok := d["items"].(dict); ok {
			target = items
		}
		kind, null := kindOf(target)
		values := enum(f.values, kind)
		if null {
			values = append(values, nil)
		}
		target["enum"] = values
	}
	if f.fallback != nil {
		kind, _ := kindOf(d)
		d["default"] = enum([]string{f.fallback.(string)}, kind)[0]
	}
	if f.min != nil {
		d["minimum"] = *f.min
	}
	if f.max != nil {
		d["maximum"] = *f.max
	}
	if f.chars > 0 {
		d["maxLength"] = f.chars
	}
	f.bound.describe(d, f.values == nil)
	if f.doc != "" {
		d["description"] = f.doc
	}
	return d
}

// kindOf returns the type of a schema, and whether null is another one.
func kindOf(schema dict) (kind any, null bool) {
	if types, ok := schema["type"].([]string); ok {
		return types[0], slices.Contains(types, "null")
	}
	return schema["type"], false
}

// enum returns declared values in the type of their schema.
func enum(values []string, kind any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && kind == "integer" {
			out[i] = n
		}
		if kind == "boolean" {
			out[i] = v == "true"
		}
	}
	return out
}

func nestedSchema(s *schemas, p *plan) dict {
	properties := dict{}
	required := []string{}
	for i := range p.fields {
		f := &p.fields[i]
		if f.rule != nil {
			continue
		}
		properties[f.name] = paramSchema(s, f)
		if f.required {
			required = append(required, f.name)
		}
	}
	return objectOf(properties, required)
}

func responses(s *schemas, r *Route) dict {
	success := dict{"description": "Success"}
	body, isList := resultOf(r.result)
	if isList && r.plan.find("per_page") != nil {
		success["headers"] = pagingHeaders()
	}
	switch {
	case r.gives != "":
		media := dict{}
		if r.like != nil {
			media["schema"] = s.of(r.like)
		}
		success["content"] = dict{r.gives: media}
	case body != nil:
		success["content"] = dict{"application/json": dict{"schema": s.of(body)}}
	case r.result == reflect.TypeFor[Raw](), r.result == reflect.TypeFor[RawOrContent](), r.result == reflect.TypeFor[Content]():
		success["content"] = dict{"application/octet-stream": dict{}}
	case r.result == reflect.TypeFor[Text]():
		success["content"] = dict{"text/plain": dict{}}
	}
	return dict{strconv.Itoa(r.status): success, "default": dict{"$ref": "#/components/responses/Error"}}
}
