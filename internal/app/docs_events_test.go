package app

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/payload"
)

// eventsText is the page about bodies of webhooks, made from their types and from what a server has sent: the first of each type.
func eventsText(sent []*payload.Message) string {
	var b strings.Builder
	b.WriteString(`# Bodies of events

` + generated + `Webhooks of projects, groups and the instance, integrations and external status checks are told of events by ` + "`POST`" + ` with a JSON body. Its keys come in this
order; a key may be null where its type says so. Times are ` + "`2023-05-22 10:11:12 UTC`" + ` where the example has them so, and ISO 8601 elsewhere. Addresses of users are
` + "`[REDACTED]`" + ` unless they show them.

`)
	examples, triggers := map[reflect.Type][]byte{}, map[reflect.Type]map[string]bool{}
	for _, m := range sent {
		t := reflect.Indirect(reflect.ValueOf(m.Body)).Type()
		if examples[t] == nil {
			examples[t], triggers[t] = m.JSON, map[string]bool{}
		}
		triggers[t][string(m.Trigger)] = true
	}
	types := slices.SortedFunc(maps.Keys(examples), func(a, b reflect.Type) int { return strings.Compare(a.Name(), b.Name()) })
	blocks := map[reflect.Type]bool{}
	for _, t := range types {
		fmt.Fprintf(&b, "## %s\n\nFlags: `%s`.\n\n| key | type |\n|---|---|\n", words(t.Name()), strings.Join(slices.Sorted(maps.Keys(triggers[t])), "`, `"))
		keysText(&b, t, "", blocks)
		fmt.Fprintf(&b, "\n```json\n%s\n```\n\n", settled(examples[t]))
	}
	b.WriteString("## Blocks\n\n")
	for done := map[reflect.Type]bool{}; len(done) < len(blocks); {
		for _, t := range slices.SortedFunc(maps.Keys(blocks), func(a, b reflect.Type) int { return strings.Compare(a.Name(), b.Name()) }) {
			if !done[t] {
				done[t] = true
				fmt.Fprintf(&b, "### %s\n\n| key | type |\n|---|---|\n", words(t.Name()))
				keysText(&b, t, "", blocks)
				b.WriteString("\n")
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// words are the words of the name of a type.
func words(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, "Body"), "Block")
	text := regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "$1 $2")
	return text[:1] + strings.ToLower(text[1:])
}

var (
	timeType      = reflect.TypeFor[time.Time]()
	dbTimeType    = reflect.TypeFor[db.Time]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
	textType      = reflect.TypeFor[encoding.TextMarshaler]()
)

// keysText has a row for each key of a type. What a type has under a name of its own is a block, which it notes.
func keysText(b *strings.Builder, t reflect.Type, prefix string, blocks map[reflect.Type]bool) {
	for f := range t.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		of := f.Type
		if f.Anonymous && name == "" {
			var inner strings.Builder
			keysText(&inner, indirect(of), prefix, blocks)
			text := inner.String()
			if of.Kind() == reflect.Pointer {
				text = strings.ReplaceAll(text, " |\n", " or absent |\n")
			}
			b.WriteString(text)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		var notes []string
		if of.Kind() == reflect.Pointer {
			notes = append(notes, "or null")
		}
		if strings.Contains(option, "omit") {
			notes = append(notes, "or absent")
		}
		of = indirect(of)
		list := ""
		if of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8 {
			list, of = "list of ", indirect(of.Elem())
		}
		kind := kindOf(of)
		switch {
		case kind != "object" || of.Kind() != reflect.Struct:
		case strings.HasSuffix(of.Name(), "Attributes") && list == "":
			fmt.Fprintf(b, "| `%s%s` | %s |\n", prefix, name, strings.Join(append([]string{"object"}, notes...), " "))
			keysText(b, of, prefix+name+".", blocks)
			continue
		default:
			blocks[of] = true
			kind = "[" + words(of.Name()) + "](#" + strings.ReplaceAll(strings.ToLower(words(of.Name())), " ", "-") + ")"
		}
		fmt.Fprintf(b, "| `%s%s` | %s |\n", prefix, name, strings.Join(append([]string{list + kind}, notes...), " "))
	}
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// kindOf is the type of a value in JSON.
func kindOf(t reflect.Type) string {
	if t == timeType || t == dbTimeType || t.Implements(textType) || t.Implements(marshalerType) {
		return "string"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Struct, reflect.Map, reflect.Interface:
		return "object"
	}
	return "number"
}

var (
	hashes    = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
	addresses = regexp.MustCompile(`\b127\.0\.0\.1(:\d+)?|\blocalhost:\d+`)
	instants  = regexp.MustCompile(`\b20\d\d-\d\d-\d\d([T ])\d\d:\d\d:\d\d(?:\.\d+)?(Z| UTC|[+-]\d\d:?\d\d)?`)
	spans     = regexp.MustCompile(`("(?:[a-z_]*duration|relative_position|head_pipeline_id)": )\d+(\.\d+)?`)
	sshKeys   = regexp.MustCompile(`(ssh-ed25519) [A-Za-z0-9+/]+`)
	short     = regexp.MustCompile(`"short_sha": "[^"]*"`)
	pictures  = regexp.MustCompile(`"avatar_url": "[^"]*"`)
)

// settled is a body without what differs each time: hashes, addresses, times.
func settled(text []byte) string {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err.Error()
	}
	seen := map[string]int{}
	s := hashes.ReplaceAllStringFunc(out.String(), func(hash string) string {
		if strings.Trim(hash, "0") == "" {
			return hash
		}
		if seen[hash] == 0 {
			seen[hash] = len(seen) + 1
		}
		return strings.Repeat(fmt.Sprintf("%x", 9+seen[hash]), 40)[:40]
	})
	s = short.ReplaceAllString(s, `"short_sha": "aaaaaaaa"`)
	s = addresses.ReplaceAllString(s, "tenon.example.com")
	s = instants.ReplaceAllStringFunc(s, func(at string) string {
		m := instants.FindStringSubmatch(at)
		zone := m[2]
		if strings.ContainsAny(zone, "+-") {
			zone = "+00:00"
		}
		return "2023-05-22" + m[1] + "10:11:12" + map[bool]string{true: ".000"}[strings.Contains(at, ".")] + zone
	})
	s = spans.ReplaceAllString(s, "${1}1")
	s = sshKeys.ReplaceAllString(s, "${1} AAAA")
	return pictures.ReplaceAllString(s, `"avatar_url": "http://tenon.example.com/avatar.png"`)
}
