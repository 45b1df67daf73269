package ciconfig

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Bounds of inputs.
const (
	maxFunctions    = 3       // of one interpolation
	maxInterpolated = 1 << 20 // bytes that interpolation makes in one file
)

// inputs has the values of spec:inputs of one file.
type inputs struct {
	at     position
	values map[string]*value
	done   map[*value]*value
	bytes  int
	lookup Lookup
}

// newInputs checks what is given against the header of a file.
func newInputs(header, given *value, lookup Lookup) (*inputs, error) {
	s := &inputs{at: header.at, values: map[string]*value{}, done: map[*value]*value{}, lookup: lookup}
	spec := header.get("spec")
	if spec.isNull() {
		spec = newMap(header.at, 0).done()
	}
	if spec.kind != mapping {
		return nil, refuse(spec.at, "header:spec config should be a hash")
	}
	declared := spec.get("inputs")
	if declared.isNull() {
		declared = newMap(spec.at, 0).done()
	}
	if declared.kind != mapping {
		return nil, refuse(declared.at, "header:spec:inputs config should be a hash")
	}
	for i, k := range declared.keys {
		v, err := inputValue(k, declared.items[i], given.get(k.name))
		if err != nil {
			return nil, err
		}
		s.values[k.name] = v
	}
	var unknown []string
	if given != nil {
		for _, k := range given.keys {
			if s.values[k.name] == nil {
				unknown = append(unknown, k.name)
			}
		}
	}
	if unknown != nil {
		return nil, refuse(given.at, "unknown input arguments: "+strings.Join(unknown, ", "))
	}
	return s, nil
}

// inputValue checks one input; given is nil where there is none.
func inputValue(k key, spec, given *value) (*value, error) {
	what := "`" + k.name + "` input: "
	want := "string"
	if t := spec.get("type"); t != nil {
		want = t.text
	}
	if !spec.isNull() && spec.kind != mapping || !slices.Contains([]string{"string", "number", "boolean", "array"}, want) {
		return nil, refuse(k.at, "header:spec:inputs:"+k.name+" config is not valid")
	}
	v, whose := given, "provided"
	if v == nil {
		v, whose = spec.get("default"), "default"
	}
	if v == nil {
		return nil, refuse(k.at, what+"required value has not been provided")
	}
	fits := map[string]bool{
		"string": v.kind == str || v.isScalar() && given == nil, "number": v.kind == integer || v.kind == float, "boolean": v.kind == boolean, "array": v.kind == sequence,
	}
	if !fits[want] && (v.kind != null || given != nil) {
		article := "a "
		if want == "array" {
			article = "an "
		}
		return nil, refuse(v.at, what+whose+" value is not "+article+want)
	}
	if options := spec.get("options"); !options.isNull() {
		known := slices.ContainsFunc(options.items, func(o *value) bool { return o.kind == v.kind && o.scalarText() == v.scalarText() })
		if options.kind != sequence || !known {
			return nil, refuse(v.at, what+"`"+v.text+"` cannot be used because it is not in the list of allowed options")
		}
	}
	if pattern := spec.get("regex"); !pattern.isNull() {
		text := strings.TrimSuffix(strings.TrimPrefix(pattern.text, "/"), "/")
		re := compile(text, "")
		switch {
		case want != "string" || re == nil:
			return nil, refuse(pattern.at, what+"RegEx pattern is not valid")
		case v.kind != null && !re.match(v.text, &budget{maxSteps}):
			return nil, refuse(v.at, what+whose+" value does not match required RegEx pattern")
		}
	}
	return v, nil
}

// interpolation finds $[[ ... ]].
var interpolation = regexp.MustCompile(`\$\[\[([^\]]*)\]\]`)

// interpolate returns a value whose texts and keys have inputs in place of $[[ inputs.name ]].
func (s *inputs) interpolate(v *value) (*value, error) {
	if v.kind == str {
		return s.text(v)
	}
	if len(v.items) == 0 {
		return v, nil
	}
	if done, ok := s.done[v]; ok {
		return done, nil
	}
	items := make([]*value, len(v.items))
	same := true
	for i, item := range v.items {
		var err error
		if items[i], err = s.interpolate(item); err != nil {
			return nil, err
		}
		same = same && items[i] == item
	}
	if v.kind != mapping {
		if !same {
			v = newList(v.kind, v.at, items)
		}
		s.done[v] = v
		return v, nil
	}
	b := newMap(v.at, len(items))
	for i, k := range v.keys {
		name, err := s.text(newText(k.at, k.name))
		if err != nil {
			return nil, err
		}
		b.set(key{name.scalarText(), k.at}, items[i])
	}
	s.done[v] = b.done()
	return s.done[v], nil
}

// text interpolates one text. Where nothing else is in it, the input keeps its type.
func (s *inputs) text(v *value) (*value, error) {
	if !strings.Contains(v.text, "$[[") {
		return v, nil
	}
	found := interpolation.FindAllStringSubmatchIndex(v.text, -1)
	if len(found) == 1 && found[0][0] == 0 && found[0][1] == len(v.text) {
		return s.access(v.at, v.text[found[0][2]:found[0][3]])
	}
	var b strings.Builder
	last := 0
	for _, f := range found {
		b.WriteString(v.text[last:f[0]])
		got, err := s.access(v.at, v.text[f[2]:f[3]])
		if err != nil {
			return nil, err
		}
		text := got.scalarText()
		if got.kind == sequence {
			text = got.json()
		}
		if s.bytes += len(text); s.bytes > maxInterpolated {
			return nil, refuse(v.at, textTooBig)
		}
		b.WriteString(text)
		last = f[1]
	}
	b.WriteString(v.text[last:])
	return newText(v.at, b.String()), nil
}

// access returns the value of what stands between the brackets: inputs.name | function | ...
func (s *inputs) access(at position, text string) (*value, error) {
	parts := strings.Split(text, "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	name, ok := strings.CutPrefix(parts[0], "inputs.")
	v := s.values[name]
	if !ok || v == nil {
		return nil, refuse(at, "unknown interpolation key: `"+parts[0]+"`")
	}
	if len(parts)-1 > maxFunctions {
		return nil, refuse(at, "too many functions in interpolation block")
	}
	for _, f := range parts[1:] {
		if v.kind != str {
			return nil, refuse(at, fmt.Sprintf("error in `%s` function: invalid argument type", f))
		}
		text, ok := s.call(f, v.text)
		if !ok {
			return nil, refuse(at, "no function matching `"+f+"`: check that the function name, arguments, and types are correct")
		}
		v = newText(at, text)
	}
	return v, nil
}

var truncate = regexp.MustCompile(`^truncate\(\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\)$`)

// call is a function of interpolation.
func (s *inputs) call(function, text string) (string, bool) {
	switch function {
	case "expand_vars":
		return ExpandKnown(text, s.lookup), true
	case "posix_escape":
		return posixEscape(text), true
	}
	m := truncate.FindStringSubmatch(function)
	if m == nil {
		return "", false
	}
	from, _ := strconv.Atoi(m[1])
	length, _ := strconv.Atoi(m[2])
	runes := []rune(text)
	from = min(from, len(runes))
	return string(runes[from:min(from+length, len(runes))]), true
}

// posixEscape puts a backslash before each character that a shell reads.
func posixEscape(text string) string {
	if text == "" {
		return "''"
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString("'\n'")
			continue
		case r < 0x80 && !isWord(byte(r)) && !strings.ContainsRune("-.,:+/@", r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
