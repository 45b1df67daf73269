package ciconfig

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// object returns a value as encoding/json would.
func (v *value) object() map[string]any {
	m, _ := v.plain().(map[string]any)
	return m
}

func (v *value) plain() any {
	switch v.kind {
	case boolean:
		return v.text == "true"
	case integer:
		if n, err := strconv.ParseInt(v.scalarText(), 10, 64); err == nil {
			return float64(n)
		}
	case float:
		if f, err := strconv.ParseFloat(v.text, 64); err == nil && f-f == 0 {
			return f
		}
	case null:
		return nil
	case sequence, referenced:
		out := make([]any, len(v.items))
		for i, item := range v.items {
			out[i] = item.plain()
		}
		return out
	case mapping:
		out := make(map[string]any, len(v.keys))
		for i, k := range v.keys {
			out[k.name] = v.items[i].plain()
		}
		return out
	}
	return v.text
}

// json writes a value in one line, a long one cut.
func (v *value) json() string {
	if v == nil || v.size > 10_000 {
		return "..."
	}
	b, err := json.Marshal(v.plain())
	if err != nil {
		return "..."
	}
	return string(b)
}

// yaml writes a mapping as a document.
func (v *value) yaml() string {
	var w yamlWriter
	w.WriteString("---")
	w.value(v, 0)
	w.WriteString("\n")
	return w.String()
}

// yamlWriter writes block style, with lists as far to the left as their keys.
type yamlWriter struct{ strings.Builder }

func (w *yamlWriter) line(indent int) {
	w.WriteByte('\n')
	for range indent {
		w.WriteString("  ")
	}
}

// value writes what is behind a key, at the end of its line or in lines of its own.
func (w *yamlWriter) value(v *value, indent int) {
	switch {
	case v.kind == mapping && len(v.keys) > 0:
		for i, k := range v.keys {
			w.line(indent)
			w.entry(k.name, v.items[i], indent)
		}
	case v.kind == sequence && len(v.items) > 0:
		for _, item := range v.items {
			w.line(max(indent-1, 0))
			w.item(item, max(indent, 1))
		}
	default:
		w.WriteByte(' ')
		w.scalar(v, indent)
	}
}

func (w *yamlWriter) entry(name string, v *value, indent int) {
	w.text(name, 0)
	w.WriteByte(':')
	w.value(v, indent+1)
}

// item writes an item of a list, whose content has an indent.
func (w *yamlWriter) item(v *value, indent int) {
	w.WriteByte('-')
	switch {
	case v.kind == mapping && len(v.keys) > 0:
		for i, k := range v.keys {
			if i == 0 {
				w.WriteByte(' ')
			} else {
				w.line(indent)
			}
			w.entry(k.name, v.items[i], indent)
		}
	case v.kind == sequence && len(v.items) > 0:
		for i, item := range v.items {
			if i == 0 {
				w.WriteByte(' ')
			} else {
				w.line(indent)
			}
			w.item(item, indent+1)
		}
	default:
		w.WriteByte(' ')
		w.scalar(v, indent)
	}
}

func (w *yamlWriter) scalar(v *value, indent int) {
	switch v.kind {
	case mapping:
		w.WriteString("{}")
	case sequence, referenced:
		w.WriteString("[]")
	case null:
		w.WriteString("null")
	case str:
		w.text(v.text, indent)
	default:
		w.WriteString(v.text)
	}
}

// text writes a text as it is where it reads as one, in lines of its own where it has several and an indent is given, or in quotes.
func (w *yamlWriter) text(text string, indent int) {
	switch {
	case plain(text):
		w.WriteString(text)
	case indent > 0 && literal(text):
		w.WriteByte('|')
		body := strings.TrimRight(text, "\n")
		switch len(text) - len(body) {
		case 0:
			w.WriteByte('-')
		case 1:
		default:
			w.WriteByte('+')
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			if line == "" {
				w.WriteByte('\n')
				continue
			}
			w.line(indent)
			w.WriteString(line)
		}
	default:
		quoted, err := json.Marshal(text)
		if err != nil {
			quoted = []byte(`""`)
		}
		w.Write(quoted)
	}
}

// plain tells whether a text needs no quotes.
func plain(text string) bool {
	if text == "" || len(text) > 1000 || strings.HasSuffix(text, ":") || strings.Contains(text, ": ") || strings.Contains(text, " #") || strings.HasSuffix(text, " ") {
		return false
	}
	c := text[0]
	if c != '_' && c != '/' && c != '$' && c != '.' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
		return false
	}
	if c == '.' && (len(text) == 1 || !isWord(text[1]) || '0' <= text[1] && text[1] <= '9') {
		return false
	}
	for _, r := range text {
		if r < ' ' || r > '~' {
			return false
		}
	}
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", ".nan", ".inf":
		return false
	}
	return true
}

// literal tells whether a text of several lines may stand in a block.
func literal(text string) bool {
	if !strings.Contains(strings.TrimRight(text, "\n"), "\n") || text[0] == ' ' || text[0] == '\n' {
		return false
	}
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffd || r == '\t' {
			return false
		}
	}
	return true
}
