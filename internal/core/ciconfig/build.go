package ciconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxProblems is how many problems a configuration lists.
const maxProblems = 100

// builder makes the jobs of a configuration, and collects what is wrong with them.
type builder struct {
	c        *Config
	root     *value
	defaults *value // what default says, with the keywords of the root that it may have
	byName   map[string]*declaration
	parsed   map[string]*Expression // by text, nil for those with wrong syntax
	size     int                    // of all jobs with their defaults
	// instances has the jobs by the names that parallel gives them.
	instances map[string]*declaration
}

func (b *builder) bad(at position, text string) {
	if len(b.c.Problems) < maxProblems {
		b.c.Problems = append(b.c.Problems, problem(at, text))
	}
}

func (b *builder) warn(text string) {
	if len(b.c.Warnings) < maxProblems {
		b.c.Warnings = append(b.c.Warnings, text)
	}
}

// text reads a text or number. what names it in problems.
func (b *builder) text(what string, v *value) string {
	if v.isNull() {
		return ""
	}
	if !v.isScalar() {
		b.bad(v.at, what+" should be a string")
	}
	return v.scalarText()
}

// pure reads a text alone, not a number.
func (b *builder) pure(what string, v *value) string {
	if v.isNull() {
		return ""
	}
	if v.kind != str {
		b.bad(v.at, what+" should be a string")
	}
	return v.text
}

// texts reads a list of texts; nil where there is none.
func (b *builder) texts(what string, v *value) []string {
	if v.isNull() {
		return nil
	}
	if v.kind != sequence {
		b.bad(v.at, what+" should be an array of strings")
		return nil
	}
	out := make([]string, 0, len(v.items))
	for _, i := range v.items {
		if !i.isScalar() || i.kind == boolean {
			b.bad(i.at, what+" should be an array of strings")
			return nil
		}
		out = append(out, i.scalarText())
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// textOrTexts reads a text or a list of texts.
func (b *builder) textOrTexts(what string, v *value) []string {
	if v.isScalar() && v.kind != boolean {
		return []string{v.scalarText()}
	}
	if !v.isNull() && v.kind != sequence {
		b.bad(v.at, what+" should be an array of strings or a string")
		return nil
	}
	return b.texts(what, v)
}

func (b *builder) boolean(what string, v *value) bool {
	if v.isNull() {
		return false
	}
	holds, ok := v.truth()
	if !ok {
		b.bad(v.at, what+" should be a boolean value")
	}
	return holds
}

// truth reads a boolean, also one that is written as in YAML 1.1.
func (v *value) truth() (holds, ok bool) {
	if v.kind == boolean {
		return v.text == "true", true
	}
	if v.kind != str {
		return false, false
	}
	switch strings.ToLower(v.text) {
	case "yes", "on":
		return true, true
	case "no", "off":
		return false, true
	}
	return false, false
}

func (b *builder) integer(what string, v *value, least, most int) int {
	if v.isNull() {
		return 0
	}
	n, err := strconv.Atoi(v.text)
	switch {
	case v.kind != integer || err != nil:
		b.bad(v.at, what+" is not a number")
	case n < least:
		b.bad(v.at, fmt.Sprintf("%s must be greater than or equal to %d", what, least))
	case n > most:
		b.bad(v.at, fmt.Sprintf("%s must be less than or equal to %d", what, most))
	}
	return n
}

func (b *builder) oneOf(what string, v *value, options ...string) string {
	if v.isNull() {
		return ""
	}
	if v.kind != str || !slices.Contains(options, v.text) {
		b.bad(v.at, what+" should be one of: "+strings.Join(options, ", "))
		return ""
	}
	return v.text
}

func (b *builder) duration(what string, v *value) time.Duration {
	if v.isNull() {
		return 0
	}
	d, ok := ParseDuration(v.scalarText())
	if !ok || !v.isScalar() {
		b.bad(v.at, what+" should be a duration")
	}
	return d
}

// hash tells whether a value is a mapping with known keys; where is its place in problems.
func (b *builder) hash(where string, v *value, known ...string) bool {
	if v.kind != mapping {
		b.bad(v.at, where+" config should be a hash")
		return false
	}
	b.knows(where, v, known)
	return true
}

func (b *builder) knows(where string, v *value, known []string) {
	var unknown []string
	at := v.at
	for _, k := range v.keys {
		if !slices.Contains(known, k.name) {
			if unknown == nil {
				at = k.at
			}
			unknown = append(unknown, k.name)
		}
	}
	if unknown != nil {
		b.bad(at, where+" config contains unknown keys: "+strings.Join(unknown, ", "))
	}
}

// script reads a text, or lists of texts in one another.
func (b *builder) script(where string, v *value) []string {
	if v.isNull() {
		return nil
	}
	var out []string
	if v.kind == str {
		return []string{v.text}
	}
	if v.kind != sequence || !flatten(v, 0, &out) {
		b.bad(v.at, where+" config should be a string or a nested array of strings up to 10 levels deep")
	}
	return out
}

func flatten(v *value, level int, out *[]string) bool {
	if v.kind == str {
		*out = append(*out, v.text)
		return true
	}
	if v.kind != sequence || level >= MaxScript {
		return false
	}
	for _, i := range v.items {
		if !flatten(i, level+1, out) {
			return false
		}
	}
	return true
}

// variables reads a mapping of variables. Texts for the form of a new pipeline may stand in those of the root alone.
func (b *builder) variables(where string, v *value) []Variable {
	if v.isNull() {
		return nil
	}
	if v.kind != mapping {
		b.bad(v.at, where+" config should be a hash of key value pairs")
		return nil
	}
	out := make([]Variable, 0, len(v.keys))
	for i, k := range v.keys {
		item, one := v.items[i], Variable{Key: k.name}
		switch {
		case item.isNull():
		case item.isScalar():
			one.Value = item.scalarText()
		case item.kind == mapping:
			one = b.variable(where, k, item)
		default:
			b.bad(item.at, where+" config should be a hash of key value pairs")
			continue
		}
		out = append(out, one)
	}
	return out
}

func (b *builder) variable(where string, k key, v *value) Variable {
	at := where + ":" + k.name
	known := []string{"value", "expand"}
	if where == "variables" {
		known = append(known, "description", "options")
	}
	b.knows(at, v, known)
	out := Variable{Key: k.name, Value: b.text(at+" value", v.get("value")), Description: b.text(at+" description", v.get("description"))}
	if e := v.get("expand"); !e.isNull() {
		out.Raw = !b.boolean(at+" expand", e)
	}
	out.Options = b.texts(at+" options", v.get("options"))
	if out.Options != nil && !slices.Contains(out.Options, out.Value) {
		b.bad(v.at, at+" value must be one of the options")
	}
	return out
}

// scalarText returns a text, and a number in the form that is shown: 1.10 is 1.1, and 010 is 8.
func (v *value) scalarText() string {
	if v == nil {
		return ""
	}
	text := strings.ReplaceAll(v.text, "_", "")
	switch v.kind {
	case integer:
		base, digits := 0, text
		if n, err := strconv.ParseInt(digits, base, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case float:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f > 1e15 || f < -1e15 {
			return v.text
		}
		out := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(out, ".") {
			out += ".0"
		}
		return out
	case null:
		return ""
	}
	return v.text
}
